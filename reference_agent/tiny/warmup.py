"""Warm-up lessons: skills that a pretrained model has, and on which a new one would spend its few demonstrations.

Repeating: write the command that is named. Labels: find the label of the command that is named, in short lists first. A
family may add lessons before and after these (`Added`). Prompts look like the real ones; commands in them are random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from natlang_envs.errors import UsageError
from natlang_envs.prompt import enumerate_actions, policy_prompt
from reference_agent.checkpoint import Checkpoints, WarmupProgress, random_state
from reference_agent.collection import Report
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel, NotFinite, check_finite
from reference_agent.models.tokenizer import text_prompt
from reference_agent.run.config import WarmupConfig

State = tuple[str, tuple[str, ...]]  # p(s) and A(s)
Speak = Callable[[str, int, int, np.random.Generator], str]  # command, state's number, level: a reflection with it
Levels = Mapping[str, int]  # that each lesson has reached
Labels = Callable[[Levels, int], Tensor]  # the loss of finding labels, on so many prompts

SAMPLED = 1_000  # largest number of trajectories of sample prompts
_LEVEL_UP = 0.9  # mean accuracy at which the prompts become harder
_WINDOW = 12  # steps over which accuracy and loss are averaged
_BETTER = 0.02  # by which a mean accuracy is better than the best one before
_REPEATED = 0.1  # mean loss at which whole prompts take the place of short ones


class WarmupLesson(NamedTuple):
    name: str
    steps: int
    loss: Callable[[Levels], tuple[Tensor, float]]  # of a step, and the value whose mean over the last is reported
    rate: Callable[[int], float]  # the share of the learning rate in a step
    mastered: Callable[[float], bool] | None = None  # whether that mean ends a level
    levels: int | None = None  # after which the lesson is over
    patience: int = 0  # steps without a better mean or a new level after which it is over as well; 0 for any


class Added(NamedTuple):
    """What a family adds to the warm-up."""

    speak: Speak  # makes up reflections
    repeats: bool = True
    rounds: int | None = None  # of repeating that are enough: on short prompts, and on whole ones; None for all steps
    listed: int = 6  # commands in a list at level 0; twice as many at each further level
    first: tuple[WarmupLesson, ...] = ()
    last: tuple[WarmupLesson, ...] = ()
    beside: Callable[[], Tensor | float] = lambda: 0.0  # a loss that is added to that of repeating
    patience: int = 0  # steps in which finding labels may get no better; 0 for any


# Takes the model, the samples, the settings, the generator of all draws, and the loss of finding labels.
Add = Callable[[LanguageModel, Sequence[Example], WarmupConfig, np.random.Generator, Labels], Added]


def warm_up(
    model: LanguageModel,
    samples: Sequence[Example],
    config: WarmupConfig,
    report: Report,
    add: Add | None = None,
    folder: Path | None = None,
) -> Levels:
    """Train `model` in place on prompts like those of `samples`: repeating, labels until they are read well.

    `add` makes a family's further lessons. `report` is called with a name, the step, the number of steps, and the mean
    accuracy or loss of the last ones. The newest checkpoint in `folder` is resumed. Returns the levels that each
    lesson reached.
    """
    rng = np.random.default_rng(config.seed)
    optimizer = model.optimizer(config.learning_rate, betas=(0.9, 0.99))
    at = WarmupProgress(0, 0, [], {}, [])
    checkpoints = Checkpoints(folder, model)
    if last := checkpoints.resume(WarmupProgress):
        at, (rng.bit_generator.state,) = last, last.random
        checkpoints.load_optimizer(optimizer)
    lessons = _lessons(model, samples, config, rng, add)
    try:
        for lesson in lessons[at.part :]:
            best, waited = 0.0, 0
            while at.step < lesson.steps:
                loss, value = lesson.loss(at.levels)
                for group in optimizer.param_groups:
                    group["lr"] = config.learning_rate * lesson.rate(at.step)
                model.descend(optimizer, loss, 1.0)
                at.step += 1
                at.recent = [*at.recent[-_WINDOW + 1 :], value]
                mean = float(np.mean(at.recent))
                best, waited = (mean, 0) if mean > best + _BETTER else (best, waited + 1)
                if lesson.mastered and len(at.recent) == _WINDOW and lesson.mastered(mean):
                    at.levels[lesson.name] = level = at.levels.get(lesson.name, 0) + 1
                    at.recent, best, waited = [], 0.0, 0
                    at.step = lesson.steps if level == lesson.levels else at.step
                elif waited == lesson.patience > 0:
                    at.step = lesson.steps
                report(lesson.name, at.step, lesson.steps, mean)
                checkpoints.save(replace(at, random=[random_state(rng)]), optimizer, always=False)
            at = WarmupProgress(at.part + 1, 0, [], at.levels, [])
        check_finite(optimizer)
        return at.levels
    except NotFinite as error:
        raise UsageError(f"{error} in the warm-up: lower warmup.learning_rate and train with another --out") from None


def _lessons(
    model: LanguageModel, samples: Sequence[Example], config: WarmupConfig, rng: np.random.Generator, add: Add | None
) -> list[WarmupLesson]:
    states = [(each.state, each.commands) for each in samples]

    def find(levels: Levels, count: int) -> tuple[Tensor, float]:
        return _label_loss(model, states, added, levels.get("labels", 0), count, rng)

    def repeating(levels: Levels) -> tuple[Tensor, float]:
        loss, value = noted(_repeat_loss(model, states, added.speak, "repeating" in levels, config.batch, rng))
        return loss + added.beside(), value

    added = Added(replaced(samples))
    if add:
        added = add(model, samples, config, rng, lambda levels, count: find(levels, count)[0])
    labels, repeats = partial(find, count=config.batch), config.copy_steps if added.repeats else 0
    return [
        *added.first,
        WarmupLesson("repeating", repeats, repeating, soon, lambda loss: loss < _REPEATED, added.rounds),
        WarmupLesson(
            "labels",
            config.steps,
            labels,
            soon,
            lambda accuracy: accuracy > _LEVEL_UP,
            config.levels,
            added.patience,
        ),
        *added.last,
    ]


def soon(step: int) -> float:
    """Return the share of the learning rate in a step: nearly all of it from the beginning."""
    return min(1.0, (step + 1) / 50)


def noted(loss: Tensor) -> tuple[Tensor, float]:
    return loss, float(loss.detach())


def replaced(samples: Sequence[Example]) -> Speak:
    """Return what takes the sentences on a state with another command in place of theirs, if they name theirs."""

    def speak(command: str, number: int, *_: object) -> str:
        said, theirs = samples[number].reflection, samples[number].action
        return said.replace(theirs, command) if theirs in said else f"{command}."

    return speak


def _repeat_loss(
    model: LanguageModel, states: Sequence[State], speak: Speak, whole: bool, count: int, rng: np.random.Generator
) -> Tensor:
    """Return the loss of writing the command that is named: behind the end of p(s), or behind whole reflections."""
    prompts, named = list[str](), list[str]()
    for _ in range(max(1, count // 2) if whole else count):
        number = int(rng.integers(len(states)))
        state, commands = states[number]
        command = commands[int(rng.integers(len(commands)))]
        reflection = speak(command, number, 0, rng) if whole and rng.random() < 0.7 else f"{command}."
        prompts.append(text_prompt(state if whole else _last_sentence(state), reflection))
        named.append(command)
    return model.completion_loss(prompts, named)


def _label_loss(
    model: LanguageModel, states: Sequence[State], added: Added, level: int, count: int, rng: np.random.Generator
) -> tuple[Tensor, float]:
    """Return the loss and the accuracy of finding a command's label, on `count` prompts.

    At level 0 only the end of p(s) and a bare command are shown, or nothing is learned for long; then all of p(s), and
    more and more often a whole reflection with a random command.
    """
    prompts, labels, targets = list[str](), list[list[str]](), list[int]()
    for _ in range(count):
        number = int(rng.integers(len(states)))
        state, commands = states[number]
        if len(commands) > added.listed << level:  # among dozens of labels a model that reads none stays at chance
            commands = tuple(commands[each] for each in sorted(rng.permutation(len(commands))[: added.listed << level]))
        target = int(rng.integers(len(commands)))
        said = f"{commands[target]}."
        if rng.random() < min(0.8, 0.2 * level):
            said = added.speak(commands[target], number, level, rng)
        choices = enumerate_actions(commands, model.labels_for(len(commands)), rng)
        shown = state if level else _last_sentence(state)
        prompts.append(policy_prompt(shown, said, choices))
        labels.append([choice.label for choice in choices])
        targets.append(target)
    wanted = torch.tensor(targets)
    logits = model.choice_logits(prompts, labels)
    accuracy = float((logits.argmax(dim=1) == wanted).float().mean())
    return torch.nn.functional.cross_entropy(logits, wanted), accuracy


def _last_sentence(state: str) -> str:
    return state[state.rindex(".", 0, -1) + 1 :] if "." in state[:-1] else state
