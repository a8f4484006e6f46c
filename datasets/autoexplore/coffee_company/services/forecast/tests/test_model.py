"""Tests of the forecast with made sales."""

import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from forecast import holidays, weather
from forecast.model import expected, weight

SATURDAY = date(2026, 3, 21)


def saturdays(*units: float) -> dict[date, float]:
    """Return sales of the Saturdays before, the newest first."""
    return {SATURDAY - timedelta(weeks=n): u for n, u in enumerate(units, start=1)}


def test_weights_halve_every_three_weeks():
    assert [weight(1), weight(4), weight(7)] == [1.0, 0.5, 0.25]


def test_equal_weeks_give_the_same():
    assert expected(saturdays(*[40.0] * 8), "C03", SATURDAY) == pytest.approx(40.0)


def test_last_week_counts_most():
    high_lately = expected(saturdays(60, 40, 40, 40), "C03", SATURDAY)
    high_before = expected(saturdays(40, 40, 40, 60), "C03", SATURDAY)
    assert high_lately is not None and high_before is not None
    assert high_lately > high_before > 40


def test_a_missing_week_is_left_out_and_not_zero():
    sold = saturdays(40, 40, 40, 40)
    del sold[SATURDAY - timedelta(weeks=2)]
    assert expected(sold, "C03", SATURDAY) == pytest.approx(40.0)


def test_the_ninth_week_is_forgotten():
    assert expected(saturdays(*[40.0] * 8, 9000.0), "C03", SATURDAY) == pytest.approx(40.0)


def test_two_weeks_are_too_few():
    assert expected(saturdays(40, 40), "C03", SATURDAY) is None


@pytest.mark.parametrize(("cafe", "factor"), [("C06", 0.92), ("C10", 0.92), ("C01", 1.0), ("C09", 1.0)])
def test_rain(cafe: str, factor: float):
    assert expected(saturdays(50, 50, 50), cafe, SATURDAY, rain_mm=6.4) == pytest.approx(50 * factor)


def test_a_mist_is_not_rain():
    assert weather.factor("C06", 1.9) == 1.0
    assert weather.factor("C06", 2.0) == 0.92


def test_marram_bay_is_shut_on_tuesdays():
    assert expected(saturdays(50, 50, 50), "C10", date(2026, 3, 24)) is None


def test_the_infirmary_is_open_at_christmas():
    assert not holidays.closed("C09", date(2026, 12, 25))
    assert holidays.closed("C01", date(2026, 12, 25))


def test_public_holidays_are_sundays():
    easter_monday = date(2026, 4, 6)
    assert holidays.closed("C02", easter_monday) and holidays.closed("C08", easter_monday)
    assert not holidays.closed("C03", easter_monday) and not holidays.closed("C10", easter_monday)


def test_christmas_does_not_teach_january():
    day = date(2026, 1, 17)
    sold = {day - timedelta(weeks=n): 40.0 for n in range(1, 9)}
    sold[date(2025, 12, 20)] = 400.0
    assert expected(sold, "C03", day) == pytest.approx(40.0)


def test_beyond_the_list_is_an_error():
    with pytest.raises(holidays.UnknownYear, match="2027-01-02"):
        holidays.closed("C01", date(2027, 1, 2))


def test_old_weather_is_refused(tmp_path: Path):
    path = tmp_path / "rain.csv"
    path.write_text("# made 2026-01-28\n2026-01-31,3.5\n")
    with pytest.raises(weather.StaleRain, match="2026-01-28"):
        weather.read(path, date(2026, 1, 31))
    assert weather.read(path, date(2026, 1, 29)) == {date(2026, 1, 31): 3.5}
