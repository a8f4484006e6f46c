"""Checks of the vector forms: equal to `SyncVectorEnv` of the same environments, infos included."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from natlang_envs.conformance.case import (
    Case,
    NotApplicable,
    StepResult,
    assert_raises,
    assert_same,
    begin,
    choose,
    plain,
)
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError

_ENVS = 5
_STEPS = 150
_UNKNOWN = "no such \ud800 command"  # given now and then
_ANY = Any  # vector environments are generic in three places; nothing here depends on them
_SPACES = ("single_observation_space", "single_action_space", "observation_space", "action_space")


def _vector(case: Case, num_envs: int, mode: AutoresetMode) -> VectorEnv[_ANY, _ANY, _ANY]:
    spec = case.make().spec
    if spec is None or spec.vector_entry_point is None:
        raise NotApplicable("the environment has no vector_entry_point")
    arguments: dict[str, Any] = {**case.kwargs, "autoreset_mode": mode.value}
    return gymnasium.make_vec(case.env_id, num_envs, vectorization_mode="vector_entry_point", **arguments)


def _sync(case: Case, num_envs: int, mode: AutoresetMode) -> SyncVectorEnv:
    return SyncVectorEnv([case.make] * num_envs, autoreset_mode=mode)


def _session(
    sync: SyncVectorEnv, other: VectorEnv[_ANY, _ANY, _ANY], mode: AutoresetMode, seed: int, masks: bool
) -> Iterator[tuple[str, Any, Any]]:
    """Yield each call and its two results; `masks` resets by masks at times, as the mode `Disabled` always does."""
    rng = random.Random(f"conformance/vector/{seed}")
    n = sync.num_envs
    for index, env in enumerate(sync.envs):
        env.action_space.seed(index)
    seeds = [rng.choice((None, 7, 8, 9)) for _ in range(n)]

    def both(what: str, call: Callable[[VectorEnv[_ANY, _ANY, _ANY]], Any]) -> tuple[str, Any, Any]:
        return what, call(sync), call(other)

    yield both(f"reset(seed={seed})", lambda env: env.reset(seed=seed))
    ended = np.zeros(n, dtype=np.bool_)
    for step in range(_STEPS):
        mask = ended if mode is AutoresetMode.DISABLED else np.array([rng.random() < 0.2 for _ in range(n)])
        if mask.any() and (mode is AutoresetMode.DISABLED or (masks and step % 7 == 3)):
            # A fresh mask each: SyncVectorEnv takes the entry out of the dict it is given.
            given: Any = [each if rng.random() < 0.5 else None for each in seeds]
            yield both(
                f"reset with the mask {mask.tolist()} and seeds {given} before step {step}",
                lambda env, mask=mask, given=given: env.reset(seed=given, options={"reset_mask": mask.copy()}),
            )
        actions = tuple(_UNKNOWN if rng.random() < 0.02 else choose(env, rng) for env in sync.envs)
        what, left, right = both(f"step {step} with {actions}", lambda env, actions=actions: env.step(actions))
        ended = left[2] | left[3]
        yield what, left, right


def _compare(
    case: Case, make_other: Callable[[Case, int, AutoresetMode], VectorEnv[_ANY, _ANY, _ANY]], n: int, masks: bool
) -> None:
    for number, mode in enumerate(AutoresetMode):
        sync, other = _sync(case, n, mode), make_other(case, n, mode)
        try:
            assert other.num_envs == n
            assert other.metadata["autoreset_mode"] == mode, f"metadata['autoreset_mode'] is not {mode}"
            for name in _SPACES:
                assert getattr(other, name) == getattr(sync, name), f"{name} differs"
            observation_space: Space[Any] = getattr(other, "observation_space")  # noqa: B009 - typed as unknown
            for what, left, right in _session(sync, other, mode, number, masks):
                names = ("observations", "infos") if len(left) == 2 else (
                    "observations", "rewards", "terminated", "truncated", "infos"
                )  # fmt: skip
                for name, expected, actual in zip(names, left, right, strict=True):
                    where = f"{name} of {what} in the mode {mode.value}"
                    assert_same([repr(plain(expected))], [repr(plain(actual))], where)
                if isinstance(left[0], tuple):
                    assert right[0] in observation_space, f"the observations of {what} are not in their space"
        finally:
            sync.close()
            other.close()


def vector_equals_sync(case: Case) -> None:
    """The vector form returns what SyncVectorEnv does, in all three autoreset modes and with masked resets."""
    _compare(case, _vector, _ENVS, masks=True)


def vector_takes_task_lists(case: Case) -> None:
    """The vector form takes one task id, or one an environment, and refuses lists that do not fit."""
    vector = _vector(case, 3, AutoresetMode.DISABLED)
    singles = [case.make_inner() for _ in range(3)]
    ids = [begin(env, seed).info["task_id"] for seed, env in enumerate(singles)]
    for given in (ids, tuple(reversed(ids)), ids[0]):
        observations, infos = vector.reset(seed=3, options={"task_id": given})
        each_id = [given] * 3 if isinstance(given, str) else list(given)
        _compare_singles(singles, each_id, observations, infos, f"reset to the tasks {given}")
    for wrong in (ids[:2], [*ids, ids[0]], [*ids[:2], "no such task"], "no such task"):
        assert_raises(UsageError, f"reset to the tasks {wrong}", vector.reset, options={"task_id": wrong})
    for option in ({"taskid": ids[0]}, {"split": "test"}, {"task_id": 5}):
        options = {"task_id": ids[0], **option}
        assert_raises(UsageError, f"the options {options}", vector.reset, options=options)
    for mask in (np.zeros(3, dtype=np.bool_), np.ones(2, dtype=np.bool_), np.ones(3)):
        assert_raises(UsageError, f"the reset_mask {mask}", vector.reset, options={"reset_mask": mask})
    vector.reset(options={"task_id": ids})
    assert_raises(TypeError, "a step with an action that is no str", vector.step, ("look", 3, "look"))
    assert_raises(UsageError, "a step with too few actions", vector.step, ("look",))
    vector.close()


def vector_calls_single_environments(case: Case) -> None:
    """`call`, `get_attr` and `np_random_seed` give what SyncVectorEnv's do, and episodes go on from what `call` did."""
    for mode in AutoresetMode:
        sync, vector = _sync(case, 3, mode), _vector(case, 3, mode)
        calls: Any = vector  # `call` and its like are no part of Gymnasium's base class
        saved: Any = None
        for what, left, _ in _session(sync, vector, mode, 11, masks=False):
            if len(left) == 2:
                assert calls.np_random_seed == sync.np_random_seed, f"np_random_seed after {what} differs"
            for name in ("snapshot", "safe_commands"):
                expected, actual = sync.call(name), calls.call(name)
                assert_same([repr(expected)], [repr(actual)], f"call({name!r}) after {what} in the mode {mode.value}")
            for name in ("steps_left", "task"):
                expected, actual = sync.get_attr(name), calls.get_attr(name)
                assert_same([repr(expected)], [repr(actual)], f"get_attr({name!r}) after {what}")
            saved = saved or sync.call("snapshot")[0]  # of the reset
        calls.call("restore", saved)
        again: Any = calls.call("snapshot")
        assert_same([repr((saved,) * 3)], [repr(again)], "call('restore')")
        single = case.make_inner()
        single.restore(saved)
        command = single.action_space.commands[0]
        observation, reward, terminated, truncated, _ = single.step(command)
        moved = vector.step((command,) * 3)
        reset = mode is AutoresetMode.SAME_STEP and (terminated or truncated)
        assert_same(
            [observation] * 3, list(moved[4]["final_obs"] if reset else moved[0]), f"{command!r} after call('restore')"
        )
        assert moved[1].tolist() == [reward] * 3, f"the rewards of {command!r} after call('restore') differ"
        sync.close()
        vector.close()


def _compare_singles(envs: list[NatLangEnv], ids: list[str], observations: Any, infos: Any, what: str) -> None:
    for index, (env, task_id) in enumerate(zip(envs, ids, strict=True)):
        moment: StepResult = begin(env, None, {"task_id": task_id})
        assert_same([moment.observation], [observations[index]], f"observation {index} of {what}")
        for key, value in moment.info.items():
            actual = [repr(infos[key].tolist()[index])]
            assert_same([repr(value)], actual, f"info {key!r} of environment {index}, {what}")


def async_equals_sync(case: Case) -> None:
    """AsyncVectorEnv returns what SyncVectorEnv does; texts come through shared memory, Gymnasium's default."""
    env = case.make()
    ours = isinstance(env.unwrapped, NatLangEnv)
    env.close()

    def make_async(case: Case, num_envs: int, mode: AutoresetMode) -> AsyncVectorEnv:
        return AsyncVectorEnv([case.make] * num_envs, shared_memory=ours, autoreset_mode=mode)

    # Gymnasium's own `Text` is stale in shared memory. Without it Gymnasium 1.4's workers forget to clear their
    # autoreset mark at a reset, so that the step after a masked one would reset once more.
    _compare(case, make_async, 2, masks=ours)
