"""Chooses the teacher M_R of a run (Algorithm 1, lines 7, 8, 15, 16): an oracle of the family, or a chat model."""

from __future__ import annotations

import numpy as np

from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from reference_agent.config import CollectConfig
from reference_agent.teachers import alfworld as teacher_alfworld
from reference_agent.teachers import autoexplore as teacher_autoexplore
from reference_agent.teachers import dangerous_taxi as teacher_taxi
from reference_agent.teachers.base import Teacher, phrases


def make_teacher(env: NatLangEnv, rng: np.random.Generator, settings: CollectConfig) -> Teacher:
    """Return the oracle teacher of an environment's family; some of the settings are for it.

    Raises:
        UsageError: The family has none.
    """
    if isinstance(env, DangerousTaxiEnv):
        return teacher_taxi.TaxiTeacher(rng, settings.regret, settings.walls)
    if isinstance(env, ALFWorldEnv):
        return teacher_alfworld.ALFWorldTeacher(rng, settings.aloud)
    if isinstance(env, AutoExploreEnv):
        return teacher_autoexplore.AutoExploreTeacher(rng)
    raise UsageError(
        f"no oracle teacher knows the environments of {env.family!r}: use DangerousTaxi, ALFWorld or AutoExplore"
    )


def tiny_words(env: NatLangEnv) -> list[str]:
    """Return the words that the tokenizer of a tiny model for an environment keeps as single tokens."""
    if isinstance(env, ALFWorldEnv):
        return teacher_alfworld.words()
    return phrases(teacher_autoexplore.SAYINGS if isinstance(env, AutoExploreEnv) else teacher_taxi.SAYINGS)["words"]
