"""Builds the Coffee Company: a company that does not exist, in documents, code and tables.

The documents, the code and the registers are written by hand, in `datasets/autoexplore/coffee_company`. The tables of
what happened in 2025 are drawn here: the same bytes on every machine. A larger scale has more of the tills' receipts
and is otherwise the same, so that every figure that a document states holds at every scale.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from natlang_envs.autoexplore.dataset.catalogue import coffee_files, data_folder
from natlang_envs.autoexplore.dataset.coffee_company import books, work
from natlang_envs.autoexplore.dataset.coffee_company import sales as shop
from natlang_envs.autoexplore.dataset.coffee_company.reference import DAYS, Registers, read_registers, write_rows
from natlang_envs.autoexplore.dataset.coffee_company.sales import Row
from natlang_envs.errors import UsageError
from natlang_envs.files import whole_folder

SCALES = {"small": 3, "paper": 200}  # days of receipts; the second makes the 12 million tokens of the paper


def build_coffee(folder: Path, scale: str | int = "small") -> None:
    """Write all of its files.

    Args:
        folder: An empty folder.
        scale: `small`, `paper`, or the number of days, from 1 to 365, of which the tills' receipts are written.

    Raises:
        UsageError: The scale is none of these.
        OSError: There is no room.
    """
    days = _days(scale)
    source = data_folder() / "coffee_company"
    for path in coffee_files():
        copy = folder / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    registers = read_registers(source)
    data = folder / "data"
    sales = shop.counter_sales(registers)
    monthly = _write_sales(data / "sales", registers, sales, days)
    deliveries = list(work.delivery_rows(registers))
    waste = list(work.waste_rows(registers, sales))
    timesheets = list(work.timesheet_rows(registers))
    _write_stock(data / "stock", registers, deliveries, waste)
    _write_roasting(data / "roasting")
    _write_people(data / "people", registers, timesheets)
    _write_guests(data, registers)
    booked = {
        **_booked_sales(registers, sales),
        books.WHOLESALE: monthly["wholesale"],
        books.COURSES: monthly["courses"],
        books.GREEN: [-amount for amount in _by_month(deliveries, 1, 7)],
        books.WASTE: [-amount for amount in _by_month(waste, 0)],
        books.WAGES: [-amount for amount in _by_month(timesheets, 0)],
    }
    ledger = books.ledger_rows(registers, booked)
    write_rows(data / "finance" / "ledger.csv", "month,account,amount_pence", ledger)
    header = "invoice,supplier,date,due,amount_pence,paid"
    write_rows(data / "finance" / "supplier_invoices.csv", header, books.invoice_rows(deliveries))
    quarters = json.dumps(books.quarters(monthly), indent=2)
    (data / "finance" / "quarters.json").write_text(quarters + "\n", encoding="utf-8")


def _days(scale: str | int) -> int:
    days = SCALES.get(scale) if isinstance(scale, str) else scale
    if days is None or not 1 <= days <= len(DAYS):
        raise UsageError(f"scale {scale!r}: take {', '.join(SCALES)}, or days of receipts from 1 to {len(DAYS)}")
    return days


def _write_sales(folder: Path, registers: Registers, sales: shop.Sales, days: int) -> dict[str, list[int]]:
    """Write the tables of what was sold; return each channel's takings in each month, in pence."""
    daily = list(shop.daily_rows(registers, sales))
    online = list(shop.online_rows(registers))
    wholesale = list(shop.wholesale_rows(registers))
    courses = list(shop.course_rows(registers))
    write_rows(folder / "daily_sales.csv", "date,cafe,receipts,items,takings_pence", daily)
    write_rows(folder / "product_sales.csv", "month,cafe,sku,items,takings_pence", shop.product_rows(registers, sales))
    write_rows(folder / "online_orders.csv", "date,orders,items,takings_pence", online)
    write_rows(folder / "online_products.csv", "month,sku,items,takings_pence", shop.online_product_rows(registers))
    header = "order,date,customer,sku,kg,price_pence_per_kg,discount_percent,takings_pence"
    write_rows(folder / "wholesale_orders.csv", header, wholesale)
    write_rows(folder / "subscriptions.csv", "subscription,plan,started,state,ended", shop.subscription_rows())
    write_rows(folder / "course_bookings.csv", "booking,date,sku,places,takings_pence", courses)
    for place, cafe in enumerate(registers.cafes):
        rows = shop.receipt_rows(registers, sales, place, days)
        write_rows(folder / "receipts" / f"{cafe.code.lower()}.csv", "receipt,time,sku,items,takings_pence,paid", rows)
    return {
        "cafes": _by_month(daily, 0),
        "wholesale": _by_month(wholesale, 1),
        "online": _by_month(online, 0),
        "courses": _by_month(courses, 1),
    }


