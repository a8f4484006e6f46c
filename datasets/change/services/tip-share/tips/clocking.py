"""Spans of work, in quarters of an hour, and the weeks that they belong to."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

QUARTER = 15
DAY = 24 * 60
SHORTEST = 30  # minutes of a span that counts
LONGEST = 13 * 60

BAR = "bar"
OFFICE = "office"
HOLIDAY = "holiday"
SICK = "sick"
KINDS = (BAR, OFFICE, HOLIDAY, SICK)


@dataclass(frozen=True)
class Span:
    """Somebody's work without a gap.

    Attributes:
        person: Who.
        cafe: Where.
        day: The day on which it began.
        start: In minutes of that day.
        end: In minutes of that day; what lasts beyond midnight ends above 1,440.
        kind: One of `KINDS`.
    """

    person: str
    cafe: str
    day: date
    start: int
    end: int
    kind: str = BAR

    @property
    def minutes(self) -> int:
        """How long, with both ends at the nearest quarter."""
        return max(0, quarter(self.end) - quarter(self.start))

    @property
    def is_work(self) -> bool:
        """Whether somebody was there."""
        return self.kind not in (HOLIDAY, SICK)


class BadSpan(ValueError):
    """A span that the clock cannot have meant."""


def quarter(minute: int) -> int:
    """Return the nearest quarter of an hour; seven minutes go down, eight go up."""
    return (minute + QUARTER // 2) // QUARTER * QUARTER


def minute_of(text: str) -> int:
    """Read a time such as `06:45`."""
    hours, _, minutes = text.partition(":")
    if not (hours.isdecimal() and minutes.isdecimal() and len(minutes) == 2):
        raise BadSpan(f"no time: {text!r}")
    if int(hours) > 24 or int(minutes) >= 60:
        raise BadSpan(f"no time of a day: {text!r}")
    return int(hours) * 60 + int(minutes)


def parse_span(line: str, cafe: str) -> Span:
    """Read a line of the clock, such as `2026-03-02 Ines Roth 06:45-14:30` or `… 22:00-01:15 office`."""
    words = line.split()
    kind = words.pop() if words and words[-1] in KINDS else BAR
    if len(words) < 3:
        raise BadSpan(f"too short: {line!r}")
    day, times = date.fromisoformat(words[0]), words[-1]
    begin, dash, finish = times.partition("-")
    if not dash:
        raise BadSpan(f"no end: {line!r}")
    start, end = minute_of(begin), minute_of(finish)
    if end <= start:
        end += DAY
    if not SHORTEST <= end - start <= LONGEST:
        raise BadSpan(f"{end - start} minutes: {line!r}")
    return Span(" ".join(words[1:-1]), cafe, day, start, end, kind)


def monday(day: date) -> date:
    """Return the first day of a day's week."""
    return day - timedelta(days=day.weekday())


def sunday(day: date) -> date:
    """Return the last day of a day's week."""
    return monday(day) + timedelta(days=6)


def in_week(spans: Iterable[Span], cafe: str, week: date) -> list[Span]:
    """Return the spans of a café that began in the week of a day, by day, start and person."""
    first = monday(week)
    found = [span for span in spans if span.cafe == cafe and first <= span.day <= sunday(week)]
    return sorted(found, key=lambda span: (span.day, span.start, span.person))


def overlaps(spans: Iterable[Span]) -> list[tuple[Span, Span]]:
    """Return the pairs of spans in which somebody works twice at once."""
    found = []
    last: dict[str, Span] = {}
    for span in sorted(spans, key=lambda each: (each.person, each.day, each.start)):
        before = last.get(span.person)
        if before is not None:
            apart = (span.day - before.day).days * DAY
            if span.start + apart < before.end:
                found.append((before, span))
        last[span.person] = span
    return found
