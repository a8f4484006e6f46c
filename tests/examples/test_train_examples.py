"""The examples that train: short runs of both, and the success that the guessing game states."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from examples import players_taxi, ppo_taxi, train_guessing_game, train_taxi
from natlang_envs.conformance import CHECKS
from reference_agent import Players
from reference_agent.tiny.making import tiny_folder


def lines_of(module: object, name: str) -> int:
    """Return how many lines a function has."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    (found,) = (each for each in ast.walk(tree) if getattr(each, "name", None) == name)
    return found.end_lineno - found.lineno + 1  # type: ignore[attr-defined]


def test_training_takes_few_lines() -> None:
    assert lines_of(train_taxi, "main") <= 15
    assert lines_of(train_guessing_game, "main") + lines_of(train_guessing_game, "teacher") <= 30
    assert lines_of(train_guessing_game, "HalvingEnv") <= 40
    assert CHECKS


@pytest.mark.slow
def test_taxi_trains_with_a_model_of_transformers() -> None:
    assert 0 <= train_taxi.main(str(tiny_folder()), steps=2, iterations=1) <= 1


@pytest.mark.slow
def test_players_are_trained_and_saved_before_and_after_reinforcement(tmp_path: Path) -> None:
    players_taxi.main(tmp_path, trajectories=3, steps=5, iterations=1)
    for name in ("sft", "players"):
        assert Players.load(tmp_path / name).config.reflection_tokens == 80


def test_a_game_of_ones_own_trains() -> None:
    assert 0 <= train_guessing_game.main(steps=2, iterations=1) <= 1


@pytest.mark.slow
def test_the_guessing_game_reaches_the_success_that_it_states() -> None:
    assert train_guessing_game.main() >= train_guessing_game.STATED


@pytest.mark.slow
def test_ppo_learns_to_pick_the_passenger_up() -> None:
    # A random player wins 4% of these games; so many updates gave 65, 80 and 94% on three seeds.
    assert ppo_taxi.main(updates=60) > 0.4
