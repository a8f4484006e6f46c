"""What becomes of an honest environment when one promise is broken: the conformance checks' own test.

`EXPECTED` says which check has to catch each of them, and with which words. The classes are registered when this module
is imported, so `tests.support.broken:Broken/IgnoresSeed-v0` can be made in another process too.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Text

from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.dangerous_taxi.vector import DangerousTaxiVectorEnv
from natlang_envs.env import NatLangEnv, Outcome, Snapshot
from natlang_envs.errors import UsageError
from natlang_envs.tasks import Split
from tests.support.corridor import Corridor, CorridorTasks


class Expected(NamedTuple):
    """A broken environment, the check that has to catch it, and part of what the check has to say."""

    env_id: str
    check: str
    words: str


EXPECTED: list[Expected] = []


def _register(cls: type, vector: type | None = None) -> str:
    name = (vector or cls).__name__
    entry = f"{__name__}:{name}" if vector else None
    env_id = f"Broken/{name}-v0"
    gymnasium.register(
        env_id,
        f"{cls.__module__}:{cls.__name__}",
        vector_entry_point=entry,
        order_enforce=False,
        disable_env_checker=True,
    )
    return f"{__name__}:{env_id}"


def caught_by(check: str, words: str) -> Callable[[type], type]:
    """Register a broken class and say which check has to fail on it."""

    def register(cls: type) -> type:
        is_vector = issubclass(cls, DangerousTaxiVectorEnv)
        env_id = _register(DangerousTaxiEnv, cls) if is_vector else _register(cls)
        EXPECTED.append(Expected(env_id, check, words))
        return cls

    return register


HONEST = _register(Corridor)


# Determinism.


@caught_by("same_seed_same_episodes", "seed 0 played again")
class IgnoresSeed(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(seed=None, options=options)


@caught_by("same_seed_same_episodes", "seed 0 played again")
class RandomFromSecondStep(Corridor):
    """Gymnasium's `check_env` passes this one."""

    def _act(self, command: str) -> Outcome:
        outcome = super()._act(command)
        return outcome._replace(reward=random.random()) if self._steps > 1 else outcome


@caught_by("same_seed_same_episodes", "after other episodes")
class RemembersEpisodes(Corridor):
    played = 0

    def _begin(self, task_id: str) -> str:
        self.played += 1
        return f"{super()._begin(task_id)} This is visit {self.played}."


@caught_by("same_episodes_in_another_process", "PYTHONHASHSEED")
class IteratesSet(Corridor):
    def _text(self) -> str:
        doors = {f"a {colour} door" for colour in ("red", "blue", "green", "grey", "white", "black")}
        return f"{super()._text()} You see {', '.join(doors)}."


@caught_by("same_episodes_in_another_process", "PYTHONHASHSEED")
class TellsHostPath(Corridor):
    def _text(self) -> str:
        return f"{super()._text()} It is drawn on {os.getcwd()}."  # noqa: PTH109


@caught_by("instances_are_independent", "beside another instance")
class SharesState(Corridor):
    everybody: ClassVar[list[int]] = []

    def _begin(self, task_id: str) -> str:
        self.everybody.clear()
        return super()._begin(task_id)

    def _act(self, command: str) -> Outcome:
        self.everybody.append(1)
        return super()._act(command)._replace(reward=-float(len(self.everybody)))


@caught_by("instances_are_independent", "global random numbers reseeded")
class SeedsGlobalRandom(Corridor):
    def _begin(self, task_id: str) -> str:
        random.seed(task_id)
        return super()._begin(task_id)

    def _act(self, command: str) -> Outcome:
        return super()._act(command)._replace(reward=random.random())


@caught_by("leaves_global_random_numbers_alone", "numpy.random")
class DrawsFromNumpy(Corridor):
    def _begin(self, task_id: str) -> str:
        np.random.random()  # noqa: NPY002
        return super()._begin(task_id)


@caught_by("different_seeds_differ", "ignores its seed")
class OneTaskForAll(Corridor):
    def _begin(self, task_id: str) -> str:
        return super()._begin("room-0/room-3")


