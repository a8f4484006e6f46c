"""Readings, parts in the van, and water."""

from datetime import date

import pytest

from machines.gauge import (
    OUT,
    RIGHT,
    WATCH,
    Reading,
    latest,
    parse_reading,
    state,
    tenths,
    told,
    trend,
    worn,
)
from machines.van import (
    FULL,
    Missing,
    Order,
    cost,
    lacking,
    order_by,
    packed,
    refill,
    taken,
    value,
    working_day,
)
from machines.water import Cartridge, days_left, next_changes, strip

FRIDAY = date(2026, 4, 3)


def reading(bar: int, heat: int | None = None, day: int = 1, cafe: str = "C04") -> Reading:
    """Return a reading of March."""
    return Reading(cafe, date(2026, 3, day), bar, heat)


def test_a_number_is_read():
    assert [tenths(text) for text in ("9.1", "93", "0.4", " 9.0 ")] == [91, 930, 4, 90]


@pytest.mark.parametrize("text", ["", "9.12", "9.", "x", "-9", "9,1", ".5"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match="no reading"):
        tenths(text)


def test_a_line_of_the_gauge_is_read():
    assert parse_reading("C04 2026-03-01 9.1 bar 93.2 C") == reading(91, 932)
    assert parse_reading("C04 2026-03-01 9 bar") == reading(90)


@pytest.mark.parametrize(
    "line", ["C04 2026-03-01 9.1", "C04 2026-03-01 9.1 psi", "C04 2026-03-01 9.1 bar 93.2", "C04 2026-03-01 9 bar 93 F"]
)
def test_what_is_no_line_of_the_gauge(line):
    with pytest.raises(ValueError, match="no reading"):
        parse_reading(line)


@pytest.mark.parametrize(
    ("bar", "heat", "found"),
    [
        (90, None, RIGHT),
        (93, 934, RIGHT),
        (87, 926, RIGHT),
        (94, 930, WATCH),
        (86, None, WATCH),
        (90, 935, WATCH),
        (90, 925, WATCH),
        (84, None, WATCH),
        (96, None, WATCH),
        (83, None, OUT),
        (97, 930, OUT),
    ],
)
def test_what_a_reading_means(bar, heat, found):
    assert state(reading(bar, heat)) == found


def test_which_way_pressure_goes():
    assert trend([reading(90, day=1), reading(91, day=2), reading(92, day=3)]) == 1
    assert trend([reading(90, day=3), reading(91, day=2), reading(92, day=1)]) == -1
    assert trend([reading(90, day=1), reading(91, day=2), reading(91, day=3)]) == 0
    assert trend([reading(91, day=1), reading(91, day=2), reading(90, day=3)]) == 0
    assert trend([reading(90, day=1), reading(91, day=2)]) == 0
    assert trend([reading(99, day=1), reading(90, day=2), reading(91, day=3), reading(92, day=4)]) == 1


def test_the_last_reading_of_each_cafe():
    one, other, far = reading(90, day=2), reading(91, day=1), reading(92, cafe="C05")
    assert latest([one, other, far]) == {"C04": one, "C05": far}
    assert latest([other, one])["C04"] == one


def test_worn_baskets():
    assert worn([246, 245, 250, 200]) == 2
    assert worn([]) == 0


def test_a_reading_in_a_line():
    assert told(reading(91, 932)) == "C04 9.1 bar, 93.2 C: right"
    assert told(reading(97)) == "C04 9.7 bar: out of use"
    before = [reading(91, day=1), reading(92, day=2)]
    assert told(reading(95, day=3), before) == "C04 9.5 bar ^: watch"
    assert told(reading(88, day=3), [reading(90, day=1), reading(89, day=2)]) == "C04 8.8 bar v: right"


def test_working_days():
    assert working_day(FRIDAY, 1) == date(2026, 4, 6)
    assert working_day(FRIDAY, 10) == date(2026, 4, 17)
    assert working_day(FRIDAY, 0) == FRIDAY
    assert working_day(date(2026, 4, 4), 1) == date(2026, 4, 6)


def test_parts_are_taken_from_the_van():
    assert taken({"seal": 12, "valve": 1}, {"seal": 3}) == {"seal": 9, "valve": 1}
    assert taken({"seal": 3}, {"seal": 3}) == {"seal": 0}
    with pytest.raises(Missing, match="valve: 1 needed, 0 there"):
        taken({"seal": 3}, {"valve": 1})
    with pytest.raises(Missing, match="seal: 4 needed, 3 there"):
        taken({"seal": 3}, {"seal": 4})


def test_what_the_van_lacks():
    assert lacking({"seal": 2, "pump": 1}, {"seal": 3, "pump": 1, "valve": 2}) == {"seal": 1, "valve": 2}
    assert lacking(FULL, {"board": 1}) == {}


def test_packs():
    assert [packed("seal", number) for number in (1, 6, 7)] == [6, 6, 12]
    assert [packed("screen", number) for number in (3, 4)] == [3, 6]
    assert packed("pump", 1) == 1


def test_the_van_is_filled_again():
    assert refill(FULL, FRIDAY) == []
    stock = {**FULL, "seal": 5, "pump": 0, "screen": 3}
    assert refill(stock, FRIDAY) == [Order("pump", 2, date(2026, 4, 10)), Order("seal", 12, date(2026, 4, 7))]
    orders = refill(stock, FRIDAY, {"board": 1, "screen": 1})
    assert [order.part for order in orders] == ["board", "pump", "screen", "seal"]
    assert [order.number for order in orders] == [1, 2, 6, 12]
    assert orders[0].comes == date(2026, 4, 17)


def test_what_orders_cost():
    pump, seals = Order("pump", 1, FRIDAY), Order("seal", 12, FRIDAY)
    assert (pump.pence, seals.pence) == (14_900, 5760)
    assert cost([pump, seals]) == 20_660 + 690
    assert cost([pump, pump]) == 29_800
    assert cost([]) == 0
    assert value({"pump": 2, "seal": 3}) == 31_240


def test_when_a_part_is_ordered_at_the_latest():
    assert order_by(date(2026, 4, 16), "seal") == date(2026, 4, 13)
    assert order_by(date(2026, 4, 14), "seal") == date(2026, 4, 9)
    assert order_by(date(2026, 4, 17), "board") == date(2026, 4, 2)


@pytest.mark.parametrize(
    ("value", "means"),
    [
        (91, "ring Holt"),
        (90, "test again tomorrow"),
        (76, "test again tomorrow"),
        (75, "right"),
        (50, "right"),
        (49, "by-pass open by one mark"),
    ],
)
def test_what_a_strip_means(value, means):
    assert strip(value) == means


def test_how_long_a_cartridge_lasts():
    assert Cartridge("C01", "CW-300", FRIDAY).room == 9500
    assert Cartridge("C06", "CW-500", FRIDAY, hardness=5).room == 10_000
    assert Cartridge("C06", "CW-500", FRIDAY, hardness=1).room == 12_500
    assert Cartridge("C01", "CW-300", FRIDAY, litres=8075).used == 85
    assert Cartridge("C01", "CW-300", FRIDAY, litres=8074).used == 84


def test_when_a_cartridge_is_changed():
    year = Cartridge("C01", "CW-300", date(2025, 4, 3), litres=100)
    assert year.old_on == FRIDAY
    assert year.is_due(FRIDAY)
    assert not year.is_due(date(2026, 4, 2))
    assert Cartridge("C01", "CW-300", FRIDAY, litres=9500).is_due(FRIDAY)
    assert not Cartridge("C01", "CW-300", FRIDAY, litres=9499).is_due(FRIDAY)


def test_when_somebody_rings():
    assert Cartridge("C01", "CW-300", FRIDAY, litres=8075).rings(FRIDAY)
    assert not Cartridge("C01", "CW-300", FRIDAY, litres=8074).rings(FRIDAY)
    assert not Cartridge("C01", "CW-300", FRIDAY, litres=9500).rings(FRIDAY)


def test_days_left():
    today = date(2026, 7, 12)
    assert days_left(Cartridge("C01", "CW-300", FRIDAY, litres=5000), today) == 90
    assert days_left(Cartridge("C01", "CW-300", FRIDAY, litres=10), today) == 265
    assert days_left(Cartridge("C01", "CW-300", FRIDAY, litres=9600), today) == 0
    assert days_left(Cartridge("C01", "CW-300", FRIDAY), today) == 265
    assert days_left(Cartridge("C01", "CW-300", FRIDAY, litres=300), FRIDAY) == 365
    assert days_left(Cartridge("C01", "CW-300", date(2025, 4, 3), litres=9), today) == 0


def test_the_soonest_change_first():
    cartridges = [
        Cartridge("C04", "CW-300", FRIDAY, litres=5000),
        Cartridge("C01", "CW-300", FRIDAY, litres=9500),
        Cartridge("C02", "CW-300", FRIDAY, litres=5000),
    ]
    assert next_changes(cartridges, date(2026, 7, 12)) == [("C01", 0), ("C02", 90), ("C04", 90)]
