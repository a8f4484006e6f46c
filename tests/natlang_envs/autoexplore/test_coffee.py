"""The Coffee Company: the same bytes everywhere, and documents that say what its tables say."""

from __future__ import annotations

import ast
import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from natlang_envs.repository.tree import Repository
from tests.support.coffee_figures import figures, read

STATED = Path(__file__).with_name("coffee_stated.json")  # lines of documents, with the figures' names for the figures


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def company(coffee: Repository) -> Path:
    return coffee.path


@pytest.fixture(scope="module")
def files(company: Path) -> dict[str, bytes]:
    return contents(company)


def sums(rows: list[dict[str, str]], column: str, *keys: str) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        found[tuple(row[key] for key in keys)] += int(row[column])
    return found


def test_enough_files_at_every_depth(files):
    assert len(files) >= 400
    depths = Counter(name.count("/") for name in files)
    assert set(depths) == {0, 1, 2, 3, 4}
    assert depths[0] + depths[1] >= len(files) // 5
    assert depths[2] >= 3 * len(files) // 10
    assert depths[3] + depths[4] >= 15 * len(files) // 100
    suffixes = Counter(Path(name).suffix for name in files)
    assert all(
        suffixes[suffix] >= 3 for suffix in (".md", ".csv", ".py", ".go", ".ts", ".java", ".rs", ".sql", ".yaml")
    )


def test_receipts_add_up_to_the_days(company):
    hours = json.loads((company / "data/reference/opening_hours.json").read_text(encoding="utf-8"))
    days = {(row["cafe"], row["date"]): row for row in read(company, "sales/daily_sales.csv")}
    seen: set[tuple[str, str]] = set()
    for number in range(1, 11):
        rows = read(company, f"sales/receipts/c{number:02}.csv")
        assert rows
        takings, items, receipts = Counter[str](), Counter[str](), {}
        for row in rows:
            code, day, _ = row["receipt"].split("-")
            assert code == f"C{number:02}"
            takings[day] += int(row["takings_pence"])
            items[day] += int(row["items"])
            receipts.setdefault(day, set()).add((row["receipt"], row["time"], row["paid"]))
            weekday = datetime.datetime.strptime(day, "%y%m%d").strftime("%a")
            assert hours[code][weekday][0] <= row["time"] < hours[code][weekday][1]
        for day in takings:
            row = days[code, f"20{day[:2]}-{day[2:4]}-{day[4:]}"]
            seen.add((code, row["date"]))
            assert (int(row["takings_pence"]), int(row["items"])) == (takings[day], items[day])
            assert len(receipts[day]) == int(row["receipts"])
    assert seen == {key for key in days if key[1] >= "2025-12-29"}


def test_cafes_sell_on_the_days_they_are_open(company):
    hours = json.loads((company / "data/reference/opening_hours.json").read_text(encoding="utf-8"))
    sunday_hours = {(4, 18), (4, 21), (5, 5), (5, 26), (8, 25)}  # public holidays
    sold = {(row["cafe"], row["date"]) for row in read(company, "sales/daily_sales.csv") if int(row["items"])}
    for day in (datetime.date(2025, 1, 1) + datetime.timedelta(number) for number in range(365)):
        for code, week in hours.items():
            holiday = (day.month, day.day) in ((1, 1), (12, 25), (12, 26)) and code != "C09"
            weekday = "Sun" if (day.month, day.day) in sunday_hours else f"{day:%a}"
            assert ((code, str(day)) in sold) == (week[weekday] is not None and not holiday)


def test_tables_agree_with_each_other(company):
    daily, products = read(company, "sales/daily_sales.csv"), read(company, "sales/product_sales.csv")
    for row in daily:
        row["month"] = row["date"][:7]
    for column in ("items", "takings_pence"):
        assert sums(daily, column, "month", "cafe") == sums(products, column, "month", "cafe")
    online, goods = read(company, "sales/online_orders.csv"), read(company, "sales/online_products.csv")
    assert sums(online, "takings_pence") == sums(goods, "takings_pence")
    sheets, payroll = read(company, "people/timesheets.csv"), read(company, "people/payroll.csv")
    assert sums(sheets, "wages_pence", "month", "cafe") == sums(payroll, "wages_pence", "month", "cafe")
    assert sum(float(row["hours"]) for row in sheets) == sum(float(row["hours"]) for row in payroll)
    sold = sums(products, "items", "month", "cafe", "sku")
    waste = sums(read(company, "stock/waste.csv"), "items", "month", "cafe", "sku")
    assert all(0 < items <= sold[key] for key, items in waste.items())
    lots = {row["lot"]: row for row in read(company, "roasting/roast_batches.csv")}
    for row in read(company, "roasting/cuppings.csv"):
        assert (float(row["points"]) < 82) == (row["passed"] == "no") == (lots[row["lot"]]["state"] == "rejected")


