"""Models, machines and their counters of shots."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

PUMP_SHOTS = 200_000
OLD_YEARS = 9
COUNTER_WRAPS = 1_000_000  # the counter has six digits


@dataclass(frozen=True)
class Model:
    """A kind of machine: how many groups it has, and minutes of a seal service for each of them."""

    name: str
    groups: int
    minutes_a_group: int = 15
    board_days: int = 10


TRE = Model("Ferrant Tre", 3, board_days=0)
DUE = Model("Ferrant Due", 2)
UNO = Model("Ferrant Uno", 1, minutes_a_group=20, board_days=4)
MODELS = {model.name: model for model in (TRE, DUE, UNO)}


@dataclass(frozen=True)
class Machine:
    """A machine at a café.

    Attributes:
        cafe: Where it stands.
        model: Its kind.
        bought: The day.
        shots: What the counter showed last.
        pump_at: What all shots were when the pump was new.
        rounds: How often the counter began anew.
    """

    cafe: str
    model: Model
    bought: date
    shots: int = 0
    pump_at: int = 0
    rounds: int = 0

    @property
    def all_shots(self) -> int:
        """Shots since it was bought."""
        return self.rounds * COUNTER_WRAPS + self.shots

    @property
    def pump_shots(self) -> int:
        """Shots since the pump was new."""
        return self.all_shots - self.pump_at

    @property
    def needs_pump(self) -> bool:
        """Whether the pump is changed without waiting."""
        return self.pump_shots >= PUMP_SHOTS

    def years(self, today: date) -> int:
        """Return its whole years."""
        before = (today.month, today.day) < (self.bought.month, self.bought.day)
        return today.year - self.bought.year - before


class BadReading(ValueError):
    """A counter that cannot be right."""


def read(machine: Machine, shown: int, days: int) -> Machine:
    """Note what a counter shows; one that is lower than before began anew.

    Raises:
        BadReading: It would be more than 1,500 shots a group and day, or the counter has no such number.
    """
    if not 0 <= shown < COUNTER_WRAPS:
        raise BadReading(f"{machine.cafe}: a counter shows {shown}")
    rounds = machine.rounds + (shown < machine.shots)
    found = replace(machine, shots=shown, rounds=rounds)
    made = found.all_shots - machine.all_shots
    if made > 1500 * machine.model.groups * max(days, 1):
        raise BadReading(f"{machine.cafe}: {made} shots in {days} days")
    return found


def new_pump(machine: Machine) -> Machine:
    """Note that the pump was changed."""
    return replace(machine, pump_at=machine.all_shots)


def shots_a_day(before: Machine, after: Machine, days: int) -> int:
    """Return the shots of a day between two readings, rounded down."""
    if days <= 0:
        raise ValueError(f"{days} days")
    return (after.all_shots - before.all_shots) // days


def days_to_pump(machine: Machine, a_day: int) -> int | None:
    """Return the days until the pump is changed at this pace; None if there is none."""
    if a_day <= 0:
        return None
    return max(0, -(-(PUMP_SHOTS - machine.pump_shots) // a_day))


def busiest(machines: Iterable[Machine]) -> list[str]:
    """Return the cafés by shots a group, the busiest first."""
    ordered = sorted(machines, key=lambda each: (-(each.all_shots // each.model.groups), each.cafe))
    return [machine.cafe for machine in ordered]


def to_replace(machines: Sequence[Machine], today: date, prices: Mapping[str, int]) -> tuple[list[str], int]:
    """Return the cafés whose machine is older than nine years, the oldest first, and what new ones cost."""
    old = sorted((each for each in machines if each.years(today) >= OLD_YEARS), key=lambda each: each.bought)
    return [machine.cafe for machine in old], sum(prices[machine.model.name] for machine in old)
