"""Random numbers that depend on a text alone."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.task_random import TaskRandom


@given(st.text(max_size=80), st.lists(st.integers(1, 1_000), min_size=1, max_size=20))
def test_numbers_are_of_the_key_and_their_position(key: str, sides: list[int]) -> None:
    random = TaskRandom(key)
    for position, n in enumerate(sides, 1):
        digest = hashlib.sha256(f"{key}#{position}".encode("utf-8", "strict")).digest()
        wanted = int.from_bytes(digest[:8], "big") % n
        assert TaskRandom(key).number(position, n) == wanted
        assert random.below(n) == wanted
        assert random.position == position


def test_positions_have_no_end() -> None:
    random = TaskRandom("a")
    random.position = 9_999
    assert random.below(97) == int.from_bytes(hashlib.sha256(b"a#10000").digest()[:8], "big") % 97


@given(st.integers(0, 10))
def test_a_chance_takes_one_number(part: int) -> None:
    chance, below = TaskRandom("a"), TaskRandom("a")
    for _ in range(20):
        assert chance.chance(part, 10) == (below.below(10) < part)
        assert chance.position == below.position
