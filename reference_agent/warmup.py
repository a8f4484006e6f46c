"""Warm-up lessons: skills that a pretrained model has, and on which a new one would spend its few demonstrations.

Lists (ALFWorld): answer made-up questions, several in a prompt, about the things at an invented place and the order of
the room's list; so many answers taught in two hundred steps what one for each prompt had not begun to teach in two
thousand. Repeating (not Taxi, whose six commands are soon learned): write the command that is named. Labels: find the
label of the command that is named, in short lists first. Walls (Taxi): say which rows of a border between columns are
closed. Directions (Taxi): say where the passenger lies from the taxi, and which wall is next. Prompts look like the
real ones; commands in them are random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from natlang_envs.alfworld.engine.grammar import TASK_PREFIX, listing
from natlang_envs.alfworld.games.floor_plans import floor_plans
from natlang_envs.alfworld.observation_memory import Memory, type_of
from natlang_envs.dangerous_taxi.city import Cell, City
from natlang_envs.dangerous_taxi.words import COMMANDS, describe_walls
from natlang_envs.enumeration import enumerate_actions
from natlang_envs.errors import UsageError
from natlang_envs.prompt import policy_prompt, reflection_prompt
from reference_agent.checkpoint import Checkpoints, Lessons, random_state
from reference_agent.collection import Report
from reference_agent.config import WarmupConfig
from reference_agent.models.language_model import LanguageModel, NotFinite, check_finite
from reference_agent.models.tokenizer import text_prompt
from reference_agent.teachers.alfworld import NONE
from reference_agent.teachers.dangerous_taxi import TaxiTeacher, comparison, look_ahead, next_border

State = tuple[str, tuple[str, ...]]  # p(s) and A(s)
Speaker = Callable[[str, int, int, np.random.Generator], str]  # command, state's number, level: a reflection with it

_KINDS = ("do", "around", "pick_up", "drop_off")
_LEVEL_UP = 0.9  # mean accuracy at which the prompts become harder
_WINDOW = 12  # steps over which accuracy and loss are averaged
_LISTED = 6  # commands in a list at level 0; twice as many at each further level
_REPEATED = 0.1  # mean loss at which whole prompts take the place of short ones
_READ = 0.1  # mean loss at which whole prompts take the place of lists alone
_WAITS = re.compile(r"waits at \w+ \(row \d, column \d\)\. The taxi is at row \d, column \d\.")
_QUESTIONS = 8
_NEXT = 0.25  # of the questions in whole prompts: what comes next in the room's list
_LONGEST = 13  # things in a list
_NUMBERS, _PLACES = 5, 12  # the largest numbers of things and places
_OBSERVATION = "Observation: "


class _Lesson(NamedTuple):
    """A lesson of the warm-up.

    `loss` takes the levels that each lesson has reached, and gives the loss of a step and the value whose mean over the
    last steps is reported; `mastered` whether that mean ends a level, after `levels` of which the lesson is over.
    """

    name: str
    steps: int
    loss: Callable[[Mapping[str, int]], tuple[Tensor, float]]
    rate: Callable[[int], float]
    mastered: Callable[[float], bool] | None = None
    levels: int | None = None


def warm_up(
    model: LanguageModel,
    states: Sequence[State],
    config: WarmupConfig,
    report: Report,
    said: Sequence[tuple[str, str]] = (),
    cities: Sequence[City] = (),
    folder: Path | None = None,
) -> None:
    """Train `model` in place: lists, repeating, labels until they are read well, then walls and directions beside them.

    `states` are samples; `said` holds for each a reflection and the command in it, which another replaces; or `cities`
    holds for each of Taxi's its city: reflections are made up. `report` is called with a name, the step, the number of
    steps, and the mean accuracy or loss of the last ones. The newest checkpoint in `folder` is resumed. Raises
    `UsageError`.
    """
    rng = np.random.default_rng(config.seed)
    optimizer = torch.optim.AdamW(model.model.parameters(), lr=config.learning_rate, betas=(0.9, 0.99))
    at = Lessons(0, 0, [], {}, [])
    checkpoints = Checkpoints(folder, model)
    if last := checkpoints.resume(Lessons):
        at, (rng.bit_generator.state,) = last, last.random
        checkpoints.load_optimizer(optimizer)
    lessons = _lessons(model, states, config, rng, said, cities)
    with _finite():
        for lesson in lessons[at.part :]:
            while at.step < lesson.steps:
                loss, value = lesson.loss(at.levels)
                for group in optimizer.param_groups:
                    group["lr"] = config.learning_rate * lesson.rate(at.step)
                model.descend(optimizer, loss, 1.0)
                at.step += 1
                at.recent = [*at.recent[-_WINDOW + 1 :], value]
                mean = float(np.mean(at.recent))
                if lesson.mastered and len(at.recent) == _WINDOW and lesson.mastered(mean):
                    at.levels[lesson.name] = level = at.levels.get(lesson.name, 0) + 1
                    at.recent = []
                    at.step = lesson.steps if level == lesson.levels else at.step
                report(lesson.name, at.step, lesson.steps, mean)
                checkpoints.save_sometimes(replace(at, random=[random_state(rng)]), optimizer)
            at = Lessons(at.part + 1, 0, [], at.levels, [])
        check_finite(optimizer)


@contextmanager
def _finite() -> Iterator[None]:
    """Turn a gradient or a weight that is not finite into one line that says what to change."""
    try:
        yield
    except NotFinite as error:
        raise UsageError(f"{error} in the warm-up: lower warmup.learning_rate and train with another --out") from None


def _lessons(
    model: LanguageModel,
    states: Sequence[State],
    config: WarmupConfig,
    rng: np.random.Generator,
    said: Sequence[tuple[str, str]],
    cities: Sequence[City],
) -> list[_Lesson]:
    """Return the lessons in order; those that do not fit the environment have no steps."""
    batch, looks = config.batch, config.lookup_steps
    quarter, half, most = (max(1, count) for count in (batch // 4, batch // 2, 3 * batch // 4))
    # Lists first: after repeating commands they took three times as long; and on, or they are forgotten meanwhile.
    alike = sorted((state for state, _ in states if TASK_PREFIX in state), key=model.count) if said and looks else []
    speak = _replaced(said) if said else _made_up(TaxiTeacher(rng), cities, looks > 0)
    located = [(state, city) for (state, _), city in zip(states, cities, strict=False) if _WAITS.search(state)]

    def lists(levels: Mapping[str, int]) -> tuple[Tensor, float]:
        whole = "lists" in levels
        return _noted(_list_loss(model, alike, whole, quarter if whole else most, rng))

    def repeating(levels: Mapping[str, int]) -> tuple[Tensor, float]:
        loss, value = _noted(_repeat_loss(model, states, speak, "repeating" in levels, batch, rng))
        return loss + (_list_loss(model, alike, True, quarter, rng) if alike else 0.0), value

    def labels(levels: Mapping[str, int]) -> tuple[Tensor, float]:
        return _label_loss(model, states, speak, levels.get("labels", 0), batch, rng)

    def walls(levels: Mapping[str, int]) -> tuple[Tensor, float]:
        read, _ = _label_loss(model, states, speak, levels.get("labels", 0), quarter, rng)
        told, value = _noted(_wall_loss(model, cities, batch, rng))
        return read + told, value

    def directions(levels: Mapping[str, int]) -> tuple[Tensor, float]:
        read, _ = _label_loss(model, states, speak, levels.get("labels", 0), half, rng)
        told, value = _noted(_direction_loss(model, located, looks > 0, batch, rng))
        return read + told, value

    def soon(step: int) -> float:
        return min(1.0, (step + 1) / 50)

    def falling(step: int) -> float:
        return 0.75 * min(1.0, (step + 1) / 20, 1.1 - step / config.direction_steps)

    return [
        _Lesson("lists", looks if alike else 0, lists, soon, lambda loss: loss < _READ),
        _Lesson("repeating", config.copy_steps if said else 0, repeating, soon, lambda loss: loss < _REPEATED),
        _Lesson("labels", config.steps, labels, soon, lambda accuracy: accuracy > _LEVEL_UP, config.levels),
        _Lesson("walls", looks if cities else 0, walls, soon),
        _Lesson("directions", config.direction_steps if located else 0, directions, falling),
    ]


def _noted(loss: Tensor) -> tuple[Tensor, float]:
    return loss, float(loss.detach())


def _repeat_loss(
    model: LanguageModel, states: Sequence[State], speak: Speaker, whole: bool, count: int, rng: np.random.Generator
) -> Tensor:
    """Return the loss of writing the command that is named: behind the end of p(s), or behind whole reflections."""
    prompts: list[str] = []
    named: list[str] = []
    for _ in range(max(1, count // 2) if whole else count):
        number = int(rng.integers(len(states)))
        state, commands = states[number]
        command = commands[int(rng.integers(len(commands)))]
        reflection = speak(command, number, 0, rng) if whole and rng.random() < 0.7 else f"{command}."
        prompts.append(text_prompt(state if whole else _last_sentence(state), reflection))
        named.append(command)
    return model.completion_loss(prompts, named)


def _list_loss(model: LanguageModel, alike: Sequence[str], whole: bool, count: int, rng: np.random.Generator) -> Tensor:
    """Return the loss of answers on made-up lists in `count` prompts, which stand side by side in `alike`."""
    count = min(count, len(alike))
    first = int(rng.integers(len(alike) - count + 1))  # neighbours are of like length: little padding
    return model.answers_loss(*zip(*(ask(state, whole, rng) for state in alike[first : first + count]), strict=True))


def _label_loss(
    model: LanguageModel,
    states: Sequence[State],
    speak: Speaker,
    level: int,
    count: int,
    rng: np.random.Generator,
) -> tuple[Tensor, float]:
    """Return the loss and the accuracy of finding a command's label, on `count` prompts.

    At level 0 only the end of p(s) and a bare command are shown, or nothing is learned for long; then all of p(s), and
    more and more often a whole reflection with a random command.
    """
    prompts: list[str] = []
    labels: list[list[str]] = []
    targets: list[int] = []
    for _ in range(count):
        number = int(rng.integers(len(states)))
        state, commands = states[number]
        if len(commands) > _LISTED << level:  # among dozens of labels a model that reads none stays at chance
            commands = tuple(commands[each] for each in sorted(rng.permutation(len(commands))[: _LISTED << level]))
        target = int(rng.integers(len(commands)))
        said = f"{commands[target]}."
        if rng.random() < min(0.8, 0.2 * level):
            said = speak(commands[target], number, level, rng)
        choices = enumerate_actions(commands, model.labels_for(len(commands)), rng)
        shown = state if level else _last_sentence(state)
        prompts.append(policy_prompt(shown, said, choices))
        labels.append([choice.label for choice in choices])
        targets.append(target)
    wanted = torch.tensor(targets)
    logits = model.choice_logits(prompts, labels)
    accuracy = float((logits.argmax(dim=1) == wanted).float().mean())
    return torch.nn.functional.cross_entropy(logits, wanted), accuracy


def _made_up(teacher: TaxiTeacher, cities: Sequence[City], walls: bool) -> Speaker:
    """Return what makes up Taxi's reflections: any kind of sentence on any two cells."""

    def speak(command: str, number: int, level: int, rng: np.random.Generator) -> str:
        # What is said before names other directions and commands: the last one counts.
        here, there = _two_cells(cities[number], rng)
        wrong = COMMANDS[int(rng.integers(len(COMMANDS)))] if rng.random() < min(0.5, 0.1 * (level - 1)) else None
        seen = look_ahead(cities[number], here, there).seen if walls else ""
        return teacher.say(str(rng.choice(_KINDS)), here, there, command, wrong, bool(rng.random() < 0.5), seen)

    return speak


