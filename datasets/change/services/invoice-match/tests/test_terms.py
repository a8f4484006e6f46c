"""Tests of payment terms and their days."""

from datetime import date

import pytest

from invoices.reading import Invoice, Line
from invoices.terms import Terms, due, early_discount, instalments, month_end, parse_terms, run_day, working_day

EASTER = (date(2026, 4, 3), date(2026, 4, 6))


def bill(pence: int, day: date = date(2026, 1, 14)) -> Invoice:
    return Invoice("SUP-01", "LP-7", day, "PO-1", (Line("GC", 1, pence, 0),), pence, 0)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("30 days", Terms(30)),
        ("14 days end of month", Terms(14, end_of_month=True)),
        ("30 days, 2% within 10", Terms(30, early_tenths=20, early_days=10)),
        ("30 days end of month, 1.5% within 10", Terms(30, True, 15, 10)),
        ("50% at shipment, 50% 30 days after arrival", Terms(30, first_share=50)),
        ("40% at shipment, 60% 45 days after arrival", Terms(45, first_share=40)),
    ],
)
def test_terms_are_read(text: str, terms: Terms):
    assert parse_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", "no terms: 'soon'"),
        ("30 days, 2% within", "no terms"),
        ("30 days, 2.25% within 10", "no terms"),
        ("50% at shipment, 40% 30 days after arrival", "90% in all"),
        ("10 days, 2% within 10", "early is not earlier"),
    ],
)
def test_other_terms_are_refused(text: str, why: str):
    with pytest.raises(ValueError, match=why):
        parse_terms(text)


def test_early_by_a_day_is_earlier():
    assert parse_terms("11 days, 2% within 10").early_days == 10


@pytest.mark.parametrize(
    ("day", "moved"),
    [
        (date(2026, 1, 16), date(2026, 1, 16)),
        (date(2026, 1, 17), date(2026, 1, 19)),
        (date(2026, 1, 18), date(2026, 1, 19)),
        (date(2026, 4, 2), date(2026, 4, 2)),
        (date(2026, 4, 3), date(2026, 4, 7)),
        (date(2026, 4, 6), date(2026, 4, 7)),
    ],
)
def test_working_days(day: date, moved: date):
    assert working_day(day, EASTER) == moved


@pytest.mark.parametrize(
    ("day", "last"),
    [
        (date(2026, 1, 1), 31),
        (date(2026, 2, 28), 28),
        (date(2028, 2, 1), 29),
        (date(2026, 11, 30), 30),
        (date(2026, 12, 31), 31),
    ],
)
def test_month_ends(day: date, last: int):
    assert month_end(day) == day.replace(day=last)


def test_due_from_the_invoice_or_from_the_end_of_its_month():
    assert due(Terms(30), date(2026, 1, 14)) == date(2026, 2, 13)
    assert due(Terms(30, end_of_month=True), date(2026, 1, 14)) == date(2026, 3, 2)
    assert due(Terms(14), date(2026, 3, 20), EASTER) == date(2026, 4, 7)


def test_one_part_by_default():
    assert instalments(Terms(14), bill(1000)) == [(date(2026, 1, 28), 1000)]


def test_the_second_half_waits_for_the_arrival():
    terms = parse_terms("50% at shipment, 50% 30 days after arrival")
    assert instalments(terms, bill(10_001)) == [(date(2026, 1, 14), 5000)]
    assert instalments(terms, bill(10_001), arrived=date(2026, 3, 10)) == [
        (date(2026, 1, 14), 5000),
        (date(2026, 4, 9), 5001),
    ]


def test_parts_move_to_working_days():
    terms = parse_terms("40% at shipment, 60% 30 days after arrival")
    parts = instalments(terms, bill(1000, date(2026, 1, 17)), date(2026, 3, 4), EASTER)
    assert parts == [(date(2026, 1, 19), 400), (date(2026, 4, 7), 600)]


def test_who_pays_within_the_time_pays_less():
    terms = parse_terms("30 days, 1.5% within 10")
    assert early_discount(terms, bill(10_000), date(2026, 1, 24)) == 150
    assert early_discount(terms, bill(10_000), date(2026, 1, 25)) == 0
    assert early_discount(terms, bill(10_033), date(2026, 1, 14)) == 150
    assert early_discount(terms, bill(10_034), date(2026, 1, 14)) == 151
    assert early_discount(Terms(30), bill(10_000), date(2026, 1, 14)) == 0


def test_a_credit_has_no_discount():
    assert early_discount(parse_terms("30 days, 2% within 10"), bill(-5000), date(2026, 1, 14)) == 0


@pytest.mark.parametrize(("day", "run"), [(14, 15), (15, 15), (16, 22), (18, 22), (21, 22)])
def test_the_run_is_on_thursday(day: int, run: int):
    assert run_day(date(2026, 1, day)) == date(2026, 1, run)
