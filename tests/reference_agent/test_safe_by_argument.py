"""The public functions refuse what would give a wrong number: test tasks, stale folders, shared weights."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium.wrappers import TimeLimit

import reference_agent as rrl
from examples.train_guessing_game import HalvingEnv
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.errors import UsageError
from reference_agent import CollectConfig, PolicySFTConfig, RLConfig, SFTConfig, Stage, collect, play, reinforce
from reference_agent.curriculum import for_learning, for_validation, split_of
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import Reflector
from reference_agent.run.pipeline import collected, train
from tests.reference_agent.conftest import quick_config
from tests.support.corridor import Corridor

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
FEW = CollectConfig(trajectories=3, policy_trajectories=3)
TEST = r"^the split '{}' of .* holds test tasks, which nothing may learn from: .* split='train', or set allow_test"
walk_on = partial(Corridor, "train")


class Plain(DangerousTaxiEnv):
    """A user's own Taxi, whose constructor takes no split: its tasks are the package's all the same."""

    def __init__(self) -> None:
        super().__init__()


def ids(split: str) -> set[str]:
    return set(DangerousTaxiEnv(stage="pickup", split=split).tasks.ids())  # type: ignore[arg-type]


# The test split.


def test_an_id_learns_on_train_and_a_stage_may_name_another() -> None:
    assert {each.task_id for each in collect(PICKUP, "oracle", FEW)} <= ids("train")
    validation = Stage(PICKUP, env_kwargs={"split": "validation"})
    assert {each.task_id for each in collect(validation, "oracle", FEW)} <= ids("validation")
    assert for_learning(Stage(PICKUP), allow_test=False).env_kwargs == {"split": "train"}


@pytest.mark.parametrize("split", ["known_test", "known", "test_seen"])
def test_questions_about_known_repositories_are_test_tasks(split: str) -> None:
    with pytest.raises(UsageError, match=TEST.format(split)):
        for_learning(Stage("NatLang/AutoExplore-v0", env_kwargs={"split": split}), allow_test=False)


def test_settings_for_known_repositories_are_chosen_on_their_own_validation() -> None:
    stage = Stage("NatLang/AutoExplore-v0", env_kwargs={"split": "known_train"})
    assert for_learning(stage, allow_test=False) == stage
    assert for_validation(stage).env_kwargs == {"split": "known_validation"}
    with pytest.raises(UsageError, match="learns from 'known_validation' itself"):
        for_validation(for_validation(stage))


@pytest.mark.parametrize("split", ["test", "all"])
@pytest.mark.parametrize(
    "env",
    [
        lambda split: Stage(PICKUP, env_kwargs={"split": split}),
        lambda split: Stage("NatLang/AutoExplore-v0", env_kwargs={"split": split}),
        lambda split: Stage(partial(DangerousTaxiEnv, split=split)),
        lambda split: Stage(partial(ALFWorldEnv, split=split, difficulty={"plan_length": (1, 50)})),
        lambda split: Stage(partial(Corridor, split)),
    ],
)
def test_test_tasks_are_learned_from_only_when_asked_twice(
    env: Callable[[str], Stage], split: str, model: LanguageModel
) -> None:
    with pytest.raises(UsageError, match=TEST.format(split)) as caught:
        collect(env(split), "oracle", FEW)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=TEST.format(split)):
        reinforce(model, None, [Stage(PICKUP, 0), env(split)])
    assert for_learning(stage := env(split), allow_test=True) is stage


@pytest.mark.parametrize("env", [DangerousTaxiEnv, ALFWorldEnv, Plain, partial(ALFWorldEnv, "test")])
def test_an_environment_of_a_function_keeps_the_same_rule(env: Any) -> None:
    with pytest.raises(UsageError, match="holds test tasks"):
        collect(env, "oracle", FEW)


def test_an_environment_without_splits_is_free_and_what_is_none_is_named() -> None:
    assert split_of(HalvingEnv()) is None
    assert collect(HalvingEnv, lambda moment: ("So.", "higher"), replace(FEW, failures=True))
    for env, words in (
        (Corridor("train"), "no function that makes an environment"),
        (lambda: TimeLimit(walk_on(), 5), "no NatLangEnv: return one without wrappers"),
    ):
        with pytest.raises(UsageError, match=words):
            collect(env, "oracle", FEW)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="env_kwargs are for an environment's id"):
        Stage(Corridor, env_kwargs={"split": "train"})


def test_what_is_played_is_of_a_named_split(model: LanguageModel) -> None:
    with pytest.raises(UsageError, match=r"has splits: name the one to play, such as split='validation'"):
        play(PICKUP, model)
    with pytest.raises(UsageError, match="split='test' is for an environment's id"):
        play(Corridor, model, split="test")
    with pytest.raises(UsageError, match="episodes must be a whole number of at least 1, not 0"):
        play(PICKUP, model, split="test", episodes=0)
    with pytest.raises(UsageError, match="no episodes were played"):
        rrl.success_rate([])
    assert len(play(PICKUP, model.copy(), split="test", episodes=2)) == 2
    assert len(play(partial(Corridor, "test"), model.copy(), episodes=2)) == 2


@pytest.mark.parametrize("split", ["test", "all"])
def test_a_run_of_the_command_keeps_the_rule_and_its_settings_say_so(split: str, out: Path) -> None:
    def silent(*_: object) -> None:
        pass

    with pytest.raises(UsageError, match=TEST.format(split)):
        train(quick_config(f"split={split}"), out, silent)
    with pytest.raises(UsageError, match=TEST.format(split)):
        collected(quick_config(f"env_kwargs={{split='{split}'}}"), out, silent)
    assert collected(quick_config(f"split={split}", "allow_test=true"), out, silent).exists()


# Nothing to learn from.


def test_a_fine_tuning_on_nothing_is_refused_before_it_spins(
    model: LanguageModel, examples: list[Example], out: Path
) -> None:
    hidden = [replace(each, shown=False) for each in examples]
    for given in ([], hidden):
        with pytest.raises(UsageError, match="there is no example to learn from: collect more"):
            rrl.fine_tune_policy(model.copy(), given)
    with pytest.raises(UsageError, match="there is no example to learn from"):
        rrl.fine_tune_reflector(model.copy(), [])
    with pytest.raises(UsageError, match="steps is 0, which trains nothing: give 1 or more"):
        rrl.fine_tune_policy(model.copy(), examples, PolicySFTConfig(steps=0))
    with pytest.raises(
        UsageError, match=r"collect\.policy_trajectories is 0, .*: raise it, or set sft_policy\.steps = 0"
    ):
        train(quick_config("collect.policy_trajectories=0"), out, lambda *_: None)
    with pytest.raises(UsageError, match="there are no stages"):
        reinforce(model.copy(), None, [])


def test_the_policy_learns_from_what_collect_was_told_to_show_it(model: LanguageModel) -> None:
    def shown(**settings: Any) -> list[Example]:
        return [each for each in collect(walk_on, "oracle", replace(FEW, **settings)) if each.shown]

    whole = shown(policy_negatives=True)
    assert {each.trajectory for each in whole} == {0, 1, 2}
    assert any(each.negative for each in whole)
    assert [replace(each, shown=True) for each in shown()] == [each for each in whole if not each.negative]
    few = shown(policy_trajectories=1)
    assert {each.trajectory for each in few} == {0}
    everything = collect(walk_on, "oracle", replace(FEW, policy_trajectories=1))
    by_hand = rrl.fine_tune_policy(model.copy(), few, PolicySFTConfig(2, batch=4))
    marked = rrl.fine_tune_policy(model.copy(), everything, PolicySFTConfig(2, batch=4))
    assert by_hand.fingerprint() == marked.fingerprint() != model.fingerprint()


# Folders of other arguments.


def test_data_of_other_arguments_is_refused_by_name(tmp_path: Path) -> None:
    def again(env: Any = walk_on, teacher: Any = "oracle", settings: CollectConfig = FEW, **more: Any) -> list[Example]:
        return collect(env, teacher, settings, folder=tmp_path, **more)

    assert again() == again()
    assert again(settings=replace(FEW, timeout=1.0)), "as long as it takes"
    for change, words in (
        ({"env": partial(Corridor, "validation")}, r"env\.\w+"),
        ({"env": partial(Corridor, "train", 8)}, r"env\.horizon was 9 and is now 8"),
        ({"env": PICKUP}, "env"),
        ({"teacher": lambda moment: ("Go.", moment.commands[0])}, "teacher"),
        ({"settings": replace(FEW, negatives=2)}, r"settings\.negatives was 1 and is now 2"),
        ({"seed": 5}, "seed was 0 and is now 5"),
        ({"history": 2}, "history was 1 and is now 2"),
        ({"allow_test": True}, "allow_test was false and is now true"),
    ):
        with pytest.raises(UsageError, match=rf"holds what was made from other inputs \({words}.*\): choose another"):
            again(**change)


def test_two_functions_of_other_code_or_closures_are_other_teachers(tmp_path: Path) -> None:
    def saying(word: str) -> Callable[[Any], tuple[str, str]]:
        return lambda moment: (word, moment.env.oracle()[0])

    collect(walk_on, saying("So."), FEW, folder=tmp_path)
    collect(walk_on, saying("So."), FEW, folder=tmp_path)
    with pytest.raises(UsageError, match="teacher is another one"):
        collect(walk_on, saying("Well."), FEW, folder=tmp_path)


def test_weights_of_other_arguments_are_refused_by_name(
    model: LanguageModel, examples: list[Example], tmp_path: Path
) -> None:
    settings = PolicySFTConfig(2, batch=4)

    def again(model: LanguageModel = model, given: Sequence[Example] = examples, **changes: Any) -> LanguageModel:
        options = {"config": settings, "seed": 0, "folder": tmp_path, **changes}
        return rrl.fine_tune_policy(model.copy(), given, **options)

    first = again()
    assert again().fingerprint() == first.fingerprint()
    for change, words in (
        ({"given": examples[1:]}, "examples is another one"),
        ({"model": first}, r"model\.weights is another one"),
        ({"config": replace(settings, learning_rate=1e-4)}, r"config\.learning_rate was 0\.001 and is now 0\.0001"),
        ({"config": replace(settings, steps=4)}, r"config\.steps was 2 and is now 4"),
        ({"seed": 1}, "seed was 0 and is now 1"),
        ({"reflect": False}, "reflect was true and is now false"),
    ):
        if "model" in change:
            (tmp_path / "left.json").unlink()  # as if another session had been killed
        with pytest.raises(UsageError, match=rf"other inputs \({words}\)"):
            again(**change)
    with pytest.raises(UsageError, match='job was "policy" and is now "reflector"'):
        rrl.fine_tune_reflector(model.copy(), examples, SFTConfig(2, batch=4), folder=tmp_path)


def test_a_curve_of_other_arguments_is_refused_by_name(model: LanguageModel, tmp_path: Path) -> None:
    reflector, other = (Reflector(model.copy(), 4) for _ in range(2))
    with torch.no_grad():
        other.model.parameters()[0].add_(1)
    stage, settings = Stage(walk_on, 1), RLConfig(batch=4)

    def again(**changes: Any) -> list[Any]:
        options = {"reflector": reflector, "stages": stage, "settings": settings, "seed": 0, **changes}
        return reinforce(model.copy(), folder=tmp_path, **options)

    assert again() == again()
    for change, words in (
        ({"stages": replace(stage, iterations=2)}, r"stages\.0\.iterations was 1 and is now 2"),
        ({"stages": Stage(PICKUP, 1)}, r"stages\.0\.env"),
        (
            {"settings": replace(settings, algorithm="ppo", options={})},
            r'settings\.algorithm was "reinforce" and is now "ppo"',
        ),
        ({"seed": 3}, "seed was 0 and is now 3"),
        ({"reflector": other}, r"reflector\.weights is another one"),
        ({"reflector": None}, "reflector"),
        ({"history": 3}, "history was 1 and is now 3"),
    ):
        with pytest.raises(UsageError, match=rf"other inputs \({words}"):
            again(**change)
    assert again(settings=replace(settings, microbatch=2, checkpoint_every=1)), "memory and time alone"


def test_a_folder_of_an_earlier_version_is_taken_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = collect(walk_on, "oracle", FEW, folder=tmp_path)
    (tmp_path / "data.inputs.json").unlink()
    assert collect(walk_on, "oracle", FEW, folder=tmp_path) == before
    assert "does not say what its content was made from" in caplog.text


# Ctrl-C, and the reference.


def press_at(iteration: int) -> Callable[[dict[str, float]], None]:
    """Return a report that presses Ctrl-C in an iteration."""

    def told(row: dict[str, float]) -> None:
        if row["iteration"] == iteration:
            os.kill(os.getpid(), signal.SIGINT)

    return told


@pytest.mark.parametrize("name", ["inputs.json", "left.json", "made_by.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_note_of_inputs_is_named(tmp_path: Path, model: LanguageModel, name: str, content: bytes) -> None:
    examples = collect(walk_on, "oracle", FEW)
    rrl.fine_tune_reflector(model.copy(), examples, SFTConfig(1, batch=2), folder=tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=rf"{name} is damaged \(.*\): choose another folder"):
        rrl.fine_tune_reflector(model, examples, SFTConfig(1, batch=2), folder=tmp_path)


def test_ctrl_c_in_a_notebook_keeps_the_reference_and_the_curve(model: LanguageModel, tmp_path: Path) -> None:
    settings = RLConfig("ppo", {"reference_kl": 0.5, "target_kl": 0.0}, batch=6, minibatch=8, learning_rate=1e-3)
    stage = Stage(walk_on, 4)
    whole, policy = model.copy(), model.copy()
    curve = reinforce(whole, None, stage, settings)
    with pytest.raises(
        rrl.TrainingInterrupted, match=r"stopped after 2 iterations, saved in .*: the same call goes on"
    ) as caught:
        reinforce(policy, None, stage, settings, folder=tmp_path, report=press_at(2))
    assert caught.value.curve == curve[:2]
    assert policy.fingerprint() != model.fingerprint()
    assert reinforce(policy, None, stage, settings, folder=tmp_path) == curve, "the same object, trained in place"
    assert policy.fingerprint() == whole.fingerprint()
    with pytest.raises(rrl.TrainingInterrupted, match="not saved, without a folder") as caught:
        reinforce(model.copy(), None, stage, settings, report=press_at(1))
    assert caught.value.curve == curve[:1]


# One model for both players.


def test_one_model_is_both_players_only_when_asked_for(model: LanguageModel, examples: list[Example]) -> None:
    base, sft = model.copy(), {"steps": 1, "batch": 2}
    reflector = rrl.fine_tune_reflector(base, examples, SFTConfig(**sft), max_tokens=5)
    assert reflector.max_tokens == 5
    kept = base.fingerprint()
    for policy in (base, rrl.WritingPolicy(base)):
        with pytest.raises(UsageError, match=r"are the reflector's, .*: train base\.copy\(\) for each"):
            rrl.fine_tune_policy(policy, examples, PolicySFTConfig(**sft))
        with pytest.raises(UsageError, match="the policy and the reflector are one model"):
            reinforce(policy, reflector, Stage(walk_on, 1), RLConfig(batch=2))
        with pytest.raises(UsageError, match="the policy and the reflector are one model"):
            play(walk_on, policy, reflector, episodes=1)
    assert base.fingerprint() == kept, "nothing has moved"
    rrl.fine_tune_policy(base, examples, PolicySFTConfig(**sft), one_model=True)
    assert len(reinforce(base, reflector, Stage(walk_on, 1), RLConfig(batch=2), one_model=True)) == 1
    with pytest.raises(UsageError, match="the reflector is not the policy"):
        reinforce(model.copy(), reflector, Stage(walk_on, 1), one_model=True)


def test_the_tiny_models_learning_rates_are_refused_where_they_would_wreck_a_large_one(
    model: LanguageModel, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference_agent.run.bounds._LARGE", 1_000)
    with pytest.raises(UsageError, match=r"learning_rate 0\.001 is for the tiny model and would wreck one of"):
        rrl.fine_tune_policy(model.copy(), examples)
    with pytest.raises(UsageError, match=r"learning_rate 0\.0004 is for the tiny model"):
        reinforce(model.copy(), None, Stage(walk_on, 1))
    rrl.fine_tune_reflector(model.copy(), examples, SFTConfig(1, 2, learning_rate=1e-5))
