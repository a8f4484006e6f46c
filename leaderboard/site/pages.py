"""Writes the static site: the tables, a page an entry with its replayed episodes, and the files it was made from.

No page loads another address: its content security policy admits only the style and the script written into it. Names,
descriptions and reflections come from strangers; the templates escape everything, and inside the inline JSON `<`, `>`,
`&` and `'` are written as JSON escapes.
"""

from __future__ import annotations

import base64
import hashlib
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leaderboard.baselines import note_rerun, play_baseline
from leaderboard.result import KindScore, by_kind, kinds_of
from leaderboard.schema import REFERENCE_LINES, SUBMISSION_FILE, one_line
from leaderboard.site.entries import answers_told, failures, files_of, player_of, write_players
from leaderboard.site.episodes import SHOWN, script_of, shown_episodes, viewed
from leaderboard.site.exports import as_csv, as_json, as_of, bibtex, latex, markdown, repacked
from leaderboard.site.overview import addresses, families, repository_of
from leaderboard.site.plots import learning_curves, size_against_success
from leaderboard.standings.columns import columns_of, count, percent
from leaderboard.standings.live import LiveRow, LiveTable, live_tables
from leaderboard.standings.rows import Row, Table
from leaderboard.standings.tables import standings, without_board
from leaderboard.verify import MAX_TRAJECTORIES_BYTES, Verified, sha256
from natlang_envs import __version__
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import baseline_names
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import Score
from natlang_envs.files import read_plain, whole_folder

INDEX_FILE = "index.html"
LIVE_FILE = "live.html"
EPISODES_FILE = "episodes.js"
_WORTH_A_PROCESS = 20  # entries: starting one takes as long as writing them
_MOST_TEXT = 20_000  # characters of a table that is in the page too, and not only in a file beside it
_MOST_IN_A_BATCH = 25  # entries that one process writes one after the other
_MARK = '<meta name="generator" content="natlang-leaderboard">'


@dataclass(frozen=True)
class About:
    """What all pages share: the addresses of their links, and their commit."""

    addresses: dict[str, str]
    as_of: str
    repository: str


def build(
    submissions: Path,
    out: Path,
    *,
    replay: bool = False,
    references: bool = False,
    docs: str = "",
    repository: str = "",
) -> Path:
    """Write the site of all entries.

    Args:
        submissions: The folder of all entries; `leaderboard.standings` says which files beside it count.
        out: The folder for the site. A site that is there is replaced as a whole; anything else there is left alone.
        replay: Replay every entry, also those that the ledger knows.
        references: Play the built-in reference lines for boards that have none.
        docs: The address of the documentation's site; a relative one is seen from the first page.
        repository: The address of the repository; by default that of the package or of the checkout, if it has one.

    Returns:
        The path of the index page.

    Raises:
        UsageError: There is no entry, a file of the maintainers is out of date, or `out` is something else than a
            site. Nothing was written then. A broken entry is left out, and the site says so.
    """
    _check_out(out)
    repository = repository or repository_of(submissions)
    about = About(addresses(docs, repository), as_of(submissions), repository)
    tables = standings(submissions, replay=replay)
    with TemporaryDirectory() as played:
        if references:
            tables = [_with_references(table, Path(played)) for table in tables]
        _write(tables, without_board(submissions), live_tables(tables, submissions), out, about)
    return out / INDEX_FILE


def _with_references(table: Table, folder: Path) -> Table:
    """Add the built-in players to a table without a reference line, as from a pip install; a live round has none.

    Their entries go into `folder`, which must exist as long as the rows are used.
    """
    if table.round or any(row.reference for row in table.rows):
        return table
    return replace(table, rows=(*table.rows, *_played(table.protocol, folder / table.protocol.name.replace("/", "-"))))


def _played(protocol: Protocol, folder: Path) -> list[Row]:
    names = [name for name in baseline_names(protocol.env_id) if name in (*REFERENCE_LINES, "random")]
    try:
        made = [play_baseline(protocol, name, folder) for name in names]
    except UsageError:  # the data of this protocol are not on this machine: its table has no reference line
        return []
    note_rerun(folder / "submissions", made)
    return [row for table in standings(folder / "submissions") for row in table.rows] if made else []


def _write(
    tables: list[Table], left_out: list[tuple[str, str]], live: list[LiveTable], out: Path, about: About
) -> None:
    with whole_folder(out, replace=True) as folder:
        page = _render(
            "index.html.j2",
            scripts=("sort.js",),
            about=about,
            up="",
            families=families(tables),
            left_out=left_out,
            live=live,
            citation=bibtex(None, about.as_of, about.repository),
        )
        _write_file(folder / INDEX_FILE, page.encode())
        if live:
            page = _render("live.html.j2", scripts=("sort.js",), about=about, up="", live=live)
            _write_file(folder / LIVE_FILE, page.encode())
        _write_file(folder / "leaderboard.json", as_json(tables, about.as_of))
        _write_file(folder / "leaderboard.csv", as_csv(tables, about.as_of))
        played = {each.board for each in live}
        for table in tables:
            board = table.round.board if table.round else table.protocol.name
            write_board(table, folder / "boards" / table.protocol.name, about, live=board in played)
        rows = [row for table in tables for row in table.entries]
        write_players(rows, folder / "players")
        _write_entries(rows, folder / "entries", about)


