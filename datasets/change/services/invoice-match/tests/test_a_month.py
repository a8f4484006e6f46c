"""January from the order to the payment: what the parts do together."""

from datetime import date, timedelta

from invoices.ageing import Owed, ageing, band, days_to_pay, to_report
from invoices.approval import LEVELS, LIMITS, Bill, level_for, signatures, split_orders, stand_in
from invoices.matching import Delivery, Order, Why, arrived, backlog, match, price_limit, question
from invoices.payments import check_sum, run
from invoices.reading import Line, read, same_number, vat_of
from invoices.terms import due, early_discount, instalments, parse_terms, run_day

PASTRY = """invoice;SUP-09;BB-0901;2026-01-12;order PO-1
line;FD-201;100;122;0
line;FD-203;50;155;0
line;PK-330;3;1450;20
total;24300;870
"""
CREDIT = """invoice;SUP-09;BB-C12;2026-01-19;order PO-1
line;FD-203;-5;155;0
line;PK-330;-1;1450;20
total;-2225;-290
"""
ORDER = Order(
    "PO-1",
    "SUP-09",
    date(2026, 1, 5),
    {"FD-201": 122, "FD-203": 150, "PK-330": 1450},
    {"FD-201": 120, "FD-203": 50, "PK-330": 3},
)
ARRIVED = (
    Delivery("PO-1", date(2026, 1, 8), {"FD-201": 60, "FD-203": 45, "PK-330": 3}),
    Delivery("PO-1", date(2026, 1, 9), {"FD-201": 35}),
    Delivery("PO-2", date(2026, 1, 9), {"FD-201": 35, "FD-203": 5}),
)


def test_an_invoice_its_question_and_its_credit():
    invoice = read(PASTRY)
    found = match(invoice, ORDER, ARRIVED)
    assert [(each.why, each.sku, each.pence) for each in found] == [
        (Why.NOT_ARRIVED, "FD-201", 610),
        (Why.NOT_ARRIVED, "FD-203", 775),
        (Why.DEARER, "FD-203", 250),
    ]
    assert question(invoice, found).splitlines()[1:] == [
        "- FD-203: billed more than arrived, £7.75",
        "- FD-201: billed more than arrived, £6.10",
        "- FD-203: dearer than ordered, £2.50",
    ]
    assert match(read(CREDIT), ORDER, ARRIVED, [invoice]) == []
    assert [each.why for each in match(invoice, ORDER, ARRIVED, [invoice])][0] is Why.DUPLICATE
    assert backlog(ORDER, ARRIVED) == {"FD-201": 25, "FD-203": 5}
    assert arrived("PO-2", ARRIVED) == {"FD-201": 35, "FD-203": 5}


def test_all_findings_of_a_very_wrong_invoice():
    wrong = read(PASTRY.replace("SUP-09", "SUP-10").replace("2026-01-12", "2026-01-04").replace("PK-330", "PK-331"))
    assert [(each.why, each.pence) for each in match(wrong, ORDER, ARRIVED)] == [
        (Why.OTHER_SUPPLIER, 24_300),
        (Why.EARLY, 0),
        (Why.NOT_ARRIVED, 610),
        (Why.NOT_ARRIVED, 775),
        (Why.DEARER, 250),
        (Why.NOT_ORDERED, 4350),
    ]
    more = read(CREDIT.replace("-5;155", "-51;155").replace("-2225", "-9355"))
    assert [(each.why, each.pence) for each in match(more, ORDER, ARRIVED, [read(PASTRY)])] == [(Why.BELOW_ZERO, 155)]


def test_the_run_pays_both_together():
    terms = {"SUP-09": parse_terms("30 days"), "SUP-07": parse_terms("14 days, 1% within 5")}
    milk = read("invoice;SUP-07;N 7;2026-02-03;order PO-3\nline;MK-1;400;85;0\ntotal;34000;0")
    day = run_day(date(2026, 2, 2))
    transfers = run([read(CREDIT), milk, read(PASTRY)], terms, day)
    assert [(each.supplier, each.pence, each.discount, each.reference) for each in transfers] == [
        ("SUP-07", 33_660, 340, "N 7"),
        ("SUP-09", 22_655, 0, "BB-0901 BB-C12"),
    ]
    assert check_sum(transfers) == (33_660 + 2 * 22_655) % 9973
    assert early_discount(terms["SUP-07"], milk, day) == 340
    assert due(terms["SUP-09"], read(PASTRY).day) == date(2026, 2, 11)


