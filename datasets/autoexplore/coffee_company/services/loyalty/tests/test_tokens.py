"""Tests of the card tokens."""

import pytest

from loyalty import tokens


def test_new_tokens_are_valid_and_differ():
    made = {tokens.new() for _ in range(200)}
    assert len(made) == 200
    assert all(tokens.valid(t) and len(t) == 12 for t in made)


def test_no_new_token_begins_like_the_withdrawn_run():
    assert not any(tokens.new().startswith("A") for _ in range(200))


def test_check_letter_of_a_known_body():
    # 1·7 + 3·20 (M) + 5·4 + 7·8, then zeros: 143, and 143 mod 22 = 11, the twelfth letter.
    body = "7M480000000"
    assert tokens.ALPHABET.index("M") == 20
    assert tokens.check_letter(body) == tokens.CHECK_LETTERS[143 % 22] == "N"


def test_lookalikes_blanks_and_small_letters_are_forgiven():
    token = "7M480000000N"
    assert tokens.valid("7m48 oooo-ooon")
    assert tokens.normalise("7m48 oooo-ooon") == token


def test_one_wrong_digit_is_noticed():
    good = "7M480000000N"
    for place in range(11):
        wrong = "1" if good[place] != "1" else "2"
        assert not tokens.valid(good[:place] + wrong + good[place + 1 :])


@pytest.mark.parametrize("text", ["", "7M48", "7M480000000NN", "7M48000!000N", "A2345678901B"])
def test_refused(text: str):
    assert not tokens.valid(text)


def test_body_of_wrong_length():
    with pytest.raises(ValueError, match="11 characters, not 4"):
        tokens.check_letter("7M48")


def test_grouped_as_printed():
    assert tokens.grouped("7M480000000N") == "7M48 0000 000N"
