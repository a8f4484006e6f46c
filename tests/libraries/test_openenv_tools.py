"""What OpenEnv has besides reset and step: its task routes, the tool `act`, and its own checks of a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import pytest

pytest.importorskip("openenv.validation", reason="OpenEnv of today is not installed: run `make libraries`")
from openenv.cli._validation import validate_running_environment
from openenv.core.mcp_client import MCPToolClient
from openenv.validation.graders.runtime.basic import (
    ObservationSchemaGrader,
    RewardWellFormedGrader,
    StateContractGrader,
)
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.runtime.collector import collect_runtime_evidence
from openenv.validation.runtime.contracts import load_runtime_plan

from natlang_envs import unwrap
from tests.libraries.serving import HOUSE, TAXI, ask_tool, asked, served, wait_for

PACKAGE = Path(__file__).parents[2] / "examples/openenv"
ROUTES = "/DangerousTaxi-v0"


@pytest.fixture(scope="module")
def taxi() -> Iterator[str]:
    with served(TAXI) as url:
        wait_for(url).close()
        yield url


@pytest.fixture(scope="module")
def house() -> Iterator[str]:
    with served(HOUSE) as url:
        wait_for(url).close()
        yield url


def test_the_task_routes_list_the_split_served_and_each_task_can_be_begun(taxi: str) -> None:
    ids = list(unwrap(gymnasium.make(TAXI, split="train")).tasks.ids())
    tasks = [{"task_id": each, "split": "train", "index": index} for index, each in enumerate(ids)]
    assert asked(f"{taxi}/list_environments") == (200, [ROUTES[1:]])
    assert asked(f"{taxi}{ROUTES}/splits") == (200, [{"name": "train", "type": "train"}])
    assert asked(f"{taxi}{ROUTES}/num_tasks", {"split": "train"}) == (200, {"num_tasks": len(ids)})
    assert asked(f"{taxi}{ROUTES}/tasks", {"split": "train"})[1]["tasks"] == tasks
    assert asked(f"{taxi}{ROUTES}/task", {"split": "train", "index": 7}) == (200, {"task": tasks[7]})
    for bounds, part in (({"start": 2, "stop": 4}, tasks[2:4]), ({"start": -3}, tasks[-3:]), ({"stop": 1}, tasks[:1])):
        assert asked(f"{taxi}{ROUTES}/task_range", {"split": "train", **bounds})[1] == {"tasks": part}
    client = wait_for(taxi)
    assert client.reset(split="train", index=7).observation["task_id"] == ids[7]
    assert client.reset(index=8).observation["task_id"] == ids[8]
    client.close()


def test_of_a_large_split_the_first_tasks_are_listed_and_all_are_counted_and_found(house: str) -> None:
    count = asked(f"{house}/ALFWorld-v0/num_tasks", {"split": "train"})[1]["num_tasks"]
    assert count > 100_000
    assert len(asked(f"{house}/ALFWorld-v0/tasks", {"split": "train"})[1]["tasks"]) == 10_000
    last = asked(f"{house}/ALFWorld-v0/task", {"split": "train", "index": count - 1})[1]["task"]
    client = wait_for(house)
    assert client.reset(index=count - 1).observation["task_id"] == last["task_id"]
    client.close()


WRONG = [
    ("/DangerousTaxi-v0/num_tasks", {"split": "test"}, "'train' is served here, not 'test'"),
    ("/DangerousTaxi-v0/tasks", {"split": ""}, "'train' is served here, not ''"),
    ("/DangerousTaxi-v0/task", {"split": "train", "index": 146}, "from 0 on: none is 146"),
    ("/DangerousTaxi-v0/task", {"split": "train", "index": -1}, "from 0 on: none is -1"),
    ("/Nothing-v0/splits", None, "unknown environment 'Nothing-v0'"),
    ("/reset", {"split": "test"}, "start natlang serve with --split"),
    ("/step", {"action": {"command": "move north"}}, "step was asked for before reset"),
]


@pytest.mark.parametrize(("route", "body", "words"), WRONG)
def test_a_wrong_request_has_a_status_of_400_and_more_and_says_why(
    taxi: str, route: str, body: object, words: str
) -> None:
    status, said = asked(taxi + route, body)
    assert status in (400, 404)
    assert words in said


def test_no_body_makes_the_server_fail(taxi: str) -> None:
    routes = (
        "reset",
        "step",
        "mcp",
        *(f"{ROUTES[1:]}/{each}" for each in ("tasks", "num_tasks", "task", "task_range")),
    )
    bodies = (
        b"", b"{", b"\xff", b"[]", b"7", b'"train"', b"[" * 5_000,
        {"split": 7}, {"split": "train", "index": "x"}, {"split": "train", "index": 1e300}, {"seed": -1}, {"seed": 1.5},
        {"seed": 10**30}, {"task_id": []}, {"episode_id": "x" * 300}, {"action": 7}, {"action": {"command": 7}},
        {"action": {"command": "\ud800"}}, {"action": {"type": "call_tool", "tool_name": "act"}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "act", "arguments": 7}},
        {"jsonrpc": "2.0", "method": "openenv/session/close", "params": {}},
    )  # fmt: skip
    for route, body in product(routes, bodies):
        assert asked(f"{taxi}/{route}", body)[0] < 500, (route, body)


def test_the_one_tool_plays_a_game_for_clients_of_tools(taxi: str) -> None:
    env = unwrap(gymnasium.make(TAXI, split="train"))
    text, _ = env.reset(seed=3)
    with MCPToolClient(base_url=taxi).sync() as client:
        (tool,) = client.list_tools()
        assert (tool.name, tool.input_schema["required"]) == ("act", ["command"])
        with pytest.raises(RuntimeError, match="step was asked for before reset"):
            client.call_tool("act", command="move north")
        assert client.reset(seed=3).observation.text == text
        for wrong, words in (
            ({"comand": "look"}, "comand"),
            ({}, "command"),
            ({"command": 7}, "command, a str, not 7"),
            ({"command": "x" * 5_000}, "at most 4,096 characters"),
        ):
            with pytest.raises(RuntimeError, match=words):
                client.call_tool("act", **wrong)
        with pytest.raises(RuntimeError, match="Tool not found: look"):
            client.call_tool("look")
        for number, each in enumerate(env.reference(), start=1):
            answer = client.call_tool("act", command=each)
            assert client.state().step_count == number
        assert (answer["success"], answer["done"]) == (True, True)


def test_a_step_through_the_tool_tells_reward_and_end_like_any_step(taxi: str) -> None:
    env = unwrap(gymnasium.make(TAXI, split="train"))
    env.reset(seed=3)
    client = wait_for(taxi)
    client.reset(seed=3)
    for each in env.reference():
        result = client.step({"type": "call_tool", "tool_name": "act", "arguments": {"command": each}})
        _, reward, terminated, truncated, _ = env.step(each)
        assert (result.reward, result.done) == (reward, terminated or truncated)
    client.close()


def test_a_wrong_call_of_the_tool_in_a_step_is_answered_and_costs_no_step(taxi: str) -> None:
    client = wait_for(taxi)
    client.reset(seed=3)
    assert [each["name"] for each in client.step({"type": "list_tools"}).observation["tools"]] == ["act"]
    for name, arguments, kind, words in (
        ("act", {"comand": "look"}, "invalid_args", "unknown argument of act 'comand': choose one of command"),
        ("act", {}, "invalid_args", "act takes the argument command, a str, not None"),
        ("look", {}, "tool_not_found", "unknown tool 'look': choose one of act"),
    ):
        error = client.step({"type": "call_tool", "tool_name": name, "arguments": arguments}).observation["error"]
        assert (error["error_type"], error["message"]) == (kind, words)
    assert client.state()["step_count"] == 0
    client.close()


def test_plain_mcp_lists_the_tool_and_says_that_it_has_no_game(taxi: str) -> None:
    (tool,) = ask_tool(taxi, "tools/list")["result"]["tools"]
    assert tool["name"] == "act"
    error = ask_tool(taxi, "tools/call", name="act", arguments={"command": "look"})["error"]
    assert "before reset" in error["message"]


def test_openenv_finds_a_running_server_whole(taxi: str) -> None:
    report = validate_running_environment(taxi)
    assert report["passed"], report
    assert report["summary"]["failed_criteria"] == []
    state = asked(f"{taxi}/schema")[1]["state"]
    assert "task_id" in state["properties"]


def test_openenv_finds_an_episode_as_the_package_declares_it(house: str) -> None:
    manifest = OpenEnvYamlParser().parse(PACKAGE)
    assert manifest.capabilities.declared_tools == ["act"]
    plan = load_runtime_plan(PACKAGE, manifest.execution)
    evidence = collect_runtime_evidence(house, plan, episode_timeout_s=manifest.resources.episode_timeout_s)
    assert evidence.failure_reason is None
    subject = SimpleNamespace(manifest=manifest, runtime_evidence=evidence)
    for grader in (RewardWellFormedGrader(), ObservationSchemaGrader(), StateContractGrader()):
        result = grader.run(subject)
        assert result.status.value == "pass", (result.check_id, result.evidence)
    answers = [json.loads(each.response_json) for each in evidence.exchanges if each.operation == "step"]
    assert len(answers) == len(plan.actions)
    assert re.search("Nothing happens", answers[-1]["data"]["observation"]["feedback"])
