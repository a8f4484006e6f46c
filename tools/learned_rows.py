"""Makes the board's rows of our own trained agents: publishes the players, lets them play, packs, commits and audits.

python -m tools.learned_rows RUN... [--commit COMMIT]

A RUN is a folder of `reflect-rl train`, named TRAINING-sN: what of TRAININGS it is, and its seed. Players go to
leaderboard/checkpoints, and it is they that play. The audit's beacon is the commit that the entries came with.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors.torch import load

from leaderboard.pack import read_curve
from leaderboard.schema import CHECKPOINTS
from natlang_envs.evaluation.published import published_files, unpacked
from reference_agent.run.config import Config
from reference_agent.run.published import publish
from reference_agent.run.stages import read_config
from tools.rows import commit_and_audit, git, make_row

PICKUP, DROPOFF, TOMATO = "dangerous-taxi-pickup/v1", "dangerous-taxi-dropoff/v1", "alfworld-tomato/v1"
PICKUP_CITIES, DROPOFF_CITIES = "dangerous-taxi-pickup-cities/v1", "dangerous-taxi-dropoff-cities/v1"
ALFWORLD = "alfworld-generated/v1"
_CLASSIC = "One map: other starts of it are in the split test. Settings were chosen on these starts."
_CITIES = "Settings were chosen on 200 other cities of the split test."
_TOMATO = "No game of this kitchen was seen. Settings were chosen in it."
_ALFWORLD = "No game of these four rooms was seen. Settings were chosen on 200 other games in them."


@dataclass(frozen=True)
class Training:
    """What a run was trained with, and the rows it gives.

    Attributes:
        config: The preset.
        rows: The row's name and board, for `policy` and, where there is one, `policy-sft`.
        disclosure: How the boards' tasks may have got into it.
        settings: Settings beside the seed.
    """

    config: str
    rows: tuple[tuple[str, str, str], ...]  # policy or policy-sft, name, board
    disclosure: str
    settings: tuple[str, ...] = ()


def _both(name: str, *boards: str) -> tuple[tuple[str, str, str], ...]:
    return tuple(row for board in boards for row in (("policy", name, board), ("policy-sft", "sft-only", board)))


_SLIPS = ("teacher.slips=0.2", "collect.trajectories=100", "collect.policy_trajectories=100")


def _slips(name: str, *more: str) -> Training:
    disclosure = "One map: other starts of it are in the split test. Settings were chosen on validation."
    return Training("gain/taxi-pickup", (("policy", name, PICKUP),), disclosure, (*_SLIPS, *more))


TRAININGS = {
    "slips-100": Training(
        "gain/taxi-pickup",
        (("policy", "reflect-rl-slips", PICKUP), ("policy-sft", "sft-slips", PICKUP)),
        "One map: other starts of it are in the split test. Settings were chosen on validation.",
        _SLIPS,
    ),
    "slips-100-rlft-only": _slips("rlft-only-slips", "reflect=false", "sft_policy.steps=0"),
    "slips-100-no-reflection": _slips("no-reflection-slips", "reflect=false", "sft_policy.steps=400"),
    "slips-100-no-negatives": _slips("reflect-rl-slips-no-negatives", "collect.negatives=0"),
    "pickup-best": Training(
        "taxi-pickup/best",
        (*_both("reflect-rl-best", PICKUP), ("policy", "reflect-rl-classic-map", PICKUP_CITIES)),
        _CLASSIC,
    ),
    "dropoff-best": Training(
        "taxi-dropoff/best",
        (*_both("reflect-rl-best", DROPOFF), ("policy", "reflect-rl-classic-map", DROPOFF_CITIES)),
        _CLASSIC,
    ),
    "pickup-faithful": Training("taxi-pickup/faithful", (("policy", "reflect-rl-faithful", PICKUP),), _CLASSIC),
    "dropoff-faithful": Training("taxi-dropoff/faithful", (("policy", "reflect-rl-faithful", DROPOFF),), _CLASSIC),
    "pickup-rlft-only": Training("taxi-pickup/rlft-only", (("policy", "rlft-only", PICKUP),), _CLASSIC),
    "pickup-no-reflection": Training("taxi-pickup/no-reflection", (("policy", "no-reflection", PICKUP),), _CLASSIC),
    "dropoff-no-reflection": Training("taxi-dropoff/no-reflection", (("policy", "no-reflection", DROPOFF),), _CLASSIC),
    "pickup-no-negatives": Training(
        "taxi-pickup/no-negatives", (("policy", "reflect-rl-no-negatives", PICKUP),), _CLASSIC
    ),
    "pickup-maps-best": Training(
        "taxi-pickup-maps/best",
        (*_both("reflect-rl-best", PICKUP_CITIES), ("policy", "reflect-rl-cities", PICKUP)),
        _CITIES,
    ),
    "dropoff-maps-best": Training(
        "taxi-dropoff-maps/best",
        (*_both("reflect-rl-best", DROPOFF_CITIES), ("policy", "reflect-rl-cities", DROPOFF)),
        _CITIES,
    ),
    "tomato-best": Training(
        "alfworld-tomato/best",
        (
            *_both("reflect-rl-best", TOMATO),
            ("policy", "reflect-rl-tomato", ALFWORLD),
            ("policy-sft", "sft-tomato", ALFWORLD),
        ),
        _TOMATO,
    ),
    "alfworld-sft-only": Training("alfworld/sft-only", (("policy-sft", "sft-only", ALFWORLD),), _ALFWORLD),
}
_DRAWN = (PICKUP, DROPOFF, TOMATO)  # as in the paper; on other boards the likeliest commands are played
_ROOM = 40_000_000  # bytes of all players in the repository
_RUN = re.compile(r"(.+)-s(\d+)")


def main() -> None:
    """Make the rows of the runs that are named, and audit them."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("runs", nargs="+", type=Path)
    asked.add_argument("--commit", default=git("rev-parse", "HEAD"), help="what the runs were trained at")
    given = asked.parse_args()
    if sum(each.stat().st_size for each in CHECKPOINTS.rglob("*.gz")) > _ROOM - 3_000_000 * len(given.runs):
        raise SystemExit(f"{CHECKPOINTS} would take more than {_ROOM // 10**6} MB: publish fewer players")
    made: dict[Path, str] = {}
    for run in given.runs:
        made |= _rows(run, given.commit[:7])
    commit_and_audit(made, ", ".join(run.name for run in given.runs))


