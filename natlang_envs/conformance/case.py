"""Shared parts of the checks: the environment under test, a player that reaches deep states, comparisons.

Run as a module it is the process of `in_other_process`: with other hash seed, locale, time zone and working folder.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, cast

import gymnasium
import numpy as np

from natlang_envs.env import NatLangEnv, unwrap
from natlang_envs.errors import UsageError

SEEDS = tuple(range(8))
_STEP_LIMIT = 500  # steps of an episode that are looked at, should an environment have no end
_DARING, _AIM = 0.12, 0.4  # probabilities of a sample of the action space, and of a step of the plan
_ELSEWHERE = {"LC_ALL": "C", "LANG": "C", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "0"}
_TIMEOUT = 120  # seconds of the other process
_SHOWN = 60  # characters of each text around the place where two differ


class NotApplicable(Exception):  # noqa: N818 - it reports no error
    """The environment lacks what a check is about; the message names it."""


@dataclass(frozen=True)
class Case:
    """An environment under test.

    Attributes:
        env_id: A registered Gymnasium id, or `module:id`.
        kwargs: Arguments for `gymnasium.make`, JSON values.
    """

    env_id: str
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def make(self, **more: Any) -> gymnasium.Env[Any, Any]:
        """Return a new environment, as `gymnasium.make` gives it to users."""
        return gymnasium.make(self.env_id, **{**self.kwargs, **more})

    def make_inner(self, **more: Any) -> NatLangEnv:
        """Return a new environment without wrappers.

        Raises:
            NotApplicable: It is no `NatLangEnv`, and so promises the text and the determinism only.
        """
        try:
            return unwrap(self.make(**more))
        except UsageError as error:
            raise NotApplicable(f"not a NatLangEnv: {error}") from None

    def takes(self, argument: str) -> bool:
        """Return whether the environment's class has this argument."""
        return argument in signature(type(self.make().unwrapped).__init__).parameters

    def __str__(self) -> str:
        arguments = json.dumps(self.kwargs, sort_keys=True) if self.kwargs else ""
        return f"{self.env_id}{arguments}"


class StepResult(NamedTuple):
    """The output of one reset (`action` is None) or step."""

    action: str | None
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


def begin(env: gymnasium.Env[Any, Any], seed: int | None = None, options: dict[str, Any] | None = None) -> StepResult:
    observation, info = env.reset(seed=seed, options=options)
    return StepResult(None, observation, 0.0, False, False, info)


def advance(env: gymnasium.Env[Any, Any], action: str) -> StepResult:
    observation, reward, terminated, truncated, info = env.step(action)
    return StepResult(action, observation, cast("float", reward), terminated, truncated, info)


def walk(env: gymnasium.Env[Any, Any], seed: int, episodes: int = 2, *, aimless: bool = False) -> Iterator[StepResult]:
    """Play whole episodes, the first one seeded, and yield every moment."""
    rng = random.Random(f"conformance/{seed}")
    env.action_space.seed(seed)
    for episode in range(episodes):
        yield begin(env, seed if episode == 0 else None)
        for _ in range(_STEP_LIMIT):
            moment = advance(env, choose(env, rng, aimless))
            yield moment
            if moment.ended:
                break


def choose(env: gymnasium.Env[Any, Any], rng: random.Random, aimless: bool = False) -> str:
    """Return a command: a sample of the action space, the next step of the environment's own plan, or a legal one.

    Purely random games are mostly over too soon, and hardly any ends well. What is aimless (legal commands only)
    reaches the horizon most often.
    """
    inner = cast("object", env.unwrapped)
    sampled = env.action_space.sample()
    chance = rng.random()
    daring, aim = (0.0, 0.0) if aimless else (_DARING, _AIM)
    if not isinstance(inner, NatLangEnv) or chance < daring:
        return sampled
    plan: list[str] = []
    if chance < daring + aim:
        with suppress(NotImplementedError):
            plan = inner.reference()
    return plan[0] if plan else rng.choice(inner.safe_commands() or (sampled,))


