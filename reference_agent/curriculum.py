"""Curricula (the paper's section 4.4): the environments of the stages, their tasks, and when to go on.

A stage is an environment with arguments. A curriculum may thus add rewards first (Taxi's pickup, then its dropoff),
take easy data first (AutoExplore's depth 1, depth 2, all), or short plans first. Stages only go forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import gymnasium
import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.episodes import EpisodesVectorEnv
from natlang_envs.errors import UsageError, all_are, check_flag
from natlang_envs.make_env import make_env
from natlang_envs.tasks import split_beside
from reference_agent.run.bounds import at_least, check_bounds, fraction

_DRAWS = 1000
_ALL, _TRAIN, _VALIDATION = "all", "train", "validation"
# Names of splits that hold test tasks, beside those that begin or end with "test"; two are ALFWorld's, the last
# AutoExplore's.
_WITH_TEST = (_ALL, "valid_unseen", "eval_out_of_distribution", "known")

Environment = str | Callable[[], NatLangEnv]  # an id, or a function that makes an environment


def make_environment(env: Environment, **arguments: Any) -> NatLangEnv:
    """Return a new environment; the arguments are for an id. Raises `UsageError` if there is none such."""
    if isinstance(env, str):
        return make_env(env, **arguments)
    _check_makes(env)
    made: object = env()
    if not isinstance(made, NatLangEnv):
        raise UsageError(f"the function made {made}, which is no NatLangEnv: return one without wrappers")
    return made


def _check_makes(env: object) -> None:
    if not isinstance(env, str) and not callable(env):
        raise UsageError(f"{env!r:.100} is no function that makes an environment: give its class, or an id")


def split_of(env: NatLangEnv) -> str | None:
    """Return the split that an environment draws its tasks from; None where it has none to choose from.

    One whose class takes no `split` and whose tasks are in `"all"` has none.
    """
    split = getattr(env.tasks, "split", None)
    return None if split == _ALL and not _takes_split(env) else split


def _takes_split(env: NatLangEnv) -> bool:
    made = [vars(each)["__init__"] for each in type(env).__mro__ if "__init__" in vars(each)]
    return any("split" in signature(each).parameters for each in made if each is not object.__init__)


@dataclass(frozen=True)
class Stage:
    """One stage of a curriculum: an environment and a length.

    Attributes:
        env: An environment's id, or a function that makes one; in a config an id.
        iterations: Largest number of iterations.
        advance_at: Mean success of the last batches, 0 to 1, at which the stage ends early; 0 for never.
        advance_after: Number of batches in that mean.
        longest_plan: Longest reference plan of the sampled tasks; 0 for any.
        env_kwargs: Arguments of an environment that is given by its id, such as ALFWorld's `{"task_types": [...]}`.
    """

    env: Environment = ""
    iterations: int = at_least(0, 100)
    advance_at: float = fraction()
    advance_after: int = at_least(1, 5)
    longest_plan: int = at_least(0, 0)
    env_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        check_bounds(self, "curriculum.")
        _check_makes(self.env)
        if self.env_kwargs and not isinstance(self.env, str):
            raise UsageError("env_kwargs are for an environment's id: give them to the function that makes yours")

    def make(self) -> NatLangEnv:
        """Return one environment of the stage."""
        return make_environment(self.env, **self.env_kwargs)

    def make_many(self, count: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """Return `count` environments of the stage that step together."""
        name = self.env.rpartition(":")[2] if isinstance(self.env, str) else ""
        if isinstance(self.env, str) and getattr(gymnasium.registry.get(name), "vector_entry_point", None):
            return gymnasium.make_vec(
                self.env, count, vectorization_mode="vector_entry_point", autoreset_mode="NextStep", **self.env_kwargs
            )
        return EpisodesVectorEnv(self.make(), count)


def as_stages(stages: object) -> list[Stage]:
    """Return a stage, or several, as a list. Raises `UsageError` if one is something else, such as an id."""
    return all_are(Stage, stages, "no stage: give Stage(env, iterations)")


def for_learning(stage: Stage, allow_test: bool) -> Stage:
    """Return a stage to learn in: the split `"train"` of an id that names none."""
    check_flag("allow_test", allow_test)
    env = stage.make()
    split, takes_split, named = split_of(env), _takes_split(env), stage.env_kwargs.get("split")
    env.close()
    if isinstance(stage.env, str) and not named and takes_split and split in (None, _ALL):
        return replace(stage, env_kwargs={**stage.env_kwargs, "split": _TRAIN})
    split = named or split
    if split and not allow_test and (split in _WITH_TEST or split.startswith("test") or split.endswith("_test")):
        name, how = (stage.env, "set") if isinstance(stage.env, str) else (type(env).__name__, "make it with")
        raise UsageError(
            f"the split {split!r} of {name} holds test tasks, which nothing may learn from: {how} split={_TRAIN!r}, "
            "or set allow_test to true as well, and say so beside the results"
        )
    return stage


def for_playing(env: Environment | Stage, split: str | None) -> Stage:
    if split and not isinstance(env, str):
        raise UsageError(f"split={split!r} is for an environment's id: make yours with it")
    stage = env if isinstance(env, Stage) else Stage(env, env_kwargs={"split": split} if split else {})
    made = stage.make()
    unnamed = isinstance(stage.env, str) and "split" not in stage.env_kwargs and split_of(made) in (None, _ALL)
    unnamed = unnamed and _takes_split(made)
    made.close()
    if unnamed:
        raise UsageError(f"{stage.env} has splits: name the one to play, such as split='validation' or split='test'")
    return stage


def passed(stage: Stage, number: int, curve: Sequence[dict[str, float]]) -> bool:
    """Return whether the last batches of stage `number` succeeded often enough to go on."""
    recent = [row["success"] for row in curve if row["stage"] == number][-stage.advance_after :]
    return stage.advance_at > 0 and len(recent) == stage.advance_after and float(np.mean(recent)) >= stage.advance_at


def for_validation(stage: Stage) -> Stage:
    """Return a stage with the validation tasks beside its own. Raises `UsageError` if there are none."""
    if not isinstance(stage.env, str):
        raise UsageError("rl.validate_every plays the split 'validation' of an environment's id: register yours")
    found = validation_beside(stage)
    if isinstance(found, str):
        raise UsageError(f"rl.validate_every plays validation tasks, but {found}: set it to 0")
    return found


def validation_beside(stage: Stage) -> Stage | str:
    """Return a stage of an id with the validation tasks beside its own, or in words why there are none."""
    made = stage.make()
    splits, own = _takes_split(made), stage.env_kwargs.get("split")
    made.close()
    split = split_beside(own, _VALIDATION)
    if not splits or own == split:
        return f"{stage.env} learns from {split!r} itself" if splits else f"{stage.env} has no splits"
    return replace(stage, env_kwargs={**stage.env_kwargs, "split": split})


def validations(number: int, curve: Sequence[dict[str, float]]) -> list[tuple[float, int]]:
    """Return the validations of stage `number` with their iterations; 0 is before the first."""
    rows = [row for row in curve if row["stage"] == number]
    before = [(row["validation_before"], 0) for row in rows if "validation_before" in row]
    return before + [(row["validation"], int(row["iteration"])) for row in rows if "validation" in row]


def best_iteration(number: int, curve: Sequence[dict[str, float]]) -> int:
    """Return the iteration of stage `number` with the best validation, the last one of equals; 0 is before the first.

    The last, since greedy games that win alike hide what more training adds to sampled ones.
    """
    return max(validations(number, curve))[1]


def improves_no_more(number: int, curve: Sequence[dict[str, float]], patience: int) -> bool:
    """Return whether the last `patience` validations of stage `number` were no better than one before; 0 for never."""
    scores = [score for score, _ in validations(number, curve)]
    return 0 < patience < len(scores) and max(scores[-patience:]) <= max(scores[:-patience])


class StageTasks:
    def __init__(self, stage: Stage) -> None:
        self._stage, self._env = stage, stage.make()
        self._lengths: dict[str, int] = {}

    def draw(self, rng: np.random.Generator) -> str:
        """Return a task whose plan is within the stage's `longest_plan`. Raises `UsageError` if hardly any is."""
        longest = self._stage.longest_plan
        for _ in range(_DRAWS):
            task_id = self._env.tasks.draw(rng.random)
            if longest and task_id not in self._lengths:
                self._env.reset(options={"task_id": task_id})
                self._lengths[task_id] = len(self._env.reference())
            if not longest or self._lengths[task_id] <= longest:
                return task_id
        raise UsageError(
            f"none of {_DRAWS} tasks of {self._stage.env} has a plan of at most {longest} steps: "
            "raise the stage's longest_plan"
        )

    def close(self) -> None:
        self._env.close()