def _replaced(said: Sequence[tuple[str, str]]) -> Speaker:
    """Return what takes the sentences on a state with another command in place of theirs."""

    def speak(command: str, number: int, _: int, __: np.random.Generator) -> str:
        reflection, action = said[number]
        return reflection.replace(action, command)

    return speak


def _wall_loss(model: LanguageModel, cities: Sequence[City], count: int, rng: np.random.Generator) -> Tensor:
    """Return the loss of looking up the wall on a border between columns, on `count` short prompts."""
    prompts: list[str] = []
    told: list[str] = []
    while len(told) < count:
        city = cities[int(rng.integers(len(cities)))]
        there, here = _two_cells(city, rng)
        border = next_border(here, there)
        if border is not None:
            place = f"The taxi is at row {here[0]}, columns {border} and {border + 1}."
            prompts.append(f"{describe_walls(city)}\n{place}\n")
            told.append(look_ahead(city, here, there).seen)
    return model.completion_loss(prompts, told)


def _direction_loss(
    model: LanguageModel, located: Sequence[tuple[str, City]], walls: bool, count: int, rng: np.random.Generator
) -> Tensor:
    """Return the loss of saying where the passenger is, and what wall lies between, on `count` prompts."""
    prompts: list[str] = []
    told: list[str] = []
    for _ in range(count):
        state, city = located[int(rng.integers(len(located)))]
        there, here = _two_cells(city, rng)
        places = f"waits at Red (row {there[0]}, column {there[1]}). The taxi is at row {here[0]}, column {here[1]}."
        prompts.append(reflection_prompt(_WAITS.sub(places, state)))
        seen = look_ahead(city, here, there).seen if walls else ""
        told.append(f"{comparison(here, there)} {seen}".rstrip())
    return model.completion_loss(prompts, told)


def _two_cells(city: City, rng: np.random.Generator) -> tuple[Cell, Cell]:
    """Draw two cells of a city."""
    first, second, third, fourth = rng.integers([city.rows, city.columns, city.rows, city.columns]).tolist()
    return (first, second), (third, fourth)


def _last_sentence(state: str) -> str:
    return state[state.rindex(".", 0, -1) + 1 :] if "." in state[:-1] else state


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
    fits = floor_plans().fits
    return sorted({each.lower() for kind in fits.values() for each in kind}), sorted(each.lower() for each in fits)


def _pick(names: Sequence[str], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]
