"""Tests of the stamp rules. Every time carries a zone; none is taken from the clock."""

from datetime import UTC, date, datetime, timedelta

import pytest

from loyalty.stamps import MOST_PER_RECEIPT, DoubleDays, Stamp, earned, expiry, live, taken_back, to_use

MONDAY = datetime(2026, 1, 19, 9, 30, tzinfo=UTC)


BT25 = DoubleDays("BT25", date(2025, 9, 8), date(2025, 10, 5), frozenset({"C05", "C08"}))


def card(count: int, first: datetime = MONDAY - timedelta(days=60)) -> list[Stamp]:
    """Return stamps of consecutive days."""
    return [Stamp(i, first + timedelta(days=i)) for i in range(count)]


def test_only_drinks_give_stamps():
    assert earned("C03", MONDAY, ["DR-104", "FD-203", "BN-301", "DR-109"]) == 2


def test_a_free_drink_gives_none():
    assert earned("C03", MONDAY, ["DR-104", "DR-104"], free_drinks=1) == 1


def test_an_office_round_is_cut_at_six():
    assert earned("C04", MONDAY, ["DR-107"] * 15) == MOST_PER_RECEIPT == 6


@pytest.mark.parametrize(
    ("cafe", "at", "stamps"),
    [
        ("C05", datetime(2025, 9, 8, 8, 0, tzinfo=UTC), 2),
        ("C08", datetime(2025, 10, 4, 15, 0, tzinfo=UTC), 2),
        ("C05", datetime(2025, 9, 7, 22, 59, tzinfo=UTC), 1),
        ("C05", datetime(2025, 9, 7, 23, 1, tzinfo=UTC), 2),  # already the 8th in Brackmouth
        ("C05", datetime(2025, 10, 6, 8, 0, tzinfo=UTC), 1),
        ("C01", datetime(2025, 9, 15, 8, 0, tzinfo=UTC), 1),
    ],
)
def test_back_to_term(cafe: str, at: datetime, stamps: int):
    assert earned(cafe, at, ["DR-106"], [BT25]) == stamps


def test_nine_oldest_stamps_pay_for_a_drink():
    used = to_use(card(11), MONDAY)
    assert used is not None
    assert [s.id for s in used] == list(range(9))


def test_eight_stamps_pay_for_nothing():
    assert to_use(card(8), MONDAY) is None


def test_a_stamp_lives_through_its_anniversary():
    given = datetime(2025, 1, 19, 7, 5, tzinfo=UTC)
    assert live([Stamp(1, given)], datetime(2026, 1, 19, 23, 59, tzinfo=UTC))
    assert not live([Stamp(1, given)], datetime(2026, 1, 20, 0, 0, tzinfo=UTC))


def test_summer_time_moves_the_midnight():
    # Midnight of 11 July is 23:00 UTC on the 10th.
    assert expiry(datetime(2025, 7, 10, 12, 0, tzinfo=UTC)) == datetime(2026, 7, 10, 23, 0, tzinfo=UTC)


def test_leap_day_gains_a_day():
    end = expiry(datetime(2024, 2, 29, 12, 0, tzinfo=UTC))
    assert (end.year, end.month, end.day) == (2025, 3, 2)


def test_only_a_whole_refund_takes_stamps_back():
    assert taken_back(card(3), 1110, 1110) == card(3)
    assert taken_back(card(3), 1110, 370) == []


def test_incident_2025_11_03_a_rule_without_cafes_is_refused():
    with pytest.raises(ValueError, match="name the cafés"):
        DoubleDays("BT25-copy", date(2025, 11, 3), date(2025, 12, 1), frozenset())


def test_a_rule_of_46_days_is_refused():
    DoubleDays("long", date(2026, 1, 1), date(2026, 2, 14), frozenset({"C01"}))
    with pytest.raises(ValueError, match="1 to 45 days"):
        DoubleDays("longer", date(2026, 1, 1), date(2026, 2, 15), frozenset({"C01"}))
