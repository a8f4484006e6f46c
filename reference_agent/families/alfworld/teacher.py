"""ALFWorld's own teacher: an expert that sees only what the player sees, and gives reasons for its actions.

It acts on the whole path and mentions only what p(s) shows, so it says less with a short `history`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from natlang_envs.alfworld.engine.goals import Goal
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.alfworld.expert import Expert, Subgoal
from natlang_envs.alfworld.observation_memory import ObservationMemory, type_of
from natlang_envs.env import NatLangEnv
from natlang_envs.prompt import PathStep
from reference_agent.teachers.base import Lesson, Moment, Sayings, agrees, listing

FAMILY = "alfworld"
_LISTED = 6  # places, the last ones, that a reflection names as searched: with more it would outgrow its tokens
NONE = "nothing"  # how it is said that none is here: a word of its own in the tokenizer, as what is found
_DONE = {"clean": "clean", "heat": "hot", "cool": "cool"}


class _Here(NamedTuple):
    """What the last observation shows, and the place of the last command that names one; empty before it."""

    shown: ObservationMemory
    place: str


class ALFWorldTeacher:
    """Speaks for ALFWorld, in a wording that `rng` draws.

    `aloud` it says where it is, asks and answers whether this place has what it needs, and says which place the next
    one follows in the room's list or, where none of its type does, goes through the types of places from the likeliest
    on; it does not name all places that were searched in vain.
    """

    restarts = False  # what is held, and what was searched, is told by the path alone

    def __init__(self, rng: np.random.Generator, aloud: bool = False) -> None:
        self._say = Sayings(FAMILY, rng)
        self._aloud = aloud

    def __call__(self, moment: Moment) -> Lesson:
        task = moment.info["task"]
        expert = Expert(task, goal=moment.env.goal if isinstance(moment.env, ALFWorldEnv) else None)
        for step in moment.path:
            expert.observe(step.action, step.feedback)
        action = expert.choose(moment.observation, moment.commands)
        known = _remember(task, moment.shown, moment.observation)
        here = _here(known, moment) if self._aloud else None
        reflection = self._reflect(expert, known, here, action, moment.wrong is not None)
        assert agrees(reflection, action, moment.commands), reflection
        return Lesson(reflection, action)

    def _reflect(
        self, expert: Expert, known: ObservationMemory, here: _Here | None, action: str, mistaken: bool
    ) -> str:
        goal, subgoal = expert.goal, expert.subgoal
        assert subgoal is not None
        kind, thing_type, place, thing = subgoal
        why, seen = _why(goal, known, subgoal)
        reasons, act = [why], _act(known, subgoal, action)
        before = read = tried = ""
        if here:
            before, read = _before(known, place), _read_aloud(here.shown, subgoal)
            if act == "search" and before:
                act = "next"
            elif act == "search" and (passed := _passed(expert.search_order(thing_type), known, place)) is not None:
                act, tried = "weigh", "".join(f"{each}? seen, " for each in passed)
            if read:
                reasons = ["aloud"]
            elif kind == "find":
                reasons = [] if act == "open" else [why.removesuffix("_on")]
            if here.place:
                reasons = ["at_closed" if here.place in known.closed else "at", *reasons]
        kinds = [*reasons, act, "regret"] if mistaken else [*reasons, act]
        held = known.held or ""
        gaps = {
            "action": action,
            "object": thing_type if kind == "find" else goal.object_type,
            "thing": thing or f"the {thing_type}",
            "place": place,
            "kind": type_of(place) or "place",
            "held": held,
            "target": goal.receptacle_type,
            "seen": listing(seen[-_LISTED:]),
            "here": here.place if here else "",
            "before": before,
            "tried": tried,
            "read": read,
            "done": listing(sorted(_DONE[each] for each in known.states.get(held, ()))),
        }
        told = (self._say.draw(each).format(**gaps) for each in kinds)
        # Aloud, names stay as the prompt has them, which a small model can repeat.
        return " ".join(each if here else each[0].upper() + each[1:] for each in told)


def make(env: NatLangEnv, rng: np.random.Generator, aloud: bool = False) -> ALFWorldTeacher:
    return ALFWorldTeacher(rng, aloud)


def _here(known: ObservationMemory, moment: Moment) -> _Here:
    named = (name for step in reversed(moment.shown) for name in known.receptacles if step.action.endswith(f" {name}"))
    return _Here(_remember(moment.info["task"], (), moment.observation), next(named, ""))


def _read_aloud(here: ObservationMemory, subgoal: Subgoal) -> str:
    """Return what the current place contains of the sought type when searching, which may be nothing; else ""."""
    shown = next(iter(here.seen), "")
    if subgoal.kind not in ("find", "take") or not shown or (subgoal.kind == "take" and shown != subgoal.receptacle):
        return ""
    if subgoal.kind == "take":
        return subgoal.object
    return "it stays here" if here.count(subgoal.object_type, shown) else NONE


def _why(goal: Goal, known: ObservationMemory, subgoal: Subgoal) -> tuple[str, Sequence[str]]:
    """Return what kind of sentence says why, true of what the prompt shows, and the places searched in vain."""
    kind, wanted, place, thing = subgoal
    if kind == "find":
        seen = [name for name in known.seen if all(type_of(each) != wanted for each in known.contents[name])]
        on = "_on" if seen else ""
        if wanted == goal.toggle_type:
            return (f"find_lamp{on}", seen) if known.held else ("plain", ())
        placed = goal.count > 1 and any(
            known.count(wanted, name) for name in known.receptacles if type_of(name) == goal.receptacle_type
        )
        return f"find{'_more' if placed else ''}{on}", seen
    if kind == "take":
        return "take" if thing in known.contents.get(place, ()) else "plain", ()
    if known.held is None or not (place or kind == "look"):
        return "plain", ()
    done = kind == "place" and known.states.get(known.held)
    return "place_done" if done else {"look": "lamp"}.get(kind, kind), ()


def _before(known: ObservationMemory, place: str) -> str:
    """Return the place of the same type that was searched last, if `place` is the next in the room's list; else ""."""
    last = next(reversed(known.seen), "")
    follows = (last, place) in pairwise(known.receptacles) and type_of(last) == type_of(place)
    return last if follows else ""


def _passed(order: Sequence[str], known: ObservationMemory, place: str) -> list[str] | None:
    """Return the types of places that come before that of `place` in a search, if all of these were looked into."""
    types = list(dict.fromkeys(map(type_of, order)))
    earlier = types[: types.index(type_of(place))]
    return earlier if all(name in known.seen for name in order if type_of(name) in earlier) else None


def _act(known: ObservationMemory, subgoal: Subgoal, action: str) -> str:
    kind, _, place, thing = subgoal
    if action == f"go to {place}":
        return "search" if kind == "find" else "go"
    if action == f"open {place}":
        return "open" if place in known.closed else "do"
    serves = place and action.endswith(place) if kind != "look" else action == f"use {thing}"
    return "do" if serves else "other"


def _remember(task: str, shown: Sequence[PathStep], observation: str) -> ObservationMemory:
    known = ObservationMemory(task)
    for text in (*(step.feedback for step in shown), observation):
        if text.strip() != NOTHING_HAPPENS:
            known.read(text)
    return known
