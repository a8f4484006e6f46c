"""What the Coffee Company did in 2025: green coffee that arrived, batches that were roasted, hours that were worked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from natlang_envs.autoexplore.dataset.coffee_company.draws import Draws, plain
from natlang_envs.autoexplore.dataset.coffee_company.reference import DAYS, FIRST_DAYS, YEAR, Employee, Registers
from natlang_envs.autoexplore.dataset.coffee_company.sales import KITCHEN, Row, Sales

BAG_KG = 60
# Month and day on which each contract's coffee came, and the bags of each time; Kenya stayed four bags short.
_DELIVERIES = (
    (("02-18", "04-08", "06-03", "08-26"), 40),
    (("06-24", "12-09"), 40),
    (("02-04", "03-18", "07-01", "11-11"), 60),
    (("06-10", "10-07"), 50),
    (("07-04",), 36),
    (("01-28", "03-25", "05-13", "07-29", "09-16", "12-02"), 10),
)
_GIVES = ("C01", "C03", "C05", "C07")  # to the food pantry
_RAISE = date(YEAR, 4, 1)
_HOURLY = ("shift lead", "senior barista", "barista")


class Profile(NamedTuple):
    """How a coffee is roasted.

    Attributes:
        name: The coffee.
        drop: The temperature at the end, in tenths of a degree.
        seconds: The time until then.
        loss: The loss of weight that is aimed at, in thousandths.
        charge: The temperature at the start, in tenths of a degree.
        turn: When the beans are at their coldest, in seconds.
        low: How cold that is, in tenths of a degree.
    """

    name: str
    drop: int
    seconds: int
    loss: int
    charge: int
    turn: int
    low: int


_FOGHORN = Profile("Foghorn", 2120, 680, 152, 2040, 85, 920)
_ROPEWALK = Profile("Ropewalk Filter", 2050, 585, 138, 1980, 80, 940)
_DECAF = Profile("Slack Tide", 2080, 630, 139, 1820, 100, 860)
_GUJI = Profile("Ethiopia Guji Halo", 2030, 550, 132, 1880, 80, 930)
_HUILA = Profile("Colombia Huila La Pradera", 2050, 580, 137, 1940, 85, 930)
_CUMBRE = Profile("Guatemala Cumbre Alta", 2060, 600, 140, 1950, 90, 920)
_NYERI = Profile("Kenya Nyeri Gatumbi", 2040, 560, 135, 1970, 85, 930)
_BRAZIL = Profile("Brazil Boa Maré", 2060, 610, 140, 1950, 90, 920)


class Turn(NamedTuple):
    """What one roaster does on a day of the week: at least and at most so many batches, of these kinds."""

    machine: str
    person: str
    least: int
    most: int
    kinds: tuple[Profile, ...]
    shares: tuple[int, ...]


_MARJORIE, _BERTHA = 22_000, 10_000  # grams of a batch
_WEEK = (
    (Turn("M", "E025", 7, 9, (_FOGHORN,), (1,)), Turn("B", "E027", 6, 8, (_DECAF,), (1,))),
    (Turn("M", "E025", 7, 9, (_FOGHORN,), (1,)), Turn("B", "E026", 8, 10, (_GUJI, _NYERI), (55, 45))),
    (Turn("M", "E026", 4, 5, (_ROPEWALK,), (1,)), Turn("B", "E027", 3, 4, (_HUILA, _CUMBRE), (30, 70))),
    (Turn("M", "E026", 4, 6, (_FOGHORN, _BRAZIL), (80, 20)), Turn("B", "E027", 3, 5, (_GUJI, _CUMBRE), (50, 50))),
)
_LATE_WEEKS = (date(YEAR, 4, 21), date(YEAR, 5, 5), date(YEAR, 5, 26), date(YEAR, 8, 25))  # Monday is a holiday


class Batch(NamedTuple):
    """A roasted batch; weights in grams, `loss` in thousandths, `score` in quarters of a point."""

    lot: str
    day: date
    tasted: date
    machine: str
    profile: Profile
    roaster: str
    green: int
    loss: int
    score: int

    @property
    def roasted(self) -> int:
        """What came out, in grams."""
        return self.green * (1000 - self.loss) // 1000

    @property
    def is_rejected(self) -> bool:
        """Whether its cup was below 82 points."""
        return self.score < 82 * 4


def delivery_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each delivery of green coffee, by date."""
    draws = Draws("deliveries")
    arrived = sorted(
        (date.fromisoformat(f"{YEAR}-{day}"), contract, bags)
        for contract, (days, bags) in enumerate(_DELIVERIES)
        for day in days
    )
    for number, (day, place, bags) in enumerate(arrived, 1):
        contract = registers.contracts[place]
        moisture = draws.one(101, 118)
        kilograms = bags * BAG_KG
        amount = kilograms * contract.price
        percent = f"{moisture // 10}.{moisture % 10}"
        yield f"GD-{number:02}", day, contract.supplier, contract.id, bags, kilograms, contract.price, amount, percent


