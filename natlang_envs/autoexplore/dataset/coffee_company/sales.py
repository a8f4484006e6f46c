"""What the Coffee Company sold in 2025: over the counter, online, to wholesale customers and in courses.

A café's receipts are drawn from what it sold that day, so that they add up to it however many days are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from natlang_envs.autoexplore.dataset.coffee_company.draws import Draws, Integers, plain
from natlang_envs.autoexplore.dataset.coffee_company.reference import DAYS, FIRST_DAYS, Cafe, Registers

Row = tuple[object, ...]

# Items on a usual weekday; what follows is in thousandths of it.
_ITEMS = {
    "C01": 390,
    "C02": 150,
    "C03": 330,
    "C04": 420,
    "C05": 310,
    "C06": 230,
    "C07": 180,
    "C08": 120,
    "C09": 360,
    "C10": 170,
}
_TOWN = (1000, 1020, 1030, 1050, 1080, 950, 760)
_SEASIDE = (800, 820, 850, 900, 1020, 1450, 1400)
_WEEK = {
    "C01": (950, 960, 970, 990, 1060, 1240, 1150),
    "C04": (1040, 1060, 1060, 1070, 1060, 640, 610),
    "C05": (1050, 1080, 1080, 1060, 920, 450, 0),
    "C06": _SEASIDE,
    "C09": (1030, 1040, 1040, 1030, 1010, 880, 870),
    "C10": _SEASIDE,
}
_YEAR = (900, 920, 950, 980, 1010, 1030, 1060, 1070, 1020, 1010, 990, 1060)
_BY_THE_SEA = (650, 700, 800, 950, 1080, 1220, 1420, 1480, 1050, 900, 720, 780)
_TERMS = (900, 1100, 1080, 850, 1020, 700, 420, 440, 950, 1200, 1160, 800)
_MONTHS = {"C05": _TERMS, "C06": _BY_THE_SEA, "C10": _BY_THE_SEA}

_DRINKS = (28, 10, 40, 175, 90, 135, 95, 25, 45, 12, 22, 26, 32, 16, 40, 14, 12, 6)
_FOOD = (108, 58, 73, 26, 16, 60, 6, 14, 14, 44, 30, 40)
_SHELF = (12, 3, 5, 3, 3, 2, 2, 3, 3, 2, 1, 1)
_COUNTER = ("drink", "food", "beans", "merchandise")
KITCHEN = {"FD-208", "FD-209", "FD-210", "FD-211", "FD-212"}
_NOT_SOLD = {
    "C02": KITCHEN,
    "C04": KITCHEN | {"DR-110", "DR-117", "DR-118"},
    "C08": KITCHEN,
    "C09": {"DR-110"},
}
# Hundredths of the usual share, month by month.
_COLD = (20, 25, 45, 75, 115, 165, 215, 205, 110, 50, 25, 20)
_WARM = (150, 145, 125, 100, 75, 55, 40, 40, 80, 120, 145, 155)
_GIFTS = (80, 80, 85, 90, 90, 90, 90, 90, 90, 95, 140, 240)
_BOXES = (45, 45, 45, 45, 45, 45, 45, 45, 45, 45, 330, 620)  # keep cups, mostly in gift boxes
_SEASONS: dict[str, tuple[int, ...]] = {
    "MR-401": _BOXES,
    **dict.fromkeys(("DR-111", "DR-112", "DR-118"), _COLD),
    **dict.fromkeys(("DR-108", "DR-113", "DR-114", "FD-209", "FD-212"), _WARM),
}

# Hundredths of a usual day: a payment failure, ships in the harbour, road works, a cut line, a storm.
_EVENTS = (
    ("C01 C02 C03 C04 C05 C06 C07 C08 C09", date(2025, 2, 11), 1, 94),
    ("C07", date(2025, 5, 6), 46, 88),
    ("C01", date(2025, 8, 1), 3, 132),
    ("C04", date(2025, 8, 16), 1, 96),
    ("C06", date(2025, 11, 14), 1, 58),
    ("C10", date(2025, 11, 14), 1, 46),
)

_ONLINE_GOODS = (86, 23, 40, 28, 23, 19, 20, 22, 45, 8, 4, 5)  # tenths a day: beans, merchandise
_ONLINE_YEAR = (1100, 980, 930, 680, 620, 580, 450, 440, 500, 920, 1900, 2950)
_ONLINE_PLANS = (184, 62, 98)  # the same all the year

# For each wholesale customer: weeks between orders, kilograms of an order, and how much of what (Foghorn first).
_WHOLESALE = (
    (2, 70, (8, 1, 1, 1)),
    (2, 46, (6, 1, 2, 1)),
    (2, 60, (9, 2, 0, 0)),
    (2, 18, (5, 1, 2, 0)),
    (2, 34, (3, 1, 2, 3)),
    (3, 22, (6, 1, 1, 0)),
    (2, 52, (7, 1, 3, 0)),
    (2, 18, (8, 2, 0, 0)),
    (3, 34, (6, 1, 1, 0)),
    (3, 34, (2, 1, 3, 3)),
)
_TERM_ONLY = "W08"  # a school
_LEAST_KG = 6
_CASH_PERCENT = 11  # of receipts
_DISCOUNT_FROM_KG, _DISCOUNT_PERCENT = 60, 5


# What, on which weekday (Saturdays; Sundays; Mondays and Tuesdays), how often in each quarter, places booked.
_COURSES = (
    ("SC-701", 5, (12, 11, 8, 11), (6, 8)),
    ("SC-702", 6, (11, 9, 7, 11), (6, 8)),
    ("SC-703", 0, (7, 5, 4, 8), (4, 6)),
)


class Sales(NamedTuple):
    """What the cafés sold.

    Attributes:
        skus: What is sold over the counter, in the order of `items`.
        items: Of each café, on each day, of each of them; shape (cafés, 365, products).
        takings: In pence; the same shape.
        receipts: Of each café on each day; shape (cafés, 365).
    """

    skus: tuple[str, ...]
    items: Integers
    takings: Integers
    receipts: Integers


def counter_sales(registers: Registers) -> Sales:
    """Draw what each café sold on each day of the year."""
    skus = tuple(sku for sku, product in registers.products.items() if product.category in _COUNTER)
    weights = np.array(_DRINKS + _FOOD + _SHELF, dtype=np.int64)
    months = np.array([day.month - 1 for day in DAYS])
    weekdays = np.array([day.weekday() for day in DAYS])
    seasons = np.array([_season(sku) for sku in skus], dtype=np.int64)
    prices = np.array([[registers.products[sku].price_on(day) for sku in skus] for day in DAYS], dtype=np.int64)
    items = np.empty((len(registers.cafes), len(DAYS), len(skus)), dtype=np.int64)
    receipts = np.empty(items.shape[:2], dtype=np.int64)
    for place, cafe in enumerate(registers.cafes):
        draws = Draws(f"counter {cafe.code}")
        sold = np.array([sku not in _NOT_SOLD.get(cafe.code, ()) for sku in skus])
        share = np.where(sold, weights, 0)
        week = np.array(_WEEK.get(cafe.code, _TOWN))[weekdays]
        year = np.array(_MONTHS.get(cafe.code, _YEAR))[months]
        opened = np.array([0 if cafe.open_on(day) is None else 100 for day in DAYS], dtype=np.int64)
        for codes, first, length, percent in _EVENTS:
            if cafe.code in codes:
                span = slice(DAYS.index(first), DAYS.index(first) + length)
                opened[span] = opened[span] * percent // 100
        guests = (
            _ITEMS[cafe.code] * week * year * draws.bell(820, 1180, len(DAYS)) // 10**6 * opened // 100
        )  # thousandths
        expected = guests[:, None] * share * seasons.T[months] // (100 * int(share.sum()))
        noise = draws.bell(700, 1300, expected.size).reshape(expected.shape)
        chance = draws.below(1000, expected.size).reshape(expected.shape)  # rounds up as often as it should
        items[place] = (expected * noise // 1000 + chance) // 1000
        total = items[place].sum(axis=1)
        receipts[place] = (total * 100 + 50) // draws.between(158, 182, len(DAYS))
    return Sales(skus, items, items * prices, receipts)


def _season(sku: str) -> tuple[int, ...]:
    return _SEASONS.get(sku, _GIFTS if sku.startswith(("BN", "MR")) else (100,) * 12)


def daily_rows(registers: Registers, sales: Sales) -> Iterator[Row]:
    """Yield a row for each day on which a café was open."""
    for number, day in enumerate(DAYS):
        for place, cafe in enumerate(registers.cafes):
            if cafe.open_on(day):
                items, takings = sales.items[place, number].sum(), sales.takings[place, number].sum()
                yield day, cafe.code, sales.receipts[place, number], items, takings


def product_rows(registers: Registers, sales: Sales) -> Iterator[Row]:
    """Yield a row for each month, café and product."""
    for first, span in _months():
        items, takings = sales.items[:, span].sum(axis=1), sales.takings[:, span].sum(axis=1)
        for place, cafe in enumerate(registers.cafes):
            for column in plain(np.flatnonzero(items[place])):
                yield f"{first:%Y-%m}", cafe.code, sales.skus[column], items[place, column], takings[place, column]


def receipt_rows(registers: Registers, sales: Sales, place: int, days: int) -> Iterator[Row]:
    """Yield the till lines of a café on the last `days` days of the year."""
    cafe = registers.cafes[place]
    for number in range(len(DAYS) - days, len(DAYS)):
        span = cafe.open_on(DAYS[number])
        if span:
            yield from _receipts(registers, sales, cafe, place, number, span)


def _receipts(
    registers: Registers, sales: Sales, cafe: Cafe, place: int, number: int, span: tuple[int, int]
) -> Iterator[Row]:
    day = DAYS[number]
    draws = Draws(f"receipts {cafe.code} {day}")
    things = np.repeat(np.arange(len(sales.skus)), sales.items[place, number])
    count = int(sales.receipts[place, number])
    # Each receipt has one thing, the rest goes to any of them.
    owners = np.concatenate([np.arange(count), draws.below(count, len(things) - count)])
    minutes = plain(np.sort(draws.between(span[0], span[1] - 1, count)))
    lots = plain(draws.below(100, count))
    keys, amounts = np.unique(owners * len(sales.skus) + things[draws.order(len(things))], return_counts=True)
    prices = [registers.products[sku].price_on(day) for sku in sales.skus]
    prefix = f"{cafe.code}-{day:%y%m%d}"
    for key, amount in zip(plain(keys), plain(amounts), strict=True):
        receipt, thing = divmod(key, len(sales.skus))
        minute = minutes[receipt]
        clock = f"{minute // 60:02}:{minute % 60:02}"
        paid = "cash" if lots[receipt] < _CASH_PERCENT else "card"
        yield f"{prefix}-{receipt + 1:04}", clock, sales.skus[thing], amount, amount * prices[thing], paid


def online_items(registers: Registers) -> tuple[tuple[str, ...], Integers]:
    """Return what is sold online, and how many of each on each day; shape (365, products)."""
    kinds = ("beans", "merchandise", "subscription")
    skus = tuple(sku for sku, product in registers.products.items() if product.category in kinds)
    draws = Draws("online")
    year = np.array([_ONLINE_YEAR[day.month - 1] for day in DAYS])
    goods = year[:, None] * np.array(_ONLINE_GOODS) // 10  # thousandths
    plans = np.tile(np.array(_ONLINE_PLANS) * 100, (len(DAYS), 1))
    expected = np.concatenate([goods, plans], axis=1)
    noise = draws.bell(500, 1500, expected.size).reshape(expected.shape)
    return skus, (expected * noise // 1000 + draws.below(1000, expected.size).reshape(expected.shape)) // 1000


def online_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each day of the online shop."""
    skus, items = online_items(registers)
    prices = np.array([registers.products[sku].price for sku in skus])
    orders = (items.sum(axis=1) * 100 + 50) // Draws("online orders").between(130, 150, len(DAYS))
    for number, day in enumerate(DAYS):
        yield day, orders[number], items[number].sum(), (items[number] * prices).sum()


