"""What GRPO costs here and in TRL: the same game, model, number of episodes and of updates, in one process.

`python benchmarks/grpo_beside_trl.py` prints a table and writes it to benchmarks/results/grpo_beside_trl.md. It needs
TRL, so run it in the environment of `make libraries` with the agent's extra. Ours chooses by the label of a listed
command, theirs writes the command's tokens, with those of listed commands alone allowed (`natlang_envs.learners.trl`).
The exit code is 1 where the floor does not hold, and 2 without TRL.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from statistics import mean, median
from typing import Any, NamedTuple

import torch
from harness import Row, publish_and_exit

from natlang_envs.learners.trl import reward, rollout, tasks
from reference_agent import LanguageModel, RLConfig, Stage, load_model, reinforce

GAMES = {"the Taxi's pickup": "NatLang/DangerousTaxi-Pickup-v0", "ALFWorld": "NatLang/ALFWorld-v0"}
GROUP = 8  # TRL's default
FLOOR = 2.0
MOST_TOKENS = 4096  # of an episode in TRL
OURS = {"ppo": "all in the update", "grpo": "ours without groups of equal returns"}
RATE = 1e-5


class Trained(NamedTuple):
    """One training: seconds of the processor, and the mean steps of its episodes where they are known."""

    seconds: float
    steps: float | None = None


def ours(game: str, model: LanguageModel, batch: int, turns: int, updates: int, algorithm: str) -> Trained:
    stage = Stage(game, updates, env_kwargs={"split": "train", "horizon": turns})
    settings = RLConfig(algorithm=algorithm, batch=batch, group=GROUP, epochs=1, microbatch=batch, learning_rate=RATE)
    curve: list[Any] = []
    seconds = spent(lambda: curve.extend(reinforce(model, None, stage, settings)))
    return Trained(seconds, mean(row["steps"] for row in curve))


def theirs(game: str, model: LanguageModel, batch: int, turns: int, updates: int) -> Trained:
    from trl import GRPOConfig, GRPOTrainer

    from datasets import Dataset

    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            folder,
            max_steps=updates,
            per_device_train_batch_size=batch,
            num_generations=GROUP,
            learning_rate=RATE,
            beta=0.0,
            max_completion_length=MOST_TOKENS,
            gradient_checkpointing=False,  # it would take longer, and memory is not what is compared
            use_cpu=True,
            bf16=False,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model.model,
            reward,
            config,
            Dataset.from_list(tasks(game, split="train", horizon=turns)),
            processing_class=model.tokenizer,
            rollout_func=rollout(game, turns=turns, max_tokens=MOST_TOKENS, split="train", horizon=turns),
        )
        return Trained(spent(trainer.train))


def spent(work: Callable[[], Any]) -> float:
    """Return the seconds of the processor that `work` takes."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def row(what: str, ours: list[Trained], theirs: list[Trained], episodes: int) -> Row:
    ratios = sorted(their.seconds / our.seconds for our, their in zip(ours, theirs, strict=True))
    rates = [f"{episodes / median(each.seconds for each in trained):.3f}" for trained in (ours, theirs)]
    spread, holds = f"{ratios[0]:.1f} to {ratios[-1]:.1f}", median(ratios) >= FLOOR
    return Row(what, *rates, f"{median(ratios):.1f} x", spread, f">= {FLOOR:g} x", holds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare GRPO here with TRL's.")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--batch", type=int, default=16, help=f"Episodes of an update, a multiple of {GROUP}.")
    parser.add_argument("--turns", type=int, default=4, help="The most steps of an episode.")
    parser.add_argument("--updates", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=2, help="Trainings of each, in turns.")
    asked = parser.parse_args()
    try:
        version("trl")
    except PackageNotFoundError as error:
        print(f"benchmarks/grpo_beside_trl.py: {error}: pip install -r examples/libraries/requirements-libraries.txt")
        sys.exit(2)
    torch.set_num_threads(1)
    rows: list[Row] = []
    size = (asked.batch, asked.turns, asked.updates)
    for game, id_ in GAMES.items():
        found: dict[str, list[Trained]] = {name: [] for name in ("theirs", *OURS)}
        for _ in range(asked.repeats):
            for name, trained in found.items():
                model = load_model(asked.model)
                trained.append(theirs(id_, model, *size) if name == "theirs" else ours(id_, model, *size, name))
                print(game, name, trained[-1], flush=True)
        for name, what in OURS.items():
            steps = mean(each.steps or 0 for each in found[name])
            what = f"{game}, {what}; {steps:.1f} steps an episode"
            rows.append(row(what, found[name], found["theirs"], asked.batch * asked.updates))
    publish_and_exit(
        "grpo_beside_trl",
        "GRPO beside TRL's",
        f"**TRL's GRPO takes {rows[0].factor} times as long for an episode of the Taxi, and {rows[2].factor} times as "
        "long for one of ALFWorld**, with the same model and number of episodes and updates.",
        rows,
        ("trl", "torch", "transformers"),
        [
            "Episodes a second of the processor, rollout and update, with a model that was not tuned before. Ours "
            "reads a prompt with the listed commands for each step, equal ones once, and one label is the choice; "
            "TRL's continues one text for each episode and writes commands. Both take one update a batch: in the first "
            "row of a game of all episodes, ours by PPO's code, of which GRPO's update is made. What either learns is "
            "not shown. The Taxi's episodes end at the first illegal command.",
        ],
        f"One thread; fp32, group of {GROUP}.",
    )


if __name__ == "__main__":
    main()
