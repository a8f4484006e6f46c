"""Runs a repository's tests again and again, as they are or with other code, in forks: a script of its own.

It imports nothing of the suite, so that a fork is small and the tests see what they would see alone. Each line of
standard input is a batch: an *overlay* of source texts, and jobs. A fork imports the sources with the overlay, collects
the tests once, and answers each job with a line of JSON on standard output.

A job names the tests to run, and may change functions: their new code is put in place of the old. Whatever else an edit
changes needs a batch of its own. One fork does job after job as long as nothing is left behind: the global variables of
the repository's modules and what these hold, the working directory, the environment. Then, or where a job ends the
process, the next fork continues.

    {"overlay": {"/shop/prices.py": "…"}, "jobs": [{"tests": ["tests/t.py::test_b"], "trace": "/shop/prices.py"},
     {"changes": [["total", 12, 12, "def total(…", 0]], "file": "/shop/prices.py", "shuffle": 1, "alone": true}]}

The time limits are of processor time, so that a busy machine changes no result. A run that meets one is `hung`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import os
import random
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard, cast

try:
    import pytest
    from _pytest.config import default_plugins
except ModuleNotFoundError as missing:
    if missing.name != "pytest":
        raise
    sys.exit(3)  # `fork_runner.NO_PYTEST`

COLLECTION_SECONDS = 10.0  # of the first batch, which is of the sources as they are
WALL_SECONDS = 120  # for a test that sleeps; a busy machine is not that slow
QUICK = 2  # tests that are called without pytest have half of the time

if TYPE_CHECKING:
    from natlang_envs.change.making.side_effects import LeftBehind, Tracer, act_outside
else:  # alone, without the suite
    _beside = spec_from_file_location("natlang_side_effects", Path(__file__).with_name("side_effects.py"))
    side_effects = module_from_spec(_beside)
    _beside.loader.exec_module(side_effects)
    LeftBehind, Tracer, act_outside = side_effects.LeftBehind, side_effects.Tracer, side_effects.act_outside

Job = dict[str, Any]
Reply = dict[str, Any]

_texts: dict[str, str] = {}  # imported in place of files, by path
_ran: set[tuple[str, int]] = set()  # functions that ran at import, by file and first line


def _import_texts(root: str) -> None:
    """Import texts in place of files, and note the functions that run while modules of the repository are imported."""
    get_code, exec_module = SourceFileLoader.get_code, SourceFileLoader.exec_module

    def code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        text = _texts.get(loader.path)
        return get_code(loader, fullname) if text is None else compile(text, loader.path, "exec", dont_inherit=True)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            _ran.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    def run(loader: SourceFileLoader, module: ModuleType) -> None:
        before = sys.getprofile()
        if loader.path.startswith(root):
            sys.setprofile(note)
        try:
            exec_module(loader, module)
        finally:
            sys.setprofile(before)

    SourceFileLoader.get_code = code  # type: ignore[method-assign,assignment]
    SourceFileLoader.exec_module = run  # type: ignore[method-assign,assignment]


class ForkSession:
    """A pytest plugin: once the tests are collected, it does the jobs in place of running them."""

    def __init__(self, batch: dict[str, Any], seconds: float, root: str, output: int) -> None:
        self.jobs: list[Job] = batch["jobs"]
        self.seconds, self.root, self.output = seconds, root + os.sep, output
        self.failed: set[str] = set()
        self.messages: dict[str, list[str]] = {}
        self.acts: list[str] = []
        self.direct: dict[str, pytest.Function] = {}
        self.unusable: dict[str, str] = {}  # files that cannot be imported
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        self.pid = os.getpid()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
            self.unusable[report.nodeid] = (lines or str(report.longrepr).splitlines() or [""])[-1][2:].strip()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None and isinstance(node, pytest.Item):
            kind = call.excinfo.type.__name__
            self.messages.setdefault(node.nodeid, [kind, str(call.excinfo.value)])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        for each in gc.get_objects():
            if type(each) is FunctionType:  # a proxy may refuse `isinstance`
                code = each.__code__
                self.functions[code.co_filename, code.co_name, code.co_firstlineno].append(each)
        items = {item.nodeid: item for item in session.items}
        if not session.config.getini("filterwarnings") and not session.config.getoption("pythonwarnings"):
            self.direct = {name: item for name, item in items.items() if _is_plain(item)}
        done = 0
        while done < len(self.jobs):
            done += self._go_on(self.jobs[done:], items)
        os._exit(0)

    def give_up(self) -> None:
        """Answer all jobs, since importing and collecting does not end."""
        reply = {"broken": True, "imported": sorted(_ran)}
        for _ in self.jobs:
            self._answer(json.dumps(reply).encode())
        os._exit(0)

    def _go_on(self, jobs: list[Job], items: dict[str, pytest.Item]) -> int:
        """Do jobs in one fork until one leaves something behind or ends the process; return how many are answered."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            if "watch" in jobs[0]:
                sys.addaudithook(self._audit)
            with contextlib.suppress(BaseException):
                os.setsid()
                self._child(jobs, items, writing)
            os._exit(0)
        os.close(writing)
        count, rest = 0, b""
        for piece in _pieces(reading, child, WALL_SECONDS):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if not line:
                    return count
                self._answer(line)
                count += 1
        self._answer(b'{"hung": true}')
        return count + 1

    def _child(self, jobs: list[Job], items: dict[str, pytest.Item], output: int) -> None:
        self.pid = os.getpid()
        gc.enable()
        modules = [each for each in sys.modules.values() if str(getattr(each, "__file__", "")).startswith(self.root)]
        left = LeftBehind(modules, [given for item in items.values() if (given := _parameters(item))])
        with os.fdopen(output, "wb") as pipe:
            for job in jobs:
                quick = self.direct.keys() >= items.keys() and not _by_pytest(job)
                seconds = self.seconds / QUICK if quick else self.seconds
                signal.setitimer(signal.ITIMER_PROF, seconds * (2 if "trace" in job else 1))
                # Which tests there are may depend on the overlay; one function's code changes none.
                reply = {**({} if "changes" in job else self._about(items)), **self._run(job, items)}
                signal.setitimer(signal.ITIMER_PROF, 0)
                pipe.write(json.dumps(reply).encode() + b"\n")
                pipe.flush()
                if job.get("alone") or left.is_something():
                    break
            pipe.write(b"\n")
            pipe.flush()

    def _about(self, items: dict[str, pytest.Item]) -> Reply:
        return {"collected": list(items), "unusable": self.unusable, "imported": sorted(_ran)}

    def _run(self, job: Job, items: dict[str, pytest.Item]) -> Reply:
        if self.unusable:
            return {}
        names = list(items) if job.get("tests") is None else [name for name in job["tests"] if name in items]
        if "shuffle" in job:
            random.Random(job["shuffle"]).shuffle(names)
        self.failed, self.messages, self.acts = set(), {}, []
        found: dict[str, str] = {}
        acts: dict[str, str] = {}
        old: list[tuple[FunctionType, CodeType]] = []
        tracer = Tracer(job["trace"]) if "trace" in job else None
        direct = {} if _by_pytest(job) else self.direct
        try:
            for name, line, *source in job.get("changes", ()):
                code = _code_of(job["file"], name, line, *source)
                functions = self.functions.get((job["file"], name, line), [])
                if code is None or not functions:
                    return {"apart": True}
                for each in functions:
                    old.append((each, each.__code__))
                    each.__code__ = code
            begin = time.process_time()
            if tracer:
                sys.settrace(tracer)
            for item, after in zip(names, [*names[1:], None], strict=True):
                if item in direct:
                    self._call(item, direct[item])
                else:
                    items[item].config.hook.pytest_runtest_protocol(
                        item=items[item], nextitem=items[after] if after else None
                    )
                if os.getpid() != self.pid:  # the test forked, and its child came back
                    os._exit(1)
                if tracer:
                    found[item] = tracer.take()
                if self.acts:
                    acts[item], self.acts = self.acts[0], []
        except ValueError:  # a function sees other variables of an enclosing scope
            return {"apart": True}
        finally:
            sys.settrace(None)
            for each, code in old:
                each.__code__ = code
        more = {"trace": ("lines", found), "messages": ("messages", self.messages), "watch": ("acts", acts)}
        seconds = time.process_time() - begin
        return {"failed": sorted(self.failed), "seconds": seconds, **dict(more[each] for each in more if each in job)}

    def _call(self, name: str, item: pytest.Function) -> None:
        """Call a test that needs nothing of pytest; a quarter of a thousandth of a second is saved."""
        try:
            test: Callable[..., Any] = _function(item) if item.cls is None else getattr(item.cls(), item.originalname)
            test(**_parameters(item))
        except (pytest.skip.Exception, pytest.xfail.Exception):
            pass
        except (Exception, SystemExit, pytest.fail.Exception):
            self.failed.add(name)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        self.acts += [why for why in [act_outside(event, arguments, self.root)] if why]

    def _answer(self, line: bytes) -> None:
        _write(self.output, line + b"\n")