@caught_by("different_seeds_differ", "seeds give the same task")
class AlwaysFirstTask(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(seed=seed, options={"task_id": next(self.tasks.ids()), **(options or {})})


@caught_by("passes_check_env", "warns")
class OldSeedMethod(Corridor):
    def seed(self, seed: int) -> None:
        self.reset(seed=seed)


@caught_by("spec_round_trips", "made from its spec")
class ReadsVariable(Corridor):
    """Not all of what it does is in its arguments: the second instance in a process differs."""

    made = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        type(self).made += 1
        self._number = self.made

    def _text(self) -> str:
        return f"{super()._text()} This is corridor {self._number}."


# Infos, texts, spaces.


@caught_by("infos_are_complete", "success")
class NumpyBool(Corridor):
    def _info(self) -> dict[str, Any]:
        return {**super()._info(), "success": np.bool_(self._success)}


@caught_by("infos_are_complete", "admissible_commands")
class ListOfCommands(Corridor):
    def _info(self) -> dict[str, Any]:
        return {**super()._info(), "admissible_commands": list(self._admissible_commands())}


@caught_by("infos_are_complete", "has the keys")
class NoCommandsAtTheEnd(Corridor):
    def _info(self) -> dict[str, Any]:
        info = super()._info()
        if self._ended:
            del info["admissible_commands"]
        return info


@caught_by("infos_are_complete", "has the keys")
class GivesTheAnswerAway(Corridor):
    def _info(self) -> dict[str, Any]:
        return {**super()._info(), "plan": tuple(self.oracle())}


@caught_by("infos_are_complete", "admissible commands")
class TooManyCommands(Corridor):
    def _info(self) -> dict[str, Any]:
        return {**super()._info(), "admissible_commands": (*self._admissible_commands(), "go up")}


@caught_by("steps_have_builtin_types", "reward")
class NumpyReward(Corridor):
    def _act(self, command: str) -> Outcome:
        outcome = super()._act(command)
        return outcome._replace(reward=np.float64(outcome.reward))


@caught_by("steps_have_builtin_types", "before the end")
class SuccessTooEarly(Corridor):
    def _act(self, command: str) -> Outcome:
        return super()._act(command)._replace(success=True)


@caught_by("texts_are_in_their_spaces", "is not in")
class LongerThanItsSpace(Corridor):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_observation=40, **kwargs)


@caught_by("samples_are_admissible", "not admissible")
class StaleSamples(Corridor):
    def _info(self) -> dict[str, Any]:
        fallback = self.action_space.commands
        info = super()._info()
        self.action_space.commands = fallback
        return info


# Bad input and order.


@caught_by("unknown_text_is_answered", "instead of getting an answer")
class RaisesOnUnknownText(Corridor):
    def _act(self, command: str) -> Outcome:
        ("go west", "go east", "light the lamp").index(command)
        return super()._act(command)


@caught_by("unknown_text_is_answered", "not in")
class RepeatsAnyText(Corridor):
    def _act(self, command: str) -> Outcome:
        return super()._act(command)._replace(feedback=f"You say {command}.")


@caught_by("unknown_text_is_answered", "not in")
class LeaksSurrogates(Corridor):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, *rest = super().step(action)
        return (observation + action[:40], *rest)


@caught_by("unknown_text_is_answered", "nothing is answered")
class Silent(Corridor):
    def _act(self, command: str) -> Outcome:
        return super()._act(command)._replace(feedback="")


@caught_by("white_space_is_stripped", "in place of")
class TakesWhiteSpaceLiterally(Corridor):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return super().step(action if action == action.strip() else repr(action))


@caught_by("wrong_types_are_refused", "raise TypeError")
class TakesAnything(Corridor):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return super().step(str(action))


@caught_by("order_is_enforced", "after the end")
class GoesOnAfterTheEnd(Corridor):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._ended = self._task_id is None
        return super().step(action)


@caught_by("order_is_enforced", "before the first reset")
class StepsBeforeReset(Corridor):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self._task_id is None:
            self.reset()
        return super().step(action)


@caught_by("horizon_holds", "goes on after its horizon")
class OneStepTooMany(Corridor):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        truncated = not terminated and self._steps > self.horizon
        self._ended = terminated or truncated
        return observation, reward, terminated, truncated, info


@caught_by("horizon_holds", "truncated at step")
class OneStepTooFew(Corridor):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        truncated = not terminated and self._steps >= self.horizon - 1
        self._ended = terminated or truncated
        return observation, reward, terminated, truncated, info


@caught_by("spec_tells_the_horizon", "spec.max_episode_steps is None")
class HidesItsHorizon(Corridor):
    spec: Any = None


# Tasks, splits, plans.


