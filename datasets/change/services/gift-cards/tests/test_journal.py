"""Tests of the double entry."""

from datetime import date

import pytest

from giftcards.journal import (
    BANK,
    LAPSED,
    SUSPENSE,
    TAKINGS,
    TILL,
    UNSPENT,
    Entry,
    Journal,
    Line,
    Unbalanced,
    on_wrong_side,
    trial_balance,
)

DAY = date(2026, 1, 14)


def sale(pence: int = 2000, day: date = DAY) -> Entry:
    return Entry(day, "sale", (Line(TILL, pence, "C03"), Line(UNSPENT, -pence, "C03")))


@pytest.mark.parametrize("difference", [1, -1])
def test_a_penny_too_many_is_noticed(difference: int):
    with pytest.raises(Unbalanced, match=f"sale: {difference} pence too many"):
        Entry(DAY, "sale", (Line(TILL, 2000 + difference), Line(UNSPENT, -2000)))


def test_an_entry_has_two_lines_or_more():
    with pytest.raises(ValueError, match="two lines or more"):
        Entry(DAY, "sale", (Line(TILL, 0),))
    three = (Line(TILL, 500), Line(BANK, 1500), Line(UNSPENT, -2000))
    assert len(Entry(DAY, "sale", three).lines) == 3


def test_an_unknown_account_is_named():
    with pytest.raises(ValueError, match="no account 2201"):
        Entry(DAY, "sale", (Line(TILL, 5), Line(2201, -5)))


def test_a_line_of_nothing_is_refused():
    with pytest.raises(ValueError, match="a line of nothing on 1220"):
        Entry(DAY, "sale", (Line(TILL, 5), Line(BANK, 0), Line(UNSPENT, -5)))


def test_entries_are_numbered_from_one():
    journal = Journal()
    assert [journal.book(sale()), journal.book(sale())] == [1, 2]


def test_a_balance_between_two_days_includes_both():
    journal = Journal()
    for day, pence in ((13, 100), (14, 20), (15, 3)):
        journal.book(sale(pence, date(2026, 1, day)))
    assert journal.balance(TILL) == 123
    assert journal.balance(TILL, first=DAY) == 23
    assert journal.balance(TILL, last=DAY) == 120
    assert journal.balance(UNSPENT, first=DAY, last=DAY) == -20


def test_a_reversal_takes_all_back_and_names_what_it_reverses():
    journal = Journal()
    journal.book(sale(700))
    number = journal.book(sale())
    assert journal.reverse(number, date(2026, 1, 20)) == 3
    entry = journal.entries[2]
    assert (entry.day, entry.text, entry.reverses) == (date(2026, 1, 20), "reversal of 2: sale", 2)
    assert entry.lines == (Line(TILL, -2000, "C03"), Line(UNSPENT, 2000, "C03"))
    assert journal.balance(TILL) == 700


def test_an_entry_is_reversed_once():
    journal = Journal()
    journal.book(sale())
    journal.reverse(1, DAY)
    with pytest.raises(ValueError, match="entry 1 is reversed already"):
        journal.reverse(1, DAY)


@pytest.mark.parametrize("number", [0, 2, -1])
def test_only_what_was_booked_is_reversed(number: int):
    journal = Journal()
    journal.book(sale())
    with pytest.raises(ValueError, match=f"no entry {number}"):
        journal.reverse(number, DAY)


def test_a_closed_month_takes_no_entry():
    journal = Journal()
    journal.close(DAY)
    with pytest.raises(ValueError, match="closed until 2026-01-14"):
        journal.book(sale())
    assert journal.entries == []
    assert journal.book(sale(day=date(2026, 1, 15))) == 1


def test_books_are_never_opened_again():
    journal = Journal()
    journal.close(DAY)
    journal.close(DAY)
    with pytest.raises(ValueError, match="closed until 2026-01-14"):
        journal.close(date(2026, 1, 13))


def test_the_trial_balance_has_debits_and_credits_by_account():
    entries = [sale(2000), Entry(DAY, "spent", (Line(UNSPENT, 500), Line(TAKINGS, -500)))]
    assert trial_balance(entries) == [
        (1210, "Till floats and safes", 2000, 0),
        (2200, "Gift cards unspent", 0, 1500),
        (4010, "Café takings", 0, 500),
    ]


def test_what_stands_at_nothing_is_left_out_of_the_trial_balance():
    entries = [sale(2000), Entry(DAY, "spent", (Line(UNSPENT, 2000), Line(TAKINGS, -2000)))]
    assert [row[0] for row in trial_balance(entries)] == [TILL, TAKINGS]


def test_accounts_on_the_wrong_side_are_found():
    too_much = Entry(DAY, "lapsed twice", (Line(UNSPENT, 2500), Line(LAPSED, -2500)))
    assert on_wrong_side([sale(2000)]) == []
    assert on_wrong_side([sale(2000), too_much]) == [UNSPENT]
    assert on_wrong_side([Entry(DAY, "paid out", (Line(LAPSED, 30), Line(BANK, -30)))]) == [BANK, LAPSED]


def test_suspense_may_stand_on_either_side():
    assert on_wrong_side([Entry(DAY, "?", (Line(SUSPENSE, 5), Line(LAPSED, -5)))]) == []