def batches() -> list[Batch]:
    """Draw the batches of the year, in the order in which they were roasted."""
    draws = Draws("roasting")
    made: list[Batch] = []
    for monday in DAYS[5:-12:7]:
        late = monday in _LATE_WEEKS
        for weekday, turns in enumerate(_WEEK):
            day = monday + timedelta(weekday + late)
            for machine, person, least, most, kinds, shares in turns:
                count = draws.one(least, most)
                chosen = plain(np.sort(draws.pick(shares, count)))  # of one kind one after the other
                losses = plain(draws.bell(-9, 9, count))
                scores = plain(draws.bell(336, 352, count))
                faults = plain(draws.below(1000, count))
                for number in range(count):
                    lot = f"{day:%y%m%d}{machine}{number + 1:02}"
                    score = draws.one(314, 327) if faults[number] < 9 else scores[number]
                    profile = kinds[chosen[number]]
                    green = _MARJORIE if machine == "M" else _BERTHA
                    tasted = monday + timedelta(4 + late)
                    loss = profile.loss + losses[number]
                    made.append(Batch(lot, day, tasted, machine, profile, person, green, loss, score))
    return made


def batch_rows(made: Sequence[Batch]) -> Iterator[Row]:
    """Yield a row for each batch."""
    draws = Draws("roasting times")
    drops, seconds = plain(draws.bell(-15, 15, len(made))), plain(draws.bell(-12, 12, len(made)))
    for batch, drop, extra in zip(made, drops, seconds, strict=True):
        heat = batch.profile.drop + drop
        loss = f"{batch.loss // 10}.{batch.loss % 10}"
        state = "rejected" if batch.is_rejected else "passed"
        yield (
            batch.lot, batch.day, "Marjorie" if batch.machine == "M" else "Bertha", batch.profile.name, batch.roaster,
            batch.green, batch.roasted, loss, f"{heat // 10}.{heat % 10}", batch.profile.seconds + extra, state,
        )  # fmt: skip


def cupping_rows(made: Sequence[Batch]) -> Iterator[Row]:
    """Yield a row for each batch that was cupped: every rejected one, and two in seven of the others."""
    chosen = plain(Draws("cuppings").below(7, len(made)))
    for batch, lot in zip(made, chosen, strict=True):
        if batch.is_rejected or lot < 2:
            points = f"{batch.score // 4}.{batch.score % 4 * 25:02}"
            yield batch.tasted, batch.lot, batch.profile.name, points, "no" if batch.is_rejected else "yes"


