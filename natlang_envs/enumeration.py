"""Labels for the admissible commands of one prompt: the enumeration α(A(s)) of the paper's section 4.3."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

import numpy as np

from natlang_envs.errors import UsageError

_LETTERS = ascii_uppercase + ascii_lowercase
# 52 letters are single tokens in the vocabularies of GPT-2 and SmolLM2; of the pairs, an agent keeps those that are.
LABELS: tuple[str, ...] = (*_LETTERS, *("".join(pair) for pair in product(ascii_uppercase, ascii_lowercase)))


class Choice(NamedTuple):
    """A label and the command it stands for."""

    label: str
    command: str


def enumerate_actions(
    commands: Sequence[str], labels: Sequence[str] = LABELS, rng: np.random.Generator | None = None
) -> list[Choice]:
    """Label the commands.

    Args:
        commands: The admissible commands, in the environment's order, which is kept.
        labels: Distinct labels to draw from, single tokens of the tokenizer in use.
        rng: Draws the labels anew (training); without it they are given out in order.

    Returns:
        One `Choice` a command.

    Raises:
        UsageError: There are fewer labels than commands, or a label twice.
    """
    if len(set(labels)) != len(labels):
        raise UsageError("the labels must be distinct: one of them is given twice")
    if len(labels) < len(commands):
        raise UsageError(f"{len(commands)} commands need as many labels, but {len(labels)} are given: pass more labels")
    order = range(len(commands)) if rng is None else rng.permutation(len(labels))[: len(commands)].tolist()
    return [Choice(labels[position], command) for position, command in zip(order, commands, strict=True)]
