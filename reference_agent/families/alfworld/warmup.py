"""ALFWorld's part of the warm-up: a lesson on lists of things, and the words of the household.

The lesson answers made-up questions, several in a prompt, about the things at an invented place and the order of the
room's list; so many answers taught in two hundred steps what one for each prompt had not begun to teach in two
thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain

import numpy as np
from torch import Tensor

from natlang_envs.alfworld.engine.grammar import TASK_PREFIX, listing
from natlang_envs.alfworld.games.floor_plans import floor_plans, room, room_numbers
from natlang_envs.alfworld.observation_memory import ObservationMemory, type_of
from natlang_envs.prompt import reflection_prompt
from reference_agent.data_set import Example
from reference_agent.families import phrases
from reference_agent.families.alfworld.teacher import FAMILY, NONE
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import WarmupConfig
from reference_agent.tiny.warmup import Added, Labels, Levels, WarmupLesson, noted, replaced, soon

_READ = 0.1  # mean loss at which whole prompts take the place of lists alone
_QUESTIONS = 8
_NEXT = 0.25  # of the questions in whole prompts: what comes next in the room's list
_LONGEST = 13  # things in a list
_NUMBERS, _PLACES = 5, 12  # the largest numbers of things and places
_OBSERVATION = "Observation: "


def lessons(
    model: LanguageModel, samples: Sequence[Example], config: WarmupConfig, rng: np.random.Generator, _: Labels
) -> Added:
    """Return the lesson on lists, which comes first: after repeating commands it took three times as long."""
    looks = config.lookup_steps
    alike = sorted((each.state for each in samples if TASK_PREFIX in each.state), key=model.count) if looks else []
    quarter, most = (max(1, count) for count in (config.batch // 4, 3 * config.batch // 4))

    def lists(levels: Levels) -> tuple[Tensor, float]:
        whole = "lists" in levels
        return noted(_list_loss(model, alike, whole, quarter if whole else most, rng))

    def beside() -> Tensor | float:  # or lists are forgotten meanwhile
        return _list_loss(model, alike, True, quarter, rng) if alike else 0.0

    first = WarmupLesson("lists", looks if alike else 0, lists, soon, lambda loss: loss < _READ)
    return Added(replaced(samples), first=(first,), beside=beside)


def words() -> list[str]:
    """Return what the tiny tokenizer keeps whole: types of things and receptacles, verbs, and all numbers."""
    rooms, fits = [room(number) for number in room_numbers()], floor_plans().fits
    types = {*fits, *chain.from_iterable(fits.values()), *chain.from_iterable(each.movable for each in rooms)}
    types |= {one.type for each in rooms for one in (*each.receptacles, *each.fixtures)}
    largest = max(len(each.locations) for each in rooms)
    return [*phrases(FAMILY)["words"], *sorted({each.lower() for each in types}), *map(str, range(largest + 1))]


def _list_loss(model: LanguageModel, alike: Sequence[str], whole: bool, count: int, rng: np.random.Generator) -> Tensor:
    """Return the loss of answers on made-up lists in `count` prompts, which stand side by side in `alike`."""
    count = min(count, len(alike))
    first = int(rng.integers(len(alike) - count + 1))  # neighbours are of like length: little padding
    return model.answers_loss(*zip(*(ask(state, whole, rng) for state in alike[first : first + count]), strict=True))


def ask(state: str, whole: bool, rng: np.random.Generator) -> tuple[str, list[tuple[str, str]]]:
    """Return a prompt, and questions with their answers, which are to be said one after another.

    With `whole`, all of p(s) stands before the invented list, and its room is asked about too; else the task's
    sentence.
    """
    things, places = _types()
    listed = [f"{_pick(things, rng)} {1 + int(rng.integers(_NUMBERS))}" for _ in range(int(rng.integers(_LONGEST + 1)))]
    place = f"{_pick(places, rng)} {1 + int(rng.integers(_PLACES))}"
    seen = f"{_OBSERVATION}On the {place}, you see {listing(f'a {each}' for each in listed)}."
    start = state.index(TASK_PREFIX)
    before = state[: state.rindex(_OBSERVATION)] if whole else state[start : state.index("\n", start) + 1]
    room = ObservationMemory(state).receptacles if whole else ()
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
    fits = floor_plans().fits
    return sorted({each.lower() for kind in fits.values() for each in kind}), sorted(each.lower() for each in fits)


def _pick(names: Sequence[str], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]
