"""The Coffee Company's registers: what its hand-written tables in `data/reference` say, for the generated ones."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

YEAR = 2025
DAYS = tuple(date(YEAR, 1, 1) + timedelta(days) for days in range(365))
FIRST_DAYS = tuple(date(YEAR, month, 1) for month in range(1, 13))
PRICE_RISE = date(YEAR, 3, 3)
HOLIDAYS = {date(YEAR, 1, 1), date(YEAR, 12, 25), date(YEAR, 12, 26)}  # cafés are closed
PUBLIC_HOLIDAYS = {
    date(YEAR, 4, 18),
    date(YEAR, 4, 21),
    date(YEAR, 5, 5),
    date(YEAR, 5, 26),
    date(YEAR, 8, 25),
}  # Sunday hours
ALWAYS_OPEN = "C09"  # the hospital
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Product:
    """A thing that is sold; prices in pence, `old_price` before the rise of 3 March 2025."""

    sku: str
    category: str
    price: int
    old_price: int

    def price_on(self, day: date) -> int:
        """Return its price on a day of 2025, in pence."""
        return self.old_price if day < PRICE_RISE else self.price


@dataclass(frozen=True)
class Cafe:
    """A café; `hours` has one pair of minutes after midnight for each weekday, None where it is closed."""

    code: str
    rent: int
    hours: tuple[tuple[int, int] | None, ...]

    def open_on(self, day: date) -> tuple[int, int] | None:
        """Return when it opens and closes on a day, in minutes after midnight; None: it does not."""
        closed = day in HOLIDAYS and self.code != ALWAYS_OPEN
        return None if closed else self.hours[6 if day in PUBLIC_HOLIDAYS else day.weekday()]


@dataclass(frozen=True)
class Employee:
    """A person who works here; `hours` is a week's, in tenths."""

    id: str
    role: str
    site: str
    started: date
    hours: int


@dataclass(frozen=True)
class Contract:
    """A year's contract for green coffee; `price` in pence a kilogram."""

    id: str
    supplier: str
    bags: int
    price: int


@dataclass(frozen=True)
class Campaign:
    """A campaign of the marketing team; `spend` in pence."""

    start: date
    spend: int


@dataclass(frozen=True)
class Registers:
    """All of them."""

    products: dict[str, Product]
    cafes: tuple[Cafe, ...]
    employees: tuple[Employee, ...]
    contracts: tuple[Contract, ...]
    campaigns: tuple[Campaign, ...]
    customers: tuple[str, ...]
    pay: dict[tuple[str, str], int]  # (role, first day) to pence an hour


def read_registers(folder: Path) -> Registers:
    """Read them from the folder of the hand-written files."""
    folder = folder / "data" / "reference"
    old = {row["sku"]: int(row["old_price_pence"]) for row in _rows(folder / "price_changes.csv")}
    products: dict[str, Product] = {}
    for row in _rows(folder / "products.csv"):
        price = int(row["price_pence"])
        products[row["sku"]] = Product(row["sku"], row["category"], price, old.get(row["sku"], price))
    hours = json.loads((folder / "opening_hours.json").read_text(encoding="utf-8"))
    cafes = tuple(
        Cafe(row["code"], int(row["rent_pence"]), tuple(_span(hours[row["code"]][day]) for day in WEEKDAYS))
        for row in _rows(folder / "cafes.csv")
    )
    employees = tuple(
        Employee(row["id"], row["role"], row["site"], date.fromisoformat(row["started"]), _tenths(row["hours_a_week"]))
        for row in _rows(folder / "employees.csv")
    )
    contracts = tuple(
        Contract(row["contract"], row["supplier"], int(row["bags"]), int(row["price_pence_per_kg"]))
        for row in _rows(folder / "contracts.csv")
        if row["from"] == f"{YEAR}-01-01"
    )
    campaigns = tuple(
        Campaign(date.fromisoformat(row["from"]), int(row["spend_pence"])) for row in _rows(folder / "campaigns.csv")
    )
    customers = tuple(row["code"] for row in _rows(folder / "wholesale_customers.csv"))
    pay = {
        (row["role_or_band"], row["from"]): int(row["low_pence"])
        for row in _rows(folder / "pay_bands.csv")
        if row["unit"] == "hour"
    }
    return Registers(products, cafes, employees, contracts, campaigns, customers, pay)


def write_rows(path: Path, header: str, rows: Iterable[Sequence[object]]) -> None:
    """Write a table, row by row; no value of a generated table needs quotes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"{header}\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _span(times: list[str] | None) -> tuple[int, int] | None:
    if times is None:
        return None
    opens, closes = (int(time[:2]) * 60 + int(time[3:]) for time in times)
    return opens, closes


def _tenths(hours: str) -> int:
    whole, _, part = hours.partition(".")
    return int(whole) * 10 + int(part or 0)
