"""A page's code blocks, run in their order in an empty folder, as a reader runs them."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.support.here import run_here

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.(?:py|toml))\n")  # the first line of a block that a reader saves under this name
PROGRAMS = {"natlang", "natlang-leaderboard", "reflect-rl"}
SHELL = re.compile(r"[|&;<>$`*#]")  # what a shell must read
LANGUAGES = {"console", "diff", "python", "py", "toml", "text"}


class Block(NamedTuple):
    """A fenced block: what it holds, and the output that the page shows right below it, if it does."""

    line: int
    language: str
    text: str
    shown: str | None

    def commands(self) -> list[str]:
        """Return the commands of a console block."""
        joined = self.text.replace("\\\n", " ")
        return [line.removeprefix("$ ").strip() for line in joined.splitlines() if line.strip()]


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page's text, without those that show an output."""
    found: list[Block] = []
    shows = False
    for match, after in pairwise([*FENCE.finditer(page), None]):
        if match is None or shows:
            shows = False
            continue
        shows = after is not None and after[2] == "text" and not page[match.end() : after.start()].strip()
        line = page.count("\n", 0, match.start()) + 2
        found.append(Block(line, match[2], match[3], after[3] if shows and after is not None else None))
    return found


class Reader:
    """Does what a page says, in the current folder.

    Args:
        page: The page's file, for messages.
        replaced: What stands for something of the reader's own, and what the test has there: a model, an address.
    """

    def __init__(self, page: Path, replaced: dict[str, str]) -> None:
        self._page = page
        self._replaced = replaced
        self._namespace: dict[str, object] = {"__name__": "__docs__"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "TERM": "dumb", "COLUMNS": "200"}

    def python(self, block: Block) -> None:
        """Run a Python block after those before it; what it prints must be what the page shows."""
        code = compile("\n" * (block.line - 1) + block.text, str(self._page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, self._namespace)
        if block.shown is not None:
            out = printed.getvalue()
            assert out.rstrip() == block.shown.rstrip(), f"{self._at(block)} shows\n{block.shown}\nprinted is\n{out}"

    def command(self, block: Block, command: str, typed: str = "") -> str:
        """Run a command, which must succeed, and return what it prints."""
        for placeholder, own in self._replaced.items():
            command = command.replace(placeholder, own)
        if command.startswith("export "):
            self._environment |= dict(word.split("=", 1) for word in shlex.split(command)[1:])
            return ""
        program, *arguments = shlex.split(command)
        if program in PROGRAMS and not SHELL.search(command):
            done = run_here(program, *arguments, stdin=typed, environment=self._environment)
        else:
            done = subprocess.run(
                ["bash", "-c", command], env=self._environment, input=typed, capture_output=True, text=True, check=False
            )
        assert done.returncode == 0, f"{self._at(block)}: {command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def compare(self, block: Block, printed: str) -> None:
        """Hold what commands printed against what the page shows; `…` there stands for anything."""
        shown = [
            re.escape(line.rstrip()).replace("…", "(?:.|\n)*?") for line in (block.shown or "").rstrip().splitlines()
        ]
        lines = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
        assert re.fullmatch("\n".join(shown), lines), f"{self._at(block)} shows\n{block.shown}\nprinted is\n{printed}"

    def _at(self, block: Block) -> str:
        return f"{self._page.name}, line {block.line}"
