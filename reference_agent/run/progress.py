"""What is said while something learns: a line at most every ten seconds, and one at the end of each part."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

from natlang_envs.errors import UsageError

Say = Callable[[str], None]
_EVERY = 10.0  # seconds
_DEARER = 10  # a check is made where so many times its own duration has passed since the last


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class ProgressLines:
    """Says how far something is, with the time since it began."""

    def __init__(self, say: Say) -> None:
        if not callable(say):
            raise UsageError(f"say is {say!r}: give a function that takes a line")
        self._say, self._began = say, perf_counter()
        self._last, self._checked, self._took = self._began, self._began, 0.0

    def line(self, text: str) -> None:
        self._last = perf_counter()
        seconds = int(self._last - self._began)
        self._say(f"{seconds // 60}:{seconds % 60:02} {text}")

    def step(self, name: str, step: int, steps: int, value: float) -> None:
        """Say a part's step, if it is the last or nothing was said for a while; `steps` is 0 where nobody knows."""
        if step == steps or perf_counter() - self._last > _EVERY:
            self.line(f"{name} {step} of {steps}: {value:.3f}" if steps else f"{name} {step}: {value:.3f}")

    def check(self, look: Callable[[], object], now: bool = False) -> None:
        """Say what `look` returns, if that is due: it takes a tenth of the time at most, unless it is to be now."""
        before = perf_counter()
        if now or before - self._checked > max(_EVERY, _DEARER * self._took):
            self.line(str(look()))
            self._checked = perf_counter()
            self._took = self._checked - before
