"""Live rounds on the board: their beacons, what was committed before them, and whether an entry keeps to that."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, TypeAdapter, ValidationError

from leaderboard.agent_files import AgentFiles, copy_agent_files
from leaderboard.git import git
from leaderboard.own_protocols import own_protocol
from leaderboard.schema import Day, Digest, Line, Name, Strict, Submission, explained, one_line, read_as, today
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.live import Round, checked_month, checked_round, find_round, live_protocol
from natlang_envs.evaluation.protocols import Protocol, load_protocol, protocol_names
from natlang_envs.files import write_whole

ROUNDS_FILE = "rounds.json"
COMMITMENTS = "commitments"
OPEN_FOR = timedelta(days=7)  # from the round's first day to the last one for a recording
_MAX_BYTES = 64 * 1024


def _for_a_round(name: str) -> str:
    if find_round(name) is None:
        raise ValueError("must be the name of a live round, such as alfworld-generated/v1-2026-12")
    return name


class Commitment(Strict):
    """An agent, stated before the tasks of a round are known."""

    protocol: Annotated[Line, AfterValidator(_for_a_round)]  # the round
    name: Name  # the agent's name on the leaderboard
    agent: Line  # what `--agent` takes, with a path inside the agent's own files
    files: Digest  # the SHA-256 of these files: weights, code and prompts
    decoding: Line = ""  # how it decodes and which endpoint it asks, where its files do not say so
    date: Day  # the day of the commitment, `YYYY-MM-DD`

    @property
    def digest(self) -> str:
        """The SHA-256 of agent, files and decoding, which an entry names."""
        content = json.dumps([self.agent, self.files, self.decoding], separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def round(self) -> Round:
        found = find_round(self.protocol)
        assert found is not None
        return found


def read_rounds(path: Path) -> dict[str, str]:
    """Return the beacon of each month that has one; none if there is no such file."""
    return _checked(read_as(path, TypeAdapter(dict[str, Line]), _MAX_BYTES, missing={}), path)


def _checked(rounds: dict[str, str], path: Path) -> dict[str, str]:
    beacons = {checked_month(month): beacon.strip() for month, beacon in rounds.items()}
    if not all(beacons.values()) or len(set(beacons.values())) < len(beacons):
        raise UsageError(f"{path}: two months have one beacon, or one has none: give each month a text of its own")
    return rounds


def note_beacon(path: Path, month: str, beacon: str) -> None:
    """Note the beacon of a month, from which the tasks of that round are sampled on all boards."""
    rounds, opens = read_rounds(path), Round("", checked_month(month)).opens
    if opens > today():
        raise UsageError(f"the round {month} begins on {opens}, and its beacon is not there yet: wait for that day")
    if month in rounds:
        raise UsageError(f"the round {month} has a beacon, which never changes: nothing is to be done")
    rounds = _checked({**rounds, month: beacon}, path)
    write_whole(path, (json.dumps(dict(sorted(rounds.items())), indent=2) + "\n").encode())


def next_month() -> str:
    """Return the next month, `YYYY-MM`: the first round that is still open to commitments."""
    return f"{today().replace(day=1) + timedelta(days=31):%Y-%m}"


def protocol_of(name: str, beside: Path) -> Protocol:
    """Return the protocol of a board or of a live round; `beside` holds `rounds.json` and own protocols."""
    played = find_round(name)
    if played is None:
        if own := own_protocol(name, beside):
            return own
        # An entry names a board; it is not to name a file.
        return load_protocol(require_choice("protocol", name, protocol_names()) if name.endswith(".json") else name)
    beacon = read_rounds(beside / ROUNDS_FILE).get(played.month)
    if beacon is None:
        raise UsageError(
            f"the round {played.month} has no beacon in {beside / ROUNDS_FILE} yet: it is noted on {played.opens}"
        )
    return _protocol_of_round(played, beacon)


_protocol_of_round = lru_cache(maxsize=64)(live_protocol)


def commit(
    agent: str, board: str, month: str, name: str, *, beside: Path, files: Path | None = None, decoding: str = ""
) -> Path:
    """Write a commitment: the agent and the digest of its files, before a round's tasks are known.

    Args:
        agent: The agent, as `natlang evaluate --agent` takes it.
        board: The board, such as `alfworld-generated/v1`.
        month: The round, `YYYY-MM`.
        name: The agent's name on the leaderboard.
        beside: The folder of `commitments`.
        files: A folder with everything that the agent needs, as for an audit.
        decoding: How it decodes and which endpoint it asks, where its files do not say so.
    """
    played = checked_round(board, month)
    with tempfile.TemporaryDirectory(prefix="commit-") as folder:
        found = copy_agent_files(agent, Path(folder), files)
        if found.foreign:
            raise UsageError(
                f"the agent {found.kind} is code of the package {found.foreign}, which no digest covers: "
                "write --agent module:function, and name the folder of the module by --files"
            )
        if not any(found.own.iterdir()):
            raise UsageError(
                one_line(f"{agent} has no files here that a digest covers: name what plays, or its folder by --files")
            )
        spec, digest = found.spec, found.digest
    facts = {"protocol": played.name, "name": name, "agent": spec, "files": digest, "decoding": decoding}
    try:
        made = Commitment.model_validate({**facts, "date": today().isoformat()})
    except ValidationError as error:
        raise UsageError(explained(error)) from None
    path = commitment_file(beside, made.protocol, name)
    if path.exists():
        raise UsageError(f"{path} is there, and a commitment is never changed: choose another --name or round")
    check_commitment(made, beside)
    write_whole(path, (made.model_dump_json(indent=2) + "\n").encode())
    return path


def commitment_file(beside: Path, protocol: str, name: str) -> Path:
    return beside / COMMITMENTS / protocol / f"{name}.json"


def read_commitment(path: Path) -> Commitment:
    """Read a commitment, which lies under the names of its round and its agent."""
    if not path.exists():
        raise UsageError(f"{path} is missing: an agent is committed before the round, by natlang-leaderboard commit")
    found = read_as(path, TypeAdapter(Commitment), _MAX_BYTES)
    belongs = f"{found.protocol}/{found.name}.json"
    if path.parts[-3:] != tuple(belongs.split("/")):
        raise UsageError(f"{path} says {belongs}: a commitment lies under the names of its round and its agent")
    return found


def check_commitment(made: Commitment, beside: Path, day: date | None = None) -> None:
    """Raise `UsageError` if the round has begun, or if name and agent do not belong together on its board."""
    day = day or today()
    if day >= made.round.opens:
        raise UsageError(f"the round {made.protocol} began on {made.round.opens}: commit to a later one")
    for other in commitments(beside, made.round.board):
        if other.name == made.name and other.digest != made.digest:
            raise UsageError(
                f"{made.name} was committed to {other.protocol} as another agent: choose another --name for this one"
            )
        if other.name != made.name and (other.protocol, other.digest) == (made.protocol, made.digest):
            raise UsageError(f"this agent is committed to {made.protocol} as {other.name}: it plays a round once")


def commitments(beside: Path, board: str) -> Iterator[Commitment]:
    """Yield the commitments to the rounds of a board, in order, without malformed ones."""
    family, _, version = board.partition("/")
    for path in sorted((beside / COMMITMENTS / family).glob(f"{version}-*/*.json")):
        try:
            yield read_commitment(path)
        except UsageError:
            continue


def check_live(submission: Submission, beside: Path) -> None:
    """Check that an entry of a live round has an agent that was committed before the round, and a date within it.

    Entries of other protocols have no commitment; reference lines need none. `beside` is the folder of `commitments`.
    """
    played = find_round(submission.protocol)
    if played is None or submission.is_reference:
        if submission.commitment is not None:
            raise UsageError("only an entry of a live round that is no reference line has a commitment: pack it again")
        return
    path = commitment_file(beside, submission.protocol, submission.name)
    made = read_commitment(path)
    if submission.commitment != made.digest:
        raise UsageError(
            f"the entry names the commitment {(submission.commitment or 'none')[:12]}, and {path} is "
            f"{made.digest[:12]}: play the agent that was committed, and pack the run again"
        )
    known = _first_commit([f'-S"{played.month}"', "--", ROUNDS_FILE], beside)
    added = _first_commit(["--diff-filter=A", "--", str(path.absolute())], beside)
    if date.fromisoformat(made.date) >= played.opens or (
        known and added not in ("", known) and git(["merge-base", "--is-ancestor", known, added], beside) is not None
    ):
        raise UsageError(f"{path} was committed after the round's beacon: only commitments from before it count")
    day = date.fromisoformat(submission.date or "0001-01-01")
    if not played.opens <= day <= played.opens + OPEN_FOR:
        raise UsageError(
            f"the entry is of {submission.date}, and recordings of this round are of {played.opens} to "
            f"{played.opens + OPEN_FOR}: play a later round"
        )


def _first_commit(arguments: list[str], beside: Path) -> str:
    return (git(["log", "--format=%H", "--reverse", *arguments], beside) or "").partition("\n")[0]


def check_committed_agent(submission: Submission, files: AgentFiles, beside: Path) -> None:
    """Raise `UsageError` unless the files of an audited agent are those that were committed."""
    if submission.commitment is None:
        return
    made = read_commitment(commitment_file(beside, submission.protocol, submission.name))
    if files.spec != made.agent:
        found, was = f"--agent {files.spec}", made.agent
    elif files.digest != made.files:
        found, was = f"files with the SHA-256 {files.digest[:12]}…", f"SHA-256 {made.files[:12]}…"
    else:
        return
    raise UsageError(one_line(f"this agent has {found}, and {was} was committed on {made.date}: audit that one"))
