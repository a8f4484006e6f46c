"""Tests of a year of cards: what the guests did, and what the books, the letters and the office made of it."""

from datetime import date, timedelta

import pytest

from giftcards import codes
from giftcards.cards import Card, Refused, State, load, refund, replace, spend
from giftcards.journal import (
    BANK,
    CARD_SETTLEMENTS,
    LAPSED,
    MARKETING,
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
from giftcards.lapse import due, lapse, last_day, letters, revive
from giftcards.money import half_up, parse_pounds, shared, show_pounds
from giftcards.offices import Quote, by_department, numbers, quote
from giftcards.report import Month, by_age, differs, month_ends, of_month, statement


class Year:
    """2024 at two cafés and online: six guests with a card each."""

    def __init__(self) -> None:
        self.journal = Journal()
        series = {"ada": "11", "ben": "11", "cleo": "12", "dan": "12", "eve": "15", "fay": "11"}
        self.cards = {name: Card(codes.number(each, n)) for n, (name, each) in enumerate(series.items(), start=1)}
        self.load("ada", date(2024, 1, 31), 2000, "cash", "C01")
        self.load("ben", date(2024, 2, 29), 500, "card", "C02")
        self.load("cleo", date(2024, 3, 1), 15_000, "transfer", "ON")
        self.load("dan", date(2024, 4, 2), 2000, "goodwill", "ON")
        self.load("eve", date(2024, 4, 30), 5000, "transfer", "HO")
        self.spend("ada", date(2024, 2, 1), 1250, "C01")
        self.spend("ben", date(2024, 3, 31), 800, "C02")
        self.load("cleo", date(2024, 5, 1), 10_000, "card", "ON")
        self.spend("cleo", date(2024, 6, 30), 5505, "C01")
        refund(self.cards["cleo"], self.journal, date(2024, 7, 1), 505, "C01")
        self.spend("dan", date(2024, 12, 31), 1999, "C02")

    def load(self, name: str, day: date, pence: int, paid: str, site: str) -> None:
        load(self.cards[name], self.journal, day, pence, paid, site)

    def spend(self, name: str, day: date, bill: int, site: str) -> int:
        return spend(self.cards[name], self.journal, day, bill, site)

    @property
    def all(self) -> list[Card]:
        return list(self.cards.values())


def test_what_is_left_on_the_cards_at_the_end_of_the_year():
    year = Year()
    assert {name: (card.state.value, card.pence) for name, card in year.cards.items()} == {
        "ada": ("live", 750),
        "ben": ("spent", 0),
        "cleo": ("live", 20_000),
        "dan": ("live", 1),
        "eve": ("live", 5000),
        "fay": ("blank", 0),
    }


def test_each_guest_has_the_day_of_the_last_use():
    year = Year()
    assert [card.used for card in year.all] == [
        date(2024, 2, 1),
        date(2024, 3, 31),
        date(2024, 7, 1),
        date(2024, 12, 31),
        date(2024, 4, 30),
        None,
    ]


def test_the_numbers_of_the_six_cards_can_be_typed_in_again():
    year = Year()
    assert [codes.printed(card.number)[:14] for card in year.all] == [
        "1100 0000 0001",
        "1100 0000 0002",
        "1200 0000 0003",
        "1200 0000 0004",
        "1500 0000 0005",
        "1100 0000 0006",
    ]
    for card in year.all:
        assert codes.normalised(codes.printed(card.number)) == card.number
        assert codes.check_digits(card.number[:12]) == card.number[12:]
        assert int(card.number) % 97 == 1


def test_the_trial_balance_of_the_year():
    year = Year()
    assert trial_balance(year.journal.entries) == [
        (CARD_SETTLEMENTS, "Card settlements on the way", 10_500, 0),
        (TILL, "Till floats and safes", 2000, 0),
        (BANK, "Bank, Northshire Mutual current", 20_000, 0),
        (UNSPENT, "Gift cards unspent", 0, 25_751),
        (TAKINGS, "Café takings", 0, 8749),
        (MARKETING, "Marketing", 2000, 0),
    ]
    assert on_wrong_side(year.journal.entries) == []


def test_the_debt_of_each_month_follows_from_the_one_before():
    year = Year()
    months = [of_month(year.journal, 2024, month) for month in range(1, 13)]
    assert months[0] == Month(0, 2000, 0, 2000)
    assert months[1] == Month(2000, 500, 1250, 1250)
    assert months[2] == Month(1250, 15_000, 500, 15_750)
    assert months[3] == Month(15_750, 7000, 0, 22_750)
    assert months[4:7] == [
        Month(22_750, 10_000, 0, 32_750),
        Month(32_750, 0, 5505, 27_245),
        Month(27_245, 505, 0, 27_750),
    ]
    assert months[11] == Month(27_750, 0, 1999, 25_751)


def test_the_cards_add_up_to_what_the_books_owe():
    year = Year()
    assert sum(card.pence for card in year.all) == -year.journal.balance(UNSPENT) == 25_751
    assert differs(year.all, year.journal) == 0
    assert differs(year.all[1:], year.journal) == -750


def test_the_age_of_what_is_unspent_on_two_days():
    year = Year()
    assert by_age(year.all, date(2024, 12, 31)) == [1, 20_000, 5750, 0]
    assert by_age(year.all, date(2025, 2, 1)) == [1, 0, 25_000, 750]


def test_a_guest_sees_every_act_with_the_balance_after_it():
    year = Year()
    assert statement(year.cards["cleo"]).splitlines() == [
        f"Card {codes.masked(year.cards['cleo'].number)}",
        "01.03.2024  sold           £150.00     £150.00",
        "01.05.2024  topped up      £100.00     £250.00",
        "30.06.2024  spent          -£55.05     £194.95",
        "01.07.2024  refunded         £5.05     £200.00",
    ]


def test_lines_are_booked_at_the_site_where_the_guest_was():
    year = Year()
    sites = [(entry.day.month, {line.site for line in entry.lines}) for entry in year.journal.entries]
    assert sites == [
        (1, {"C01"}), (2, {"C02"}), (3, {"ON"}), (4, {"ON"}), (4, {"HO"}), (2, {"C01"}), (3, {"C02"}),
        (5, {"ON"}), (6, {"C01"}), (7, {"C01"}), (12, {"C02"}),
    ]  # fmt: skip


def test_the_takings_of_a_spring_are_those_of_its_days():
    year = Year()
    assert year.journal.balance(TAKINGS, date(2024, 3, 1), date(2024, 5, 31)) == -500
    assert year.journal.balance(TAKINGS, date(2024, 2, 1), date(2024, 3, 31)) == -1750
    assert year.journal.balance(TAKINGS, last=date(2024, 6, 29)) == -1750
    assert year.journal.balance(TAKINGS, first=date(2024, 7, 1)) == -1494


def test_the_cards_of_the_year_lapse_one_after_the_other():
    year = Year()
    days = {name: last_day(card.used) for name, card in year.cards.items() if card.used}
    assert days == {
        "ada": date(2026, 2, 1),
        "ben": date(2026, 3, 31),
        "cleo": date(2026, 7, 1),
        "dan": date(2026, 12, 31),
        "eve": date(2026, 4, 30),
    }
    ends = [day + timedelta(days=n) for day in sorted(days.values()) for n in (0, 1)]
    assert [lapse(year.all, year.journal, day) for day in ends] == [
        0, 750, 0, 0, 0, 5000, 0, 20_000, 0, 1,
    ]  # fmt: skip
    assert year.journal.balance(LAPSED) == -25_751
    assert year.journal.balance(UNSPENT) == 0
    assert [card.state.value for card in year.all] == ["lapsed", "spent", "lapsed", "lapsed", "lapsed", "blank"]


def test_two_letters_go_to_everybody_with_two_pounds_or_more():
    year = Year()
    start = date(2025, 10, 1)
    sent = [
        (start + timedelta(days=n), letter)
        for n in range(500)
        for letter in letters(year.all, start + timedelta(days=n))
    ]
    assert [(day, letter.pence, letter.last_day) for day, letter in sent] == [
        (date(2025, 11, 3), 750, date(2026, 2, 1)),
        (date(2026, 1, 18), 750, date(2026, 2, 1)),
        (date(2026, 1, 30), 5000, date(2026, 4, 30)),
        (date(2026, 4, 2), 20_000, date(2026, 7, 1)),
        (date(2026, 4, 16), 5000, date(2026, 4, 30)),
        (date(2026, 6, 17), 20_000, date(2026, 7, 1)),
    ]
    assert [letter.number for _, letter in sent[:3]] == [
        year.cards["ada"].number,
        year.cards["ada"].number,
        year.cards["eve"].number,
    ]


def test_two_pounds_are_worth_a_letter_and_a_penny_less_is_not():
    year = Year()
    year.spend("ada", date(2024, 2, 1), 550, "C01")
    assert [letter.pence for letter in letters(year.all, date(2026, 1, 18))] == [200]
    year.spend("ada", date(2024, 2, 1), 1, "C01")
    assert letters(year.all, date(2026, 1, 18)) == []


def test_what_lapsed_comes_back_and_lapses_two_years_later_again():
    year = Year()
    ada = year.cards["ada"]
    lapse([ada], year.journal, date(2026, 2, 2))
    assert revive(ada, year.journal, date(2026, 8, 4)) == 750
    assert (ada.state, ada.pence, ada.used) == (State.LIVE, 750, date(2026, 8, 4))
    assert not due(ada, date(2028, 8, 4))
    assert lapse([ada], year.journal, date(2028, 8, 5)) == 750
    with pytest.raises(ValueError, match="lapsed on 2028-08-05"):
        revive(ada, year.journal, date(2029, 2, 5))
    assert revive(ada, year.journal, date(2029, 2, 4)) == 750
    assert [act for _, act, _ in ada.acts] == ["sold", "spent", "lapsed", "revived", "lapsed", "revived"]


def test_a_card_that_is_not_lapsed_cannot_be_revived():
    year = Year()
    for name in ("ada", "ben", "fay"):
        with pytest.raises(ValueError, match="has not lapsed"):
            revive(year.cards[name], year.journal, date(2026, 2, 1))
    assert len(year.journal.entries) == 11


def test_a_stolen_card_of_two_hundred_pounds_is_replaced():
    year = Year()
    new = year.cards["fay"]
    replace(year.cards["cleo"], new, year.journal, date(2024, 8, 1))
    assert [card.pence for card in year.all] == [750, 0, 0, 1, 5000, 20_000]
    assert new.used == date(2024, 7, 1)
    assert year.cards["cleo"].moved_to == new.number
    assert statement(year.cards["cleo"]).splitlines()[-2:] == [
        "01.08.2024  moved away    -£200.00       £0.00",
        f"moved to {codes.masked(new.number)}",
    ]
    assert statement(new).splitlines()[1:] == ["01.08.2024  moved here     £200.00     £200.00"]
    assert year.journal.balance(SUSPENSE) == 0
    assert [entry.text[:4] for entry in year.journal.entries[-2:]] == ["lost", "in p"]
    assert year.spend("fay", date(2024, 8, 2), 20_500, "C01") == 500


def test_acts_that_are_refused_book_nothing():
    year = Year()
    before = [(card.state, card.pence, card.used) for card in year.all]
    acts = {
        "is blank": lambda: year.spend("fay", date(2024, 9, 1), 100, "C01"),
        "is spent": lambda: year.spend("ben", date(2024, 9, 1), 100, "C01"),
        "a bill of nothing": lambda: year.spend("eve", date(2024, 9, 1), 0, "C01"),
        "£4.99: load £5.00 to £150.00": lambda: year.load("ada", date(2024, 9, 1), 499, "cash", "C01"),
        "£150.01: load £5.00 to £150.00": lambda: year.load("ada", date(2024, 9, 1), 15_001, "cash", "C01"),
        "at most £250.00": lambda: year.load("cleo", date(2024, 9, 1), 5001, "cash", "C01"),
        "above £20.00 is signed": lambda: year.load("fay", date(2024, 9, 1), 2001, "goodwill", "C01"),
        "paid by cheque": lambda: year.load("fay", date(2024, 9, 1), 2000, "cheque", "C01"),
        "£12.51 of £12.50": lambda: refund(year.cards["ada"], year.journal, date(2024, 9, 1), 1251, "C01"),
        "£0.01 of £0.00": lambda: refund(year.cards["eve"], year.journal, date(2024, 9, 1), 1, "C01"),
    }
    for why, act in acts.items():
        with pytest.raises(Refused, match=why):
            act()
    assert [(card.state, card.pence, card.used) for card in year.all] == before
    assert len(year.journal.entries) == 11


def test_a_card_is_filled_to_the_brim_in_steps():
    year = Year()
    year.load("cleo", date(2024, 9, 1), 5000, "cash", "C01")
    year.load("fay", date(2024, 9, 1), 15_000, "cash", "C01")
    year.load("ben", date(2024, 9, 1), 500, "goodwill", "C02")
    assert [year.cards[name].pence for name in ("cleo", "fay", "ben")] == [25_000, 15_000, 500]
    assert year.cards["ben"].state is State.LIVE
    assert [year.cards[name].acts[-1][1] for name in ("cleo", "fay", "ben")] == ["topped up", "sold", "topped up"]


def test_a_spent_card_takes_its_refund_up_to_what_was_spent():
    year = Year()
    ben = year.cards["ben"]
    refund(ben, year.journal, date(2024, 4, 1), 499, "C02")
    refund(ben, year.journal, date(2024, 4, 1), 1, "C02")
    with pytest.raises(Refused, match="£0.01 of £0.00"):
        refund(ben, year.journal, date(2024, 4, 1), 1, "C02")
    assert (ben.state, ben.pence, year.journal.balance(TAKINGS)) == (State.LIVE, 500, -8249)


def test_the_books_are_closed_month_by_month():
    year = Year()
    for month in range(1, 13):
        year.journal.close(month_ends(2024, month)[1])
    assert year.journal.closed_until == date(2024, 12, 31)
    with pytest.raises(ValueError, match="the books are closed until 2024-12-31"):
        year.spend("eve", date(2024, 12, 31), 100, "C01")
    assert year.cards["eve"].pence == 5000
    assert year.spend("eve", date(2025, 1, 1), 100, "C01") == 0
    with pytest.raises(ValueError, match="closed until 2024-12-31"):
        year.journal.close(date(2024, 12, 30))


def test_a_wrong_sale_is_reversed_in_the_month_in_which_it_is_found():
    year = Year()
    number = year.journal.book(
        Entry(date(2024, 9, 1), "sold twice", (Line(TILL, 900, "C03"), Line(UNSPENT, -900, "C03")))
    )
    assert number == 12
    assert year.journal.reverse(number, date(2024, 10, 1)) == 13
    last = year.journal.entries[-1]
    assert (last.text, last.reverses) == ("reversal of 12: sold twice", 12)
    assert last.lines == (Line(TILL, -900, "C03"), Line(UNSPENT, 900, "C03"))
    assert of_month(year.journal, 2024, 9) == Month(27_750, 900, 0, 28_650)
    assert of_month(year.journal, 2024, 10) == Month(28_650, 0, 900, 27_750)
    for wrong in (12, 0, 14, -1):
        with pytest.raises(ValueError, match=r"is reversed already|no entry"):
            year.journal.reverse(wrong, date(2024, 10, 1))


def test_an_entry_that_is_wrong_never_gets_into_the_books():
    day = date(2024, 9, 1)
    for lines, why in (
        ((Line(TILL, 900), Line(UNSPENT, -901)), "-1 pence too many"),
        ((Line(TILL, 900),), "two lines or more"),
        ((Line(TILL, 900), Line(2100, -900)), "no account 2100"),
        ((Line(TILL, 900), Line(UNSPENT, -900), Line(BANK, 0)), "a line of nothing on 1220"),
    ):
        with pytest.raises((ValueError, Unbalanced), match=why):
            Entry(day, "wrong", lines)


def test_a_till_in_the_red_is_found_before_the_fifth_day():
    year = Year()
    book = year.journal.book
    book(Entry(date(2024, 9, 1), "float", (Line(TILL, -2001, "C01"), Line(SUSPENSE, 2001, "C01"))))
    assert on_wrong_side(year.journal.entries) == [TILL]
    book(Entry(date(2024, 9, 2), "too much", (Line(UNSPENT, 25_752), Line(LAPSED, -25_752))))
    assert on_wrong_side(year.journal.entries) == [TILL, UNSPENT]
    book(Entry(date(2024, 9, 3), "back", (Line(TAKINGS, 8750), Line(MARKETING, -8750))))
    assert on_wrong_side(year.journal.entries) == [TILL, UNSPENT, TAKINGS, MARKETING]


@pytest.mark.parametrize(
    ("cards", "pence", "collected", "to_pay"),
    [
        (20, 500, False, 10_450),
        (20, 500, True, 10_000),
        (49, 2000, False, 98_450),
        (50, 2000, False, 97_000),
        (99, 1000, False, 96_480),
        (100, 999, False, 95_355),
        (199, 500, False, 94_975),
        (200, 500, False, 92_500),
        (60, 15_000, False, 873_000),
    ],
)
def test_the_price_list_for_offices(cards: int, pence: int, collected: bool, to_pay: int):
    assert quote(cards, pence, collected).to_pay == to_pay


def test_a_firm_of_three_departments_orders_sixty_cards():
    order = quote(60, 1234)
    assert order == Quote(74_040, 2221, 450)
    assert by_department(order, {"desk": 31, "yard": 17, "board": 12}) == {
        "desk": 37_339,
        "yard": 20_476,
        "board": 14_454,
    }
    made = numbers(100, 60)
    assert (len(made), made[0][:12], made[-1][:12]) == (60, "150000000100", "150000000159")
    assert [codes.normalised(each) for each in made] == made


def test_an_order_that_is_too_small_or_too_dear_is_refused():
    with pytest.raises(ValueError, match="19 cards: an office order begins at 20"):
        quote(19, 500)
    for pence in (499, 15_001):
        with pytest.raises(ValueError, match=f"{show_pounds(pence)}: a card is sold with £5.00 to £150.00"):
            quote(20, pence)


def test_amounts_of_a_bank_statement_are_read_and_shown():
    told = ["£1,250.00", "-£0.50", "£0.05", "£12.30", "-£1,000,000.99", "£999.00"]
    assert [parse_pounds(each) for each in told] == [125_000, -50, 5, 1230, -100_000_099, 99_900]
    assert [show_pounds(parse_pounds(each)) for each in told] == told
    for lost in ("12.3", "1,25.00", "£-1"):
        with pytest.raises(ValueError, match="no amount in pounds"):
            parse_pounds(lost)


def test_a_bill_is_shared_and_rounded_without_losing_a_penny():
    assert [half_up(n, 4) for n in range(9)] == [0, 0, 1, 1, 1, 1, 2, 2, 2]
    assert shared(1000, [3, 3, 1]) == [429, 428, 143]
    assert shared(7, [2, 2, 2, 1]) == [2, 2, 2, 1]
    assert shared(2, [1, 1, 1]) == [1, 1, 0]
    assert sum(shared(99_999, [7, 11, 13, 17])) == 99_999
    with pytest.raises(ValueError, match="add up to nothing"):
        shared(5, [])


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("1100 0000 0001 31", "a digit is wrong"),
        ("1100 0000 0001 3", "a card has 14 digits"),
        ("1100 0000 0001 300", "a card has 14 digits"),
        ("1900 0000 0001 " + codes.check_digits("190000000001"), "series 19 is not sold"),
        ("1000 0000 0001 " + codes.check_digits("100000000001"), "series 10 is not sold"),
    ],
)
def test_what_a_guest_mistyped_is_told(typed: str, why: str):
    with pytest.raises(codes.BadNumber, match=why):
        codes.normalised(typed)


def test_series_and_counts_that_were_never_printed():
    for series, count in (("13", 1), ("11", 0), ("12", 10**10)):
        with pytest.raises(codes.BadNumber, match=r"there is 11, 12, 15|of series 1"):
            codes.number(series, count)
    assert codes.number("12", 10**10 - 1)[:12] == "129999999999"
    for body in ("12345", "1" * 13, "12345678901a"):
        with pytest.raises(codes.BadNumber, match="a body has 12 digits"):
            codes.check_digits(body)


def test_a_mail_tells_only_the_end_of_a_number():
    year = Year()
    assert all(codes.masked(card.number).replace(" ", "")[-4:] == card.number[-4:] for card in year.all)
    assert all(codes.masked(card.number).startswith("**** **** **") for card in year.all)


@pytest.mark.parametrize(("month", "last"), [(1, 31), (2, 29), (4, 30), (12, 31)])
def test_the_ends_of_the_months_of_a_leap_year(month: int, last: int):
    first, end = month_ends(2024, month)
    assert (first, end) == (date(2024, month, 1), date(2024, month, last))
    assert end + timedelta(days=1) == date(2024 + month // 12, month % 12 + 1, 1)
