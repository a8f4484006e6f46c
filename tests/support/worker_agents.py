"""Agents for the tests of workers, which find them by name."""

from __future__ import annotations

import os
import time
from pathlib import Path
from zlib import crc32

from natlang_envs.evaluation import AgentInput


def first(given: AgentInput) -> str:
    """Return the first command."""
    return given.admissible_commands[0]


def drawing(given: AgentInput) -> str:
    """Return a random command."""
    return given.admissible_commands[int(given.rng.integers(len(given.admissible_commands)))]


drawing.sampling = True  # type: ignore[attr-defined]


def slow(given: AgentInput) -> str:
    """Return a random command after a while."""
    time.sleep(0.02)
    return drawing(given)


def dying(given: AgentInput) -> str:
    """End its own process, once for each file of the folder DYING."""
    for mark in Path(os.environ["DYING"]).glob("*"):
        mark.unlink(missing_ok=True)
        os._exit(1)
    return drawing(given)


def failing(given: AgentInput) -> str:
    """Raise at some observations, while a file is there."""
    if Path(os.environ["FAILING"]).exists() and crc32(given.observation.encode()) % 3 == 0 and given.path:
        raise ValueError("the model is out of order")
    return drawing(given)


dying.sampling = failing.sampling = True  # type: ignore[attr-defined]


class Batch:
    """Decide for several episodes at a time."""

    def act(self, views: list[AgentInput]) -> list[str]:
        """Return the last command of each."""
        return [view.admissible_commands[-1] for view in views]
