"""The figures that the Coffee Company's documents state, worked out from its tables as a reader would."""

import csv
import datetime
from collections import Counter
from pathlib import Path

CAFES = [f"c{number:02}" for number in range(1, 11)]


def read(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "data" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pounds(pence: int) -> str:
    return f"£{(pence + 50) // 100:,}"


def figures(folder: Path) -> dict[str, str]:
    """Return each figure's name and how a document writes it."""
    return {**_sold(folder), **_done(folder)}


def _sold(folder: Path) -> dict[str, str]:
    daily, products = read(folder, "sales/daily_sales.csv"), read(folder, "sales/product_sales.csv")
    wholesale, online = read(folder, "sales/wholesale_orders.csv"), read(folder, "sales/online_orders.csv")
    courses = read(folder, "sales/course_bookings.csv")
    found: dict[str, str] = {}
    total: Counter[str] = Counter()
    for name, rows in (("cafe_takings", daily), ("wholesale", wholesale), ("online", online), ("courses", courses)):
        sums: Counter[str] = Counter()
        for row in rows:
            month, pence = int(row["date"][5:7]), int(row["takings_pence"])
            owner = (row.get("cafe") or row.get("customer") or "-").lower()
            for key in ("", f"_q{(month + 2) // 3}", f"_{month:02}", f"_{owner}"):
                sums[key] += pence
        for key, pence in sums.items():
            found[f"{name}_2025{key}"] = pounds(pence)
            total[key] += pence
    for key in ("", "_q1", "_q2", "_q3", "_q4"):
        found[f"total_2025{key}"] = pounds(total[key])

    receipts, takings = sum(int(row["receipts"]) for row in daily), sum(int(row["takings_pence"]) for row in daily)
    found["cafe_units_2025"] = f"{sum(int(row['items']) for row in daily):,}"
    found["cafe_orders_2025"] = f"{receipts:,}"
    average = (takings * 2 + receipts) // (2 * receipts)
    found["average_receipt_2025"] = f"£{average // 100}.{average % 100:02}"
    days: Counter[str] = Counter()
    for row in daily:
        days[row["date"]] += int(row["takings_pence"])
    busiest, pence = days.most_common(1)[0]
    day = datetime.date.fromisoformat(busiest)
    found["busiest_day_2025"] = f"{day.day} {day:%B %Y}"
    found["busiest_day_2025_takings"] = pounds(pence)

    names = {row["sku"]: row["name"] for row in read(folder, "reference/products.csv")}
    sold: Counter[str] = Counter()
    for row in products:
        sold[row["sku"]] += int(row["items"])
    for kind, prefix in (("drink", "DR"), ("food", "FD")):
        best, count = next((sku, count) for sku, count in sold.most_common() if sku.startswith(prefix))
        found[f"best_{kind}_2025"], found[f"best_{kind}_2025_units"] = names[best].lower(), f"{count:,}"
    cold = sum(
        int(row["items"]) for row in products if row["sku"] == "DR-111" and row["month"][5:] in ("07", "08", "09")
    )
    found["cold_brew_units_2025_q3"] = f"{cold:,}"
    found["wholesale_kg_2025"] = f"{sum(int(row['kg']) for row in wholesale):,}"
    found["online_orders_2025"] = f"{sum(int(row['orders']) for row in online):,}"
    found["course_bookings_2025"] = f"{sum(int(row['places']) for row in courses):,}"
    return found


def _done(folder: Path) -> dict[str, str]:
    batches, reviews = read(folder, "roasting/roast_batches.csv"), read(folder, "feedback/reviews.csv")
    sheets, incidents = read(folder, "people/timesheets.csv"), read(folder, "it/incidents.csv")
    members = read(folder, "loyalty/members.csv")
    stars = sum(int(row["stars"]) for row in reviews)
    average = (200 * stars + len(reviews)) // (2 * len(reviews))
    return {
        "roasted_kg_2025": f"{(sum(int(row['roasted_g']) for row in batches) + 500) // 1000:,}",
        "roast_batches_2025": f"{len(batches):,}",
        "rejected_batches_2025": f"{sum(row['state'] == 'rejected' for row in batches):,}",
        "hours_worked_2025": f"{int(sum(float(row['hours']) for row in sheets) + 0.5):,}",
        "wages_2025": pounds(sum(int(row["wages_pence"]) for row in sheets)),
        "absence_days_2025": f"{sum(int(row['days']) for row in read(folder, 'people/absences.csv')):,}",
        "pantry_pieces_2025": f"{sum(int(row['given_away']) for row in read(folder, 'stock/waste.csv')):,}",
        "starters_2025": str(sum(row["started"] >= "2025" for row in read(folder, "reference/employees.csv"))),
        "waste_cost_2025": pounds(sum(int(row["cost_pence"]) for row in read(folder, "stock/waste.csv"))),
        "stamps_owed_2025": pounds(sum(int(row["stamps"]) for row in members) * 31 // 10),  # 31p for ten
        "members_2025": f"{len(members):,}",
        "subscribers_2025": f"{sum(row['state'] == 'active' for row in read(folder, 'sales/subscriptions.csv')):,}",
        "incidents_2025": f"{len(incidents):,}",
        "incidents_sev1_2025": f"{sum(row['severity'] == '1' for row in incidents):,}",
        "reviews_2025": f"{len(reviews):,}",
        "review_average_2025": f"{average // 100}.{average % 100:02}",
        "fridge_alarms_2025": f"{sum(row['alarm'] == 'yes' for row in read(folder, 'sensors/fridges.csv')):,}",
    }
