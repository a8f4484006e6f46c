"""March and April of Holt's work, from counters to the letter: what the parts do together."""

from datetime import date, datetime

import pytest

from machines.due import SEALS, calendar, minutes_needed, months_on, most_urgent, next_day, parts_needed, tasks
from machines.faults import Fault, again, by_kind, down, free_loan, lost_shots, needs_loan, open_minutes, written
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
from machines.gauge import latest, parse_reading, state, tenths, told, trend, worn
from machines.monthly import Month, coming, fault_lines, gauges, letter, pace, pumps, up_share
from machines.van import FULL, Missing, cost, lacking, order_by, packed, refill, taken, value, working_day
from machines.visits import after_rush, back, board, by_cafe, clock, driven, planned, stock_after
from machines.water import Cartridge, days_left, next_changes, strip

FIRST, LAST = date(2026, 3, 1), date(2026, 3, 31)
TODAY = date(2026, 4, 1)
NOW = datetime(2026, 4, 1, 7)
WAYS = {
    ("C01", "C02"): 12, ("C01", "C04"): 9, ("C01", "C08"): 25, ("C02", "C04"): 15, ("C02", "C08"): 30, ("C04", "C08"): 20,
}  # fmt: skip
LINES = """
C01 2026-03-01 9.0 bar 93.1 C
C04 2026-03-01 9.1 bar
C04 2026-03-10 9.2 bar
C04 2026-03-31 9.4 bar 93.0 C
C08 2026-03-31 8.3 bar 92.0 C
C01 2026-03-30 8.9 bar 93.5 C
"""


def before() -> list[Machine]:
    """Return the machines on the first of March."""
    return [
        Machine("C01", TRE, date(2016, 9, 12), shots=640_000, pump_at=450_000),
        Machine("C04", TRE, date(2021, 6, 1), shots=985_000, pump_at=801_000),
        Machine("C08", UNO, date(2023, 3, 31), shots=90_000),
        Machine("C02", DUE, date(2017, 4, 1), shots=300_000, pump_at=100_500),
    ]


def after() -> list[Machine]:
    """Return them on the last of March."""
    shown = {"C01": 655_500, "C04": 3_600, "C08": 93_100, "C02": 306_200}
    return [read(machine, shown[machine.cafe], 31) for machine in before()]


def broke() -> list[Fault]:
    """Return the faults of March."""
    return [
        Fault("C04", "pump", datetime(2026, 3, 17, 9), datetime(2026, 3, 17, 11, 10)),
        Fault("C08", "wand", datetime(2026, 3, 3, 18), datetime(2026, 3, 4, 8), groups=1),
        Fault("C04", "pump", datetime(2026, 3, 28, 7), datetime(2026, 3, 28, 7, 50)),
        Fault("C01", "probe", datetime(2026, 3, 31, 17), groups=1),
    ]


def march() -> Month:
    """Return the month."""
    readings = tuple(parse_reading(line) for line in LINES.strip().splitlines())
    return Month(FIRST, LAST, tuple(before()), tuple(after()), readings, tuple(broke()))


def done() -> dict[str, dict[str, date]]:
    """Return when works were done last."""
    return {
        "C01": {"seals": date(2026, 1, 9), "thermometer": date(2025, 10, 1), "yearly": date(2025, 8, 1)},
        "C04": {"seals": date(2025, 12, 10), "thermometer": date(2025, 12, 10), "yearly": date(2025, 6, 10)},
        "C08": {"seals": date(2026, 3, 1), "thermometer": date(2026, 3, 1)},
        "C02": {"seals": date(2026, 1, 15), "thermometer": date(2025, 12, 1), "yearly": date(2025, 12, 1)},
    }


def needed():
    """Return what all machines need in April."""
    return [task for machine in after() for task in tasks(machine, done()[machine.cafe], TODAY)]


def water() -> list[Cartridge]:
    """Return the cartridges."""
    return [
        Cartridge("C01", "CW-300", date(2025, 10, 3), litres=8100),
        Cartridge("C04", "CW-300", date(2025, 4, 9), litres=7000),
        Cartridge("C08", "CW-150", date(2025, 12, 22), litres=1000, hardness=4),
        Cartridge("C02", "CW-500", date(2026, 2, 10), litres=800),
    ]


def test_counters_of_march():
    assert [machine.all_shots for machine in after()] == [655_500, 1_003_600, 93_100, 306_200]
    assert [machine.pump_shots for machine in after()] == [205_500, 202_600, 93_100, 205_700]
    assert pace(march()) == {"C01": 500, "C04": 600, "C08": 100, "C02": 200}
    assert shots_a_day(before()[2], after()[2], 31) == 100
    assert busiest(after()) == ["C04", "C01", "C02", "C08"]
    assert [days_to_pump(machine, 250) for machine in before()] == [40, 64, 440, 2]
    assert new_pump(after()[1]).pump_shots == 0
    with pytest.raises(BadReading, match="C08"):
        read(before()[2], 136_501, 31)
    with pytest.raises(BadReading, match="shows"):
        read(before()[2], -5, 31)
    assert read(before()[2], 136_500, 31).needs_pump is False


