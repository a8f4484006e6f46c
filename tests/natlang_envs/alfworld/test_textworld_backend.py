"""The real TextWorld behind the interface of our own engine."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import natlang_envs  # noqa: F401 - registers the environments
from natlang_envs.alfworld.engine.game import GameText
from natlang_envs.alfworld.games.generator import generate
from natlang_envs.alfworld.textworld.backend import TextWorldWorld
from natlang_envs.errors import UsageError
from tests.support.alfworld_real import needs_textworld
from tests.support.slow import slow_unless
from tools.alfworld.parity_recordings import play, replay
from tools.alfworld.textworld_speed import faster

BATHROOM = "generated/seen/pick_clean_then_place_in_recep/401/007"
WITHOUT = """
import sys
sys.modules[{package!r}] = None
from natlang_envs.alfworld.games.generator import generate
from natlang_envs.alfworld.textworld.backend import TextWorldWorld
TextWorldWorld(generate({name!r}))
"""


@pytest.fixture
def world() -> TextWorldWorld:
    with faster():
        return TextWorldWorld(generate(BATHROOM))


def process_state() -> tuple[object, ...]:
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return random.getstate(), (name, keys.tolist(), *rest), list(sys.argv), id(sys.stdout), dict(os.environ)


@needs_textworld
@pytest.mark.parametrize("variable", [None, ""])
def test_the_process_stays_as_it_was(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable is None:
        monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    else:
        monkeypatch.setenv("ALFWORLD_DATA", variable)
    before = process_state()
    with faster():
        world = TextWorldWorld(generate(BATHROOM))
        assert process_state() == before
        world.step(world.commands[0])
        world.set_state(())
    assert process_state() == before


@needs_textworld
def test_a_state_is_the_commands_that_led_to_it(world: TextWorldWorld) -> None:
    assert world.state() == ()
    first = next(command for command in world.commands if command.startswith("go to"))
    with faster():
        world.step(f" {first} ")
        assert world.step("fly away") == "Nothing happens."
        assert world.state() == (first,)
        state, here = json.loads(json.dumps(world.state())), world.commands
        text = world.step("look")
        second = next(command for command in world.commands if command.startswith("go to"))
        world.step(second)
        assert world.commands != here
        world.set_state(state)
        assert (world.state(), world.commands) == ((first,), here)
        assert world.step("look") == text
        other = TextWorldWorld(generate(BATHROOM))
        assert other.commands != here
        other.set_state(world.state())
        assert (other.commands, other.state()) == (here, (first, "look"))


@needs_textworld
@pytest.mark.parametrize("state", [(3, None, [1]), ("fly away",), ("look", "take sun 1 from sky 1")])
def test_a_state_of_something_else_is_refused(state: tuple[str, ...], world: TextWorldWorld) -> None:
    with faster(), pytest.raises(UsageError, match=r"^this state is [^\n]*$"):
        world.set_state(state)


@needs_textworld
@pytest.mark.parametrize("problem", ["", "(define (problem x) (:domain alfred)", "(define (problem x))"])
def test_what_textworld_cannot_read_is_said_in_one_line(problem: str) -> None:
    before = process_state()
    with pytest.raises(UsageError, match=r"^TextWorld cannot read this game [^\n]*$"):
        TextWorldWorld(GameText(problem, "Your task is to: dance.", "0.4.2"))
    assert process_state() == before


@pytest.mark.parametrize("package", slow_unless(lambda number: number == 1, ["textworld", "alfworld", "fast_downward"]))
def test_missing_packages_are_named_with_the_remedy(package: str) -> None:
    code = WITHOUT.format(package=package, name=BATHROOM)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("natlang_envs.errors.UsageError: ")
    assert "pip install 'natlang-envs[alfworld]'" in last


@pytest.mark.slow
@needs_textworld
def test_the_engine_plays_alike_with_and_without_its_speed_up() -> None:
    text = generate(BATHROOM, "0.4.2")
    with faster():
        fast = play(TextWorldWorld(text), text, BATHROOM)
    assert replay(TextWorldWorld(text), fast) == fast


@needs_textworld
def test_the_environment_is_the_same_with_either_backend() -> None:
    envs = [gymnasium.make("NatLang/ALFWorld-v0", backend=backend) for backend in ("native", "textworld")]
    with faster():
        seen = [env.reset(seed=3, options={"task_id": BATHROOM}) for env in envs]
        assert seen[0] == seen[1]
        for _ in range(12):
            commands = seen[0][1]["admissible_commands"]
            command = commands[len(commands) // 2]
            assert envs[0].step(command) == envs[1].step(command)
