"""TRL's GRPO on the pickup, a tiny model, wiring only: python examples/libraries/trl_grpo.py"""

from __future__ import annotations

import tempfile

from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from datasets import Dataset
from natlang_envs.learners.trl import reward, rollout, tasks

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"


def main(model: str, steps: int = 2) -> list[float]:
    """Return the size of the gradient in each step."""
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            folder, max_steps=steps, per_device_train_batch_size=8, num_generations=4, logging_steps=1,
            max_completion_length=128, report_to="none", use_cpu=True, bf16=False, beta=0.0, save_strategy="no",
        )  # fmt: skip
        trainer = GRPOTrainer(
            AutoModelForCausalLM.from_pretrained(model), reward, config,
            Dataset.from_list(tasks(PICKUP)),
            processing_class=AutoTokenizer.from_pretrained(model, padding_side="left"),
            rollout_func=rollout(PICKUP, turns=4),
        )  # fmt: skip
        trainer.train()
    return [row["grad_norm"] for row in trainer.state.log_history if "grad_norm" in row]
