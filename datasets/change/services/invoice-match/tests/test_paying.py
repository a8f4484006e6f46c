"""Tests of approval, the payment run and the ages of what we owe."""

from datetime import date

import pytest

from invoices.ageing import Owed, ageing, band, days_to_pay, to_report
from invoices.approval import Bill, level_for, signatures, split_orders, stand_in
from invoices.payments import Transfer, check_sum, payable, reference, run
from invoices.reading import Invoice, Line
from invoices.terms import Terms

RUN = date(2026, 2, 12)  # a Thursday


def bill(pence: int, day: date, number: str = "1", supplier: str = "SUP-09") -> Invoice:
    return Invoice(supplier, number, day, "PO-1", (Line("x", 1, pence, 0),), pence, 0)


@pytest.mark.parametrize(
    ("pence", "level"),
    [
        (25_000, "café manager"),
        (25_001, "area manager"),
        (100_000, "area manager"),
        (100_001, "department lead"),
        (250_000, "department lead"),
        (250_001, "finance director"),
        (1_500_000, "finance director"),
        (1_500_001, "board"),
    ],
)
def test_a_limit_is_still_inside(pence: int, level: str):
    assert level_for(pence) == level


def test_what_repeats_counts_for_the_year():
    assert signatures(Bill(20_000, "cafés")) == ["café manager"]
    assert signatures(Bill(20_000, "cafés", repeats=12)) == ["department lead"]


@pytest.mark.parametrize(
    ("months", "names"), [(24, ["café manager"]), (25, ["café manager", "department lead", "finance director"])]
)
def test_a_contract_above_two_years_has_two_more(months: int, names: list[str]):
    assert signatures(Bill(9900, "cafés", months=months)) == names


def test_special_bills():
    assert signatures(Bill(9900, "cafés", lease=True, inside_contract=True)) == ["board"]
    assert signatures(Bill(9_999_900, "roastery", inside_contract=True)) == []
    assert signatures(Bill(260_000, "IT", customers_data=True)) == ["finance director", "head of IT"]


def test_who_is_here_signs():
    assert stand_in("area manager", {}, Bill(1, "cafés")) == "area manager"
    assert stand_in("area manager", {"area manager": 0, "board": 20}, Bill(1, "cafés")) == "area manager"


def test_two_weeks_wait_and_fifteen_days_go_one_up():
    assert stand_in("area manager", {"area manager": 1}, Bill(1, "cafés")) is None
    assert stand_in("area manager", {"area manager": 14}, Bill(1, "cafés")) is None
    assert stand_in("area manager", {"area manager": 15}, Bill(1, "cafés")) == "department lead"
    assert stand_in("area manager", {"area manager": 15, "department lead": 9}, Bill(1, "cafés")) is None


def test_the_finance_directors_stand_in_signs_nothing_of_his_own():
    away = {"finance director": 30, "department lead": 30}
    assert stand_in("department lead", away, Bill(1, "marketing")) == "operations director"
    assert stand_in("finance director", away, Bill(1, "operations")) is None
    assert stand_in("board", {"board": 15}, Bill(1, "marketing")) is None


def test_orders_split_around_a_limit():
    orders = [("A", 10, 20_000), ("A", 17, 6000), ("B", 10, 20_000), ("B", 18, 6000), ("C", 10, 26_000), ("C", 11, 100)]
    assert split_orders(orders, 25_000) == ["A"]
    assert split_orders(orders, 25_000, within=8) == ["A", "B"]
    assert split_orders([("A", 1, 12_500), ("A", 2, 12_500), ("D", 1, 12_500), ("D", 1, 12_501)], 25_000) == ["D"]
    assert split_orders(
        [("D", 5, 25_000), ("A", 9, 20_000), ("D", 1, 1), ("A", 4, 5001), ("E", 4, 24_000)], 25_000
    ) == ["A", "D"]


@pytest.mark.parametrize(
    ("day", "paid"), [(date(2026, 1, 19), True), (date(2026, 1, 20), False), (date(2026, 1, 2), True)]
)
def test_what_falls_due_before_the_next_run_is_paid(day: date, paid: bool):
    # The 19th with 30 days is due on 18 February, the day before the next run.
    assert payable(bill(1000, day), Terms(30), RUN) is paid