def walks(env: gymnasium.Env[Any, Any]) -> Iterator[StepResult]:
    for seed in SEEDS:
        yield from walk(env, seed)


def play(env: gymnasium.Env[Any, Any], actions: Sequence[str]) -> list[StepResult]:
    """Step through `actions`, up to the end of the episode."""
    moments: list[StepResult] = []
    for action in actions:
        moments.append(advance(env, action))
        if moments[-1].ended:
            break
    return moments


def replayed(env: NatLangEnv, snapshot: Any, actions: Sequence[str]) -> list[str]:
    """Return the transcript of a snapshot, as a reset would show it, and of what comes after it."""
    observation, info = env.restore(snapshot)
    return transcript([StepResult(None, observation, 0.0, False, False, info), *play(env, actions)])


def plain(value: Any) -> Any:
    """Return `value` in a form whose `repr` shows all of it: arrays with their type, dicts in the order of keys."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return f"array {array.dtype}", [plain(each) for each in array]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {key: plain(items[key]) for key in sorted(items)}
    if type(value) in (tuple, list):
        parts = cast("Sequence[Any]", value)
        return type(value)(plain(each) for each in parts)
    return value


def transcript(moments: Iterable[StepResult]) -> list[str]:
    """Return one line a moment; equal transcripts are equal in everything an environment hands out."""
    return [repr(plain(tuple(moment))) for moment in moments]


def assert_same(expected: Sequence[str], actual: Sequence[str], what: str) -> None:
    """Fail, with the first place where they part, unless two transcripts are equal."""
    for number, (left, right) in enumerate(zip(expected, actual, strict=False)):
        if left != right:
            parts = (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
            at = next(parts, min(len(left), len(right)))
            around = slice(max(0, at - _SHOWN), at + _SHOWN)
            raise AssertionError(f"{what}: moment {number} is …{right[around]}…, expected …{left[around]}…")
    assert len(expected) == len(actual), f"{what}: {len(actual)} moments, expected {len(expected)}"


def assert_raises(kinds: type[Exception], what: str, call: Callable[..., object], *args: Any, **kwargs: Any) -> str:
    """Return the message of the exception that a call raises; fail unless it is of this kind, with one line."""
    try:
        call(*args, **kwargs)
    except kinds as error:
        words = str(error)
        assert words, f"{what}: the {kinds.__name__} says nothing"
        # Gymnasium's own exceptions may be longer; what a user gave wrong is answered in one line.
        assert not isinstance(error, UsageError) or "\n" not in words, f"{what}: the message has several lines: {words}"
        return f"{words} {error.__cause__}"
    except Exception as error:
        raise AssertionError(f"{what} must raise {kinds.__name__}, not {error!r}") from error
    raise AssertionError(f"{what} must raise {kinds.__name__}, but raised nothing")


def in_other_process(case: Case, hash_seed: int, **request: Any) -> list[str]:
    """Return the transcript that another process gives: of `walks`, or from a `snapshot` on by `actions`."""
    paths = os.pathsep.join(str(Path(entry or ".").absolute()) for entry in sys.path)
    environ = {**os.environ, **_ELSEWHERE, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": paths}
    message = json.dumps({"env_id": case.env_id, "kwargs": case.kwargs, **request})
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=message,
            capture_output=True,
            encoding="ascii",
            env=environ,
            cwd=folder,
            timeout=_TIMEOUT,
            check=False,
        )
    assert done.returncode == 0, f"{case} fails in another process: {done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def _answer(request: dict[str, Any]) -> list[str]:
    case = Case(request["env_id"], request["kwargs"])
    if "snapshot" not in request:
        return transcript(walks(case.make()))
    env = case.make_inner()
    env.reset(seed=1234)
    return replayed(env, request["snapshot"], request["actions"])


if __name__ == "__main__":
    print(json.dumps(_answer(json.load(sys.stdin))))
