"""TRL's SFT and GRPO on the pickup, on a CPU, wiring only: python examples/libraries/trl_grpo.py

A model of 123,000 weights is shown the environment's plans for a while, then GRPO plays. For Qwen on a GPU, leave the
warm-up out, and hand these to GRPOTrainer:

    model="Qwen/Qwen3-1.7B", reward_funcs=[], train_dataset=Dataset.from_list(tasks(PICKUP, chat=True)),
    environment_factory=environment(PICKUP), args=GRPOConfig(use_vllm=True, vllm_mode="colocate", bf16=True,
    learning_rate=1e-6, num_generations=8, max_completion_length=4096, mask_truncated_completions=True)
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, set_seed
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from datasets import Dataset
from natlang_envs.learners.trl import demonstrations, reward, rollout, tasks
from natlang_envs.making import make_env
from natlang_envs.trajectory import plan_length

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
WORDS = next((Path(__file__).parents[2] / "reference_agent/data/models").glob("tiny-*"))  # a tokenizer of 644 tokens
COMMON = {"report_to": "none", "use_cpu": True, "bf16": False, "save_strategy": "no", "lr_scheduler_type": "constant"}


def won(trainer: GRPOTrainer, games: int = 4) -> float:
    """Return which part of the games on held-out tasks the model wins, when it draws its commands."""
    held_out = [each["prompt"] for each in tasks(PICKUP, split="validation")] * games
    marks = rollout(PICKUP, split="validation")(held_out, trainer)["episode_won"]
    return sum(marks) / len(marks)


def main(warm_up: int = 120, steps: int = 30, seed: int = 0) -> tuple[float, list[float], float]:
    """Return the success on held-out tasks before GRPO, on near training tasks in each step, and at the end."""
    set_seed(seed)
    words = AutoTokenizer.from_pretrained(WORDS, padding_side="left")
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=4096, initializer_range=0.05, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with tempfile.TemporaryDirectory() as folder:
        shown = SFTConfig(
            folder, max_steps=warm_up, per_device_train_batch_size=8, learning_rate=4e-3, warmup_steps=20,
            max_length=None, logging_steps=20, seed=seed, **{**COMMON, "lr_scheduler_type": "constant_with_warmup"},
        )  # fmt: skip
        rows = Dataset.from_list(demonstrations(PICKUP, words))
        SFTTrainer(model, shown, train_dataset=rows, processing_class=words).train()
        env = make_env(PICKUP, split="train")
        near = [row for row in tasks(PICKUP) if plan_length(env, row["prompt"]) <= 4]  # far ones are hardly ever won
        played = GRPOConfig(
            folder, max_steps=steps, per_device_train_batch_size=64, num_generations=8, learning_rate=1e-3,
            beta=0.0, scale_rewards="batch", logging_steps=1, mask_truncated_completions=True, seed=seed, **COMMON,
        )  # fmt: skip
        trainer = GRPOTrainer(
            model, reward, played, Dataset.from_list(near), processing_class=words,
            rollout_func=rollout(PICKUP, turns=6),
        )  # fmt: skip
        before = won(trainer)
        trainer.train()
        return before, [row["episodes/won"] for row in trainer.state.log_history if "episodes/won" in row], won(trainer)


if __name__ == "__main__":
    torch.set_num_threads(1)
    before, curve, after = main()
    print(f"held-out tasks won before: {before:.0%}")
    for at in range(0, len(curve), 5):
        print(f"near training tasks won from step {at}: {sum(curve[at : at + 5]) / len(curve[at : at + 5]):.0%}")
    print(f"held-out tasks won at the end: {after:.0%}")
