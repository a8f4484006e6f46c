"""Days of visits, and what broke."""

from datetime import date, datetime

import pytest

from machines.due import HEAT, SEALS, YEARLY, Task
from machines.faults import (
    Fault,
    again,
    by_kind,
    down,
    free_loan,
    lost_shots,
    needs_loan,
    open_minutes,
    written,
)
from machines.fleet import DUE, TRE, UNO, Machine
from machines.van import Missing
from machines.visits import Visit, after_rush, back, board, by_cafe, clock, driven, planned, stock_after, way

TODAY = date(2026, 4, 1)
WAYS = {("C01", "C02"): 12, ("C02", "C03"): 20, ("C01", "C03"): 8, ("C02", "C08"): 35, ("C01", "C08"): 30}
NOON = datetime(2026, 4, 1, 12)


def task(cafe: str, work=SEALS, by: date = TODAY, model=DUE) -> Task:
    """Return a task of a machine that was bought in May 2021."""
    return Task(Machine(cafe, model, date(2021, 5, 4)), work, by)


def fault(cafe: str, what: str, began: datetime, mended: datetime | None = None, groups: int = 0) -> Fault:
    """Return a fault."""
    return Fault(cafe, what, began, mended, groups)


def test_a_time_of_the_day():
    assert [clock(minute) for minute in (0, 390, 605, 1439)] == ["00:00", "06:30", "10:05", "23:59"]


def test_the_way_is_the_same_back():
    assert way(WAYS, "C03", "C02") == way(WAYS, "C02", "C03") == 20
    assert way(WAYS, "C09", "C09") == 0
    with pytest.raises(KeyError):
        way(WAYS, "C03", "C08")


def test_cafes_by_their_most_urgent_task():
    found = [task("C03"), task("C01", by=date(2026, 3, 1)), task("C03", HEAT, date(2026, 2, 1))]
    assert {cafe: [each.work.name for each in works] for cafe, works in by_cafe(found, TODAY).items()} == {
        "C03": ["thermometer", "seals"],
        "C01": ["seals"],
    }
    assert list(by_cafe(found, TODAY)) == ["C03", "C01"]


@pytest.mark.parametrize(
    ("minute", "minutes", "begins"),
    [(460, 15, 460), (460, 16, 540), (390, 60, 390), (391, 60, 540), (540, 60, 540), (700, 30, 810), (690, 30, 690)],
)
def test_no_work_in_the_rush(minute, minutes, begins):
    assert after_rush(minute, minutes) == begins


def test_a_long_work_after_both_rushes():
    assert after_rush(500, 200) == 810


def test_a_day_is_planned():
    found = [task("C01"), task("C03", HEAT, date(2026, 3, 2)), task("C01", HEAT)]
    visits, left = planned(found, TODAY, WAYS)
    assert visits == [Visit("C03", 540, 610, ("thermometer",)), Visit("C01", 618, 718, ("seals", "thermometer"))]
    assert left == []
    assert back(visits, WAYS) == 730
    assert driven(visits, WAYS) == 40
    assert board(visits) == ["09:00-10:10 C03 thermometer", "10:18-11:58 C01 seals, thermometer"]


def test_what_does_not_fit_is_left():
    found = [task("C01", YEARLY, date(2026, 3, 1)), task("C03", HEAT), task("C03"), task("C02")]
    visits, left = planned(found, TODAY, WAYS)
    assert [(visit.cafe, visit.begins, visit.ends) for visit in visits] == [("C02", 390, 430), ("C03", 540, 640)]
    assert [each.work.name for each in left] == ["yearly"]
    early, rest = planned([task("C02")], TODAY, WAYS, ends=429)
    assert (early, len(rest)) == ([], 1)
    assert len(planned([task("C02")], TODAY, WAYS, ends=430)[0]) == 1


def test_lunch_comes_once():
    found = [
        task("C01", YEARLY, date(2026, 3, 1), UNO),
        task("C03", SEALS, date(2026, 3, 2)),
        task("C02", SEALS, date(2026, 3, 3)),
    ]
    visits, left = planned(found, TODAY, WAYS, ends=1200)
    assert left == []
    assert [(visit.cafe, visit.begins, visit.ends) for visit in visits] == [
        ("C01", 810, 1060),
        ("C03", 1098, 1138),
        ("C02", 1158, 1198),
    ]


def test_a_day_without_visits():
    assert planned([], TODAY, WAYS) == ([], [])
    assert back([], WAYS) == 390
    assert driven([], WAYS) == 0
    assert board([]) == []


