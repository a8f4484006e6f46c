"""What maintainers state about entries: badges, and the log of corrections. Submitters cannot change these files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from leaderboard.schema import Day, Digest, Line, Strict, read_as
from natlang_envs.files import write_whole

BADGES_FILE = "badges.json"
ADJUDICATIONS_FILE = "adjudications.json"
OWNERS_FILE = "owners.json"
_MAX_BYTES = 4 * 1024 * 1024


class Badges(Strict):
    """Who chose an entry's actions, as far as maintainers know. Each badge holds for one recording, by its digest."""

    # Entries whose agent maintainers ran themselves and got this recording: `{entry: SHA-256}`.
    rerun: dict[str, Digest] = Field(default_factory=dict)
    # Entries that passed an audit of their checkpoint or endpoint: `{entry: SHA-256}`.
    audited: dict[str, Digest] = Field(default_factory=dict)


class Adjudication(Strict):
    """One line of the log: what maintainers changed about a row, and why. A recording is never changed."""

    date: Day  # `YYYY-MM-DD`
    entry: Line  # `<protocol>/<name>`
    # `sampling` corrects a run that was called deterministic although its agent samples; `unrank` takes a row out of
    # the ranking; `remove` takes it off the page.
    action: Literal["sampling", "unrank", "remove"]
    reason: Annotated[Line, Field(min_length=10)]  # one line for people


def read_badges(path: Path) -> Badges:
    """Return the badges.

    Raises:
        UsageError: The file is malformed. So for the other files here; a missing file is an empty one.
    """
    return read_as(path, TypeAdapter(Badges), _MAX_BYTES, missing=Badges())


def read_owners(path: Path) -> dict[str, str]:
    """Return who began each name, as logins; a series of seeds is one name."""
    return read_as(path, TypeAdapter(dict[str, Line]), _MAX_BYTES, missing={})


def read_adjudications(path: Path) -> list[Adjudication]:
    """Return the log of corrections, oldest first."""
    return read_as(path, TypeAdapter(list[Adjudication]), _MAX_BYTES, missing=[])


def note_badge(path: Path, what: Literal["rerun", "audited"], entries: Mapping[str, str]) -> None:
    """Add badges to the file: `entries` has the SHA-256 of the recording that each holds for."""
    badges = read_badges(path)
    noted = badges.model_copy(update={what: {**getattr(badges, what), **entries}})
    ordered = Badges(rerun=dict(sorted(noted.rerun.items())), audited=dict(sorted(noted.audited.items())))
    write_whole(path, (ordered.model_dump_json(indent=2) + "\n").encode())
