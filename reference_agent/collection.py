"""Data collection: Algorithm 1, lines 2 to 20.

Each step of the teacher's trajectory gives a positive example. From a snapshot of the same state, random wrong actions
(the paper: one) are tried, and the teacher reflects on where each of them led: a negative example, whose path shows the
wrong step. Where lines 16 and 17 of the paper combine s_h and R_h with A(s'), everything here is of s'. A wrong action
is skipped if it ends the game or does not make the plan longer. A card beside the data says where it comes from.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, check_count
from natlang_envs.files import write_whole
from natlang_envs.prompt import History, PathStep, state_prompt
from reference_agent.curriculum import Environment, Stage, for_learning, validation_beside
from reference_agent.data_set import (
    CARD,
    EXAMPLES,
    VALIDATION,
    Card,
    Example,
    Meter,
    Summary,
    read_examples,
    write_examples,
)
from reference_agent.models.tokenizer import PromptReader
from reference_agent.players import Speaker, fitting_state
from reference_agent.run.bounds import check_kind, refuse_given
from reference_agent.run.config import CollectConfig, Config, TeacherConfig
from reference_agent.run.fingerprint import claim_data, environment
from reference_agent.state import Shown, StateFunction, compose, shown_by
from reference_agent.teachers.base import Moment, Teacher, ask, plan
from reference_agent.teachers.chat import ChatModel, ChatTeacher, chat_options, load_prompts
from reference_agent.teachers.check import check_knowable, check_regrets
from reference_agent.teachers.choose import CHAT, make_teacher

_log = logging.getLogger(__name__)
_SPOKEN = 48  # tokens reserved for a reflection, as many as `Reflector` writes by default
_VALIDATED = 5  # trajectories of validation tasks
_TRIES = 10  # tasks played, at most, for each trajectory that is wanted
_REPEATS = 10_000  # draws of known tasks in a row after which a split is taken to have no other

Report = Callable[[str, int, int, float], None]  # stage, step, steps, value


class Collection(NamedTuple):
    """A data set, its card, and examples of validation tasks, which both fine-tunings are validated on."""

    examples: list[Example]
    card: Card
    validation: list[Example]


class Demonstration(NamedTuple):
    """Examples of one task, not yet numbered."""

    examples: list[Example]
    summary: Summary


class CollectionSetup(NamedTuple):
    """What a teacher plays: environment, teacher, settings, seed of all that is random, and how p(s) is composed."""

    make_env: Callable[[], NatLangEnv]
    make_teacher: Callable[[NatLangEnv, np.random.Generator], Teacher]
    settings: CollectConfig
    seed: int
    fit: StateFunction


def cut_to_context(reader: PromptReader | None, spoken: int, shown: Shown) -> StateFunction:
    """Return a function that cuts p(s) to a model's context, if there is one, less the tokens of a reflection."""
    if reader is None:
        return partial(compose, shown)
    speaker = Speaker(reader, spoken) if spoken else None
    return lambda task, path, seen, commands: fitting_state(reader, speaker, task, path, seen, commands, shown)


