"""Tests of times, windows and cut-offs."""

from datetime import date, datetime

import pytest

from vans.cutoffs import cafe_cutoff, charge_for_change, next_van, wholesale_cutoff
from vans.windows import BadTime, Window, clock, minute, parse_window


@pytest.mark.parametrize(("text", "minutes"), [("00:00", 0), ("07:30", 450), (" 23:59 ", 1439)])
def test_times(text: str, minutes: int):
    assert minute(text) == minutes
    assert clock(minutes) == text.strip()


@pytest.mark.parametrize("text", ["24:00", "7:30", "12:60", "0730", ""])
def test_no_times(text: str):
    with pytest.raises(BadTime, match="is no time"):
        minute(text)


def test_after_midnight_the_hours_begin_again():
    assert [clock(minutes) for minutes in (1440, 1505, -5)] == ["00:00", "01:05", "23:55"]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("07:00-10:00", Window(420, 600)),
        (" from 08:00", Window(480, 1439)),
        ("until 09:30", Window(0, 570)),
        ("any", Window(0, 1439)),
        ("06:35 - 06:35", Window(395, 395)),
    ],
)
def test_windows_are_read(text: str, window: Window):
    assert parse_window(text) == window


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("07:00", "'07:00' is no window"),
        ("10:00-07:00", "a door open from 600 to 420"),
        ("from dawn", "'dawn' is no time"),
        ("-07:00", "'' is no time"),
    ],
)
def test_other_windows_are_refused(text: str, why: str):
    with pytest.raises(BadTime, match=why):
        parse_window(text)


@pytest.mark.parametrize(("opens", "closes"), [(-1, 5), (5, 1440), (6, 5)])
def test_a_door_opens_before_it_closes(opens: int, closes: int):
    with pytest.raises(BadTime, match=f"open from {opens} to {closes}"):
        Window(opens, closes)


def test_early_waits_and_late_is_late():
    window = Window(420, 600)
    assert [window.wait(arrival) for arrival in (400, 420, 500, 700)] == [20, 0, 0, 0]
    assert [window.late(arrival) for arrival in (400, 599, 600, 601, 700)] == [0, 0, 0, 1, 100]


def test_no_talking_during_prayer():
    window = parse_window("08:30-09:30")
    assert window.without(minute("08:15"), minute("08:45")) == Window(525, 570)
    assert window.without(510, 525) == Window(525, 570)
    assert window.without(511, 525) == window
    assert window.without(480, 510) == window
    assert window.without(480, 700) == Window(570, 570)


@pytest.mark.parametrize(
    ("van_day", "cutoff"),
    [
        (date(2026, 1, 14), datetime(2026, 1, 13, 13, 0)),
        (date(2026, 1, 12), datetime(2026, 1, 9, 13, 0)),
        (date(2026, 1, 11), datetime(2026, 1, 9, 13, 0)),
        (date(2026, 1, 10), datetime(2026, 1, 9, 13, 0)),
    ],
)
def test_cafes_order_until_one_the_day_before(van_day: date, cutoff: datetime):
    assert cafe_cutoff(van_day) == cutoff


@pytest.mark.parametrize("day", [12, 13, 16, 18])
def test_wholesale_orders_until_thursday_noon(day: int):
    assert wholesale_cutoff(date(2026, 1, day)) == datetime(2026, 1, 8, 12, 0)


def test_the_next_van_of_a_cafe():
    assert next_van(datetime(2026, 1, 13, 13, 0), {2, 4}) == date(2026, 1, 14)
    assert next_van(datetime(2026, 1, 13, 13, 1), {2, 4}) == date(2026, 1, 16)
    assert next_van(datetime(2026, 1, 9, 13, 1), {0}) == date(2026, 1, 19)
    assert next_van(datetime(2026, 1, 14, 9, 0), {2}) == date(2026, 1, 21)


def test_the_next_van_of_a_customer():
    assert next_van(datetime(2026, 1, 8, 12, 0), {1}, wholesale=True) == date(2026, 1, 13)
    assert next_van(datetime(2026, 1, 8, 12, 1), {1}, wholesale=True) == date(2026, 1, 20)


def test_a_school_has_holidays():
    shut = {date(2026, 1, 14)}
    assert next_van(datetime(2026, 1, 12, 9, 0), {2, 4}, shut=shut) == date(2026, 1, 16)
    with pytest.raises(ValueError, match="no van calls there"):
        next_van(datetime(2026, 1, 12, 9, 0), set())


def test_changes_after_the_cutoff():
    cutoff, leaves = datetime(2026, 1, 13, 13, 0), datetime(2026, 1, 14, 5, 20)
    assert charge_for_change(cutoff, cutoff, leaves) == "yes"
    assert charge_for_change(datetime(2026, 1, 13, 13, 1), cutoff, leaves) == "ask Ellie Marsh"
    assert charge_for_change(datetime(2026, 1, 14, 4, 20), cutoff, leaves) == "ask Ellie Marsh"
    assert charge_for_change(datetime(2026, 1, 14, 4, 21), cutoff, leaves) == "no"
