"""Tests of rounding, night supplement and holiday pay."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from holiday_pay import days_to_hours, holiday_pence, mean_rate
from rounding import HOME, nearest_quarter, pay_of

BARISTA = 1260


def local(text: str) -> datetime:
    """Return a moment of Brackmouth's time."""
    return datetime.fromisoformat(text).replace(tzinfo=HOME)


@pytest.mark.parametrize(
    ("clocked", "paid"),
    [
        ("2026-01-14 06:56", "07:00"),
        ("2026-01-14 07:07:29", "07:00"),
        ("2026-01-14 07:07:30", "07:15"),
        ("2026-01-14 23:53", "00:00"),
    ],
)
def test_nearest_quarter(clocked: str, paid: str):
    assert nearest_quarter(local(clocked)).astimezone(HOME).strftime("%H:%M") == paid


def test_an_ordinary_day():
    paid = pay_of(local("2026-01-14 08:02"), local("2026-01-14 16:11"), BARISTA)
    assert (paid.quarters, paid.base_pence, paid.night_pence) == (33, 10395, 0)


def test_early_shift_at_the_station():
    # 05:15 to 06:30 bears the supplement: five quarters, 137.5 pence, half up.
    paid = pay_of(local("2026-01-14 05:15"), local("2026-01-14 13:15"), BARISTA)
    assert (paid.night_quarters, paid.night_pence) == (5, 138)


def test_late_shift_over_midnight():
    paid = pay_of(local("2024-02-08 21:30"), local("2024-02-09 00:15"), 1340)
    assert (paid.quarters, paid.night_quarters) == (11, 11)
    assert (paid.base_pence, paid.night_pence) == (3685, 303)


def test_clocks_go_forward():
    # 29 March 2026: from 00:30 to 03:30 by the clock are two hours.
    assert pay_of(local("2026-03-29 00:30"), local("2026-03-29 03:30"), BARISTA).quarters == 8


def test_clocks_go_back():
    # 25 October 2026: the same clock times are four hours.
    assert pay_of(local("2026-10-25 00:30"), local("2026-10-25 03:30"), BARISTA).quarters == 16


def test_forgotten_end_is_refused():
    with pytest.raises(ValueError, match="lasts 13:15"):
        pay_of(local("2026-01-14 06:00"), local("2026-01-14 19:15"), BARISTA)


def test_time_without_zone_is_refused():
    with pytest.raises(ValueError, match="no zone"):
        nearest_quarter(datetime(2026, 1, 14, 7, 0, tzinfo=UTC).replace(tzinfo=None))


def test_holiday_skips_weeks_without_pay():
    weeks = [(0, 0.0), (26460, 20.0)] + [(25200, 20.0)] * 11
    assert mean_rate(weeks, BARISTA) == 1265


def test_holiday_is_never_below_the_rate():
    assert holiday_pence(6.5, [(23800, 20.0)] * 12, BARISTA) == 8190


def test_days_go_to_the_quarter_above():
    assert days_to_hours(1, 6.6) == 6.75
    assert days_to_hours(2, None) == 13.0