def collect(
    env: Environment | Stage,
    teacher: Teacher | str = "oracle",
    settings: CollectConfig = CollectConfig(),  # noqa: B008 - immutable
    *,
    history: History = 1,
    seed: int = 0,
    reader: PromptReader | None = None,
    folder: Path | str | None = None,
    report: Report = lambda *_: None,
    allow_test: bool = False,
    state: StateFunction | None = None,
) -> list[Example]:
    """Let a teacher play, and return the data set D (lines 2 to 20).

    Args:
        env: An environment's id, a function that makes a `NatLangEnv`, or a stage with arguments. An id's tasks are
            of the split `"train"`, unless a stage's `env_kwargs` name another.
        teacher: A function from a `Moment` to a reflection and an action, or the name of a registered teacher.
        settings: How much it plays, and which of the examples are `shown` to the policy.
        history: How much of the path p(s) shows; see `natlang_envs.prompt.state_prompt`.
        seed: Seed of tasks, wrong actions and wordings.
        reader: A model, if its context may be too short for some p(s): they are cut as in play.
        folder: Folder for the examples; if it holds some of these very arguments, those are returned.
        report: Called with `"collect"`, the trajectories so far, how many are wanted, and the number of examples.
        allow_test: Whether the split may hold test tasks.
        state: A function of task, path, observation and commands that returns p(s), in place of `history`.

    Raises:
        UsageError: The environment has no such teacher or too few tasks, its split holds test tasks, the teacher
            failed, no trajectory reached its goal, a student could not know what is taught (`unclear`), a setting has
            no effect, or the folder is of other arguments.
    """
    check_kind(settings, CollectConfig)
    check_regrets(history, settings)
    refuse_given(settings, ("env",), "here: the environment is the first argument", "collect.")
    if not (settings.negatives or settings.detours):
        refuse_given(settings, ("policy_negatives",), "without negatives or detours", "collect.")
    if not settings.policy_trajectories:
        refuse_given(settings, ("policy_negatives",), "where the policy learns from no trajectory", "collect.")
    if not (isinstance(teacher, str) or callable(teacher)):
        raise UsageError(f"{teacher!r:.100} is no teacher: give a function of a Moment, or a registered name")
    if teacher == CHAT:
        raise UsageError(f"a chat model is asked by a run: set teacher.name = {CHAT!r} in its config, or give one")
    if reader is not None and not hasattr(reader, "list_actions"):
        raise UsageError(f"reader is {reader!r:.100}: give a model, such as load_model() returns")
    shown = shown_by(history, state)
    seed, folder = check_count("seed", seed, 0), None if folder is None else Path(folder)
    stage = for_learning(env if isinstance(env, Stage) else Stage(env), allow_test)
    if stage.longest_plan:
        raise UsageError("longest_plan is for RL, and tasks are drawn here from all: leave it out")
    if folder is not None:
        asked = {"settings": settings, "history": shown, "seed": seed, "reader": reader, "allow_test": allow_test}
        claim_data(folder, env=environment(stage.env), env_kwargs=stage.env_kwargs, teacher=teacher, **asked)
        if (folder / EXAMPLES).exists():
            return read_examples(folder / EXAMPLES)

    def make(env: NatLangEnv, rng: np.random.Generator) -> Teacher:
        return make_teacher(env, rng, TeacherConfig(teacher)) if isinstance(teacher, str) else teacher

    source = CollectionSetup(stage.make, make, settings, seed, cut_to_context(reader, _SPOKEN, shown))
    examples = with_shown(_numbered(_play_until_enough(source, report), settings)[0], settings)
    check_knowable(examples, settings.unclear)
    if folder is not None:
        write_examples(folder / EXAMPLES, examples)
    return examples


def gather(
    config: Config,
    answers: Path | None = None,
    report: Report = lambda *_: None,
    fit: StateFunction | None = None,
    validate: bool = False,
) -> Collection:
    """Collect the data set of a run, with its card; errors as `collect`, or the chat model cannot be reached.

    What the policy is shown is left to its warm start: runs that differ in that may share the data.

    `answers` is the folder of a chat model's cached answers, whose cost is reported as the value; `fit` composes p(s),
    by default uncut; `validate` collects examples of validation tasks too.
    """
    check_regrets(config.history, config.collect)
    stage = for_learning(config.demonstrations, config.allow_test)
    fit = fit or cut_to_context(None, 0, config.shown)
    make = partial(make_teacher, config=config.teacher)
    source, meter = CollectionSetup(stage.make, make, config.collect, config.seed, fit), None
    if config.teacher.name == CHAT:
        played, meter = _play_with_chat(source, config.teacher, answers, report)
    else:
        played = _play_until_enough(source, report)
    examples, kept, failed = _numbered(played, config.collect)
    known = check_knowable(examples, config.collect.unclear)
    unseen = _of_validation(source, stage, meter is not None) if validate else "not asked for"
    if not examples and meter:
        left_out = ", ".join(f"{count} {reason}" for reason, count in meter.left_out.items())
        raise UsageError(f"kept nothing of what the chat model said: {left_out}; take another teacher.model, or a hint")
    card = Card(
        f"{CHAT} {config.teacher.options['model']}" if meter else config.teacher.name,
        str(stage.env),
        stage.env_kwargs,
        config.seed,
        config.history,
        {**asdict(config.collect), "teacher": config.teacher.options},
        [each._asdict() for each in kept],
        [each._asdict() for each in failed],
        meter._asdict() if meter else None,
        f"none: {unseen}" if isinstance(unseen, str) else f"{len(unseen)}, of {_VALIDATED} trajectories",
        str(known),
    )
    return Collection(examples, card, [] if isinstance(unseen, str) else unseen)


