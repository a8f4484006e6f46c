"""The plan of a player who remembers: what to read next, and which file to name, within the steps that are left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from natlang_envs.repository.entries import Folder
from natlang_envs.repository.navigation import pages_of
from natlang_envs.repository.walk import PagePosition, Walk, WalkHistory, path_of
from reference_agent.memory.judging import Judgement
from reference_agent.memory.names import Known, Recalled

_ALIKE = 0.5  # of two listings together, what both have where they are of one repository


class PlanWeights(NamedTuple):
    """What the plan weighs."""

    files: int = 8  # files that are considered, the best remembered ones
    near: float = 0.5  # places in memory that a step of the way is worth
    further: float = 0.5  # places in memory that reading on by a part is worth
    deepest: int = 3  # the last part of a file that is read on to; 1 reads first parts alone
    trusted: int = 2  # of how many files, the best remembered ones, the believed part is read where it is not the first
    words: float = 1.0  # what the share of the question's words in a text is worth, when files are compared
    lift: float = 0.0  # what the lift of a text is worth
    belief: float = 0.1  # what a unit of belief is worth
    place: float = 0.0  # what a place in memory costs


class Atlas:
    """Where the files of a repository are listed, if they are as they were."""

    def __init__(self, files: Sequence[str]) -> None:
        self.place_of: dict[str, PagePosition] = {}
        self.folders: dict[tuple[str, ...], PagePosition] = {}
        self.listed: dict[PagePosition, frozenset[str]] = {}  # the names on each page
        inside: dict[tuple[str, ...], tuple[set[str], set[str]]] = {}
        for path in files:
            *folder, name = path.split("/")
            inside.setdefault(tuple(folder), (set(), set()))[1].add(name)
            for depth in range(len(folder)):
                inside.setdefault(tuple(folder[:depth]), (set(), set()))[0].add(folder[depth])
        for folder, (folders, names) in inside.items():
            for number, page in enumerate(pages_of(Folder("", tuple(sorted(folders)), tuple(sorted(names))))):
                self.listed[PagePosition(folder, number)] = frozenset((*page.folders, *page.files))
                self.place_of.update((path_of(folder, name), PagePosition(folder, number)) for name in page.files)
                self.folders.update(((*folder, name), PagePosition(folder, number)) for name in page.folders)


@lru_cache(maxsize=64)
def atlas_of(files: tuple[str, ...]) -> Atlas:
    return Atlas(files)


def recognise(
    known: Sequence[Known], listed: Mapping[PagePosition, Sequence[str]], belief: Callable[[int], float]
) -> int | None:
    """Return which repository lists nearly what was listed; None where none has half of the top folder's first page.

    Repositories may be alike at the top: then what was listed further down tells, or else `belief` in each.
    """

    def alike(number: int, place: PagePosition) -> float:
        names = {name for verb, _, name in (each.partition(" ") for each in listed[place]) if verb in ("cd", "cat")}
        shown, expected = names - {".."}, atlas_of(known[number].files).listed.get(place, frozenset())
        return len(shown & expected) / max(1, len(shown | expected))

    top = PagePosition()
    maybe = [number for number in range(len(known)) if top in listed and alike(number, top) >= _ALIKE]
    if len(maybe) > 1:
        likeness = {number: sum(alike(number, place) for place in listed) / len(listed) for number in maybe}
        maybe = [number for number in maybe if likeness[number] > max(likeness.values()) - 0.01]
    return max(maybe, key=belief) if len(maybe) > 1 else maybe[0] if maybe else None


class Candidate(NamedTuple):
    """A file that may be read or named; `rank` is its place in memory, from 0."""

    path: str
    rank: int
    part: int  # that speaks most of the question
    belief: float
    listed: PagePosition


class RecallSituation(NamedTuple):
    """A game in progress."""

    walk: Walk
    left: int  # steps
    candidates: Sequence[Candidate]
    judgements: Mapping[str, Sequence[Judgement]]  # what is said of the parts of a file that were shown

    def way(self, there: PagePosition, start: PagePosition | None = None) -> int:
        return self.walk.steps(start or self.walk.here, there)


class FileGoal(NamedTuple):
    """What to do with a file, there where it is listed: `cat` or `id`."""

    verb: str
    candidate: Candidate
    parts: int  # `cat`: parts to read from now on
    steps: int  # all of them, the last command included
    back: int  # from there to the file that looks best, and to name it

    @property
    def command(self) -> str:
        """Files of a folder are called by their names, those of a search's list by their paths."""
        folder = path_of(self.candidate.listed.folder, "")
        return f"{self.verb} {self.candidate.path.removeprefix(folder)}"


