"""Times of the day in minutes, and the hours in which a door is open."""

import re
from dataclasses import dataclass

MIDNIGHT = 24 * 60
_TIME = re.compile(r"(\d{2}):(\d{2})")


class BadTime(ValueError):
    """Text that is no time or window."""


def minute(text: str) -> int:
    """Return the minute of the day of `07:30`."""
    found = _TIME.fullmatch(text.strip())
    if not found or int(found[1]) > 23 or int(found[2]) > 59:
        raise BadTime(f"{text!r} is no time")
    return int(found[1]) * 60 + int(found[2])


def clock(minutes: int) -> str:
    """Return a minute of the day as `07:30`; after midnight the hours begin again."""
    hours, rest = divmod(minutes % MIDNIGHT, 60)
    return f"{hours:02}:{rest:02}"


@dataclass(frozen=True)
class Window:
    """From when until when a door is open; at `closes` it is still open."""

    opens: int = 0
    closes: int = MIDNIGHT - 1

    def __post_init__(self) -> None:
        """Refuse a door that closes before it opens."""
        if not 0 <= self.opens <= self.closes < MIDNIGHT:
            raise BadTime(f"a door open from {self.opens} to {self.closes}")

    def wait(self, arrival: int) -> int:
        """Return the minutes to wait."""
        return max(0, self.opens - arrival)

    def late(self, arrival: int) -> int:
        """Return by how many minutes an arrival is too late."""
        return max(0, arrival - self.closes)

    def without(self, start: int, end: int) -> "Window":
        """Return the window less a stretch at its beginning, as when nobody may talk during prayer."""
        if start <= self.opens < end:
            return Window(min(end, self.closes), self.closes)
        return self


def parse_window(text: str) -> Window:
    """Read `07:00-10:00`, `from 08:00`, `until 09:30` or `any`."""
    text = text.strip()
    if text == "any":
        return Window()
    if text.startswith("from "):
        return Window(opens=minute(text.removeprefix("from ")))
    if text.startswith("until "):
        return Window(closes=minute(text.removeprefix("until ")))
    first, dash, last = text.partition("-")
    if not dash:
        raise BadTime(f"{text!r} is no window")
    return Window(minute(first), minute(last))
