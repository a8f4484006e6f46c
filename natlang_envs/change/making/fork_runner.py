"""Reads a repository with tests, and runs them in a process of their own, with other sources.

An outcome is the set of tests that fail, as the bits of a number: bit `n` is the `n`-th test.
"""

from __future__ import annotations

import ast
import configparser
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import edits
from natlang_envs.repository.names import on_disk
from natlang_envs.repository.tree import MAX_DEPTH, open_repository

NO_PYTEST = 3  # the worker's exit code where pytest cannot be imported
SECONDS = 1.0  # of processor time for a run of all tests
_LARGEST = 64 << 20  # bytes of a file that is copied
_WORKER = Path(__file__).parent / "fork_worker.py"
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
_NOT_COPIED = (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox")

Reply = dict[str, Any]
Tell = Callable[[str, int, int], None]  # is told what is done, how much of it, and how much there is


def counting(tell: Tell | None, what: str, begun: int, most: int, total: int) -> Callable[[], None]:
    """Return a function that counts calls, `most` at most, on from `begun`, and tells them."""
    if tell is None:
        return lambda: None
    calls = count(1)
    return lambda: tell(what, begun + min(next(calls), most), total)


@dataclass(frozen=True)
class SourcesWithTests:
    """A repository to break."""

    root: Path
    sources: Mapping[str, str]  # the texts that may be broken, by path
    tests: tuple[str, ...]  # the files and folders of its tests
    digest: str  # the SHA-256 of all its Python files
    arguments: tuple[str, ...] = ()  # further ones of pytest
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])  # why a source cannot be broken, by path


def open_tested(
    root: Path, tests: Sequence[str] = ("tests",), only: Sequence[str] = (), arguments: Sequence[str] = ()
) -> SourcesWithTests:
    """Read a repository with tests, files and folders relative to it. Whatever else is Python may be broken.

    With `only`, no other sources may be broken than these. `arguments` are further ones of pytest.
    """
    root = root.resolve()
    if not root.is_dir():
        raise UsageError(f"repository {str(root)!r} is no folder: give an existing one")
    for each in (*tests, *only):
        if not (root / each).exists():
            raise UsageError(f"{root / each} does not exist: name the folder with the tests")
    places = [Path(os.path.normpath(root / each)) for each in tests]
    if root in places:
        raise UsageError(f"all of {root.name} would be tests: name the folder with the tests in it")
    for each, where in zip(tests, places, strict=True):
        if not where.is_relative_to(root):
            raise UsageError(f"tests {each!r} do not lie in {root}: name them relative to it")
    tests = [each.relative_to(root).as_posix() for each in places]
    sources: dict[str, str] = {}
    repository = open_repository(root, again=True)
    left_out = {file: why.lower() for file, why in repository.barred.items()}
    whole = hashlib.sha256()
    for file in sorted((each for each in repository.files if each.endswith(".py")), key=lambda each: each.split("/")):
        if any(part.startswith(".") or part in _NOT_COPIED for part in file.split("/")):
            continue
        if repository.mark(file).size > _LARGEST or on_disk(file) != file.encode():
            left_out[file] = "it is too large, or its name is no text"
            continue
        content = repository.part(file, 0, _LARGEST)
        whole.update(f"{file}\0{len(content)}\0".encode() + content)
        is_test = PurePosixPath(file).name == "conftest.py" or any(f"{file}/".startswith(f"{each}/") for each in tests)
        if is_test or (only and file not in only):
            continue
        try:
            text = content.decode()
            ast.parse(text)
            edits(text)
        except UnicodeDecodeError:
            left_out[file] = "it is not UTF-8"
        except (UsageError, SyntaxError, ValueError, RecursionError) as error:
            left_out[file] = str(error)
        else:
            sources[file] = text
    if not sources:
        first = "".join(f" ({file}: {why})" for file, why in list(left_out.items())[:1])
        raise UsageError(f"{root} has no Python sources outside {', '.join(tests)}{first}")
    return SourcesWithTests(root, sources, tuple(tests), whole.hexdigest(), tuple(arguments), left_out)


def _not_copied(folder: str, names: list[str]) -> set[str]:
    """Return the names in a folder that are not copied: FIFOs, devices, what has no end, and folders too deep."""
    left = shutil.ignore_patterns(*_NOT_COPIED)(folder, names)
    for name in set(names) - left:
        status = Path(folder, name).lstat()
        small = stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST
        shallow = stat.S_ISDIR(status.st_mode) and folder.count("/") < MAX_DEPTH
        if not (small or shallow or stat.S_ISLNK(status.st_mode)):
            left.add(name)
    return left


def files_of(tests: Iterable[str]) -> list[str]:
    return sorted({test.partition("::")[0] for test in tests})


