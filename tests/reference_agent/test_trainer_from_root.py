"""Hugging Face's Trainer runs in the root of the checkout, where a folder is called `datasets` too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reference_agent.tiny.making import tiny_folder

TRAIN = """
import sys
import datasets
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
ids = tokenizer("The taxi moves north.")["input_ids"]
rows = Dataset.from_list([{"input_ids": ids, "labels": ids}] * 4)
settings = TrainingArguments(sys.argv[2], max_steps=1, report_to="none", use_cpu=True, save_strategy="no")
print(Trainer(AutoModelForCausalLM.from_pretrained(sys.argv[1]), settings, train_dataset=rows).train().global_step)
"""


@pytest.mark.slow
def test_a_trainer_of_transformers_trains_in_the_root(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TRAIN, str(tiny_folder()), str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1"
