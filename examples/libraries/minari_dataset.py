"""Minari records the oracle of the taxi and loads it again: python examples/libraries/minari_dataset.py"""

from __future__ import annotations

import gymnasium
import minari

import natlang_envs  # noqa: F401 - registers the environments
from natlang_envs.learners.minari import register

NAME = "natlang/taxi/oracle-v0"


def main(episodes: int = 5) -> minari.MinariDataset:
    """Return the data set of training tasks, read back from the disk."""
    register()
    collector = minari.DataCollector(gymnasium.make("NatLang/DangerousTaxi-v0", split="train"))
    for seed in range(episodes):
        collector.reset(seed=seed)
        for command in collector.unwrapped.reference():
            collector.step(command)
    collector.create_dataset(NAME, algorithm_name="the environment's oracle", author="natlang_envs")
    return minari.load_dataset(NAME)


if __name__ == "__main__":
    print(next(main().iterate_episodes()).actions)
