"""Checks of determinism, for any environment whose observations and actions are strings.

Gymnasium's own `check_env` passes an environment that ignores its seed and is random from its second step; these do
not.
"""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Iterator

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from natlang_envs.conformance.case import (
    SEEDS,
    Case,
    NotApplicable,
    advance,
    assert_same,
    begin,
    in_other_process,
    transcript,
    walk,
    walks,
)
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError

_EPISODES = 30  # enough that an honest draw from two tasks gives both
_ANSWERS = 20  # steps that are compared where the start hides the task


def passes_check_env(case: Case) -> None:
    """Gymnasium's own checks pass without a warning."""
    env = case.make(disable_env_checker=True).unwrapped  # outside: making an old version warns of the newer one
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of what others left open and the collector finds now
        check_env(env)
    assert not caught, f"check_env warns: {caught[0].message}"


def same_seed_same_episodes(case: Case) -> None:
    """The same seed gives the same episodes: in another instance, and in one that has played before."""
    used = case.make()
    for seed in SEEDS:
        expected = transcript(walk(case.make(), seed))
        assert_same(expected, transcript(walk(case.make(), seed)), f"seed {seed} played again")
        assert_same(expected, transcript(walk(used, seed)), f"seed {seed} played again after other episodes")


def same_episodes_in_another_process(case: Case) -> None:
    """Episodes depend on no hash order, locale, time zone, working folder or process."""
    expected = transcript(walks(case.make()))
    for hash_seed in (1, 2):
        again = in_other_process(case, hash_seed)
        assert_same(expected, again, f"another process with PYTHONHASHSEED={hash_seed}")


def instances_are_independent(case: Case) -> None:
    """A second instance, and whatever happens to the global random numbers, changes nothing."""
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - the global numbers are the point
    try:
        for seed in SEEDS:
            expected = transcript(walk(case.make(), seed))
            other = walk(case.make(), seed + 100, episodes=50)
            lines: list[str] = []
            for number, moment in enumerate(walk(case.make(), seed)):
                lines += transcript([moment])
                next(other)
                random.seed(number)
                np.random.seed(number)  # noqa: NPY002
            assert_same(expected, lines, f"seed {seed} beside another instance, with global random numbers reseeded")
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002


def leaves_global_random_numbers_alone(case: Case) -> None:
    """Episodes neither seed nor draw from `random` and `numpy.random`, which belong to the user."""
    state, numpy_state = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    transcript(walk(case.make(), 0))
    assert random.getstate() == state, "an episode changed the state of Python's global `random`"
    assert repr(np.random.get_state()) == numpy_state, "an episode changed the state of `numpy.random`"  # noqa: NPY002


def different_seeds_differ(case: Case) -> None:
    """Seeds choose the task, and a reset without a seed goes on to other tasks.

    Where the start hides the task (a number to guess), all first observations are equal. Then the task ids must differ,
    and the same commands must be answered differently.
    """
    env = case.make()
    by_seed = [begin(env, seed) for seed in range(_EPISODES)]
    env.reset(seed=0)
    in_a_row = [begin(env) for _ in range(_EPISODES)]
    try:
        tasks = unwrap(env).tasks.ids()
        next(tasks)
        next(tasks)
    except StopIteration:
        raise NotApplicable("the environment has one task only") from None
    except UsageError:
        pass
    for moments, complaint in (
        (by_seed, f"{_EPISODES} seeds give the same task: reset ignores its seed"),
        (in_a_row, f"{_EPISODES} resets in a row give the same task: nothing is drawn"),
    ):
        assert len({(each.observation, each.info.get("task_id")) for each in moments}) > 1, complaint
    if len({each.observation for each in by_seed}) == 1:
        answers = {tuple(_answers(case, seed)) for seed in range(_EPISODES)}
        assert len(answers) > 1, f"{_EPISODES} seeds play alike: reset ignores its seed, or the task changes nothing"


def _answers(case: Case, seed: int) -> Iterator[str]:
    """Yield the answers of an environment to the same random choices of commands, whatever its seed."""
    env = case.make()
    moment, rng = begin(env, seed), random.Random("conformance/answers")
    for _ in range(_ANSWERS):
        if moment.ended:
            break
        listed: tuple[str, ...] = moment.info.get("admissible_commands", ())
        moment = advance(env, rng.choice(listed or (env.action_space.sample(),)))
        yield moment.observation


def spec_round_trips(case: Case) -> None:
    """`spec.to_json` and pickle lead back to the same environment."""
    env = case.make()
    assert env.spec is not None, "the environment was made without a spec: register it"
    expected = transcript(walk(env, 0))
    try:
        through_json = EnvSpec.from_json(env.spec.to_json())
    except (TypeError, ValueError) as error:
        raise AssertionError(f"the spec does not go through JSON: {error}") from error
    through_pickle = pickle.loads(pickle.dumps(env.spec))
    for how, spec in (("JSON", through_json), ("pickle", through_pickle)):
        assert_same(expected, transcript(walk(gymnasium.make(spec), 0)), f"made from its spec through {how}")
