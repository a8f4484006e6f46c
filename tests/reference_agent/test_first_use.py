"""What is given to the public functions for the first time: other types, other code, and what comes of it."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import reference_agent as rrl
from examples.guess_number import GuessNumberEnv
from examples.treasure_hunt import TreasureHuntEnv
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.tasks import TaskList
from reference_agent import CollectConfig, Players, PolicySFTConfig, RLConfig, SFTConfig, Stage, collect
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import Reflector
from reference_agent.run.fingerprint import described
from tests.support.corridor import Corridor

FEW = CollectConfig(trajectories=2, policy_trajectories=2)
walk_on = partial(Corridor, "train")
treasure_hunt = partial(TreasureHuntEnv, "train")


# What a folder's result was made from.


def kept(value: Any) -> Callable[[Any], tuple[str, str]]:
    """Return a teacher whose code is the same whatever it keeps."""
    return lambda moment: (f"{value}", moment.env.oracle()[0])


def with_default(value: Any) -> Callable[..., tuple[str, str]]:
    def teacher(moment: Any, *, word: Any = value) -> tuple[str, str]:
        return word, moment.env.oracle()[0]

    return teacher


def marked(value: Any) -> Callable[..., tuple[str, str]]:
    teacher = kept("So.")
    teacher.idles = value  # type: ignore[attr-defined]
    return teacher


class Speaker:
    """A teacher that keeps something."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __call__(self, moment: Any) -> tuple[str, str]:
        return f"{self.held}", moment.env.oracle()[0]


@pytest.mark.parametrize("make", [kept, Speaker, with_default, lambda value: Speaker(Speaker(value))])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.int64(1), np.int64(2)),
        (np.float32(1), np.float32(2)),
        ({"a"}, {"b"}),
        (["a"], ["b"]),
        ({"a": "b"}, {"a": "c"}),
        (np.arange(2), np.arange(2) + 1),
        (torch.zeros(2), torch.ones(2)),
        (b"a", b"b"),
        (range(2), range(3)),
        (np.random.default_rng(0), np.random.default_rng(1)),
        (random.Random(0), random.Random(1)),
    ],
)
def test_whatever_a_teacher_keeps_tells_it_from_another(make: Callable[[Any], Any], one: Any, other: Any) -> None:
    assert described(make(one)) == described(make(deepcopy(one))) != described(make(other))
    assert json.loads(json.dumps(described(make(one))))


def test_attributes_of_a_function_tell_it_from_another() -> None:
    assert described(marked(True)) != described(marked(False))


PHRASES = ["So I go."]


def phrase() -> str:
    return PHRASES[0]


def with_helper(moment: Any) -> tuple[str, str]:
    return phrase(), moment.env.oracle()[0]


def test_what_a_teacher_names_of_its_module_tells_it_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert collect(walk_on, with_helper, FEW, folder=tmp_path) == collect(walk_on, with_helper, FEW, folder=tmp_path)
    with monkeypatch.context() as changed:
        changed.setitem(globals(), "PHRASES", ["Well."])
        with pytest.raises(UsageError, match="teacher is another one"):
            collect(walk_on, with_helper, FEW, folder=tmp_path)
    monkeypatch.setitem(globals(), "phrase", lambda: "Well.")
    with pytest.raises(UsageError, match="teacher is another one"):
        collect(walk_on, with_helper, FEW, folder=tmp_path)


def test_numbers_of_numpy_are_compared_as_numbers(
    model: LanguageModel, examples: list[Example], tmp_path: Path
) -> None:
    """A loop over `np.arange` once returned the first result each time."""

    def sample(seed: Any) -> list[Example]:
        return collect(walk_on, "oracle", FEW, seed=seed, folder=tmp_path / "data")

    def tune(steps: Any) -> LanguageModel:
        return rrl.fine_tune_policy(model.copy(), examples, PolicySFTConfig(steps, 4), folder=tmp_path / "policy")

    assert sample(np.int64(0)) == sample(0)
    with pytest.raises(UsageError, match="seed was 0 and is now 1"):
        sample(np.int64(1))
    assert tune(np.int64(1)).fingerprint() == tune(1).fingerprint()
    with pytest.raises(UsageError, match=r"config\.steps was 1 and is now 2"):
        tune(np.int64(2))


# Arguments of other types.


