"""What the tests of AutoExplore share: environments that are made, and begun."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import gymnasium

from natlang_envs import unwrap
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.env import NatLangEnv

IDS = tuple(f"NatLang/AutoExplore{name}-v0" for name in ("", "-Depth1", "-Depth2"))
TASK = "ferry-line/07"  # the target is boat/engine/oil.md


def make(env_id: str = IDS[0], **kwargs: Any) -> AutoExploreEnv:
    env = unwrap(gymnasium.make(env_id, **kwargs))
    assert isinstance(env, AutoExploreEnv)
    return env


def begun(task_id: str = TASK, **kwargs: Any) -> AutoExploreEnv:
    env = make(**kwargs)
    env.reset(seed=0, options={"task_id": task_id})
    return env


def own(folder: Path, target: str | list[str], **kwargs: Any) -> AutoExploreEnv:
    env = make(repository=str(folder), question="Where is it?", target=target, **kwargs)
    env.reset(seed=0)
    return env


def brute_force(env: NatLangEnv, most: int, but: tuple[str, ...] = ()) -> int:
    """Return the steps of the shortest way to success, `most` at most, by trying every command from every state.

    Commands that begin with one of `but` are not tried. 0 where there is no such way.
    """
    waiting = deque([(env.snapshot(), 0)])
    seen: set[str] = set()
    while waiting:
        state, steps = waiting.popleft()
        key = json.dumps([state.state, state.ended])
        if key in seen:
            continue
        seen.add(key)
        _, info = env.restore(state)
        for command in info["admissible_commands"]:
            if but and command.startswith(but):
                continue
            *_, info = env.step(command)
            if info["success"]:
                return steps + 1
            if not env.snapshot().ended and steps + 1 < most:
                waiting.append((env.snapshot(), steps + 1))
            env.restore(state)
    return 0


def section(observation: str, heading: str) -> list[str]:
    """Return the lines below a heading of an observation, up to the next heading."""
    lines = observation.partition(f"# {heading}\n")[2].split("\n")
    end = next((number for number, line in enumerate(lines) if line.startswith("# ")), len(lines))
    return lines[:end]