def _rows(run: Path, commit: str) -> dict[Path, str]:
    """Return the entries of a run, made anew, each with its agent."""
    found = _RUN.fullmatch(run.name)
    if not found or found[1] not in TRAININGS:
        raise SystemExit(f"{run} is none of {', '.join(TRAININGS)} with a seed, such as slips-100-s0")
    training, seed, config = TRAININGS[found[1]], found[2], read_config(run)
    entries: dict[Path, str] = {}
    for policy, name, board in training.rows:
        if not (run / policy).exists():  # RL goes on; the row before it is there
            continue
        before = "-sft" if policy == "policy-sft" else ""
        player = CHECKPOINTS / f"{found[1]}{before}-seed{seed}.json"
        player.unlink(missing_ok=True)  # that of an earlier training
        publish(run, policy, player)
        agent = f"reflect-rl{'-sample' if board in _DRAWN else ''}:{player}"
        facts = _facts(training, config, run, policy, board, player, commit)
        with TemporaryDirectory() as folder:
            entry = make_row(agent, board, f"{name}-seed{seed}", facts, Path(folder) / "run")
        entries[entry] = agent
    return entries


def _facts(
    training: Training, config: Config, run: Path, policy: str, board: str, player: Path, commit: str
) -> dict[str, Any]:
    settings = " ".join(f"--set {each}" for each in (f"seed={config.seed}", *training.settings))
    how = "commands drawn at temperature 1" if board in _DRAWN else "the likeliest commands"
    before = "the policy before RL, " if policy == "policy-sft" and config.stages and _iterations(config) else ""
    _, files = published_files(player)
    sizes = [load(unpacked(file)) for name, file in files.items() if name.endswith("model.safetensors")]
    learned = policy == "policy" and bool(_iterations(config))
    taught = config.collect.trajectories if config.reflect or config.sft_policy.steps else 0
    episodes = taught + (config.rl.batch * _iterations(config) if learned else 0)
    teacher = "the shortest plan, slipping in one step of five" if training.settings else "the environment's plan"
    lessons = [f"from {taught} trajectories of the split train"] if taught else []
    lessons += ["by RL in the split train"] if learned else []
    return {
        "description": f"reflect-rl train {training.config} {settings} at commit {commit}, published: {before}{how}.",
        "deterministic": board not in _DRAWN,
        "disclosure": f"It learned {', and '.join(lessons)}. {training.disclosure}",
        "model": "tiny Llama, one for each player" if config.reflect else "tiny Llama",
        "parameters": sum(each.numel() for one in sizes for name, each in one.items() if not name.endswith(".scale")),
        "track": {
            "weights": "open",
            "method": "rl" if learned else "imitation",
            "reflection": config.reflect,
            "teacher": teacher if taught else None,
            "training_episodes": episodes,
            "curve": read_curve(run / "curve.json") if learned else None,
        },
    }


def _iterations(config: Config) -> int:
    return sum(stage.iterations for stage in config.stages)


if __name__ == "__main__":
    main()
