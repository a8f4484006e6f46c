"""Where the answer may lie, given what a player was shown: listings, children of entered folders, texts that were read.

A folder's chance is shared among its entries by their ratings; reading a file multiplies its chance by what its text
tells, and all chances add up to 1 again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from natlang_envs.autoexplore.repository.texts import NEXT, UP
from natlang_envs.autoexplore.search import Place, Walk
from reference_agent.search.judge import Row

_UNSEEN = 9  # entries that an unseen page is reckoned to list


class Thing(NamedTuple):
    """Something that may be looked at.

    Attributes:
        kind: A file, a folder that was not entered, or a page that was not seen.
        path: Its path; a folder's ends with a slash; a page has its folder's.
        listed: Where it is listed.
        command: What shows it, there.
    """

    kind: str
    path: str
    listed: Place
    command: str


class Node:
    """A folder that was entered: its entries by page, and how many pages it has."""

    def __init__(self) -> None:
        self.pages: dict[int, tuple[tuple[str, ...], bool]] = {}  # entries, and whether a page follows

    @property
    def entries(self) -> list[tuple[str, int]]:
        """Entries with their pages."""
        return [(entry, page) for page, (entries, _) in sorted(self.pages.items()) for entry in entries]

    @property
    def unseen(self) -> int | None:
        """The page to turn to next, if there is one."""
        last = max(self.pages)
        return last + 1 if self.pages[last][1] else None


class Rates(Protocol):
    """Rates entries and texts for one question."""

    def entries(self, folder: str, entries: Sequence[str], children: dict[str, tuple[str, ...]]) -> Row:
        """Return a logit for each entry of a listing."""
        ...

    def text(self, path: str, text: str) -> float:
        """Return the logarithm of how much likelier the text makes the file to be the answer."""
        ...


class Search:
    """What a player knows in the middle of a game.

    Args:
        question: What is asked.
        steps: How many commands may be given.
    """

    def __init__(self, question: str, steps: int) -> None:
        self.question = question
        self.left = steps
        self.walk = Walk()
        self.nodes: dict[str, Node] = {}
        self.texts: dict[str, str] = {}
        self.read_order: list[str] = []

    def listed(self, commands: Sequence[str]) -> None:
        """Take in what is listed here."""
        here = self.walk.here
        folder = "/".join(here.folder)
        prefix = f"{folder}/" if folder else ""
        entries: list[str] = []
        for command in commands:
            verb, _, name = command.partition(" ")
            if verb == "cat":
                entries.append(prefix + name)
            elif verb == "cd" and command != UP:
                entries.append(f"{prefix}{name}/")
                self.walk.note(here, name)
        node = self.nodes.setdefault(folder, Node())
        node.pages[here.page] = (tuple(entries), NEXT in commands)

    def did(self, command: str, feedback: str) -> None:
        """Take in a command and what it showed."""
        self.left -= 1
        self.walk.follow(command)
        if command.startswith("cat "):
            path = "/".join((*self.walk.here.folder, command[4:]))
            if path not in self.texts:
                self.read_order.append(path)
            self.texts[path] = feedback

    def place_of(self, folder: str, page: int) -> Place:
        """Return a page of a folder as a place."""
        return Place(tuple(folder.split("/")) if folder else (), page)


class Belief(NamedTuple):
    """Chances: of each unread thing to be or hold the answer, of each read file to be it."""

    things: dict[Thing, float]
    read: dict[Thing, float]
    odds: dict[str, float]  # what reading told, by path


def _rest(entries: Sequence[str], weights: npt.NDArray[np.float64], files_hold: float) -> float:
    """Return what the pages behind the last one are worth: about half a page of what the listing goes on with.

    Folders are listed before files, so once a file was listed there are only files to come.
    """
    files = [weight for entry, weight in zip(entries, weights, strict=True) if not entry.endswith("/")]
    if files:
        return _UNSEEN * float(np.mean(files)) * files_hold
    return _UNSEEN * float(np.mean(weights)) if len(weights) else 0.0


def believe(search: Search, rates: Rates, holds: Callable[[str], float]) -> Belief:
    """Return the chances of all that is known.

    Args:
        search: What the player knows.
        rates: Ratings for its question.
        holds: The prior weight of an entry by its path: 0 where no answer can lie.
    """
    things: dict[Thing, float] = {}
    read: dict[Thing, float] = {}
    odds: dict[str, float] = {}

    def spread(folder: str, chance: float) -> None:
        node = search.nodes[folder]
        pairs = node.entries
        entries = [entry for entry, _ in pairs]
        weights = np.zeros(0)
        if entries:
            children = {
                entry: search.nodes[entry[:-1]].pages[min(search.nodes[entry[:-1]].pages)][0]
                for entry in entries
                if entry.endswith("/") and entry[:-1] in search.nodes
            }
            logits = rates.entries(folder, entries, children)
            weights = np.exp(logits - logits.max()) * np.array([holds(entry) for entry in entries])
        unseen = node.unseen
        seen = float(weights.sum())
        rest = 0.0
        if unseen is not None:
            rest = _rest([entry for entry, _ in pairs], weights, holds(f"{folder}/?".lstrip("/")))
        whole = seen + rest
        if whole <= 0:
            whole = 1.0
        for (entry, page), weight in zip(pairs, weights, strict=True):
            part = chance * float(weight) / whole
            place = search.place_of(folder, page)
            name = entry.rstrip("/").rpartition("/")[2]
            if entry.endswith("/"):
                if entry[:-1] in search.nodes:
                    spread(entry[:-1], part)
                else:
                    things[Thing("folder", entry, place, f"cd {name}")] = part
            elif entry in search.texts:
                odds[entry] = rates.text(entry, search.texts[entry])
                read[Thing("file", entry, place, f"cat {name}")] = part * float(np.exp(odds[entry]))
            else:
                things[Thing("file", entry, place, f"cat {name}")] = part
        if unseen is not None:
            page = search.place_of(folder, unseen - 1)
            things[Thing("page", f"{folder}/", page, NEXT)] = chance * rest / whole

    spread("" if "" in search.nodes else min(search.nodes), 1.0)
    whole = sum(things.values()) + sum(read.values()) or 1.0
    return Belief(
        {thing: chance / whole for thing, chance in things.items()},
        {thing: chance / whole for thing, chance in read.items()},
        odds,
    )
