"""Checks of the contract of `NatLangEnv`: tasks, infos, spaces, bad input, horizon, plans, splits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, cast

from gymnasium.error import ResetNeeded

from natlang_envs.conformance.case import (
    SEEDS,
    Case,
    NotApplicable,
    StepResult,
    advance,
    assert_raises,
    assert_same,
    begin,
    play,
    transcript,
    walk,
    walks,
)
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from natlang_envs.why import CAUSES, Why

INFO_TYPES: dict[str, type] = {
    "admissible_commands": tuple,
    "success": bool,
    "task_id": str,
    "task": str,
    "feedback": str,
}
_LISTED = 100_000  # task ids that are looked through
UNKNOWN_TEXTS = (
    "",
    " ",
    "\n",
    "no such command",
    "take the\nlamp",
    "nul \0 byte",
    "lone \ud800 surrogate",
    "\udfff",
    "right to left \u202e and a flag \U0001f3f4\U000e0067",
    "{} %s %(name)s \\ ' \"",
    "x" * 100_000,
    "\ud800" * 10_000,
)
_NO_STRINGS: tuple[Any, ...] = (None, 0, 1.5, b"look", ["look"], ("look",), {"command": "look"})
_PADDED = " \t{}\u00a0\r\n"
_WRONG_OPTIONS: tuple[Any, ...] = (
    {"gamefile": "game.tw-pddl"},
    {"taskid": "no such task"},
    {"split": "test"},
    {"seed": 3},
    {3: 4},
    {"task_id": 5},
    {"task_id": ["no such task"]},
    ["task_id"],
    "task_id",
)
_DRAWS = 40
_SPLITS = ("train", "validation", "test")


def _check_texts(env: NatLangEnv, moment: StepResult) -> None:
    observation = moment.observation
    where = f"after {moment.action!r:.80}"
    assert type(observation) is str, f"the observation {where} is a {type(observation).__name__}, not a str"
    assert observation in env.observation_space, (
        f"the observation {where} is not in {env.observation_space}: {len(observation)} characters, "
        f"from {observation[:80]!r}"
    )
    for command in moment.info["admissible_commands"]:
        assert command in env.action_space, f"the command {command!r} listed {where} is not in {env.action_space}"


def _check_info(env: NatLangEnv, moment: StepResult) -> None:
    info, where = moment.info, f"after {moment.action!r:.80}"
    keys = sorted([*INFO_TYPES, *(["why"] if env.gives_reason else [])])
    assert sorted(info) == keys, f"the info {where} has the keys {sorted(info)}, not {keys}"
    if (why := info.get("why")) is not None:
        assert type(why) is Why, f"info['why'] {where} is {why!r}, not a Why"
        assert why.cause in CAUSES, f"info['why'] {where} names an unknown cause: {why.cause!r}"
    for key, kind in INFO_TYPES.items():
        value = info[key]
        assert type(value) is kind, (
            f"info[{key!r}] {where} is {value!r} ({type(value).__name__}), not a {kind.__name__}"
        )
    commands = info["admissible_commands"]
    assert all(type(each) is str for each in commands), f"admissible_commands {where} holds more than str: {commands!r}"
    assert len(set(commands)) == len(commands), f"admissible_commands {where} lists a command twice: {commands!r}"
    assert 0 < len(commands) <= env.max_commands, (
        f"there are {len(commands)} admissible commands {where}, which is not 1 to {env.max_commands}"
    )


def _assert_refused(
    env: NatLangEnv, kind: type[Exception], what: str, call: Callable[..., object], *args: Any, **kwargs: Any
) -> None:
    before = env.snapshot()
    assert_raises(kind, what, call, *args, **kwargs)
    assert env.snapshot() == before, f"{what} was refused but changed the state"


def infos_are_complete(case: Case) -> None:
    """Every info, the last one too, has exactly the documented keys with the documented types."""
    env = case.make_inner()
    for moment in walks(env):
        _check_info(env, moment)
        if moment.action is None:
            assert moment.info["feedback"] == "", "info['feedback'] is not empty after reset"


def steps_have_builtin_types(case: Case) -> None:
    """Rewards are finite floats, ends are built-in bools and exclude each other, success comes at the end only."""
    for moment in walks(case.make_inner()):
        where = f"after {moment.action!r}"
        assert type(moment.reward) is float, f"the reward {where} is {moment.reward!r}, not a float"
        assert abs(moment.reward) < float("inf"), f"the reward {where} is {moment.reward}"
        for name, flag in (("terminated", moment.terminated), ("truncated", moment.truncated)):
            assert type(flag) is bool, f"{name} {where} is {flag!r}, not a bool"
        assert not (moment.terminated and moment.truncated), f"an episode both terminates and is truncated {where}"
        assert moment.ended or not moment.info["success"], f"info['success'] is True {where}, before the end"


def texts_are_in_their_spaces(case: Case) -> None:
    """Observations and admissible commands are in their spaces at every moment."""
    env = case.make_inner()
    for moment in walks(env):
        _check_texts(env, moment)


def samples_are_admissible(case: Case) -> None:
    """`env.action_space.sample()` is a random agent: it samples admissible commands, and more than one of them."""
    env = case.make_inner()
    assert env.action_space.sample() in env.action_space, "a sample before the first reset is not in the action space"
    for moment in walks(env):
        commands = moment.info["admissible_commands"]
        samples = {env.action_space.sample() for _ in range(30)}
        strange = samples - set(commands)
        assert not strange, f"the action space samples {strange} after {moment.action!r}, which is not admissible"
        assert len(samples) > 1 or len(commands) == 1, f"30 samples after {moment.action!r} are all {samples}"


def unknown_text_is_answered(case: Case) -> None:
    """Any text, however strange, gets an answer in words that can be encoded and stored, and never an exception."""
    env = case.make_inner()
    for text in UNKNOWN_TEXTS:
        start = begin(env, 0)
        for action in (text, f"{start.info['admissible_commands'][0]}{text}"):
            begin(env, 0)
            try:
                moment = advance(env, action)
            except Exception as error:
                complaint = f"the action {action!r:.80} raises {error!r} instead of getting an answer"
                raise AssertionError(complaint) from error
            _check_info(env, moment)
            _check_texts(env, moment)
            feedback = moment.info["feedback"]
            assert feedback, f"nothing is answered to {action!r:.80}: info['feedback'] is empty"
            feedback.encode()
            again = begin(env, 0), advance(env, action)
            assert_same(transcript([start, moment]), transcript(again), f"the answer to {action!r:.80} given again")


def white_space_is_stripped(case: Case) -> None:
    """White space around a listed command counts for nothing: the answer is the command's own."""
    env, other = case.make_inner(), case.make_inner()
    for seed in SEEDS:
        rng = random.Random(f"conformance/white space/{seed}")
        begin(env, seed)
        begin(other, seed)
        for _ in range(env.horizon):
            command = rng.choice(env.safe_commands() or env.action_space.commands)
            padded = _PADDED.format(command)
            here, there = advance(env, command), advance(other, padded)._replace(action=command)
            assert_same(transcript([here]), transcript([there]), f"{padded!r} in place of {command!r}")
            if here.ended:
                break