def _of_validation(source: CollectionSetup, stage: Stage, chat: bool) -> list[Example] | str:
    """Return demonstrations of validation tasks, or in words why there are none: a run trains without them too."""
    beside = "a chat model's cost money" if chat else validation_beside(stage)
    if isinstance(beside, str):
        return beside
    few = replace(source.settings, trajectories=_VALIDATED, policy_trajectories=_VALIDATED)
    try:
        played = _play_until_enough(source._replace(make_env=beside.make, settings=few), lambda *_: None)
        return with_shown(_numbered(played, few)[0], few)
    except UsageError as error:
        return str(error)


def _numbered(
    played: Sequence[Demonstration], settings: CollectConfig
) -> tuple[list[Example], list[Summary], list[Summary]]:
    """Return the numbered examples of the trajectories that are kept, those trajectories, and the others."""
    kept = [each for each in played if each.summary.success or settings.failures]
    failed = [each.summary for each in played if not (each.summary.success or settings.failures)]
    if not kept:
        raise UsageError(
            f"none of {len(played)} trajectories reached its goal: set collect.failures=true to keep them, "
            "or give env_kwargs a longer horizon"
        )
    examples = [replace(example, trajectory=number) for number, one in enumerate(kept) for example in one.examples]
    return examples, [each.summary for each in kept], failed


def with_shown(examples: Sequence[Example], settings: CollectConfig) -> list[Example]:
    first, negatives = settings.policy_trajectories, settings.policy_negatives
    return [
        replace(each, shown=each.trajectory < first and not each.restart and (negatives or not each.negative))
        for each in examples
    ]


def _play_until_enough(source: CollectionSetup, report: Report) -> list[Demonstration]:
    rng = np.random.default_rng([source.seed, 1])
    env = source.make_env()
    teacher = source.make_teacher(env, rng)
    if source.settings.restarts and not getattr(teacher, "restarts", False):
        raise UsageError("collect.restarts has no effect on a teacher without `restarts = True`: leave it out")
    wanted, kept, examples = source.settings.trajectories, 0, 0
    played: list[Demonstration] = []
    seen: set[str] = set()
    while kept < wanted and len(played) < _TRIES * wanted:
        try:
            task_id = _new_task(env, rng, seen)
        except UsageError:
            if kept == len(played):
                raise
            break  # it is the teacher that misses its goals
        played.append(_play(source, env, teacher, task_id, rng))
        kept += played[-1].summary.success or source.settings.failures
        examples += len(played[-1].examples)
        report("collect", kept, wanted, float(examples))
    if 0 < kept < wanted:
        _log.warning(
            "%d of %d trajectories reached their goal, and %d were wanted: mend the teacher, or keep the others with "
            "collect.failures",
            *(kept, len(played), wanted),
        )
    return played


def _play_with_chat(
    source: CollectionSetup, config: TeacherConfig, answers: Path | None, report: Report
) -> tuple[list[Demonstration], Meter]:
    """Let a chat model play several tasks at a time. Each costs money, so failed ones are not replaced."""
    env, options, wanted = source.make_env(), chat_options(config), source.settings.trajectories
    prompts, model = load_prompts(env, options.prompts), ChatModel(options, answers)
    seen, rng = set[str](), np.random.default_rng([source.seed, 1])
    tasks = [_new_task(env, rng, seen) for _ in range(wanted)]

    def play(number: int) -> Demonstration:
        own, draws = source.make_env(), np.random.default_rng([source.seed, 1, number])
        teacher = ChatTeacher(model, prompts, source.make_teacher(own, draws), options.hint)
        return _play(source, own, teacher, tasks[number], draws)

    with ThreadPoolExecutor(options.workers) as pool:
        waiting = [pool.submit(play, number) for number in range(wanted)]
        try:
            for done, each in enumerate(as_completed(waiting), 1):
                each.result()
                report("collect", done, wanted, model.meter().cost)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [each.result() for each in waiting], model.meter()


def _new_task(env: NatLangEnv, rng: np.random.Generator, seen: set[str]) -> str:
    for _ in range(_REPEATS):
        task_id = env.tasks.draw(rng.random)
        if task_id not in seen:
            seen.add(task_id)
            return task_id
    raise UsageError(f"this split has only {len(seen)} tasks: lower collect.trajectories, or choose another split")