def _write_stock(folder: Path, registers: Registers, deliveries: Sequence[Row], waste: Sequence[Row]) -> None:
    header = "delivery,date,supplier,contract,bags,kg,price_pence_per_kg,amount_pence,moisture_percent"
    write_rows(folder / "green_deliveries.csv", header, deliveries)
    write_rows(folder / "stock_counts.csv", "date,cafe,item,counted", work.stock_rows(registers))
    write_rows(folder / "waste.csv", "month,cafe,sku,items,given_away,cost_pence", waste)


def _write_roasting(folder: Path) -> None:
    batches = work.batches()
    header = "lot,date,roaster,coffee,person,green_g,roasted_g,loss_percent,drop_c,seconds,state"
    write_rows(folder / "roast_batches.csv", header, work.batch_rows(batches))
    write_rows(folder / "cuppings.csv", "date,lot,coffee,points,passed", work.cupping_rows(batches))
    write_rows(folder.parent / "sensors" / "roaster_probe.csv", "lot,second,bean_c", work.probe_rows(batches))


def _write_people(folder: Path, registers: Registers, timesheets: Sequence[Row]) -> None:
    header = "month,employee,cafe,hours,night_hours,rate_pence,wages_pence"
    write_rows(folder / "timesheets.csv", header, timesheets)
    header = "month,cafe,people,hours,night_hours,wages_pence"
    write_rows(folder / "payroll.csv", header, work.payroll_rows(timesheets))
    write_rows(folder / "absences.csv", "employee,site,first_day,days,reason", work.absence_rows(registers))
    header = "employee,site,topic,date,score,passed"
    write_rows(folder / "training_records.csv", header, work.training_rows(registers))


def _write_guests(data: Path, registers: Registers) -> None:
    write_rows(data / "feedback" / "reviews.csv", "date,cafe,stars,source,text", books.review_rows(registers))
    header = "member,joined,home_cafe,stamps,newsletter"
    write_rows(data / "loyalty" / "members.csv", header, books.member_rows(registers))
    header = "date,cafe,sensor,coldest_c,warmest_c,minutes_over,alarm"
    write_rows(data / "sensors" / "fridges.csv", header, books.fridge_rows(registers))


def _booked_sales(registers: Registers, sales: shop.Sales) -> dict[int, list[int]]:
    """Return what cafés and shop took in each month, in pence, by the account of what was sold."""
    rows = [*shop.product_rows(registers, sales), *shop.online_product_rows(registers)]
    kinds = {False: books.COUNTER, True: books.ONLINE}
    booked: dict[int, list[int]] = {}
    for row in rows:
        online = len(row) == 4
        account = kinds[online][registers.products[str(row[-3])].category]
        booked.setdefault(account, [0] * 12)[int(str(row[0])[5:7]) - 1] += int(str(row[-1]))
    return booked


def _by_month(rows: Sequence[Row], when: int, amount: int = -1) -> list[int]:
    """Return the sum of a column for each month; column `when` has the date, or the month as `2025-01`."""
    sums = [0] * 12
    for row in rows:
        sums[int(str(row[when])[5:7]) - 1] += int(str(row[amount]))
    return sums


def build_coffee_company(folder: Path, scale: str | int = "small") -> None:
    """Build the Coffee Company, from its hand-written files and generated tables, in a folder that does not exist.

    Raises:
        UsageError: There is no room for it.
    """
    with whole_folder(folder, keep=True) as unfinished:
        build_coffee(unfinished, scale)
