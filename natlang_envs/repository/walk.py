"""Walks through folders: a player's position, its route to another page, and what it has seen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import takewhile
from typing import NamedTuple

from natlang_envs.prompt import PathStep
from natlang_envs.repository.texts import NEXT, PREVIOUS, UP


class PagePosition(NamedTuple):
    folder: tuple[str, ...] = ()
    page: int = 0


class Walk:
    """A player's position in a repository, and the pages on which it has seen each folder listed."""

    def __init__(self) -> None:
        self.here = PagePosition()
        self._pages: dict[tuple[str, ...], int] = {}  # the page of the folder above that lists a folder

    def follow(self, command: str) -> None:
        (folder, page), (verb, _, name) = self.here, command.partition(" ")
        if command == UP:
            self.here = PagePosition(folder[:-1])
        elif command in (NEXT, PREVIOUS):
            self.here = PagePosition(folder, page + (1 if command == NEXT else -1))
        elif verb == "cd":
            self.note(self.here, name)
            self.here = PagePosition((*folder, name))

    def note(self, place: PagePosition, name: str) -> None:
        self._pages[(*place.folder, name)] = place.page

    def steps(self, start: PagePosition, end: PagePosition) -> int:
        """Return the commands from one place to another, by folders that were noted."""
        both = shared(start.folder, end.folder)
        steps = len(start.folder) - both
        page = 0 if steps else start.page
        for depth in range(both, len(end.folder)):
            steps += abs(self._pages[end.folder[: depth + 1]] - page) + 1
            page = 0
        return steps + abs(end.page - page)

    def towards(self, end: PagePosition, last: str) -> str:
        """Return the next command on the way to a place, and `last` there."""
        (here, at), (folder, page) = self.here, end
        if shared(here, folder) < len(here):
            return UP
        if here != folder:
            below = folder[: len(here) + 1]
            page, last = self._pages[below], f"cd {below[-1]}"
        return last if page == at else NEXT if page > at else PREVIOUS


class WalkHistory(NamedTuple):
    """The pages and files that a player has seen."""

    walk: Walk  # its position
    listed: dict[PagePosition, tuple[str, ...]]  # the commands of each page
    texts: dict[str, str]  # what `cat` showed last of each file, by its path


class WalkMemory:
    """The commands that each page listed: the path that a player is given does not hold them.

    A game is identified by an object of its own, such as its random generator: two may have the same question.
    """

    def __init__(self) -> None:
        self._games: dict[Hashable, dict[tuple[str, ...], tuple[str, ...]]] = {}  # by the commands before

    def see(self, game: Hashable, path: Sequence[PathStep], commands: tuple[str, ...]) -> WalkHistory:
        """Return what was seen on a path, with what is listed now."""
        listed = self._games.setdefault(game, {})
        if not path:  # it begins
            listed.clear()
        listed[tuple(step.action for step in path)] = commands
        seen = WalkHistory(Walk(), {}, {})
        before: tuple[str, ...] = ()
        for step in (None, *path):
            if step is not None:
                before = (*before, step.action)
                seen.walk.follow(step.action)
                if step.action.startswith("cat "):
                    seen.texts[path_of(seen.walk.here.folder, step.action[4:])] = step.feedback
            if before in listed:
                seen.listed[seen.walk.here] = listed[before]
        return seen


def path_of(folder: tuple[str, ...], name: str) -> str:
    return "/".join((*folder, name))


def shared(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many parts two ways have in common from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