def test_green_coffee_in_two_parts():
    coffee = read("invoice;SUP-01;LP 7;2026-01-30;order GC-1\nline;GC-1;2400;582;0\ntotal;1396800;0")
    terms = parse_terms("50% at shipment, 50% 30 days after arrival")
    parts = instalments(terms, coffee, date(2026, 4, 3), holidays=[date(2026, 5, 4)])
    assert parts == [(date(2026, 1, 30), 698_400), (date(2026, 5, 5), 698_400)]
    assert signatures(Bill(coffee.gross, "roastery", inside_contract=True)) == []
    assert signatures(Bill(coffee.gross, "roastery")) == ["finance director"]


def test_every_level_has_its_limit():
    for place, (level, limit) in enumerate(LIMITS):
        assert level_for(limit) == level
        assert level_for(limit + 1) == LEVELS[place + 1]
        assert level_for(limit // 2 + 1) == level
    assert [limit for _, limit in LIMITS] == [25_000, 100_000, 250_000, 1_500_000]


def test_signatures_of_a_year():
    assert signatures(Bill(8000, "IT", repeats=12, months=36, customers_data=True)) == [
        "area manager",
        "department lead",
        "finance director",
        "head of IT",
    ]
    assert signatures(Bill(8000, "IT", repeats=3, months=24)) == ["café manager"]
    assert signatures(Bill(200_000, "IT", repeats=12, months=25)) == ["department lead", "finance director", "board"]
    assert signatures(Bill(1, "cafés", lease=True)) == ["board"]


def test_a_summer_in_which_many_are_away():
    away = {"café manager": 20, "area manager": 15, "department lead": 0, "finance director": 21}
    bill = Bill(5000, "marketing")
    assert [stand_in(level, away, bill) for level in LEVELS] == [
        "department lead",
        "department lead",
        "department lead",
        "operations director",
        "board",
    ]
    away["department lead"] = 15
    assert stand_in("café manager", away, bill) == "operations director"
    assert stand_in("café manager", away, Bill(5000, "operations")) is None
    away["department lead"] = 14
    assert stand_in("café manager", away, bill) is None


def test_splitting_needs_two_orders_near_each_other():
    week = [("A", 1, 25_000), ("A", 8, 1), ("B", 1, 25_001), ("B", 2, 5), ("C", 3, 13_000), ("C", 11, 13_000)]
    assert split_orders(week, 25_000) == ["A"]
    assert split_orders(week, 25_001) == ["B"]
    assert split_orders(week, 25_000, within=6) == []
    assert split_orders(week, 25_000, within=8) == ["A", "C"]


def test_what_is_owed_at_the_end_of_a_quarter():
    today = date(2026, 3, 31)
    owed = [
        Owed(f"SUP-{n % 2}", today - timedelta(days=days), 10**n) for n, days in enumerate((-1, 0, 1, 30, 31, 60, 61))
    ]
    assert [band(each.due, today) for each in owed] == [0, 0, 1, 1, 2, 2, 3]
    assert ageing(owed, today) == {"SUP-0": [1, 100, 10_000, 1_000_000], "SUP-1": [10, 1000, 100_000, 0]}
    assert to_report(owed, today) == ["SUP-0"]
    assert to_report(owed, today + timedelta(days=1)) == ["SUP-0", "SUP-1"]
    assert to_report([Owed("SUP-1", date(2025, 1, 1), -5)], today) == []


def test_how_fast_we_paid():
    first = date(2026, 1, 1)
    paid = [(first, first + timedelta(days=days), pence) for days, pence in ((34, 2), (9, 1), (47, 1))]
    assert days_to_pay(paid) == 31
    assert days_to_pay(paid[:2]) == 26
    assert days_to_pay([(first, first, 700)]) == 0


def test_numbers_rates_and_prices():
    assert [same_number(text) for text in ("a-01/002", "A 1 2", "a1 2")] == ["A12", "A12", "A12"]
    assert vat_of((Line("a", -3, 10, 20), Line("b", 1, 33, 5))) == -6 + 2
    assert [price_limit(price) for price in (99, 100, 2524, 2525)] == [100, 102, 2574, 2575]
