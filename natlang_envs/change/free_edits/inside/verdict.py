"""Whether changed sources do what the right ones do: calls are compared here, and no source is imported.

Sources are asked in runs of their own. The changed ones are given questions, never a test or an answer. Where an answer
to a recorded question is another one, the tests decide, with the answers of the changed sources and everything else
right. Fresh questions, which no test asks, tell a repair from answers that were copied.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

Run = Callable[[Mapping[str, Any]], Any]  # asks `referee.py` over some files; None where it did not say JSON
_FRESH = 60  # tried for each name
_FEW = 10  # fresh questions that tell right from broken: with fewer, more are made of the recorded ones that do
_NEAR = 200  # tried for each name then
_ROUNDS = 40
_SECONDS = 600.0  # for all rounds: sources that sleep in each of them have no more
_WRONG = 0.1  # of a name's fresh questions, of those that tell right from broken and of the others
_COMPARING = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


class RecordedCalls(NamedTuple):
    """The answers of right sources to calls."""

    sources: Sequence[str]  # the files whose calls are known
    modules: list[str]  # the modules whose calls are known
    path: list[str]  # where they are imported from
    answers: dict[str, str]  # to each question that the tests ask
    local: list[str]  # questions that not even they answer twice alike: of files, and of what cannot be told
    fresh: dict[str, str]  # the answer to each question that no test asks

    def ask(self, run: Run, questions: Sequence[str]) -> dict[str, str] | None:
        """Return the answers of the sources of a run, or None where it does not answer each with a text."""
        found = run({"modules": self.modules, "path": self.path, "questions": questions})
        answers = cast("list[Any]", found) if isinstance(found, list) else []
        if len(answers) != len(questions) or any(type(each) is not str for each in answers):
            return None
        return dict(zip(questions, answers, strict=True))

    def tells(self, run: Run) -> bool:
        """Return whether the sources of a run answer a recorded question otherwise than the right ones."""
        return self.ask(run, [*self.answers]) != self.answers


def record(run: Run, sources: Sequence[str], arguments: Sequence[str]) -> RecordedCalls:
    """Record the calls that tests of right sources make, by a run over both, and have fresh questions answered.

    `sources` are the files whose calls are recorded, `arguments` are for pytest.
    """
    found = run({"sources": sources, "arguments": arguments})
    said: dict[str, str] = found["answers"]
    calls = RecordedCalls(sources, found["modules"], found["path"], {}, [], {})
    again = calls.ask(run, [*said]) or {}
    told = {question: answer for question, answer in said.items() if json.loads(answer)[0] in ("returned", "raised")}
    same = {question: answer for question, answer in told.items() if again.get(question) == answer}
    calls = calls._replace(answers=same, local=sorted(said.keys() - same.keys()))
    return calls._replace(fresh=_steady(calls, run, fresh(list(same), _FRESH), said.keys()))


def _steady(calls: RecordedCalls, run: Run, made: Iterable[str], known: Container[str]) -> dict[str, str]:
    """Return the answers that right sources give twice alike, to questions not known, and of kinds that tests know."""
    questions = sorted({each for each in made if each not in known})
    kinds = {(_name(question), _kind(answer)) for question, answer in calls.answers.items()}
    first, second = (calls.ask(run, questions) or {} for _ in range(2))
    return {
        question: answer
        for question, answer in first.items()
        if second.get(question) == answer and (_name(question), _kind(answer)) in kinds
    }


def failing(
    calls: RecordedCalls, changed: Run, broken: Run, right: Run, tests: Sequence[str], arguments: Sequence[str] = ()
) -> list[str] | None:
    """Return the tests that do not hold with changed sources; None where copied answers make them hold.

    The runs are over the changed sources, those before the change, and the right ones with the tests; `arguments` are
    for pytest, besides the ids of the tests.
    """
    before = calls.ask(broken, [*calls.answers, *calls.fresh]) or {}
    if sum(before.get(question) != answer for question, answer in calls.fresh.items()) < _FEW:
        telling = [question for question, answer in calls.answers.items() if before.get(question) != answer]
        near = _steady(calls, right, fresh(telling, _NEAR), {*calls.answers, *calls.fresh, *calls.local})
        before |= calls.ask(broken, [*near]) or {}
        calls = calls._replace(fresh=calls.fresh | near)
    said = calls.ask(changed, [*calls.answers, *calls.fresh])
    if said is None:
        return list(tests)
    other = {question for question, answer in calls.answers.items() if said[question] != answer}
    if any(_name(question).endswith(_COMPARING) for question in other):  # no test may rest on these
        return list(tests)
    if other:
        failed = _failed(calls, {each: said[each] for each in calls.answers}, changed, right, tests, arguments)
        if failed:
            return failed
    if all(said[question] == answer for question, answer in calls.fresh.items()):
        return []
    reworded = {_name(question) for question in other}
    wrong: defaultdict[tuple[str, bool], list[bool]] = defaultdict(list)
    for question, answer in calls.fresh.items():
        same = said[question] == answer
        if _name(question) in reworded and said[question] != before.get(question):
            same = _wordless(said[question]) == _wordless(answer)
        wrong[_name(question), before.get(question) != answer].append(not same)
    return None if any(sum(each) > _WRONG * len(each) for each in wrong.values()) else []


def _failed(
    calls: RecordedCalls,
    table: dict[str, str],
    changed: Run,
    right: Run,
    tests: Sequence[str],
    arguments: Sequence[str],
) -> list[str]:
    """Return the tests that fail with answers of changed sources, which are asked for more where a test needs them."""
    waiting = list(tests)
    failed: set[str] = set()
    end = time.monotonic() + _SECONDS
    for _ in range(_ROUNDS):
        asked = {"sources": calls.sources, "table": table, "local": calls.local, "arguments": [*arguments, *waiting]}
        found: dict[str, Any] = right(asked) or {"parts": {}, "unknown": {}}
        unknown: dict[str, str] = found["unknown"]  # by test; of no test where a file of tests asks it when imported
        ended = {test for test in waiting if test not in unknown and "" not in unknown}
        failed |= {test for test in ended if not passed(found["parts"].get(test, []))}
        waiting = [test for test in waiting if test not in ended]
        in_time = time.monotonic() < end
        more = calls.ask(changed, list(set(unknown.values()))) if unknown and in_time else None
        if not waiting or more is None:
            break
        table |= more
    return [test for test in tests if test in failed or test in waiting]


def passed(parts: Sequence[Sequence[str]]) -> bool:
    """Return whether a test was called and all of its parts passed."""
    return any([*each] == ["call", "passed"] for each in parts) and all(end == "passed" for _, end in parts)


def fresh(questions: Iterable[str], count: int) -> Iterator[str]:
    """Yield so many for each name, like those given: an argument of another one, or a small change."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for each in questions:
        name, way, *_ = json.loads(each)
        if way != "read":
            groups[f"{name} {way}"].append(each)
    for group, alike in sorted(groups.items()):
        draw = random.Random(group)
        alike.sort()
        for _ in range(count):
            question = json.loads(draw.choice(alike))
            other = json.loads(draw.choice(alike))
            places = [each for part in (2, 3) for each in _places(question[part])]
            if draw.random() < 0.5 and len(other[2]) == len(question[2]) > 1:
                place = draw.randrange(1, len(other[2]))
                question[2][place] = other[2][place]
            elif places:
                holder, place = draw.choice(places)
                holder[place] = _varied(holder[place], draw)
            yield json.dumps(question)


