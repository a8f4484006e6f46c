"""What maintainers state about entries: badges, and the log of corrections. Submitters cannot change these files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from leaderboard.schema import Day, Digest, Line, read_as
from natlang_envs.files import write_whole

BADGES_FILE = "badges.json"
ADJUDICATIONS_FILE = "adjudications.json"
_MAX_BYTES = 4 * 1024 * 1024
OWNERS_FILE = "owners.json"
_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)


class Badges(BaseModel):
    """Who chose an entry's actions, as far as maintainers know. Each badge holds for one recording, by its digest.

    Attributes:
        rerun: Entries whose agent maintainers ran themselves and got this recording: `{entry: SHA-256}`.
        audited: Entries that passed an audit of their checkpoint or endpoint: `{entry: SHA-256}`.
    """

    model_config = _STRICT

    rerun: dict[str, Digest] = {}
    audited: dict[str, Digest] = {}


class Adjudication(BaseModel):
    """One line of the log: what maintainers changed about a row, and why. A recording is never changed.

    Attributes:
        date: `YYYY-MM-DD`.
        entry: `<protocol>/<name>`.
        action: `sampling` corrects a run that was called deterministic although its agent drew its commands; `unrank`
            takes a row out of the ranking; `remove` takes it off the page.
        reason: One line for people.
    """

    model_config = _STRICT

    date: Day
    entry: Line
    action: Literal["sampling", "unrank", "remove"]
    reason: Annotated[Line, Field(min_length=10)]


_ADJUDICATIONS: TypeAdapter[list[Adjudication]] = TypeAdapter(list[Adjudication])


def read_badges(path: Path) -> Badges:
    """Return the badges; none if there is no such file.

    Raises:
        UsageError: The file is not what it should be.
    """
    if not path.exists():
        return Badges()
    return read_as(path, TypeAdapter(Badges), _MAX_BYTES)


def write_badges(path: Path, badges: Badges) -> None:
    """Write the badges, sorted."""
    ordered = Badges(rerun=dict(sorted(badges.rerun.items())), audited=dict(sorted(badges.audited.items())))
    write_whole(path, (ordered.model_dump_json(indent=2) + "\n").encode())


_OWNERS: TypeAdapter[dict[str, Line]] = TypeAdapter(dict[str, Line])


def read_owners(path: Path) -> dict[str, str]:
    """Return who began each name, as logins; a series of seeds is one name. None if there is no such file.

    Raises:
        UsageError: The file is not what it should be.
    """
    if not path.exists():
        return {}
    return read_as(path, _OWNERS, _MAX_BYTES)


def note_badge(path: Path, what: Literal["rerun", "audited"], entries: Mapping[str, str]) -> None:
    """Note badges in the file: for each entry, the SHA-256 of the recording that it holds for."""
    badges = read_badges(path)
    write_badges(path, badges.model_copy(update={what: {**getattr(badges, what), **entries}}))


def read_adjudications(path: Path) -> list[Adjudication]:
    """Return the log of corrections, oldest first; an empty one if there is no such file.

    Raises:
        UsageError: The file is not what it should be.
    """
    if not path.exists():
        return []
    return read_as(path, _ADJUDICATIONS, _MAX_BYTES)
