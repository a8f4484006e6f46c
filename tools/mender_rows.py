"""Makes the board's rows of menders: publishes them, lets them play, packs, commits and audits.

python -m tools.mender_rows MENDERS --runs RUNS --commit COMMIT [--boards BOARD...] [STAGE]...

MENDERS is a folder of `reflect-rl mend`. Players go to leaderboard/checkpoints, and it is they that play.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from leaderboard.schema import CHECKPOINTS
from natlang_envs.autoexplore.changing.picking.env import STARTS
from reference_agent.families.autoexplore.mender.training import BY_REWARD, GAMES, IMITATION
from reference_agent.judges import publish
from reference_agent.mender.judge import MENDER
from tools.rows import commit_and_audit, make_row

BOARDS = ("autoexplore-change/v1", "autoexplore-change-file/v1", "autoexplore-change-line/v1")
_HOW = {
    IMITATION: "imitation",
    "reward": "imitation, then reward (RLOO) from the line, the file and the whole",
    "direct": "imitation, then reward (RLOO) from the whole alone",
}


def main() -> None:
    """Make the rows of the stages that are named, of all seeds, and audit them."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("menders", type=Path)
    asked.add_argument("stages", nargs="*", default=[IMITATION, *BY_REWARD], help="by default all")
    asked.add_argument("--runs", type=Path, required=True, help="a folder for the runs; what was played there is kept")
    asked.add_argument("--boards", nargs="+", choices=BOARDS, default=BOARDS, help="by default all")
    asked.add_argument("--commit", required=True, help="what they were trained at")
    given = asked.parse_args()
    made: dict[Path, str] = {}
    for stage in given.stages:
        for folder in sorted(given.menders.glob("seed*")):
            name = f"mender-{stage}-{folder.name}"
            weights, player = folder / f"{stage}.safetensors", CHECKPOINTS / f"{name}.json"
            player.unlink(missing_ok=True)  # that of an earlier training
            agent = f"{publish(weights, player, (MENDER,))}:{player}"
            facts = _facts(given.menders, stage, weights, given.commit[:7])
            for board in given.boards:
                made[make_row(agent, board, name, facts, given.runs / board.partition("/")[0] / name)] = agent
    what = f"{', '.join(given.stages)} on {', '.join(given.boards)}"
    commit_and_audit(made, f"menders ({what})")


def _facts(menders: Path, stage: str, weights: Path, commit: str) -> dict[str, Any]:
    settings = json.loads((menders / "settings.json").read_text("utf-8"))
    tasks = settings["tasks"]
    parameters = sum(each.numel() for each in MENDER.read(weights).parameters())
    episodes = settings["rounds"] * len(STARTS) * tasks
    if stage in BY_REWARD:
        starts = len(BY_REWARD[stage])
        episodes += settings["updates"] // starts * starts * GAMES * settings["samples"]
    seed = re.sub(r"\D", "", weights.parent.name)
    return {
        "description": f"A judge of {parameters:,} weights that reads, tries edits and submits: {_HOW[stage]}. "
        f"`reflect-rl mend`, seed {seed}, at commit {commit}, greedy.",
        "deterministic": True,
        "disclosure": f"It learned from the {tasks} training bugs and the sources of their repositories. Nothing was "
        "chosen on the test.",
        "parameters": parameters,
        "track": {
            "weights": "open",
            "method": "rl" if stage in BY_REWARD else "imitation",
            "reflection": False,
            "teacher": "a plan that sees the bug",
            "training_episodes": episodes,
        },
    }


if __name__ == "__main__":
    main()
