"""Tests of breaks and banked hours."""

from datetime import date, timedelta

import pytest

from swaps.bank import Bank
from swaps.breaks import Missed, age_on, due_minutes, missed, raised

DAY = date(2026, 3, 30)


@pytest.mark.parametrize(("minutes", "due"), [(359, 0), (360, 20), (600, 20), (719, 20), (720, 40)])
def test_twenty_minutes_for_each_six_hours(minutes: int, due: int):
    assert due_minutes(minutes, 18) == due


@pytest.mark.parametrize(("minutes", "due"), [(270, 0), (271, 30), (480, 30)])
def test_under_18_thirty_after_four_and_a_half(minutes: int, due: int):
    assert due_minutes(minutes, 17) == due


@pytest.mark.parametrize(
    ("born", "age"),
    [
        (date(2008, 3, 30), 18),
        (date(2008, 3, 31), 17),
        (date(2008, 4, 1), 17),
        (date(2008, 2, 29), 18),
        (date(2007, 12, 31), 18),
    ],
)
def test_ages(born: date, age: int):
    assert age_on(born, DAY) == age


def test_who_is_born_on_a_leap_day_is_older_in_march():
    assert age_on(date(2008, 2, 29), date(2026, 2, 28)) == 17
    assert age_on(date(2008, 2, 29), date(2026, 3, 1)) == 18


def test_a_break_that_was_taken_is_not_missed():
    assert missed("E061", "C03", DAY, 480, 20, [(600, 620)]) is None
    assert missed("E061", "C03", DAY, 480, 20, [(600, 650)]) is None


def test_what_is_missing_is_paid():
    assert missed("E061", "C03", DAY, 480, 20, [(600, 613)]) == Missed("E061", "C03", DAY, 7)
    assert missed("E061", "C03", DAY, 480, 17, []) == Missed("E061", "C03", DAY, 30)


def test_less_than_five_minutes_are_no_break():
    assert missed("E061", "C03", DAY, 480, 20, [(600, 604), (700, 704)]) == Missed("E061", "C03", DAY, 20)
    assert missed("E061", "C03", DAY, 480, 20, [(600, 605), (700, 704)]) == Missed("E061", "C03", DAY, 15)


def test_three_missed_in_a_month_are_raised():
    def times(site: str, count: int, day: date = DAY) -> list[Missed]:
        return [Missed("E061", site, day, 20)] * count

    found = [*times("C05", 3), *times("C03", 4), *times("C01", 3), *times("C09", 2), *times("C09", 9, date(2026, 4, 1))]
    assert raised(found, 2026, 3) == ["C03", "C01", "C05"]
    assert raised(found, 2026, 4) == ["C09"]
    assert raised(found, 2025, 3) == []


def test_up_to_22_hours_are_banked_and_the_rest_is_paid():
    bank = Bank()
    assert bank.put(DAY, 1300) == 0
    assert bank.put(DAY, 30) == 10
    assert bank.put(DAY, 5) == 5
    assert (bank.balance(DAY), len(bank.deposits)) == (1320, 2)


def test_banked_hours_live_for_twelve_weeks():
    bank = Bank()
    bank.put(DAY, 100)
    assert bank.balance(DAY + timedelta(weeks=12)) == 100
    assert bank.balance(DAY + timedelta(weeks=12, days=1)) == 0
    assert bank.put(DAY + timedelta(days=85), 1320) == 0


def test_the_oldest_hours_are_taken_first():
    bank = Bank()
    bank.put(DAY + timedelta(days=7), 60)
    bank.put(DAY, 60)
    bank.take(DAY + timedelta(days=8), 90)
    assert bank.deposits == [(DAY + timedelta(days=7), 30)]
    bank.take(DAY + timedelta(days=8), 30)
    assert bank.deposits == []


def test_no_more_is_taken_than_there_is():
    bank = Bank()
    bank.put(DAY, 60)
    with pytest.raises(ValueError, match="1 h 01 of 1 h"):
        bank.take(DAY, 61)
    bank.take(DAY, 60)
    assert bank.balance(DAY) == 0


def test_expired_hours_are_never_taken_but_paid():
    bank = Bank()
    bank.put(DAY, 50)
    bank.put(DAY + timedelta(days=30), 70)
    later = DAY + timedelta(days=90)
    bank.take(later, 20)
    assert bank.deposits == [(DAY, 50), (DAY + timedelta(days=30), 50)]
    assert bank.expire(DAY + timedelta(days=84)) == 0
    assert bank.expire(later) == 50
    assert bank.deposits == [(DAY + timedelta(days=30), 50)]


def test_nobody_banks_less_than_nothing():
    with pytest.raises(ValueError, match="-1 minutes"):
        Bank().put(DAY, -1)
    assert Bank().put(DAY, 0) == 0