def test_early_payment_is_taken_in_the_last_run_that_brings_it():
    terms = Terms(60, early_tenths=20, early_days=10)
    assert not payable(bill(10_000, date(2026, 2, 9)), terms, RUN)
    assert payable(bill(10_000, date(2026, 2, 8)), terms, RUN)
    assert payable(bill(10_000, date(2026, 2, 2)), terms, RUN)
    assert not payable(bill(10_000, date(2026, 2, 1)), terms, RUN)


def test_credits_are_always_taken():
    assert payable(bill(-1, date(2026, 2, 11)), Terms(90), RUN)


def test_a_run_makes_one_transfer_a_supplier():
    terms = {"SUP-09": Terms(30), "SUP-07": Terms(14, early_tenths=10, early_days=7)}
    bills = [
        bill(5000, date(2026, 1, 10), "BB-2"),
        bill(20_000, date(2026, 2, 5), "N-1", "SUP-07"),
        bill(7000, date(2026, 1, 2), "BB-1"),
        bill(-500, date(2026, 2, 10), "BB-C"),
        bill(9999, date(2026, 2, 10), "BB-3"),
    ]
    assert run(bills, terms, RUN) == [
        Transfer("SUP-07", 19_800, 200, "N-1"),
        Transfer("SUP-09", 11_500, 0, "BB-1 BB-2 BB-C"),
    ]


def test_holidays_push_due_dates_out_of_a_run():
    terms = {"SUP-09": Terms(30)}
    bills = [bill(1000, date(2026, 1, 19))]
    assert len(run(bills, terms, RUN)) == 1
    assert run(bills, terms, RUN, [date(2026, 2, 18)]) == []


def test_who_owes_us_gets_no_transfer_and_pennies_wait():
    terms = {"SUP-09": Terms(30)}
    assert run([bill(1000, date(2026, 1, 2)), bill(-901, date(2026, 1, 3))], terms, RUN) == []
    assert run([bill(1000, date(2026, 1, 2)), bill(-900, date(2026, 1, 3))], terms, RUN)[0].pence == 100


def test_there_is_no_run_on_friday():
    with pytest.raises(ValueError, match="Friday: the run is on Thursday"):
        run([], {}, date(2026, 2, 13))


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (["BB-1", "BB-2"], "BB-1 BB-2"),
        (["12345678", "123456789"], "12345678 123456789"),
        (["12345678", "1234567890"], "12345678 +"),
        (["123456", "123456", "123456"], "123456 123456 +"),
        (["1234567890123456", "2"], "1234567890123456 2"),
        (["12345678901234567890"], "123456789012345678"),
    ],
)
def test_references_keep_numbers_whole(numbers: list[str], text: str):
    assert reference(numbers) == text


def test_the_banks_check():
    transfers = [Transfer("A", 10_000, 0, ""), Transfer("B", 3, 0, ""), Transfer("C", 100, 0, "")]
    assert check_sum(transfers) == (10_000 + 6 + 300) % 9973 == 333
    assert check_sum(transfers[::-1]) == 100 + 6 + 30_000 - 3 * 9973


@pytest.mark.parametrize(("days", "place"), [(-5, 0), (0, 0), (1, 1), (30, 1), (31, 2), (60, 2), (61, 3)])
def test_age_bands(days: int, place: int):
    today = date(2026, 3, 31)
    assert band(date.fromordinal(today.toordinal() - days), today) == place


def test_ages_by_supplier():
    today = date(2026, 3, 31)
    owed = [
        Owed("SUP-09", date(2026, 3, 31), 100),
        Owed("SUP-09", date(2026, 3, 1), 20),
        Owed("SUP-07", date(2026, 1, 30), 7),
        Owed("SUP-09", date(2026, 4, 30), 3),
        Owed("SUP-07", date(2026, 1, 29), 5),
    ]
    assert ageing(owed, today) == {"SUP-09": [103, 20, 0, 0], "SUP-07": [0, 0, 7, 5]}
    assert to_report(owed, today) == ["SUP-07"]
    assert to_report([*owed[:3], Owed("SUP-01", date(2025, 1, 1), 0)], today) == []


def test_days_to_pay_are_weighted():
    first = date(2026, 1, 1)
    assert days_to_pay([(first, date(2026, 1, 11), 300), (first, date(2026, 2, 10), 100)]) == 18
    assert days_to_pay([(first, date(2026, 1, 2), 100), (first, date(2026, 1, 3), 100)]) == 2
    assert days_to_pay([]) == 0
