"""Reads ALFWorld's texts: the task from its sentence, and a memory of everything that observations showed."""

from __future__ import annotations

import re
from typing import NamedTuple

from natlang_envs.alfworld.engine.goals import CLEAN, COOL, HEAT, LOOK, PLACE, TWO, Goal
from natlang_envs.alfworld.engine.grammar import EMPTY_HANDS, TASK_PREFIX
from natlang_envs.errors import UsageError

_TASK = re.compile(rf"{TASK_PREFIX}(?P<sentence>[^\n]*?)\.?[ \t]*$", re.MULTILINE)
_TREATED_TYPES = {"clean": CLEAN, "hot": HEAT, "heat": HEAT, "cool": COOL}
_A = "(?:an?|some|the) "
_INTO = rf"(?:in|on) (?:{_A})?(?P<receptacle>\w+)"
# ALFWorld's sentences, and the types of tasks that they state; where something is treated, its state says which.
_SENTENCES = {
    re.compile(rf"(?:look at|examine) (?:{_A})?(?P<object>\w+) (?:under|with) (?:{_A})?(?P<toggle>\w+)"): LOOK,
    re.compile(rf"(?:put two|find two) (?P<object>\w+) (?:and put them )?{_INTO}"): TWO,
    re.compile(rf"(?P<state>clean|heat|cool) {_A}(?P<object>\w+) and put it {_INTO}"): None,
    re.compile(rf"put {_A}(?P<state>clean|hot|cool) (?P<object>\w+) {_INTO}"): None,
    re.compile(rf"put {_A}(?P<object>\w+) {_INTO}"): PLACE,
}

_NAME = r"\w+ \d+"
_LISTED = re.compile(rf"an? ({_NAME})")
_ROOM = re.compile(r"Looking quickly around you, you see (?P<list>[^.]*)\.")
_SHOWN = re.compile(rf"(?:On the (?P<on>{_NAME})|The (?P<open>{_NAME}) is open\. In it), you see (?P<list>[^.]*)\.")
_CLOSED = re.compile(rf"The ({_NAME}) is closed\.|You close the ({_NAME})\.")
_TAKEN = re.compile(rf"You pick up the (?P<object>{_NAME}) from the (?P<receptacle>{_NAME})\.")
_PUT = re.compile(rf"You (?:put|move) the (?P<object>{_NAME}) (?:in/on|to) the (?P<receptacle>{_NAME})\.")
_TREATMENT = re.compile(rf"You (?P<state>clean|heat|cool) the (?P<object>{_NAME}) using the {_NAME}\.")
_CARRYING = re.compile(rf"You are carrying: an? (?P<object>{_NAME})\.")


def read_goal(text: str) -> Goal:
    """Return the goal of a text with the words "Your task is to: ..."."""
    found = _TASK.search(text)
    if found is None:
        raise UsageError(f"the text does not say {TASK_PREFIX!r}: give the first observation of an ALFWorld game")
    sentence = found["sentence"]
    for pattern, task_type in _SENTENCES.items():
        if match := pattern.fullmatch(sentence):
            types = match.groupdict()
            kind = task_type or _TREATED_TYPES[types.pop("state")]
            return Goal(kind, **{f"{name}_type": each for name, each in types.items()})
    raise UsageError(f"the task {sentence!a} is none of ALFWorld's sentences: give one such as 'put a mug in desk'")


def type_of(name: str) -> str:
    """Return the type of a thing: "tomato" of "tomato 1"."""
    return name.rpartition(" ")[0]


class ObjectLocation(NamedTuple):
    """An object, and a receptacle that it is in."""

    thing: str
    receptacle: str


class ObservationMemory:
    """A memory of the texts that a player has seen; receptacles are in the order of the first observation."""

    def __init__(self, first_observation: str) -> None:
        room = _ROOM.search(first_observation)
        self.receptacles: tuple[str, ...] = tuple(_LISTED.findall(room["list"])) if room else ()
        if not self.receptacles:
            raise UsageError("the text lists no receptacle: give an ALFWorld game's first observation")
        self.contents: dict[str, list[str]] = {name: [] for name in self.receptacles}
        self.seen: dict[str, None] = {}  # receptacles looked into, the one seen longest ago first
        self.carried_past: set[str] = set()  # those looked into since what is held was taken
        self.closed: set[str] = set()  # those seen closed, and not opened since
        self.opened: set[str] = set()  # those seen open that can be closed
        self.held: str | None = None
        self.states: dict[str, set[str]] = {}  # objects to "clean", "heat" and "cool"

    def read(self, text: str) -> None:
        """Take in an observation; a second time changes nothing."""
        if match := _SHOWN.search(text):
            name = match["on"] or match["open"]
            self.contents[name] = _LISTED.findall(match["list"])
            self.seen.pop(name, None)
            self.seen[name] = None
            self.carried_past.add(name)
            if match["open"]:
                self.closed.discard(name)
                self.opened.add(name)
        elif match := _CLOSED.search(text):
            name = match[1] or match[2]
            self.closed.add(name)
            self.opened.discard(name)
        elif match := _TAKEN.search(text):
            self.held = match["object"]
            self.carried_past.clear()
            self.forget(match["object"], match["receptacle"])
        elif match := _PUT.search(text):
            self.held = None
            there = self.contents.setdefault(match["receptacle"], [])
            if match["object"] not in there:
                there.append(match["object"])
        elif match := _TREATMENT.search(text):
            states = self.states.setdefault(match["object"], set())
            states -= {"heat": {"cool"}, "cool": {"heat"}}.get(match["state"], set())
            states.add(match["state"])
        elif match := _CARRYING.search(text):
            self.held = match["object"]
        elif EMPTY_HANDS in text:
            self.held = None

    def forget(self, thing: str, receptacle: str) -> None:
        """Record that an object is not in a receptacle."""
        there = self.contents.get(receptacle, [])
        if thing in there:
            there.remove(thing)

    def found(self, thing_type: str) -> list[ObjectLocation]:
        """Return the objects of a type and where they are, in the order of the room."""
        return [
            ObjectLocation(thing, receptacle)
            for receptacle, things in self.contents.items()
            for thing in things
            if type_of(thing) == thing_type
        ]

    def count(self, thing_type: str, receptacle: str) -> int:
        return sum(type_of(thing) == thing_type for thing in self.contents.get(receptacle, ()))