def wrong_types_are_refused(case: Case) -> None:
    """An action that is no string raises TypeError and changes nothing."""
    env = case.make_inner()
    begin(env, 0)
    for action in _NO_STRINGS:
        _assert_refused(env, TypeError, f"step({action!r})", env.step, action)


def order_is_enforced(case: Case) -> None:
    """A step or snapshot before the first reset, and a step after the end, raise ResetNeeded and change nothing."""
    env = case.make_inner()
    command = env.action_space.sample()
    assert_raises(ResetNeeded, "a step before the first reset", env.step, command)
    assert_raises(ResetNeeded, "a snapshot before the first reset", env.snapshot)
    for seed in SEEDS:
        for _ in walk(env, seed, episodes=1):
            pass
        for command in ("no such command", *env.action_space.commands):
            _assert_refused(env, ResetNeeded, f"{command!r} after the end", env.step, command)


def _outlast(env: NatLangEnv, seed: int) -> int | None:
    """Return the length of an episode that avoids every other end than the horizon; None where it cannot."""
    rng = random.Random(f"conformance/outlast/{seed}")
    begin(env, seed)
    for step in range(1, env.horizon + 2):
        here = env.snapshot()
        for command in rng.sample(env.action_space.commands, len(env.action_space.commands)):
            moment = advance(env, command)
            if not moment.ended:
                break
            if step >= env.horizon:
                return step
            env.restore(here)
        else:
            return None
    return env.horizon + 1


