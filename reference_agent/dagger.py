"""Corrections: the reflector plays alone, and the teacher reflects on every state that it comes to (DAgger).

Not in the paper, whose reflector learns from the teacher's way and single wrong steps beside it. What it does wrong by
itself leads elsewhere: it goes back to a place that it has searched, and again. Ross, Gordon and Bagnell (2011) let the
student act and the teacher say what it would have done. This does not know how the reflector learns from that: sft.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.prompt import PathStep, state_prompt
from reference_agent.card import Played, make_card
from reference_agent.collect import Collection, Example, draw_task, teachers_env
from reference_agent.config import Config
from reference_agent.lessons import Moment, Teacher, named_commands
from reference_agent.players import Reflector
from reference_agent.teacher import make_teacher

_WIDTH = 32  # games at a time: the reflector writes for all of them together


@dataclass
class _Game:
    """One game, its path so far, and whether its last step was a mistake."""

    env: NatLangEnv
    task_id: str
    observation: str
    info: dict[str, Any]
    path: list[PathStep] = field(default_factory=list[PathStep])
    mistake: str | None = None
    examples: list[Example] = field(default_factory=list[Example])
    ended: bool = False


def correct(config: Config, reflector: Reflector, report: Callable[[str, int, int, float], None]) -> Collection:
    """Let the reflector play `dagger.trajectories` tasks, and return what the teacher says in the states it meets.

    What it names last is done; where it names no listed command, the teacher's command is.

    Args:
        config: The settings.
        reflector: The reflector after its fine-tuning.
        report: Called with "corrections", the games so far, how many there will be, and the share of them won.

    Raises:
        UsageError: There are too few tasks, or no oracle teacher.
    """
    rng = np.random.default_rng([config.seed, 7])
    envs = [teachers_env(config) for _ in range(min(_WIDTH, config.dagger.trajectories))]
    teacher = make_teacher(envs[0], rng, config.collect)
    seen: dict[str, None] = {}
    games: list[_Game] = []
    while len(games) < config.dagger.trajectories:
        begun = [
            _begin(env, draw_task(env, rng, seen), config.seed)
            for env in envs[: config.dagger.trajectories - len(games)]
        ]
        running = begun
        while running:
            states = [
                state_prompt(each.info["task"], each.path, each.observation, history=config.history) for each in running
            ]
            for game, state, said in zip(running, states, reflector.reflect(states), strict=True):
                _step(game, state, said, teacher, config.history, len(games) + begun.index(game))
            running = [each for each in running if not each.ended]
        games += begun
        report(
            "corrections",
            len(games),
            config.dagger.trajectories,
            float(np.mean([each.info["success"] for each in games])),
        )
    card = make_card(config, [_played(each) for each in games], [], None)
    return Collection([example for each in games for example in each.examples], card)


def _begin(env: NatLangEnv, task_id: str, seed: int) -> _Game:
    observation, info = env.reset(seed=seed, options={"task_id": task_id})
    return _Game(env, task_id, observation, info)


def _step(game: _Game, state: str, said: str, teacher: Teacher, history: int, number: int) -> None:
    """Keep what the teacher says here, and do what the reflector said."""
    env, path, commands = game.env, tuple(game.path), game.info["admissible_commands"]
    shown = path[max(0, len(path) - history) :]
    lesson = teacher.teach(Moment(env, state, path, shown, game.observation, game.info, game.mistake))
    if lesson.reflection is not None:
        negative = game.mistake is not None
        game.examples.append(
            Example(number, game.task_id, negative, False, state, lesson.reflection, commands, lesson.action)
        )
    action = (named_commands(said, commands) or [lesson.action])[-1]
    astray = action != lesson.action
    before = len(env.reference()) if astray else 0
    game.observation, _, terminated, truncated, game.info = env.step(action)
    game.path.append(PathStep(action, game.info["feedback"]))
    game.ended = terminated or truncated
    worse = astray and not game.ended and (teacher.idles or len(env.reference()) > before)
    game.mistake = action if worse else None


def _played(game: _Game) -> Played:
    negative = sum(each.negative for each in game.examples)
    return Played(game.task_id, len(game.path), game.info["success"], len(game.examples) - negative, negative, 0, 0)
