"""Tests of amounts and card numbers."""

import pytest

from giftcards import codes
from giftcards.money import half_up, parse_pounds, shared, show_pounds


@pytest.mark.parametrize(
    ("text", "pence"),
    [("£1,250.00", 125_000), ("12", 1200), ("-0.50", -50), (" £7.05 ", 705), ("1,000,000", 100_000_000), ("0.01", 1)],
)
def test_amounts_are_read(text: str, pence: int):
    assert parse_pounds(text) == pence


@pytest.mark.parametrize("text", ["12.5", "1,25", "£", "", "12.505", "1 250", "--1", "12,34.00"])
def test_what_may_have_lost_a_digit_is_refused(text: str):
    with pytest.raises(ValueError, match="no amount in pounds"):
        parse_pounds(text)


@pytest.mark.parametrize(
    ("pence", "text"), [(125_000, "£1,250.00"), (-50, "-£0.50"), (5, "£0.05"), (0, "£0.00"), (100, "£1.00")]
)
def test_amounts_are_shown(pence: int, text: str):
    assert show_pounds(pence) == text


def test_shown_amounts_are_read_again():
    for pence in (-123_456, -99, -1, 0, 1, 99, 100, 101, 99_999, 100_000):
        assert parse_pounds(show_pounds(pence)) == pence


@pytest.mark.parametrize(
    ("numerator", "denominator", "result"), [(1, 2, 1), (5, 2, 3), (4, 3, 1), (5, 3, 2), (6, 3, 2), (0, 7, 0)]
)
def test_half_goes_up(numerator: int, denominator: int, result: int):
    assert half_up(numerator, denominator) == result


def test_shares_add_up_and_the_first_of_equals_gets_the_penny():
    assert shared(100, [1, 1, 1]) == [34, 33, 33]
    assert shared(101, [1, 1, 1]) == [34, 34, 33]


def test_the_largest_remainder_gets_the_penny():
    # 10 × 5/13 = 3.85, 10 × 2/13 = 1.54, 10 × 6/13 = 4.62: the pennies go to the first and the third.
    assert shared(10, [5, 2, 6]) == [4, 1, 5]


def test_a_weight_of_nothing_gets_nothing():
    assert shared(7, [0, 3, 0]) == [0, 7, 0]


def test_weights_of_nothing_are_refused():
    with pytest.raises(ValueError, match="add up to nothing"):
        shared(100, [0, 0])


def test_a_number_leaves_one():
    assert int(codes.number("11", 1)) % 97 == 1
    assert codes.number("11", 1).startswith("110000000001")


def test_known_check_digits():
    # 110000000001 followed by 00 leaves 68 when divided by 97.
    assert 11000000000100 % 97 == 68
    assert codes.check_digits("110000000001") == "30"


def test_check_digits_of_one_figure_keep_their_nought():
    assert codes.check_digits("120000000024") == "08"
    assert all(len(codes.check_digits(f"{n:012}")) == 2 for n in range(200))


def test_every_wrong_digit_is_noticed():
    good = codes.number("12", 4711)
    for place in range(2, 14):
        for digit in "0123456789":
            if digit != good[place]:
                with pytest.raises(codes.BadNumber, match="a digit is wrong"):
                    codes.normalised(good[:place] + digit + good[place + 1 :])


def test_blanks_points_and_hyphens_are_forgiven():
    good = codes.number("15", 20)
    assert codes.normalised(f" {good[:4]}-{good[4:8]}.{good[8:12]} {good[12:]} ") == good


@pytest.mark.parametrize("text", ["", "1100", "110000000001155", "11000000000l15", "1100000000011"])
def test_a_missing_digit_is_named(text: str):
    with pytest.raises(codes.BadNumber, match="a card has 14 digits"):
        codes.normalised(text)


@pytest.mark.parametrize("series", ["19", "13"])
def test_pulped_and_unknown_series_are_refused(series: str):
    body = f"{series}0000000042"
    with pytest.raises(codes.BadNumber, match=f"series {series} is not sold"):
        codes.normalised(body + codes.check_digits(body))
    with pytest.raises(codes.BadNumber, match="there is 11, 12, 15"):
        codes.number(series, 42)


@pytest.mark.parametrize("count", [0, 10_000_000_000])
def test_a_series_has_ten_digits(count: int):
    with pytest.raises(codes.BadNumber, match=f"card {count} of series 11"):
        codes.number("11", count)


def test_the_last_card_of_a_series():
    assert codes.number("11", 9_999_999_999)[:12] == "119999999999"


@pytest.mark.parametrize("body", ["12345678901", "1234567890123", "12345678901x"])
def test_a_body_has_twelve_digits(body: str):
    with pytest.raises(codes.BadNumber, match="a body has 12 digits"):
        codes.check_digits(body)


def test_numbers_are_printed_in_groups_of_four():
    assert codes.printed("12345678901234") == "1234 5678 9012 34"


def test_only_the_last_four_digits_are_told():
    assert codes.masked("12345678901234") == "**** **** **12 34"
