"""Rows of the board: an agent plays, its run is packed and noted in the ledger; then rows are committed and audited."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaderboard.audit import audit
from leaderboard.pack import pack
from leaderboard.result import LEDGER_FILE
from leaderboard.schema import CHECKPOINTS, SUBMISSIONS
from leaderboard.standings import replay_all
from leaderboard.standings.badges import BADGES_FILE, note_badge
from natlang_envs.errors import UsageError

_BADGES = SUBMISSIONS.parent / BADGES_FILE


def make_row(agent: str, board: str, name: str, facts: Mapping[str, Any], run: Path) -> Path:
    """Let an agent play, and return the entry that is made of it; one of that name is replaced.

    Args:
        agent: As `--agent` takes it.
        board: The board's protocol.
        name: The row's name.
        facts: What `pack` is told of it.
        run: The folder of the run; one that is finished is not played again.
    """
    if not (run / "run.json").exists():
        play = ["natlang", "evaluate", "--agent", agent, "--protocol", board, "--out", str(run)]
        subprocess.run([str(Path(sys.executable).parent / play[0]), *play[1:]], check=True)
    entry = SUBMISSIONS / board / name
    shutil.rmtree(entry, ignore_errors=True)  # of a run whose weights are gone
    pack(run, name=name, **facts)
    for _, replayed in replay_all(SUBMISSIONS, [entry]):
        if isinstance(replayed, UsageError):
            raise replayed
        print(f"{entry}: {replayed.score.success_rate:.1%}", flush=True)
    return entry


def commit_and_audit(made: Mapping[Path, str], what: str) -> None:
    """Commit entries with their players, audit each with that commit as the beacon, and note those that pass.

    Args:
        made: The agent of each entry.
        what: What they are rows of.

    Raises:
        SystemExit: Some did not pass; their lines are on standard error.
    """
    ours = [str(each) for each in (SUBMISSIONS, CHECKPOINTS, SUBMISSIONS.parent / LEDGER_FILE)]
    git("add", "-A", *ours)
    if git("status", "--porcelain", *ours):
        git("commit", "-qm", f"The board has rows of {what}, with their players", "--", *ours)
    beacon = git("rev-parse", "HEAD")
    failed: list[str] = []
    for entry, agent in made.items():
        found = audit(entry, agent, beacon)
        print(f"{entry}: {found.said}", flush=True)
        if found.problem:
            failed.append(f"{entry}: {found.problem}")
        else:
            note_badge(_BADGES, "audited", {found.entry: found.recording})
    if git("status", "--porcelain", str(_BADGES)):
        git("commit", "-qm", f"Audits of {what}, with the beacon {beacon[:12]}", "--", str(_BADGES))
    print("\n".join(failed), file=sys.stderr)
    sys.exit(2 if failed else 0)


def git(*command: str) -> str:
    """Return what a command of git prints."""
    return subprocess.run(["git", *command], capture_output=True, text=True, check=True).stdout.strip()
