"""Tests of order, deliveries and invoice side by side."""

from dataclasses import replace
from datetime import date

import pytest

from invoices.matching import Delivery, Finding, Order, Why, arrived, backlog, billed, match, price_limit, question
from invoices.reading import Invoice, Line

ORDER = Order("PO-4410", "SUP-09", date(2026, 1, 12), {"FD-201": 122, "FD-203": 150}, {"FD-201": 240, "FD-203": 60})
MONDAY = Delivery("PO-4410", date(2026, 1, 13), {"FD-201": 120, "FD-203": 60})
TUESDAY = Delivery("PO-4410", date(2026, 1, 14), {"FD-201": 110})
OTHER = Delivery("PO-4411", date(2026, 1, 14), {"FD-201": 500})
ARRIVED = (MONDAY, TUESDAY, OTHER)


def invoice(*lines: Line, number: str = "BB-0871", supplier: str = "SUP-09", day: date = date(2026, 1, 14)) -> Invoice:
    net = sum(line.net for line in lines)
    return Invoice(supplier, number, day, "PO-4410", lines, net, 0)


def test_what_arrived_may_be_billed():
    assert match(invoice(Line("FD-201", 230, 122, 0), Line("FD-203", 60, 150, 0)), ORDER, ARRIVED) == []


def test_a_short_delivery_is_billed_short():
    found = match(invoice(Line("FD-201", 240, 122, 0)), ORDER, ARRIVED)
    assert found == [Finding(Why.NOT_ARRIVED, "FD-201", 10 * 122)]


def test_one_too_many_is_too_many():
    assert match(invoice(Line("FD-203", 61, 150, 0)), ORDER, ARRIVED) == [Finding(Why.NOT_ARRIVED, "FD-203", 150)]


def test_the_same_thing_on_two_lines_is_added():
    found = match(invoice(Line("FD-203", 40, 150, 0), Line("FD-203", 25, 150, 0)), ORDER, ARRIVED)
    assert found == [Finding(Why.NOT_ARRIVED, "FD-203", 5 * 150)]


def test_what_was_billed_before_has_been_billed():
    before = invoice(Line("FD-201", 200, 122, 0), number="BB-0870")
    assert match(invoice(Line("FD-201", 30, 122, 0)), ORDER, ARRIVED, [before]) == []
    assert match(invoice(Line("FD-201", 31, 122, 0)), ORDER, ARRIVED, [before]) == [
        Finding(Why.NOT_ARRIVED, "FD-201", 122)
    ]


def test_an_overbilled_order_owes_nothing_more():
    before = invoice(Line("FD-203", 70, 150, 0), number="BB-0870")
    assert match(invoice(Line("FD-203", 3, 150, 0)), ORDER, ARRIVED, [before]) == [
        Finding(Why.NOT_ARRIVED, "FD-203", 450)
    ]


def test_what_was_not_ordered_is_found_and_nothing_else_said_of_it():
    assert match(invoice(Line("FD-202", 5, 99_999, 0)), ORDER, ARRIVED) == [Finding(Why.NOT_ORDERED, "FD-202", 499_995)]


@pytest.mark.parametrize(
    ("ordered", "limit"), [(122, 124), (49, 49), (50, 51), (2500, 2550), (2499, 2548), (2600, 2650), (10_000, 10_050)]
)
def test_two_percent_but_never_more_than_fifty_pence(ordered: int, limit: int):
    assert price_limit(ordered) == limit


def test_a_price_at_the_limit_and_above_it():
    assert match(invoice(Line("FD-201", 100, 124, 0)), ORDER, ARRIVED) == []
    assert match(invoice(Line("FD-201", 100, 125, 0)), ORDER, ARRIVED) == [Finding(Why.DEARER, "FD-201", 300)]
    assert match(invoice(Line("FD-201", 100, 1, 0)), ORDER, ARRIVED) == []


def test_too_many_and_too_dear_are_two_findings():
    found = match(invoice(Line("FD-203", 62, 160, 0)), ORDER, ARRIVED)
    assert found == [Finding(Why.NOT_ARRIVED, "FD-203", 320), Finding(Why.DEARER, "FD-203", 620)]


def test_incident_2023_05_03_another_spelling_is_the_same_invoice():
    before = invoice(Line("FD-201", 10, 122, 0), number="bb 871")
    again = invoice(Line("FD-201", 10, 122, 0))
    assert match(again, ORDER, ARRIVED, [before]) == [Finding(Why.DUPLICATE, "", 1220)]


def test_another_supplier_may_use_the_same_number():
    before = invoice(Line("FD-201", 10, 122, 0), supplier="SUP-10")
    assert match(invoice(Line("FD-201", 10, 122, 0)), ORDER, ARRIVED, [before]) == []


def test_another_suppliers_order():
    found = match(invoice(Line("FD-201", 10, 122, 0), supplier="SUP-10"), ORDER, ARRIVED)
    assert found == [Finding(Why.OTHER_SUPPLIER, "", 1220)]


def test_an_invoice_of_the_orders_day_is_not_early():
    lines = (Line("FD-201", 10, 122, 0),)
    assert match(invoice(*lines, day=date(2026, 1, 12)), ORDER, ARRIVED) == []
    assert match(invoice(*lines, day=date(2026, 1, 11)), ORDER, ARRIVED) == [Finding(Why.EARLY, "")]


def test_no_more_is_credited_than_was_billed():
    before = invoice(Line("FD-201", 100, 122, 0), number="BB-0870")
    assert match(invoice(Line("FD-201", -100, 122, 0)), ORDER, ARRIVED, [before]) == []
    found = match(invoice(Line("FD-201", -103, 122, 0)), ORDER, ARRIVED, [before])
    assert found == [Finding(Why.BELOW_ZERO, "FD-201", 366)]


def test_a_credit_makes_room_for_a_new_line():
    before = invoice(Line("FD-203", 60, 150, 0), number="BB-0870")
    assert match(invoice(Line("FD-203", -2, 150, 0), Line("FD-203", 2, 151, 0)), ORDER, ARRIVED, [before]) == []


def test_only_the_orders_own_deliveries_and_invoices_count():
    assert arrived("PO-4410", ARRIVED) == {"FD-201": 230, "FD-203": 60}
    other = replace(invoice(Line("FD-201", 7, 122, 0)), order="PO-1")
    assert billed([other, invoice(Line("FD-201", 5, 122, 0)), invoice(Line("FD-201", -1, 122, 0))], "PO-4410") == {
        "FD-201": 4
    }


def test_the_backlog():
    assert backlog(ORDER, ARRIVED) == {"FD-201": 10}
    assert backlog(ORDER, ()) == {"FD-201": 240, "FD-203": 60}
    assert backlog(ORDER, (Delivery("PO-4410", MONDAY.day, {"FD-201": 240, "FD-203": 61}),)) == {}


def test_the_letter_names_the_dearest_first():
    found = [Finding(Why.EARLY, ""), Finding(Why.DEARER, "FD-201", 305), Finding(Why.NOT_ARRIVED, "FD-203", 123_456)]
    assert question(invoice(Line("FD-201", 1, 1, 0)), found).splitlines() == [
        "BB-0871 of 14.01.2026, order PO-4410:",
        "- FD-203: billed more than arrived, £1,234.56",
        "- FD-201: dearer than ordered, £3.05",
        "- dated before its order",
    ]
