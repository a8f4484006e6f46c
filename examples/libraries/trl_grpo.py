"""TRL's SFT and GRPO on the pickup, six minutes of a core: python examples/libraries/trl_grpo.py

A model of 124,000 weights is shown games of a driver who says where the passenger is, and then gives one of four
commands at random. So it drives as unsurely, and GRPO makes it sure. For Qwen on a GPU leave the games out, and hand
these to GRPOTrainer:

    model="Qwen/Qwen3-1.7B", reward_funcs=[], train_dataset=Dataset.from_list(tasks(PICKUP, chat=True)),
    environment_factory=environment(PICKUP), args=GRPOConfig(use_vllm=True, vllm_mode="colocate", bf16=True,
    learning_rate=1e-6, num_generations=8, max_completion_length=4096, mask_truncated_completions=True)
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, set_seed
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from datasets import Dataset
from natlang_envs.env import NatLangEnv
from natlang_envs.learners.trl import demonstrations, rollout, tasks
from reference_agent.run.config import ModelConfig
from reference_agent.tiny.untrained import tiny_llama

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
WORDS = next((Path(__file__).parents[2] / "reference_agent/data/models").glob("tiny-*"))  # a tokenizer of 644 tokens
SMALL = ModelConfig(mimetic=True, layers=2, width=64, heads=2, inner=128, positions=2048)
COMMON = {
    "report_to": "none", "use_cpu": True, "bf16": False, "gradient_checkpointing": False, "save_strategy": "no",
    "lr_scheduler_type": "linear",
}  # fmt: skip
PLAYED = {"changes_only": True, "think": 32, "turns": 12}


def thought(env: NatLangEnv, seen: str) -> str:
    """Return what the driver says: where the passenger is from the taxi."""
    row, column = map(int, re.findall(r"The taxi is at row (\d+), column (\d+)", seen)[0])
    to_row, to_column = map(int, re.findall(r"The passenger waits at \w+ \(row (\d+), column (\d+)\)", seen)[0])
    down = "level" if row == to_row else "south" if to_row > row else "north"
    right = "level" if column == to_column else "east" if to_column > column else "west"
    return f" From row {row} to row {to_row} is {down}, from column {column} to column {to_column} is {right}."


def won(episode_won: list[bool], **_: Any) -> list[float]:
    """Return 1 for a game that was won: without the costs of steps, to lose soon is no better than to lose late."""
    return [float(each) for each in episode_won]


def held_out(trainer: GRPOTrainer, games: int = 4) -> float:
    """Return which part of the games on held-out tasks the model wins, when it draws what it writes."""
    prompts = [each["prompt"] for each in tasks(PICKUP, split="validation")] * games
    marks = rollout(PICKUP, split="validation", **PLAYED)(prompts, trainer)["episode_won"]
    return sum(marks) / len(marks)


def main(warm_up: int = 900, steps: int = 50, seed: int = 0) -> tuple[float, list[float], float]:
    """Return the success on held-out tasks before GRPO, on training tasks in each step, and at the end."""
    set_seed(seed)
    words = AutoTokenizer.from_pretrained(WORDS, padding_side="left")
    model = tiny_llama(SMALL, len(words), words.eos_token_id)
    with tempfile.TemporaryDirectory() as folder:
        shown = SFTConfig(
            folder, max_steps=warm_up, per_device_train_batch_size=8, learning_rate=4e-3, warmup_steps=20,
            adam_beta2=0.99, max_length=None, logging_steps=50, seed=seed, **COMMON,
        )  # fmt: skip
        told = {"thoughts": thought, "slips": 0.25, "changes_only": True}
        rows = [row for number in range(4) for row in demonstrations(PICKUP, words, seed=4 * seed + number, **told)]
        SFTTrainer(model, shown, train_dataset=Dataset.from_list(rows), processing_class=words).train()
        played = GRPOConfig(
            folder, max_steps=steps, per_device_train_batch_size=64, num_generations=8, learning_rate=8e-4,
            beta=0.0, scale_rewards="batch", logging_steps=1, mask_truncated_completions=True, seed=seed, **COMMON,
        )  # fmt: skip
        trainer = GRPOTrainer(
            model,
            won,
            played,
            Dataset.from_list(tasks(PICKUP)),
            processing_class=words,
            rollout_func=rollout(PICKUP, **PLAYED),
        )
        before = held_out(trainer)
        trainer.train()
        logged = trainer.state.log_history
        return before, [row["rewards/won/mean"] for row in logged if "rewards/won/mean" in row], held_out(trainer)


if __name__ == "__main__":
    torch.set_num_threads(1)
    before, curve, after = main()
    print(f"held-out tasks won before: {before:.0%}")
    for at in range(0, len(curve), 5):
        print(f"training tasks won from step {at}: {sum(curve[at : at + 5]) / len(curve[at : at + 5]):.0%}")
    print(f"held-out tasks won at the end: {after:.0%}")
