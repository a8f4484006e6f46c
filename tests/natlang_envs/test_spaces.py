"""The text spaces: what they contain, what they sample, and how Gymnasium's machinery takes them."""

from __future__ import annotations

import pickle
from collections import Counter
from copy import deepcopy
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple, flatten, flatten_space, unflatten
from gymnasium.vector import AsyncVectorEnv
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from gymnasium.wrappers import FlattenObservation
from hypothesis import given
from hypothesis import strategies as st

import natlang_envs
from natlang_envs.spaces import CommandText, UnicodeText, escape_surrogates
from tests import strategies


@given(text=strategies.any_text)
def test_escaped_text_can_be_encoded_and_is_escaped_once(text: str) -> None:
    escaped = escape_surrogates(text)
    escaped.encode()
    assert escape_surrogates(escaped) == escaped
    assert escaped in UnicodeText(len(escaped))


@given(text=strategies.valid_text)
def test_text_that_can_be_encoded_stays_as_it_is(text: str) -> None:
    assert escape_surrogates(text) == text


@given(text=strategies.any_text)
def test_a_space_contains_what_can_be_encoded_within_the_bound(text: str) -> None:
    encodable = not any("\ud800" <= character <= "\udfff" for character in text)
    assert (text in UnicodeText(60)) == encodable
    assert text + "x" * 61 not in UnicodeText(60)
    assert (text in CommandText(60, ("a",))) == encodable


@pytest.mark.parametrize("thing", [None, 3, b"text", ["t"], ("t",), 1.0])
def test_a_space_contains_strings_only(thing: Any) -> None:
    assert thing not in UnicodeText(10)


def test_the_bound_is_inclusive() -> None:
    assert "12345" in UnicodeText(5)
    assert "123456" not in UnicodeText(5)
    assert "" in UnicodeText(5)


def test_samples_are_contained_and_seeded() -> None:
    for space in (UnicodeText(12, seed=1), CommandText(12, ("look", "wait"), seed=1)):
        samples = [space.sample() for _ in range(50)]
        assert all(sample in space for sample in samples)
        assert len(set(samples)) > 1
        space.seed(1)
        assert [space.sample() for _ in range(50)] == samples


def test_commands_are_sampled_uniformly() -> None:
    space = CommandText(12, ("a", "b", "c"), seed=0)
    drawn = Counter(space.sample() for _ in range(3_000))
    assert set(drawn) == {"a", "b", "c"}
    assert min(drawn.values()) > 900
    space.commands = ("only",)
    assert {space.sample() for _ in range(10)} == {"only"}


def test_spaces_are_equal_by_kind_and_bound() -> None:
    assert UnicodeText(5) == UnicodeText(5)
    assert hash(UnicodeText(5)) == hash(UnicodeText(5))
    assert UnicodeText(5) != UnicodeText(6)
    assert UnicodeText(5) != CommandText(5, ("a",))
    assert CommandText(5, ("a",)) == CommandText(5, ("b",)), "the commands of the moment are not part of the space"
    assert UnicodeText(5) != Text(5)
    assert repr(UnicodeText(5)) == "UnicodeText(5)"


@pytest.mark.parametrize("copied", [deepcopy, lambda space: pickle.loads(pickle.dumps(space))])
def test_spaces_can_be_copied(copied: Any) -> None:
    space = CommandText(9, ("look", "wait"), seed=3)
    twin = copied(space)
    assert twin == space
    assert [twin.sample() for _ in range(9)] == [space.sample() for _ in range(9)]


def test_gymnasium_batches_them_as_tuples_of_strings() -> None:
    space = UnicodeText(9)
    batched = batch_space(space, 3)
    assert isinstance(batched, Tuple)
    texts = ("a", "ä\0", "日本")
    assert texts in batched
    assert tuple(iterate(batched, texts)) == texts
    assert concatenate(space, texts, create_empty_array(space, 3)) == texts


def test_texts_come_whole_through_shared_memory() -> None:
    space = Dict({"text": UnicodeText(5)})
    memory = create_shared_memory(space, n=2)
    shown: Any = read_from_shared_memory(space, memory, n=2)
    for texts in (("a", "ä\0日\U0001f600x"), ("", "日本")):
        for index, text in enumerate(texts):
            write_to_shared_memory(space, index, {"text": text}, memory)
        assert deepcopy(shown) == {"text": texts}
        assert shown["text"][1:] == texts[1:]


def test_a_seed_counts_in_other_processes_after_an_episode_has_ended() -> None:
    envs = AsyncVectorEnv([partial(gymnasium.make, "NatLang/DangerousTaxi-v0")] * 2)
    first, _ = envs.reset(seed=5)
    envs.step(["dance", "dance"])
    assert envs.reset(seed=5)[0] == first
    envs.close()


@given(st.text(st.characters(codec="utf-8"), max_size=12))
def test_flat_forms_are_in_their_box_and_come_back(text: str) -> None:
    space = Dict({"text": UnicodeText(12), "number": Discrete(3)})
    flat = flatten(space, {"text": text, "number": np.int64(1)})
    assert isinstance(flat, np.ndarray)
    box = flatten_space(space)
    assert isinstance(box, Box)
    assert box.contains(flat.astype(box.dtype))
    assert unflatten(space, flat)["text"] == text


def test_gymnasiums_own_wrapper_flattens_observations() -> None:
    for entry in natlang_envs.ENVIRONMENTS:
        env = gymnasium.make(entry.id)
        flat = FlattenObservation(env)
        seen, _ = flat.reset(seed=0)
        assert flat.observation_space.contains(seen)
        assert unflatten(env.observation_space, seen) == env.reset(seed=0)[0]


def test_a_large_bound_costs_nothing() -> None:
    # Gymnasium's own Text builds a table of every character it may hold: seconds and megabytes for all of Unicode.
    assert len(pickle.dumps(UnicodeText(10_000_000))) < 10_000