class Runner:
    """Runs a copy of a repository's tests in a process of its own; a context manager.

    A run may take so many `seconds` of processor time. `messages`: failed assertions show their values. `without` are
    tests and files of tests that are left out, `dropped` the settings of the repository that this pytest does not know.
    `told` is called when a run is done.

    Raises:
        UsageError: Pytest is not installed, or does not start with the repository's configuration.
    """

    def __init__(
        self, tested: SourcesWithTests, seconds: float = SECONDS, python: str = sys.executable, messages: bool = False,
        without: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.tested = tested
        self.told: Callable[[], None] = lambda: None
        self._folder = tempfile.TemporaryDirectory(prefix="natlang-changing-")
        self.root = Path(self._folder.name).resolve() / "repository"
        shutil.copytree(tested.root, self.root, symlinks=True, ignore=_not_copied)
        rewriting = ["rewrite", "-o", "verbosity_assertions=2"] if messages else ["plain"]
        left = [f"--{'deselect' if '::' in each else 'ignore'}={each}" for each in without]
        command = [python, "-P", "-s", str(_WORKER), str(self.root), str(seconds), self._folder.name, *rewriting]
        command += [each.replace("{root}", str(self.root)) for each in tested.arguments]
        self._python = python
        self.dropped: list[str] = []
        while True:
            self._process = subprocess.Popen(
                [*command, *left, *tested.tests],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **_ENVIRONMENT},
                start_new_session=True,
            )
            # Importing takes this long; with an edit it may take not much longer.
            (first,) = self.ask({}, [{"tests": []}])
            unknown = unknown_settings(first.get("said", ""), self.root, self.dropped)
            if unknown is None:
                return
            self.dropped += unknown.names
            command += unknown.remedy
            self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()
        self._folder.cleanup()

    def path(self, file: str) -> str:
        return str(self.root / file)

    def ask(self, overlay: Mapping[str, str], jobs: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Do jobs, with source texts in place of files; return a reply for each."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        texts = {self.path(file): text for file, text in overlay.items()}
        request = {"overlay": texts, "jobs": jobs}
        with contextlib.suppress(BrokenPipeError):  # the process has ended; why is seen below
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        replies: list[bytes] = []
        for _ in jobs:
            replies.append(self._process.stdout.readline())
            self.told()
        if not all(replies):
            if self._process.wait() == NO_PYTEST:
                raise UsageError(f"{self._python} has no pytest, which runs the tests: pip install pytest")
            raise UsageError(f"the tests of {self.tested.root} end the process that runs them: leave those out")
        return [json.loads(reply) for reply in replies]


class UnknownSettings(NamedTuple):
    """Settings of a repository that this pytest does not know, and the arguments with which it starts without them."""

    names: list[str]
    remedy: list[str]


def unknown_settings(said: str, root: Path, known: Collection[str] = ()) -> UnknownSettings | None:
    """Return the settings that pytest does not start with, by what it wrote; None where it named no new ones."""
    named = re.findall(r"PytestConfigWarning: Unknown config option: (\S+)", said)
    if new := [each for each in dict.fromkeys(named) if each not in known]:
        return UnknownSettings(new, ["-W", "ignore::pytest.PytestConfigWarning"])
    unknown = re.search(r"error: unrecognized arguments: (.*)", said)
    where = re.search(r"inifile: (.*)", said)
    if unknown is None or where is None or not (file := Path(where[1])).is_relative_to(root):
        return None
    dropped: list[str] = []
    kept: list[str] = []
    dropping = False
    for each in _options_of(file):
        # A value of its own belongs to the option before it.
        dropping = each in unknown[1].split() if each.startswith("-") else dropping
        (dropped if dropping else kept).append(each)
    if not set(dropped) - set(known):
        return None
    return UnknownSettings(dropped, ["-o", f"addopts={shlex.join(kept)}"])


def _options_of(file: Path) -> list[str]:
    """Return pytest's `addopts` of a file of settings."""
    given: Any
    if file.suffix == ".toml":
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        table = tables.get("pytest") or tables.get("tool", {}).get("pytest", {})
        given = table.get("addopts", table.get("ini_options", {}).get("addopts", ""))
    else:
        parser = configparser.RawConfigParser(strict=False)
        parser.read(file, encoding="utf-8")
        section = "tool:pytest" if file.name == "setup.cfg" else "pytest"
        given = parser.get(section, "addopts", fallback="")
    return list(map(str, cast("list[Any]", given))) if isinstance(given, list) else shlex.split(str(given))


def outcome_of(reply: Reply, tests: Sequence[str]) -> int:
    """Return the tests that fail by a reply, or are no longer there; all of them where it says nothing of them."""
    if "failed" not in reply or reply.get("unusable"):
        return (1 << len(tests)) - 1
    passed = {*reply.get("collected", tests)} - {*reply["failed"]}
    return sum(1 << bit for bit, name in enumerate(tests) if name not in passed)


def failing(
    runner: Runner, tests: Sequence[str], overlay: Mapping[str, str], jobs: Sequence[Mapping[str, Any]] = ({},)
) -> list[int]:
    """Return for each job the tests that fail with an overlay; all of them where nothing can be imported."""
    return [outcome_of(reply, tests) for reply in runner.ask(overlay, [{"tests": tests, **job} for job in jobs])]


def names_of(outcome: int, tests: Sequence[str]) -> frozenset[str]:
    return frozenset(name for bit, name in enumerate(tests) if outcome >> bit & 1)
