"""Tests of reading an invoice file."""

from datetime import date

import pytest

from invoices.reading import BadInvoice, Line, half_up, read, same_number, vat_of

GOOD = """invoice;SUP-09;BB-0871;2026-01-14;order PO-4410
line;FD-201;240;122;0
line;PK-330;12;1450;20
total;46680;3480
"""


def test_a_whole_invoice():
    invoice = read(GOOD)
    assert (invoice.supplier, invoice.number, invoice.day, invoice.order) == (
        "SUP-09",
        "BB-0871",
        date(2026, 1, 14),
        "PO-4410",
    )
    assert invoice.lines == (Line("FD-201", 240, 122, 0), Line("PK-330", 12, 1450, 20))
    assert (invoice.net, invoice.vat, invoice.gross, invoice.is_credit) == (46_680, 3480, 50_160, False)


def test_empty_lines_are_nothing():
    assert read("\n" + GOOD.replace("\n", "\n\n")) == read(GOOD)


def test_a_credit_note():
    note = read("invoice;SUP-09;BB-C4;2026-01-20;order PO-4410\nline;PK-330;-2;1450;20\ntotal;-2900;-580")
    assert (note.gross, note.is_credit) == (-3480, True)


def test_a_file_without_lines_is_refused():
    with pytest.raises(BadInvoice, match="a head, a line and a total"):
        read("invoice;SUP-09;BB-0871;2026-01-14;order PO-4410\ntotal;0;0")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("invoice;", "rechnung;", "line 1: invoice;SUPPLIER"),
        (";order PO-4410", "", "line 1: invoice;SUPPLIER"),
        ("BB-0871", " - ", "an invoice has a number"),
        ("order PO", "PO", "'PO-4410' names no order"),
        ("2026-01-14", "14.01.2026", "'14.01.2026' is no date"),
        ("line;FD-201;240;122;0", "line;FD-201;240;122", "line 2: line;SKU"),
        ("line;PK-330", "lien;PK-330", "line 3: line;SKU"),
        ("240;122", "24O;122", "line 2: quantity '24O' is no whole number"),
        (";122;", ";1.22;", "line 2: price '1.22' is no whole number"),
        ("1450;20", "1450;x", "line 3: VAT rate 'x' is no whole number"),
        ("240;122", "0;122", "line 2: 0 at 122 pence"),
        (";122;", ";-122;", "line 2: 240 at -122 pence"),
        ("1450;20", "1450;17", "line 3: no VAT rate of 17%"),
        ("total;46680;3480", "total;46680", "line 4: total;NET;VAT"),
        ("total;", "sum;", "line 4: total;NET;VAT"),
        ("total;46680", "total;?", "line 4: total '.' is no whole number"),
        ("46680;", "46681;", "the lines add up to 46680 pence, not 46681"),
    ],
)
def test_what_is_wrong_is_said(old: str, new: str, why: str):
    assert old in GOOD
    with pytest.raises(BadInvoice, match=why):
        read(GOOD.replace(old, new))


@pytest.mark.parametrize("vat", [3478, 3479, 3481, 3482])
def test_two_pence_of_vat_are_rounding(vat: int):
    assert read(GOOD.replace("3480", str(vat))).vat == vat


@pytest.mark.parametrize("vat", [3477, 3483])
def test_three_pence_of_vat_are_not(vat: int):
    with pytest.raises(BadInvoice, match=f"VAT on these lines is 3480 pence, not {vat}"):
        read(GOOD.replace("3480", str(vat)))


def test_vat_is_of_the_sum_of_a_rate_and_not_of_each_line():
    # Three lines of 12 pence: 20% of 36 is 7.2; line by line it would be 3 × 2.4, so 6.
    assert vat_of((Line("a", 1, 12, 20), Line("b", 1, 12, 20), Line("c", 1, 12, 20))) == 7
    assert vat_of((Line("a", 1, 12, 20), Line("b", 1, 50, 5), Line("c", 9, 999, 0))) == 2 + 3


def test_half_goes_away_from_nothing():
    assert [half_up(n, 2) for n in (-3, -1, 0, 1, 3)] == [-2, -1, 0, 1, 2]
    assert [half_up(n, 10) for n in (-15, -14, 14, 15, 16)] == [-2, -1, 1, 2, 2]


@pytest.mark.parametrize("spelling", ["BB-0871", "bb 871", "BB 00871", "bb/871", " BB-871 "])
def test_spellings_of_the_invoice_of_2023_05_03(spelling: str):
    assert same_number(spelling) == "BB871"


def test_numbers_that_differ():
    assert same_number("BB-8710") != same_number("BB-0871")
    assert same_number("000") == "0"
    assert same_number("0-5") == "05"
