"""Tests of the life of a card."""

from datetime import date, timedelta

import pytest

from giftcards import codes
from giftcards.cards import Card, Refused, State, load, refund, replace, spend
from giftcards.journal import BANK, CARD_SETTLEMENTS, LAPSED, MARKETING, SUSPENSE, TAKINGS, TILL, UNSPENT, Journal
from giftcards.lapse import Letter, due, lapse, last_day, letters, revive

DAY = date(2026, 1, 14)


def sold(journal: Journal, pence: int = 2000, day: date = DAY, count: int = 1) -> Card:
    """Return a card that was sold."""
    card = Card(codes.number("11", count))
    load(card, journal, day, pence, "cash", "C03")
    return card


@pytest.mark.parametrize(
    ("paid", "account"), [("cash", TILL), ("card", CARD_SETTLEMENTS), ("transfer", BANK), ("goodwill", MARKETING)]
)
def test_what_is_paid_goes_to_its_account(paid: str, account: int):
    journal, card = Journal(), Card(codes.number("12", 1))
    load(card, journal, DAY, 1500, paid, "ON")
    assert (journal.balance(account), journal.balance(UNSPENT)) == (1500, -1500)
    assert (card.state, card.pence, card.used) == (State.LIVE, 1500, DAY)
    assert card.acts == [(DAY, "sold", 1500)]
    assert {line.site for line in journal.entries[0].lines} == {"ON"}


@pytest.mark.parametrize("pence", [500, 15_000])
def test_five_and_a_hundred_and_fifty_pounds_may_be_loaded(pence: int):
    assert sold(Journal(), pence).pence == pence


@pytest.mark.parametrize("pence", [499, 15_001, 0, -500])
def test_less_and_more_may_not(pence: int):
    journal = Journal()
    with pytest.raises(Refused, match="load £5.00 to £150.00"):
        sold(journal, pence)
    assert journal.entries == []


def test_a_card_holds_two_hundred_and_fifty_pounds():
    journal = Journal()
    card = sold(journal, 15_000)
    load(card, journal, DAY, 10_000, "card", "C03")
    assert card.pence == 25_000
    with pytest.raises(Refused, match="at most £250.00"):
        load(card, journal, DAY, 500, "card", "C03")
    assert card.acts[1] == (DAY, "topped up", 10_000)


def test_goodwill_of_twenty_pounds_needs_no_signature():
    journal, card = Journal(), Card(codes.number("11", 7))
    load(card, journal, DAY, 2000, "goodwill", "C05")
    with pytest.raises(Refused, match=r"above £20.00 is signed"):
        load(card, journal, DAY, 2001, "goodwill", "C05")
    load(card, journal, DAY, 2001, "cash", "C05")
    assert journal.balance(MARKETING) == 2000


def test_an_unknown_way_to_pay_is_named():
    with pytest.raises(Refused, match="paid by stamps: take cash, card, transfer, goodwill"):
        load(Card(codes.number("11", 1)), Journal(), DAY, 1000, "stamps", "C03")


def test_a_bill_below_the_card():
    journal = Journal()
    card = sold(journal)
    assert spend(card, journal, date(2026, 1, 15), 750, "C06") == 0
    assert (card.pence, card.state, card.used) == (1250, State.LIVE, date(2026, 1, 15))
    assert (journal.balance(TAKINGS), journal.balance(UNSPENT)) == (-750, -1250)
    assert journal.entries[1].lines[0].site == journal.entries[1].lines[1].site == "C06"


def test_a_bill_above_the_card_leaves_a_rest_to_pay():
    journal = Journal()
    card = sold(journal)
    assert spend(card, journal, DAY, 2370, "C03") == 370
    assert (card.pence, card.state) == (0, State.SPENT)


def test_a_bill_of_just_the_card_spends_it():
    journal = Journal()
    card = sold(journal)
    assert spend(card, journal, DAY, 2000, "C03") == 0
    assert card.state is State.SPENT
    with pytest.raises(Refused, match=r"\*\* 1?.* is spent"):
        spend(card, journal, DAY, 100, "C03")


@pytest.mark.parametrize("bill", [0, -300])
def test_a_bill_of_nothing_is_refused(bill: int):
    journal = Journal()
    card = sold(journal)
    with pytest.raises(Refused, match="a bill of nothing"):
        spend(card, journal, DAY, bill, "C03")
    assert card.pence == 2000


def test_a_blank_card_pays_nothing():
    with pytest.raises(Refused, match="is blank"):
        spend(Card(codes.number("11", 1)), Journal(), DAY, 100, "C03")


def test_a_spent_card_lives_again_when_it_is_topped_up():
    journal = Journal()
    card = sold(journal)
    spend(card, journal, DAY, 2000, "C03")
    load(card, journal, DAY, 500, "cash", "C03")
    assert (card.state, card.pence) == (State.LIVE, 500)


def test_a_refund_goes_back_on_a_spent_card():
    journal = Journal()
    card = sold(journal)
    spend(card, journal, DAY, 2000, "C03")
    refund(card, journal, date(2026, 1, 20), 370, "C03")
    assert (card.pence, card.state, card.used) == (370, State.LIVE, date(2026, 1, 20))
    assert (journal.balance(TAKINGS), journal.balance(UNSPENT)) == (-1630, -370)


def test_no_more_is_refunded_than_was_spent():
    journal = Journal()
    card = sold(journal)
    spend(card, journal, DAY, 750, "C03")
    refund(card, journal, DAY, 500, "C03")
    with pytest.raises(Refused, match=r"£2.51 of £2.50 that were spent"):
        refund(card, journal, DAY, 251, "C03")
    refund(card, journal, DAY, 250, "C03")
    assert card.pence == 2000
    with pytest.raises(Refused, match=r"£0.00 of £0.00"):
        refund(card, journal, DAY, 0, "C03")


