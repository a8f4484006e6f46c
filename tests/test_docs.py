"""The documentation does what it says: every Python block runs, and the text block after one is its real output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import natlang_envs
from tests.natlang_envs.chat_server import serve

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
RESULTS = sorted((ROOT / "benchmarks" / "results").rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(
    r"`((?:natlang_envs|reference_agent|leaderboard|tests|tools|docs|examples|benchmarks)/[\w./-]*[\w/])`"
)


def name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_blocks_run_and_print_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block, after in pairwise([*blocks, None]):
        if block is None or block.group(1) != "python":
            continue
        line = text.count("\n", 0, block.start()) + 2
        code = compile("\n" * (line - 1) + block.group(2), str(page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        shown = after is not None and after.group(1) == "text" and not text[block.end() : after.start()].strip()
        if shown and after is not None:
            assert printed.getvalue().rstrip() == after.group(2).rstrip(), f"{page.name}, line {line}"


def test_the_first_agents_commands_run_as_printed(tmp_path: Path) -> None:
    text = (ROOT / "docs/first_agent.md").read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    (tmp_path / "my_agent.py").write_text(blocks[0].group(2), encoding="utf-8")
    (console,) = (block.group(2) for block in blocks if block.group(1) == "console")
    for line in console.splitlines():
        command = [sys.executable, "-m", "natlang_envs.cli", *line.removeprefix("$ natlang ").split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "200 episodes" in done.stdout


def test_the_endpoints_commands_run_as_printed(tmp_path: Path) -> None:
    text = (ROOT / "docs/endpoint.md").read_text(encoding="utf-8")
    console = next(block.group(2) for block in BLOCK.finditer(text) if block.group(1) == "console")
    with serve(lambda prompt: "Thought: none.\nAction: look") as chat:
        environment = {**os.environ, "OPENAI_BASE_URL": chat.url, "OPENAI_API_KEY": "none"}
        for line in console.splitlines()[1:2]:  # the third plays 200 episodes; it differs by an option tested elsewhere
            words = line.removeprefix("$ natlang ").replace("MODEL", "a-model").split()
            command = [sys.executable, "-m", "natlang_envs.cli", *words]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    assert "5 episodes" in done.stdout


def test_the_pages_hold_code() -> None:
    pages = [path for path in PAGES if "```python" in path.read_text(encoding="utf-8")]
    assert {"contract.md", "evaluation.md", "leaderboard.md", "two_players.md"} <= {path.name for path in pages}


@pytest.mark.parametrize("page", ["environments.md", "api.md"])
def test_a_generated_page_is_what_the_docstrings_say(page: str) -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["PAGES"][page]()
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == generated, "run: python docs/generate.py"


def test_every_id_has_a_line_on_the_environments_page() -> None:
    written = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    for entry in natlang_envs.ENVIRONMENTS:
        assert f"| `{entry.id}` |" in written


@pytest.mark.parametrize(
    "page", [*PAGES, *RESULTS, *(ROOT / each for each in ("CONTRIBUTING.md", "CHANGELOG.md"))], ids=name
)
def test_named_files_exist(page: Path) -> None:
    named = [ROOT / target for target in PATH.findall(page.read_text(encoding="utf-8"))]
    assert [str(path) for path in named if not path.exists()] == []


@pytest.mark.parametrize("page", RESULTS, ids=name)
def test_a_results_page_begins_with_its_conclusion(page: Path) -> None:
    """Before the first table and heading stand a few sentences, and nothing of how it was measured."""
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    before = re.split(r"^(?:\||##)", text, maxsplit=1, flags=re.MULTILINE)[0].partition("\n")[2]
    assert 5 <= len(before.split()) <= 130, before
    assert "Written by" not in before


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 500
    assert any("pip install" in line for line in text.splitlines()[:30])
    picture = ROOT / "docs" / "episode.gif"
    assert f"docs/{picture.name}" in text
    assert picture.stat().st_size < 150_000


def test_the_picture_of_an_episode_is_drawn(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    module = runpy.run_path(str(ROOT / "docs" / "record_episode.py"))
    moments = module["episode"]()
    assert moments[-1].path[-1] == ("drop off passenger", 20.0)
    module["record"](tmp_path / "episode.gif")
    with image.open(tmp_path / "episode.gif") as drawn:
        assert drawn.n_frames == len(moments)


def test_the_example_agent_plays() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "agent.py")], capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"crow on dangerous-taxi-pickup/v1: success ([\d.]+)%", done.stdout)
    assert found, done.stdout
    # It draws nothing, so it always earns the same: on every second map there is no wall in its way.
    assert found.group(1) == "52.5"


def test_every_shell_command_of_the_pages_exists() -> None:
    """Console blocks are not run (they take long or write files), but what they call must be there."""
    commands = {"natlang": "natlang_envs.cli", "natlang-leaderboard": "leaderboard.cli"}
    called = {
        (words[0], words[1])
        for page in PAGES
        for language, block in BLOCK.findall(page.read_text(encoding="utf-8"))
        if language == "console"
        for words in (line.removeprefix("$ ").split() for line in block.splitlines())
        if words and words[0] in commands
    }
    assert called
    for command, subcommand in called:
        done = subprocess.run(
            [sys.executable, "-m", commands[command], subcommand, "--help"], capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode == 0, f"{command} {subcommand}: {done.stderr}"
