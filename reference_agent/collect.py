"""Collects the reflection data set: Algorithm 1, lines 2 to 20.

Every step of a teacher's trajectory gives a positive example. Beside it, random wrong actions (the paper: one) are
tried from a snapshot and the teacher reflects on where each led: a negative example, whose path shows the wrong step.
Where the paper's lines 16 and 17 mix s_h, R_h with A(s'), this takes everything at s'. A wrong action that ends the
game, or after which the plan is no longer (in AutoExplore: is shorter), is skipped. Beside the data lies a card that
says where it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from natlang_envs.cli_support import make_env
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from natlang_envs.prompt import PathStep, state_prompt
from natlang_envs.trajectory import write_whole
from reference_agent.config import Config
from reference_agent.data_card import Card, Meter, Played, dump_card, make_card
from reference_agent.teachers.base import Moment, Teacher
from reference_agent.teachers.chat import ChatModel, ChatTeacher, load_prompts
from reference_agent.teachers.choose import make_teacher

EXAMPLES, CARD = "examples.jsonl", "card.json"
_TRIES = 10  # tasks that are played at most for each trajectory that is wanted
_REPEATS = 10_000  # draws of known tasks in a row after which a split has no other

Report = Callable[[str, int, int, float], None]  # stage, step, steps, value


@dataclass(frozen=True)
class Example:
    """(s, R, A(s), a) of the data set D, and where it comes from.

    Attributes:
        trajectory: Number of the trajectory.
        task_id: Its task.
        negative: Whether the last step in the path is a deliberate mistake.
        restart: Whether p(s) has no path although the state was reached by one.
        state: p(s).
        reflection: R.
        commands: A(s), in the environment's order.
        action: a.
    """

    trajectory: int
    task_id: str
    negative: bool
    restart: bool
    state: str
    reflection: str
    commands: tuple[str, ...]
    action: str


class Collection(NamedTuple):
    """A data set and its card."""

    examples: list[Example]
    card: Card


class Trajectory(NamedTuple):
    """What one task gave; the examples' numbers are given out later."""

    examples: list[Example]
    played: Played


def collect(config: Config) -> list[Example]:
    """Return the data set alone; see `gather`."""
    return gather(config).examples


def gather(config: Config, answers: Path | None = None, report: Report = lambda *_: None) -> Collection:
    """Let the teacher play `collect.trajectories` different tasks of `collect.env`, else of the first stage's.

    Args:
        config: The settings.
        answers: The folder where a chat model's answers are kept, so that a second call asks for none of them again.
        report: Called with "collect", the trajectories so far, how many are wanted, and the number of examples, or
            with a chat model what it cost so far.

    Raises:
        UsageError: The environment has no such teacher or too few tasks, no trajectory reached its goal, or the chat
            model cannot be reached.
    """
    oracle = config.collect.teacher == "oracle"
    played, meter = _with_oracle(config, report) if oracle else _with_chat(config, answers, report)
    kept, failed = [
        [each for each in played if (each.played.success or config.collect.failures) is wanted]
        for wanted in (True, False)
    ]
    if not kept:
        raise UsageError(
            f"none of {len(played)} trajectories reached its goal: set collect.failures=true to keep them, "
            "or give env_kwargs a longer horizon"
        )
    examples = [replace(example, trajectory=number) for number, one in enumerate(kept) for example in one.examples]
    if not examples and meter:
        left_out = ", ".join(f"{count} {reason}" for reason, count in meter.left_out.items())
        raise UsageError(f"kept nothing of what the chat model said: {left_out}; take another collect.model, or a hint")
    card = make_card(config, [each.played for each in kept], [each.played for each in failed], meter)
    return Collection(examples, card)


def _with_oracle(config: Config, report: Report) -> tuple[list[Trajectory], Meter | None]:
    """Let the oracle play until enough trajectories reached their goal."""
    rng = np.random.default_rng([config.seed, 1])
    env = teachers_env(config)
    teacher = make_teacher(env, rng, config.collect)
    wanted, kept, examples = config.collect.trajectories, 0, 0
    played: list[Trajectory] = []
    seen: dict[str, None] = {}
    while kept < wanted and len(played) < _TRIES * wanted:
        played.append(_play(config, env, teacher, _new_task(env, rng, seen), rng))
        kept += played[-1].played.success or config.collect.failures
        examples += len(played[-1].examples)
        report("collect", kept, wanted, float(examples))
    return played, None


def _with_chat(config: Config, answers: Path | None, report: Report) -> tuple[list[Trajectory], Meter]:
    """Let a chat model play, several tasks at a time; each costs, so none is played in place of one that failed."""
    env = teachers_env(config)
    prompts = load_prompts(env.family)
    model = ChatModel(config.collect, answers)
    wanted = config.collect.trajectories
    seen: dict[str, None] = {}
    rng = np.random.default_rng([config.seed, 1])
    tasks = [_new_task(env, rng, seen) for _ in range(wanted)]

    def play(number: int) -> Trajectory:
        own, draws = teachers_env(config), np.random.default_rng([config.seed, 1, number])
        teacher = ChatTeacher(model, prompts, make_teacher(own, draws, config.collect), config.collect.hint)
        return _play(config, own, teacher, tasks[number], draws)

    with ThreadPoolExecutor(config.collect.workers) as pool:
        waiting = [pool.submit(play, number) for number in range(wanted)]
        try:
            for done, each in enumerate(as_completed(waiting), 1):
                each.result()
                report("collect", done, wanted, model.meter().cost)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [each.result() for each in waiting], model.meter()