def _places(plain: Any) -> Iterator[tuple[list[Any], int]]:
    """Yield where values stand that can be changed: a list, and a place in it."""
    if not isinstance(plain, list):
        return
    kind, *rest = cast("list[Any]", plain)
    if kind in ("name", "member", "error"):
        return
    pairs = rest if kind == "dict" else rest[1] if kind == "object" else []
    held: list[tuple[list[Any], int]] = [
        (each, place) for each in pairs for place in ((0, 1) if kind == "dict" else (1,))
    ]
    if kind == "object":
        held.append((cast("list[Any]", plain), 3))
    elif kind != "dict":
        held = [(cast("list[Any]", plain), place) for place in range(1, len(rest) + 1)]
    for holder, place in held:
        if holder[place] is not None:
            yield holder, place
        yield from _places(holder[place])


def _varied(value: Any, draw: random.Random) -> Any:
    """Return a value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw.choice((-7, -2, -1, 1, 2, 7, value, -value, -2 * value))
    if isinstance(value, str):
        numbers = list(re.finditer("[0-9]+", value))
        if numbers:
            place = draw.choice(numbers)
            other = draw.choice(("0", str(int(place[0][:18]) + 1), place[0][:-1] + draw.choice("0123456789")))
            return value[: place.start()] + other + value[place.end() :]
        return draw.choice((value[:-1], value + value[-1:], value.swapcase(), value[::-1]))
    if isinstance(value, list) and len(items := cast("list[Any]", value)) > 1 and items[0] in ("list", "tuple", "dict"):
        place = draw.randrange(1, len(items))
        return draw.choice(([*items[:place], *items[place + 1 :]], [*items, items[place]], [items[0], *items[:0:-1]]))
    return cast("Any", value)


def _name(question: str) -> str:
    return json.loads(question)[0]


def _kind(answer: str) -> str:
    """Return whether something is returned, or of which class what is raised is."""
    how, value = json.loads(answer)[:2]
    return value[1] if how == "raised" else how


def _wordless(answer: str) -> Any:
    """Return an answer; of what is raised, the class and the arguments afterwards."""
    try:
        how, value, *rest = json.loads(answer)
        return (how, value[1], rest) if how == "raised" else answer
    except (ValueError, RecursionError, TypeError, LookupError):
        return None
