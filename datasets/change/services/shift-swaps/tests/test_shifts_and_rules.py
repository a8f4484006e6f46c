"""Tests of times, shifts, and what a rota must keep."""

from datetime import date, timedelta

import pytest

from swaps.clock import Moment, parse_time, show_length, show_time, week_of
from swaps.rules import Breach, breaches, contract_difference, enough_weekends, free_weekends
from swaps.shifts import Shift, close_then_open, longest_run, rest_between

MONDAY = date(2026, 3, 30)


def shift(day: int, start: str, end: str, site: str = "C03", employee: str = "E061") -> Shift:
    """Return a shift so many days after the Monday."""
    return Shift(employee, site, MONDAY + timedelta(days=day), parse_time(start), parse_time(end))


@pytest.mark.parametrize(
    ("text", "minute"),
    [("06:30", 390), ("6.30", 390), ("0630", 390), (" 26:30 ", 1590), ("00:00", 0), ("30:00", 1800), ("9:59", 599)],
)
def test_times_are_read(text: str, minute: int):
    assert parse_time(text) == minute


@pytest.mark.parametrize("text", ["6", "06:60", "30:01", "31:00", "", "six", "06:3", "106:30"])
def test_there_is_no_such_time(text: str):
    with pytest.raises(ValueError, match="is no time"):
        parse_time(text)


def test_times_and_lengths_are_shown():
    assert [show_time(minute) for minute in (0, 9, 390, 1590)] == ["00:00", "00:09", "06:30", "26:30"]
    assert [show_length(minutes) for minutes in (0, 20, 59, 60, 465, 605)] == [
        "0 min",
        "20 min",
        "59 min",
        "1 h",
        "7 h 45",
        "10 h 05",
    ]


def test_moments_go_over_midnight():
    evening = Moment(MONDAY, 1430)
    assert evening.plus(9) == Moment(MONDAY, 1439)
    assert evening.plus(10) == Moment(MONDAY + timedelta(days=1), 0)
    assert Moment(MONDAY, 5).plus(-6) == Moment(MONDAY - timedelta(days=1), 1439)
    assert Moment(MONDAY + timedelta(days=2), 30).minus(evening) == 1480
    assert evening.minus(Moment(MONDAY + timedelta(days=1), 0)) == -10


@pytest.mark.parametrize(("day", "monday"), [(0, 0), (6, 0), (7, 7), (-1, -7)])
def test_weeks_begin_on_monday(day: int, monday: int):
    assert week_of(MONDAY + timedelta(days=day)) == MONDAY + timedelta(days=monday)


def test_a_shift_over_midnight():
    late = shift(0, "21:30", "26:15")
    assert (late.minutes, late.begins) == (285, Moment(MONDAY, 1290))
    assert late.ends == Moment(MONDAY + timedelta(days=1), 135)
    assert str(late) == "Mon 30 Mar 21:30-02:15 C03"
    assert str(Shift("E1", "C01", MONDAY, 360, 840, True)) == "Mon 30 Mar 06:00-14:00 C01 (keys)"


@pytest.mark.parametrize(("start", "end"), [("08:00", "08:00"), ("08:00", "07:00")])
def test_a_shift_of_nothing_is_refused(start: str, end: str):
    with pytest.raises(ValueError, match=f"E061: {start} to {end}"):
        shift(0, start, end)
    assert shift(0, "00:00", "00:01").minutes == 1


def test_rest_is_the_same_in_either_order():
    late, early = shift(0, "12:00", "20:00"), shift(1, "06:30", "12:00")
    assert rest_between(late, early) == rest_between(early, late) == 630
    assert rest_between(shift(0, "20:00", "26:00"), shift(1, "08:00", "12:00")) == 360
    assert rest_between(shift(0, "08:00", "14:00"), shift(0, "12:00", "16:00")) == -120


@pytest.mark.parametrize(
    ("end", "start", "sites", "day", "found"),
    [
        ("20:00", "06:59", ("C04", "C04"), 1, True),
        ("19:59", "06:59", ("C04", "C04"), 1, False),
        ("20:00", "07:00", ("C04", "C04"), 1, False),
        ("20:00", "06:59", ("C01", "C09"), 1, True),
        ("20:00", "06:59", ("C09", "C01"), 1, True),
        ("20:00", "06:59", ("C01", "C03"), 1, False),
        ("20:00", "06:59", ("C09", "C09"), 2, False),
    ],
)
def test_a_close_is_never_followed_by_an_open(end: str, start: str, sites: tuple[str, str], day: int, found: bool):
    assert close_then_open(shift(0, "12:00", end, sites[0]), shift(day, start, "12:00", sites[1])) is found


def test_the_longest_run_of_days():
    days = [0, 1, 2, 4, 5, 6, 7, 9]
    assert longest_run(shift(day, "08:00", "12:00") for day in days) == 4
    assert longest_run([shift(0, "08:00", "12:00"), shift(0, "14:00", "18:00"), shift(1, "08:00", "12:00")]) == 2
    assert longest_run([]) == 0
    assert longest_run([shift(3, "08:00", "12:00")]) == 1


