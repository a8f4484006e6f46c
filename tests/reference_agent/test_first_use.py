"""What is given to the public functions for the first time: other types, other code, and what comes of it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import reference_agent as rrl
from natlang_envs.errors import UsageError
from reference_agent import CollectConfig, PolicySFTConfig, collect
from reference_agent.collection import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.inputs import described
from tests.support.corridor import Corridor

FEW = CollectConfig(trajectories=2, policy_trajectories=2)
walk_on = partial(Corridor, "train")


# What a folder's result was made from.


def kept(value: Any) -> Callable[[Any], tuple[str, str]]:
    """Return a teacher whose code is the same whatever it keeps."""
    return lambda moment: (f"{value}", moment.env.oracle()[0])


def with_default(value: Any) -> Callable[..., tuple[str, str]]:
    def teacher(moment: Any, *, word: Any = value) -> tuple[str, str]:
        return word, moment.env.oracle()[0]

    return teacher


def marked(value: Any) -> Callable[..., tuple[str, str]]:
    teacher = kept("So.")
    teacher.idles = value  # type: ignore[attr-defined]
    return teacher


class Speaker:
    """A teacher that keeps something."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __call__(self, moment: Any) -> tuple[str, str]:
        return f"{self.held}", moment.env.oracle()[0]


@pytest.mark.parametrize("make", [kept, Speaker, with_default, lambda value: Speaker(Speaker(value))])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.int64(1), np.int64(2)),
        (np.float32(1), np.float32(2)),
        ({"a"}, {"b"}),
        (["a"], ["b"]),
        ({"a": "b"}, {"a": "c"}),
        (np.arange(2), np.arange(2) + 1),
        (torch.zeros(2), torch.ones(2)),
        (b"a", b"b"),
        (range(2), range(3)),
        (np.random.default_rng(0), np.random.default_rng(1)),
        (random.Random(0), random.Random(1)),
    ],
)
def test_whatever_a_teacher_keeps_tells_it_from_another(make: Callable[[Any], Any], one: Any, other: Any) -> None:
    assert described(make(one)) == described(make(deepcopy(one))) != described(make(other))
    assert json.loads(json.dumps(described(make(one))))


def test_attributes_of_a_function_tell_it_from_another() -> None:
    assert described(marked(True)) != described(marked(False))


PHRASES = ["So I go."]


def phrase() -> str:
    return PHRASES[0]


def with_helper(moment: Any) -> tuple[str, str]:
    return phrase(), moment.env.oracle()[0]


def test_what_a_teacher_names_of_its_module_tells_it_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert collect(walk_on, with_helper, FEW, folder=tmp_path) == collect(walk_on, with_helper, FEW, folder=tmp_path)
    with monkeypatch.context() as changed:
        changed.setitem(globals(), "PHRASES", ["Well."])
        with pytest.raises(UsageError, match="teacher is another one"):
            collect(walk_on, with_helper, FEW, folder=tmp_path)
    monkeypatch.setitem(globals(), "phrase", lambda: "Well.")
    with pytest.raises(UsageError, match="teacher is another one"):
        collect(walk_on, with_helper, FEW, folder=tmp_path)


def test_numbers_of_numpy_are_compared_as_numbers(
    model: LanguageModel, examples: list[Example], tmp_path: Path
) -> None:
    """A loop over `np.arange` once returned the first result each time."""
    with pytest.raises(UsageError, match="seed was 0 and is now 1"):
        for seed in np.arange(2):
            collect(walk_on, "oracle", FEW, seed=seed, folder=tmp_path / "data")
    with pytest.raises(UsageError, match=r"config\.steps was 1 and is now 2"):
        for steps in np.arange(1, 3):
            settings = PolicySFTConfig(steps, batch=4)  # type: ignore[arg-type]
            rrl.fine_tune_policy(model.copy(), examples, settings, folder=tmp_path / "policy")
