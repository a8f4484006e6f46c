"""The script for a lent GPU, tried on a CPU with a model that is too small to learn."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from benchmarks import smollm2_gpu as script

FOLDER = Path(script.__file__)


def call(kept: Path, out: Path, minutes: float) -> subprocess.CompletedProcess[str]:
    """Run `train` as on the device: only what is kept outlives a call."""
    environment = {**os.environ, "NATLANG_GPU": str(kept), "OUT": str(out), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(FOLDER), "train", "--task", "taxi-pickup", "--preset", "smoke"]
    return subprocess.run(
        [*command, "--minutes", str(minutes)], env=environment, capture_output=True, text=True, check=False
    )


def test_a_call_that_is_out_of_time_is_gone_on_with_and_brings_its_results_back(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    stopped = call(kept, tmp_path / "first", 0.05)
    assert stopped.returncode == 130, stopped.stderr
    done = call(kept, tmp_path / "second", 5)
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "second" / "results.tar.0") as archive:
        names = archive.getnames()
    assert "table2.md" in names
    assert "cells/taxi-pickup/best/seed-0/evaluation/run.json" in names
    assert "cells/taxi-pickup/best/seed-0/policy/model.safetensors" in names
    assert not any("/rl/" in name or name.startswith("stages/base") for name in names)


def test_what_travels_is_cut_and_joined_and_what_comes_back_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels, parts = tmp_path / "wheels", tmp_path / "parts"
    wheels.mkdir()
    for name, size in (("a-1.whl", 10), ("b-2.whl", 250), ("c-3.whl", 99)):
        (wheels / name).write_bytes(os.urandom(size))
    monkeypatch.setattr(script, "TRAVELS", 100)
    assert script.cut(wheels, parts) == 5
    monkeypatch.setattr(script, "KEPT", tmp_path / "kept")
    for number in range(5):
        assert sum(each.stat().st_size for each in (parts / str(number)).iterdir()) <= 100
        script.keep(parts / str(number))
    script.join(tmp_path / "kept" / "parts", tmp_path / "joined")
    assert all((tmp_path / "joined" / each.name).read_bytes() == each.read_bytes() for each in wheels.iterdir())

    runs, out = tmp_path / "runs", tmp_path / "out"
    (runs / "rl").mkdir(parents=True)
    (runs / "rl" / "checkpoint").write_bytes(b"1")
    (runs / "small").write_bytes(b"1")
    (runs / "large").write_bytes(bytes(60_000))
    monkeypatch.setattr(script, "ALL", 50_000)
    monkeypatch.setattr(script, "PART", 4_000)
    script.pack(runs, out)
    assert all(each.stat().st_size <= 4_000 for each in out.iterdir())
    whole = tmp_path / "whole.tar"
    whole.write_bytes(b"".join((out / f"results.tar.{number}").read_bytes() for number in range(len([*out.iterdir()]))))
    with tarfile.open(whole) as archive:
        assert archive.getnames() == ["small"]