def test_an_ordinary_week_keeps_the_rules():
    assert breaches([shift(day, "06:30", "14:00") for day in range(5)]) == []


def test_seven_days_in_a_row():
    week = [shift(day, "08:00", "12:30") for day in range(7)]
    assert breaches(week[:6]) == []
    assert breaches(week) == [Breach("days in a row", "7 days")]


def test_ten_hours_a_day():
    assert breaches([shift(0, "08:00", "18:00")]) == []
    assert breaches([shift(0, "08:00", "18:01")]) == [Breach("hours a day", "10 h 01 on 2026-03-30")]


def test_two_shifts_of_a_day_are_added_and_have_no_rest():
    found = breaches([shift(0, "06:00", "11:00"), shift(0, "15:00", "21:00")])
    assert found == [
        Breach("hours a day", "11 h on 2026-03-30"),
        Breach("rest", "4 h before Mon 30 Mar 15:00-21:00 C03"),
    ]


def test_46_hours_a_week():
    week = [shift(day, "08:00", "17:12") for day in range(5)]
    assert sum(each.minutes for each in week) == 46 * 60
    assert breaches(week) == []
    longer = [*week[:4], shift(4, "08:00", "17:13")]
    assert breaches(longer) == [Breach("hours a week", "46 h 01 from 2026-03-30")]


def test_sunday_and_monday_are_of_two_weeks():
    days = [shift(day, "08:00", "17:00") for day in (2, 3, 4, 5, 7, 8, 9, 10)]
    assert breaches(days) == []


def test_eleven_hours_of_rest():
    assert breaches([shift(0, "12:00", "20:00"), shift(1, "07:00", "12:00")]) == []
    found = breaches([shift(1, "06:59", "12:00"), shift(0, "12:00", "20:00")])
    assert found == [Breach("rest", "10 h 59 before Tue 31 Mar 06:59-12:00 C03")]


def test_overlapping_shifts():
    found = breaches([shift(0, "08:00", "12:00"), shift(0, "11:00", "15:30", "C01")])
    assert found == [Breach("rest", "overlap before Mon 30 Mar 11:00-15:30 C01")]


def test_shifts_that_touch_are_no_overlap():
    found = breaches([shift(0, "08:00", "12:00"), shift(0, "12:00", "16:00")])
    assert found == [Breach("rest", "0 min before Mon 30 Mar 12:00-16:00 C03")]


def test_four_hours_are_the_shortest():
    assert breaches([shift(0, "08:00", "12:00")]) == []
    assert breaches([shift(0, "08:00", "11:59")]) == [Breach("shortest shift", "Mon 30 Mar 08:00-11:59 C03")]


def test_a_close_and_an_open_at_the_station():
    found = breaches([shift(0, "12:00", "20:00", "C04"), shift(1, "06:45", "12:00", "C04")])
    assert [breach.rule for breach in found] == ["rest", "close then open"]
    assert found[1].where == "Tue 31 Mar 06:45-12:00 C04"


def test_one_person_at_a_time():
    with pytest.raises(ValueError, match="shifts of E061, E064"):
        breaches([shift(0, "08:00", "12:00", employee="E064"), shift(0, "08:00", "12:00")])
    assert breaches([]) == []


def test_free_weekends():
    assert free_weekends([], MONDAY) == 6
    assert (
        free_weekends([shift(5, "08:00", "12:00"), shift(13, "08:00", "12:00"), shift(19, "08:00", "12:00")], MONDAY)
        == 3
    )
    assert free_weekends([shift(day, "08:00", "12:00") for day in (4, 7, 41, 47)], MONDAY) == 5


def test_the_sixth_weekend_is_the_last_that_counts():
    assert free_weekends([shift(40, "08:00", "12:00")], MONDAY) == 5
    assert free_weekends([shift(47, "08:00", "12:00")], MONDAY) == 6
    assert free_weekends([shift(5, "08:00", "12:00")], MONDAY + timedelta(days=5)) == 5


def test_a_friday_night_spoils_the_saturday():
    assert free_weekends([shift(4, "18:00", "24:01")], MONDAY) == 5
    assert free_weekends([shift(4, "18:00", "24:00")], MONDAY) == 6
    assert free_weekends([shift(6, "18:00", "25:00")], MONDAY) == 5


def test_two_free_weekends_are_enough():
    busy = [shift(5 + 7 * week, "08:00", "12:00") for week in range(5)]
    assert enough_weekends(busy[:4], MONDAY)
    assert not enough_weekends(busy, MONDAY)


def test_the_difference_to_the_contract():
    month = [shift(day, "08:00", "15:30") for day in range(20)]
    assert contract_difference(month, 37.5, 4) == 0
    assert contract_difference(month[:19], 37.5, 4) == -450
    assert contract_difference(month, 30, 4) == 1800
