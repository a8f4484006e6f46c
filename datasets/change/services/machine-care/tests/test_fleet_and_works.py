"""Machines, their counters, and the works that come again."""

from datetime import date

import pytest

from machines.due import (
    HEAT,
    SEALS,
    YEARLY,
    Task,
    calendar,
    minutes_needed,
    months_on,
    most_urgent,
    next_day,
    parts_needed,
    tasks,
)
from machines.fleet import (
    DUE,
    TRE,
    UNO,
    BadReading,
    Machine,
    busiest,
    days_to_pump,
    new_pump,
    read,
    shots_a_day,
    to_replace,
)

TODAY = date(2026, 4, 1)


def machine(cafe: str = "C01", model=TRE, **more) -> Machine:
    """Return a machine that was bought in May 2021."""
    return Machine(cafe, model, more.pop("bought", date(2021, 5, 4)), **more)


def test_shots_since_it_was_bought():
    assert machine(shots=1200).all_shots == 1200
    assert machine(shots=1200, rounds=2).all_shots == 2_001_200
    assert machine(shots=1200, rounds=1, pump_at=900_000).pump_shots == 101_200


def test_when_a_pump_is_changed():
    assert not machine(shots=199_999).needs_pump
    assert machine(shots=200_000).needs_pump
    assert not machine(shots=400_000, pump_at=200_001).needs_pump
    assert new_pump(machine(shots=250_000, rounds=1)).pump_at == 1_250_000


def test_whole_years():
    assert machine().years(date(2026, 5, 3)) == 4
    assert machine().years(date(2026, 5, 4)) == 5
    assert machine().years(date(2026, 12, 1)) == 5


def test_a_counter_is_read():
    after = read(machine(shots=1000, pump_at=7), 31_000, 30)
    assert (after.shots, after.rounds, after.pump_at) == (31_000, 0, 7)
    assert read(machine(shots=999_000), 500, 30).all_shots == 1_000_500
    assert read(machine(shots=1000), 1000, 30).rounds == 0
    assert read(machine(model=UNO), 1500, 1).shots == 1500
    assert read(machine(), 4500, 0).shots == 4500


@pytest.mark.parametrize(
    ("shown", "days", "why"),
    [
        (136_001, 30, "135001 shots in 30 days"),
        (999, 30, "999999 shots in 30 days"),
        (-1, 30, "a counter shows -1"),
        (1_000_000, 30, "a counter shows 1000000"),
        (5501, 0, "4501 shots in 0 days"),
    ],
)
def test_a_counter_that_cannot_be_right(shown, days, why):
    with pytest.raises(BadReading, match=f"C01: {why}"):
        read(machine(shots=1000), shown, days)


def test_shots_of_a_day():
    before, after = machine(shots=999_000), machine(shots=8_000, rounds=1)
    assert shots_a_day(before, after, 30) == 300
    assert shots_a_day(before, after, 31) == 290
    with pytest.raises(ValueError, match="0 days"):
        shots_a_day(before, after, 0)


def test_days_until_the_pump():
    assert days_to_pump(machine(shots=190_000), 300) == 34
    assert days_to_pump(machine(shots=191_000), 300) == 30
    assert days_to_pump(machine(shots=210_000), 300) == 0
    assert days_to_pump(machine(), 0) is None


def test_the_busiest_by_group():
    fleet = [
        machine("C01", TRE, shots=300_000),
        machine("C08", UNO, shots=110_000),
        machine("C02", DUE, shots=200_001),
        machine("C05", DUE, shots=40_000),
    ]
    assert busiest(fleet) == ["C08", "C01", "C02", "C05"]


def test_old_machines_are_replaced():
    fleet = [
        machine("C01", TRE, bought=date(2017, 4, 1)),
        machine("C02", DUE, bought=date(2017, 4, 2)),
        machine("C08", UNO, bought=date(2015, 6, 1)),
    ]
    prices = {"Ferrant Tre": 14_500, "Ferrant Due": 9800, "Ferrant Uno": 5200}
    assert to_replace(fleet, TODAY, prices) == (["C08", "C01"], 19_700)
    assert to_replace(fleet, date(2026, 4, 2), prices) == (["C08", "C01", "C02"], 29_500)
    assert to_replace([], TODAY, prices) == ([], 0)