def test_pumps_in_the_letter():
    assert pumps(march()) == ["C02: now, 205,700 shots", "C01: now, 205,500 shots", "C04: now, 202,600 shots"]
    early = Month(FIRST, LAST, tuple(before()), tuple(before()))
    assert pumps(early) == []
    young = [read(machine, machine.shots + 3100, 31) for machine in before()[:2]]
    assert pumps(Month(FIRST, LAST, tuple(before()[:2]), tuple(young))) == []
    older = [read(machine, machine.shots + 6200, 31) for machine in before()[:2]]
    assert pumps(Month(FIRST, LAST, tuple(before()[:2]), tuple(older))) == ["C01: in 19 days"]


def test_old_machines_in_april():
    prices = {"Ferrant Tre": 14_500, "Ferrant Due": 9800, "Ferrant Uno": 5200}
    assert to_replace(after(), LAST, prices) == (["C01"], 14_500)
    assert to_replace(after(), TODAY, prices) == (["C01", "C02"], 24_300)
    assert [machine.years(LAST) for machine in after()] == [9, 4, 3, 8]


def test_what_april_needs():
    found = needed()
    assert [(task.machine.cafe, task.work.name, task.by.isoformat()) for task in found] == [
        ("C01", "thermometer", "2026-04-01"),
        ("C01", "seals", "2026-04-09"),
        ("C04", "seals", "2026-03-10"),
        ("C08", "yearly", "2024-03-31"),
        ("C02", "seals", "2026-04-15"),
    ]
    assert [task.minutes for task in found] == [60, 45, 45, 240, 30]
    assert [task.overdue(TODAY) for task in found] == [0, 0, 15, 724, 0]
    assert minutes_needed(found) == 420
    assert parts_needed(found) == {"screen": 8, "seal": 8, "valve": 1}
    assert [task.machine.cafe for task in most_urgent(found, TODAY)] == ["C08", "C04", "C01", "C01", "C02"]
    assert calendar(found, TODAY, 2) == [["C08", "C04", "C01"], ["C01"]]
    assert calendar(found, TODAY, 3)[2] == ["C02"]
    assert next_day(SEALS, months_on(TODAY, 1), FIRST) == date(2026, 8, 1)


def test_a_day_of_holt():
    found = needed()
    visits, left = planned(found, TODAY, WAYS)
    assert list(by_cafe(found, TODAY)) == ["C08", "C04", "C01", "C02"]
    assert board(visits) == [
        "09:00-09:55 C04 seals",
        "10:04-11:59 C01 thermometer, seals",
        "13:30-14:10 C02 seals",
    ]
    assert [task.machine.cafe for task in left] == ["C08"]
    assert clock(back(visits, WAYS)) == "14:10"
    assert driven(visits, WAYS) == 36
    assert after_rush(visits[1].ends, 40) == 810
    assert stock_after(FULL, visits, [task for task in found if task.machine.cafe == "C02"])["seal"] == 10
    with pytest.raises(Missing, match="screen: 8 needed, 6 there"):
        stock_after(FULL, visits, found)
    long, rest = planned(found, TODAY, WAYS, ends=1440)
    assert [(visit.cafe, clock(visit.begins), clock(visit.ends)) for visit in long] == [
        ("C08", "13:30", "17:40"),
        ("C04", "18:30", "19:25"),
        ("C01", "19:34", "21:29"),
        ("C02", "21:41", "22:21"),
    ]
    assert rest == []


def test_what_the_van_has_afterwards():
    parts = parts_needed(needed())
    assert lacking(FULL, parts) == {"screen": 2}
    left = taken({**FULL, "screen": 9}, parts)
    assert left == {"seal": 4, "screen": 1, "pump": 2, "probe": 1, "board": 1, "valve": 1}
    orders = refill(left, TODAY)
    assert [(order.part, order.number, order.comes.day) for order in orders] == [("screen", 6, 3), ("seal", 12, 3)]
    assert cost(orders) == 6 * 1150 + 12 * 480 + 690
    assert cost(refill({**left, "pump": 0}, TODAY)) == 29_800 + 12_660
    assert [order.part for order in refill(FULL, TODAY, {"board": 1, **parts})] == ["board", "screen", "seal"]
    assert packed("screen", 5) == 6
    assert order_by(date(2026, 4, 20), "board") == date(2026, 4, 5)
    assert working_day(date(2026, 4, 3), 5) == date(2026, 4, 10)
    assert value(left) == 4 * 480 + 1150 + 29_800 + 6200 + 38_500 + 2740


