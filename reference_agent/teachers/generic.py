"""A teacher for any environment: it follows the environment's own plan and names the next action in set phrases.

It says nothing about why, so a reflector that learns from it learns the plan itself. Phrases of your own say more: a
TOML file with the lists `do` and `regret`, whose sentences may contain `{action}` and, in `regret`, `{last}`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from reference_agent.teachers.base import Lesson, Moment, phrases, plan


class PlanTeacher:
    """Names the next action of the environment's plan.

    Args:
        rng: Draws the wording.
        sentences: Lists of sentences, `do` and `regret`.
    """

    restarts = False
    idles = False

    def __init__(self, rng: np.random.Generator, sentences: dict[str, list[str]]) -> None:
        self._rng = rng
        self._sentences = sentences

    def __call__(self, moment: Moment) -> Lesson:
        """Return a sentence that names the next action of the plan, and that action."""
        steps = plan(moment.env)
        if not steps:
            env = type(moment.env).__name__
            raise UsageError(f"{env} has no oracle() or reference(): write a teacher function for it")
        kinds = ["do"] if moment.wrong is None else ["regret", "do"]
        said = [str(self._rng.choice(self._sentences[kind])) for kind in kinds]
        return Lesson(" ".join(said).format(action=steps[0], last=moment.wrong), steps[0])


def make(env: NatLangEnv, rng: np.random.Generator, phrases_file: str = "") -> PlanTeacher:
    """Return the generic teacher.

    Args:
        env: The environment; any will do.
        rng: Draws the wording.
        phrases_file: A TOML file with the lists `do` and `regret`, instead of the built-in ones.

    Raises:
        UsageError: The file is missing, or lacks one of the lists.
    """
    if not phrases_file:
        return PlanTeacher(rng, phrases("generic"))
    try:
        told = tomllib.loads(Path(phrases_file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"teacher.phrases_file {phrases_file} cannot be read ({error}): name a TOML file") from None
    for kind in ("do", "regret"):
        sentences = told.get(kind)
        if not isinstance(sentences, list) or not sentences or not all(isinstance(each, str) for each in sentences):
            raise UsageError(f"{phrases_file} needs a list of sentences named {kind!r}")
    return PlanTeacher(rng, told)