@pytest.mark.parametrize(
    ("day", "months", "after"),
    [
        ("2026-01-31", 1, "2026-02-28"),
        ("2028-01-31", 1, "2028-02-29"),
        ("2026-11-30", 3, "2027-02-28"),
        ("2026-12-15", 12, "2027-12-15"),
        ("2026-05-31", 6, "2026-11-30"),
        ("2026-10-31", 2, "2026-12-31"),
        ("2026-03-05", 0, "2026-03-05"),
    ],
)
def test_some_months_on(day, months, after):
    assert months_on(date.fromisoformat(day), months) == date.fromisoformat(after)


def test_minutes_and_parts_of_a_task():
    assert [Task(machine(model=model), SEALS, TODAY).minutes for model in (TRE, DUE, UNO)] == [45, 30, 20]
    assert [Task(machine(model=model), HEAT, TODAY).minutes for model in (TRE, UNO)] == [60, 60]
    assert Task(machine(), SEALS, TODAY).parts == {"seal": 3, "screen": 3}
    assert Task(machine(), YEARLY, TODAY).parts == {"valve": 1}
    assert Task(machine(), HEAT, TODAY).parts == {}


def test_a_week_of_grace():
    task = Task(machine(), SEALS, TODAY)
    assert [task.overdue(date(2026, 4, day)) for day in (1, 8, 9, 20)] == [0, 0, 1, 12]


def test_when_a_work_comes_next():
    assert next_day(SEALS, date(2026, 1, 9), date(2020, 1, 1)) == date(2026, 4, 9)
    assert next_day(YEARLY, None, date(2026, 1, 9)) == date(2027, 1, 9)


def test_what_a_machine_needs():
    done = {"seals": date(2026, 1, 10), "thermometer": date(2025, 10, 16), "yearly": date(2025, 9, 1)}
    assert [(each.work.name, each.by.day) for each in tasks(machine(), done, TODAY)] == [("seals", 10)]
    assert [each.work.name for each in tasks(machine(), done, TODAY, 15)] == ["seals", "thermometer"]
    assert tasks(machine(), done, TODAY, 8) == []
    done["yearly"] = date(2025, 4, 10)
    found = tasks(machine(), done, date(2026, 4, 2))
    assert [each.work.name for each in found] == ["seals", "yearly"]
    assert minutes_needed(found) == 285
    assert parts_needed(found) == {"screen": 3, "seal": 3, "valve": 1}
    assert [each.work.name for each in tasks(machine(bought=date(2026, 1, 1)), {}, TODAY)] == ["seals"]


def test_what_is_most_urgent():
    late = Task(machine("C03"), SEALS, date(2026, 3, 1))
    later = Task(machine("C04"), HEAT, date(2026, 2, 20))
    soon = Task(machine("C05"), HEAT, date(2026, 3, 30))
    short = Task(machine("C06", DUE), SEALS, date(2026, 3, 30))
    other = Task(machine("C01", DUE), SEALS, date(2026, 3, 30))
    found = most_urgent([short, soon, late, other, later], TODAY)
    assert [task.machine.cafe for task in found] == ["C04", "C03", "C01", "C06", "C05"]


def test_a_calendar_of_weeks():
    found = [
        Task(machine("C03"), SEALS, date(2026, 4, 7)),
        Task(machine("C01"), SEALS, date(2026, 3, 1)),
        Task(machine("C02"), SEALS, date(2026, 4, 8)),
        Task(machine("C02"), HEAT, date(2026, 4, 14)),
        Task(machine("C09"), HEAT, date(2026, 4, 15)),
        Task(machine("C05"), HEAT, date(2026, 4, 22)),
    ]
    assert calendar(found, TODAY, 3) == [["C01", "C03"], ["C02"], ["C09"]]
    assert calendar(found, TODAY, 4)[3] == ["C05"]
    assert calendar([], TODAY, 2) == [[], []]
