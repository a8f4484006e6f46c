"""Labels for commands: distinct, in order, drawn anew only with random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from natlang_envs.prompt import LABELS, enumerate_actions
from tests import strategies


def test_there_are_labels_enough_and_no_two_are_alike() -> None:
    assert len(set(LABELS)) == len(LABELS) > 700
    assert LABELS[:52] == tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    assert all(label.isascii() and label.isalpha() and len(label) <= 2 for label in LABELS)


@given(commands=strategies.command_lists)
def test_without_random_numbers_labels_are_in_order(commands: list[str]) -> None:
    choices = enumerate_actions(commands)
    assert [choice.command for choice in choices] == commands
    assert tuple(choice.label for choice in choices) == LABELS[: len(commands)]


@given(commands=strategies.command_lists, seed=strategies.seeds, more=st.integers(0, 20))
def test_with_random_numbers_labels_are_distinct_and_repeatable(commands: list[str], seed: int, more: int) -> None:
    labels = LABELS[: len(commands) + more]
    choices = enumerate_actions(commands, labels, np.random.default_rng(seed))
    assert [choice.command for choice in choices] == commands
    given_out = [choice.label for choice in choices]
    assert len(set(given_out)) == len(commands)
    assert set(given_out) <= set(labels)
    assert enumerate_actions(commands, labels, np.random.default_rng(seed)) == choices


def test_every_label_is_drawn_about_equally_often() -> None:
    rng = np.random.default_rng(0)
    drawn = [enumerate_actions(["wait"], LABELS[:6], rng)[0].label for _ in range(6_000)]
    assert all(850 < drawn.count(label) < 1_150 for label in LABELS[:6])


def test_no_commands_have_no_labels() -> None:
    assert enumerate_actions([]) == []


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(UsageError, match="3 commands need as many labels, but 2 are given"):
        enumerate_actions(["a", "b", "c"], ["A", "B"])


def test_a_doubled_label_is_refused() -> None:
    with pytest.raises(UsageError, match="must be distinct"):
        enumerate_actions(["a", "b"], ["A", "B", "A"])
