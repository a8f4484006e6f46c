"""Plays of a task as text, for golden files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from natlang_envs.env import NatLangEnv


def transcript(env: NatLangEnv, task_id: str, plays: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of several plays of a task: every character that a player sees."""
    lines: list[str] = []
    for commands in plays:
        observation, info = env.reset(seed=0, options={"task_id": task_id})
        lines += ["", f"task: {info['task']} ({info['task_id']})", observation]
        for command in commands:
            lines.append(f"commands: {' | '.join(info['admissible_commands'])}")
            observation, reward, terminated, truncated, info = env.step(command)
            end = "terminated" if terminated else "truncated" if truncated else "goes on"
            lines += [f"> {command}", observation, f"{reward} {end} {info['success']}"]
    return lines
