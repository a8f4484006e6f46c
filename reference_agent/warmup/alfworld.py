"""Made-up questions for ALFWorld's tiny model: what of a type is there, and which place comes next in the room's list?

A place and its list are invented, and several questions are asked of them: so many answers a prompt taught in two
hundred steps what one answer a prompt had not begun to in two thousand. It does not know what is right to do in any
state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from natlang_envs.alfworld.engine.grammar import TASK_PREFIX, listing
from natlang_envs.alfworld.games.floor_plans import facts
from natlang_envs.alfworld.observation_memory import Memory, type_of
from natlang_envs.prompt import reflection_prompt
from reference_agent.teachers.alfworld import NONE

_QUESTIONS = 8
_NEXT = 0.25  # of the questions in whole prompts: what comes next in the room's list
_LONGEST = 13  # things in a list
_NUMBERS, _PLACES = 5, 12  # the largest numbers of things and places
_OBSERVATION = "Observation: "


def ask(state: str, whole: bool, rng: np.random.Generator) -> tuple[str, list[tuple[str, str]]]:
    """Return a prompt, and questions with their answers, which are to be said one after another.

    Args:
        state: p(s), from which the task comes.
        whole: Whether all of p(s) stands before the list, and its room is asked about too; else the task's sentence.
        rng: Draws the place, what it holds, and what is asked.
    """
    things, places = _types()
    listed = [f"{_pick(things, rng)} {1 + int(rng.integers(_NUMBERS))}" for _ in range(int(rng.integers(_LONGEST + 1)))]
    place = f"{_pick(places, rng)} {1 + int(rng.integers(_PLACES))}"
    seen = f"{_OBSERVATION}On the {place}, you see {listing(f'a {each}' for each in listed)}."
    start = state.index(TASK_PREFIX)
    before = state[: state.rindex(_OBSERVATION)] if whole else state[start : state.index("\n", start) + 1]
    room = Memory(state).receptacles if whole else ()
    there = [*listed, *room]
    types = [type_of(each) for each in there]
    asked: list[tuple[str, str]] = []
    for number in range(_QUESTIONS):
        if len(room) > 1 and rng.random() < _NEXT:
            index = int(rng.integers(len(room) - 1))
            question, answer = f"After {room[index]} comes", room[index + 1]
        else:
            wanted = _pick(types if types and rng.random() < 0.5 else things, rng)
            question, answer = f"Is there some {wanted}?", there[types.index(wanted)] if wanted in types else NONE
        # A full stop is one token with the words behind it, here as in a reflection.
        asked.append((f". {question}" if number else question, f" {answer}"))
    return reflection_prompt(before + seen), asked


@cache
def _types() -> tuple[list[str], list[str]]:
    """Return the types of things and of places."""
    fits = facts().fits
    return sorted({each.lower() for kind in fits.values() for each in kind}), sorted(each.lower() for each in fits)


def _pick(names: Sequence[str], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]
