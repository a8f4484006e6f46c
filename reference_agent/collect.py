"""Collects the reflection data set: Algorithm 1, lines 2 to 20.

Every step of a teacher's trajectory gives a positive example. Beside it, random wrong actions (the paper: one) are
tried from a snapshot and the teacher reflects on where each led: a negative example, whose path shows the wrong step.
Where the paper's lines 16 and 17 mix s_h, R_h with A(s'), this takes everything at s'. A wrong action that ends the
game, or after which the plan is no longer, is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from natlang_envs.env import NatLangEnv, unwrap
from natlang_envs.errors import UsageError
from natlang_envs.prompt import PathStep, state_prompt
from natlang_envs.trajectory import write_whole
from reference_agent.config import Config
from reference_agent.teacher import make_teacher


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


def collect(config: Config) -> list[Example]:
    """Let the teacher play `collect.trajectories` different tasks of `collect.env`, or of the first stage's."""
    env_id = config.collect.env or config.curriculum[0].env
    env = unwrap(gymnasium.make(env_id, split=config.split, **config.env_kwargs))
    rng = np.random.default_rng([config.seed, 1])
    teacher = make_teacher(env, rng)
    examples: list[Example] = []

    def lesson_here(
        trajectory: int, path: Sequence[PathStep], observation: str, info: dict[str, Any], wrong: str | None
    ) -> str:
        """Let the teacher reflect on the present state, keep what it says and return the action."""
        action = ""
        # Without its path, a state is one that a game begins in; trajectories alone hold a single such state each.
        for restart in (False, True) if path and config.collect.restarts else (False,):
            mistake = None if restart else wrong
            state = state_prompt(info["task"], () if restart else path, observation, history=config.history)
            for _ in range(config.collect.wordings):
                lesson = teacher.teach(env, mistake)
                action = lesson.action
                examples.append(
                    Example(
                        trajectory,
                        info["task_id"],
                        mistake is not None,
                        restart,
                        state,
                        lesson.reflection,
                        info["admissible_commands"],
                        action,
                    )
                )
        return action

    seen: set[str] = set()
    while len(seen) < config.collect.trajectories:
        task_id = env.tasks.draw(rng.random)
        if task_id in seen:
            continue
        number = len(seen)
        seen.add(task_id)
        observation, info = env.reset(seed=config.seed, options={"task_id": task_id})
        path: list[PathStep] = []
        ended = False
        while not ended:
            action = lesson_here(number, path, observation, info, None)  # lines 7 to 9
            here = env.snapshot()
            for wrong in _wrong_actions(info["admissible_commands"], action, config.collect.negatives, rng):  # line 10
                there = _go_wrong(env, wrong)  # line 11
                if there:
                    observed, told = there
                    lesson_here(number, [*path, PathStep(wrong, told["feedback"])], observed, told, wrong)  # 14 to 17
                env.restore(here)
            observation, _, terminated, truncated, info = env.step(action)
            path.append(PathStep(action, info["feedback"]))
            ended = terminated or truncated
    return examples


def _wrong_actions(commands: Sequence[str], action: str, count: int, rng: np.random.Generator) -> list[str]:
    others = [command for command in commands if command != action]
    return [others[index] for index in rng.permutation(len(others))[:count].tolist()]


def _go_wrong(env: NatLangEnv, action: str) -> tuple[str, dict[str, Any]] | None:
    """Take a random action; return what it showed if the game goes on and the plan got longer."""
    before = len(env.reference())
    observation, _, terminated, truncated, info = env.step(action)
    if terminated or truncated or len(env.reference()) <= before:
        return None
    return observation, info


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
