"""Tests of office orders, the month-end figures and statements."""

from datetime import date, timedelta

import pytest

from giftcards import codes
from giftcards.cards import Card, load, refund, replace, spend
from giftcards.journal import Journal
from giftcards.lapse import lapse
from giftcards.offices import Quote, by_department, discount_rate, numbers, quote
from giftcards.report import Month, by_age, differs, month_ends, of_month, statement


@pytest.mark.parametrize(
    ("cards", "rate"), [(20, 0), (49, 0), (50, 300), (99, 300), (100, 500), (199, 500), (200, 750), (1000, 750)]
)
def test_discounts_by_number(cards: int, rate: int):
    assert discount_rate(cards) == rate


def test_nineteen_cards_are_no_office_order():
    with pytest.raises(ValueError, match="19 cards: an office order begins at 20"):
        quote(19, 1000)


def test_a_quote_with_discount_and_carriage():
    assert quote(60, 1500) == Quote(90_000, 2700, 450)
    assert quote(60, 1500).to_pay == 87_750


def test_half_a_penny_of_discount_goes_up():
    # 3% of £255.50 is £7.665.
    assert quote(50, 511) == Quote(25_550, 767, 450)


def test_carriage_is_free_from_a_thousand_pounds_and_for_who_collects():
    assert quote(20, 5000).carriage == 0
    assert quote(20, 4999).carriage == 450
    assert quote(20, 500, collected=True).carriage == 0


@pytest.mark.parametrize("pence", [499, 15_001])
def test_the_value_of_an_office_card_has_the_same_bounds(pence: int):
    with pytest.raises(ValueError, match="a card is sold with £5.00 to £150.00"):
        quote(20, pence)
    assert quote(20, 500).value == 10_000
    assert quote(20, 15_000).value == 300_000


def test_the_cards_of_an_order_follow_each_other():
    made = numbers(41, 3)
    assert made == [codes.number("15", 41), codes.number("15", 42), codes.number("15", 43)]


def test_departments_share_the_invoice_to_the_penny():
    assert by_department(Quote(10_000, 0, 0), {"sales": 1, "post": 1, "board": 1}) == {
        "sales": 3334,
        "post": 3333,
        "board": 3333,
    }
    assert by_department(quote(60, 1500), {"sales": 2, "post": 1}) == {"sales": 58_500, "post": 29_250}


@pytest.mark.parametrize(
    ("year", "month", "last"), [(2026, 1, 31), (2026, 2, 28), (2028, 2, 29), (2026, 11, 30), (2026, 12, 31)]
)
def test_month_ends(year: int, month: int, last: int):
    assert month_ends(year, month) == (date(year, month, 1), date(year, month, last))


def used_cards(journal: Journal) -> list[Card]:
    """Return two cards that were sold in December and used in January."""
    cards = [Card(codes.number("11", n)) for n in (1, 2)]
    load(cards[0], journal, date(2025, 12, 31), 2000, "cash", "C01")
    load(cards[1], journal, date(2026, 1, 1), 5000, "card", "C02")
    spend(cards[0], journal, date(2026, 1, 31), 700, "C01")
    refund(cards[0], journal, date(2026, 1, 31), 200, "C01")
    spend(cards[1], journal, date(2026, 2, 1), 600, "C02")
    return cards


def test_the_figures_of_a_month():
    journal = Journal()
    used_cards(journal)
    assert of_month(journal, 2026, 1) == Month(2000, 5200, 700, 6500)
    assert of_month(journal, 2026, 2) == Month(6500, 0, 600, 5900)
    assert of_month(journal, 2025, 12) == Month(0, 2000, 0, 2000)


def test_a_months_closing_is_the_next_ones_opening():
    journal = Journal()
    used_cards(journal)
    months = [of_month(journal, 2025 + n // 12, n % 12 + 1) for n in range(10, 15)]
    assert [month.closing for month in months[:-1]] == [month.opening for month in months[1:]]


def test_cards_and_books_agree():
    journal = Journal()
    cards = used_cards(journal)
    assert differs(cards, journal) == 0
    cards[0].pence += 7
    assert differs(cards, journal) == 7
    assert differs(cards[:1], journal) == -4393


def test_cards_and_books_agree_after_loss_and_lapse():
    journal = Journal()
    cards = used_cards(journal)
    cards.append(Card(codes.number("11", 3)))
    replace(cards[0], cards[2], journal, date(2026, 2, 2))
    lapse(cards, journal, date(2028, 2, 1))
    assert differs(cards, journal) == 0
    assert [card.pence for card in cards] == [0, 4400, 0]


def test_age_bands_include_their_upper_ends():
    journal, today = Journal(), date(2026, 6, 1)
    cards = []
    for n, days in enumerate((0, 91, 92, 183, 184, 365, 366, 800)):
        card = Card(codes.number("11", n + 1))
        load(card, journal, today - timedelta(days=days), 500 + n, "cash", "C01")
        cards.append(card)
    assert by_age(cards, today) == [500 + 501, 502 + 503, 504 + 505, 506 + 507]


def test_spent_and_blank_cards_have_no_age():
    journal = Journal()
    card = Card(codes.number("11", 1))
    load(card, journal, date(2026, 1, 1), 500, "cash", "C01")
    spend(card, journal, date(2026, 1, 2), 500, "C01")
    assert by_age([card, Card(codes.number("11", 2))], date(2026, 1, 3)) == [0, 0, 0, 0]


def test_a_statement_lines_up():
    journal = Journal()
    card, new = Card(codes.number("11", 1)), Card(codes.number("11", 2))
    load(card, journal, date(2025, 12, 31), 12_000, "cash", "C01")
    spend(card, journal, date(2026, 1, 31), 705, "C01")
    replace(card, new, journal, date(2026, 2, 2))
    assert statement(card).splitlines() == [
        f"Card {codes.masked(card.number)}",
        "31.12.2025  sold           £120.00     £120.00",
        "31.01.2026  spent           -£7.05     £112.95",
        "02.02.2026  moved away    -£112.95       £0.00",
        f"moved to {codes.masked(new.number)}",
    ]


def test_a_new_card_states_only_its_number():
    card = Card(codes.number("12", 5))
    assert statement(card) == f"Card {codes.masked(card.number)}"
