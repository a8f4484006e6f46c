"""A whole number may be NumPy's, as in anyone's sweep; True is none, and would be taken for 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from natlang_envs.copilot.copilot import AutoExploreCopilot
from natlang_envs.errors import UsageError
from natlang_envs.learners.encoders import TextEncoder
from natlang_envs.prompt import check_history

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"


def _many(number: Any = 2, **arguments: Any) -> Any:
    return gymnasium.make_vec(PICKUP, number, vectorization_mode="vector_entry_point", **arguments)


TAKES: dict[str, Callable[[Any], Any]] = {
    "horizon": lambda number: gymnasium.make(PICKUP, horizon=number),
    "file_budget": lambda number: gymnasium.make("NatLang/AutoExplore-v0", file_budget=number),
    "num_envs": _many,
    "max_episode_steps": lambda number: _many(max_episode_steps=number),
    "a seed": lambda number: _many().reset(seed=number),
    "one seed of a list": lambda number: _many().reset(seed=[7, number]),
    "size": TextEncoder,
    "history": check_history,
}


@pytest.mark.parametrize("name", TAKES)
def test_a_number_of_numpy_is_taken_and_true_is_not(name: str) -> None:
    TAKES[name](np.int64(3))
    with pytest.raises(UsageError, match=r"must be .*not (np\.)?True"):
        TAKES[name](True)
    with pytest.raises(UsageError, match=r"must be .*not (np\.)?True"):
        TAKES[name](np.True_)


def test_a_copilots_steps(tmp_path: Any) -> None:
    (tmp_path / "README.md").write_text("Boats.")
    with AutoExploreCopilot("Which?", tmp_path, steps=np.int64(3)) as copilot:  # type: ignore[arg-type]
        assert copilot.steps_left == 3
    with pytest.raises(UsageError, match="steps must be a whole number of at least 1, not True"):
        AutoExploreCopilot("Which?", tmp_path, steps=True)