def test_green_coffee_came_as_contracted_but_four_bags(company):
    contracts = [row for row in read(company, "reference/contracts.csv") if row["from"] == "2025-01-01"]
    arrived = read(company, "stock/green_deliveries.csv")
    short = sums(contracts, "bags", "supplier")
    short.subtract(sums(arrived, "bags", "supplier"))
    assert {key for key, bags in short.items() if bags} == {("SUP-05",)}
    assert short["SUP-05",] == 4
    assert sums(arrived, "kg")[()] == 40_560
    assert sums(arrived, "amount_pence")[()] == 22_454_400
    prices = {row["contract"]: row["price_pence_per_kg"] for row in contracts}
    assert all(prices[row["contract"]] == row["price_pence_per_kg"] for row in arrived)


def test_books_agree_with_the_tables(company):
    ledger = sums(read(company, "finance/ledger.csv"), "amount_pence", "account")
    quarters = json.loads((company / "data/finance/quarters.json").read_text(encoding="utf-8"))
    for accounts, name, channel in (
        (("4010", "4020", "4030"), "daily_sales", "cafes"),
        (("4100",), "wholesale_orders", "wholesale"),
        (("4200", "4210"), "online_orders", "online"),
        (("4300",), "course_bookings", "courses"),
    ):
        rows = read(company, f"sales/{name}.csv")
        assert sum(ledger[account,] for account in accounts) == sums(rows, "takings_pence")[()]
        by_quarter = Counter[str]()
        for row in rows:
            by_quarter[f"Q{(int(row['date'][5:7]) + 2) // 3}"] += int(row["takings_pence"])
        assert by_quarter == {quarter: amounts[channel] for quarter, amounts in quarters.items()}
    assert ledger["1010",] == -22_454_400
    assert ledger["6010",] == -sums(read(company, "people/timesheets.csv"), "wages_pence")[()]
    assert {account for (account,) in ledger} <= {row["account"] for row in read(company, "reference/accounts.csv")}
    assert ledger["7010",] == -sums(read(company, "reference/cafes.csv"), "rent_pence")[()] == -29_740_000
    assert ledger["7110",] == -sums(read(company, "reference/campaigns.csv"), "spend_pence")[()] == -3_540_000


def test_documents_state_the_figures_of_the_tables(company):
    stated = json.loads(STATED.read_text(encoding="utf-8"))
    assert sum(map(len, stated.values())) >= 80
    values = figures(company)
    for name, lines in stated.items():
        text = (company / name).read_text(encoding="utf-8").split("\n")
        for line in lines:
            filled = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], line)
            assert "{{" not in filled
            assert filled in text, f"{name}: {filled}"


def test_nothing_is_left_to_fill_in(files):
    for name, content in files.items():
        text = content.decode("utf-8")
        assert text.strip(), name
        assert not re.search(r"\{\{\w+\}\}|\{\{\?|TODO|TBD|lorem ipsum", text), name


def test_every_price_that_a_document_gives_for_a_product_code_is_its_price(company, files):
    products = {row["sku"]: int(row["price_pence"]) for row in read(company, "reference/products.csv")}
    found = 0
    for name in files:
        if name.startswith("menu/"):
            for line in files[name].decode("utf-8").split("\n"):
                codes, prices = re.findall(r"\b[A-Z]{2}-\d{3}\b", line), re.findall(r"£(\d+\.\d\d)", line)
                if line.startswith("|") and len(codes) == 1 and prices:
                    found += 1
                    assert products[codes[0]] in [round(float(price) * 100) for price in prices], f"{name}: {line}"
    assert found >= 30


def test_every_code_in_the_documents_exists(company, files):
    known = {row["sku"] for row in read(company, "reference/products.csv")}
    suppliers = {row["id"] for row in read(company, "reference/suppliers.csv")}
    contracts = {row["contract"] for row in read(company, "reference/contracts.csv")}
    employees = {row["id"]: row["name"] for row in read(company, "reference/employees.csv")}
    for name, content in files.items():
        if name.endswith(".md"):
            text = content.decode("utf-8")
            assert set(re.findall(r"\bSUP-\d\d\b", text)) <= suppliers, name
            assert set(re.findall(r"\bGC-202[56]-\d\d\b", text)) <= contracts, name
            assert set(re.findall(r"\b(?:DR|FD|BN|MR|WS|SB|SC)-\d{3}\b", text)) <= known, name
            assert set(re.findall(r"\bE[01]\d\d\b", text)) <= set(employees), name
    register = "\n".join(employees.values())
    for name in re.findall(r"^\| C\d\d \|.*$", files["people/organisation.md"].decode("utf-8"), re.M):
        assert any(part.strip() in register for part in name.split("|") if part.strip())


def test_code_is_code(files):
    for name, content in files.items():
        text = content.decode("utf-8")
        if name.endswith(".py"):
            ast.parse(text, name)
        elif name.endswith(".json"):
            json.loads(text)
        elif name.endswith(".toml"):
            tomllib.loads(text)


@pytest.mark.parametrize(
    "service", ["loyalty", *(pytest.param(each, marks=pytest.mark.slow) for each in ("payroll-export", "forecast"))]
)
def test_its_python_services_pass_their_own_tests(company, service):
    environment = {**os.environ, "PYTHONPATH": ".", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:natlang_envs", "tests"]
    ran = subprocess.run(command, cwd=company / "services" / service, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