def horizon_holds(case: Case) -> None:
    """No episode is longer than the horizon, and one that ends for no other reason is exactly as long."""
    for more in ({}, {"horizon": 3}) if case.takes("horizon") else ({},):
        env = case.make_inner(**more)
        assert env.horizon == more.get("horizon", env.horizon), f"horizon={more} gives a horizon of {env.horizon} steps"
        for seed in SEEDS:
            length = 0
            for moment in walk(env, seed, aimless=True):
                length = 0 if moment.action is None else length + 1
                assert length <= env.horizon, f"an episode goes on after its horizon of {env.horizon} steps"
                assert not moment.truncated or length == env.horizon, (
                    f"an episode is truncated at step {length}, its horizon is {env.horizon}"
                )
        lengths = {_outlast(env, seed) for seed in SEEDS} - {None}
        if not lengths:
            raise NotApplicable("every episode ends before the horizon")
        assert lengths == {env.horizon}, f"episodes that nothing ends have {lengths} steps, not {env.horizon}"


def spec_tells_the_horizon(case: Case) -> None:
    """`env.spec.max_episode_steps` is the horizon, where trainers and `TimeAwareObservation` look for it."""
    for more in ({}, {"horizon": 3}) if case.takes("horizon") else ({},):
        env = case.make_inner(**more)
        limit = None if env.spec is None else env.spec.max_episode_steps
        assert limit == env.horizon, f"spec.max_episode_steps is {limit}, the horizon is {env.horizon}"


def task_ids_lead_back(case: Case) -> None:
    """`reset(options={"task_id": …})` returns to the very same start, and still seeds."""
    env, other = case.make_inner(), case.make_inner()
    for seed in SEEDS:
        start = begin(env, seed)
        options = {"task_id": start.info["task_id"]}
        begin(env)
        for each in (env, other):
            again = begin(each, seed, options)
            assert_same(transcript([start]), transcript([again]), f"the task {start.info['task_id']!r} returned to")
        drawn = [transcript([begin(each)])[0] for _ in range(3) for each in (env, other)]
        assert drawn[::2] == drawn[1::2], "reset with a task_id does not seed what is drawn after it"
        without_seed = transcript([begin(env, None, options)])
        assert_same(transcript([start]), without_seed, f"the task {start.info['task_id']!r} without a seed")


def wrong_tasks_are_refused(case: Case) -> None:
    """A task that does not exist raises UsageError, and the running episode goes on."""
    env = case.make_inner()
    task_id = begin(env, 0).info["task_id"]
    # Where `n/70` is a task, `n/7` may be one too.
    shortened = {task_id[:-1]}.difference(islice(env.tasks.ids(), _LISTED))
    for wrong in ("", "no such task", "../../etc/passwd", f"{task_id} ", f"{task_id}/", f"\ud800{task_id}", *shortened):
        _assert_refused(env, UsageError, f"the reset to the task {wrong!r}", env.reset, options={"task_id": wrong})


