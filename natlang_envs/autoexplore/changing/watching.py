"""What tests do beside passing and failing: the lines they reach, what they leave behind, what they do outside."""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

LOOKED_INTO = 5000  # objects, for what is left behind
DEPTH = 4
_STARTS = ("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "subprocess.Popen", "pty.spawn")
_WRITES = (
    "open",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "sqlite3.connect",
)


class Tracer:
    """Which lines of a file run, as the bits of a number."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._lines: set[int] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        """Trace the lines of the file only."""
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


class Left:
    """A mark of what tests may leave behind; it is another where something was."""

    def __init__(self, modules: Sequence[ModuleType], more: Sequence[Any]) -> None:
        self.process = (
            os.getcwd(),  # noqa: PTH109 - quicker
            dict(os.environ),
            list(sys.path),
            len(sys.modules),
            threading.active_count(),
        )
        self.held: list[list[Any]] = []  # keeps all of it alive, so that nothing else gets the same id
        own = {each.__name__ for each in modules}
        seen: set[int] = set()
        look = deque[tuple[Any, int]]([*((vars(each), 0) for each in modules), *((each, 0) for each in more)])
        while look and len(self.held) < LOOKED_INTO:
            value, depth = look.popleft()
            if id(value) not in seen and depth <= DEPTH:
                seen.add(id(value))
                if held := _held(value, own):
                    self.held.append([value, *held])
                    look += [(each, depth + 1) for each in held if not isinstance(each, (str, int))]

    def same(self, other: Left) -> bool:
        """Tell whether nothing was left behind between two marks."""
        return (
            self.process == other.process
            and len(self.held) == len(other.held)
            and all(
                len(one) == len(two) and all(map(operator.is_, one, two))
                for one, two in zip(self.held, other.held, strict=True)
            )
        )


def _held(value: Any, own: set[str]) -> list[Any]:
    """Return what a value holds; a cache is emptied."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return list(value)
    if isinstance(value, bytearray):
        return list(value)
    if isinstance(value, FunctionType):
        cells = [each.cell_contents for each in value.__closure__ or () if each != CellType()]
        return [value.__defaults__, value.__kwdefaults__, *cells]
    if hasattr(value, "cache_clear") and hasattr(value, "cache_info"):
        value.cache_clear()
    elif getattr(value if isinstance(value, type) else type(value), "__module__", "") in own:
        slots = [name for each in type(value).__mro__ for name in getattr(each, "__slots__", ())]
        return [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]
    return []
