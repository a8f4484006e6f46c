"""Chat models that play: what they answer is played as meant, kept beside the run, billed, and told."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from natlang_envs import UsageError
from natlang_envs.cli.main import app
from natlang_envs.conformance.answer_forms import FORMS
from natlang_envs.conformance.servers import ChatServer, chat_server
from natlang_envs.evaluation import AgentInput, agents, chat_endpoint, evaluate, load_protocol, read_run
from natlang_envs.evaluation.chat_players import ChatPlayer, load_chat, load_react, load_tools
from natlang_envs.evaluation.model_requests import Budget, Requests, report_answers
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runner import Progress
from natlang_envs.trajectory import difference, replay

PICKUP = "dangerous-taxi-pickup/v1"
LOADERS: dict[str, Callable[[str], ChatPlayer]] = {"react": load_react, "tools": load_tools, "chat": load_chat}


def crow(request: dict[str, Any]) -> str:
    """Drive to the passenger as the crow flies, by the newest observation."""
    said = request["messages"][-1]["content"].rpartition("Observation:")[2]
    row, column = map(int, re.findall(r"The taxi is at row (\d+), column (\d+)", said)[-1])
    name = re.findall(r"The passenger waits at (\w+)", said)[-1]
    to_row, to_column = map(int, re.findall(rf"{name} is at row (\d+), column (\d+)", said)[-1])
    if row != to_row:
        return "move south" if row < to_row else "move north"
    if column != to_column:
        return "move east" if column < to_column else "move west"
    return "pick up passenger"


@pytest.fixture(scope="module")
def taxi() -> Iterator[ChatServer]:
    with chat_server(crow) as server:
        yield server


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, taxi: ChatServer) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", taxi.url)
    monkeypatch.setattr(chat_endpoint, "_FIRST_PAUSE", 0.01)


def first(count: int, tasks: tuple[str, ...] = ("4.1/red-yellow", "4.2/green-blue", "3.2/green-yellow")) -> Protocol:
    """Return episodes that driving as the crow flies wins in 6, 7 and 6 steps."""
    protocol = load_protocol(PICKUP)
    found = (each for task in tasks for each in protocol.episodes if each.task_id == f"classic/{task}")
    return replace(protocol, episodes=tuple(found)[:count])


def kitchen(episodes: int = 1) -> Protocol:
    """Return games that go on after a command that is not understood."""
    return load_protocol("alfworld-tomato/v1").first(episodes)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_an_answer_wins(form: str) -> None:
    number = list(FORMS).index(form)
    for loader in LOADERS.values() if number % 12 == 0 else (load_react,):
        run, played = evaluate(loader(f"form:{form}"), first(1, ("1.4/green-red",)))
        assert all(each.success for each in played), (form, played[0].actions, run.answers)
        assert not report_answers(run.answers or {}, played).unread


@pytest.mark.parametrize("shape", ["error of a choice", "stream cut", "stream error, finish"])
def test_what_a_provider_fails_at_costs_the_player_nothing(shape: str) -> None:
    run, played = evaluate(load_react(f"{shape}@3"), first(2))
    assert all(each.success for each in played)
    assert run.answers is not None
    assert run.answers["failed"] > 0


def test_tools_are_called_and_a_conversation_grows(taxi: ChatServer) -> None:
    del taxi.requests[:]
    evaluate(load_tools("tool call"), first(1))
    tool = taxi.requests[0]["tools"][0]["function"]
    assert tool["name"] == "act"
    assert "pick up passenger" in tool["parameters"]["properties"]["command"]["enum"]
    assert [len(each["messages"]) for each in taxi.requests] == [2] * len(taxi.requests)
    del taxi.requests[:]
    evaluate(load_chat("plain"), first(1))
    asked = [each["messages"] for each in taxi.requests]
    assert len(asked) > 2
    assert all(later[: len(sooner)] == sooner for sooner, later in pairwise(asked)), "servers cache what is the same"
    assert asked[1][-1]["content"].startswith("Observation: ")
    del taxi.requests[:]
    evaluate(load_chat("plain?history=1"), first(1))
    assert max(len(each["messages"]) for each in taxi.requests) == 4
    assert taxi.requests[2]["messages"][1]["content"].startswith("Task: ")
    del taxi.requests[:]
    evaluate(load_react("plain?history=commands"), first(1))
    assert "Commands so far: " in taxi.requests[2]["messages"][1]["content"]
    with pytest.raises(UsageError, match="agent chat keeps the conversation: set history to full"):
        load_chat("m?history=commands")


def test_settings_are_sent_recorded_and_refused(
    tmp_path: Path, taxi: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    del taxi.requests[:]
    argument = (
        'plain?temperature=0.5&seed=7&stop=["Observation:"]&max_completion_tokens=50&extra={"top_k":3}&system=false'
    )
    run, _ = evaluate(load_react(argument), first(1), out=tmp_path)
    sent = taxi.requests[0]
    assert {name: sent[name] for name in ("temperature", "seed", "stop", "max_completion_tokens", "top_k")} == {
        "temperature": 0.5, "seed": 7, "stop": ["Observation:"], "max_completion_tokens": 50, "top_k": 3,
    }  # fmt: skip
    assert [each["role"] for each in sent["messages"]] == ["user"]
    assert run.settings == read_run(tmp_path)[0].settings
    assert run.settings == {
        "form": "react", "model": "plain", "temperature": "0.5", "seed": "7", "stop": '["Observation:"]',
        "max_completion_tokens": "50", "extra": '{"top_k": 3}', "system": "false",
    }  # fmt: skip
    with pytest.raises(UsageError, match="other settings"):
        evaluate(load_react("plain"), first(1), out=tmp_path, resume=True)
    for wrong, says in {
        "temprature=1": "unknown setting of a model 'temprature': choose one of temperature",
        "temperature=hot": "temperature must be a number",
        "top_p=0": "top_p must be a number above 0",
        "max_tokens=5&max_completion_tokens=5": "two names of one limit",
        "seed=1&seed=2": "a setting twice",
        "history=all": "history must be",
        "system=no": "system must be True or False",
        "stop=[]&extra=3": "no extra body",
        "stop=[3]": "stop must be",
        "timeout=0": "timeout must be a number above 0",
        "patience=null": "patience must be a number from 0, not None",
        'extra={"seed":1}': "extra holds 'seed'",
    }.items():
        with pytest.raises(UsageError, match=re.escape(says)):
            load_react(f"m?{wrong}")
    with pytest.raises(UsageError, match="write --agent chat:MODEL"):
        load_chat("")
    monkeypatch.setenv("NATLANG_MAX_TOKENS", "80")
    assert load_react("m").model_settings["max_tokens"] == "80"
    assert "max_tokens" not in load_react("m?max_completion_tokens=9").model_settings
    monkeypatch.setenv("NATLANG_MAX_TOKENS", "-1")
    with pytest.raises(UsageError, match="NATLANG_MAX_TOKENS: max_tokens must be"):
        load_react("m")


def test_what_is_not_read_costs_a_step_and_is_told(tmp_path: Path) -> None:
    answers = iter(["fly to the moon", "", "look", *["inventory"] * 20])
    with chat_server(lambda request: next(answers)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        run, (played,) = evaluate(load_react("plain"), kitchen(), out=tmp_path)
    assert played.actions[:4] == ("[no command]", "[no command]", "look", "inventory")
    assert played.reflections[0] == "[no command] Thought: so\nAction: fly to the moon"
    prompts = [each["messages"][1]["content"] for each in server.requests]
    assert "named none of the actions, so it was not understood. Answer with a line" in prompts[1]
    assert "not understood. Answer" not in prompts[0] + prompts[3]
    assert run.answers is not None
    assert run.answers["no command"] == 2
    found = report_answers(run.answers, [played])
    assert sum(found.read.values()) == len(played.actions) - 2
    assert found.example == "Thought: so Action: fly to the moon"
    assert not found.losses, "two of fifteen answers are not what lost it"
    assert difference(played, replay(kitchen().make_env(), played)) is None


@pytest.mark.parametrize(
    ("model", "mark"),
    [("cut", "[unfinished]"), ("refusal", "[no command]"), ("too long", "[context]"), ("filtered", "[refused]")],
)
def test_episodes_that_a_model_cannot_play_are_lost_and_told(tmp_path: Path, model: str, mark: str) -> None:
    with chat_server(lambda request: "look") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        seen: list[Progress] = []
        run, played = evaluate(load_react(model), kitchen(2), out=tmp_path, progress=seen.append)
    assert {each for episode in played for each in episode.actions} == {mark}
    assert all(difference(each, replay(kitchen().make_env(), each)) is None for each in played)
    ended = mark in ("[context]", "[refused]")
    assert report_answers(run.answers or {}, played).losses == {mark[1:-1] if ended else "unreadable": 2}
    assert seen[-1].unread == 2
    if ended:
        assert len(server.requests) <= 2 * 3, "nothing more is asked"


def test_a_prompt_over_the_limit_is_fitted() -> None:
    with chat_server(lambda request: "look") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        for loader in (load_react, load_chat):
            del server.requests[:]
            run, (played,) = evaluate(loader("too long beyond 2,000"), kitchen())
            assert set(played.actions) == {"look"}
            assert run.answers is not None
            assert 0 < run.answers["failed"] <= 10, "what was too long is not tried anew in each step"


@pytest.mark.parametrize("stops", [(1,), (3, 4), (6, 2, 4)])
@pytest.mark.parametrize("kind", LOADERS)
def test_an_episode_goes_on_inside_itself(tmp_path: Path, kind: str, stops: tuple[int, ...], taxi: ChatServer) -> None:
    del taxi.requests[:]
    whole, _ = evaluate(LOADERS[kind]("plain"), first(3), name="x", out=tmp_path / "whole")
    asked, requests = len(taxi.requests), 0
    for stop in stops:
        budget = Budget(tokens=110 * (requests + stop))
        del taxi.requests[:]
        with pytest.raises(UsageError, match="are spent; what is played is kept"):
            evaluate(LOADERS[kind]("plain"), first(3), name="x", out=tmp_path / "cut", resume=True, budget=budget)
        requests += len(taxi.requests)
        for path in (tmp_path / "cut" / "requests").glob("*.jsonl"):
            path.write_bytes(path.read_bytes() + b'{"step": 1, "bi')
    with pytest.raises(UsageError, match="holds an unfinished run: add --resume"):
        evaluate(LOADERS[kind]("plain"), first(3), name="x", out=tmp_path / "cut")
    del taxi.requests[:]
    run, _ = evaluate(LOADERS[kind]("plain"), first(3), name="x", out=tmp_path / "cut", resume=True)
    assert requests + len(taxi.requests) == asked, "nothing is paid for twice"
    assert (run.bill, run.tokens, run.answers) == (whole.bill, whole.tokens, whole.answers)
    files = [tmp_path / each / "trajectories.jsonl.gz" for each in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert {each.name for each in (tmp_path / "cut").iterdir()} == {"run.json", "trajectories.jsonl.gz"}


def test_a_run_stops_when_patience_ends_and_keeps_what_came(tmp_path: Path, taxi: ChatServer) -> None:
    del taxi.requests[:]
    with pytest.raises(UsageError, match="no healthy upstream; what came is kept: add --resume"):
        evaluate(load_react("503?patience=0"), first(3), out=tmp_path)
    kept = [json.loads(line) for each in (tmp_path / "requests").iterdir() for line in each.read_text().splitlines()]
    assert sum("message" in each for each in kept) == len(taxi.requests) - 1
    assert sum("failed" in each for each in kept) == 1


def test_what_a_protocol_needs_is_missed_before_the_first_request(
    taxi: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    del taxi.requests[:]
    with pytest.raises(UsageError, match="holds none of the official games"):
        evaluate(load_react("plain"), "alfworld-seen/v1")
    assert not taxi.requests


def test_the_command_tells_form_and_bill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: str) -> Any:
        start = ["evaluate", "--protocol", PICKUP, "--out", str(tmp_path / "run"), *arguments]
        return CliRunner().invoke(app, start, catch_exceptions=True)

    assert "--max-cost needs the prices" in str(run("--agent", "random", "--max-cost", "1").exception)
    assert "asks no model" in str(run("--agent", "random", "--max-tokens", "5").exception)
    assert "is no price" in str(run("--agent", "random", "--price", "1,2,3").exception)
    monkeypatch.setattr(agents, "entry_points", lambda group: [Named()])
    done = run("--agent", "react:stream cut@3", "--price", "1,2", "--concurrency", "2", "--episodes", "2")
    assert done.exit_code == 0, done.output
    answers, bill, again = done.output.splitlines()[-3:]
    assert re.fullmatch(r"  answers read \d+ \(action \d+\)", answers)
    assert re.fullmatch(r"  bill    [\d,]+ read, [\d,]+ written, \$0.00", bill)
    assert re.fullmatch(r"  asked again \d+ times, where the provider failed", again)
    done = CliRunner().invoke(
        app,
        ["evaluate", "--agent", "react:nothing", "--protocol", PICKUP, "--out", str(tmp_path / "n"), "--episodes", "2"],
    )
    assert "100% of losses unreadable" in done.output
    assert "100% of the answers were not read, such as: [the answer holds no text]" in done.output


class Named:
    """An entry point of this package, whatever the installed one knows."""

    name = "react"

    def load(self) -> Callable[[str], ChatPlayer]:
        return load_react


def test_what_an_agent_is_given_can_be_pickled() -> None:
    view = AgentInput("t", (), "o", ("a",), np.random.default_rng(0), requests=Requests(budget=Budget(tokens=5)))
    view.requests.keep(0, chat_endpoint.Bill(1), message={}, cut=False)
    assert pickle.loads(pickle.dumps(view)).requests.tokens(0) == 1


def test_other_limits_of_a_budget() -> None:
    budget = Budget(cost=0.01, prices=(10.0, 20.0))
    budget.check()
    budget.add(chat_endpoint.Bill(400, 300))
    with pytest.raises(UsageError, match=r"\$0.01 of at most \$0.01 are spent"):
        budget.check()
    with pytest.raises(UsageError, match="does not count its tokens"):
        evaluate(load_react("no usage"), first(1), budget=Budget(tokens=10))
    run, _ = evaluate(load_react("total alone"), first(1))
    assert run.bill is not None
    assert run.bill["other"] == run.tokens > 0
