"""A reader can do what the pages say: each block of each page runs as printed, but for those named here, with a reason.

A new block is run without being named anywhere. Python must print what the page shows below it, and so must commands.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from natlang_envs.autoexplore.dataset.catalogue import catalogue
from tests.pages import FILE, LANGUAGES, Reader, blocks
from tests.support.chat_server import serve
from tests.support.slow import TORCH

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

PROGRAMS = {
    "natlang": "natlang_envs.cli.main",
    "reflect-rl": "reference_agent.run.command",
    "natlang-leaderboard": "leaderboard.cli",
}
GIT = ("-c", "user.name=A Reader", "-c", "user.email=reader@example.org")

INSTALLS = "installs or downloads"
HOURS = "trains or measures for many minutes"
GPU = "needs a GPU, a cluster or a server with one"
OWN = "names something that only the reader has"


class Left(NamedTuple):
    """Blocks or commands that are not run: the page, what they begin with, and why."""

    page: str
    begins: str
    why: str


NOT_RUN = (
    Left("*", r"git clone|pip install|NATLANG_COMPILE=1 pip|natlang data fetch|reflect-rl models fetch", INSTALLS),
    Left("*", r"accelerate|torchrun|vllm|python -m sglang", GPU),
    Left("*", r"reflect-rl reproduce|python benchmarks/|make (test|demo|conformance)", HOURS),
    Left("agent.md", r"reflect-rl|natlang evaluate", "tests/reference_agent/test_gpu_recipe.py runs it"),
    Left("alfworld.md", r"natlang play .* --(source official|game)", OWN),
    Left("alfworld.md", r"natlang (alfworld export|play .* --folder)", "needs the alfworld package"),
    Left("alfworld.md", r"# from alfworld", "tests/natlang_envs/alfworld has whole drivers"),
    Left(
        "autoexplore.md",
        r"natlang evaluate --protocol autoexplore-change-free",
        "tests/natlang_envs/change/test_free_env.py lets a model play",
    ),
    Left("contract.md", r"pytest", OWN),
    Left("evaluate.md", r".* --backend ray", GPU),
    Left("evaluate.md", r"inspect eval", "tests/libraries/test_inspect.py runs it"),
    Left("libraries.md", r"from openenv", "needs openenv, which `make libraries` installs"),
    Left(
        "submit.md", r"natlang protocol live|.*(round\.json|runs/live)", "tests/leaderboard/test_live.py plays a round"
    ),
    Left("own_repository.md", r"natlang explore \"naturalsize", OWN),
    Left("new_environment.md", r"# hunt_(tiny|smollm2)|python hunt_", "tests/examples/test_own_agent.py runs them"),
    Left("new_environment.md", "reflect-rl start", HOURS),
    Left("reflect_rl.md", r"reflect-rl train|natlang evaluate", HOURS),
    Left("reflect_rl_library.md", r"reflect-rl train", HOURS),
)
LONG = ("evaluate.md", "own_repository.md", "reflect_rl_library.md", "submit.md")  # pages that take long
SLOW = {
    "autoexplore.md": r"natlang data (verify|check|stats)$",
    "evaluate.md": r".* --concurrency 16",
    "reflect_rl_library.md": r"reflect-rl (collect|show)",
}
"""Commands that take half a minute each: run by `make test-full`."""

CHECKOUT = {"own_repository.md": "natlang_envs", "new_environment.md": "examples"}
"""The folder of the checkout that a page's commands are about."""
AFTER = {"evaluate.md": "start.md"}
"""The page whose files a page's reader has."""
TYPED = {"own_repository.md": "cd dangerous_taxi\nid render.py\n"}
"""What a page's reader types where a command asks."""
REPLACED = {"MODEL": "a-model", " DIR": " exported", " RUN": " run"}
LABELS = {
    "prices.py": ("What does the hot drink cost?", "tea = 3  # a cup"),
    "basket.py": ("How is the amount of a purchase made?", "return sum(prices)"),
    "tax.py": ("How much goes to the state?", "RATE = 0.19  # of every price"),
}
"""What the stub of a model asks about a file, and the line that answers it."""


def driven(prompt: str) -> str:
    """Return a command that brings the taxi nearer on the classic map, by what the prompt said last."""
    found = re.findall(r"(The taxi|Red|Green|Yellow|Blue) is at row (\d+), column (\d+)", prompt)
    places = {name: (int(row), int(column)) for name, row, column in found}
    (row, column), (to_row, to_column) = places["The taxi"], places[re.findall(r"waits at (\w+)", prompt)[-1]]
    aim = to_row if column == to_column else 2
    if row != aim:
        return "move south" if row < aim else "move north"
    if column != to_column:
        return "move east" if column < to_column else "move west"
    return "pick up passenger"


