"""The compiled engine: a wheel of it plays as the sources do, and one of other sources is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLAY = """
import hashlib, random
import gymnasium
import natlang_envs
from natlang_envs.alfworld.engine import is_compiled
said = hashlib.sha256()
rng = random.Random(0)
for source in ("generated", "realistic"):
    env = gymnasium.make("NatLang/ALFWorld-v0", source=source, split="train")
    for seed in range(25):
        text, info = env.reset(seed=seed)
        for _ in range(40):
            commands = info["admissible_commands"]
            said.update(repr((text, commands)).encode())
            text, reward, ended, cut, info = env.step(rng.choice([*commands, "go to nowhere"]))
            if ended or cut:
                break
print(is_compiled(), said.hexdigest())
"""


def played(packages: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(packages)}
    return subprocess.run(
        [sys.executable, "-c", PLAY], cwd=packages, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_compiled_wheel_plays_the_same_games(tmp_path: Path) -> None:
    pytest.importorskip("mypyc", reason="mypy is not installed: pip install -e '.[dev]'")
    sources, wheels = tmp_path / "sources", tmp_path / "wheels"
    copied = ("natlang_envs", "reference_agent", "leaderboard", "datasets")
    for name in copied:
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__", "submissions"))
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy(file, sources)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(wheels), "."]
    subprocess.run(build, cwd=sources, env={**os.environ, "NATLANG_COMPILE": "1"}, check=True)
    (wheel,) = wheels.iterdir()
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    compiled, pure = played(tmp_path / "installed"), played(ROOT)
    assert compiled.stdout.split()[0] == "True", compiled.stderr
    assert pure.stdout.split()[0] == "False"
    assert compiled.stdout.split()[1] == pure.stdout.split()[1]
    # Other sources beside it.
    with (tmp_path / "installed" / "natlang_envs/alfworld/engine/world.py").open("a") as file:
        file.write("# edited\n")
    refused = played(tmp_path / "installed")
    assert refused.returncode != 0
    assert "compiled engine is of another version of alfworld/engine/world.py" in refused.stderr.splitlines()[-1]
