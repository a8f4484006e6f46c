"""Models that nobody fine-tuned, as agents."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, evaluate, load_protocol
from natlang_envs.evaluation.runs import read_run
from natlang_envs.prompt import PathStep
from reference_agent.baselines import likelihood
from reference_agent.baselines.agents import (
    UNTUNED_CONFIGS,
    ReActAgent,
    load_react,
    load_zero_shot,
    load_zero_shot_chat,
    parse,
    zero_shot_agent,
)
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import SayCanPolicy
from reference_agent.models.tokenizer import CHAT_ROLE
from reference_agent.run.config_file import load_config
from tests.support.chat_server import Body, completion, serve

PICKUP = "dangerous-taxi-pickup/v1"
COMMANDS = ("move south", "move north", "pick up passenger")


def test_the_agents_are_announced() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for name, loader in (
        ("zero-shot", load_zero_shot),
        ("zero-shot-chat", load_zero_shot_chat),
        ("react", load_react),
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


def oracle_of(prompt: str) -> str:
    """Read the prompt of a game as a model would, and drive as the crow flies."""
    here = re.findall(r"The taxi is at row (\d+), column (\d+)", prompt)[-1]
    name = re.findall(r"The passenger waits at (\w+)", prompt)[-1]
    there = re.findall(rf"{name} is at row (\d+), column (\d+)", prompt) or re.findall(
        rf"{name} \(row (\d+), column (\d+)\)", prompt
    )
    (row, column), (goal_row, goal_column) = map(int, here), map(int, there[-1])
    if row != goal_row:
        return "move south" if row < goal_row else "move north"
    if column != goal_column:
        return "move east" if column < goal_column else "move west"
    return "pick up passenger"


def short(episodes: int):  # type: ignore[no-untyped-def]
    protocol = load_protocol(PICKUP)
    return replace(protocol, episodes=protocol.episodes[:episodes])


def test_react_thinks_acts_and_remembers_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda prompt: f"Thought: I go on.\nAction: {oracle_of(prompt)}") as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        agent = ReActAgent("tiny-chat")
        run, played = evaluate(agent, short(10), name="react", out=tmp_path / "run")
    assert {request.model for request in chat.requests} == {"tiny-chat"}
    assert any(each.success for each in played)
    assert agent.unparsable == 0
    assert agent.answers == len(chat.requests) == sum(len(each.actions) for each in played)
    assert run.tokens == 107 * agent.answers
    assert {said for each in read_run(tmp_path / "run")[1] for said in each.reflections} == {"I go on."}
    longest = max((request.prompt for request in chat.requests), key=len)
    assert longest.count("\n- ") > 6, "the steps of the path stand before the six actions"
    assert all("Action:" in request.system for request in chat.requests)
    assert {request.limit for request in chat.requests} == {None}, "the endpoint's own"


def test_reacts_answers_can_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda _: "Action: move north") as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        monkeypatch.setenv("NATLANG_MAX_TOKENS", "80")
        evaluate(ReActAgent("m"), short(1))
    assert {request.limit for request in chat.requests} == {80}
    monkeypatch.setenv("NATLANG_MAX_TOKENS", "-1")
    with pytest.raises(UsageError, match="NATLANG_MAX_TOKENS is '-1': set it to a number of tokens above 0"):
        ReActAgent("m")


def test_what_cannot_be_parsed_is_handed_on_counted_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda _: "Thought: why not?\nAction: fly to the moon") as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        agent = ReActAgent("tiny-chat")
        _, played = evaluate(agent, short(3))
    assert agent.unparsable == agent.answers == 3, "DangerousTaxi ends at once"
    assert [each.actions for each in played] == [("fly to the moon",)] * 3
    assert all(said == "[unparsable] Thought: why not?\nAction: fly to the moon" for (said,) in
               (each.reflections for each in played))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "thought", "action"),
    [
        ("Thought: go\nAction: move south", "go", "move south"),
        ("**Thought:** go\n**Action:** `Move South`.", "go", "move south"),
        (
            "Thought: a\nAction: move north\nThought: b\nAction: move south",
            "a Action: move north Thought: b",
            "move south",
        ),
        ("Thought: go\nAction:\n- move south", "go", "move south"),
        ("move south", "", "move south"),
        ("I think\n\nmove south.", "I think", "move south"),
    ],
)
def test_answers_are_read_in_many_shapes(text: str, thought: str, action: str) -> None:
    assert parse(text, COMMANDS) == (thought, action, True)


@pytest.mark.parametrize("text", ["", "Action:", "Thought: move south", "Action: move south or move north", "x" * 999])
def test_nobody_guesses_what_was_meant(text: str) -> None:
    answer = parse(text, COMMANDS)
    assert not answer.known
    assert len(answer.action) <= 200


def test_a_server_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serve(lambda _: "never asked") as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
    agent = ReActAgent("m")  # the server is gone
    with pytest.raises(UsageError, match="cannot be reached") as down:
        evaluate(agent, short(1))
    assert "\n" not in str(down.value)
    with serve(lambda _: Body(json.dumps({"error": {"message": "no such model"}}).encode(), status=404)) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        with pytest.raises(UsageError, match="status 404"):
            evaluate(ReActAgent("m"), short(1))
    with serve(lambda _: completion(None)) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        agent = ReActAgent("m")
        evaluate(agent, short(1))
        assert agent.unparsable == 1, "no text at all is an answer that cannot be parsed"
    monkeypatch.setenv("NATLANG_TIMEOUT", "soon")
    with pytest.raises(UsageError, match="NATLANG_TIMEOUT is 'soon'"):
        ReActAgent("m")
    monkeypatch.delenv("NATLANG_TIMEOUT")
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(UsageError, match="agent 'react' finds no endpoint"):
        ReActAgent("m")
