"""A day of visits: which machines fit into it, in which order, and when Holt is back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from machines.due import Task, minutes_needed, most_urgent, parts_needed
from machines.van import taken

STARTS = 6 * 60 + 30
ENDS = 15 * 60 + 30
LUNCH = 30
LUNCH_FROM = 12 * 60
SETUP = 10  # minutes for tools and for a test shot at each café
HOME = "C02"
RUSH = ((7 * 60 + 30, 9 * 60), (12 * 60, 13 * 60 + 30))


@dataclass(frozen=True)
class Visit:
    """A visit to a café: when it begins, when it ends, and what is done."""

    cafe: str
    begins: int
    ends: int
    works: tuple[str, ...]


def clock(minute: int) -> str:
    """Return a minute of the day as a time."""
    return f"{minute // 60:02}:{minute % 60:02}"


def way(ways: Mapping[tuple[str, str], int], one: str, other: str) -> int:
    """Return the minutes between two cafés, the same both ways."""
    if one == other:
        return 0
    return ways[min(one, other), max(one, other)]


def by_cafe(found: Sequence[Task], today: date) -> dict[str, list[Task]]:
    """Return tasks by café, in the order in which the cafés are visited: by their most urgent task."""
    cafes: dict[str, list[Task]] = {}
    for task in most_urgent(found, today):
        cafes.setdefault(task.machine.cafe, []).append(task)
    return cafes


def after_rush(minute: int, minutes: int) -> int:
    """Return when a work may begin that stops a machine: not while the queue is long, unless it is short."""
    if minutes <= 15:
        return minute
    for start, end in RUSH:
        if minute < end and minute + minutes > start:
            minute = end
    return minute


def planned(
    found: Sequence[Task], today: date, ways: Mapping[tuple[str, str], int], ends: int = ENDS
) -> tuple[list[Visit], list[Task]]:
    """Plan a day.

    Returns:
        The visits, and the tasks of the cafés that did not fit in.
    """
    visits: list[Visit] = []
    left: list[Task] = []
    now, here, eaten = STARTS, HOME, False
    for cafe, wanted in by_cafe(found, today).items():
        minutes = SETUP + minutes_needed(wanted)
        arrives = now + way(ways, here, cafe)
        if not eaten and arrives >= LUNCH_FROM:
            arrives += LUNCH
        begins = after_rush(arrives, minutes)
        if begins + minutes + way(ways, cafe, HOME) > ends:
            left.extend(wanted)
            continue
        eaten = eaten or arrives >= LUNCH_FROM
        visits.append(Visit(cafe, begins, begins + minutes, tuple(task.work.name for task in wanted)))
        now, here = begins + minutes, cafe
    return visits, left


def back(visits: Sequence[Visit], ways: Mapping[tuple[str, str], int]) -> int:
    """Return when Holt is back at the Yard; at the start of the day if there is no visit."""
    if not visits:
        return STARTS
    return visits[-1].ends + way(ways, visits[-1].cafe, HOME)


def driven(visits: Sequence[Visit], ways: Mapping[tuple[str, str], int]) -> int:
    """Return the minutes on the way."""
    stops = [HOME, *(visit.cafe for visit in visits), HOME]
    return sum(way(ways, one, other) for one, other in zip(stops, stops[1:]))


def stock_after(stock: Mapping[str, int], visits: Sequence[Visit], found: Sequence[Task]) -> dict[str, int]:
    """Return what the van has after a day's visits."""
    cafes = {visit.cafe for visit in visits}
    return taken(stock, parts_needed(task for task in found if task.machine.cafe in cafes))


def board(visits: Sequence[Visit]) -> list[str]:
    """Return the lines of the day for the wall."""
    return [f"{clock(each.begins)}-{clock(each.ends)} {each.cafe} {', '.join(each.works)}" for each in visits]
