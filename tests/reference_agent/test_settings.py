"""Settings that cannot be are refused when they are read, in one line that names them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from reference_agent.curriculum import Stage
from reference_agent.families.alfworld import warmup as alfworld_warmup
from reference_agent.families.dangerous_taxi import warmup as taxi_warmup
from reference_agent.run.config import Config
from reference_agent.run.config_file import dump_config, load_config, parse_config
from reference_agent.run.pipeline import train
from reference_agent.tiny import making as base
from reference_agent.tiny import warmup
from tests.reference_agent.conftest import QUICK

LEAST = {
    "rl.checkpoint_every": 1,
    "rl.batch": 1,
    "rl.minibatch": 1,
    "rl.microbatch": 0,
    "collect.negatives": 0,
    "collect.policy_trajectories": 0,
    "collect.trajectories": 1,
    "threads": 1,
    "sft_reflector.batch": 1,
    "sft_policy.batch": 1,
    "sft_policy.microbatch": 0,
    "warmup.batch": 1,
    "model.layers": 1,
    "model.heads": 1,
    "model.width": 1,
}
POSITIVE = ("rl.learning_rate", "rl.reward_scale", "sft_reflector.learning_rate", "sft_policy.learning_rate")
SHARES = ("sft_policy.smoothing", "sft_policy.doubt", "collect.detours")


def refusal(name: str, value: float) -> str:
    with pytest.raises(UsageError, match=rf"^{name} is {value}: give ") as caught:
        load_config(None, [f"{name}={value}"])
    return str(caught.value)


@given(st.sampled_from(sorted(LEAST)), st.integers(1, 99))
def test_numbers_that_are_too_small_are_named_with_the_least(name: str, below: int) -> None:
    assert refusal(name, LEAST[name] - below).endswith(f"give {LEAST[name]} or more")


@given(st.sampled_from([*POSITIVE, "warmup.learning_rate"]), st.sampled_from([0.0, -1.0, "nan", "inf"]))
def test_rates_and_scales_are_above_0(name: str, value: float) -> None:
    assert refusal(name, value).endswith("above 0")


@given(st.sampled_from(SHARES), st.sampled_from([-0.1, 1.0, 1.5, "nan"]))
def test_shares_are_below_1(name: str, value: float) -> None:
    assert refusal(name, value).endswith("below 1")


@given(st.integers(1, 64), st.integers(1, 16))
def test_a_tiny_models_heads_divide_its_width_into_pairs(pairs: int, heads: int) -> None:
    settings = [f"model.width={2 * pairs}", f"model.heads={heads}"]
    if pairs % heads == 0:
        assert load_config(None, settings).model.heads == heads
    else:
        with pytest.raises(UsageError, match=rf"model\.width is {2 * pairs}: give an even multiple of model\.heads"):
            load_config(None, settings)


def test_history_is_a_number_or_a_name() -> None:
    for value in (0, 4, "commands", "full", "none"):
        config = load_config(None, [f"history={value}"])
        assert parse_config(json.loads(dump_config(config))).history == value
    for value in (-1, 1.5, "comands", True):
        with pytest.raises(UsageError, match=r"history must be (int|'full')"):
            load_config(None, [f"history={json.dumps(value)}"])


def test_the_least_values_are_taken() -> None:
    for name, least in LEAST.items():
        if name != "model.width":  # the default's heads need more
            others = {"collect.trajectories": "collect.policy_trajectories=1"}
            others["rl.batch"] = "rl.reinforce.baseline='none'"
            load_config(None, [f"{name}={least}", *([others[name]] if name in others else [])])


@pytest.mark.parametrize("experiment", ["taxi-pickup-maps/best", "alfworld/sft-only"])
def test_a_warm_up_of_one_prompt_a_step_has_every_lesson(experiment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "_LEVEL_UP", -1.0)  # each level after a dozen steps
    monkeypatch.setattr(alfworld_warmup, "_READ", 99.0)
    monkeypatch.setattr(warmup, "_REPEATED", 99.0)
    monkeypatch.setattr(base, "SAMPLED", 20)
    monkeypatch.setattr(taxi_warmup, "SAMPLED", 20)
    steps = [f"warmup.{name}={count}" for name, count in (("lookup_steps", 14), ("copy_steps", 14), ("steps", 14))]
    seen: set[str] = set()
    quick = [each for each in QUICK if not each.startswith("rl.")]
    config = load_config(Path(experiment), [*quick, *steps, "warmup.batch=1"])
    base.make_tiny(config, lambda lesson, *_: seen.add(lesson))
    assert len(seen) == 3


def test_a_table_changes_only_what_it_names() -> None:
    default = Config()
    changed = parse_config({"sft_policy": {"learning_rate": 5e-4}})
    assert changed == replace(default, sft_policy=replace(default.sft_policy, learning_rate=5e-4))


def test_configs_read_back_and_name_what_is_wrong() -> None:
    config = load_config(None, ["seed=3", "rl.learning_rate=1", "env_kwargs={map='generated'}"])
    assert config.rl.learning_rate == 1.0
    assert config.env_kwargs == {"map": "generated"}
    assert parse_config(json.loads(dump_config(config))) == config
    for nothing in (Config(curriculum=()), Config(curriculum=(Stage(iterations=1),))):
        with pytest.raises(UsageError, match="curriculum has no stage"):
            train(nothing, Path("nowhere"), lambda *_: None)
    with pytest.raises(UsageError, match="unknown config key"):
        parse_config({"curriculum": [{"environment": "x"}]})
    assert Config(curriculum=(Stage(iterations=1),)).curriculum[0].iterations == 1
