"""Questions as games over kept numbers: what memory brings to mind, and what is said of each part that may be read.

A game takes a millisecond: goals are played whole, as `RecallAgent` does, and no text is read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.dataset.labels import Label, Wording
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.files import json_line, write_whole
from natlang_envs.repository.navigation import navigation_of
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.walk import PagePosition, Walk, WalkHistory
from reference_agent.memory.judging import Judgement, Reading, Scale, shown_text
from reference_agent.memory.names import NameMemory
from reference_agent.memory.plan import Candidate, Desk, Goal, Settings, located

SETTINGS = Settings()


class Kept(NamedTuple):
    """A question, and all that a game about it may show.

    Attributes:
        label: The question's id.
        depth: Folders to enter for the nearest target.
        right: Whether each candidate answers.
        candidates: What memory brings to mind.
        walk: Where a game begins; it knows the ways to the candidates.
        told: What is said of the parts of each candidate, from the first.
    """

    label: str
    depth: int
    right: tuple[bool, ...]
    candidates: tuple[Candidate, ...]
    walk: Walk
    told: tuple[tuple[Judgement, ...], ...]


def kept_games(
    memory: NameMemory,
    labels: Sequence[Label],
    wording: Wording,
    folders: Mapping[str, Path],
    scale: Scale,
    files: int,
    report: Callable[[], None] = lambda: None,
) -> Iterator[Kept]:
    """Yield the games of questions by a memory that was not told them."""
    names = [each.name for each in memory.known]
    for label in labels:
        known = memory.known[names.index(label.repository)]
        question = label.asked(wording)
        walk = Walk()
        recalled = memory.recall(names.index(label.repository), question, files)
        candidates, _ = located(recalled, known.files, WalkHistory(walk, {}, {}))
        shows = navigation_of(open_repository(folders[label.repository]), FILE_BUDGET)
        readings = [
            [
                Reading(question, each.path, part, shown_text(shows.text(each.path, part - 1)))
                for part in range(1, _parts(each, shows.parts(each.path)) + 1)
            ]
            for each in candidates
        ]
        scale.prepare([reading for each in readings for reading in each])
        told = tuple(tuple(map(scale, each)) for each in readings)
        right = tuple(each.path in label.targets for each in candidates)
        yield Kept(label.id, label.depth, right, tuple(candidates), walk, told)
        report()


def write_games(path: Path, games: Sequence[Kept]) -> None:
    """Write games, without the walk."""
    rows = [[each.label, each.depth, each.right, each.candidates, each.told] for each in games]
    write_whole(path, json_line(rows))


def read_games(path: Path, memory: NameMemory) -> list[Kept]:
    """Return the games of a file, by the memory that they were made with."""
    names = [each.name for each in memory.known]
    walks = {each.name: Walk() for each in memory.known}
    for name, walk in walks.items():
        located([], memory.known[names.index(name)].files, WalkHistory(walk, {}, {}))
    return [
        Kept(
            label,
            depth,
            tuple(right),
            tuple(
                Candidate(path, rank, part, belief, PagePosition(tuple(folder), page))
                for path, rank, part, belief, (folder, page) in candidates
            ),
            walks[label.partition("/")[0]],
            tuple(tuple(Judgement(*each) for each in parts) for parts in told),
        )
        for label, depth, right, candidates, told in json.loads(path.read_bytes())
    ]


def _parts(candidate: Candidate, parts: int) -> int:
    """Return the parts of a file that a game may read: on to the believed one where the plan reads on."""
    deep = candidate.part <= SETTINGS.deepest and candidate.rank < SETTINGS.trusted
    return min(parts, candidate.part if deep else 1)


class Played(NamedTuple):
    """A game to its end: whether it was won, the steps, and whether a right file was read."""

    won: bool
    steps: int
    read: bool


def play(game: Kept, choose: Callable[[Desk], Goal | None]) -> Played:
    """Play a game, a goal at a time, as `RecallAgent` does."""
    walk, left = copy(game.walk), HORIZON
    shown: dict[str, Sequence[Judgement]] = {}
    at = {each.path: number for number, each in enumerate(game.candidates)}
    while True:
        goal = choose(Desk(walk, left, game.candidates, shown))
        read = any(game.right[at[path]] for path in shown)
        if goal is None:
            return Played(False, HORIZON - left + 1, read)
        left -= goal.steps
        number = at[goal.candidate.path]
        if goal.verb == "id":
            return Played(game.right[number], HORIZON - left, read)
        walk.here = goal.candidate.listed
        parts = len(shown.get(goal.candidate.path, ())) + goal.parts
        told = game.told[number]
        shown = {**shown, goal.candidate.path: told[:parts] if parts <= len(told) else [*told] * parts}