def test_parts_that_the_day_takes():
    found = [task("C01"), task("C03", YEARLY)]
    visits = [Visit("C01", 400, 440, ("seals",))]
    assert stock_after({"seal": 5, "screen": 2, "valve": 0}, visits, found) == {"seal": 3, "screen": 0, "valve": 0}
    with pytest.raises(Missing, match="valve"):
        stock_after({"seal": 5, "screen": 2}, [*visits, Visit("C03", 500, 740, ("yearly",))], found)


@pytest.mark.parametrize(
    ("start", "end", "minutes"),
    [
        ("2026-04-01 12:00", "2026-04-01 14:10", 130),
        ("2026-04-01 18:00", "2026-04-02 08:30", 150),
        ("2026-04-01 19:30", "2026-04-02 06:00", 0),
        ("2026-04-01 05:00", "2026-04-01 22:00", 720),
        ("2026-04-01 12:00", "2026-04-03 12:00", 1440),
        ("2026-04-01 12:00", "2026-04-01 11:00", 0),
    ],
)
def test_minutes_in_which_a_cafe_is_open(start, end, minutes):
    assert open_minutes(datetime.fromisoformat(start), datetime.fromisoformat(end)) == minutes


def test_how_long_a_fault_lasts():
    assert down(fault("C04", "pump", NOON, datetime(2026, 4, 1, 14, 10)), datetime(2026, 5, 1)) == 130
    assert down(fault("C04", "pump", NOON), datetime(2026, 4, 1, 13)) == 60


def test_lost_shots():
    whole = fault("C04", "pump", NOON, datetime(2026, 4, 1, 18))
    assert lost_shots(whole, NOON, 600, 3) == 300
    assert lost_shots(fault("C04", "wand", NOON, datetime(2026, 4, 1, 18), groups=1), NOON, 600, 3) == 100
    assert lost_shots(whole, NOON, 0, 3) == 0


def test_faults_that_came_again():
    first = fault("C04", "pump", datetime(2026, 1, 1), datetime(2026, 1, 2))
    soon = fault("C04", "pump", datetime(2026, 3, 3), datetime(2026, 3, 4))
    late = fault("C04", "pump", datetime(2026, 5, 4))
    other = fault("C04", "wand", datetime(2026, 1, 3))
    far = fault("C05", "pump", datetime(2026, 1, 3))
    assert again([late, soon, first, other, far]) == [soon]
    assert again([first, fault("C04", "pump", datetime(2026, 3, 3, 0, 1))]) == []
    assert again([first, fault("C04", "pump", datetime(2026, 1, 2))]) == [fault("C04", "pump", datetime(2026, 1, 2))]
    assert again([fault("C04", "pump", datetime(2026, 1, 1)), soon]) == []


def test_when_a_machine_is_lent():
    stop = fault("C04", "board", NOON)
    assert needs_loan(stop, NOON, datetime(2026, 4, 1, 18, 1), 2)
    assert not needs_loan(stop, NOON, datetime(2026, 4, 1, 18), 2)
    assert needs_loan(stop, NOON, None, 2)
    assert not needs_loan(fault("C04", "board", NOON, groups=1), NOON, None, 2)
    assert needs_loan(fault("C04", "board", NOON, groups=2), NOON, None, 2)
    assert not needs_loan(fault("C04", "board", NOON, NOON), NOON, None, 2)


def test_whether_the_schools_machine_is_there():
    faults = [fault("C04", "board", NOON), fault("C05", "pump", NOON, NOON)]
    assert not free_loan(faults, {"C04": TODAY})
    assert free_loan(faults, {"C05": TODAY})
    assert free_loan(faults, {"C04": TODAY}, spare=2)
    assert not free_loan(faults, {}, spare=0)
    assert free_loan([], {"C04": TODAY})


def test_kinds_of_faults():
    faults = [fault("C01", each, NOON) for each in ("wand", "pump", "valve", "pump", "board", "wand")]
    assert by_kind(faults) == [("pump", 2), ("wand", 2), ("board", 1), ("valve", 1)]
    assert by_kind([]) == []


def test_a_time_down():
    assert [written(minutes) for minutes in (0, 45, 59, 60, 61, 130, 1560)] == [
        "0 min", "45 min", "59 min", "1 h", "1 h 01", "2 h 10", "26 h",
    ]  # fmt: skip


def test_models_by_name():
    assert [model.name for model in (TRE, DUE, UNO)] == ["Ferrant Tre", "Ferrant Due", "Ferrant Uno"]
