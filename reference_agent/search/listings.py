"""Questions with the listings on the ways to their targets: a folder's entries, and which of them lead on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from natlang_envs.autoexplore.repository.tree import Repository, open_repository
from reference_agent.search.encoder import spoken


class Question(NamedTuple):
    """A question about a repository.

    Attributes:
        repository: The repository's name.
        folder: Where its files lie.
        text: The question.
        targets: The files that answer it.
        weak: Whether a rule made it of a sentence of the target.
    """

    repository: str
    folder: Path
    text: str
    targets: tuple[str, ...]
    weak: bool = False


class Listing(NamedTuple):
    """A folder's entries and the questions whose way leads through it.

    Attributes:
        repository: The repository's name.
        folder: The folder's path.
        entries: Paths of what it lists; those of folders end with a slash.
        questions: The questions.
        answers: For each question, the positions of the entries on the way to one of its targets.
    """

    repository: str
    folder: str
    entries: tuple[str, ...]
    questions: tuple[str, ...]
    answers: tuple[tuple[int, ...], ...]


def entries_of(repository: Repository, folder: str) -> tuple[str, ...]:
    """Return the paths of a folder's entries, folders first and with a slash behind."""
    _, folders, files = repository.folder(folder)
    prefix = f"{folder}/" if folder else ""
    return (*(f"{prefix}{each}/" for each in folders), *(prefix + each for each in files))


def above(path: str) -> Iterator[str]:
    """Yield the folders that a file lies in, the top folder `""` first."""
    parts = path.split("/")
    for depth in range(len(parts)):
        yield "/".join(parts[:depth])


def entry_text(path: str) -> str:
    """Return what the pretrained encoder reads of an entry."""
    return f"{'folder' if path.endswith('/') else 'file'} {spoken(path)}"


def listings(questions: Iterable[Question]) -> list[Listing]:
    """Return the listings on the ways to the targets, in the order of repositories and folders."""
    by_repository: dict[tuple[str, Path], list[Question]] = defaultdict(list)
    for each in questions:
        by_repository[each.repository, each.folder].append(each)
    made: list[Listing] = []
    for (name, folder), asked in by_repository.items():
        repository = open_repository(folder)
        through: dict[str, list[Question]] = defaultdict(list)
        for each in asked:
            for place in dict.fromkeys(place for target in each.targets for place in above(target)):
                through[place].append(each)
        for place, some in sorted(through.items()):
            entries = entries_of(repository, place)
            if len(entries) > 1:
                answers = [
                    tuple(index for index, entry in enumerate(entries) if leads(entry, each.targets)) for each in some
                ]
                made.append(Listing(name, place, entries, tuple(each.text for each in some), tuple(answers)))
    return made


def leads(entry: str, targets: Sequence[str]) -> bool:
    """Return whether an entry is one of the targets or a folder above one."""
    return entry in targets or (entry.endswith("/") and any(target.startswith(entry) for target in targets))
