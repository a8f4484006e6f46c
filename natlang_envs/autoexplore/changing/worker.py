"""Runs a repository's tests again and again, as they are or with one edit, in forks: a script of its own, with pytest.

It imports nothing of the suite, so that a fork is small and the tests see what they would see alone. Each line of
standard input is a batch: an *overlay* of source texts, and jobs. A fork imports the sources with the overlay, collects
the tests once, and answers each job with a line of JSON on standard output.

A job names the tests to run, and may change one function: its new code is put in place of the old in a fork, which
takes a hundredth of a second. Whatever else an edit changes needs a batch of its own.

    {"overlay": {"/shop/prices.py": "…"}, "jobs": [{"cover": "/shop/prices.py"}, {"tests": ["tests/t.py::test_b"]}]}

The time limits are of processor time, so that a busy machine changes no result. A run that meets one is `hung`.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import random
import select
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

COLLECTION_SECONDS = 5.0
WALL_SECONDS = 120  # for a test that sleeps; a busy machine is not that slow

Job = dict[str, Any]
Reply = dict[str, Any]


class Overlay(SourceFileLoader):
    """Texts that are imported in place of files."""

    texts: dict[str, str] = {}  # noqa: RUF012 - one for the process
    _of_file = SourceFileLoader.get_code

    @staticmethod
    def code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        """Return a module's code: that of its text in the overlay, or of its file."""
        text = Overlay.texts.get(loader.path)
        if text is None:
            return Overlay._of_file(loader, fullname)
        return compile(text, loader.path, "exec", dont_inherit=True)


class Session:
    """A pytest plugin: once the tests are collected, it does the jobs in place of running them."""

    def __init__(self, jobs: list[Job], seconds: float, output: int) -> None:
        self.jobs = jobs
        self.seconds = seconds
        self.output = output
        self.failed: set[str] = set()
        self.imported: set[tuple[str, int]] = set()
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        self.broken = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notice a test file that cannot be imported."""
        self.broken |= report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure, of the test or around it."""
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the jobs."""
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                code = each.__code__
                self.functions[code.co_filename, code.co_name, code.co_firstlineno].append(each)
        gc.collect()
        gc.freeze()
        items = {item.nodeid: item for item in session.items}
        for job in self.jobs:
            # Which tests there are may depend on the overlay; one function's code changes none.
            named = {} if "source" in job else {"tests": list(items)}
            self._answer({**named, **self._do(job, items)})
        os._exit(0)

    def _do(self, job: Job, items: dict[str, pytest.Item]) -> Reply:
        if self.broken:
            return {"broken": True}
        if "cover" in job:
            return _forked(self.seconds * 20, lambda: self._covered(job["cover"], items))
        return _forked(self.seconds, lambda: self._run(job, items))

    def _run(self, job: Job, items: dict[str, pytest.Item]) -> Reply:
        names = list(items) if job.get("tests") is None else list(job["tests"])
        if "shuffle" in job:
            random.Random(job["shuffle"]).shuffle(names)
        if "source" in job and not self._replace(job["file"], job["source"], job["function"]):
            return {"apart": True}
        for _ in self._each(names, items):
            pass
        return {"failed": sorted(self.failed)}

    def _replace(self, file: str, source: str, function: list[Any]) -> bool:
        """Put a function's new code in place of the old; False where that cannot be done."""
        name, line = str(function[0]), int(function[1])
        code = list(_codes(compile(source, file, "exec", dont_inherit=True), name, line))
        found = self.functions.get((file, name, line), [])
        if len(code) != 1 or not found:
            return False
        try:
            for each in found:
                each.__code__ = code[0]
        except ValueError:  # it sees other variables of an enclosing scope
            return False
        return True

    def _each(self, names: list[str], items: dict[str, pytest.Item]) -> Iterator[str]:
        chosen = [items[name] for name in names]
        for item, after in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            yield item.nodeid

    def _covered(self, file: str, items: dict[str, pytest.Item]) -> Reply:
        """Run everything and return which lines of a file each test reaches, and which functions ran at import."""
        lines: set[int] = set()
        found: dict[str, list[int]] = {}

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != file:
                return None
            if event == "line":
                lines.add(frame.f_lineno)
            return trace

        sys.settrace(trace)
        for name in self._each(list(items), items):
            found[name] = sorted(lines)
            lines.clear()
        sys.settrace(None)
        imported = sorted(line for path, line in self.imported if path == file)
        return {"failed": sorted(self.failed), "lines": found, "imported": imported}

    def _answer(self, reply: Reply) -> None:
        os.write(self.output, json.dumps(reply).encode() + b"\n")

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a function that runs while modules are imported."""
        if event == "call":
            self.imported.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))


def _codes(code: CodeType, name: str, line: int) -> Iterator[CodeType]:
    """Yield the code of a function or method that stands in a module's code, not inside another function."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if (each.co_name, each.co_firstlineno) == (name, line):
                yield each
            elif not each.co_flags & inspect.CO_OPTIMIZED:  # a class
                yield from _codes(each, name, line)


def _forked(seconds: float, work: Callable[[], Reply]) -> Reply:
    """Do something in a fork and return what it replies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        reply: Reply = {"broken": True}
        with contextlib.suppress(BaseException):
            os.setsid()
            signal.setitimer(signal.ITIMER_PROF, seconds)
            reply = work()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(reply).encode())
        os._exit(0)
    os.close(writing)
    content = _read(reading, child, WALL_SECONDS)
    return json.loads(content) if content else {"hung": True}


def _read(reading: int, child: int, seconds: float) -> bytes:
    """Return all that a child writes; one that is silent for too long is killed with its own children."""
    content = b""
    while select.select([reading], [], [], seconds)[0] and (more := os.read(reading, 1 << 16)):
        content += more
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return content


def _batch(batch: dict[str, Any], arguments: list[str], seconds: float) -> bytes:
    """Do a batch in a fork and return a line for each of its jobs."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        Overlay.texts = batch["overlay"]
        session = Session(batch["jobs"], seconds, writing)
        signal.setitimer(signal.ITIMER_PROF, seconds + COLLECTION_SECONDS)
        if any("cover" in job for job in batch["jobs"]):
            sys.setprofile(session.profile)
        with contextlib.suppress(BaseException):
            pytest.main(arguments, plugins=[session])
        os._exit(1)
    os.close(writing)
    content = _read(reading, child, 3 * WALL_SECONDS)  # it may itself wait for one that sleeps
    missing = len(batch["jobs"]) - content.count(b"\n")
    return content + b'{"broken": true}\n' * missing


def main() -> None:
    """Answer batches until the end of standard input: `worker.py ROOT SECONDS TEMPORARY TESTS…`."""
    root, seconds, temporary, *tests = sys.argv[1:]
    os.chdir(root)
    sys.pycache_prefix = temporary + "/compiled"
    # Overlaid sources have the same time and size as their files, so pytest's tests alone may be kept compiled.
    SourceFileLoader.get_code = Overlay.code  # type: ignore[method-assign,assignment]
    arguments = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=no", "--rootdir", root]
    arguments += ["--basetemp", temporary + "/tests", *tests]
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    with os.fdopen(requests) as lines:
        for line in lines:
            content = _batch(json.loads(line), arguments, float(seconds))
            while content:
                content = content[os.write(replies, content) :]


if __name__ == "__main__":
    main()