def probe_rows(made: Sequence[Batch]) -> Iterator[Row]:
    """Yield the roaster's bean temperature every 15 seconds, for the batches of the last roast day."""
    for batch in made:
        if batch.day != made[-1].day:
            continue
        noise = Draws(f"probe {batch.lot}")
        profile = batch.profile
        for second in range(0, profile.seconds + 1, 15):
            if second <= profile.turn:
                heat = profile.charge - (profile.charge - profile.low) * second // profile.turn
            else:
                # Rises fast at first, and slower and slower until the drop.
                part = 1000 * (second - profile.turn) // (profile.seconds - profile.turn)
                heat = profile.low + (profile.drop - profile.low) * part * (1500 - part // 2) // 10**6
            heat += noise.one(-4, 4)
            yield batch.lot, second, f"{heat // 10}.{heat % 10}"


def timesheet_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each month and each café employee who is paid by the hour; wages in pence.

    Until the month in which somebody started, a person who has left since worked in their place: `former`.
    """
    for person in registers.employees:
        if person.role in _HOURLY:
            draws = Draws(f"timesheets {person.id}")
            for first in FIRST_DAYS:
                yield _timesheet(registers, draws, person, first)


def _timesheet(registers: Registers, draws: Draws, person: Employee, first: date) -> Row:
    # 46 of 52 weeks are worked; the rest is holiday. In quarters of an hour.
    usual = person.hours * 4 * 46 // 120
    quarters = usual * draws.one(93, 107) // 100
    nights = quarters * draws.one(3, 9) // 100 if person.site in ("C04", "C09") else 0
    rate = registers.pay[person.role, f"{_RAISE if first >= _RAISE else date(YEAR, 1, 1)}"]
    extra = registers.pay["night supplement", f"{YEAR}-01-01"]
    wages = (quarters * rate + nights * extra + 2) // 4
    who = person.id if f"{person.started:%Y-%m}" <= f"{first:%Y-%m}" else "former"
    return f"{first:%Y-%m}", who, person.site, _hours(quarters), _hours(nights), rate, wages


def payroll_rows(timesheets: Sequence[Row]) -> Iterator[Row]:
    """Yield the sum of the timesheets for each month and café."""
    keys = sorted({(str(row[0]), str(row[2])) for row in timesheets})
    for month, site in keys:
        rows = [row for row in timesheets if (row[0], row[2]) == (month, site)]
        quarters, nights = (sum(int(float(str(row[column])) * 4) for row in rows) for column in (3, 4))
        yield month, site, len(rows), _hours(quarters), _hours(nights), sum(int(str(row[6])) for row in rows)


def absence_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each absence that was not holiday, by person and date."""
    reasons = ("cold or flu", "stomach", "back or joint", "injury at work", "family emergency", "medical appointment")
    for person in registers.employees:
        draws = Draws(f"absences {person.id}")
        count = draws.one(0, 9) // 3
        for first in plain(np.sort(draws.below(350, count))):
            if DAYS[first] < person.started:
                continue
            reason = int(draws.pick((45, 20, 12, 3, 10, 10), 1)[0])
            days = 1 if reason > 3 else draws.one(1, 4) + (draws.one(1, 6) if reason in (2, 3) else 0)
            yield person.id, person.site, _working_day(DAYS[first]), days, reasons[reason]


def training_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each exam or refresher that a café employee took, by person."""
    topics = (
        "food hygiene",
        "milk steaming",
        "first aid",
        "allergens",
        "espresso dial-in",
        "manual handling",
        "cupping",
    )
    for person in registers.employees:
        if not person.site.startswith("C"):
            continue
        draws = Draws(f"training {person.id}")
        for topic in plain(np.sort(draws.order(len(topics))[: draws.one(1, 3)])):
            score = int(draws.bell(58, 100, 1)[0])
            day = max(DAYS[draws.one(10, 350)], min(person.started, DAYS[-40]) + timedelta(draws.one(3, 30)))
            yield person.id, person.site, topics[topic], day, score, "yes" if score >= 70 else "no"


def waste_rows(registers: Registers, sales: Sales) -> Iterator[Row]:
    """Yield what each café threw or gave away of each dish in each month; the cost is a third of the price."""
    food = [place for place, sku in enumerate(sales.skus) if registers.products[sku].category == "food"]
    for place, cafe in enumerate(registers.cafes):
        draws = Draws(f"waste {cafe.code}")
        for number, first in enumerate(FIRST_DAYS):
            start = DAYS.index(first)
            span = slice(start, DAYS.index(FIRST_DAYS[number + 1]) if number < 11 else len(DAYS))
            for column in food:
                sku = sales.skus[column]
                sold = int(sales.items[place, span, column].sum())
                items = sold * (draws.one(24, 54) if sku in KITCHEN else draws.one(40, 78)) // 1000
                if items:
                    given = 0 if sku in KITCHEN or cafe.code not in _GIVES else items * draws.one(30, 70) // 100
                    cost = items * ((registers.products[sku].price + 1) // 3)
                    yield f"{first:%Y-%m}", cafe.code, sku, items, given, cost


def stock_rows(registers: Registers) -> Iterator[Row]:
    """Yield what each café counted on the last Sunday of each month."""
    things = (
        "Foghorn kg",
        "Slack Tide kg",
        "Ropewalk Filter kg",
        "milk l",
        "oat drink l",
        "cups 8 oz",
        "cups 12 oz",
        "lids",
        "chocolate kg",
        "chai syrup l",
    )
    usual = (24, 4, 6, 60, 36, 900, 1400, 2100, 5, 8)
    for number in range(12):
        last = (FIRST_DAYS[number + 1] if number < 11 else date(YEAR + 1, 1, 1)) - timedelta(1)
        sunday = last - timedelta((last.weekday() + 1) % 7)
        for cafe in registers.cafes:
            day = sunday if cafe.hours[6] else sunday - timedelta(1)
            counts = plain(Draws(f"count {cafe.code} {sunday}").bell(40, 160, len(things)))
            for thing, amount, percent in zip(things, usual, counts, strict=True):
                yield day, cafe.code, thing, amount * percent // 100


def _working_day(day: date) -> date:
    return day - timedelta(max(0, day.weekday() - 4))


def _hours(quarters: int) -> str:
    return f"{quarters // 4}.{quarters % 4 * 25:02}"
