"""Envelopes, wages, leavers and the blue book."""

from datetime import date

import pytest

from tips.bluebook import (
    Page,
    hours,
    jar_lines,
    missing_weeks,
    remarks,
    share_lines,
    title,
    to_throw_away,
    whole,
    year_total,
)
from tips.envelopes import Envelope, box, brought, pieces, sign, to_change, unclaimed, weight
from tips.month import Leaver, card_month, last_pay, paid_cash, pay_day, payslip, tax, weeks_of
from tips.sharing import Share

MONDAY = date(2026, 3, 2)
SHARES = (Share("Ines Roth", 2250, 2250), Share("A name that is much too long", 660, 661))


def page(week: date = MONDAY, bag: int = 2911, jars: tuple[int, ...] = (500, 300, 411, 0, 700, 800, 200)) -> Page:
    """Return a page of the blue book."""
    return Page("C01", week, jars, bag, SHARES)


def test_the_fewest_pieces():
    assert pieces(2250) == {"£20": 1, "£2": 1, "50p": 1}
    assert pieces(3888) == {
        "£20": 1, "£10": 1, "£5": 1, "£2": 1, "£1": 1, "50p": 1, "20p": 1, "10p": 1, "5p": 1, "2p": 1, "1p": 1,
    }  # fmt: skip
    assert pieces(12_000) == {"£20": 6}
    assert pieces(0) == {}


def test_a_box_for_all_envelopes():
    needed = box([Envelope("Al", MONDAY, 2251), Envelope("Bo", MONDAY, 660), Envelope("Cy", MONDAY, 2200)])
    assert list(needed.items()) == [("£20", 2), ("£5", 1), ("£2", 2), ("£1", 1), ("50p", 2), ("10p", 1), ("1p", 1)]


def test_what_the_bank_changes():
    needed = {"£20": 5, "£5": 2, "50p": 23, "10p": 20, "1p": 1}
    orders = to_change(needed, {"£20": 2, "£5": 2, "50p": 2, "1p": 0})
    assert orders == {"£20": 3, "50p": 40, "10p": 20, "1p": 20}
    assert brought(orders) == 6000 + 2000 + 200 + 20
    assert to_change(needed, needed) == {}


def test_coins_are_heavy():
    assert weight({"£20": 5, "£1": 2, "£2": 1, "50p": 3, "5p": 1, "2p": 4, "1p": 1}) == 30 + 24 + 20


def test_an_envelope_is_due_on_wednesday():
    envelope = Envelope("Al", MONDAY, 2250)
    assert envelope.is_due == date(2026, 3, 11)
    assert Envelope("Al", date(2026, 3, 8), 1).is_due == date(2026, 3, 11)
    assert [envelope.waits(date(2026, 3, day)) for day in (10, 11, 17, 18, 25)] == [0, 0, 0, 1, 2]
    assert sign(envelope, "Al", date(2026, 3, 11)).waits(date(2026, 12, 1)) == 0


def test_who_may_sign():
    envelope = Envelope("Al", MONDAY, 2250)
    signed = sign(envelope, "Al", date(2026, 3, 11))
    assert signed.signed == date(2026, 3, 11)
    assert (signed.person, signed.pence) == ("Al", 2250)
    with pytest.raises(ValueError, match="Bo signs for Al"):
        sign(envelope, "Bo", date(2026, 3, 11))
    with pytest.raises(ValueError, match="Al has had £22.50"):
        sign(signed, "Al", date(2026, 3, 12))
    with pytest.raises(ValueError, match="not before 11 March"):
        sign(envelope, "Al", date(2026, 3, 10))


def test_who_is_written_to():
    old, older = Envelope("Al", MONDAY, 100), Envelope("Zo", date(2026, 2, 23), 100)
    had = Envelope("Cy", date(2026, 2, 2), 100, signed=date(2026, 2, 11))
    assert unclaimed([old, older, had], date(2026, 4, 14)) == []
    assert unclaimed([old, older, had], date(2026, 4, 15)) == ["Zo"]
    assert unclaimed([old, older, had, Envelope("Aa", MONDAY, 3)], date(2026, 4, 22)) == ["Zo", "Aa", "Al"]


def test_the_weeks_of_a_month():
    assert [week.isoformat() for week in weeks_of(2026, 3)] == [
        "2026-02-23", "2026-03-02", "2026-03-09", "2026-03-16", "2026-03-23",
    ]  # fmt: skip
    assert weeks_of(2026, 4)[0] == date(2026, 3, 30)
    assert weeks_of(2026, 12)[-1] == date(2026, 12, 21)
    assert weeks_of(2027, 1)[0] == date(2026, 12, 28)


