"""Walks through folders: where a player stands, how it gets elsewhere, and what it has seen on its way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from natlang_envs.prompt import PathStep
from natlang_envs.repository.texts import NEXT, PREVIOUS, UP


class Place(NamedTuple):
    """A page of a folder."""

    folder: tuple[str, ...] = ()
    page: int = 0


class Walk:
    """Where a player stands in a repository, and the ways that it has seen."""

    def __init__(self) -> None:
        self.here = Place()
        self._pages: dict[tuple[str, ...], int] = {}  # the page of the folder above that lists a folder

    def follow(self, command: str) -> None:
        """Take in a command that was given."""
        (folder, page), (verb, _, name) = self.here, command.partition(" ")
        if command == UP:
            self.here = Place(folder[:-1])
        elif command in (NEXT, PREVIOUS):
            self.here = Place(folder, page + (1 if command == NEXT else -1))
        elif verb == "cd":
            self.note(self.here, name)
            self.here = Place((*folder, name))

    def note(self, place: Place, name: str) -> None:
        """Note that a folder is listed in a place."""
        self._pages[(*place.folder, name)] = place.page

    def steps(self, start: Place, end: Place) -> int:
        """Return the commands from one place to another, by folders that were noted."""
        both = shared(start.folder, end.folder)
        steps = len(start.folder) - both
        page = 0 if steps else start.page
        for depth in range(both, len(end.folder)):
            steps += abs(self._pages[end.folder[: depth + 1]] - page) + 1
            page = 0
        return steps + abs(end.page - page)

    def towards(self, end: Place, last: str) -> str:
        """Return the next command on the way to a place, and `last` there."""
        (here, at), (folder, page) = self.here, end
        if shared(here, folder) < len(here):
            return UP
        if here != folder:
            below = folder[: len(here) + 1]
            page, last = self._pages[below], f"cd {below[-1]}"
        return last if page == at else NEXT if page > at else PREVIOUS


class Seen(NamedTuple):
    """What a player has seen on its way.

    Attributes:
        walk: Where it stands.
        listed: The commands of each place.
        texts: What `cat` showed last of each file, by its path.
    """

    walk: Walk
    listed: dict[Place, tuple[str, ...]]
    texts: dict[str, str]


class Memory:
    """The commands of places that were shown: a player is told the path, which does not say what was listed."""

    def __init__(self) -> None:
        self._listed: dict[tuple[str, ...], tuple[str, ...]] = {}  # by the question and the commands before

    def see(self, question: str, path: Sequence[PathStep], commands: tuple[str, ...]) -> Seen:
        """Return what was seen on a path, with what is listed now."""
        self._listed[(question, *(step.action for step in path))] = commands
        seen = Seen(Walk(), {}, {})
        before = (question,)
        for step in (None, *path):
            if step is not None:
                before = (*before, step.action)
                seen.walk.follow(step.action)
                if step.action.startswith("cat "):
                    seen.texts[path_of(seen.walk.here.folder, step.action[4:])] = step.feedback
            if before in self._listed:
                seen.listed[seen.walk.here] = self._listed[before]
        return seen


def path_of(folder: tuple[str, ...], name: str) -> str:
    """Return the path of a file in a folder."""
    return "/".join((*folder, name))


def shared(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many parts two ways have in common from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
