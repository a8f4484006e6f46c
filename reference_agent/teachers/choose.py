"""Finds the teacher M_R of a run: the family's own, the generic one, or one registered by another package.

A teacher is made by a factory `(env, rng, **options) -> Teacher`. Other packages register factories in the entry-point
group `natlang_envs.teachers`; one that is named like an environment's family becomes that family's `"oracle"`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, reason, require_choice
from natlang_envs.installed import entry_points
from reference_agent.families import FAMILIES, package_of
from reference_agent.run.config import TeacherConfig
from reference_agent.teachers.base import Lesson, Moment, Teacher, plan

GROUP = "natlang_envs.teachers"
_PHRASES = Path(__file__).with_name("phrases.toml")
ORACLE, GENERIC, CHAT = "oracle", "generic", "openai"
_BUILT_IN = (*FAMILIES, GENERIC)


def make_teacher(env: NatLangEnv, rng: np.random.Generator, config: TeacherConfig) -> Teacher:
    """Return the teacher that the settings name, for an environment.

    A chat model is no teacher by itself: it is given the environment's `"oracle"`, which this returns for it.
    """
    require_choice("teacher.name", config.name, (ORACLE, CHAT, *_BUILT_IN, *_registered()))
    name = config.name
    if name in (ORACLE, CHAT):
        name = env.family if env.family in (*_registered(), *_BUILT_IN) else GENERIC
    options = {} if config.name == CHAT else dict(config.options)
    slips = options.pop("slips", 0.0)
    if type(slips) not in (int, float) or not 0 <= slips < 1:
        raise UsageError(f"teacher.slips is {slips!r}: give a number of at least 0 and below 1")
    factory = _load(name)
    arguments = signature(factory).parameters.values()
    check_options(name, options, {each.name: each.default for each in arguments if each.name not in ("env", "rng")})
    teacher: Teacher = factory(env, rng, **options)
    return Slipping(teacher, slips, rng) if slips else teacher


class Slipping:
    """A teacher that says the right thing and now and then does another, as a chat model or a person may.

    With probability `share` its action is a random other command.
    """

    def __init__(self, teacher: Teacher, share: float, rng: np.random.Generator) -> None:
        self.restarts, self.idles = getattr(teacher, "restarts", False), getattr(teacher, "idles", False)
        self._teacher, self._share, self._rng = teacher, share, rng

    def __call__(self, moment: Moment) -> Lesson:
        reflection, action = self._teacher(moment)
        others = [each for each in moment.commands if each != action]
        if others and self._rng.random() < self._share:
            action = others[int(self._rng.integers(len(others)))]
        return Lesson(reflection, action)


def check_options(teacher: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse options that are not `known`, which holds names and defaults, or are of another type than the default."""
    for option, value in options.items():
        if option not in known:
            takes = ", ".join(known) or "none"
            raise UsageError(f"the teacher {teacher!r} has no option {option!r}: its options are {takes}")
        wanted = type(known[option])
        fits = type(value) is wanted or (wanted is float and type(value) is int)
        if wanted in (str, bool, int, float) and not fits:
            raise UsageError(f"teacher.{option} must be {wanted.__name__}, not {value!r}")


def registered_teacher(name: object) -> Callable[..., Teacher] | None:
    """Return the factory of another package that a name stands for; None for any other."""
    return _load(name) if isinstance(name, str) and name in _registered() else None


def _registered() -> list[str]:
    return sorted(entry_points(group=GROUP).names)


def _load(name: str) -> Any:
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    return make if name == GENERIC else import_module(f"{package_of(name)}.teacher").make


class PlanTeacher:
    """Names the next action of the environment's own plan in one of the sentences `do`, after a mistake also `regret`.

    It says nothing about why, so a reflector that learns from it learns the plan itself. Sentences may contain
    `{action}` and, in `regret`, `{last}`.
    """

    def __init__(self, rng: np.random.Generator, sentences: dict[str, list[str]]) -> None:
        self._rng, self._sentences = rng, sentences

    def __call__(self, moment: Moment) -> Lesson:
        if not (steps := plan(moment.env)):
            env = type(moment.env).__name__
            raise UsageError(f"{env} has no oracle() or reference(): write a teacher function for it")
        kinds = ["do"] if moment.wrong is None else ["regret", "do"]
        said = [str(self._rng.choice(self._sentences[kind])) for kind in kinds]
        return Lesson(" ".join(said).format(action=steps[0], last=moment.wrong), steps[0])


def make(env: NatLangEnv, rng: np.random.Generator, phrases_file: str = "") -> PlanTeacher:
    path = Path(phrases_file or _PHRASES)
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"teacher.phrases_file {path} cannot be read ({reason(error)}): name a TOML file") from None
    for kind in ("do", "regret"):
        sentences = told.get(kind)
        if not isinstance(sentences, list) or not sentences or not all(isinstance(each, str) for each in sentences):
            raise UsageError(f"{phrases_file} needs a list of sentences named {kind!r}")
    return PlanTeacher(rng, told)
