"""Environments can be pickled and copied in the middle of an episode, alone and many at a time; copies go on alike."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import pytest

import natlang_envs

IDS = [entry.id for entry in natlang_envs.ENVIRONMENTS]
EMBEDDED: dict[str, Any] = {"dataset": "embedded"}  # the labelled dataset needs a download


def through_pickle(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("again", [through_pickle, copy.deepcopy])
@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
@pytest.mark.parametrize("env_id", IDS)
def test_a_copy_goes_on_as_the_original(env_id: str, vector: bool, again: Callable[[Any], Any]) -> None:
    kwargs = EMBEDDED if "AutoExplore" in env_id else {}
    env: Any = (
        gymnasium.make_vec(env_id, 2, vectorization_mode="vector_entry_point", **kwargs)
        if vector
        else gymnasium.make(env_id, **kwargs)
    )
    _, info = env.reset(seed=1)
    listed = info["admissible_commands"]
    env.step([each[0] for each in listed] if vector else listed[0])
    env.reset(seed=2)
    other = again(env)
    command = ["look", "exit"] if vector else "look"
    assert repr(env.step(command)) == repr(other.step(command))
    assert repr(env.reset()) == repr(other.reset())  # the random numbers are copied too
