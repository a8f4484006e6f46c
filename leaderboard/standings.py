"""The tables: every entry verified, sorted by success rate, one table a protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from leaderboard.schema import SUBMISSION_FILE, Digest, one_line, read_bounded
from leaderboard.verify import Verified, verify
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Protocol

RERUN_FILE = "rerun.json"
_MAX_RERUN_BYTES = 1024 * 1024
_RERUN: TypeAdapter[dict[str, str]] = TypeAdapter(Annotated[dict[str, Digest], Field(strict=True)])


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes:
        rank: 1 and up; entries with the same success rate share one.
        overlaps: Whether the 95% interval overlaps that of the row above, so that the two cannot be told apart.
        rerun: Whether maintainers ran the agent themselves and got this recording; else it was only replayed.
        path: The entry's folder below all entries, `<protocol>/<name>`.
        folder: The entry's folder.
        entry: The verified entry.
    """

    rank: int
    overlaps: bool
    rerun: bool
    path: str
    folder: Path
    entry: Verified


@dataclass(frozen=True)
class Table:
    """The rows of one protocol, best first."""

    protocol: Protocol
    rows: tuple[Row, ...]


def standings(submissions: Path) -> list[Table]:
    """Verify all entries and rank them.

    Args:
        submissions: The folder of all entries. `rerun.json` beside it names those that maintainers ran again:
            `{"<protocol>/<name>": "<SHA-256 of its trajectories>"}`.

    Returns:
        One table a protocol that has an entry, sorted by name.

    Raises:
        UsageError: An entry is broken or in the wrong folder, or `rerun.json` is out of date.
    """
    entries = [(folder, verify(folder)) for folder in _entry_folders(submissions)]
    if not entries:
        raise UsageError(f"{submissions} holds no entry: make one with `natlang-leaderboard pack RUN --name NAME`")
    for folder, entry in entries:
        belongs = f"{entry.submission.protocol}/{entry.submission.name}"
        if folder.relative_to(submissions).as_posix() != belongs:
            target = submissions / belongs
            raise UsageError(one_line(f"{folder}: its {SUBMISSION_FILE} says {belongs}: move it to {target}"))
    rerun = _read_rerun(submissions.parent / RERUN_FILE, {_path(entry): entry for _, entry in entries})
    entries.sort(key=lambda each: _order(each[1]))
    return [
        Table(rows[0][1].protocol, tuple(_rows(rows, rerun)))
        for _, group in groupby(entries, key=lambda each: each[1].protocol.name)
        if (rows := list(group))
    ]


def _entry_folders(submissions: Path) -> list[Path]:
    """Return every folder below that holds a file, without following links, in the order of their names."""
    return sorted(Path(folder) for folder, _, files in os.walk(submissions) if files and Path(folder) != submissions)


def _path(entry: Verified) -> str:
    return f"{entry.protocol.name}/{entry.submission.name}"


def _order(entry: Verified) -> tuple[str, float, float, str]:
    return (entry.protocol.name, -entry.score.success_rate, -entry.score.mean_return, entry.submission.name)


def _rows(entries: list[tuple[Path, Verified]], rerun: frozenset[str]) -> Iterator[Row]:
    above: Row | None = None
    for position, (folder, entry) in enumerate(entries, 1):
        score = entry.score
        same = above is not None and above.entry.score.success_rate == score.success_rate
        above = Row(
            rank=above.rank if above is not None and same else position,
            overlaps=above is not None and score.interval.high >= above.entry.score.interval.low,
            rerun=_path(entry) in rerun,
            path=_path(entry),
            folder=folder,
            entry=entry,
        )
        yield above


def _read_rerun(path: Path, entries: dict[str, Verified]) -> frozenset[str]:
    if not path.exists():
        return frozenset()
    try:
        rerun = _RERUN.validate_json(read_bounded(path, _MAX_RERUN_BYTES))
    except ValidationError as error:
        raise UsageError(one_line(f"{path}: {error.errors()[0]['msg']}: write {{entry: SHA-256}}")) from None
    for name, digest in rerun.items():
        if name not in entries:
            raise UsageError(one_line(f"{path}: there is no entry {name!r}: delete the line"))
        if entries[name].submission.trajectories_sha256 != digest:
            raise UsageError(one_line(f"{path}: {name} is of another recording now: run it again, or delete the line"))
    return frozenset(rerun)
