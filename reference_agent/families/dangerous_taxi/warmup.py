"""DangerousTaxi's part of the warm-up: lessons on walls and directions beside those on labels.

Walls: say which rows of a border between columns are closed. Directions: say where the passenger lies from the taxi,
and which wall is next. Reflections on other prompts are made up: any kind of sentence on any two cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from natlang_envs.dangerous_taxi.city import CLASSIC, Cell, City
from natlang_envs.dangerous_taxi.tasks import parse_task_id
from natlang_envs.dangerous_taxi.words import COMMANDS, describe_walls
from natlang_envs.prompt import reflection_prompt
from reference_agent.data_set import Example
from reference_agent.families.dangerous_taxi.teacher import TaxiTeacher, comparison, look_ahead, next_border
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import CollectConfig, Config, TeacherConfig, WarmupConfig
from reference_agent.tiny.warmup import SAMPLED, Added, Labels, Levels, Speak, WarmupLesson, noted, soon

_KINDS = ("do", "around", "pick_up", "drop_off")
_WAITS = re.compile(r"waits at \w+ \(row \d, column \d\)\. The taxi is at row \d, column \d\.")


def samples(config: Config, plain: Config) -> Config:
    """Return the settings of the sample prompts: of the pickup, so that all models of a kind of map are one."""
    arguments = {name: value for name, value in config.demonstrations.env_kwargs.items() if name != "split"}
    if arguments.get("map", CLASSIC) == CLASSIC:
        return plain
    walls = {"walls": True} if config.warmup.lookup_steps else {}
    many = CollectConfig(trajectories=SAMPLED, policy_trajectories=0, wordings=1)
    return replace(plain, env_kwargs=arguments, collect=many, teacher=TeacherConfig(options=walls))


def lessons(
    model: LanguageModel, samples: Sequence[Example], config: WarmupConfig, rng: np.random.Generator, labels: Labels
) -> Added:
    """Return the lessons that follow those on labels; Taxi's six commands need no repeating."""
    batch, looks = config.batch, config.lookup_steps
    quarter, half = max(1, batch // 4), max(1, batch // 2)
    cities = [parse_task_id(each.task_id)[0] for each in samples]
    located = [(each.state, city) for each, city in zip(samples, cities, strict=True) if _WAITS.search(each.state)]

    def walls(levels: Levels) -> tuple[Tensor, float]:
        read = labels(levels, quarter)
        told, value = noted(_wall_loss(model, cities, batch, rng))
        return read + told, value

    def directions(levels: Levels) -> tuple[Tensor, float]:
        read = labels(levels, half)
        told, value = noted(_direction_loss(model, located, looks > 0, batch, rng))
        return read + told, value

    def falling(step: int) -> float:
        return 0.75 * min(1.0, (step + 1) / 20, 1.1 - step / config.direction_steps)

    last = (
        WarmupLesson("walls", looks, walls, soon),
        WarmupLesson("directions", config.direction_steps if located else 0, directions, falling),
    )
    return Added(_made_up(TaxiTeacher(rng), cities, looks > 0), repeats=False, last=last)


def _made_up(teacher: TaxiTeacher, cities: Sequence[City], walls: bool) -> Speak:

    def speak(command: str, number: int, level: int, rng: np.random.Generator) -> str:
        # What is said before names other directions and commands: the last one counts.
        here, there = _two_cells(cities[number], rng)
        wrong = COMMANDS[int(rng.integers(len(COMMANDS)))] if rng.random() < min(0.5, 0.1 * (level - 1)) else None
        seen = look_ahead(cities[number], here, there).seen if walls else ""
        return teacher.say(str(rng.choice(_KINDS)), here, there, command, wrong, bool(rng.random() < 0.5), seen)

    return speak


def _wall_loss(model: LanguageModel, cities: Sequence[City], count: int, rng: np.random.Generator) -> Tensor:
    """Return the loss of looking up the wall on a border between columns, on `count` short prompts."""
    prompts, told = list[str](), list[str]()
    while len(told) < count:
        city = cities[int(rng.integers(len(cities)))]
        there, here = _two_cells(city, rng)
        if (border := next_border(here, there)) is not None:
            place = f"The taxi is at row {here[0]}, columns {border} and {border + 1}."
            prompts.append(f"{describe_walls(city)}\n{place}\n")
            told.append(look_ahead(city, here, there).seen)
    return model.completion_loss(prompts, told)


def _direction_loss(
    model: LanguageModel, located: Sequence[tuple[str, City]], walls: bool, count: int, rng: np.random.Generator
) -> Tensor:
    """Return the loss of saying where the passenger is, and what wall lies between, on `count` prompts."""
    prompts, told = list[str](), list[str]()
    for _ in range(count):
        state, city = located[int(rng.integers(len(located)))]
        there, here = _two_cells(city, rng)
        places = f"waits at Red (row {there[0]}, column {there[1]}). The taxi is at row {here[0]}, column {here[1]}."
        prompts.append(reflection_prompt(_WAITS.sub(places, state)))
        seen = look_ahead(city, here, there).seen if walls else ""
        told.append(f"{comparison(here, there)} {seen}".rstrip())
    return model.completion_loss(prompts, told)


def _two_cells(city: City, rng: np.random.Generator) -> tuple[Cell, Cell]:
    first, second, third, fourth = rng.integers([city.rows, city.columns, city.rows, city.columns]).tolist()
    return (first, second), (third, fourth)
