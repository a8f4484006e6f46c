"""The first page: who is best at what, board by board, and where to read on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import groupby
from pathlib import Path

from leaderboard.git import git
from leaderboard.standings.rows import Row, Table
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.registration import registration_of

_PLANS = ("oracle", "reference")  # players that follow the environment's own plan
_PAGES = {"Documentation": "index", "Policy": "docs/leaderboard_policy", "Submit": "docs/submit"}
_HERE = {"Policy": "index.html#reading", "Submit": "index.html#submit"}


@dataclass(frozen=True)
class Board:
    """A line of the first page."""

    table: Table  # the board's table
    learned: Row | None  # its best ranked row with trained weights
    baseline: Row | None  # its best ranked row that was written by hand, or one that maintainers ran: a reference line
    unranked: Row | None  # its best row that nobody but its submitter ran: replay proves its score, and not who chose
    plan: Row | None  # the environment's own plan

    @property
    def best(self) -> tuple[Row | None, ...]:
        """Its best rows, in the order of the page's columns."""
        return self.learned, self.baseline, self.unranked, self.plan


@dataclass(frozen=True)
class Family:
    name: str
    boards: tuple[Board, ...]
    earlier: tuple[Table, ...]


def families(tables: Sequence[Table]) -> list[Family]:
    """Return the boards by family, both in alphabetical order; live rounds are on a page of their own."""
    static = [table for table in tables if find_round(table.protocol.name) is None]
    found = sorted(static, key=lambda table: (_family(table.protocol), table.protocol.name))
    return [_family_of(name, [*group]) for name, group in groupby(found, key=lambda table: _family(table.protocol))]


def _family_of(name: str, tables: list[Table]) -> Family:
    newest = {_series(table): table for table in sorted(tables, key=_version)}
    current = [table for table in tables if newest[_series(table)] is table]
    return Family(name, tuple(map(_board, current)), tuple(table for table in tables if table not in current))


def _series(table: Table) -> str:
    return table.protocol.name.partition("/")[0]


def _version(table: Table) -> int:
    return int("".join(filter(str.isdigit, table.protocol.name.partition("/")[2])) or 0)


def _family(protocol: Protocol) -> str:
    known = registration_of(protocol.env_id)
    return known.entry_point.rpartition(":")[2].removesuffix("Env") if known else protocol.env_id


def _board(table: Table) -> Board:
    checked = [row for row in table.rows if row.rerun or row.audited]
    plans = [row for row in checked if row.entry.submission.name in _PLANS]
    learned = [row for row in table.rows if row.learned and row.group == "ranked"]
    by_hand = [row for row in checked if not row.learned and row not in plans]
    unranked = [row for row in table.rows if row.group == "unranked"]
    by_hand.sort(key=lambda row: -row.entry.score.success_rate)
    return Board(table, *(next(iter(rows), None) for rows in (learned, by_hand, unranked, plans)))


def addresses(docs: str, repository: str) -> dict[str, str]:
    """Return the addresses of a page's links, by their words; one without `://` is relative to the first page.

    Args:
        docs: The address of the documentation's site. Where it is empty, links lead to the repository's pages, and
            where that is unknown too, to the first page.
        repository: The address of the repository, or an empty text.
    """
    for each in (docs, repository):
        if ":" in each and not re.match(r"https?://[^\s\"'<>]+$", each):
            raise UsageError(f"{each!r} is no address of the web: begin it with http:// or https://")
    pages = _HERE
    if docs:
        pages = {name: f"{docs.rstrip('/')}/{page}.html" for name, page in _PAGES.items()}
    elif repository:
        pages = {name: f"{repository}/blob/HEAD/{_PAGES[name]}.md" for name in _HERE}
    found = {"Boards": "index.html", "Repository": repository, **pages, "Cite": "index.html#cite"}
    return {name: where for name, where in found.items() if where}


def repository_of(submissions: Path) -> str:
    urls = dict(each.split(", ", 1) for each in metadata.metadata("natlang-envs").get_all("Project-URL") or ())
    remote = urls.get("Repository") or git(["remote", "get-url", "origin"], submissions) or ""
    found = re.fullmatch(r"(?:https?://(?:[^@/]+@)?|(?:ssh://)?git@)([\w.-]+)[:/](.+?)(?:\.git)?/?", remote)
    return f"https://{found[1]}/{found[2]}" if found else ""
