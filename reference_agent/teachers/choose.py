"""Finds the teacher M_R of a run: the family's own, the generic one, or one registered by another package.

A teacher is made by a factory `(env, rng, **options) -> Teacher`. Other packages register factories in the entry-point
group `natlang_envs.teachers`; one that is named like an environment's family becomes that family's `"oracle"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from typing import Any

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, one_of
from reference_agent.config import TeacherConfig
from reference_agent.teachers.base import Lesson, Moment, Teacher, phrases

GROUP = "natlang_envs.teachers"
ORACLE, GENERIC, CHAT = "oracle", "generic", "openai"
Factory = Callable[..., Teacher]

_BUILT_IN = {
    "dangerous-taxi": "reference_agent.teachers.dangerous_taxi:make",
    "alfworld": "reference_agent.teachers.alfworld:make",
    "autoexplore": "reference_agent.teachers.autoexplore:make",
    GENERIC: "reference_agent.teachers.generic:make",
}


def check_teacher(name: str) -> None:
    """Raise `UsageError` unless a teacher has this name."""
    one_of("teacher.name", name, (ORACLE, CHAT, *_BUILT_IN, *_registered()))


def make_teacher(env: NatLangEnv, rng: np.random.Generator, config: TeacherConfig) -> Teacher:
    """Return the teacher that the settings name, for an environment.

    A chat model is no teacher by itself: it is given the environment's `"oracle"`, which this returns for it.

    Raises:
        UsageError: There is no such teacher, or it does not take one of the options.
    """
    check_teacher(config.name)
    own = config.name in (ORACLE, CHAT)
    name = config.name
    if own:
        name = env.family if env.family in (*_registered(), *_BUILT_IN) else GENERIC
    options = {} if config.name == CHAT else dict(config.options)
    slips = options.pop("slips", 0.0)
    if type(slips) not in (int, float) or not 0 <= slips < 1:
        raise UsageError(f"teacher.slips is {slips!r}: give a number of at least 0 and below 1")
    factory = _load(name)
    arguments = signature(factory).parameters.values()
    known = {each.name: each.default for each in arguments if each.name not in ("env", "rng")}
    check_options(name, options, known)
    teacher: Teacher = factory(env, rng, **options)
    return Slipping(teacher, slips, rng) if slips else teacher


class Slipping:
    """A teacher that says the right thing and now and then does another, as a chat model or a person may.

    Args:
        teacher: The teacher.
        share: Probability that its action is a random other command.
        rng: Draws when, and which.
    """

    def __init__(self, teacher: Teacher, share: float, rng: np.random.Generator) -> None:
        self.restarts, self.idles = getattr(teacher, "restarts", False), getattr(teacher, "idles", False)
        self._teacher, self._share, self._rng = teacher, share, rng

    def __call__(self, moment: Moment) -> Lesson:
        """Return the teacher's reflection, and its action or another."""
        reflection, action = self._teacher(moment)
        others = [each for each in moment.commands if each != action]
        if others and self._rng.random() < self._share:
            action = others[int(self._rng.integers(len(others)))]
        return Lesson(reflection, action)


def check_options(teacher: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse options that a teacher does not take; `known` holds those that it takes, with their defaults.

    Raises:
        UsageError: An option is unknown, or its type is not that of its default.
    """
    for option, value in options.items():
        if option not in known:
            takes = ", ".join(known) or "none"
            raise UsageError(f"the teacher {teacher!r} has no option {option!r}: its options are {takes}")
        wanted = type(known[option])
        fits = type(value) is wanted or (wanted is float and type(value) is int)
        if wanted in (str, bool, int, float) and not fits:
            raise UsageError(f"teacher.{option} must be {wanted.__name__}, not {value!r}")


def tiny_words(env: NatLangEnv) -> list[str]:
    """Return the words that the tokenizer of a tiny model for an environment keeps as single tokens."""
    if env.family == "alfworld":
        return import_module("reference_agent.teachers.alfworld").words()
    try:
        return phrases(env.family.replace("-", "_"))["words"]
    except FileNotFoundError:
        return sorted({word for command in env.action_space.commands for word in command.split()})


def _registered() -> list[str]:
    return sorted(entry_points(group=GROUP).names)


def _load(name: str) -> Any:
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    module, _, attribute = _BUILT_IN[name].partition(":")
    return getattr(import_module(module), attribute)
