"""Sums of money, shares that add up, and spans of work."""

from datetime import date

import pytest

from tips.clocking import (
    BAR,
    HOLIDAY,
    OFFICE,
    SICK,
    BadSpan,
    Span,
    in_week,
    minute_of,
    monday,
    overlaps,
    parse_span,
    quarter,
    sunday,
)
from tips.money import NotMoney, difference, parts, pence, per_hour, running, short, written

MONDAY = date(2026, 3, 2)


@pytest.mark.parametrize(
    ("text", "value"),
    [("£3", 300), ("£1,204.50", 120_450), (" £0.07 ", 7), ("-£3.10", -310), ("£12345.00", 1_234_500)],
)
def test_a_sum_is_read(text, value):
    assert pence(text) == value


@pytest.mark.parametrize("text", ["3", "£", "£1.5", "£1,20", "3 £", "£-3", "£1.234"])
def test_what_is_no_sum_is_refused(text):
    with pytest.raises(NotMoney, match="no sum"):
        pence(text)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "£0.00"), (7, "£0.07"), (120_450, "£1,204.50"), (-310, "-£3.10"), (100, "£1.00")]
)
def test_a_sum_is_written(value, text):
    assert written(value) == text
    assert pence(text) == value


def test_a_round_sum_is_short():
    assert [short(value) for value in (300, 310, -500, 0)] == ["£3", "£3.10", "-£5", "£0"]


def test_parts_add_up_and_the_largest_rests_come_first():
    assert parts(100, {"a": 1, "b": 1, "c": 1}) == {"a": 34, "b": 33, "c": 33}
    assert parts(101, {"a": 1, "b": 1, "c": 1}) == {"a": 34, "b": 34, "c": 33}
    assert parts(10, {"a": 5, "b": 3, "c": 1}) == {"a": 6, "b": 3, "c": 1}
    assert parts(7, {"a": 3, "b": 1}) == {"a": 5, "b": 2}


def test_of_rests_alike_the_longer_work_comes_first():
    assert parts(3, {"b": 1, "a": 3, "c": 1, "d": 1}) == {"b": 1, "a": 2, "c": 0, "d": 0}
    assert parts(1, {"b": 2, "a": 2}) == {"b": 0, "a": 1}
    assert parts(2, {"z": 3, "a": 1}) == {"z": 2, "a": 0}


def test_parts_of_nothing():
    assert parts(0, {}) == {}
    assert parts(0, {"a": 0}) == {"a": 0}
    assert parts(0, {"a": 4, "b": 1}) == {"a": 0, "b": 0}
    with pytest.raises(ValueError, match="£0.05 and nobody to share it"):
        parts(5, {"a": 0})


def test_an_hour_is_rounded_half_up():
    assert per_hour(18_720, 312 * 60) == 60
    assert per_hour(5, 120) == 3
    assert per_hour(4, 180) == 1
    assert per_hour(5, 180) == 2
    assert per_hour(100, 0) == 0


def test_sums_so_far():
    assert running([3, 0, 4]) == [3, 3, 7]
    assert running([3, 4], 10) == [13, 17]
    assert running([]) == []
    assert difference(3, 8) == difference(8, 3) == 5


@pytest.mark.parametrize(
    ("minute", "rounded"), [(0, 0), (7, 0), (8, 15), (22, 15), (23, 30), (405, 405), (412, 405), (1438, 1440)]
)
def test_the_nearest_quarter(minute, rounded):
    assert quarter(minute) == rounded


def test_a_time_is_read():
    assert [minute_of(each) for each in ("00:00", "06:45", "9:05", "24:00")] == [0, 405, 545, 1440]


@pytest.mark.parametrize("text", ["6.45", "06:5", "06:60", "25:00", "", "ab:15", "06:"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(BadSpan, match="no time"):
        minute_of(text)


def test_a_line_of_the_clock_is_read():
    assert parse_span("2026-03-02 Ines Roth 06:45-14:30", "C01") == Span("Ines Roth", "C01", MONDAY, 405, 870)
    late = parse_span("2026-03-02 Ines Roth 22:00-01:15 office", "C04")
    assert late == Span("Ines Roth", "C04", MONDAY, 1320, 1515, OFFICE)
    assert late.minutes == 195
    assert parse_span("2026-03-02 Bo 07:00-07:30 sick", "C01").kind == SICK
    assert parse_span("2026-03-02 Bo 07:00-20:00", "C01").minutes == 780


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("2026-03-02 06:45-14:30", "too short"),
        ("", "too short"),
        ("2026-03-02 Bo 06:45", "no end"),
        ("2026-03-02 Bo 07:00-07:29", "29 minutes"),
        ("2026-03-02 Bo 07:00-20:01", "781 minutes"),
        ("2026-03-02 Bo 07:00-07:00", "1440 minutes"),
    ],
)
def test_a_line_that_the_clock_cannot_have_meant(line, why):
    with pytest.raises(BadSpan, match=why):
        parse_span(line, "C01")


def test_both_ends_are_rounded():
    assert Span("Bo", "C01", MONDAY, 413, 547).minutes == 120
    assert Span("Bo", "C01", MONDAY, 412, 548).minutes == 150
    assert Span("Bo", "C01", MONDAY, 400, 380).minutes == 0


def test_what_is_work():
    assert [Span("Bo", "C01", MONDAY, 0, 60, kind).is_work for kind in (BAR, OFFICE, HOLIDAY, SICK)] == [
        True,
        True,
        False,
        False,
    ]


def test_a_week_is_from_monday_to_sunday():
    for day in (2, 5, 8):
        assert monday(date(2026, 3, day)) == MONDAY
        assert sunday(date(2026, 3, day)) == date(2026, 3, 8)
    assert monday(date(2026, 3, 9)) == date(2026, 3, 9)
    assert sunday(date(2026, 3, 1)) == date(2026, 3, 1)


def test_the_spans_of_a_week():
    spans = [
        Span("Bo", "C01", date(2026, 3, 8), 420, 900),
        Span("Bo", "C01", date(2026, 3, 9), 420, 900),
        Span("Cy", "C01", MONDAY, 420, 900),
        Span("Al", "C01", MONDAY, 420, 900),
        Span("Al", "C02", MONDAY, 910, 990),
        Span("Zo", "C01", MONDAY, 400, 500),
        Span("Al", "C01", date(2026, 3, 1), 420, 900),
    ]
    found = in_week(spans, "C01", date(2026, 3, 4))
    assert [(span.person, span.day.day) for span in found] == [("Zo", 2), ("Al", 2), ("Cy", 2), ("Bo", 8)]
    assert [span.person for span in in_week(spans, "C02", MONDAY)] == ["Al"]


def test_nobody_works_twice_at_once():
    early, late = Span("Al", "C01", MONDAY, 420, 900), Span("Al", "C02", MONDAY, 899, 990)
    night, morning = Span("Bo", "C01", MONDAY, 1320, 1515), Span("Bo", "C01", date(2026, 3, 3), 60, 300)
    assert overlaps([late, early]) == [(early, late)]
    assert overlaps([night, morning]) == [(night, morning)]
    assert overlaps([night, Span("Bo", "C01", date(2026, 3, 3), 75, 300)]) == []
    assert overlaps([early, Span("Cy", "C01", MONDAY, 430, 800), Span("Al", "C02", MONDAY, 900, 990)]) == []