def online_product_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each month and product of the online shop."""
    skus, items = online_items(registers)
    for first, span in _months():
        for sku, count in zip(skus, plain(items[span].sum(axis=0)), strict=True):
            yield f"{first:%Y-%m}", sku, count, count * registers.products[sku].price


def wholesale_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each kind of coffee of each wholesale order, by date."""
    skus = [sku for sku, product in registers.products.items() if product.category == "wholesale"]
    orders: list[tuple[date, str, list[int]]] = []
    for customer, (weeks, usual, mix) in zip(registers.customers, _WHOLESALE, strict=True):
        draws = Draws(f"wholesale {customer}")
        day = DAYS[draws.one(5, 16)]
        if day.weekday() > 4:
            day += timedelta(7 - day.weekday())
        while day <= DAYS[-9]:  # none in the holidays
            kilograms = usual * draws.one(80, 120) // 100
            parts = [kilograms * part // sum(mix) for part in mix]
            parts[0] += max(kilograms, _LEAST_KG) - sum(parts)
            if customer != _TERM_ONLY or day.month != 8:
                orders.append((day, customer, parts))
            day += timedelta(7 * weeks)
    for number, (day, customer, parts) in enumerate(sorted(orders), 1):
        percent = _DISCOUNT_PERCENT if sum(parts) >= _DISCOUNT_FROM_KG else 0
        for sku, kilograms in zip(skus, parts, strict=True):
            if kilograms:
                price = registers.products[sku].price
                amount = (kilograms * price * (100 - percent) + 50) // 100
                yield f"WO-{number:04}", day, customer, sku, kilograms, price, percent, amount


def subscription_rows() -> Iterator[Row]:
    """Yield a row for each subscription that was running in 2025, the oldest first."""
    draws = Draws("subscriptions")
    count = 986
    began = plain(np.sort(draws.below((DAYS[-1] - date(2019, 2, 1)).days, count)))
    plans = plain(draws.pick((70, 22, 8), count))
    states = plain(draws.pick((77, 5, 18), count))
    for number in range(count):
        start = date(2019, 2, 1) + timedelta(began[number])
        first = max(start, DAYS[0])
        ended = first + timedelta(draws.one(0, (DAYS[-1] - first).days)) if states[number] == 2 else ""
        state = ("active", "paused", "ended")[states[number]]
        yield f"S{number + 1:04}", f"SB-60{plans[number] + 1}", start, state, ended


def course_rows(registers: Registers) -> Iterator[Row]:
    """Yield a row for each course that the school held, with the places that were booked."""
    held: list[tuple[date, str, int]] = []
    for sku, weekday, counts, (low, high) in _COURSES:
        draws = Draws(f"courses {sku}")
        for quarter, count in enumerate(counts):
            days = [day for day in DAYS[8:-9] if day.weekday() == weekday and (day.month - 1) // 3 == quarter]
            held += [(days[place], sku, draws.one(low, high)) for place in plain(draws.order(len(days))[:count])]
    for number, (day, sku, places) in enumerate(sorted(held), 1):
        yield f"CB-{number:03}", day, sku, places, places * registers.products[sku].price


def _months() -> Iterator[tuple[date, slice]]:
    starts = [DAYS.index(first) for first in FIRST_DAYS]
    for first, start, end in zip(FIRST_DAYS, starts, [*starts[1:], len(DAYS)], strict=True):
        yield first, slice(start, end)
