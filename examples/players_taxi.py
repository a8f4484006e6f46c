"""Reflect-RL from Python, up to a player that a leaderboard takes: python examples/players_taxi.py FOLDER"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from reference_agent import CollectConfig, Players, PolicySFTConfig, RLConfig, SFTConfig, Stage

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"


def main(folder: Path, trajectories: int = 100, steps: int = 300, iterations: int = 20) -> None:
    """Train two players on the pickup, five minutes of a core, and save them."""
    players = Players.of("tiny", reflection_tokens=80)
    settings = CollectConfig(trajectories=trajectories, policy_trajectories=trajectories, negatives=0)
    examples = players.collect(PICKUP, "oracle", settings)
    print(players.fine_tune(examples, SFTConfig(steps=steps), PolicySFTConfig(steps=steps // 5)))
    players.save(folder / "sft")
    rl = RLConfig(batch=96, reward_scale=20.0, entropy=0.02, validate_every=max(1, iterations // 2))
    players.reinforce(Stage(PICKUP, iterations=iterations), rl)
    players.save(folder / "players")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
