"""`examples/openenv`: the folder that OpenEnv's tools push and build, and what its Dockerfile does."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("openenv.validation", reason="OpenEnv of today is not installed: run `make libraries`")
from openenv.cli._cli_utils import validate_env_structure

from tests.libraries.serving import TAXI, asked, wait_for

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples/openenv"


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    lines = dockerfile.read_text(encoding="utf-8").splitlines()
    return [(each.split(" ", 1)[0], each.split(" ", 1)[1]) for each in lines if each and not each.startswith("#")]


def test_openenv_s_own_checks_find_the_folder_whole() -> None:
    assert [each for each in validate_env_structure(PACKAGE) if "outputs" not in each] == []
    openenv = [
        sys.executable,
        "-m",
        "openenv.cli",
        "validate",
        str(PACKAGE),
        "--level",
        "static",
        "--skip-build",
        "--json",
    ]
    done = subprocess.run(openenv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["verdict"], [each["status"] for each in report["results"]]) == ("pass", ["pass"])


@pytest.mark.timeout(900)
def test_the_steps_of_the_dockerfile_make_a_server_of_the_wheel_alone(tmp_path: Path) -> None:
    """No image is pulled: the steps run in a new environment, into which openenv and what it needs are linked."""
    context, app, source = tmp_path / "context", tmp_path / "app", tmp_path / "source"
    shutil.copytree(PACKAGE, context)
    tracked = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    for each in filter(None, tracked.split("\0")):  # the tree itself gets no folder `build` of setuptools
        if (ROOT / each).is_file() and not each.startswith(("docs", "tests")):
            (source / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / each, source / each)
    wheel = re.search(r"# .*: python (-m pip wheel .*)", (PACKAGE / "Dockerfile").read_text(encoding="utf-8"))
    assert wheel
    told = wheel[1].replace("examples/openenv", str(context))
    subprocess.run([sys.executable, *shlex.split(told), "--quiet"], cwd=source, check=True)
    (built,) = context.glob("*.whl")
    assert built.name.startswith("natlang_envs-")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "image"], check=True)
    site = next((tmp_path / "image").glob("lib/*/site-packages"))
    for each in Path(sysconfig.get_path("purelib")).iterdir():  # all but this checkout, pip and what comes with it
        if not re.match(r"(?i)_?_?(natlang|editable|pip|setuptools|distutils|wheel)", each.name):
            (site / each.name).exists() or (site / each.name).symlink_to(each)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"PATH": f"{tmp_path / 'image' / 'bin'}:{os.environ['PATH']}", "PIP_NO_INDEX": "1"}
    done: list[str] = []
    for instruction, text in instructions(PACKAGE / "Dockerfile"):
        done.append(instruction)
        match instruction:
            case "COPY":
                assert text == ". /app/env"
                shutil.copytree(context, app)
            case "RUN" if "useradd" not in text:
                subprocess.run(["sh", "-c", text], cwd=app, env=environment, check=True)
            case "ENV":
                environment |= dict(each.split("=") for each in text.split())
            case "HEALTHCHECK":
                health = text.removeprefix("CMD ")
            case "CMD":
                serve = json.loads(text)
            case _:
                assert instruction in ("FROM", "WORKDIR", "RUN", "USER", "EXPOSE")
    assert done[-1] == "CMD"
    environment |= {"NATLANG_ENV": TAXI, "NATLANG_SPLIT": "validation", "PORT": str(port)}
    with subprocess.Popen(serve, cwd=app, env=environment) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            client = wait_for(url, seconds=120)
            assert asked(f"{url}/metadata")[1]["name"] == TAXI
            assert asked(f"{url}/DangerousTaxi-v0/splits")[1] == [{"name": "validation", "type": "validation"}]
            assert client.reset(index=0).observation["text"]
            client.close()
            subprocess.run(["sh", "-c", health], cwd=app, env=environment, check=True)
            where = [
                environment["PATH"].partition(":")[0] + "/python",
                "-c",
                "import natlang_envs as n; print(n.__file__)",
            ]
            assert str(tmp_path) in subprocess.run(where, cwd=app, capture_output=True, text=True, check=True).stdout
        finally:
            server.terminate()
