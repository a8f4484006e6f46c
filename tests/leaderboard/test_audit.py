"""An audit passes honest agents and catches recordings that were chosen among many."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.audit import EPISODES, _so_few, audit
from leaderboard.pack import pack
from natlang_envs import UsageError, unwrap
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


class Leaning(Drawing):
    """Draws one of the listed commands, the first three more often, and tells how often."""

    def __init__(self, weights: tuple[float, ...] = (0.3, 0.3, 0.3, 0.05, 0.04, 0.01), sampling: bool = True) -> None:
        self.sampling = sampling
        self._weights = np.array(weights)

    def __call__(self, given: AgentInput) -> str:
        at = given.rng.choice(6, p=self._weights) if self.sampling else self._weights.argmax()
        return given.admissible_commands[int(at)]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        return self._weights.tolist()


class Likely(Leaning):
    """Draws a hundred times and keeps the likeliest, as one may who looks for a good game."""

    def __call__(self, given: AgentInput) -> str:
        draws = given.rng.choice(6, p=self._weights, size=100)
        return given.admissible_commands[int(draws[self._weights[draws].argmax()])]


def test_draws_are_as_likely_as_the_agent_says(tmp_path: Path) -> None:
    uneven = (0.5, 0.2, 0.15, 0.1, 0.04, 0.01)
    honest = audit(entry_of(Leaning(uneven), tmp_path / "honest"), Leaning(uneven), "beacon")
    assert honest.surprise is not None
    assert abs(honest.surprise) < 3
    assert honest.problem == ""
    kept = audit(entry_of(Likely(uneven), tmp_path / "kept"), Leaning(uneven), "beacon")
    assert "more likely than draws are" in kept.problem
    other = audit(entry_of(Leaning((0.01, 0.04, 0.1, 0.15, 0.2, 0.5)), tmp_path / "other"), Leaning(uneven), "beacon")
    assert "less likely than draws are" in other.problem


def test_an_action_may_differ_where_two_are_all_but_alike(tmp_path: Path) -> None:
    # On another machine the second of two equal commands comes first.
    one, rounded, far = ((0.3001, 0.2999), (0.2999, 0.3001), (0.2, 0.4))
    entry = entry_of(Leaning((*one, 0.2, 0.1, 0.05, 0.05), sampling=False), tmp_path, deterministic=True)
    drift = audit(entry, Leaning((*rounded, 0.2, 0.1, 0.05, 0.05), sampling=False), "beacon")
    assert (drift.same, drift.drifted, drift.problem) == (0, drift.steps, "")
    found = audit(entry, Leaning((*far, 0.2, 0.1, 0.05, 0.05), sampling=False), "beacon")
    assert "of an agent that does not draw are other ones" in found.problem


def test_tasks_drawn_afresh_are_played_too(tmp_path: Path) -> None:
    protocol = load_protocol("alfworld-generated/v1")
    env = unwrap(protocol.make_env())
    plans = {env.reset(options={"task_id": each.task_id})[0]: tuple(env.reference()) for each in protocol.episodes}

    class ByHeart:
        """Knows the protocol's own tasks by heart, and nothing else."""

        def __init__(self) -> None:
            self._plan: tuple[str, ...] = ()

        def __call__(self, given: AgentInput) -> str:
            if not given.path:
                self._plan = plans.get(given.observation, ())
            return self._plan[len(given.path)] if len(given.path) < len(self._plan) else "look"

    evaluate(ByHeart(), protocol, out=tmp_path / "run", batch=1)
    entry = pack(tmp_path / "run", name="agent", out=tmp_path / "submissions", deterministic=True)
    found = audit(entry, ByHeart(), "beacon")
    assert found.recorded == found.again >= 25
    assert found.fresh <= 3
    assert re.match(r"^tasks drawn afresh are won \d times in 30 \(p = ", found.problem)


@given(st.integers(0, 30), st.integers(0, 200))
def test_so_few_is_fishers_test(won: int, others: int) -> None:
    p = _so_few(won, 30, others, 200)
    assert 0 < p <= 1
    assert _so_few(30, 30, others, 200) == 1
    assert won == 0 or _so_few(won - 1, 30, others, 200) <= p


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


@pytest.mark.parametrize(
    ("protocol", "least", "most"),
    [
        ("dangerous-taxi-pickup-cities/v1", 0, 0),
        ("dangerous-taxi-dropoff-cities/v1", 0, 0),
        ("alfworld-generated/v1", 0, 5),
        ("alfworld-tomato/v1", 0, 5),
        ("alfworld-tomato/v1", 30, 30),
        ("dangerous-taxi-pickup/v1", 25, 30),
    ],
)
def test_an_audits_tasks_are_new_on_the_boards_that_the_policy_names(protocol: str, least: int, most: int) -> None:
    board = load_protocol(protocol)
    listed = {episode.task_id for episode in board.episodes}
    tasks, rng = unwrap(board.make_env()).tasks, np.random.default_rng(0)
    assert least <= sum(tasks.draw(rng.random) in listed for _ in range(EPISODES)) <= most
