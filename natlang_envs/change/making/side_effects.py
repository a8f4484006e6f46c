"""Watches what tests do beside passing and failing: lines reached, things left behind, acts outside the process."""

from __future__ import annotations

import builtins
import operator
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import CellType, FrameType, FunctionType, MappingProxyType, ModuleType
from typing import Any, cast

LOOKED_INTO = 5000  # objects, for what is left behind
DEPTH = 4
_STARTS = ("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "subprocess.Popen", "pty.spawn")
_WRITES = (
    "open", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "sqlite3.connect",
)  # fmt: skip


class Tracer:
    """Traces which lines of a file run, as the bits of a number."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._lines: set[int] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename == self._file else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._lines.add(frame.f_lineno)
        return self._line

    def take(self) -> str:
        """Return the lines since the last time, in hexadecimal; -1, which is all, where something ended the tracing."""
        mask = sum(1 << line for line in self._lines) if sys.gettrace() is self else -1
        self._lines.clear()
        sys.settrace(self)
        return f"{mask:x}"


def act_outside(event: str, arguments: tuple[Any, ...], root: str) -> str | None:
    """Return what an audited event does outside of its process, where that matters; `root` ends with a slash."""
    if event in _STARTS:
        return "starts a process, which would not see an edit"
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo"):
        return "uses the network"
    if event in _WRITES and (event != "open" or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
        path = arguments[0]
        if isinstance(path, (str, bytes)) and os.path.abspath(os.fsdecode(path)).startswith(root):  # noqa: PTH100
            return "writes into the repository"
    return None


class LeftBehind:
    """Watches what tests may leave behind: the contents of modules and other objects, and the process around them.

    They are noted once. As long as each container holds the very same objects, nothing else can be reached.
    """

    def __init__(self, modules: Sequence[ModuleType], more: Sequence[Any]) -> None:
        self._process = _process()
        self._caches: list[Any] = []
        self._held: list[tuple[Callable[[], Iterable[Any]], list[Any]]] = []
        own = {each.__name__ for each in modules}
        seen: set[int] = set()
        look = deque[tuple[Any, int]]([*((vars(each), 0) for each in modules), *((each, 0) for each in more)])
        while look and len(self._held) < LOOKED_INTO:
            value, depth = look.popleft()
            if id(value) not in seen and depth <= DEPTH and value is not builtins.__dict__:
                seen.add(id(value))
                with suppress(Exception):  # a proxy may refuse every question while nothing is behind it
                    look += [(each, depth + 1) for each in self._inside(value, own)]

    def _inside(self, value: Any, own: set[str]) -> Iterable[Any]:
        if isinstance(value, (str, int)):
            return ()
        return cast("Iterable[Any]", value) if isinstance(value, (tuple, frozenset)) else self._note(value, own)

    def is_something(self) -> bool:
        """Tell whether something was left behind; what caches hold is forgotten."""
        for each in self._caches:
            each.cache_clear()
        return self._process != _process() or any(
            len(now := list(look())) != len(held) or not all(map(operator.is_, now, held)) for look, held in self._held
        )

    def _note(self, value: Any, own: set[str]) -> list[Any]:
        looks: list[Callable[[], Iterable[Any]]] = []
        if isinstance(value, dict):
            looks = [value.keys, value.values]
        elif isinstance(value, (list, set, deque, bytearray)):
            looks = [value.__iter__]
        elif isinstance(value, MappingProxyType):
            looks = [value.values]
        elif isinstance(value, CellType):
            looks = [lambda: [value.cell_contents] if value != CellType() else []]
        elif isinstance(value, FunctionType):
            return [value.__defaults__, value.__kwdefaults__, *(value.__closure__ or ())]
        elif isinstance(value, type):
            return [vars(value)] if value.__module__ in own else []
        elif hasattr(value, "cache_clear") and hasattr(value, "cache_info"):
            value.cache_clear()
            self._caches.append(value)
        elif type(value).__module__ in own:
            slots = [name for each in type(value).__mro__ for name in getattr(each, "__slots__", ())]
            looks = [lambda: [getattr(value, name, None) for name in slots]] if slots else []
            self._held += [(look, list(look())) for look in looks]
            return [getattr(value, "__dict__", None), *(getattr(value, name, None) for name in slots)]
        noted = [(look, list(look())) for look in looks]
        self._held += noted
        return [each for _, held in noted for each in held]


def _process() -> list[Any]:
    where = os.getcwd()  # noqa: PTH109 - quicker
    return [where, dict(os.environ), list(sys.path), len(sys.modules), threading.active_count()]
