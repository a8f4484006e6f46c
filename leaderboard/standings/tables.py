"""The tables: every entry, from the ledger or by replay, ranked where its chooser is known, one table a protocol."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from leaderboard.copies import is_optimal_and_silent
from leaderboard.git import git
from leaderboard.result import LEDGER_FILE, ReplayResult, read_ledger, write_ledger
from leaderboard.rounds import protocol_of
from leaderboard.schema import one_line
from leaderboard.standings.badges import (
    ADJUDICATIONS_FILE,
    BADGES_FILE,
    Adjudication,
    Badges,
    read_adjudications,
    read_badges,
)
from leaderboard.standings.rows import Row, Table
from leaderboard.standings.series import folded
from leaderboard.verify import MissingDataError, Verified, check_protocol, opened, verify
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import paired_p

TIED = 0.05
_NO_ENTRY = "{} holds no entry: make one with `natlang-leaderboard pack RUN --name NAME`, or name another folder"


@dataclass(frozen=True)
class _Found:
    folder: Path
    path: str
    protocol: Protocol | None
    entry: Verified | None
    problem: str = ""
    broken: bool = False


def standings(submissions: Path, *, replay: bool = False) -> list[Table]:
    """Return the tables of all entries.

    Args:
        submissions: The folder of all entries. Beside it are `ledger.json` (results of earlier replays),
            `badges.json` and `adjudications.json`, each of which may be missing.
        replay: Replay every entry, also those that the ledger knows.

    Returns:
        One table a protocol that has an entry, sorted by name.

    Raises:
        UsageError: There is no entry, or a file of the maintainers is out of date. An entry that is broken, in the
            wrong folder or a copy of an earlier one is left out, and the table says so.
    """
    beside = submissions.parent
    ledger = {} if replay else read_ledger(beside / LEDGER_FILE)
    log = read_adjudications(beside / ADJUDICATIONS_FILE)
    removed = removed_entries(submissions)
    every = [_find(submissions, folder, ledger) for folder in entry_folders(submissions)]
    found = [each for each in every if each.path not in removed]
    if not found:
        raise UsageError(one_line(_NO_ENTRY.format(submissions)))
    known = {each.path: each.entry for each in every}
    badges = read_badges(beside / BADGES_FILE)
    for what, digests in (("rerun", badges.rerun), ("audited", badges.audited)):
        _check_current(beside / BADGES_FILE, what, digests, known)
    for each in log:
        if each.entry not in known and each.action != "remove":
            raise UsageError(one_line(f"{beside / ADJUDICATIONS_FILE}: there is no entry {each.entry!r}"))
    by_board: dict[str, list[_Found]] = {}
    for each in sorted(found, key=lambda each: each.path.rpartition("/")):
        if each.protocol is not None:
            by_board.setdefault(each.protocol.name, []).append(each)
    return [_table(group, badges, log, submissions) for _, group in sorted(by_board.items())]


def without_board(submissions: Path) -> list[tuple[str, str]]:
    """Return the entries in folders of no board, each with its problem, which no table can show."""
    removed = removed_entries(submissions)
    folders = entry_folders(submissions)
    boards = {each.parent: _board(each.parent.relative_to(submissions).as_posix(), submissions) for each in folders}
    found = [_find(submissions, each, {}) for each in folders if boards[each.parent] is None]
    return [(each.path, each.problem) for each in found if each.path not in removed]


def removed_entries(submissions: Path) -> set[str]:
    log = read_adjudications(submissions.parent / ADJUDICATIONS_FILE)
    return {each.entry for each in log if each.action == "remove"}


def replay_all(submissions: Path, folders: Sequence[Path] = ()) -> Iterator[tuple[str, Verified | UsageError]]:
    """Replay entries and note the results in the ledger beside all entries.

    Args:
        submissions: The folder of all entries.
        folders: The entries to replay; all if there are none. Entries that are gone leave the ledger.

    Yields:
        Each entry's path with the verified entry, or with its problem.
    """
    for folder in folders:
        if not folder.absolute().is_relative_to(submissions.absolute()):
            raise UsageError(one_line(f"{folder} is not in {submissions}: name an entry's folder in --submissions"))
    path = submissions.parent / LEDGER_FILE
    ledger = read_ledger(path)
    every = entry_folders(submissions)
    if not every:
        raise UsageError(one_line(_NO_ENTRY.format(submissions)))
    kept = {folder.relative_to(submissions).as_posix() for folder in every}
    for folder in folders or every:
        name = folder.absolute().relative_to(submissions.absolute()).as_posix()
        try:
            entry = verify(folder, copies=True)
        except MissingDataError as error:
            yield name, error
        except UsageError as error:
            ledger.pop(name, None)
            yield name, error
        else:
            before = ledger.get(name)
            ledger[name] = entry.result if before is None else _as_before(before, entry.result)
            yield name, entry
    write_ledger(path, {name: result for name, result in ledger.items() if name in kept})


def entry_folders(submissions: Path) -> list[Path]:
    """Return every folder below that holds a file, sorted; hidden ones hold entries that are being packed."""
    found = (Path(folder) for folder, _, files in os.walk(submissions) if files and Path(folder) != submissions)
    return sorted(each for each in found if not each.name.startswith("."))


def _as_before(before: ReplayResult, now: ReplayResult) -> ReplayResult:
    """Return a result with the date of an earlier equal one, so that the ledger stays as it is."""
    dated = now.model_copy(update={"date": before.date, "package": before.package})
    uncounted = {"failed_commands": None, "failed_episodes": None}
    return dated if before in (dated, dated.model_copy(update=uncounted)) else now


def _find(submissions: Path, folder: Path, ledger: dict[str, ReplayResult]) -> _Found:
    path = folder.relative_to(submissions).as_posix()
    try:
        submission = opened(folder)
        protocol = protocol_of(submission.protocol, submissions.parent)
        if f"{submission.protocol}/{submission.name}" != path:
            raise UsageError(f"its submission.json says {submission.protocol}/{submission.name}: move it there")  # noqa: TRY301
        check_protocol(submission, protocol)
    except UsageError as error:
        return _left_out(submissions, folder, path, error)
    result = ledger.get(path)
    if (
        result is not None
        and result.trajectories_sha256 == submission.trajectories_sha256
        and result.protocol_digest == protocol.digest
        and len(result.outcomes) == len(protocol.episodes) * submission.run.runs
    ):
        return _Found(folder, path, protocol, Verified(submission, protocol, result))
    try:
        return _Found(folder, path, protocol, verify(folder, copies=True))
    except MissingDataError as error:
        return _Found(folder, path, protocol, None, str(error))
    except UsageError as error:
        return _left_out(submissions, folder, path, error)


def _board(name: str, submissions: Path) -> Protocol | None:
    try:
        return protocol_of(name, submissions.parent)
    except UsageError:
        return None


def _left_out(submissions: Path, folder: Path, path: str, error: UsageError) -> _Found:
    protocol = _board("/".join(path.split("/")[:2]), submissions)
    problem = str(error).removeprefix(f"{folder}: ").removeprefix(f"{folder}/")
    return _Found(folder, path, protocol, None, one_line(problem), broken=True)


def _check_current(path: Path, what: str, digests: dict[str, str], known: dict[str, Verified | None]) -> None:
    for name, digest in digests.items():
        if name not in known:
            raise UsageError(one_line(f"{path}: {what}: there is no entry {name!r}: delete the line"))
        entry = known[name]
        if entry is not None and entry.submission.trajectories_sha256 != digest:
            raise UsageError(
                one_line(f"{path}: {what}: {name} is of another recording now: check it again, or delete the line")
            )


def _table(found: list[_Found], badges: Badges, log: list[Adjudication], submissions: Path) -> Table:
    protocol = found[0].protocol
    assert protocol is not None
    found = _without_copies(found, badges, submissions)
    held = [(each, each.entry) for each in found if each.entry is not None]
    held.sort(key=lambda each: _order(each[1]))
    rows = [_row(each, entry, badges, log, found) for each, entry in held]
    rows = sorted(folded(rows), key=lambda row: _order(row.entry))
    groups = {name: [row for row in rows if row.group == name] for name in ("ranked", "unranked", "reference")}
    kinds = [[row for row in groups["ranked"] if row.learned == learned] for learned in (True, False)]
    ranked = [row for kind in kinds for row in _ranked(_tested(kind))]
    missing, left_out = (
        tuple((each.path, each.problem) for each in found if each.entry is None and each.broken == broken)
        for broken in (False, True)
    )
    return Table(protocol, (*ranked, *_tested(groups["unranked"]), *_tested(groups["reference"])), missing, left_out)


def _order(entry: Verified) -> tuple[float, float, str]:
    return (-entry.result.success_rate, -entry.result.mean_return, entry.submission.name)


def _without_copies(found: list[_Found], badges: Badges, submissions: Path) -> list[_Found]:
    """Return the entries; one whose episodes are those of an earlier entry is left out."""
    groups: dict[str, list[_Found]] = {}
    for each in found:
        if each.entry is not None and not (each.entry.submission.is_reference and each.path in badges.rerun):
            groups.setdefault(each.entry.result.episodes_sha256, []).append(each)
    copies: dict[str, _Found] = {}
    for group in (each for each in groups.values() if len(each) > 1):
        first, *others = sorted(group, key=lambda each: _age(each, submissions))
        for each in others:
            assert each.entry is not None
            if not is_optimal_and_silent(each.entry.result, each.folder / TRAJECTORIES_FILE):
                problem = f"its episodes are those of the entry {first.path}, which was there before"
                copies[each.path] = replace(each, entry=None, problem=problem, broken=True)
    return [copies.get(each.path, each) for each in found]


def _age(found: _Found, submissions: Path) -> tuple[int, str, str]:
    """Return a key that sorts entries by the commit that added them; by their dates where Git does not know."""
    ask = ["log", "--diff-filter=A", "--format=%H", "--reverse", "--", str(found.folder.absolute())]
    added = (git(ask, submissions) or "").partition("\n")[0]
    ahead = git(["rev-list", "--count", "HEAD", "--not", added], submissions) if added else ""
    stated = (found.entry.submission.date if found.entry is not None else None) or "9999"
    # The more commits there are after it, the earlier it was.
    return (-int(ahead) if ahead else 1, stated, found.path)


def _row(found: _Found, entry: Verified, badges: Badges, log: list[Adjudication], board: list[_Found]) -> Row:
    submission, path = entry.submission, found.path
    notes = tuple(each for each in log if each.entry == path)
    rerun, audited = path in badges.rerun, path in badges.audited
    reference = submission.is_reference and rerun
    others = {each.path.rpartition("/")[2]: each.entry for each in board if each.entry and each is not found}
    same = [name for name, each in others.items() if each.result.actions_sha256 == entry.result.actions_sha256]
    reasons = [f"taken out of the ranking on {each.date}: {each.reason}" for each in notes if each.action == "unrank"]
    if not (rerun or audited):
        reasons.append("not audited")
    if submission.is_reference and not rerun:
        reasons.append("no reference line: only those that maintainers ran are")
    if same and not (rerun or audited):
        reasons.append(f"every action is that of {same[0]}")
    return Row(
        rank=None if reasons or reference else 0,
        reference=reference,
        reason="a reference line" if reference else "; ".join(reasons),
        rerun=rerun,
        audited=audited,
        sampling=submission.samples or any(each.action == "sampling" for each in notes),
        notes=notes,
        path=path,
        folder=found.folder,
        entry=entry,
    )


def _tested(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of one group, each with its test against the one above."""
    found: list[Row] = []
    above = None
    for row in rows:
        played = row.entry.by_task
        found.append(row if above is None else replace(row, p_above=paired_p(above, played)))
        above = played
    return found


def _ranked(rows: list[Row]) -> Iterator[Row]:
    rates = [row.entry.result.success_rate for row in rows]
    for row, rate in zip(rows, rates, strict=True):
        rank = rates.index(rate) + 1  # equal rates share one
        members = tuple(replace(each, rank=rank) for each in row.members)
        yield replace(row, rank=rank, tied=(row.p_above or 0) >= TIED, members=members)
