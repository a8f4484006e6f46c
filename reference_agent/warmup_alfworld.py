"""Made-up questions for ALFWorld's tiny model: does a list hold what the task is about, and which one of it?

A place and its list are invented, and the thing that the task asks for is among them or not. The answer reads the list
aloud up to that thing, so that each word is either repeated or compared with the one that is sought: asked for the
thing at once, the model learned to say neither whether it is there nor which. It does not know what is right to do in
any state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from natlang_envs.alfworld.facts import facts
from natlang_envs.alfworld.grammar import TASK_PREFIX, listing
from natlang_envs.alfworld.reading import read_goal, type_of
from natlang_envs.prompt import reflection_prompt
from reference_agent.teacher_alfworld import read_aloud

_LONGEST = 13  # things in a list
_NUMBERS, _PLACES = 5, 12  # the largest numbers of things and places
_OBSERVATION = "Observation: "


def ask(state: str, whole: bool, rng: np.random.Generator) -> tuple[str, str]:
    """Return a prompt and what is to be said.

    Args:
        state: p(s), from which the task comes.
        whole: Whether all of p(s) stands before the list, or the task's sentence alone.
        rng: Draws the place and what it holds.
    """
    wanted = read_goal(state).object_type
    things, places = _types()
    listed = [f"{_pick(things, rng)} {1 + int(rng.integers(_NUMBERS))}" for _ in range(int(rng.integers(_LONGEST + 1)))]
    listed = [each for each in listed if type_of(each) != wanted]
    found = ""
    if rng.random() < 0.5:
        found = f"{wanted} {1 + int(rng.integers(_NUMBERS))}"
        listed.insert(int(rng.integers(len(listed) + 1)), found)
    place = f"{_pick(places, rng)} {1 + int(rng.integers(_PLACES))}"
    seen = f"{_OBSERVATION}On the {place}, you see {listing(f'a {each}' for each in listed)}."
    start = state.index(TASK_PREFIX)
    before = state[: state.rindex(_OBSERVATION)] if whole else state[start : state.index("\n", start) + 1]
    return reflection_prompt(before + seen), f"Is there some {wanted}? {read_aloud(listed, wanted, found)}."


@cache
def _types() -> tuple[list[str], list[str]]:
    """Return the types of things and of places."""
    fits = facts().fits
    return sorted({each.lower() for kind in fits.values() for each in kind}), sorted(each.lower() for each in fits)


def _pick(names: Sequence[str], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]