def _play(
    source: CollectionSetup, env: NatLangEnv, teacher: Teacher, task_id: str, rng: np.random.Generator
) -> Demonstration:
    """Play one task with the teacher's actions, trying wrong ones beside each (lines 4 to 18)."""
    settings = source.settings
    restarts, idles = getattr(teacher, "restarts", False), getattr(teacher, "idles", False)
    limit = 0.0 if isinstance(teacher, ChatTeacher) else settings.timeout  # its requests have limits of their own
    examples, skipped = list[Example](), 0

    def lesson_here(path: Sequence[PathStep], observation: str, info: dict[str, Any], wrong: str | None) -> str:
        """Let the teacher reflect on the present state, keep what it says and return the action."""
        action = ""
        # Without its path, a state is one that a game begins in; trajectories alone hold a single such state each.
        for restart in (False, True) if path and settings.restarts and restarts else (False,):
            told, mistake = ((), None) if restart else (tuple(path), wrong)
            task, commands = info["task"], info["admissible_commands"]
            state, steps = source.fit(task, told, observation, commands), range(len(told), 0, -1)
            count = next((n for n in steps if state_prompt(task, told, observation, history=n) == state), 0)
            shown = told[len(told) - count :]
            for wording in range(settings.wordings):
                lesson = ask(teacher, Moment(env, state, told, shown, observation, info, mistake, wording), limit)
                action = lesson.action
                if lesson.reflection is not None:
                    negative = mistake is not None
                    examples.append(Example(0, task_id, negative, restart, state, lesson.reflection, commands, action))
        return action

    observation, info = env.reset(seed=source.seed, options={"task_id": task_id})  # line 4
    path, ended = list[PathStep](), False
    mistake: str | None = None
    while not ended:  # line 5
        action = lesson_here(path, observation, info, mistake)  # lines 6 to 9
        commands = info["admissible_commands"]
        here = env.snapshot()
        for wrong in _wrong_actions(commands, action, settings.negatives, rng):  # line 10
            there = _go_wrong(env, wrong, idles)  # line 11
            if there and there.mistake:
                passed = [*path, PathStep(wrong, there.info["feedback"])]
                lesson_here(passed, there.observation, there.info, wrong)  # lines 14 to 17
            else:
                skipped += 1
            env.restore(here)
        mistake = None
        strays = settings.detours and rng.random() < settings.detours
        others = _wrong_actions(commands, action, 1, rng) if strays else []
        astray = _go_wrong(env, others[0], idles) if others else None
        if astray:
            action, (observation, info, strayed) = others[0], astray
            mistake = action if strayed else None
        else:
            if others:
                env.restore(here)
            observation, _, terminated, truncated, info = env.step(action)  # lines 11 and 12
            ended = terminated or truncated
        path.append(PathStep(action, info["feedback"]))
    negative, restarted = sum(each.negative for each in examples), sum(each.restart for each in examples)
    counts = (len(examples) - negative, negative, restarted, skipped)
    return Demonstration(examples, Summary(task_id, len(path), info["success"], *counts))


def _wrong_actions(commands: Sequence[str], action: str, count: int, rng: np.random.Generator) -> list[str]:
    others = [command for command in commands if command != action]
    return [others[index] for index in rng.permutation(len(others))[:count].tolist()]


class _Astray(NamedTuple):
    observation: str
    info: dict[str, Any]
    mistake: bool  # whether the plan got longer; with `idles`, in any case


def _go_wrong(env: NatLangEnv, action: str, idles: bool) -> _Astray | None:
    """Take a random action; return where it led if the game goes on and the plan is no shorter.

    In an environment without a plan every action but the teacher's counts as a mistake.
    """
    before = plan(env)
    observation, _, terminated, truncated, info = env.step(action)
    if terminated or truncated:
        return None
    now = plan(env)
    if before is None or now is None:
        return _Astray(observation, info, True)
    return None if len(now) < len(before) else _Astray(observation, info, idles or len(now) > len(before))


def write_collection(folder: Path, collection: Collection) -> None:
    """Write the card, then the examples: a folder that holds examples is whole."""
    write_whole(folder / CARD, (json.dumps(asdict(collection.card), indent=2) + "\n").encode())
    write_examples(folder / VALIDATION, collection.validation)
    write_examples(folder / EXAMPLES, collection.examples)