def answer(prompt: str) -> str:
    """Be the model that a page's reader asks."""
    if prompt.startswith("# Question"):
        return json.dumps({"answers": False, "why": "it is about something else", "evidence": ""})
    if found := re.search(r"^# The file (.+)$", prompt, re.MULTILINE):
        question, evidence = LABELS[found[1]]
        asked = {"question": question, "answer": "As it says.", "evidence": evidence, "kind": "code"}
        return json.dumps(asked)
    if "The passenger waits at " in prompt:
        return f"Thought: no wall crosses row 2.\nAction: {driven(prompt)}"
    if "Change the files" in prompt:
        return "Action: exit" if "new.txt" in prompt else "Action: echo new > new.txt"
    return "Action: answer By a hash." if "Answer this question" in prompt else "Thought: none.\nAction: look"


def left_out(page: Path, text: str) -> str:
    """Return why a block or command is not run, or an empty text."""
    names = (page.name, "*")
    return next((each.why for each in NOT_RUN if each.page in names and re.match(each.begins, text)), "")


def is_slow(page: Path, command: str) -> bool:
    return page.name in SLOW and re.match(SLOW[page.name], command) is not None


def save_files(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if name := FILE.match(block.text):
            Path(name[1]).write_text(block.text, encoding="utf-8")


def prepare(page: Path, folder: Path) -> None:
    """Make what the page's reader has before the first block."""
    if page.name in CHECKOUT:
        name = CHECKOUT[page.name]
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    if page.name in AFTER:
        save_files(page.with_name(AFTER[page.name]))
    if page.name == "submit.md":  # the checkout of a fork, and what training made
        from reference_agent.run.published import unpack  # imports torch

        (folder / "run").mkdir()
        unpack(ROOT / "leaderboard" / "checkpoints" / "slips-100-no-reflection-seed0.json", folder / "run")
        for command in (
            "init -q",
            "config user.name Reader",
            "config user.email reader@example.org",
            "commit -q --allow-empty -m main",
            "update-ref refs/remotes/origin/main HEAD",
        ):
            subprocess.run(["git", *GIT, *command.split()], cwd=folder, check=True)


@contextmanager
def reading(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    monkeypatch.delitem(sys.modules, "my_agent", raising=False)
    prepare(page, folder)
    with serve(answer) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield Reader(page, {**REPLACED, "http://localhost:8000/v1": chat.url})


def follow(page: Path, reader: Reader, *, slow: bool) -> None:
    save_files(page)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language in {"python", "py"} and not left_out(page, block.text):
            reader.python(block)
        if block.language == "console":
            todo = [each for each in block.commands() if not left_out(page, each) and (slow or not is_slow(page, each))]
            printed = "".join(reader.command(block, each, TYPED.get(page.name, "")) for each in todo)
            if block.shown is not None:
                reader.compare(block, printed)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page.name in LONG else TORCH if "reflect" in page.name else ())
        for page in PAGES
    ],
    ids=[page.name for page in PAGES],
)
def test_a_reader_can_do_what_a_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reading(page, tmp_path, monkeypatch) as reader:
        follow(page, reader, slow=False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SLOW)
def test_a_reader_with_time_can_do_all_of_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "autoexplore.md" and not all(entry.is_cached for entry in catalogue().values()):
        pytest.skip("the dataset's repositories are not here: natlang data fetch")
    page = ROOT / "docs" / name
    with reading(page, tmp_path, monkeypatch) as reader:
        follow(page, reader, slow=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_holds(page: Path) -> None:
    found = {block.language or "no language" for block in blocks(page.read_text(encoding="utf-8"))}
    assert found <= LANGUAGES, f"{page.name}: a block's fence names one of {', '.join(sorted(LANGUAGES))}"


def test_every_block_that_is_not_run_is_there() -> None:
    texts = [
        (page.name, text)
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        for text in (block.commands() if block.language == "console" else [block.text])
    ]
    left = [(each.page, each.begins) for each in NOT_RUN] + list(SLOW.items())
    unused = [
        (page, begins)
        for page, begins in left
        if not any(page in (name, "*") and re.match(begins, text) for name, text in texts)
    ]
    assert unused == []


def commands_not_run() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            for command in block.commands() if block.language == "console" else []:
                words = shlex.split(command, comments=True)
                if words[0] in PROGRAMS and (left_out(page, command) or is_slow(page, command)):
                    yield page.name, words


def test_a_command_that_is_not_run_is_understood() -> None:
    understood = 0
    for page, (program, *arguments) in commands_not_run():
        command: Any = get_command(import_module(PROGRAMS[program]).app)
        context = command.make_context(program, arguments)
        while hasattr(command, "resolve_command"):
            name, command, arguments = command.resolve_command(context, context._protected_args + context.args)
            assert command is not None, (page, program, arguments)
            context = command.make_context(name, arguments, parent=context)
            understood += 1
    assert understood
