"""Reflect-RL: two-player online RL fine-tuning of small language models (arXiv 2402.12621).

An hour's reading follows Algorithm 1, whose line numbers are in the code:

collection   lines 2 to 20, the data set D from a teacher
data_set     its examples and its card, and their files
sft          lines 21 and 22, supervised fine-tuning of both players
players      lines 28 and 29, both players at a decision
state        p(s), by a history or by a function of one's own
rollout      lines 24 to 33, trajectories of the two players
rlft         lines 23 to 35, the curriculum
algorithms/  line 34: advantages, and the update

Around it:

curriculum   a stage: environments, their tasks, when to go on
checkpoint   checkpoints of training, resumed to the same bits
processes    training by several processes
run/         settings, one folder for a whole run, the command `reflect-rl`
models/      language models as players, and where named ones come from
teachers/    M_R, which reflects and acts
families/    what one family of environments needs
tiny/        how the tiny model is made and warmed up
baselines/   models without fine-tuning
start/       from the file of a game to its players and its board
memory/      a player who remembers its repositories
paper/       the paper's tables and figures

The names below are public; everything else is internal.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reference_agent.algorithms import Algorithm
    from reference_agent.algorithms.policy_gradient import Learner, Update
    from reference_agent.collection import collect
    from reference_agent.curriculum import Stage
    from reference_agent.data_set import Example
    from reference_agent.models.language_model import LanguageModel
    from reference_agent.models.saycan import WritingPolicy
    from reference_agent.players import Reflector
    from reference_agent.rlft import TrainingInterrupted, reinforce
    from reference_agent.rollout import Episode, play, success_rate
    from reference_agent.run.config import CollectConfig, ModelConfig, PolicySFTConfig, RLConfig, SFTConfig
    from reference_agent.run.players import Players
    from reference_agent.run.stages import load_model
    from reference_agent.sft import Learned, fine_tune_policy, fine_tune_reflector
    from reference_agent.teachers.base import Lesson, Moment, Teacher
    from reference_agent.tiny.own import tiny_for

_NAMES = {
    "algorithms": "Algorithm",
    "algorithms.policy_gradient": "Learner Update",
    "collection": "collect",
    "curriculum": "Stage",
    "data_set": "Example",
    "models.language_model": "LanguageModel",
    "models.saycan": "WritingPolicy",
    "players": "Reflector",
    "rlft": "TrainingInterrupted reinforce",
    "rollout": "Episode play success_rate",
    "run.config": "CollectConfig ModelConfig PolicySFTConfig RLConfig SFTConfig",
    "run.stages": "load_model",
    "run.players": "Players",
    "sft": "Learned fine_tune_policy fine_tune_reflector",
    "teachers.base": "Lesson Moment Teacher",
    "tiny.own": "tiny_for",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["Algorithm", "CollectConfig", "Episode", "Example", "LanguageModel", "Learned", "Learner", "Lesson"]
__all__ += [
    "ModelConfig",
    "Moment",
    "Players",
    "PolicySFTConfig",
    "RLConfig",
    "Reflector",
    "SFTConfig",
    "Stage",
    "TrainingInterrupted",
    "Teacher",
    "Update",
    "WritingPolicy",
]
__all__ += [
    "collect",
    "fine_tune_policy",
    "fine_tune_reflector",
    "load_model",
    "play",
    "reinforce",
    "success_rate",
    "tiny_for",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: torch takes seconds.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
