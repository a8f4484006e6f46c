"""Tests of reading a rota, of when it is up, and of keys."""

from datetime import date

import pytest

from swaps.clock import Moment
from swaps.rota import BadRota, read_week, show_gaps, up_by, without_keys
from swaps.shifts import Shift

MONDAY = date(2026, 3, 30)
WEEK = """
C03 2026-03-30
E061* | 06:30-14:30 | - | 6.30-14.30 | 12-20 | off | | 08:00-16:00
E064  | - | 07:00-13:00 | - | - | 22:00-02:00 | Off | -
"""


def test_a_week_is_read():
    shifts = read_week(WEEK)
    assert [str(shift) for shift in shifts] == [
        "Mon 30 Mar 06:30-14:30 C03 (keys)",
        "Wed 01 Apr 06:30-14:30 C03 (keys)",
        "Thu 02 Apr 12:00-20:00 C03 (keys)",
        "Sun 05 Apr 08:00-16:00 C03 (keys)",
        "Tue 31 Mar 07:00-13:00 C03",
        "Fri 03 Apr 22:00-02:00 C03",
    ]
    assert [shift.employee for shift in shifts] == ["E061"] * 4 + ["E064"] * 2
    assert shifts[-1].end == 26 * 60


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("C03 2026-03-30", "C03", "line 1: 'C03' has no café and day"),
        ("2026-03-30", "30.03.2026", "line 1: .* has no café and day"),
        ("2026-03-30", "2026-03-31", "line 1: 2026-03-31 is a Tuesday"),
        ("E064 ", "E061", "line 3: E061 stands twice"),
        (" | off", "", "line 2: 6 days"),
        ("| 12-20", "| 12-20 | -", "line 2: 8 days"),
        ("12-20", "12", "line 2, day 4: '12' has no end"),
        ("07:00-13:00", "07:00-13:60", "line 3, day 2: '13:60' is no time"),
        ("12-20", "x-20", "line 2, day 4: 'x:00' is no time"),
    ],
)
def test_what_cannot_be_read_is_said(old: str, new: str, why: str):
    assert old in WEEK
    with pytest.raises(BadRota, match=why):
        read_week(WEEK.replace(old, new))


@pytest.mark.parametrize(
    ("first_day", "friday"),
    [
        (date(2026, 2, 23), date(2026, 1, 30)),
        (date(2026, 3, 1), date(2026, 2, 6)),
        (date(2026, 3, 2), date(2026, 1, 30)),
        (date(2026, 3, 30), date(2026, 2, 27)),
        (date(2026, 2, 20), date(2026, 1, 30)),
    ],
)
def test_a_rota_is_up_on_friday_three_weeks_before_and_four_since_march(first_day: date, friday: date):
    assert up_by(first_day) == Moment(friday, 17 * 60)


def held(*spans: tuple[int, int], keeper: bool = True, day: date = MONDAY) -> list[Shift]:
    return [Shift("E061", "C03", day, start * 60, end * 60, keeper) for start, end in spans]


@pytest.mark.parametrize(
    ("spans", "gaps"),
    [
        ([(7, 19)], []),
        ([(6, 13), (13, 20)], []),
        ([(6, 14), (12, 20)], []),
        ([(8, 12), (13, 19)], [(7, 8), (12, 13)]),
        ([(7, 18)], [(18, 19)]),
        ([], [(7, 19)]),
        ([(7, 12), (8, 10), (14, 19)], [(12, 14)]),
        ([(7, 12), (20, 22)], [(12, 19)]),
        ([(4, 6)], [(7, 19)]),
    ],
)
def test_stretches_without_keys(spans: list[tuple[int, int]], gaps: list[tuple[int, int]]):
    found = without_keys(held(*spans), MONDAY, 7 * 60, 19 * 60)
    assert found == [(start * 60, end * 60) for start, end in gaps]


def test_other_days_and_other_people_bring_no_keys():
    shifts = [*held((7, 19), keeper=False), *held((7, 19), day=date(2026, 3, 31))]
    assert without_keys(shifts, MONDAY, 420, 1140) == [(420, 1140)]


def test_gaps_in_words():
    assert show_gaps([]) == "keys all day"
    assert show_gaps([(420, 480), (735, 780)]) == "no keys 07:00-08:00, 12:15-13:00"
