"""Models that nobody fine-tuned, as agents."""

from __future__ import annotations

import importlib
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, evaluate
from natlang_envs.evaluation.chat_players import load_chat, load_react, load_tools
from natlang_envs.prompt import PathStep
from reference_agent.baselines import likelihood
from reference_agent.baselines.agents import (
    UNTUNED_CONFIGS,
    load_zero_shot,
    load_zero_shot_chat,
    zero_shot_agent,
)
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import SayCanPolicy
from reference_agent.models.tokenizer import CHAT_ROLE
from reference_agent.run.config_file import load_config

PICKUP = "dangerous-taxi-pickup/v1"
COMMANDS = ("move south", "move north", "pick up passenger")


def test_the_agents_are_announced() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for name, loader in (
        ("zero-shot", load_zero_shot),
        ("zero-shot-chat", load_zero_shot_chat),
        ("react", load_react),
        ("tools", load_tools),
        ("chat", load_chat),
        ("likelihood", likelihood.load),
    ):
        module, function = project["entry-points"]["natlang_envs.agents"][name].split(":")
        assert getattr(importlib.import_module(module), function) is loader
        with pytest.raises(UsageError, match=f"write --agent {name}:MODEL"):
            loader("")


def test_zero_shot_chooses_listed_commands_and_repeats(model: LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    first = evaluate(zero_shot_agent(str(tmp_path / "model")), PICKUP)
    again = evaluate(zero_shot_agent(str(tmp_path / "model")), PICKUP, batch=7)
    assert [each.actions for each in first[1]] == [each.actions for each in again[1]]
    listed = {"move south", "move north", "move east", "move west", "pick up passenger", "drop off passenger"}
    assert {action for each in first[1] for action in each.actions} <= listed
    assert all(said is None for each in first[1] for said in each.reflections)
    assert first[0].tokens > 0
    with pytest.raises(UsageError, match="holds no causal language model"):
        zero_shot_agent(str(tmp_path / "nothing"))


def test_zero_shot_takes_a_config_that_says_how_the_model_is_loaded(model: LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    settings = f"head = 'saycan'\n[model]\nname = '{tmp_path / 'model'}'\nprecision = 'bf16'\n"
    (tmp_path / "own.toml").write_text(settings)
    agent = load_zero_shot(str(tmp_path / "own.toml"))
    assert agent._policy.model.dtype == torch.bfloat16
    assert isinstance(agent._policy, SayCanPolicy)
    assert evaluate(agent, PICKUP)[0].tokens > 0
    names = {load_config(path).model.name for path in UNTUNED_CONFIGS.glob("*.toml")}
    assert {"smollm2", "mistralai/Mistral-7B-Instruct-v0.1"} <= names  # the paper's models are a name each


def test_a_chat_model_is_asked_in_its_template(model: LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "plain")
    with pytest.raises(UsageError, match="no chat template: set"):
        load_zero_shot_chat(str(tmp_path / "plain"))
    shutil.copytree(tmp_path / "plain", tmp_path / "chat")
    template = "{% for turn in messages %}Q: {{ turn.content }}{% endfor %}{{ '\\nA:\\n' if add_generation_prompt }}"
    (tmp_path / "chat" / "chat_template.jinja").write_text(template)
    agent = load_zero_shot_chat(str(tmp_path / "chat"))
    choices = agent._policy.list_actions(COMMANDS, None)
    prompt = agent._policy.ask("Task: drive.", None, choices)
    assert prompt.startswith(f"Q: {CHAT_ROLE}\n\nTask: drive.\n")
    assert prompt.endswith("Choice:\nA:\n")
    asked, plain = evaluate(agent, PICKUP), evaluate(zero_shot_agent(str(tmp_path / "plain")), PICKUP)
    assert asked[0].tokens > plain[0].tokens
    path = tuple(PathStep("move south", f"The taxi moved south for the time {number}.") for number in range(60))
    (decision,) = agent.act([AgentInput("Drive.", path, "The taxi is here.", COMMANDS, np.random.default_rng(0))])
    assert decision.tokens <= agent._policy.positions + 1


def test_a_path_that_is_too_long_for_the_context_loses_its_oldest_steps(model: LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    agent = zero_shot_agent(str(tmp_path / "model"))
    path = tuple(PathStep("move south", f"The taxi moved south for the time {number}.") for number in range(60))
    view = AgentInput("Drive to the passenger.", path, "The taxi is here.", COMMANDS, np.random.default_rng(0))
    (decision,) = agent.act([view])
    assert decision.action in COMMANDS
    assert agent._policy.positions // 2 < decision.tokens <= agent._policy.positions + 1
