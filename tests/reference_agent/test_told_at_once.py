"""What a user got wrong is said at once, in a line, and before anything is trained or written."""

from __future__ import annotations

import shutil
from dataclasses import Field, fields
from math import inf, nan
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from natlang_envs.errors import UsageError
from reference_agent import (
    CollectConfig,
    Players,
    PolicySFTConfig,
    RLConfig,
    SFTConfig,
    Stage,
    collect,
    fine_tune_policy,
    fine_tune_reflector,
    load_model,
)
from reference_agent.algorithms.methods import GroupPassesSettings, PPOSettings
from reference_agent.baselines.agents import untuned_model
from reference_agent.models.language_model import LanguageModel
from reference_agent.paper.experiments import PRESETS, cell_config
from reference_agent.run.bounds import check_bounds
from reference_agent.run.command import app
from reference_agent.run.config import Config, ModelConfig, TeacherConfig, WarmupConfig
from reference_agent.run.config_file import parse_config

ENV = "NatLang/DangerousTaxi-Pickup-v0"
FEW = CollectConfig(trajectories=2, policy_trajectories=2)
ONE, POLICY = SFTConfig(steps=1, batch=2), PolicySFTConfig(steps=1, batch=2)


def refused(*arguments: str) -> str:
    error = CliRunner().invoke(app, arguments).exception
    assert isinstance(error, UsageError), error
    return str(error)


def test_the_policys_settings_are_checked_before_the_reflector_is_trained(model: LanguageModel) -> None:
    players, examples = Players.of(model), collect(ENV, "oracle", FEW)
    assert players.reflector
    before = players.reflector.model.fingerprint()
    unseen = collect(ENV, "oracle", CollectConfig(trajectories=2, policy_trajectories=0))
    for data, policy in ((examples, ONE), (examples, PolicySFTConfig(steps=0)), (unseen, POLICY)):
        with pytest.raises(UsageError):
            players.fine_tune(data, ONE, policy)  # pyright: ignore[reportArgumentType]
    assert players.reflector.model.fingerprint() == before


def test_players_have_one_history(model: LanguageModel) -> None:
    players = Players.of(model, history=2)
    calls: list[Any] = [
        lambda: players.collect(ENV, "oracle", FEW, history=3),
        lambda: players.reinforce(Stage(ENV, iterations=1), RLConfig(batch=2), history=3),
        lambda: players.play(ENV, split="validation", episodes=2, history=3),
    ]
    for call in calls:
        with pytest.raises(UsageError, match=r"these players have history = 2: say it in Players\.of"):
            call()


def test_a_seed_is_no_negative_number(model: LanguageModel) -> None:
    with pytest.raises(UsageError, match=r"seed.*-1"):
        parse_config({"seed": -1})
    players = Players.of(model)
    for call in (
        lambda: collect(ENV, "oracle", FEW, seed=-1),
        lambda: players.fine_tune(collect(ENV, "oracle", FEW), ONE, POLICY, seed=-1),
        lambda: players.reinforce(Stage(ENV, iterations=1), RLConfig(batch=2), seed=-1),
        lambda: players.play(ENV, split="validation", episodes=2, seed=-1),
    ):
        with pytest.raises(UsageError, match="seed must be a whole number of at least 0, not -1"):
            call()


SETTINGS = (
    Config,
    ModelConfig,
    WarmupConfig,
    TeacherConfig,
    CollectConfig,
    SFTConfig,
    PolicySFTConfig,
    RLConfig,
    Stage,
    PPOSettings,
    GroupPassesSettings,
)
ENDLESS = ("max_norm",)  # of which infinity says that there is no limit


def wrong_values(each: Field[Any]) -> list[Any]:
    """Return values that are none for any field of this type."""
    wrong: list[Any] = [object(), None, 5] if isinstance(each.default, str) else [object(), None, "tiny"]
    if each.type == "float":
        wrong += [nan, -inf, *([] if each.name in ENDLESS else [inf])]
    return wrong


@pytest.mark.parametrize("kind", SETTINGS)
def test_no_setting_takes_a_value_of_another_type_or_one_that_is_no_number(kind: Any) -> None:
    for each in fields(kind):
        for value in wrong_values(each):
            with pytest.raises(UsageError, match=rf"^[^\n]*{each.name}[^\n]*$"):
                check_bounds(kind(**{each.name: value}), "")


@pytest.mark.parametrize(
    "given",
    [
        {"model": {"lora_alpha": 0}},
        {"model": {"lora_targets": ""}},
        {"model": {"lora_targets": "a,,b"}},
        {"teacher": {"options": 5}},
    ],
)
def test_settings_that_would_end_in_a_traceback_are_refused(given: dict[str, Any]) -> None:
    (table,) = given
    with pytest.raises(UsageError, match=rf"{table}\.{next(iter(given[table]))}"):
        parse_config(given)


