"""Questions with the listings on the ways to their targets: a folder's entries, and which of them lead on."""

from __future__ import annotations

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
    """

    repository: str
    folder: Path
    text: str
    targets: tuple[str, ...]


class Example(NamedTuple):
    """A question and a listing on its way.

    Attributes:
        question: The question.
        folder: The folder's path.
        entries: Paths of what it lists; those of folders end with a slash.
        right: The positions of the entries on the way to one of the targets.
    """

    question: Question
    folder: str
    entries: tuple[str, ...]
    right: tuple[int, ...]


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


def examples(questions: Iterable[Question]) -> list[Example]:
    """Return each question with each listing on the way to its targets that has something to choose."""
    known: dict[tuple[Path, str], tuple[str, ...]] = {}  # a listing's entries, shared by all questions about it
    made: list[Example] = []
    for each in questions:
        repository = open_repository(each.folder)
        for folder in dict.fromkeys(place for target in each.targets for place in above(target)):
            entries = known.get((each.folder, folder))
            if entries is None:
                entries = known[each.folder, folder] = entries_of(repository, folder)
            if len(entries) > 1:
                right = tuple(index for index, entry in enumerate(entries) if leads(entry, each.targets))
                made.append(Example(each, folder, entries, right))
    return made


def leads(entry: str, targets: Sequence[str]) -> bool:
    """Return whether an entry is one of the targets or a folder above one."""
    return entry in targets or (entry.endswith("/") and any(target.startswith(entry) for target in targets))