def test_folders_may_be_given_as_text(model: LanguageModel, examples: list[Example], tmp_path: Path) -> None:
    place = str(tmp_path)
    assert collect(walk_on, "oracle", FEW, folder=f"{place}/data")
    reflector = rrl.fine_tune_reflector(model.copy(), examples, SFTConfig(1, 4), folder=f"{place}/reflector")
    policy = rrl.fine_tune_policy(model.copy(), examples, PolicySFTConfig(1, 4), folder=f"{place}/policy")
    assert rrl.reinforce(policy, reflector, Stage(walk_on, 1), RLConfig(batch=2), folder=f"{place}/rl")
    players = Players.of()
    assert players.evaluate("dangerous-taxi-pickup/v1", episodes=1, out=f"{place}/run")
    players.save(f"{place}/players")
    weights = Players.of(tmp_path / "players" / "policy").policy.fingerprint()
    assert weights == rrl.load_model(tmp_path / "players" / "policy").fingerprint() == players.policy.fingerprint()
    with pytest.raises(UsageError, match=r"players holds players: Players\.load\("):
        Players.of(f"{place}/players")


def test_examples_and_stages_may_come_from_a_generator(model: LanguageModel, examples: list[Example]) -> None:
    for tune in (rrl.fine_tune_policy, rrl.fine_tune_reflector):
        config = PolicySFTConfig(1, 4) if tune is rrl.fine_tune_policy else SFTConfig(1, 4)
        one, other = (tune(model.copy(), given, config) for given in (examples, iter(examples)))  # type: ignore[arg-type]
        models = [getattr(each, "model", each) if tune is rrl.fine_tune_reflector else each for each in (one, other)]
        assert models[0].fingerprint() == models[1].fingerprint()
    stages = (Stage(walk_on, 1) for _ in range(2))
    rows = rrl.reinforce(model.copy(), None, stages, RLConfig(batch=2))  # type: ignore[arg-type]
    assert [row["stage"] for row in rows] == [0, 1]


