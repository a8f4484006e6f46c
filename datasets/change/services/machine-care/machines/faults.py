"""What broke, for how long, and which machine is lent meanwhile."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

OPENS, CLOSES = 7, 19
AGAIN_DAYS = 60
LEND_HOURS = 6  # of opening time: a longer stop gets a machine lent


@dataclass(frozen=True)
class Fault:
    """A fault of a machine; `mended` is None as long as it lasts. `groups` of the machine's groups are down."""

    cafe: str
    what: str
    began: datetime
    mended: datetime | None = None
    groups: int = 0


def open_minutes(start: datetime, end: datetime) -> int:
    """Return the minutes between two moments in which a café is open, every day from seven to seven."""
    minutes = 0
    day = start.date()
    while day <= end.date():
        opens = datetime(day.year, day.month, day.day, OPENS)
        closes = datetime(day.year, day.month, day.day, CLOSES)
        minutes += max(0, int((min(end, closes) - max(start, opens)).total_seconds()) // 60)
        day += timedelta(days=1)
    return minutes


def down(fault: Fault, now: datetime) -> int:
    """Return the open minutes of a fault so far."""
    return open_minutes(fault.began, fault.mended or now)


def lost_shots(fault: Fault, now: datetime, a_day: int, groups: int) -> int:
    """Return about how many shots a fault cost, by shots a day and the share of groups that were down."""
    share = fault.groups or groups
    return a_day * down(fault, now) * share // ((CLOSES - OPENS) * 60 * groups)


def again(faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults that came again at a café within 60 days of being mended."""
    found = []
    for fault in faults:
        for other in faults:
            if (other.cafe, other.what) != (fault.cafe, fault.what) or other.mended is None:
                continue
            if timedelta(0) <= fault.began - other.mended <= timedelta(days=AGAIN_DAYS):
                found.append(fault)
                break
    return sorted(found, key=lambda each: each.began)


def needs_loan(fault: Fault, now: datetime, promised: datetime | None, groups: int) -> bool:
    """Tell whether a café gets a machine lent: all groups are down, and longer than six open hours."""
    if fault.mended is not None or 0 < fault.groups < groups:
        return False
    until = now + timedelta(days=1) if promised is None else promised
    return open_minutes(fault.began, until) > LEND_HOURS * 60


def free_loan(faults: Iterable[Fault], lent: dict[str, date], spare: int = 1) -> bool:
    """Tell whether the school's machine is there: as many are lent as cafés still have a fault."""
    still = {fault.cafe for fault in faults if fault.mended is None}
    return sum(1 for cafe in lent if cafe in still) < spare


def by_kind(faults: Iterable[Fault]) -> list[tuple[str, int]]:
    """Return how often each kind of fault came, the most frequent first."""
    counts: dict[str, int] = {}
    for fault in faults:
        counts[fault.what] = counts.get(fault.what, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def written(minutes: int) -> str:
    """Return a time down, such as `2 h 10` or `45 min`."""
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02}" if rest else f"{hours} h"