def test_a_lost_card_is_replaced():
    journal = Journal()
    lost, new = sold(journal, 2000), Card(codes.number("11", 2))
    replace(lost, new, journal, date(2026, 2, 1))
    assert (lost.state, lost.pence, lost.moved_to) == (State.BLOCKED, 0, new.number)
    assert (new.state, new.pence, new.used) == (State.LIVE, 2000, DAY)
    assert (journal.balance(SUSPENSE), journal.balance(UNSPENT)) == (0, -2000)
    assert [line.pence for entry in journal.entries[1:] for line in entry.lines] == [2000, -2000, 2000, -2000]


def test_the_old_number_stays_dead():
    journal = Journal()
    lost, new = sold(journal), Card(codes.number("11", 2))
    replace(lost, new, journal, DAY)
    for act in (
        lambda: spend(lost, journal, DAY, 100, "C03"),
        lambda: load(lost, journal, DAY, 500, "cash", "C03"),
        lambda: refund(lost, journal, DAY, 100, "C03"),
        lambda: replace(lost, Card(codes.number("11", 3)), journal, DAY),
    ):
        with pytest.raises(Refused, match="is blocked"):
            act()
    with pytest.raises(Refused, match="is live"):
        replace(new, new, journal, DAY)


def test_a_card_is_replaced_only_by_a_blank_one():
    journal = Journal()
    with pytest.raises(Refused, match="is live"):
        replace(sold(journal), sold(journal, count=2), journal, DAY)


@pytest.mark.parametrize(
    ("used", "last"),
    [
        (date(2024, 1, 14), date(2026, 1, 14)),
        (date(2024, 12, 31), date(2026, 12, 31)),
        (date(2024, 2, 29), date(2026, 2, 28)),
        (date(2026, 2, 28), date(2028, 2, 28)),
    ],
)
def test_the_last_day_is_24_months_on(used: date, last: date):
    assert last_day(used) == last


def test_the_last_day_still_counts():
    card = sold(Journal(), day=date(2024, 1, 14))
    assert not due(card, date(2026, 1, 14))
    assert due(card, date(2026, 1, 15))


def test_lapsed_cards_become_income_in_one_entry():
    journal = Journal()
    old, older, fresh = (sold(journal, 1000 * n, date(2023 + n // 3, 5, n), n) for n in (1, 2, 3))
    assert lapse([old, older, fresh], journal, date(2025, 6, 1)) == 3000
    assert (journal.balance(LAPSED), journal.balance(UNSPENT)) == (-3000, -3000)
    assert journal.entries[-1].text == "2 cards lapsed"
    assert [card.state for card in (old, older, fresh)] == [State.LAPSED, State.LAPSED, State.LIVE]
    assert (old.pence, old.used, old.acts[-1]) == (0, date(2023, 5, 1), (date(2025, 6, 1), "lapsed", -1000))


def test_nothing_lapsed_books_nothing():
    journal = Journal()
    card = sold(journal)
    assert lapse([card], journal, DAY) == 0
    assert len(journal.entries) == 1
    assert lapse([card, Card(codes.number("11", 9))], journal, date(2028, 1, 15)) == 2000


def test_a_refund_wakes_a_lapsed_card():
    journal = Journal()
    card = sold(journal, day=date(2023, 5, 1))
    spend(card, journal, date(2023, 5, 2), 300, "C03")
    lapse([card], journal, date(2025, 6, 1))
    refund(card, journal, date(2025, 6, 2), 300, "C03")
    assert (card.state, card.pence) == (State.LIVE, 300)


def test_what_lapsed_is_given_back_for_half_a_year():
    journal = Journal()
    card = sold(journal, day=date(2023, 5, 1))
    lapse([card], journal, date(2025, 6, 1))
    with pytest.raises(ValueError, match="lapsed on 2025-06-01"):
        revive(card, journal, date(2025, 6, 1) + timedelta(days=184))
    assert revive(card, journal, date(2025, 6, 1) + timedelta(days=183)) == 2000
    assert (card.state, card.pence, journal.balance(LAPSED), journal.balance(UNSPENT)) == (State.LIVE, 2000, 0, -2000)
    with pytest.raises(ValueError, match="has not lapsed"):
        revive(card, journal, date(2025, 6, 2))


def test_letters_go_out_90_and_14_days_before():
    card = sold(Journal(), day=date(2024, 1, 14))
    sent = [day for n in range(120) if letters([card], day := date(2025, 10, 1) + timedelta(days=n))]
    assert sent == [date(2025, 10, 16), date(2025, 12, 31)]


def test_large_amounts_are_written_to_first_and_small_ones_never():
    journal = Journal()
    cards = [sold(journal, pence, date(2024, 1, 14), n) for n, pence in enumerate((600, 5000, 600, 700), start=1)]
    spend(cards[3], journal, date(2024, 1, 14), 501, "C03")
    found = letters(cards, date(2025, 12, 31))
    assert [letter.pence for letter in found] == [5000, 600, 600]
    assert [letter.number for letter in found] == [cards[1].number, cards[0].number, cards[2].number]
    assert found[0] == Letter(cards[1].number, date(2026, 1, 14), 5000)
    refund(cards[3], journal, date(2024, 1, 14), 1, "C03")
    assert len(letters(cards, date(2025, 12, 31))) == 4