def teachers_env(config: Config) -> NatLangEnv:
    """Return the environment where the teacher of a run plays."""
    env_id, kwargs = config.demonstrations
    return make_env(env_id, **{"split": config.split, **kwargs})


def _new_task(env: NatLangEnv, rng: np.random.Generator, seen: dict[str, None]) -> str:
    """Draw a task that is not among the seen ones, and add it to them."""
    for _ in range(_REPEATS):
        task_id = env.tasks.draw(rng.random)
        if task_id not in seen:
            seen[task_id] = None
            return task_id
    raise UsageError(
        f"this split has {len(seen)} tasks and no more: lower collect.trajectories, or choose another split"
    )


def _play(config: Config, env: NatLangEnv, teacher: Teacher, task_id: str, rng: np.random.Generator) -> Trajectory:
    """Play one task with the teacher's actions, and go wrong beside each of them."""
    examples: list[Example] = []
    skipped = 0

    def lesson_here(path: Sequence[PathStep], observation: str, info: dict[str, Any], wrong: str | None) -> str:
        """Let the teacher reflect on the present state, keep what it says and return the action."""
        action = ""
        # Without its path, a state is one that a game begins in; trajectories alone hold a single such state each.
        for restart in (False, True) if path and config.collect.restarts and teacher.restarts else (False,):
            told = () if restart else tuple(path)
            mistake = None if restart else wrong
            state = state_prompt(info["task"], told, observation, history=config.history)
            shown = told[max(0, len(told) - config.history) :]
            for wording in range(config.collect.wordings):
                lesson = teacher.teach(Moment(env, state, told, shown, observation, info, mistake, wording))
                action = lesson.action
                if lesson.reflection is not None:
                    commands = info["admissible_commands"]
                    negative = mistake is not None
                    examples.append(Example(0, task_id, negative, restart, state, lesson.reflection, commands, action))
        return action

    observation, info = env.reset(seed=config.seed, options={"task_id": task_id})
    path: list[PathStep] = []
    mistake: str | None = None
    ended = False
    while not ended:
        action = lesson_here(path, observation, info, mistake)  # lines 7 to 9
        commands = info["admissible_commands"]
        here = env.snapshot()
        for wrong in _wrong_actions(commands, action, config.collect.negatives, rng):  # line 10
            there = _go_wrong(env, wrong, teacher.idles)  # line 11
            if there and there.mistake:
                passed = [*path, PathStep(wrong, there.info["feedback"])]
                lesson_here(passed, there.observation, there.info, wrong)  # lines 14 to 17
            else:
                skipped += 1
            env.restore(here)
        mistake = None
        wanders = config.collect.detours and rng.random() < config.collect.detours
        others = _wrong_actions(commands, action, 1, rng) if wanders else []
        astray = _go_wrong(env, others[0], teacher.idles) if others else None
        if astray:
            action, observation, info = others[0], astray.observation, astray.info
            mistake = action if astray.mistake else None
        else:
            if others:
                env.restore(here)
            observation, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
        path.append(PathStep(action, info["feedback"]))
    negative, restarts = sum(each.negative for each in examples), sum(each.restart for each in examples)
    positive = len(examples) - negative
    return Trajectory(examples, Played(task_id, len(path), info["success"], positive, negative, restarts, skipped))


def _wrong_actions(commands: Sequence[str], action: str, count: int, rng: np.random.Generator) -> list[str]:
    others = [command for command in commands if command != action]
    return [others[index] for index in rng.permutation(len(others))[:count].tolist()]


class _Astray(NamedTuple):
    """Where a random action led; a mistake if the plan is longer now, with `idles` in any case."""

    observation: str
    info: dict[str, Any]
    mistake: bool


def _go_wrong(env: NatLangEnv, action: str, idles: bool) -> _Astray | None:
    """Take a random action; return where it led if the game goes on and the plan is no shorter."""
    before = len(env.reference())
    observation, _, terminated, truncated, info = env.step(action)
    if terminated or truncated:
        return None
    now = len(env.reference())
    return None if now < before else _Astray(observation, info, idles or now > before)


def write_collection(folder: Path, collection: Collection) -> None:
    """Write the card, then the examples: a folder that holds examples is whole."""
    write_whole(folder / CARD, dump_card(collection.card).encode())
    write_examples(folder / EXAMPLES, collection.examples)


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """Write one JSON object a line."""
    write_whole(path, "".join(json.dumps(asdict(each)) + "\n" for each in examples).encode())


def read_examples(path: Path) -> list[Example]:
    """Read what `write_examples` wrote.

    Raises:
        UsageError: The file is missing or is no such file.
    """
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        return [Example(**{**row, "commands": tuple(row["commands"])}) for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path} holds no reflection data ({error}): delete it to collect again") from None
