"""What a pull request changes: its entries are verified, and files that belong to maintainers must stay as they are."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from leaderboard.copies import refuse_look_alike
from leaderboard.own_protocols import PROTOCOLS
from leaderboard.players import PLAYERS_FILE
from leaderboard.result import LEDGER_FILE
from leaderboard.rounds import COMMITMENTS, OPEN_FOR, ROUNDS_FILE, Commitment, check_commitment, read_commitment
from leaderboard.schema import CHECKPOINTS, SUBMISSIONS, Submission, one_line, today
from leaderboard.standings.badges import ADJUDICATIONS_FILE, BADGES_FILE, OWNERS_FILE, read_owners
from leaderboard.standings.columns import in_words
from leaderboard.standings.rows import Row
from leaderboard.standings.series import series_name
from leaderboard.verify import MissingDataError, verify
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.published import FILES, published_files

_LARGEST_PLAYER = 6 << 20
PROTECTED = (BADGES_FILE, ADJUDICATIONS_FILE, LEDGER_FILE, OWNERS_FILE, PLAYERS_FILE, ROUNDS_FILE, PROTOCOLS)


@dataclass(frozen=True)
class Checked:
    """The report on a pull request, and whether all of it holds."""

    markdown: str
    holds: bool


def check_changes(base: str, root: Path = Path(), submitter: str = "") -> Checked:
    """Verify the entries that differ between a commit and the working tree, untracked ones included.

    Args:
        base: The commit that the pull request starts from.
        root: The folder of the checkout.
        submitter: The login of the submitter; empty on a machine that does not know it.
    """
    changed = _changed(base, root)
    path = SUBMISSIONS.parent / OWNERS_FILE
    # A proposed change of the owners counts for nothing, and is refused below.
    owners = {} if path.as_posix() in [name for _, name in changed] else read_owners(root / path)
    lines: list[str] = []
    entries: set[str] = set()
    for status, name in changed:
        parts = PurePosixPath(name).parts
        if parts[:1] == (SUBMISSIONS.parent.name,) and parts[1:] and parts[1] in PROTECTED:
            lines.append(f"- ❌ `{one_line(name)}` is changed by maintainers only: take the change back")
        elif parts[:2] == CHECKPOINTS.parts:
            if problem := _player_problem(status, root / name, [each for _, each in changed]):
                lines.append(f"- ❌ `{one_line(name)}`{problem}")
        elif parts[:2] == SUBMISSIONS.parts:
            entry = PurePosixPath(*parts[:-1]).as_posix()
            if status != "A":
                lines.append(f"- ❌ `{one_line(name)}`: an entry is never changed or removed; pack a new one")
            entries.add(entry)
        elif parts[:2] == (SUBMISSIONS.parent.name, COMMITMENTS):
            try:
                made = _new_commitment(root / name, status, owners, submitter)
            except UsageError as error:
                lines.append(f"- ❌ {_quoted(error, root)}")
            else:
                lines.append(f"- ✅ `{one_line(name)}`: digest {made.digest[:12]}, for the round of {made.round.opens}")
    for entry in sorted(entries):
        if not (root / entry).exists():
            continue
        try:
            found = verify(root / entry)
            _refuse_late(found.submission)
            _refuse_stranger(owners, root, PurePosixPath(entry), submitter, entries)
            refuse_look_alike(root / SUBMISSIONS, found.protocol.name, found.submission.name)
        except MissingDataError as error:
            lines.append(f"- ⚠️ {_quoted(error, root)}; maintainers replay it where the data are")
        except UsageError as error:
            lines.append(f"- ❌ {_quoted(error, root)}")
        else:
            lines.append(f"- ✅ `{entry}`: {in_words(Row(found))}; unranked until it is audited")
    holds = not any(line.startswith("- ❌") for line in lines)
    return Checked("\n".join(lines or ["No entry is changed."]), holds)


def _player_problem(status: str, file: Path, proposed: list[str]) -> str:
    if status != "A":
        return ": a published player is never changed or removed: entries name its SHA-256"
    if file.parent.name == FILES:
        players = [each for each in proposed if each.endswith(".json")]
        held = [file.parents[1] / PurePosixPath(each).name for each in players]
        known = [each.name for one in held if not _unreadable(one) for each in published_files(one)[1].values()]
        return "" if file.name in known else " belongs to no player that is proposed"
    return _unreadable(file) if file.suffix == ".json" else " is no file of a published player"


def _unreadable(player: Path) -> str:
    try:
        _, files = published_files(player)
    except UsageError as error:
        return f": {one_line(str(error)).replace('`', chr(39))}"
    total = sum(each.stat().st_size for each in files.values())
    most = f"a player has at most {_LARGEST_PLAYER >> 20}"
    return f": its files take {total >> 20} MiB: {most}" if total > _LARGEST_PLAYER else ""


def _new_commitment(path: Path, status: str, owners: dict[str, str], submitter: str) -> Commitment:
    if status != "A":
        raise UsageError(f"{path}: a commitment is never changed or removed: commit to a later round")
    made = read_commitment(path)
    _refuse_other(owners, made.name, submitter)
    check_commitment(made, path.parents[3])
    return made


def _refuse_late(submission: Submission) -> None:
    played = find_round(submission.protocol)
    if played is not None and not submission.is_reference and today() > played.opens + OPEN_FOR:
        raise UsageError(f"{submission.name}: the round closed on {played.opens + OPEN_FOR}: play a later one")


def _refuse_other(owners: dict[str, str], name: str, submitter: str) -> None:
    began = series_name(name)
    owner = owners.get(began)
    if owner is not None and submitter and owner != submitter:
        raise UsageError(f"{name}: the name {began} was begun by {owner}: choose another name")


def _refuse_stranger(
    owners: dict[str, str], root: Path, entry: PurePosixPath, submitter: str, proposed: set[str]
) -> None:
    """Refuse an entry under a name, or in a series, that another one began."""
    name = series_name(entry.name)
    _refuse_other(owners, entry.name, submitter)
    if name not in owners:
        others = sorted(each.name for each in (root / entry).parent.iterdir() if series_name(each.name) == name)
        before = [each for each in others if entry.with_name(each).as_posix() not in proposed]
        if before:
            raise UsageError(
                f"{entry.name} would join {before[0]}, and {OWNERS_FILE} does not say whose it is: choose another "
                "name, or ask the maintainers to note who began it"
            )


def _quoted(error: UsageError, root: Path) -> str:
    # A stranger's text in a comment must neither mention people nor become markup.
    return f"`{one_line(str(error)).removeprefix(f'{root}/').replace('`', chr(39))}`"


def _changed(base: str, root: Path) -> list[tuple[str, str]]:
    if base.startswith("-"):
        raise UsageError(f"{base!r} is no commit: name one, for example origin/main")
    command = ["git", "diff", "--name-status", "--no-renames", "-z", base, "--"]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode:
        problem = ran.stderr.strip().partition("\n")[0]
        raise UsageError(one_line(f"git cannot compare with {base!r} ({problem}): name a commit, such as origin/main"))
    fields = ran.stdout.split("\0")[:-1]
    untracked = ["git", "ls-files", "--others", "--exclude-standard", "-z", "--", SUBMISSIONS.parent.as_posix()]
    found = subprocess.run(untracked, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    return [*zip(fields[::2], fields[1::2], strict=True), *(("A", each) for each in found)]
