"""One game at a time, as TALES takes it; each game once; and all kinds of drivers beside the real package."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from natlang_envs.alfworld.compat import AlfredTWEnv, single
from natlang_envs.alfworld.compat.single import AlfredDemangler, AlfredInfos, EnvInfos, Filter, start
from natlang_envs.alfworld.engine.game import parse_game, read_game_file
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.plans import reference
from natlang_envs.alfworld.textworld.backend import process_state_kept
from natlang_envs.alfworld.textworld.export import game_of
from natlang_envs.errors import UsageError
from tests.pages import blocks
from tests.support.alfworld_drivers import DRIVERS, config_of, ours, theirs, write_games
from tests.support.alfworld_real import needs_package, needs_textworld
from tests.support.compat_games import CONFIG, config
from tools.alfworld.textworld_speed import faster

pytestmark = [pytest.mark.filterwarnings("ignore:.*official games"), pytest.mark.usefixtures("generated_games")]
KINDS = ("pick_clean_then_place_in_recep/401/007", "look_at_obj_in_light/301/016", "pick_two_obj_and_place/20/002")


@pytest.fixture
def path() -> str:
    return AlfredTWEnv(CONFIG).game_files[0]


@pytest.fixture
def games(tmp_path: Path) -> list[str]:
    return write_games(tmp_path, {f"{each}": game_of(f"generated/seen/{each}", "0.4.2") for each in KINDS})


def test_a_game_is_played_to_its_end_and_on_with_what_was_asked_for(path: str) -> None:
    asked = EnvInfos(
        won=True, moves=True, score=True, description=True, last_command=True, extras=["walkthrough", "x", "why"]
    )
    env = start(path, asked, wrappers=[Filter, AlfredDemangler()])
    with pytest.raises(UsageError, match="call reset first"):
        env.step("look")
    text, infos = env.reset()
    plan = reference(World(parse_game(read_game_file(path))))
    assert text.startswith("-= Welcome to TextWorld, ALFRED! =-")
    assert infos == {
        **{"description": None, "last_command": None, "won": False, "score": None, "moves": 0},
        **{"extra.walkthrough": json.loads(Path(path).read_text())["walkthrough"], "extra.x": None, "extra.why": None},
    }
    text, score, done, infos = env.step(" dance\n")
    assert (text, score, done) == (NOTHING_HAPPENS, 0, False)
    assert (infos["last_command"], infos["moves"], infos["extra.why"].cause) == ("dance", 0, "no such verb")
    for number, command in enumerate(plan, 1):
        twin = env.copy()
        assert env.step("look")[:3] == twin.step("look")[:3]
        _, score, done, infos = env.step(command)
        assert infos["moves"] == 2 * number
    assert (score, done, infos["won"]) == (1, True, True)
    assert env.step("look")[2] is True
    env.seed(3)
    env.close()
    assert env.reset()[1]["moves"] == 0


def test_wrappers_come_in_any_order_and_the_demangler_is_asked_for(path: str) -> None:
    for wrappers in ([AlfredDemangler(), AlfredInfos], [AlfredInfos, AlfredDemangler()]):
        state = start(path, EnvInfos(policy_commands=True), wrappers).reset()
        assert state["extra.gamefile"] == path
        assert state.policy_commands == reference(World(parse_game(read_game_file(path))))
        assert state.feedback
        assert state.nothing_of_this_name is None
    with pytest.raises(UsageError, match=r"was to be started without AlfredDemangler\(\): add it to wrappers"):
        start(path)
    random.seed(1)
    drawn = {start(path, None, [AlfredDemangler(shuffle=True)]).reset().feedback for _ in range(6)}
    assert len(drawn) > 1


def test_what_textworld_does_not_know_or_only_its_engine_does_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown information 'admisible_commands': choose one of admissible_commands"):
        EnvInfos(admisible_commands=True)
    with pytest.raises(UsageError, match="facts is only known to TextWorld's own engine"):
        EnvInfos(facts=True)
    assert EnvInfos(facts=False, won=True).basics == ["won"]


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_workers_that_share_the_games_play_each_once(workers: int) -> None:
    played: Counter[str] = Counter()
    for rank in range(workers):
        env = AlfredTWEnv(CONFIG)
        everything = env.game_files
        env.share(rank, workers)
        batch = env.init_env(1)
        batch.seed(rank)  # to whatever seed
        played.update(batch.reset()[1]["extra.gamefile"][0] for _ in range(env.num_games))
    assert played == dict.fromkeys(everything, 1)


def test_a_worker_that_there_is_not_and_more_workers_than_games_are_refused() -> None:
    env = AlfredTWEnv(config(dataset__num_train_games=2))
    with pytest.raises(UsageError, match="rank is 2 and has to be from 0 to 1, for 2 workers"):
        env.share(2, 2)
    with pytest.raises(UsageError, match="3 workers cannot share 2 games: take at most 2"):
        env.share(0, 3)
    assert env.num_games == 2


@needs_package
@pytest.mark.parametrize("name", DRIVERS)
def test_a_program_of_each_kind_plays_with_its_import_changed(name: str, games: list[str], tmp_path: Path) -> None:
    settings: Any = config_of(tmp_path, 50)
    moments = list(DRIVERS[name](ours(), settings, games * 2, 50))
    assert {each.game for each in moments} <= set(games)
    assert name == "verl-agent" or {each.game for each in moments} == set(games)  # there a seed draws for each pair
    won = {each.game for each in moments if each.done and each.reward}
    assert won  # what follows a plan
    again = list(DRIVERS[name](ours(), copy.deepcopy(settings), games * 2, 50))
    assert again == moments


def test_the_imports_that_the_page_s_diffs_add_are_there() -> None:
    page = (Path(__file__).parents[3] / "docs" / "alfworld.md").read_text(encoding="utf-8")
    diffs = [block.text for block in blocks(page) if block.language == "diff"]
    added = [line[1:] for diff in diffs for line in diff.splitlines() if line.startswith("+") and "import " in line]
    assert len(diffs) == 5
    assert len(added) == 6
    for line in added:
        exec(line, {})


@pytest.mark.slow
@needs_textworld
@pytest.mark.parametrize("name", DRIVERS)
def test_a_program_of_each_kind_sees_what_it_sees_of_the_package(name: str, games: list[str], tmp_path: Path) -> None:
    settings = config_of(tmp_path, 12)
    with process_state_kept(), faster():
        real = list(DRIVERS[name](theirs(), settings, games[:2], 12))
    own = list(DRIVERS[name](ours(), settings, games[:2], 12))
    for number, (one, other) in enumerate(zip_longest(own, real)):
        assert one == other, number
    assert single.start is ours().textworld.start