@pytest.mark.parametrize(("month", "day"), [(1, 27), (2, 27), (3, 27), (6, 26), (9, 25), (12, 25)])
def test_the_day_of_the_wages(month, day):
    assert pay_day(2026, month) == date(2026, month, day)


def test_tax_on_tips():
    assert tax(5000, 100_000) == 40
    assert tax(5000, 104_800) == 1000
    assert tax(4800, 100_000) == 0
    assert tax(10_000, 413_900) == 1000 + 2000
    assert tax(10_000, 500_000) == 4000
    assert tax(0, 500_000) == 0


def test_card_tips_are_shared_week_by_week():
    weeks = {MONDAY: 1000, date(2026, 3, 9): 500}
    minutes = {MONDAY: {"Bo": 300, "Al": 100}, date(2026, 3, 9): {"Al": 60, "Cy": 60}}
    assert list(card_month(weeks, minutes).items()) == [("Al", 500), ("Bo", 750), ("Cy", 250)]


def test_leavers():
    leaver = Leaver("Al", date(2026, 3, 12))
    assert leaver.cash_until == date(2026, 3, 15)
    weeks = [date(2026, 2, 23), MONDAY, date(2026, 3, 9), date(2026, 3, 16)]
    assert paid_cash(leaver, weeks) == weeks[:3]
    assert last_pay(leaver) == date(2026, 3, 27)
    assert last_pay(Leaver("Al", date(2026, 3, 15))) == date(2026, 3, 27)
    assert last_pay(Leaver("Al", date(2026, 3, 16))) == date(2026, 4, 27)
    assert last_pay(Leaver("Al", date(2025, 12, 31))) == date(2026, 1, 27)


def test_the_payslip_speaks_of_tips():
    assert payslip("Al", 5000, 104_800) == ["Al: card tips 50.00", "tax 10.00", "net 40.00"]


def test_the_title_of_a_page():
    assert title(page()) == "C01, 2 to 8 March 2026"
    assert title(page(date(2026, 2, 26))) == "C01, 23 February to 1 March 2026"


def test_a_line_for_each_day():
    lines = jar_lines(page())
    assert lines[0] == "Mon       £5     £5.00"
    assert lines[2] == "Wed    £4.11    £12.11"
    assert lines[6] == "Sun       £2    £29.11"
    assert len(jar_lines(page(jars=(100, 200)))) == 2


def test_hours_are_short():
    assert [hours(minutes) for minutes in (0, 15, 450, 660, 600, 20)] == ["0", "0.25", "7.5", "11", "10", "0.33"]


def test_a_line_for_each_share():
    assert share_lines(SHARES) == [
        "Ines Roth            37.5   £22.50",
        "A name that is muc     11    £6.61",
        "together             48.5   £29.11",
    ]


def test_the_team_is_told_at_the_foot():
    assert remarks(page()) == ["an hour: £0.60"]
    assert remarks(page(bag=2611)) == ["an hour: £0.60"]
    assert remarks(page(bag=2610), 2) == [
        "£3.01 less in the bag than in the book: tell the team",
        "2 for the lifeboat box",
        "an hour: £0.60",
    ]
    assert remarks(page(bag=3911))[0] == "£10.00 more in the bag than in the book: tell the team"


def test_a_whole_page():
    lines = whole(page(), 1).splitlines()
    assert len(lines) == 15
    assert lines[0] == title(page())
    assert lines[8] == lines[12] == ""
    assert lines[-2:] == ["1 for the lifeboat box", "an hour: £0.60"]


def test_old_pages_are_thrown_away():
    pages = [page(date(2023, 3, 6)), page(date(2023, 2, 20)), page(date(2022, 12, 26)), page()]
    assert [each.week.isoformat() for each in to_throw_away(pages, date(2026, 3, 12))] == ["2022-12-26", "2023-02-20"]
    assert [each.week.year for each in to_throw_away(pages, date(2026, 3, 13))] == [2022, 2023, 2023]
    assert [each.week.isoformat() for each in to_throw_away([page(date(2025, 2, 17))], date(2028, 2, 29))] == [
        "2025-02-17"
    ]


def test_missing_weeks():
    pages = [page(date(2026, 3, 4)), page(date(2026, 3, 30)), page(date(2026, 3, 16))]
    assert missing_weeks(pages) == [date(2026, 3, 9), date(2026, 3, 23)]
    assert missing_weeks([page()]) == []
    assert missing_weeks([]) == []


def test_a_year_of_pages():
    pages = [page(date(2025, 12, 29)), page(), page(date(2025, 12, 22))]
    assert year_total(pages, 2026) == {"Ines Roth": 4500, "A name that is much too long": 1322}
    assert year_total(pages, 2024) == {}
