"""Games played in memory by the environment's own rules, thousands a minute: for training and for choosing settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.episode import Episode
from natlang_envs.autoexplore.repository.texts import FILE_BUDGET
from natlang_envs.autoexplore.tasks import ExploreTask
from reference_agent.search.belief import Search
from reference_agent.search.listings import Question

HORIZON = 15


class Played(NamedTuple):
    """A finished game.

    Attributes:
        commands: What was done.
        success: Whether the file was found and named.
        reward: The sum of the rewards.
        read: The files that were read.
        entered: The folders whose listing was seen.
    """

    commands: tuple[str, ...]
    success: bool
    reward: float
    read: tuple[str, ...]
    entered: tuple[str, ...]


def task_of(question: Question) -> ExploreTask:
    """Return a question as a task of the environment."""
    return ExploreTask("own/game", Path(question.folder), question.text, question.targets)


def play(question: Question, choose: Callable[[Search, tuple[str, ...]], str], horizon: int = HORIZON) -> Played:
    """Play one game; `choose` returns one of the listed commands."""
    episode = Episode(task_of(question), FILE_BUDGET)
    search = Search(question.text, horizon)
    commands: list[str] = []
    earned, success = 0.0, False
    for step in range(horizon):
        listed = episode.place.commands
        search.listed(listed)
        command = choose(search, listed)
        outcome = episode.act(command, step + 1 >= horizon)
        commands.append(command)
        earned += outcome.reward
        if outcome.terminated:
            success = outcome.success
            break
        search.did(command, outcome.feedback)
    return Played(tuple(commands), success, earned, episode.files_read, tuple(search.nodes))