def write_board(table: Table, folder: Path, about: About, *, live: bool = False) -> None:
    """Write the page of a board, and what a paper takes from it, into a folder; `live`: rounds of it were played."""
    up = "../" * (table.protocol.name.count("/") + 2)
    entries = [
        {"name": row.entry.submission.name, "path": row.path, "outcomes": row.entry.result.outcomes}
        for row in table.entries
    ]
    data = {"tasks": [each.task_id for each in table.protocol.episodes], "entries": entries, "up": up}
    texts = {
        "LaTeX": ("table.tex", latex(table, about.as_of)),
        "Markdown": ("table.md", markdown(table, about.as_of)),
        "BibTeX": ("cite.bib", bibtex(table.protocol, about.as_of, about.repository)),
    }
    page = _render(
        "board.html.j2",
        scripts=("sort.js", "board.js"),
        about=about,
        table=table,
        live=live,
        texts={name: (file, text) for name, (file, text) in texts.items() if len(text) <= _MOST_TEXT},
        files=["rows.csv", *(file for file, _ in texts.values())],
        data=data,
        up=up,
        columns=columns_of("board"),
        plot=size_against_success(table.rows),
        curves=learning_curves(table.entries),
        tracks=sorted({each for row in table.rows for each in row.tracks}),
    )
    _write_file(folder / INDEX_FILE, page.encode())
    _write_file(folder / "rows.csv", as_csv([table], about.as_of))
    for file, text in texts.values():
        _write_file(folder / file, text.encode())


def _write_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _check_out(out: Path) -> None:
    index = out / INDEX_FILE
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not index.is_file() or _MARK not in index.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(one_line(f"{out} is there and is no site that this command wrote: choose another --out"))


def _write_entries(rows: Sequence[Row], folder: Path, about: About) -> None:
    batches = _batches(rows)
    cores = min(os.cpu_count() or 1, len(rows) // _WORTH_A_PROCESS, len(batches))
    if cores < 2:
        for batch in batches:
            _write_batch(batch, folder, about)
        return
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_write_batch, batches, repeat(folder), repeat(about)))


def _batches(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows in groups that share what an environment keeps in memory, the largest groups first."""
    ordered = sorted(rows, key=lambda row: (row.entry.result.env_id, row.path))
    groups = [[*group] for _, group in groupby(ordered, key=lambda row: row.entry.result.env_id)]
    size = _MOST_IN_A_BATCH
    batches = [group[at : at + size] for group in groups for at in range(0, len(group), size)]
    return sorted(batches, key=len, reverse=True)


def _write_batch(rows: list[Row], folder: Path, about: About) -> None:
    for _, board in groupby(rows, key=lambda row: row.entry.protocol.name):
        first, *others = board
        env, kinds = viewed(first.entry.protocol), kinds_of(first.entry.protocol)
        for row in (first, *others):
            _write_entry(row, folder / row.path, about, env, kinds)
        if env is not None:
            env.close()


def _write_entry(
    row: Row, folder: Path, about: About, env: gymnasium.Env[str, str] | None, kinds: dict[str, dict[str, str]]
) -> None:
    entry = row.entry
    recording = row.folder / TRAJECTORIES_FILE
    if sha256(read_plain(recording, MAX_TRAJECTORIES_BYTES)) != entry.submission.trajectories_sha256:
        raise UsageError(one_line(f"{row.folder} was changed while the site was built: build it again"))
    numbers = shown_episodes(entry.result, entry.protocol, kinds)
    page = _render(
        "entry.html.j2",
        scripts=("viewer.js",),
        about=about,
        row=row,
        entry=entry,
        columns=columns_of("entry"),
        player=(player := player_of(row)),
        player_here=player is not None and bool(files_of(player)),
        files=(SUBMISSION_FILE, TRAJECTORIES_FILE),
        up="../" * (row.path.count("/") + 2),
        index=_index(entry, numbers),
        kinds=by_kind(entry.result, entry.protocol, kinds),
        failures=failures(entry.result),
        answers=answers_told(entry.submission.run.answers, recording),
        curve=learning_curves([row]),
        shown_at_least=SHOWN,
        pieces=True,
    )
    _write_file(folder / INDEX_FILE, page.encode())
    _write_file(folder / TRAJECTORIES_FILE, repacked(recording))
    _write_file(folder / SUBMISSION_FILE, (row.folder / SUBMISSION_FILE).read_bytes())
    _write_file(folder / EPISODES_FILE, script_of(recording, numbers, env))


def _index(entry: Verified, numbers: list[int]) -> list[tuple[int, str, int, int]]:
    """Return number from 1, task, run and success of the episodes that are shown, for the viewer's list."""
    plays = [*entry.protocol.plays(entry.submission.run.runs)]
    outcomes = entry.result.outcomes
    return [(number + 1, plays[number][0].task_id, plays[number][1], int(outcomes[number])) for number in numbers]


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("leaderboard.site", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., str]] = {"percent": percent, "interval": _interval, "count": count}
    environment.filters.update({**filters, "p": "{:.2f}".format})  # pyright: ignore[reportUnknownMemberType]
    return environment


def _interval(score: Score | KindScore | LiveRow) -> str:
    return f"{percent(score.interval.low)} to {percent(score.interval.high)}"


def _render(name: str, *, scripts: Sequence[str], pieces: bool = False, **values: Any) -> str:
    """Return a page; `scripts` are all that it may run, beside the pieces in its own folder if it has any."""
    templates = _templates()
    assert templates.loader is not None
    style, *parts = (templates.loader.get_source(templates, file)[0] for file in ("style.css", *scripts))
    code = "".join(parts)
    policy = (
        f"default-src 'none'; style-src '{_policy_hash(style)}'; "
        f"script-src '{_policy_hash(code)}'{' file: ' + chr(39) + 'self' + chr(39) if pieces else ''}; "
        "base-uri 'none'; form-action 'none'"
    )
    # Both are our own files, so they go in as they are.
    return templates.get_template(name).render(
        mark=Markup(_MARK), version=__version__, policy=policy, style=Markup(style), script=Markup(code), **values
    )


def _policy_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