@pytest.mark.parametrize("given", ["NatLang/DangerousTaxi-Pickup-v0", Corridor, ["NatLang/DangerousTaxi-Pickup-v0"]])
def test_what_is_no_stage_is_named(given: Any, model: LanguageModel) -> None:
    for learn in (Players.of().reinforce, partial(rrl.reinforce, model.copy(), None)):
        with pytest.raises(UsageError, match=r"is no stage: give Stage\(env, iterations\)$"):
            learn(given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RLConfig(batch=32.0), "rl.batch is 32.0: give a whole number"),  # type: ignore[arg-type]
        (lambda: CollectConfig(restarts="no"), "collect.restarts is 'no': give True or False"),  # type: ignore[arg-type]
        (lambda: RLConfig(learning_rate="1e-3"), "rl.learning_rate is '1e-3': give a number"),  # type: ignore[arg-type]
        (lambda: Stage("", True), "curriculum.iterations is True: give a whole number"),
        (lambda: Players.of(history="all"), "history must be 'full', 'none', 'commands' or a number"),  # type: ignore[arg-type]
        (lambda: Players.of(reflection_tokens=0), "reflection_tokens is 0: give 1 or more"),
        (lambda: RLConfig(max_norm=0), "rl.max_norm is 0: give a number above 0, or inf for no limit"),
        (lambda: RLConfig(weight_decay=-0.1), "rl.weight_decay is -0.1: give 0 or more"),
        (lambda: RLConfig("ppo", {"clip": 0.0}), "rl.ppo.clip is 0.0: give a number above 0"),
        (lambda: Players.of(torch.nn.Linear(1, 1)), "is no player: give LanguageModel.of"),  # type: ignore[arg-type]
        (lambda: Players.of(settings={"chat": True}), "give a ModelConfig"),  # type: ignore[arg-type]
        (lambda: collect(walk_on, "oracle", {"negatives": 0}), "give a CollectConfig"),  # type: ignore[arg-type]
        (lambda: Players.of().reinforce(Stage(), SFTConfig()), "give a RLConfig"),  # type: ignore[arg-type]
        (lambda: rrl.tiny_for(walk_on, steps=0), "steps is 0: give 1 or more"),
        (
            lambda: Players.of().reinforce(Stage(walk_on, 2), RLConfig(validate_every=3)),
            "rl.validate_every has no effect in stages of at most 2 iterations: leave it out",
        ),
        (lambda: Players.of().fine_tune([], say=None), "say is None: give a function"),  # type: ignore[arg-type]
    ],
)
def test_a_setting_of_another_kind_is_named(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        make()


def test_settings_of_the_other_player_are_refused(examples: list[Example]) -> None:
    """A reflector would leave `smoothing` and `doubt` unread."""
    with pytest.raises(UsageError, match="give a SFTConfig"):
        Players.of().fine_tune(examples, PolicySFTConfig(1), SFTConfig(1))  # type: ignore[arg-type]


def test_an_infinite_clip_limits_nothing(model: LanguageModel, examples: list[Example]) -> None:
    free, wide = (rrl.fine_tune_policy(model.copy(), examples, PolicySFTConfig(1, 4, max_norm=c)) for c in (inf, 1e9))
    assert free.fingerprint() == wide.fingerprint() != model.fingerprint()


def test_settings_of_numpy_are_saved(tmp_path: Path) -> None:
    Players.of(history=np.int64(2)).save(tmp_path / "mine")  # type: ignore[arg-type]
    assert Players.load(tmp_path / "mine").config.history == 2


@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_kept_players_go_on_learning_by_imitation(rank: int, tmp_path: Path) -> None:
    pair = Players.of(settings=rrl.ModelConfig(lora_rank=rank), reflection_tokens=4)
    data = pair.collect("NatLang/DangerousTaxi-Pickup-v0", "oracle", FEW)
    pair.save(tmp_path / "mine")
    again = Players.load(tmp_path / "mine")
    for each in (pair, again):
        each.fine_tune(data, SFTConfig(1, 4), PolicySFTConfig(1, 4), say=lambda _: None)
    assert again.reflector is not None
    assert pair.reflector is not None
    assert again.reflector.model.fingerprint() == pair.reflector.model.fingerprint()


# What is remembered, and what is missing.


def test_an_agent_that_was_there_before_answers_as_one_that_is_made_after_learning() -> None:
    players = Players.of(reflection_tokens=12)
    data = players.collect("NatLang/DangerousTaxi-Pickup-v0", "oracle", FEW)
    kept_agent, asked = players.agent(), data[0]
    reflector = Reflector(players.policy.copy(), 12, frozen=False)
    view = AgentInput("Drive.", (), "The taxi is at row 1.", asked.commands, np.random.default_rng(0))
    before = kept_agent.chances(view, "I move east."), reflector.reflect([asked.state])
    players.fine_tune(data, SFTConfig(2, 4), PolicySFTConfig(4, 4), say=lambda _: None)
    rrl.fine_tune_reflector(reflector.model, data, SFTConfig(3, 4, 0.1), one_model=True)  # type: ignore[arg-type]
    now, again = kept_agent.chances(view, "I move east."), reflector.reflect([asked.state])
    assert now == players.agent().chances(view, "I move east.") != before[0]
    assert again == Reflector(reflector.model, 12, frozen=False).reflect([asked.state]) != before[1]


def test_a_teacher_that_misses_its_goals_is_told_apart_from_a_split_that_is_too_small(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = CollectConfig(trajectories=40, policy_trajectories=40, negatives=0)
    with pytest.raises(UsageError, match=r"^this split has only \d+ tasks"):
        collect(treasure_hunt, "oracle", settings)
    with pytest.raises(UsageError, match=r"^none of 29 trajectories reached its goal"):
        collect(treasure_hunt, lambda moment: ("Well.", moment.commands[0]), settings)

    def often_wrong(moment: Any) -> tuple[str, str]:
        task = moment.info["task_id"]
        return "Well.", moment.env.oracle()[0] if task.startswith("attic") else moment.commands[0]

    assert len({each.task_id for each in collect(treasure_hunt, often_wrong, settings)}) < 29
    assert re.search(r"^\d of 29 trajectories reached their goal, and 40 were wanted", caplog.messages[-1])


def test_a_split_without_tasks_is_named() -> None:
    small = TaskList("mine", ["only"], "train")
    other = TaskList("mine", ["only"], "test")
    empty = min(small, other, key=lambda each: len(each.pool))
    with pytest.raises(UsageError, match=f"^no task is in the split '{empty.split}': add tasks"):
        empty.draw(lambda: 0.5)
    with pytest.raises(UsageError, match=r"^no task is in the split"):
        Players.of().play(partial(GuessNumberEnv, 2, "test"), episodes=1)


MANY_WORDS = """
from itertools import product
from reference_agent.data_set import Example
from reference_agent.tiny.own import telling_words
pairs = [(a + b, b + a) for a in "bcdfghjklmnpqrstvw" for b in map("".join, product("aeiou", repeat=2))]
texts = [" ".join(each) for each in zip(*pairs)]
samples = [Example(0, "", False, False, text, "", ("go", "wait"), "go") for text in (*texts, texts[0][:600])]
kept = telling_words(samples)
"""


@pytest.mark.slow
def test_a_tiny_model_keeps_the_same_words_in_every_process() -> None:
    """Of words that are equally frequent some are left out, where there are hundreds."""
    here: dict[str, Any] = {}
    exec(MANY_WORDS, here)
    command = [sys.executable, "-c", f"{MANY_WORDS}print(kept)"]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert there.strip() == str(here["kept"])
    assert len(here["kept"]) == 302
