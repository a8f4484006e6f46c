"""What learners without a language model need: texts as vectors, commands as numbers, and both in vector form."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

import natlang_envs
from natlang_envs import UsageError, unwrap
from natlang_envs.learners import EncodedObservations, TextEncoder, TransformerEncoder, vector_wrappers, wrappers
from tests.support.slow import TORCH

IDS = [entry.id for entry in natlang_envs.ENVIRONMENTS]
PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
HOUSE = "NatLang/ALFWorld-v0"
SIZE = 64


def wrapped(id: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    return EncodedObservations(wrappers.ChoiceIndexActions(wrappers.ScaleReward(gymnasium.make(id)), **kwargs), SIZE)


def wrapped_vector(id: str, num_envs: int, mode: AutoresetMode) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    envs = gymnasium.make_vec(id, num_envs, autoreset_mode=mode)
    return vector_wrappers.EncodedObservations(
        vector_wrappers.ChoiceIndexActions(vector_wrappers.ScaleReward(envs)), SIZE
    )


@given(st.text())
def test_any_text_has_a_vector_of_its_own(text: str) -> None:
    vector = TextEncoder(100)(text)
    assert vector.shape == (100,)
    assert vector.dtype == np.float32
    assert 0 < vector.max() <= 3
    assert vector.min() == 0
    vector[:] = -1  # the caller's
    assert (TextEncoder(100)(text) >= 0).all()


def test_all_states_of_the_classic_taxi_differ() -> None:
    env = unwrap(gymnasium.make("NatLang/DangerousTaxi-v0"))
    texts = {env.reset(options={"task_id": task})[0] for task in env.tasks.ids()}
    encode = TextEncoder(1024)
    assert len(texts) == len({encode(text).tobytes() for text in texts}) == 300


def test_vectors_are_the_same_in_another_process_and_after_pickling() -> None:
    text = "The taxi is at row 2.\nIt is raining."
    code = f"from natlang_envs.learners.encoders import TextEncoder; print(TextEncoder(50)({text!r}).tolist())"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    encode = TextEncoder(50)
    here = encode(text)
    assert there.strip() == str(here.tolist())
    assert (pickle.loads(pickle.dumps(encode))(text) == here).all()


@pytest.mark.parametrize("size", [0, -1, 16.0, "16", None])
def test_a_size_that_is_no_whole_number_of_at_least_one_is_refused(size: Any) -> None:
    with pytest.raises(UsageError, match=rf"^size must be a whole number of at least 1, not {size!r}$"):
        TextEncoder(size)
    assert TextEncoder(np.int64(16)).size == 16  # type: ignore[arg-type]


def test_a_size_beside_another_encoder_is_refused() -> None:
    with pytest.raises(UsageError, match="size has no effect beside encode, which has 5 numbers a text"):
        EncodedObservations(gymnasium.make(HOUSE), size=16, encode=TextEncoder(5))


def test_wrappers_that_read_texts_say_where_they_belong() -> None:
    for outer, inner in ((EncodedObservations, wrappers.ChatMessages), (wrappers.ChatMessages, EncodedObservations)):
        with pytest.raises(UsageError, match=rf"^{outer.__name__} takes texts, but the observations are"):
            outer(inner(gymnasium.make(HOUSE)))
    for twice, words in (
        (vector_wrappers.EncodedObservations, "texts"),
        (vector_wrappers.ChoiceIndexActions, "commands"),
    ):
        with pytest.raises(UsageError, match=rf"^{twice.__name__} takes {words}, but the \w+ are"):
            twice(twice(gymnasium.make_vec(HOUSE, 2)))


@pytest.mark.parametrize("id", IDS)
def test_gymnasiums_checker_takes_unlisted_numbers_for_nothing_to_do(id: str) -> None:
    # It draws from the whole action space, as learners without masks do.
    check_env(wrapped(id, invalid="noop"), skip_render_check=True)


def test_an_unlisted_number_does_nothing_and_costs_a_step() -> None:
    env = wrappers.ChoiceIndexActions(gymnasium.make(HOUSE), invalid="noop")
    before, _ = env.reset(seed=0)
    unlisted = int(np.flatnonzero(~env.action_masks())[0])
    commands = unwrap(env).action_space.commands
    after, reward, terminated, truncated, info = env.step(unlisted)
    assert (reward, terminated, truncated, info["admissible_commands"]) == (0.0, False, False, commands)
    assert info["feedback"] == after == "Nothing happens."
    assert before != after
    with pytest.raises(UsageError, match="is none of the"):
        env.step(10**6)  # not in the action space at all
    with pytest.raises(UsageError, match=r"^invalid must be one of raise, noop, not 'skip'$|unknown invalid"):
        wrappers.ChoiceIndexActions(gymnasium.make(HOUSE), invalid="skip")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("id", [PICKUP, "NatLang/AutoExplore-Depth1-v0", HOUSE])
def test_the_vector_forms_give_what_sync_gives(id: str, mode: AutoresetMode) -> None:
    count = 3
    fast = wrapped_vector(id, count, mode)
    slow = SyncVectorEnv([lambda: wrapped(id)] * count, autoreset_mode=mode)
    assert fast.single_action_space == slow.single_action_space
    assert fast.action_space == slow.action_space
    assert fast.observation_space == slow.observation_space
    (seen, infos), expected = fast.reset(seed=7), slow.reset(seed=7)
    assert data_equivalence((seen, infos), expected)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]])
        here, there = fast.step(actions), slow.step(actions)
        assert data_equivalence(here, there)
        infos = here[-1]
        ended = here[2] | here[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            again, wanted = (each.reset(seed=3, options={"reset_mask": ended}) for each in (fast, slow))
            assert data_equivalence(again, wanted)
            infos["action_mask"][ended] = again[1]["action_mask"][ended]
        assert (fast.env.action_masks() == infos["action_mask"]).all()  # type: ignore[attr-defined]


def test_wrong_numbers_are_named_with_their_environment() -> None:
    envs = vector_wrappers.ChoiceIndexActions(gymnasium.make_vec(HOUSE, 2))
    envs.reset(seed=0)
    with pytest.raises(UsageError, match=r"^action 999 is none of the \d+ listed in environment 1: "):
        envs.step([0, 999])
    with pytest.raises(UsageError, match=r"^step\(\) takes 2 actions"):
        envs.step([0])
    lenient = vector_wrappers.ChoiceIndexActions(gymnasium.make_vec(HOUSE, 2), invalid="noop")
    lenient.reset(seed=0)
    last = int(lenient.single_action_space.n) - 1  # type: ignore[attr-defined]
    assert lenient.step([last, last])[-1]["feedback"].tolist() == ["Nothing happens."] * 2
    with pytest.raises(UsageError, match="no vector environment of the suite"):
        vector_wrappers.ScaleReward(gymnasium.make_vec("CartPole-v1", 2))


@pytest.mark.parametrize("id", [HOUSE, "NatLang/AutoExplore-Search-v0"])
def test_numbers_stand_for_the_commands_after_a_restore(id: str) -> None:
    envs = vector_wrappers.ChoiceIndexActions(gymnasium.make_vec(id, 2))
    _, infos = envs.reset(seed=0)
    listed, mask, start = infos["admissible_commands"], infos["action_mask"], envs.unwrapped.call("snapshot")[1]
    moved = envs.step([1, 1])[-1]["admissible_commands"]
    assert moved[1] != listed[1]
    envs.unwrapped.call("restore", start)  # both go on from there
    assert (envs.action_masks() == mask[1]).all()
    assert envs.actions([0, len(listed[1]) - 1]) == [listed[1][0], listed[1][-1]]


@TORCH
@pytest.mark.slow
def test_a_transformer_encodes_too() -> None:
    pytest.importorskip("transformers")
    from reference_agent.tiny.making import tiny_folder

    encode = TransformerEncoder(str(tiny_folder()), tokens=32)
    env = EncodedObservations(gymnasium.make(PICKUP), encode=encode)
    first, _ = env.reset(seed=0)
    assert first in env.observation_space
    assert (first == encode(gymnasium.make(PICKUP).reset(seed=0)[0])).all()
    assert first.shape == (encode.size,)
    assert (encode("a" * 5_000) == encode("a" * 9_000)).all()  # the end is read
    assert np.isfinite(encode("")).all()