def _by_pytest(job: Job) -> bool:
    return "protocol" in job or "messages" in job or "watch" in job


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}  # type: ignore[attr-defined]


def _function(item: pytest.Function) -> Callable[..., Any]:
    return cast("Callable[..., Any]", getattr(item, "function"))  # noqa: B009 - pytest gives it no type


def _is_plain(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Tell whether a test is a function that needs no fixture and has no mark but its parameters."""
    if type(item) is not pytest.Function or inspect.iscoroutinefunction(_function(item)):
        return False
    # Only the name of this function shows that a parameter is given directly.
    definitions: dict[str, Any] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - pytest's own
    given = _parameters(item)
    direct = {
        name for name in given
        if name not in definitions or definitions[name][-1].func.__name__ == "get_direct_param_fixture_func"
    }  # fmt: skip
    return set(item.fixturenames) <= direct and {each.name for each in item.iter_markers()} <= {"parametrize"}


@cache
def _code_of(file: str, name: str, line: int, first: int, source: str, flags: int) -> CodeType | None:
    """Return the code of a function or method; its source begins in the line `first`, perhaps with its class."""
    whole = compile("\n" * (first - 1) + source, file, "exec", flags=flags, dont_inherit=True)
    found = list(_codes(whole, name, line))
    return found[0] if len(found) == 1 else None


def _codes(code: CodeType, name: str, line: int) -> Iterator[CodeType]:
    """Yield the code of a function or method of a module, unless it is inside another function."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if (each.co_name, each.co_firstlineno) == (name, line):
                yield each
            elif not each.co_flags & inspect.CO_OPTIMIZED:  # a class
                yield from _codes(each, name, line)


def _pieces(reading: int, child: int, seconds: float) -> Iterator[bytes]:
    """Yield what a child writes; one that is silent for too long is killed with its own children."""
    try:
        while select.select([reading], [], [], seconds)[0] and (more := os.read(reading, 1 << 16)):
            yield more
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _batch(
    batch: dict[str, Any], arguments: list[str], seconds: float, root: str, limit: float, replies: int, errors: Path
) -> float:
    """Do a batch in a fork and write a line for each of its jobs; return the processor time that its fork took.

    What pytest writes goes to the file `errors`, and is told where a job has no other reply.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        written = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(written, 1)
        os.dup2(written, 2)
        _texts.update(batch["overlay"])
        session = ForkSession(batch, seconds, root, writing)
        signal.signal(signal.SIGPROF, lambda _number, _frame: session.give_up())
        signal.setitimer(signal.ITIMER_PROF, limit)
        with contextlib.suppress(BaseException):
            pytest.main(arguments, plugins=[session])
        os._exit(1)
    os.close(writing)
    answered = 0
    for piece in _pieces(reading, child, 3 * WALL_SECONDS):  # it may itself wait for one that sleeps
        answered += piece.count(b"\n")
        _write(replies, piece)
    if missing := len(batch["jobs"]) - answered:
        said = errors.read_bytes()[-2_000:].decode("utf-8", "replace")
        _write(replies, json.dumps({"broken": True, "said": said}).encode() + b"\n")
        _write(replies, b'{"broken": true}\n' * (missing - 1))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _write(output: int, content: bytes) -> None:
    while content:
        content = content[os.write(output, content) :]


def main() -> None:
    """Answer batches until the end of standard input: `worker.py ROOT SECONDS TEMPORARY ASSERT ARGUMENTS…`."""
    root, seconds, temporary, rewriting, *more = sys.argv[1:]
    os.chdir(root)
    sys.path[:0] = [root, *([root + "/src"] if os.path.isdir("src") else [])]  # noqa: PTH112 - as `python -m pytest`
    sys.pycache_prefix = temporary + "/compiled"
    # Overlaid sources have the same time and size as their files, so pytest's tests alone may be kept compiled.
    _import_texts(root + os.sep)
    for name in (*(f"_pytest.{each}" for each in default_plugins), "pdb", "tomllib"):  # so that no fork imports them
        importlib.import_module(name)
    gc.disable()
    gc.freeze()
    arguments = ["-q", "-s", "-p", "no:cacheprovider", f"--assert={rewriting}", "--tb=no", "--rootdir", root]
    arguments += ["--basetemp", temporary + "/tests", *more]
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    with os.fdopen(requests) as lines:
        limit = COLLECTION_SECONDS
        for number, line in enumerate(lines):
            took = _batch(json.loads(line), arguments, float(seconds), root, limit, replies, Path(temporary, "errors"))
            if not number:
                limit = min(limit, 0.5 + 4 * took)


if __name__ == "__main__":
    main()
