"""The letter on the first of the month: counters, faults, and what comes next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from machines.due import Task
from machines.faults import Fault, again, by_kind, down, written
from machines.fleet import Machine, days_to_pump, shots_a_day
from machines.gauge import OUT, Reading, latest, state, told
from machines.water import Cartridge, next_changes

PUMP_NOTICE = 45  # days
SHOWN = 5


@dataclass(frozen=True)
class Month:
    """What was noted in a month: machines at its beginning and at its end, and the rest."""

    first: date
    last: date
    before: tuple[Machine, ...]
    after: tuple[Machine, ...]
    readings: tuple[Reading, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def days(self) -> int:
        """Its days."""
        return (self.last - self.first).days + 1


def pace(month: Month) -> dict[str, int]:
    """Return each café's shots a day."""
    ends = {machine.cafe: machine for machine in month.after}
    return {each.cafe: shots_a_day(each, ends[each.cafe], month.days) for each in month.before if each.cafe in ends}


def pumps(month: Month) -> list[str]:
    """Return the pumps that are changed now or within 45 days at this pace."""
    lines = []
    found = pace(month)
    for machine in sorted(month.after, key=lambda each: -each.pump_shots):
        days = days_to_pump(machine, found.get(machine.cafe, 0))
        if machine.needs_pump:
            lines.append(f"{machine.cafe}: now, {machine.pump_shots:,} shots")
        elif days is not None and days <= PUMP_NOTICE:
            lines.append(f"{machine.cafe}: in {days} days")
    return lines


def gauges(month: Month) -> list[str]:
    """Return the last reading of each café, those out of use first."""
    last = latest(month.readings)
    ordered = sorted(last.values(), key=lambda reading: (state(reading) != OUT, reading.cafe))
    return [
        told(reading, [each for each in month.readings if each.cafe == reading.cafe and each is not reading])
        for reading in ordered
    ]


def fault_lines(month: Month, now: datetime) -> list[str]:
    """Return a line for each kind of fault, with the time down, and those that came again."""
    lines = []
    for what, number in by_kind(month.faults):
        minutes = sum(down(fault, now) for fault in month.faults if fault.what == what)
        times = "once" if number == 1 else f"{number} times"
        lines.append(f"{what}: {times}, {written(minutes)}")
    lines.extend(f"again: {fault.cafe} {fault.what}" for fault in again(month.faults))
    return lines


def coming(found: Sequence[Task], cartridges: Sequence[Cartridge], today: date) -> list[str]:
    """Return what comes next, five lines at most: works with their day, and cartridges with their days."""
    lines = [(task.by, f"{task.machine.cafe} {task.work.name} by {task.by:%d %b}") for task in found]
    for cafe, days in next_changes(cartridges, today):
        day = date.fromordinal(today.toordinal() + days)
        lines.append((day, f"{cafe} cartridge by {day:%d %b}"))
    return [line for _, line in sorted(lines)][:SHOWN]


def up_share(month: Month, now: datetime, groups: Mapping[str, int]) -> int:
    """Return in thousandths how much of the open time the groups of all machines were in use."""
    whole = sum(groups.values()) * month.days * 12 * 60
    lost = sum(down(fault, now) * (fault.groups or groups[fault.cafe]) for fault in month.faults)
    return (whole - lost) * 1000 // whole


def letter(month: Month, now: datetime, groups: Mapping[str, int]) -> str:
    """Return the whole letter; a part with nothing to say is left out."""
    parts = [
        ("Pumps", pumps(month)),
        ("Gauges", gauges(month)),
        ("Faults", fault_lines(month, now)),
    ]
    share = up_share(month, now, groups)
    lines = [f"Machines in {month.first:%B %Y}: in use {share / 10:.1f}%"]
    for title, found in parts:
        if found:
            lines.extend(["", title, *found])
    return "\n".join(lines)