def test_what_is_no_example_no_count_and_no_model_is_said(model: LanguageModel) -> None:
    players, wrong = Players.of(model), cast(Any, "tiny")
    examples = collect(ENV, "oracle", FEW)
    for said, call in {
        "'tiny' is no example": lambda: players.fine_tune([*examples, wrong], ONE, POLICY),
        "None is no example": lambda: fine_tune_policy(model, cast(Any, None), POLICY),
        "5 is no example": lambda: fine_tune_reflector(model.copy(), cast(Any, [5]), ONE),
        "reader is 'tiny': give a model": lambda: collect(ENV, "oracle", FEW, reader=wrong),
        "episodes must be a whole number": lambda: players.play(ENV, split="validation", episodes="2"),
        "iterations is 0 in every stage": lambda: players.reinforce(Stage(ENV, iterations=0), RLConfig(batch=2)),
    }.items():
        with pytest.raises(UsageError, match=said):
            call()


@pytest.mark.parametrize("preset", ["smollm2", "smoke", "quick"])
def test_numbers_that_the_user_gives_are_no_share(preset: str) -> None:
    stages = f"curriculum=[{{env='{ENV}', iterations=50}}]"
    given = ["sft_reflector.steps=600", "sft_policy.steps=70", stages]
    config = cell_config("taxi-pickup", "best", PRESETS[preset], 0, given)
    assert (config.sft_reflector.steps, config.sft_policy.steps) == (600, 70)
    assert [stage.iterations for stage in config.curriculum] == [50]


def test_wrong_names_are_answered_with_the_nearest(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    said = refused("train", "taxi-pickup/best", "--out", out, "--model", "smolm2")
    assert said.startswith("unknown model 'smolm2': choose one of smollm2")
    assert "taxi-pickup/best" in refused("train", "taxi-pickup/bst", "--out", out)
    assert not (tmp_path / "run").exists()


def test_a_stopped_collection_goes_on_without_its_config(tmp_path: Path) -> None:
    few = [f"curriculum=[{{env='{ENV}'}}]", "collect.trajectories=2", "collect.policy_trajectories=2"]
    given = [part for each in few for part in ("--set", each)]
    assert CliRunner().invoke(app, ["collect", "--out", str(tmp_path / "run"), *given]).exit_code == 0
    (data,) = (tmp_path / "run").glob("**/examples.jsonl")
    before = data.read_bytes()
    shutil.rmtree(data.parent)
    assert CliRunner().invoke(app, ["collect", "--out", str(tmp_path / "run")]).exit_code == 0
    assert data.read_bytes() == before
    assert "no stage" in refused("collect", "--out", str(tmp_path / "new"))


def test_a_file_is_no_folder_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    reproduce = ["reproduce", "table2", "--preset", "smoke", "--task", "taxi-pickup", "--method", "sft-only"]
    for command in (["train", "taxi-pickup/best"], ["collect", "taxi-pickup/best"], reproduce):
        assert "cannot hold a run (File exists): choose another --out" in refused(*command, "--out", str(file))
    assert file.read_text() == "mine"


def test_collecting_does_not_put_another_teacher_in_place_of_a_chat_model_or_pass_over_a_plans_length() -> None:
    with pytest.raises(UsageError, match=r"a chat model is asked by a run: set teacher\.name = 'openai'"):
        collect(ENV, "openai", FEW)
    with pytest.raises(UsageError, match="longest_plan is for RL"):
        collect(Stage(ENV, longest_plan=1), "oracle", FEW)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tinny", "there is no folder 'tinny': write tiny, or OWNER/NAME"),
        ("smollm", "there is no folder 'smollm': write smollm2, or OWNER/NAME"),
        ("no/such/folder", "there is no folder 'no/such/folder'"),
        ("./model", "there is no folder './model'"),
        (None, "None is no model's name"),
        (3, "3 is no model's name"),
    ],
)
def test_what_can_be_no_id_of_a_hub_is_said_without_asking_one(name: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_model(name)


def test_a_picture_is_a_png_and_a_number_of_examples_is_none_below_zero(tmp_path: Path) -> None:
    assert refused("plot", str(tmp_path), "--out", "c.pdf") == "c.pdf is to be the name of a PNG file: write c.png"
    done = CliRunner().invoke(app, ["show", str(tmp_path), "--examples", "-1"])
    assert done.exit_code == 2
    assert "examples" in done.output


def test_an_untuned_model_takes_no_setting_that_it_does_not_play_by(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('history = 0\n[model]\nname = "smollm2"\n')
    with pytest.raises(UsageError, match=r"agent zero-shot plays by \[model\] and head alone: leave history out"):
        untuned_model("zero-shot", str(config))
