"""The facts that a PDDL problem states, and the game's names for the objects in them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from random import Random
from sys import intern

from natlang_envs.errors import UsageError

# A game's sets of things, and the predicates that say what is in them.
MARKS = {
    **{able: able for able in ("pickupable", "cleanable", "heatable", "coolable", "toggleable", "sliceable")},
    **{state: f"is{state}" for state in ("hot", "cool", "clean", "toggled", "sliced")},
    "receptacle_things": "isreceptacleobject",
}
# What a problem may say at the start, and of how many things. The first two groups are read; the third changes neither
# text nor command.
_PAIRS = (
    *("atlocation", "receptacleatlocation", "receptacletype", "objectatlocation", "objecttype", "inreceptacle"),
    *("inreceptacleobject", "cancontain"),
)
_SINGLES = ("openable", "opened", *MARKS.values())
_SILENT = ("wasinreceptacle", "checked", "examined", "isreceptacleobjectfull", "full", "moveable", "ison")
_NUMBERS = ("distance", "total-cost", "=")  # not facts
_ARITIES = {**dict.fromkeys(_PAIRS, 2), **dict.fromkeys(_SINGLES, 1)}
_FACT = re.compile(r"\(([^()]+)\)")


class ProblemFacts:
    """The facts at the start of a game, by PDDL ids in lower case: for each predicate, what it is true of, each once.

    `names` are the game's names of everything that a fact mentions, such as "apple 2"; `goal` is in lower case.
    """

    def __init__(self, problem: str, numbers: Random | None = None) -> None:
        lines = (line.partition(";")[0] for line in problem.splitlines()) if ";" in problem else (problem,)
        text = "\n".join(lines).lower()
        begin, end = text.find("(:init"), text.find("(:goal")
        if begin < 0 or end < begin or text.count("(") != text.count(")"):
            raise UsageError("this ALFWorld game is truncated or no PDDL problem: download or export it again")
        if "(:domain alfred)" not in text[:begin]:
            raise UsageError("this game is not of ALFWorld's domain: its problem does not say (:domain alfred)")
        rows: dict[str, list[list[str]]] = defaultdict(list)
        for found in dict.fromkeys(_FACT.findall(text, begin + len("(:init"), end)):
            predicate, *row = found.split()
            if len(row) == _ARITIES.get(predicate, -1) or predicate in _SILENT:
                rows[predicate].append(row)
            elif predicate not in _NUMBERS:
                raise UsageError(f"this game is not of ALFWorld's domain: its problem begins with ({found[:60]})")
        self.goal = text[end:]
        self.names = _names({each for facts in rows.values() for row in facts for each in row}, numbers)
        self.pairs = {predicate: [(row[0], row[1]) for row in rows[predicate]] for predicate in _PAIRS}
        self.singles = {predicate: [row[0] for row in rows[predicate]] for predicate in _SINGLES}


def type_name(id: str) -> str:
    """Return a type as the game's names say it: "apple" for `appletype`."""
    return intern(id.removesuffix("type"))


def _names(ids: set[str], numbers: Random | None) -> dict[str, str]:
    """Return the names: the kind, and a number, which falls in the order of the ids, or is shuffled.

    Whatever has no position in its id keeps the id as its name, and a space for the number it does not get.
    """
    ordered = sorted(ids)
    if numbers is not None:
        numbers.shuffle(ordered)
    kinds = {each: kind_of(each) for each in ordered}
    left = Counter(kinds.values())
    names: dict[str, str] = {}
    for each, kind in kinds.items():
        names[each] = intern(f"{kind} {left[kind]}" if kind else f"{each} ")
        left[kind] -= 1
    return names


def kind_of(id: str) -> str:
    """Return the kind that the name of a thing or receptacle begins with; nothing for what has no position."""
    kind, bar, _ = id.partition("_bar_")
    return (f"{kind}basin" if "basin" in id else kind) if bar else ""