def test_gauges_of_march():
    month = march()
    assert gauges(month) == [
        "C08 8.3 bar, 92.0 C: out of use",
        "C01 8.9 bar, 93.5 C: watch",
        "C04 9.4 bar ^, 93.0 C: watch",
    ]
    last = latest(month.readings)
    assert [last[cafe].day.day for cafe in ("C01", "C04", "C08")] == [30, 31, 31]
    assert trend(month.readings[1:4]) == 1
    assert told(last["C01"]) == "C01 8.9 bar, 93.5 C: watch"
    assert state(parse_reading("C01 2026-03-31 9.6 bar 93.4 C")) == "watch"
    assert state(parse_reading("C01 2026-03-31 8.4 bar")) == "watch"
    assert state(parse_reading("C01 2026-03-31 8.7 bar 92.6 C")) == "right"
    assert worn([tenths("24.5"), tenths("24.6"), tenths("25")]) == 1
    for line in ("C01 2026-03-31 9.6 bar 93.4 F", "C01 2026-03-31 9.66 bar"):
        with pytest.raises(ValueError, match="no reading"):
            parse_reading(line)


def test_faults_of_march():
    month = march()
    assert [down(fault, NOW) for fault in broke()] == [130, 120, 50, 120]
    assert fault_lines(month, NOW) == [
        "pump: 2 times, 3 h",
        "probe: once, 2 h",
        "wand: once, 2 h",
        "again: C04 pump",
    ]
    assert by_kind(month.faults)[0] == ("pump", 2)
    assert again(month.faults) == [broke()[2]]
    assert lost_shots(broke()[0], NOW, 600, 3) == 108
    assert lost_shots(broke()[3], NOW, 500, 3) == 27
    assert not needs_loan(broke()[3], NOW, None, 3)
    assert needs_loan(Fault("C08", "board", datetime(2026, 3, 31, 17)), NOW, datetime(2026, 4, 1, 11, 1), 1)
    assert not needs_loan(Fault("C08", "board", datetime(2026, 3, 31, 17)), NOW, datetime(2026, 4, 1, 11), 1)
    assert free_loan(month.faults, {"C04": FIRST})
    assert not free_loan(month.faults, {"C01": FIRST, "C04": FIRST})
    assert open_minutes(datetime(2026, 3, 31, 18, 30), datetime(2026, 4, 1, 7, 45)) == 75
    assert written(open_minutes(datetime(2026, 3, 30), NOW)) == "24 h"


def test_water_of_march():
    assert [cartridge.used for cartridge in water()] == [85, 73, 23, 6]
    assert [cartridge.is_due(TODAY) for cartridge in water()] == [False] * 4
    assert water()[1].is_due(date(2026, 4, 9))
    assert [cartridge.rings(TODAY) for cartridge in water()] == [True, False, False, False]
    assert [days_left(cartridge, TODAY) for cartridge in water()] == [31, 8, 265, 315]
    assert next_changes(water(), TODAY)[:2] == [("C04", 8), ("C01", 31)]
    assert [strip(value) for value in (100, 80, 60, 40)] == [
        "ring Holt",
        "test again tomorrow",
        "right",
        "by-pass open by one mark",
    ]


def test_what_comes_next():
    assert coming(needed()[:3], water(), TODAY) == [
        "C04 seals by 10 Mar",
        "C01 thermometer by 01 Apr",
        "C01 seals by 09 Apr",
        "C04 cartridge by 09 Apr",
        "C01 cartridge by 02 May",
    ]
    assert coming([], water()[:1], TODAY) == ["C01 cartridge by 02 May"]


def test_the_letter():
    groups = {"C01": 3, "C02": 2, "C04": 3, "C08": 1}
    assert march().days == 31
    assert up_share(march(), NOW, groups) == 996
    assert letter(march(), NOW, groups) == "\n".join(
        [
            "Machines in March 2026: in use 99.6%",
            "",
            "Pumps",
            "C02: now, 205,700 shots",
            "C01: now, 205,500 shots",
            "C04: now, 202,600 shots",
            "",
            "Gauges",
            "C08 8.3 bar, 92.0 C: out of use",
            "C01 8.9 bar, 93.5 C: watch",
            "C04 9.4 bar ^, 93.0 C: watch",
            "",
            "Faults",
            "pump: 2 times, 3 h",
            "probe: once, 2 h",
            "wand: once, 2 h",
            "again: C04 pump",
        ]
    )
    quiet = Month(FIRST, LAST, (), ())
    assert letter(quiet, NOW, groups) == "Machines in March 2026: in use 100.0%"
