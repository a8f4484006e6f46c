"""What an issue tells: the behaviour and what was seen, never the name of a function, a method or a file."""

from __future__ import annotations

import pytest

from natlang_envs.change.making.issues import HiddenNames
from natlang_envs.change.repositories import change_repositories
from natlang_envs.change.task_files import read_journal
from natlang_envs.repository.texts import MAX_QUESTION

SOURCES = {
    "shop/till.py": "class Card:\n    def spend(self): pass\n\nasync def refund_all(): pass\n",
    "shop/__init__.py": "def outer():\n    def rounding(): pass\n",
}
ASSERTED = "AssertionError"


@pytest.fixture
def private() -> HiddenNames:
    return HiddenNames(SOURCES)


def test_functions_methods_and_files_are_private_and_classes_and_words_are_not(private: HiddenNames) -> None:
    assert private.names == {"spend", "refund_all", "outer", "rounding", "till", "__init__"}
    told = private.names_in("Spend it at the till: the spender's card, Refund_All; rounding-off")
    assert told == ["Spend", "till", "Refund_All", "rounding"]


@pytest.mark.parametrize(
    ("test", "message", "issue"),
    [
        (
            "tests/test_a.py::test_a_lapsed_card_is_refused",
            (ASSERTED, "assert 39 == 40"),
            "A lapsed card is refused. Expected 40, got 39.",
        ),
        (
            "t.py::TestCards::test_a_lapsed_card_is_refused[499-x y]",
            (ASSERTED, "assert Card(1, pence=1) == Card(1, pence=2)\n +  where Card(1, pence=1) = f()"),
            "A lapsed card is refused (499-x y). Pence: expected 2, got 1.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            (ASSERTED, "assert [(1, 'a'), (2, {'b': [3]})] == [(1, 'a'), (2, {'b': [4]})]"),
            "A lapsed card is refused. 'b': expected 4, got 3.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            (ASSERTED, "assert [(1, 2), 3] == [(1, 2)]"),
            "A lapsed card is refused. Expected [(1, 2)], got [(1, 2), 3].",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            (ASSERTED, f"assert '{'x' * 100}yes' == '{'x' * 100}no'"),
            f"A lapsed card is refused. Expected …{'x' * 77}no', got …{'x' * 76}yes'.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            (ASSERTED, "the sum\nassert 'a == b' == 'a'"),
            "A lapsed card is refused. Expected 'a', got 'a == b'.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            (ASSERTED, "assert not True"),
            "A lapsed card is refused. This does not hold: not True.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            ("Failed", "DID NOT RAISE <class 'shop.till.Refused'>"),
            "A lapsed card is refused. No Refused was raised.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            (ASSERTED, "Regex pattern did not match.\n  Expected regex: 'is lapsed'\n  Actual message: 'is live'"),
            "A lapsed card is refused. Expected the message 'is lapsed', got 'is live'.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            ("TypeError", "spend() missing 1 required argument"),
            "A lapsed card is refused. TypeError: …() missing 1 required argument.",
        ),
        (
            "t.py::test_a_lapsed_card_is_refused",
            ("KeyError", ""),
            "A lapsed card is refused. KeyError was raised.",
        ),
        (
            "t.py::test_what_we_spend_at_the_till",
            (ASSERTED, "assert <outer at 0x7f0011223344> == '/tmp/natlang-changing-ab12/x/till.py'"),
            "What we … at the …. Expected '…', got <… at …>.",
        ),
        (
            "t.py::test_spend_till",
            (ASSERTED, "assert 1 == 2"),
            "A test fails that passed before. Expected 2, got 1.",
        ),
        ("t.py::test_prices", (ASSERTED, "assert 1 == 2"), "Prices. Expected 2, got 1."),
        ("t.py::test_of_three_words", None, "Of three words. This no longer holds."),
    ],
)
def test_the_wording(private: HiddenNames, test: str, message: tuple[str, str] | None, issue: str) -> None:
    assert private.issue(test, message) == issue
    assert not private.names_in(issue)


def test_a_long_message_is_cut(private: HiddenNames) -> None:
    issue = private.issue("t.py::test_of_three_words", ("ValueError", "x" * 500))
    assert issue == f"Of three words. ValueError: {'x' * 228}…"


def test_the_shown_test_needs_few_gaps_and_is_the_same_whatever_else_fails(private: HiddenNames) -> None:
    tests = [
        "t.py::test_spend",
        "t.py::test_we_spend_a_lot_here",
        "t.py::test_of_three_words",
        "t.py::test_of_four_more_words",
    ]
    assert private.shown(tests, 0b0011) == 1
    both = private.shown(tests, 0b1100)
    assert both in (2, 3)
    assert private.shown(tests, 0b1111) == private.shown(tests, 0b1110) == both


def test_no_shipped_issue_names_a_function_a_method_or_a_file() -> None:
    looked = 0
    for each in change_repositories().values():
        if each.listed.exists() and (each.pin is None or each.pin.is_cached):
            subject = each.open()
            head, *rows = read_journal(each.listed)
            tasks = [row for row in rows if "issue" in row]
            assert head["digest"] == subject.digest
            private = HiddenNames(subject.sources)
            for task in tasks:
                assert not private.names_in(task["issue"]), task["id"]
                assert 0 < len(task["issue"]) <= MAX_QUESTION
                assert int(task["failing"], 16) >> task["shown"] & 1
                assert task["shown"] == private.shown(head["tests"], int(task["failing"], 16))
            looked += len(tasks)
    assert looked > 100
