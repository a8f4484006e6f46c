"""The extra `serve`, installed as its users do: into a fresh environment, beside the newest OpenEnv."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openenv", reason="OpenEnv is not installed: run `make libraries`")

ROOT = Path(__file__).parents[2]
TAXI = "NatLang/DangerousTaxi-Pickup-v0"
PLAY = f"""
import re, subprocess, sys, time
from openenv.core.generic_client import GenericEnvClient

served = [sys.executable, "-m", "natlang_envs.cli.main", "serve", "{TAXI}", "--port", "0"]
with subprocess.Popen(served, stdout=subprocess.PIPE, text=True) as server:
    url = re.search(r"served at (\\S+) ", server.stdout.readline())[1]
    for _ in range(100):
        try:
            client = GenericEnvClient(base_url=url).sync().__enter__()
            break
        except ConnectionError:
            time.sleep(0.1)
    client.reset(seed=0)
    print(client.step({{"command": "drop off passenger"}}).reward)
    server.terminate()
"""


def run(*arguments: str | Path) -> str:
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(900)  # gradio and what else OpenEnv brings
def test_the_extra_serve_leaves_the_newest_openenv_whole_and_its_client_plays(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path)
    python = tmp_path / "bin/python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "install", "--upgrade", "openenv")
    library = Path(run(python, "-c", "import openenv; print(openenv.__path__[0])").strip()).parent

    def state() -> tuple[str, dict[str, str]]:
        files = (each for each in library.glob("openenv*/**/*") if each.is_file() and each.suffix != ".pyc")
        digests = {str(each.relative_to(library)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}
        return run(python, "-c", "import openenv; print(openenv.__version__)"), digests

    before = state()
    assert len(before[1]) > 100
    run(*pip, "install", "-e", f"{ROOT}[serve]")
    assert state() == before
    assert "openenv-core" not in run(*pip, "list")
    run(*pip, "check")
    assert run(python, "-c", PLAY) == "-10.0\n"