def standing(situation: RecallSituation, settings: PlanWeights) -> dict[str, float]:
    """Return what speaks for each file that was read, by its path: its best part, and what memory says."""
    return {
        each.path: max(
            settings.words * judgement.words + settings.lift * judgement.lift
            for judgement in situation.judgements[each.path]
        )
        + settings.belief * each.belief
        - settings.place * each.rank
        for each in situation.candidates
        if each.path in situation.judgements
    }


def best_place(situation: RecallSituation, settings: PlanWeights) -> PagePosition | None:
    """Return where the file that looks best is listed; None where none was read."""
    stands = standing(situation, settings)
    best = max(stands, key=stands.__getitem__, default=None)
    return next((each.listed for each in situation.candidates if each.path == best), None)


def goals(situation: RecallSituation, settings: PlanWeights) -> list[FileGoal]:
    """Return all that the steps allow: files to read whose way back is left, and files to name."""
    found, there = list[FileGoal](), best_place(situation, settings)
    for each in situation.candidates[: settings.files]:
        steps, back = situation.way(each.listed), situation.way(there, each.listed) + 1 if there is not None else 1
        seen = len(situation.judgements.get(each.path, ()))
        deep = each.part <= settings.deepest and each.rank < settings.trusted
        for part in (each.part, 1) if deep else (1,):
            if part > seen and steps + part - seen + back <= situation.left:
                found.append(FileGoal("cat", each, part - seen, steps + part - seen, back))
                break
    found += [
        FileGoal("id", each, 0, steps, 0)
        for each in situation.candidates
        if (steps := situation.way(each.listed) + 1) <= situation.left
    ]
    return found


def choose(situation: RecallSituation, settings: PlanWeights) -> FileGoal | None:
    """Return the next goal: read what is near and well remembered as long as steps allow, then name the best."""
    reads = [each for each in goals(situation, settings) if each.verb == "cat"]
    if reads:
        return min(
            reads,
            key=lambda goal: (
                goal.candidate.rank + settings.near * (goal.steps - goal.parts) + settings.further * (goal.parts - 1),
                goal.candidate.rank,
            ),
        )
    return name(situation, settings)


def name(situation: RecallSituation, settings: PlanWeights) -> FileGoal | None:
    """Return the file to name: the best that was judged, else the best remembered or most hoped of."""
    stands = standing(situation, settings)
    names = [each for each in goals(situation, settings) if each.verb == "id"]
    return max(
        names, key=lambda goal: (stands.get(goal.candidate.path, float("-inf")), -goal.candidate.rank), default=None
    )


def located(
    recalled: Sequence[Recalled], files: tuple[str, ...], seen: WalkHistory
) -> tuple[list[Candidate], list[str]]:
    """Return the remembered files that may still be there, and those that are not where they were; ways are noted."""
    atlas = atlas_of(files)
    entered = {place.folder for place in seen.listed}
    for folder, place in atlas.folders.items():
        if folder not in entered or not folder:
            seen.walk.note(place, folder[-1])
    listings = {place: frozenset(commands) for place, commands in seen.listed.items()}
    candidates: list[Candidate] = []
    gone: list[str] = []
    for each in recalled:
        place = atlas.place_of[each.path]
        steps = [
            (atlas.folders[place.folder[:depth]], f"cd {place.folder[depth - 1]}")
            for depth in range(1, len(place.folder) + 1)
        ]
        steps.append((place, f"cat {each.path.rpartition('/')[2]}"))
        if all(command in listings[where] for where, command in steps if where in listings):
            candidates.append(Candidate(each.path, len(candidates), each.part, each.belief, place))
        else:
            gone.append(each.path)
    return candidates, gone
