"""TRL with what `natlang_envs.learners.trl` hands it: gradients that do not depend on a setting, rows that fit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="TRL is not installed: run `make libraries`")
import torch
import trl
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer

from datasets import Dataset
from natlang_envs.errors import UsageError
from natlang_envs.learners.trl import demonstrations, environment, reward, rollout, tasks
from natlang_envs.learners.trl_writing import Written
from natlang_envs.make_env import make_env

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
TINY = str(next((Path(__file__).parents[2] / "reference_agent/data/models").glob("tiny-*")))


def config(folder: Path, **changed: Any) -> GRPOConfig:
    return GRPOConfig(
        str(folder), per_device_train_batch_size=8, num_generations=4, logging_steps=1, report_to="none", use_cpu=True,
        bf16=False, beta=0.0, save_strategy="no", **changed,
    )  # fmt: skip


def columns(trainer: GRPOTrainer, name: str) -> list[float]:
    return [row[name] for row in trainer.state.log_history if name in row]


def trained(folder: Path, turns: int | None, masked: bool, steps: int = 2) -> GRPOTrainer:
    model = AutoModelForCausalLM.from_pretrained(TINY)
    with torch.no_grad():  # flat enough that the episodes of a group differ
        model.lm_head.weight.mul_(0.1)
    trainer = GRPOTrainer(
        model, reward, config(folder, max_steps=steps, mask_truncated_completions=masked, seed=3),
        Dataset.from_list(tasks(PICKUP)), processing_class=AutoTokenizer.from_pretrained(TINY, padding_side="left"),
        rollout_func=rollout(PICKUP, turns=turns),
    )  # fmt: skip
    trainer.train()
    return trainer


def test_games_that_ended_are_learned_from_with_truncated_completions_masked(tmp_path: Path) -> None:
    masked, plain = (trained(tmp_path / str(each), 9, each) for each in (True, False))
    assert columns(plain, "reward_std")[0] > 0
    assert columns(masked, "grad_norm") == pytest.approx(columns(plain, "grad_norm"), rel=1e-3)
    assert min(columns(plain, "grad_norm")) > 0
    assert columns(masked, "completions/clipped_ratio") == [0, 0]


def test_games_that_were_cut_count_as_truncated(tmp_path: Path) -> None:
    trainer = trained(tmp_path, 1, True, steps=1)
    assert 0 < columns(trainer, "completions/clipped_ratio")[0] < 1
    assert columns(trainer, "episodes/cut") == [0]


@pytest.mark.parametrize("shown", [{}, {"changes_only": True, "thoughts": lambda *_: "Let me see."}])
def test_demonstrations_are_the_plans_as_rollout_plays_them(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = AutoTokenizer.from_pretrained(TINY, padding_side="left")
    rows = demonstrations(PICKUP, tokenizer, **shown)
    prompts = [each["prompt"] for each in tasks(PICKUP)]
    env = make_env(PICKUP, split="train")
    thought = "Let me see.\n" if shown else ""
    for prompt, row in zip(prompts, rows, strict=True):
        env.reset(options={"task_id": prompt})
        labels = [token for token in row["labels"] if token != -100]
        assert tokenizer.decode(labels) == "".join(f"{thought}{command}\n" for command in env.reference())

    def write(contexts: list[list[int]], *_: Any) -> list[Written]:
        played = [next(row for row in rows if row["input_ids"][: len(each)] == each) for each in contexts]
        ends = [row["labels"].index(-100, len(each)) for each, row in zip(contexts, played, strict=True)]
        written = [row["input_ids"][len(each) : end] for each, row, end in zip(contexts, played, ends, strict=True)]
        return [Written(each, [0.0] * len(each), tokenizer.decode(each).strip().splitlines()[-1]) for each in written]

    monkeypatch.setattr("natlang_envs.learners.trl.write", write)
    model = SimpleNamespace(config=LlamaConfig(max_position_embeddings=4096))
    trainer = SimpleNamespace(
        processing_class=tokenizer, model=model, accelerator=SimpleNamespace(unwrap_model=lambda given: given)
    )
    settings = {"changes_only": True, "think": 32} if shown else {}
    played = rollout(PICKUP, **settings)(prompts[:20], trainer)
    assert all(played["episode_won"])
    for row, prompt, completion, mask in zip(
        rows, played["prompt_ids"], played["completion_ids"], played["env_mask"], strict=False
    ):
        assert row["input_ids"] == prompt + completion
        assert [token != -100 for token in row["labels"]] == [False] * len(prompt) + [bool(each) for each in mask]


def test_rollout_refuses_vllm_which_it_would_not_use() -> None:
    with pytest.raises(UsageError, match="generates with the model itself: leave use_vllm out, or use environment"):
        rollout(PICKUP)(["any"], SimpleNamespace(processing_class=None, use_vllm=True))


def test_the_rows_of_tasks_fit_the_environment_inside_the_trainer(tmp_path: Path, monkeypatch) -> None:
    tokenizer = AutoTokenizer.from_pretrained(TINY, padding_side="left")
    tokenizer.add_special_tokens({"eos_token": "<|im_end|>"})
    tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates/qwen3.jinja").read_text(encoding="utf-8")
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=4096, **shape))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    asked: list[str] = []

    def generate(input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        """Write calls of the tool by the environment's plan, one wrong for every other episode, then a word."""
        written = []
        for number, row in enumerate(input_ids):
            text = tokenizer.decode(row)
            asked.append(text)
            call = '<tool_call>\n{"name": "act", "arguments": {"command": "drop off passenger"}}\n</tool_call>'
            told = text.count("<tool_response>\n")
            move = call.replace("drop off passenger", "move north" if "The taxi is at row 0" in text else "move south")
            words = "Done." if told > 1 or "game is over" in text else call if number % 2 or told else move
            written.append(tokenizer(f"{words}<|im_end|>")["input_ids"])
        longest = max(map(len, written))
        padded = [each + [tokenizer.pad_token_id] * (longest - len(each)) for each in written]
        return torch.cat([input_ids, torch.tensor(padded)], 1)

    monkeypatch.setattr(model, "generate", generate)
    rows = tasks(PICKUP, chat=True)
    trainer = GRPOTrainer(
        model, [], config(tmp_path, max_steps=1, max_completion_length=1024),
        Dataset.from_list([{**row, "source": "of the user's own"} for row in rows]), processing_class=tokenizer,
        environment_factory=environment(PICKUP),
    )  # fmt: skip
    trainer.train()
    begin = make_env(PICKUP, split="train").reset(options={"task_id": rows[0]["task_id"]})[0]
    assert begin.partition(".")[0] in asked[0]
    assert "has ended.\n\nTask: " in asked[0]
    assert columns(trainer, "rewards/Game/mean")[0] < 0
    assert columns(trainer, "rewards/Game/std")[0] > 0
    assert columns(trainer, "tools/failure_frequency") == [0]
    assert columns(trainer, "tools/call_frequency")[0] >= 1
    assert columns(trainer, "grad_norm")[0] > 0