@caught_by("task_ids_lead_back", "returned to")
class IgnoresTaskId(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(seed=None if options else seed)


@caught_by("task_ids_lead_back", "does not seed")
class TaskIdDoesNotSeed(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(seed=None if options else seed, options=options)


class _AnyTask(CorridorTasks):
    def check(self, task_id: str) -> None:
        if not task_id.startswith("room-"):
            raise UsageError(f"unknown task {task_id!r}")


@caught_by("wrong_tasks_are_refused", "must raise UsageError")
class CrashesOnUnknownTask(Corridor):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tasks = _AnyTask("all")


@caught_by("wrong_tasks_are_refused", "changed the state")
class LosesTheEpisode(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        self._steps, self._room = 0, 0
        return super().reset(seed=seed, options=options)


@caught_by("unknown_options_are_refused", "must raise UsageError")
class PassesOverOptions(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(seed=seed, options={k: v for k, v in (options or {}).items() if k == "task_id"})


@caught_by("unknown_options_are_refused", "was refused but seeded")
class SeedsBeforeItRefuses(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        return super().reset(seed=seed, options=options)


class _AnySplit(CorridorTasks):
    def check(self, task_id: str) -> None:
        CorridorTasks("all").check(task_id)


@caught_by("splits_are_disjoint", "must raise UsageError")
class LeaksBetweenSplits(Corridor):
    def __init__(self, split: Split = "all", **kwargs: Any) -> None:
        super().__init__(split=split, **kwargs)
        self.tasks = _AnySplit(split)


@caught_by("plans_succeed", "success")
class ForgetsSuccess(Corridor):
    def _act(self, command: str) -> Outcome:
        return super()._act(command)._replace(success=False)


@caught_by("plans_succeed", "does not end")
class PlanStopsShort(Corridor):
    def oracle(self) -> list[str]:
        return super().oracle()[:-1]


@caught_by("oracle_is_exact", "not the shortest")
class PlansDetours(Corridor):
    def oracle(self) -> list[str]:
        plan = super().oracle()
        return ["go east", "go west", *plan] if 0 < self._room < 3 and plan and self._steps < 2 else plan


@caught_by("oracle_is_exact", "the oracle")
class CountsItsPlans(Corridor):
    asked = 0

    def oracle(self) -> list[str]:
        self.asked += 1
        return ["light the lamp"] * (self.asked % 2) + super().oracle()


# Snapshots.


@caught_by("snapshots_restore", "restored after the end")
class ForgetsSteps(Corridor):
    def snapshot(self) -> Snapshot:
        return super().snapshot()._replace(steps=0)


@caught_by("snapshots_restore", "restored after the end")
class ForgetsState(Corridor):
    def _get_state(self) -> tuple[Any, ...]:
        return ()

    def _set_state(self, state: tuple[Any, ...]) -> None:
        pass


@caught_by("snapshots_restore", "through JSON")
class NeedsTuples(Corridor):
    def _get_state(self) -> tuple[Any, ...]:
        return ((self._room,),)

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self._room = state[0][0] if state == ((state[0][0],),) else 0


@caught_by("snapshots_restore_in_another_process", "another process")
class KeepsStateInMemory(Corridor):
    kept: ClassVar[dict[str, int]] = {}

    def _get_state(self) -> tuple[Any, ...]:
        key = f"{self._task_id}/{self._room}"
        self.kept[key] = self._room
        return (key,)

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self._room = self.kept.get(state[0], 0)


@caught_by("snapshots_change_nothing", "at every step")
class SnapshotsDraw(Corridor):
    def _get_state(self) -> tuple[Any, ...]:
        self.np_random.random()
        return super()._get_state()


@caught_by("snapshots_change_nothing", "restored at every step")
class RestoreSeeds(Corridor):
    def _set_state(self, state: tuple[Any, ...]) -> None:
        super()._set_state(state)
        self._np_random = np.random.default_rng(0)


@caught_by("snapshots_change_nothing", "can be changed")
class MutableSnapshot(Corridor):
    def _get_state(self) -> tuple[Any, ...]:
        return ([self._room],)

    def _set_state(self, state: tuple[Any, ...]) -> None:
        ((self._room,),) = state


# Vector forms.


@caught_by("vector_equals_sync", "rewards of step")
class RewardsOneTooMany(DangerousTaxiVectorEnv):
    def _act(self, indices: Any, commands: Any) -> Any:
        outcomes = super()._act(indices, commands)
        return outcomes._replace(rewards=outcomes.rewards + outcomes.success)


@caught_by("vector_equals_sync", "infos of step")
class ForgetsFinalInfo(DangerousTaxiVectorEnv):
    def _final_infos(self, mask: Any) -> dict[str, Any]:
        return {key: value for key, value in super()._final_infos(mask).items() if "final_info" not in key}


@caught_by("vector_equals_sync", "observations of reset with the mask")
class IgnoresResetMask(DangerousTaxiVectorEnv):
    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed, options={k: v for k, v in (options or {}).items() if k != "reset_mask"})


@caught_by("vector_equals_sync", "infos of step")
class KeepsFeedback(DangerousTaxiVectorEnv):
    def _start(self, indices: Any, task_ids: Any = None) -> None:
        said = self._feedback.copy()
        super()._start(indices, task_ids)
        self._feedback = said


@caught_by("vector_takes_task_lists", "reset to the tasks")
class TakesFirstTaskOnly(DangerousTaxiVectorEnv):
    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        task_id = (options or {}).get("task_id")
        more = {} if task_id is None or isinstance(task_id, str) else {"task_id": task_id[0]}
        return super().reset(seed=seed, options={**(options or {}), **more})


@caught_by("vector_calls_single_environments", r"call\('snapshot'\) after")
class ShowsTheStart(DangerousTaxiVectorEnv):
    def _single_at(self, index: int) -> NatLangEnv:
        env = super()._single_at(index)
        env.__dict__["state"] = 0
        return env


@caught_by("vector_calls_single_environments", r"call\('restore'\)")
class ForgetsWhatWasCalled(DangerousTaxiVectorEnv):
    def _update_from(self, index: int, env: NatLangEnv) -> None:
        pass


@caught_by("async_equals_sync", "in the mode")
class TellsProcess(Corridor):
    def _text(self) -> str:
        return f"{super()._text()} The clock shows {os.getpid()}."


@caught_by("async_equals_sync", "in the mode")
class PlainTextSpace(Corridor):
    """Gymnasium's own `Text`, which its shared memory reads once, before the first reset."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.observation_space = Text(300, charset=frozenset(map(chr, range(32, 127))))  # type: ignore[assignment]
