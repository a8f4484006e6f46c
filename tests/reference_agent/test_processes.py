"""Training by several processes, started as a user without a GPU does it: by torchrun."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from natlang_envs.errors import UsageError
from reference_agent import processes
from reference_agent.models.language_model import LanguageModel
from reference_agent.rollout import make_envs
from reference_agent.run.config_file import dump_config
from reference_agent.run.stages import CONFIG
from tests.reference_agent.conftest import quick_config
from tests.support.one_update import tune, update

COUNT = 2
KINDS = ("", ".sft")  # an update of RL, and supervised ones of both players


def launch(*command: str) -> None:
    """Run a module in two processes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={COUNT}", "-m"]
    run = subprocess.run([*launcher, *command], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
def test_two_processes_take_the_step_that_one_takes(model: LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    launch("tests.support.one_update", str(tmp_path))
    left = [(tmp_path / f"{number}.left").read_text() for number in range(COUNT)]
    assert left == ["True"] * COUNT, "no thread of the group is there when a process ends"
    said = {
        kind: [json.loads((tmp_path / f"{each}{kind}.json").read_text()) for each in range(COUNT)] for kind in KINDS
    }
    alone = update(tmp_path / "model", tmp_path / "alone.pt")
    assert said[""][0] == said[""][1] == pytest.approx(alone, rel=1e-4, abs=1e-6)
    losses, read = tune(tmp_path / "model", tmp_path / "alone.sft.pt")
    (first, read_by_first), (second, read_by_second) = said[".sft"]
    assert first == second == pytest.approx(losses, rel=1e-4, abs=1e-6)
    assert 0 < read_by_first + read_by_second == read, "the work is shared"
    before = model.model.state_dict()
    for kind in KINDS:
        one, first, second = (torch.load(tmp_path / f"{name}{kind}.pt") for name in ("alone", "0", "1"))
        for name, value in one.items():
            assert torch.equal(first[name], second[name]), "both have taken the same step"
            torch.testing.assert_close(first[name], value, rtol=1e-3, atol=1e-5)
        assert any((value - before[name]).abs().max() > 0.001 for name, value in one.items())


@pytest.mark.slow
def test_a_run_of_two_processes_is_whole_and_resumes_to_the_same(out: Path) -> None:
    out.mkdir()
    (out / CONFIG).write_text(dump_config(quick_config("rl.batch=7")))
    launch("reference_agent", "train", "--out", str(out))
    curve = json.loads((out / "curve.json").read_text())
    assert [row["iteration"] for row in curve] == [1, 2, 3]
    weights = load_file(out / "policy" / "model.safetensors")
    assert not list(out.glob(".*")), "nothing half done is left"

    # As if it had been killed in the last iteration.
    shutil.rmtree(out / "policy")
    shutil.rmtree(out / "rl" / "iteration-0-000003")
    launch("reference_agent", "train", "--out", str(out))
    assert json.loads((out / "curve.json").read_text()) == curve
    again = load_file(out / "policy" / "model.safetensors")
    assert all(torch.equal(again[name], value) for name, value in weights.items())


def test_parts_are_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes.part(range(5)) == range(5), "alone"
    monkeypatch.setenv("WORLD_SIZE", "3")
    parts: list[int] = []
    for number in range(3):
        monkeypatch.setenv("RANK", str(number))
        assert len(processes.part(range(8))) in (2, 3)
        parts += processes.part(range(8))
    assert parts == list(range(8))
    config = quick_config("rl.batch=2")
    with pytest.raises(UsageError, match=r"rl\.batch 2 is less than 3 processes: raise it"):
        make_envs(config.stages[0], config.rl.batch)