def unknown_options_are_refused(case: Case) -> None:
    """An option of `reset` that nobody knows raises UsageError, and the running episode goes on."""
    env = case.make_inner()
    task_id = begin(env, 0).info["task_id"]
    drawn = repr(env.np_random.bit_generator.state)
    for wrong in _WRONG_OPTIONS:
        options = {"task_id": task_id, **cast("dict[Any, Any]", wrong)} if isinstance(wrong, dict) else wrong
        _assert_refused(env, UsageError, f"reset(options={options!r})", env.reset, seed=1, options=options)
        assert repr(env.np_random.bit_generator.state) == drawn, f"reset(options={options!r}) was refused but seeded"


def splits_are_disjoint(case: Case) -> None:
    """Each split refuses the tasks of the others, `"all"` accepts them, and an unknown split is refused."""
    if not case.takes("split"):
        raise NotApplicable("the environment has no argument `split`")
    assert_raises(UsageError, "split='no such split'", case.make, split="no such split")
    envs = {split: case.make_inner(split=split) for split in (*_SPLITS, "all")}
    for split in _SPLITS:
        for start in [begin(envs[split], seed) for seed in range(_DRAWS)]:
            task_id: str = start.info["task_id"]
            for other in (each for each in _SPLITS if each != split):
                what = f"task {task_id!r} of {split!r} in the split {other!r}"
                assert_raises(UsageError, what, envs[other].reset, options={"task_id": task_id})
            again = begin(envs["all"], 0, {"task_id": task_id})
            assert again.observation == start.observation, f"{task_id!r} differs in the split 'all'"


def _plans(case: Case) -> Iterator[tuple[NatLangEnv, StepResult, list[str]]]:
    env = case.make_inner()
    for seed in range(10):
        start = begin(env, seed)
        before = env.snapshot()
        try:
            plan = env.reference()
        except NotImplementedError:
            raise NotApplicable("the environment has neither an oracle nor a reference plan") from None
        assert env.snapshot() == before, "asking for a plan changed the state"
        yield env, start, plan


def plans_succeed(case: Case) -> None:
    """The environment's own plan ends in success, at its last step and within the horizon.

    Where the environment says that not every task can be won, most plans do.
    """
    won = 0
    for env, start, plan in _plans(case):
        task_id = start.info["task_id"]
        assert len(plan) <= env.horizon, f"the plan for {task_id!r} has {len(plan)} steps, the horizon is {env.horizon}"
        moments = play(env, plan)
        assert len(moments) == len(plan), (
            f"the episode of {task_id!r} ends after {len(moments)} of {len(plan)} planned steps"
        )
        last = moments[-1]
        assert last.ended, f"the plan for {task_id!r} does not end the episode"
        won += last.info["success"]
        assert last.info["success"] is True or not env.every_task_can_be_won, (
            f"info['success'] is {last.info['success']} after the plan for {task_id!r}"
        )
    assert won >= 5, f"of ten plans {won} succeed"


def oracle_is_exact(case: Case) -> None:
    """The oracle's plan gets one step shorter with each of its steps, and no command leads to a shorter one."""
    env = case.make_inner()
    begin(env, 0)
    try:
        env.oracle()
    except NotImplementedError:
        raise NotApplicable("the environment has no exact oracle") from None
    for seed in SEEDS:
        begin(env, seed)
        plan = env.oracle()
        while plan:
            here = env.snapshot()
            for command in env.action_space.commands:
                moment = advance(env, command)
                shorter = 0 if moment.info["success"] else len(env.oracle()) if not moment.ended else len(plan)
                assert shorter >= len(plan) - 1, (
                    f"the oracle's plan has {len(plan)} steps and is not the shortest: {command!r} leaves {shorter}"
                )
                env.restore(here)
            assert env.oracle() == plan, "the oracle changes its plan without a step"
            moment = advance(env, plan[0])
            if moment.truncated:
                break  # the horizon, not the plan, ended this one: `plans_succeed` says whether it may
            was, plan = plan, env.oracle()
            left = len(plan)
            assert left == len(was) - 1, f"the oracle's plan went from {len(was)} to {left} steps by its {was[0]!r}"
            assert moment.ended == (left == 0), f"the oracle has {left} steps left, but {moment.terminated=}"
