"""Write the payroll file of a month: one line a person and a closing line with a check number."""

import argparse
import json
import string
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from holiday_pay import holiday_pence
from rounding import pay_of

CHECK_MODULUS = 9973


@dataclass
class Person:
    """One hourly employee with what was clocked in the pay month."""

    employee: str
    rate_pence: int
    shifts: list[tuple[datetime, datetime | None]]
    holiday_hours: float = 0.0
    paid_weeks: list[tuple[int, float]] = field(default_factory=list)


def pay_month(month: str) -> tuple[date, date]:
    """Return the first and last day of a pay month: the 16th of the month before to the 15th."""
    year, number = (int(part) for part in month.split("-"))
    before = (year - 1, 12) if number == 1 else (year, number - 1)
    return date(*before, 16), date(year, number, 15)


def line_of(person: Person, month: str) -> tuple[str, int]:
    """Return the line of a person and the gross in pence.

    Raises:
        ValueError: If a shift has no end; guessing one has been tried, and it was always wrong.
    """
    quarters = base = night = 0
    for start, end in person.shifts:
        if end is None:
            raise ValueError(f"{person.employee}: shift of {start:%d %B %H:%M} has no end")
        paid = pay_of(start, end, person.rate_pence)
        quarters += paid.quarters
        base += paid.base_pence
        night += paid.night_pence
    holiday = holiday_pence(person.holiday_hours, person.paid_weeks, person.rate_pence)
    gross = base + night + holiday
    fields = ("P", person.employee, month.replace("-", ""), quarters * 25, base, night, holiday, gross)
    return "|".join(str(f) for f in fields), gross


def content(people: Iterable[Person], month: str) -> str:
    """Return the whole file. Order of employee ids, so that two runs can be compared by eye."""
    lines, total = [], 0
    for person in sorted(people, key=lambda p: p.employee):
        line, gross = line_of(person, month)
        lines.append(line)
        total += gross
    lines.append(f"T|{len(lines)}|{total}|{total % CHECK_MODULUS}")
    return "\n".join(lines) + "\n"


def next_name(folder: Path, month: str) -> Path:
    """Return the first free name: 202601a, then 202601b; a file is never overwritten."""
    for letter in string.ascii_lowercase:
        path = folder / f"{month.replace('-', '')}{letter}"
        if not path.exists():
            return path
    raise FileExistsError(f"26 files for {month}: ask Wen Zhao which ones may go")


def read(source: str, month: str) -> list[Person]:
    """Read people as JSON lines from the staff database's export."""
    first, last = pay_month(month)
    people = []
    for row in map(json.loads, source.splitlines()):
        shifts = [(datetime.fromisoformat(a), datetime.fromisoformat(b) if b else None) for a, b in row["shifts"]]
        inside = [s for s in shifts if first <= s[0].date() <= last]
        weeks = [(int(p), float(h)) for p, h in row["paid_weeks"]]
        people.append(Person(row["employee"], row["rate_pence"], inside, row["holiday_hours"], weeks))
    return people


def main() -> int:
    """Run the command line; standard input holds the people."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--month", required=True, help="for example 2026-01")
    parser.add_argument("--out", type=Path, default=Path("/srv/payroll"))
    parser.add_argument("--only", help="one employee id")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    people = [p for p in read(sys.stdin.read(), args.month) if args.only in (None, p.employee)]
    try:
        text = content(people, args.month)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 3
    if args.dry_run:
        print(text, end="")
        return 0
    try:
        with next_name(args.out, args.month).open("x") as file:
            file.write(text)
    except FileExistsError as error:
        print(error, file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
