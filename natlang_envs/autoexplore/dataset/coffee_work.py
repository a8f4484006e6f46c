"""What the Coffee Company did in 2025: green coffee that arrived, batches that were roasted, hours that were worked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from natlang_envs.autoexplore.dataset.coffee_draws import Draws, plain
from natlang_envs.autoexplore.dataset.coffee_reference import DAYS, FIRST_DAYS, YEAR, Employee, Registers
from natlang_envs.autoexplore.dataset.coffee_sales import Row, Sales

BAG_KG = 60
# Bags of each delivery, by contract; Kenya stayed four bags short.
_DELIVERIES = ((40, 40, 40, 40), (40, 40), (40, 40, 40, 40, 40, 40), (50, 50), (36,), (20, 20, 20))
_RAISE = date(YEAR, 4, 1)
_HOURLY = ("shift lead", "senior barista", "barista")
_ROASTERS = ("E025", "E026", "E027")


class Profile(NamedTuple):
    """How a coffee is roasted: its drop temperature in tenths of a degree, and its time in seconds."""

    name: str
    drop: int
    seconds: int


_MARJORIE = (Profile("Foghorn", 2120, 680), Profile("Ropewalk Filter", 2050, 585))
_BERTHA = (
    Profile("Slack Tide", 2080, 630),
    Profile("Ethiopia Guji Halo", 2030, 575),
    Profile("Colombia Huila La Pradera", 2050, 590),
    Profile("Guatemala Cumbre Alta", 2060, 600),
    Profile("Kenya Nyeri Gatumbi", 2040, 570),
    Profile("Brazil Boa Maré", 2060, 605),
)
# Letter of the lot code, kilograms of a batch, batches a day, what is roasted on it and how often.
_MACHINES = (("M", 22, (6, 7), _MARJORIE, (86, 14)), ("B", 10, (5, 6), _BERTHA, (33, 23, 4, 8, 18, 14)))


class Batch(NamedTuple):
    """A roasted batch; weights in grams, `loss` in thousandths, `score` in quarters of a point."""

    lot: str
    day: date
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
    arrived: list[tuple[date, str, str, int, int]] = []
    for contract, parts in zip(registers.contracts, _DELIVERIES, strict=True):
        for number, bags in enumerate(parts):
            day = DAYS[(2 * number + 1) * 330 // (2 * len(parts)) + draws.one(0, 20)]
            arrived.append((_working_day(day), contract.supplier, contract.id, bags, contract.price))
    for number, (day, supplier, contract_id, bags, price) in enumerate(sorted(arrived), 1):
        moisture = draws.one(101, 118)
        kilograms = bags * BAG_KG
        yield (
            f"GD-{number:02}",
            day,
            supplier,
            contract_id,
            bags,
            kilograms,
            price,
            kilograms * price,
            f"{moisture // 10}.{moisture % 10}",
        )


def batches() -> list[Batch]:
    """Draw the batches of the year, in the order in which they were roasted."""
    draws = Draws("roasting")
    made: list[Batch] = []
    for day in DAYS[5:-12]:
        if day.weekday() > 3 or day in (date(YEAR, 4, 21), date(YEAR, 5, 5), date(YEAR, 5, 26), date(YEAR, 8, 25)):
            continue
        for letter, kilograms, (least, most), profiles, shares in _MACHINES:
            count = draws.one(least, most)
            kinds = plain(np.sort(draws.pick(shares, count)))  # of one kind one after the other
            losses = plain(draws.bell(132, 158, count))
            scores = plain(draws.bell(334, 350, count))
            faults = plain(draws.below(1000, count))
            for number in range(count):
                lot = f"{day:%y%m%d}{letter}{number + 1:02}"
                score = draws.one(314, 327) if faults[number] < 9 else scores[number]
                profile = profiles[kinds[number]]
                roaster = "E027" if profile.name == "Slack Tide" else _ROASTERS[draws.one(0, 1)]
                made.append(Batch(lot, day, letter, profile, roaster, kilograms * 1000, losses[number], score))
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
    """Yield a row for each batch that was cupped: every rejected one, and about one in six of the others."""
    chosen = plain(Draws("cuppings").below(6, len(made)))
    cuppers = ("E028", "E025", "E002")
    for place, batch in enumerate(made):
        if batch.is_rejected or chosen[place] == 0:
            friday = batch.day + timedelta(4 - batch.day.weekday())
            points = f"{batch.score // 4}.{batch.score % 4 * 25:02}"
            yield (
                friday,
                batch.lot,
                batch.profile.name,
                cuppers[place % 3],
                points,
                "no" if batch.is_rejected else "yes",
            )


def probe_rows(made: Sequence[Batch]) -> Iterator[Row]:
    """Yield the roaster's bean temperature every 15 seconds, for the batches of the last roast day."""
    for batch in made:
        if batch.day != made[-1].day:
            continue
        noise = Draws(f"probe {batch.lot}")
        charge, turn, low = 1950, 75, 920 + noise.one(-20, 20)
        for second in range(0, batch.profile.seconds + 1, 15):
            if second <= turn:
                heat = charge - (charge - low) * second // turn
            else:
                # Rises fast at first, and slower and slower until the drop.
                part = 1000 * (second - turn) // (batch.profile.seconds - turn)
                heat = low + (batch.profile.drop - low) * part * (1500 - part // 2) // 10**6
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
            last = FIRST_DAYS[number + 1] if number < 11 else date(YEAR + 1, 1, 1)
            span = slice(DAYS.index(first), DAYS.index(first) + (last - first).days)
            for column in food:
                sold = int(sales.items[place, span, column].sum())
                items = sold * draws.one(15, 70) // 1000
                if items:
                    given = items * draws.one(30, 70) // 100
                    cost = items * ((registers.products[sales.skus[column]].price + 1) // 3)
                    yield f"{first:%Y-%m}", cafe.code, sales.skus[column], items, given, cost


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
            counts = plain(Draws(f"count {cafe.code} {sunday}").bell(40, 160, len(things)))
            for thing, amount, percent in zip(things, usual, counts, strict=True):
                yield sunday, cafe.code, thing, amount * percent // 100


def _working_day(day: date) -> date:
    return day - timedelta(max(0, day.weekday() - 4))


def _hours(quarters: int) -> str:
    return f"{quarters // 4}.{quarters % 4 * 25:02}"
