"""Makes the entries of the built-in agents, which every table has.

python -m leaderboard.baselines [PROTOCOL ...]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from leaderboard.own_protocols import keep_protocol
from leaderboard.pack import pack
from leaderboard.schema import REFERENCE_LINES
from leaderboard.standings.badges import BADGES_FILE, note_badge
from leaderboard.verify import sha256
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.agents import baseline_names, is_sampling, load_agent
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.protocols import Protocol, load_protocol, protocol_names
from natlang_envs.evaluation.runner import evaluate
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE, provenance
from natlang_envs.files import whole_folder

DESCRIPTIONS = {
    "random": "Draws one of the listed commands, uniformly.",
    "random-legal": "Draws among the commands that are not illegal; the environment tells it which those are.",
    "oracle": "Follows the environment's own plan: the upper bound.",
    "reference": "Follows the environment's own plan, made with full knowledge; it need not be the shortest.",
    "expert": "Searches the room and sees only what an agent sees; demonstrations are made from it.",
    "bm25": "Reads all files before its first command, ranks them by BM25, and names the first.",
    "first-hit": "Searches for the three rarest words and names what the lists speak for. Unlearned.",
    "first-hit-reader": "Searches for the four rarest words, reads what the lists speak for, counts words. Unlearned.",
    "best-line": "Reads all files beforehand, quotes the line with most of the question's words from BM25's first.",
    "nothing": "Leaves at once.",
    "random-edit": "Goes down to any line, makes any of its edits and submits it, untested. Unlearned.",
    "spectrum": "Tests edits of the lines that Ochiai suspects; is told which tests depend on a line. Unlearned.",
}


def baselines() -> list[tuple[str, str]]:
    """Return the names of the protocols, each with every agent that has a row on its board."""
    return [(name, agent) for name in protocol_names() for agent in baseline_names(load_protocol(name).env_id)]


def make_baselines(submissions: Path, only: Collection[str] = ()) -> list[Path]:
    """Run the agents of `baselines`, write their entries over the earlier ones, and give them the badge `rerun`.

    Args:
        submissions: The folder of all entries.
        only: The protocols that are played; all by default. One whose data are missing here keeps its entries.

    Returns:
        The entries' folders.
    """
    for each in only:
        require_choice("protocol", each, protocol_names())
    entries: list[Path] = []
    with tempfile.TemporaryDirectory() as temporary:
        for board, name in baselines():
            if only and board not in only:
                continue
            protocol = load_protocol(board)
            try:
                with closing(protocol.make_env()) as env:
                    env.reset(options={"task_id": protocol.episodes[0].task_id})
            except UsageError:  # its data are not on this machine
                continue
            # Packed elsewhere first, so that one that fails leaves the entry that is there.
            made = play_baseline(protocol, name, Path(temporary))
            entries.append(submissions / board / name)
            with whole_folder(entries[-1], replace=True) as unfinished:
                shutil.copytree(made, unfinished, dirs_exist_ok=True)
    note_rerun(submissions, entries)
    return entries


def play_baseline(protocol: Protocol, name: str, folder: Path) -> Path:
    """Evaluate a built-in agent and pack its run, both below a folder; return the entry."""
    if protocol.name not in protocol_names() and not find_round(protocol.name):
        keep_protocol(protocol, folder)
    agent, run = load_agent(name), folder / "runs" / protocol.name / name
    evaluate(agent, protocol, name=name, out=run, source=provenance("built-in", name))
    return pack(
        run,
        name=name,
        out=folder / "submissions",
        description=DESCRIPTIONS[name],
        deterministic=not is_sampling(agent),
        disclosure="Nothing was trained.",
        reference=name in REFERENCE_LINES,
    )


def note_rerun(submissions: Path, entries: list[Path]) -> None:
    noted = {
        entry.relative_to(submissions).as_posix(): sha256((entry / TRAJECTORIES_FILE).read_bytes()) for entry in entries
    }
    note_badge(submissions.parent / BADGES_FILE, "rerun", noted)


def main() -> None:
    for entry in make_baselines(Path(__file__).parent / "submissions", sys.argv[1:]):
        print(entry)


if __name__ == "__main__":
    main()
