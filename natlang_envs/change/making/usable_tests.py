"""Which tests of a repository can be used, and why the others are left out.

A test is used that passes, alone too, in any order and again in the same process, soon, and does nothing outside of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from natlang_envs.change.making.fork_runner import SECONDS, Reply, Runner, SourcesWithTests
from natlang_envs.errors import UsageError

ROUNDS = 8  # of leaving out
_HOW: tuple[dict[str, Any], ...] = (  # the tests that are left run together
    {}, {"protocol": True}, {}, {"shuffle": 1}, {"shuffle": 2, "protocol": True}, {"shuffle": 3},
)  # fmt: skip


def usable(
    tested: SourcesWithTests, seconds: float = SECONDS, pythons: Sequence[str] = (sys.executable,)
) -> tuple[list[str], dict[str, str]]:
    """Return the tests that can be used by all interpreters, in order, and what is left out with its reason."""
    left_out: dict[str, str] = {}
    good = 0
    for number in range(ROUNDS * len(pythons)):
        python = pythons[number % len(pythons)]
        with Runner(tested, seconds, python, messages=True, without=left_out) as runner:
            options = {f"pytest's option {each}": "is of a plugin, and plugins are off" for each in runner.dropped}
            tests, more = _round(runner, seconds, thorough=number % len(pythons) == 0)
        left_out |= {name: why if python == sys.executable else f"{why} ({python})" for name, why in more.items()}
        if not tests:
            first = "".join(f", such as {name}, which {why}" for name, why in list(left_out.items())[:1])
            raise UsageError(f"{tested.root} has no tests that can be used{first}: run pytest there")
        good = 0 if more else good + 1
        if good == len(pythons):
            return tests, options | left_out
    raise UsageError(f"the tests of {tested.root} fail now and then, others each time: run pytest there")


def _round(runner: Runner, seconds: float, thorough: bool) -> tuple[list[str], dict[str, str]]:
    """Return the tests that one interpreter can use, and the others; `thorough` runs each test alone too."""
    (first,) = runner.ask({}, [{"tests": []}])
    if "collected" not in first:
        why = _said(first.get("said", ""))
        raise UsageError(f"the tests of {runner.tested.root} cannot be collected{why}: run python -m pytest there")
    if first["unusable"]:
        # Pytest collects no more where one file fails; the others are seen in the next round.
        return ["?"], {name: f"cannot be imported: {_short(why)}" for name, why in first["unusable"].items()}
    tests: list[str] = first["collected"]
    watched = {"alone": True, "messages": True, "watch": True}
    alone = runner.ask({}, [{"tests": [name], **watched} for name in tests] if thorough else [])
    replies = dict(zip(tests, alone, strict=False))
    left = {name: why for name, reply in replies.items() for why in _faults(name, reply)}
    rest = [name for name in tests if name not in left]
    again = zip(rest, runner.ask({}, [{"tests": [name]} for name in rest] if thorough else []), strict=False)
    left |= _slow({name: reply.get("seconds", seconds) for name, reply in again}, seconds / 4)
    rest = [name for name in tests if name not in left]
    if not rest:
        return rest, left
    whole = runner.ask({}, [{"tests": rest, "alone": each != 2, **_HOW[each]} for each in range(len(_HOW))])
    for number, reply in enumerate(whole):
        if "failed" not in reply:
            raise UsageError(f"the tests of {runner.tested.root} end the process that runs them: leave those out")
        for name in reply["failed"]:
            how = "depends on the order of the tests" if number > 2 else "passes and fails"
            left.setdefault(name, f"passes alone and fails among others: its outcome {how}")
    return rest, left


def _faults(name: str, reply: Reply) -> Iterator[str]:
    if "failed" not in reply:
        yield "takes too long, or ends the process that runs it"
    elif reply["failed"]:
        message = ": ".join(each for each in reply["messages"].get(name, ()) if each)
        yield f"fails before anything is broken{': ' if message else ''}{_short(message)}"
    elif reply["acts"]:
        yield reply["acts"][name]


def _slow(took: dict[str, float], most: float) -> dict[str, str]:
    """Return the slowest tests, without which all others take `most` seconds."""
    left: dict[str, str] = {}
    total = sum(took.values())
    for name, seconds in sorted(took.items(), key=lambda each: (-each[1], each[0])):
        if total <= most:
            break
        total -= seconds
        left[name] = f"takes {seconds:.2f} s: all tests together may take {most:g} s"
    return left


def _said(text: str) -> str:
    """Return what pytest said of why it does not start, in brackets: the line of the error, or the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(pytest: |\S+: )?error: |E  |ERROR|\w*Error\b", line)] or lines
    return f" ({_short(telling[-1].removeprefix('E '))})" if telling else ""


def _short(text: str) -> str:
    return " ".join(text.split())[:120]


def describe(left_out: dict[str, str]) -> Sequence[str]:
    return [f"{name} is left out: it {why}" for name, why in left_out.items()]
