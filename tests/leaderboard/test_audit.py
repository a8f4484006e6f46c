"""An audit passes honest agents and catches recordings that were chosen among many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leaderboard.audit import audit
from leaderboard.pack import pack
from natlang_envs import UsageError
from natlang_envs.evaluation import AgentInput, evaluate, load_agent, load_protocol
from natlang_envs.evaluation.agents import Agent, RandomAgent
from tests.leaderboard.conftest import Finished
from tests.leaderboard.forge import PROTOCOL


class Drawing:
    """Draws like the random agent, from what it is given."""

    sampling = True

    def __call__(self, given: AgentInput) -> str:
        return RandomAgent()(given)


class BestOfMany:
    """Tries many games in its head with an environment of its own, and plays the best."""

    def __init__(self, tries: int, sampling: bool) -> None:
        self.sampling = sampling
        self._tries = tries
        self._env = load_protocol(PROTOCOL).make_env()
        self._tasks = {
            self._env.reset(options={"task_id": each.task_id})[0]: each.task_id
            for each in load_protocol(PROTOCOL).episodes
        }
        self._plan: list[str] = []

    def __call__(self, given: AgentInput) -> str:
        if not given.path:
            self._plan = max((self._game(given, seed) for seed in range(self._tries)), key=lambda game: game[0])[1]
        return self._plan[len(given.path)]

    def _game(self, given: AgentInput, seed: int) -> tuple[bool, list[str]]:
        rng = np.random.default_rng(seed)
        _, info = self._env.reset(options={"task_id": self._tasks[given.observation]})
        actions: list[str] = []
        ended = False
        while not ended:
            actions.append(str(rng.choice(info["admissible_commands"][:5])))
            _, _, terminated, truncated, info = self._env.step(actions[-1])
            ended = terminated or truncated
        return info["success"], actions


def entry_of(agent: Agent, folder: Path, *, deterministic: bool = False) -> Path:
    evaluate(agent, PROTOCOL, out=folder / "run", batch=1)
    return pack(folder / "run", name="agent", out=folder / "submissions", deterministic=deterministic)


def test_honest_agents_pass(tmp_path: Path) -> None:
    def south(given: AgentInput) -> str:
        return "move south"

    fixed = audit(entry_of(south, tmp_path / "fixed", deterministic=True), south, "beacon")
    assert (fixed.same, fixed.problem) == (fixed.steps, "")
    drawn = audit(entry_of(Drawing(), tmp_path / "drawn"), Drawing(), "beacon")
    assert drawn.same < drawn.steps
    assert drawn.problem == ""


def test_best_of_many_tries_is_caught(tmp_path: Path) -> None:
    entry = entry_of(BestOfMany(150, sampling=True), tmp_path)
    found = audit(entry, Drawing(), "beacon")
    assert found.recorded >= found.again + 5
    assert "playing again has" in found.problem


def test_a_run_of_a_sampler_that_is_called_deterministic_is_caught(tmp_path: Path) -> None:
    def drawing(given: AgentInput) -> str:  # it does not say that it samples
        return RandomAgent()(given)

    found = audit(entry_of(drawing, tmp_path, deterministic=True), drawing, "beacon")
    assert "of an agent that does not draw are other ones" in found.problem


def test_another_beacon_picks_other_episodes(tmp_path: Path) -> None:
    entry = entry_of(Drawing(), tmp_path)
    assert audit(entry, Drawing(), "one") == audit(entry, Drawing(), "one")
    assert len({audit(entry, Drawing(), beacon).steps for beacon in "abcd"}) > 1


def test_the_command_says_what_was_found(entry: Path, command: Callable[..., Finished]) -> None:
    caught = command("audit", entry, "--agent", "random", "--beacon", "x")
    assert caught.code == 2
    assert "does not pass" in caught.err[0]
    with pytest.raises(UsageError, match="nothing to audit"):
        audit(entry, load_agent("oracle"), "x")
