"""Goals: ALFWorld's six task types, each recognised by the one form of its PDDL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from natlang_envs.errors import UsageError

PLACE: Final = "pick_and_place_simple"
LOOK: Final = "look_at_obj_in_light"
CLEAN: Final = "pick_clean_then_place_in_recep"
HEAT: Final = "pick_heat_then_place_in_recep"
COOL: Final = "pick_cool_then_place_in_recep"
TWO: Final = "pick_two_obj_and_place"
TASK_TYPES = (PLACE, LOOK, CLEAN, HEAT, COOL, TWO)
# What has to be done first, to a thing that is "cleanable", "heatable" or "coolable", and where every release lets one.
TREATMENTS: dict[str, Literal["clean", "heat", "cool"]] = {CLEAN: "clean", HEAT: "heat", COOL: "cool"}
STATIONS = {CLEAN: "SinkBasin", HEAT: "Microwave", COOL: "Fridge"}


@dataclass(frozen=True, slots=True)
class Goal:
    """The condition that wins a game."""

    task_type: str  # one of `TASK_TYPES`
    object_type: str  # the type of what is to be held or placed, such as "apple"
    receptacle_type: str = ""  # where it goes; "" where nothing is placed
    toggle_type: str = ""  # the lamp to look at it by; "" in other tasks

    @property
    def count(self) -> int:
        """The number of things of `object_type` that must lie in one receptacle."""
        return 2 if self.task_type == TWO else 1


def _placed(first: str, then: str) -> str:
    """Return the goal that a thing lies in a receptacle, with what is asked of it before and after the types."""
    return (
        f"(:goal (and (exists (?r - receptacle) (exists (?o - object) (and {first} "
        f"(objecttype ?o OBJECT) (receptacletype ?r RECEPTACLE) {then} (inreceptacle ?o ?r) ) ) ) ) )"
    )


_FORMS = {
    PLACE: "(:goal (and (exists (?r - receptacle) (exists (?o - object) (and (inreceptacle ?o ?r) "
    "(objecttype ?o OBJECT) (receptacletype ?r RECEPTACLE) ) ) ) ) )",
    LOOK: "(:goal (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objecttype ?ot TOGGLE) "
    "(toggleable ?ot) (istoggled ?ot) (receptacleatlocation ?r ?l) (atlocation ?a ?l) (inreceptacle ?ot ?r) ) ) "
    "(exists (?o - object ?a - agent) (and (objecttype ?o OBJECT) (holds ?a ?o) ) ) ) )",
    CLEAN: _placed("(cleanable ?o)", "(isclean ?o)"),
    HEAT: _placed("(heatable ?o)", "(ishot ?o)"),
    COOL: _placed("(coolable ?o)", "(iscool ?o)"),
    TWO: "(:goal (and (exists (?r - receptacle) (exists (?o1 - object) (and (objecttype ?o1 OBJECT) "
    "(receptacletype ?r RECEPTACLE) (inreceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2)) "
    "(objecttype ?o2 OBJECT) (receptacletype ?r RECEPTACLE) (inreceptacle ?o2 ?r) ) ) ) ) ) ) )",
}
_TYPES = {"OBJECT": "object", "RECEPTACLE": "receptacle", "TOGGLE": "toggle"}


def _pattern(form: str) -> re.Pattern[str]:
    """Return a pattern of a form without its spaces around parentheses; a type named again is the same type."""
    pattern = re.escape(_dense(form))
    for word, group in _TYPES.items():
        pattern = pattern.replace(word, rf"(?P<{group}>\w+)type", 1).replace(word, f"(?P={group})type")
    return re.compile(pattern + r"\)*")


def _dense(text: str) -> str:
    return re.sub(r" ?([()]) ?", r"\1", " ".join(text.split()))


_PATTERNS = {task_type: _pattern(form) for task_type, form in _FORMS.items()}


def parse_goal(text: str) -> Goal:
    """Return the goal that a problem's text, from `(:goal` on and in lower case, states."""
    dense = _dense(text)
    for task_type, pattern in _PATTERNS.items():
        found = pattern.fullmatch(dense)
        if found:
            return Goal(task_type, **{f"{name}_type": kind for name, kind in found.groupdict().items()})
    raise UsageError(f"this ALFWorld game has a goal of none of the six task types: {dense[:80]}")


def goal_text(goal: Goal) -> str:
    """Return the goal as a problem states it; types are as its `:objects` spell them, without their "Type"."""
    text = _FORMS[goal.task_type]
    for word, name in _TYPES.items():
        text = text.replace(word, f"{getattr(goal, f'{name}_type')}Type")
    return text
