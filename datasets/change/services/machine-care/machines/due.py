"""Works, how often they come, and which of them are due."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from machines.fleet import Machine

SOON_DAYS = 14
GRACE = 7
WEEK = 7


@dataclass(frozen=True)
class Work:
    """Something that Holt does again and again.

    Attributes:
        name: What.
        months: How often.
        minutes: How long it takes.
        a_group: Whether the minutes are for each group.
        parts: What it takes from the van for each group.
    """

    name: str
    months: int
    minutes: int
    a_group: bool = False
    parts: tuple[tuple[str, int], ...] = ()


SEALS = Work("seals", 3, 15, a_group=True, parts=(("seal", 1), ("screen", 1)))
HEAT = Work("thermometer", 6, 60)
YEARLY = Work("yearly", 12, 240, parts=(("valve", 1),))
WORKS = (SEALS, HEAT, YEARLY)


@dataclass(frozen=True)
class Task:
    """A work that a machine needs, and by when."""

    machine: Machine
    work: Work
    by: date

    @property
    def minutes(self) -> int:
        """How long it takes on this machine."""
        if self.work.a_group:
            return self.machine.model.groups * self.machine.model.minutes_a_group
        return self.work.minutes

    @property
    def parts(self) -> dict[str, int]:
        """What it takes from the van."""
        times = self.machine.model.groups if self.work.a_group else 1
        return {name: number * times for name, number in self.work.parts}

    def overdue(self, today: date) -> int:
        """Return the days that it is late, after a week of grace."""
        return max(0, (today - self.by).days - GRACE)


def months_on(day: date, months: int) -> date:
    """Return the same day some months later, or the last of that month if it has no such day."""
    whole = day.year * 12 + day.month - 1 + months
    year, month = divmod(whole, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - timedelta(days=1)).day
    return date(year, month + 1, min(day.day, last))


def next_day(work: Work, done: date | None, bought: date) -> date:
    """Return when a work comes next, by when it was done last or the machine was bought."""
    return months_on(bought if done is None else done, work.months)


def tasks(machine: Machine, done: Mapping[str, date], today: date, ahead: int = SOON_DAYS) -> list[Task]:
    """Return what a machine needs within some days, the most urgent first.

    A work that comes less often takes the place of one that it holds: the yearly one checks the thermometer too.
    """
    found = []
    for work in WORKS:
        by = next_day(work, done.get(work.name), machine.bought)
        if by <= today + timedelta(days=ahead):
            found.append(Task(machine, work, by))
    names = {task.work.name for task in found}
    if YEARLY.name in names:
        found = [task for task in found if task.work.name != HEAT.name]
    return sorted(found, key=lambda task: (task.by, task.work.name))


def most_urgent(found: Iterable[Task], today: date) -> list[Task]:
    """Return tasks in the order of rule 5: overdue ones, the latest first, then by day; alike, the short ones."""
    return sorted(found, key=lambda task: (-task.overdue(today), task.by, task.minutes, task.machine.cafe))


def minutes_needed(found: Iterable[Task]) -> int:
    """Return the minutes of all tasks together."""
    return sum(task.minutes for task in found)


def parts_needed(found: Iterable[Task]) -> dict[str, int]:
    """Return the parts of all tasks together, by name."""
    needed: dict[str, int] = {}
    for task in found:
        for name, number in task.parts.items():
            needed[name] = needed.get(name, 0) + number
    return dict(sorted(needed.items()))


def calendar(found: Iterable[Task], first: date, weeks: int) -> list[list[str]]:
    """Return for each week which cafés have something due; what was due before stands in the first."""
    table: list[list[str]] = [[] for _ in range(weeks)]
    for task in sorted(found, key=lambda each: (each.by, each.machine.cafe)):
        place = max(0, (task.by - first).days // WEEK)
        if place < weeks and task.machine.cafe not in table[place]:
            table[place].append(task.machine.cafe)
    return table
