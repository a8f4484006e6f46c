"""One run over the files of the current folder: of tests, of calls recorded under tests, or of answers.

    python -I referee.py FILE

The file says in JSON what is asked. What was found goes to standard output as JSON, and nothing else does. Where
sources are judged, the file holds questions alone: neither tests nor what is expected.
"""

# ruff: noqa: E402
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import os
import sys

_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}  # fmt: skip
if __name__ == "__main__" and os.environ.get("PYTHONHASHSEED") != "0":  # before anything else takes its time
    _KEPT = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    os.execve(sys.executable, [sys.executable, "-s", "-P", "-B", *sys.argv], {**_ENVIRONMENT, **_KEPT})

import contextlib
import functools
import importlib
import json
import resource
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from natlang_envs.change.free_edits.inside.calls import COMPARING, Calls, Unfit, Unknown
else:  # alone, without the suite
    sys.path.insert(0, str(Path(__file__).parent))
    from calls import COMPARING, Calls, Unfit, Unknown

    sys.path.pop(0)
_NOT_IMPORTED = ("__main__", "setup", "conftest")


class Reports:
    """How tests ended, and the calls that they made: recorded of `sources`, or answered by `table` but for `local`."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked
        self._table: dict[str, str] | None = asked.get("table")
        self._local = frozenset(asked.get("local", ()))
        self._inside = False
        self._now = ""
        self.calls: Calls | None = None
        self.found: dict[str, Any] = {"parts": defaultdict(list), "reasons": {}, "unknown": {}, "answers": {}}

    def pytest_sessionstart(self) -> None:
        """Import the package, and stand at its border."""
        if "sources" not in self._asked:
            return
        root = Path.cwd()
        # An editable installation adds a name to sys.path that is no folder.
        folders = [Path(each) for each in dict.fromkeys(sys.path) if Path(each).is_absolute()]
        path = [each for each in folders if each.resolve().is_relative_to(root)]
        names: set[str] = set()
        for source in map(root.joinpath, self._asked["sources"]):
            base = max((each for each in path if source.is_relative_to(each)), key=lambda x: len(x.parts), default=None)
            if base is not None and source.stem not in _NOT_IMPORTED:
                name = ".".join(source.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
                    names.add(name)
        self.calls = calls = Calls(names)
        files = [str(root / each) for each in self._asked["sources"]]
        self.found.update(modules=sorted(names), path=[str(each.relative_to(root)) for each in path])
        for question in [json.dumps([name, "read", ["list"], ["dict"]]) for name in calls.constants()]:
            self._constant(calls, question)
        swap: dict[int, Any] = {}
        for holder, attribute, name, found in list(calls.members(files)):
            made = _wrapped(found, holder, name, self._crossing)
            setattr(holder, attribute, made)
            swap[id(found)] = made, found
        for name in names:
            for attribute, found in list(vars(sys.modules[name]).items()):
                if id(found) in swap:
                    setattr(sys.modules[name], attribute, swap[id(found)][0])

    def _constant(self, calls: Calls, question: str) -> None:
        if self._table is None:
            answer = json.loads(calls.answer(question))
            if answer[0] == "returned":
                self.found["answers"][question] = json.dumps(answer)
        elif question in self._table and question not in self._local:
            holder, attribute = calls.place(json.loads(question)[0])
            plain = json.loads(self._table[question])[1]
            if not callable(getattr(holder, attribute)):
                try:
                    setattr(holder, attribute, calls.value(plain))
                except Unfit:
                    delattr(holder, attribute)

    def _crossing(self, function: Callable[..., Any], name: str, way: str, /, *given: Any, **named: Any) -> Any:
        """Answer a call that comes from outside."""
        calls = self.calls
        if self._inside or calls is None:
            return function(*given, **named)
        self._inside = True
        try:
            made = given[0] if way == "new" else None
            if way == "new":
                name = f"{type(made).__module__}:{type(made).__qualname__}"
                calls.resolve(name)
                given = given[1:]
                function = functools.partial(_new, function, made)
            asked = calls.question(name, way, given, named)
            question = json.dumps(asked)
        except (Unfit, ValueError):
            return function(*given, **named)
        else:
            if self._table is None:
                answer, result, raised = calls.told(function, given, named, ["list", *asked[2:]])
                self.found["answers"].setdefault(question, answer)
                if raised is not None:
                    raise raised
                return None if way == "new" else result
            if question in self._local or name.endswith(COMPARING):
                return function(*given, **named)
            return self._answered(calls, question, made, given, named)
        finally:
            self._inside = False

    def _answered(self, calls: Calls, question: str, made: Any, given: Any, named: dict[str, Any]) -> Any:
        assert self._table is not None
        if question not in self._table:
            self.found["unknown"].setdefault(self._now, question)
            raise Unknown
        how, value, *rest = json.loads(self._table[question])
        if how not in ("returned", "raised"):
            raise Unfit
        after, out, err = rest
        if after is not None:
            calls.merged([[*given], named], after)
        sys.stdout.write(out)
        sys.stderr.write(err)
        if how == "raised":
            raise calls.value(value)
        if made is None:
            return calls.value(value)
        calls.merged(made, value)
        return None

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.found["reasons"].setdefault(report.nodeid, report.longreprtext)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._now = nodeid

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.found["parts"][report.nodeid].append([report.when, report.outcome])
        if report.failed and self._asked.get("explain"):
            self.found["reasons"].setdefault(report.nodeid, report.longreprtext)


def _new(function: Callable[..., Any], made: Any, /, *given: Any, **named: Any) -> Any:
    function(made, *given, **named)
    return made


def _wrapped(found: Any, holder: Any, name: str, crossing: Callable[..., Any]) -> Any:
    """Return what stands at the border in the place of a function, method or property."""
    if isinstance(found, property):
        return property(functools.partial(crossing, found.fget, name, "get"), found.fset, found.fdel, found.__doc__)
    kind = type(found) if isinstance(found, classmethod | staticmethod) else None
    function: Any = found if kind is None else found.__func__
    inside = isinstance(holder, type) and kind is not staticmethod
    way = "new" if name.endswith(".__init__") else "method" if inside else "function"

    @functools.wraps(function)
    def outer(*given: Any, **named: Any) -> Any:
        return crossing(function, name, way, *given, **named)

    for each in ("cache_clear", "cache_info"):
        if hasattr(function, each):
            setattr(outer, each, getattr(function, each))
    return outer if kind is None else kind(outer)


def _tests(asked: dict[str, Any]) -> dict[str, Any]:
    if "lab" in asked:
        sys.path.insert(0, asked["lab"])
    import pytest

    reports = Reports(asked)
    options = ("--assert=rewrite", "--tb=short") if asked.get("explain") else ("--assert=plain", "--tb=no")
    root = str(Path.cwd())
    arguments = [each.replace("{root}", root) for each in asked["arguments"]]
    pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", root, *options, *arguments], plugins=[reports])
    return reports.found


def _answers(asked: dict[str, Any]) -> list[str]:
    sys.path[:0] = [str(Path.cwd() / each) for each in asked["path"]]
    calls = Calls(asked["modules"])
    return [calls.answer(each) for each in asked["questions"]]


def main(file: str) -> None:
    asked: dict[str, Any] = json.loads(Path(file).read_bytes())
    resource.setrlimit(resource.RLIMIT_CPU, (asked["seconds"], asked["seconds"]))
    said = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    found = json.dumps(_answers(asked) if "questions" in asked else _tests(asked)).encode()
    while found:
        found = found[os.write(said, found) :]
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
