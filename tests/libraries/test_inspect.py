"""Inspect plays protocols as `natlang evaluate` does; its model is a server on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect is not installed: run `make libraries`")
from inspect_ai import eval as inspect_eval
from inspect_ai import eval_retry
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

import natlang_envs.inspect
from natlang_envs.conformance.servers import chat_server
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, Decision, Run, evaluate, load_agent, load_protocol, read_run
from natlang_envs.evaluation.runner import score_run
from natlang_envs.inspect import protocol, write_runs
from natlang_envs.prompt import chat_messages
from natlang_envs.trajectory import Trajectory
from tests.loopback import QuietHandler, serving

PICKUP = "dangerous-taxi-pickup/v1"
PROTOCOLS = {PICKUP: 50, "alfworld-generated/v1": 5, "autoexplore-depth1/v1": 15}
EQUAL: list[str] = []
MODEL = "openai-api/loopback/player"
TOKENS = 7  # of every answer


class Player:
    """Follows a protocol's own plans but for one prompt of eight, and sometimes thinks aloud before it speaks."""

    def __init__(self, name: str, episodes: int) -> None:
        self._book: dict[str, str] = {}
        oracle: Any = load_agent("oracle")

        def note(given: AgentInput) -> str:
            command = self._book[content_of(given)] = oracle(given)
            return command

        note.privileged = True
        evaluate(note, name, episodes=episodes, batch=1)

    def say(self, prompt: str) -> str:
        draw = int(sha256(prompt.encode()).hexdigest(), 16)
        listed = [line.removeprefix("- ") for line in prompt.partition("\nActions:\n")[2].splitlines()]
        command = self._book[prompt] if prompt in self._book and draw % 8 else listed[draw % len(listed)]
        return f"<think>\nDraw {draw % 1000}.\n</think>\n{command}" if draw % 3 == 0 else command

    def __call__(self, given: AgentInput) -> Decision:
        thought, _, command = self.say(content_of(given)).rpartition("</think>\n")
        return Decision(command, thought.removeprefix("<think>\n").strip() or None, TOKENS)


def content_of(given: AgentInput) -> str:
    return chat_messages(given.prompt(), given.admissible_commands)[1]["content"]


@contextmanager
def answering(say: Callable[[str], str | None], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve a chat model; where it says None, the endpoint refuses."""

    class Chat(QuietHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert [each["role"] for each in asked["messages"]] == ["system", "user"]
            content = asked["messages"][1]["content"]
            text = say(content if isinstance(content, str) else content[0]["text"])
            message = {"role": "assistant", "content": text}
            usage = {"prompt_tokens": TOKENS - 2, "completion_tokens": 2, "total_tokens": TOKENS}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            said = {"id": "1", "object": "chat.completion", "created": 1, "model": "player", "choices": [choice]}
            body = json.dumps({**said, "usage": usage} if text is not None else {"error": {"message": "no"}}).encode()
            self.send_response(200 if text is not None else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Chat) as url:
        monkeypatch.setenv("LOOPBACK_API_KEY", "none")
        yield url


def inspect(folder: Path, task: Any, model: str = MODEL, **settings: Any) -> EvalLog:
    return inspect_eval(task, model=model, log_dir=str(folder), display="none", **settings)[0]


def metric(log: EvalLog, name: str) -> float:
    assert log.results
    return next(each for each in log.results.scores if each.name == name).metrics["mean"].value


def run_of(log: EvalLog, ending: str = "") -> tuple[Run, list[Trajectory]]:
    return read_run(Path(f"{log.location.removesuffix('.eval').removeprefix('file://')}{ending}"))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_model_earns_under_inspect_what_it_earns_in_an_evaluation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worked: Any
) -> None:
    episodes = PROTOCOLS[name]
    player = Player(name, episodes)
    run, played = evaluate(player, name, episodes=episodes)
    with answering(player.say, monkeypatch) as url:
        log = inspect(tmp_path, protocol(name, episodes=episodes), model_base_url=url)
    assert log.status == "success"
    expected = score_run(load_protocol(name).first(episodes), played)
    assert 0 < expected.success_rate < 1
    assert metric(log, "success") == expected.success_rate
    assert metric(log, "return") == expected.mean_return
    written, recorded = run_of(log)
    assert recorded == played
    assert any(any(each.reflections) for each in recorded)
    assert (written.protocol_digest, written.tokens, written.runs) == (run.protocol_digest, run.tokens, 1)
    assert written.agent == MODEL
    assert 0 < written.seconds < 600
    EQUAL.append(name)
    if len(EQUAL) == len(PROTOCOLS):
        told = f"{sum(PROTOCOLS.values())} episodes of {len(EQUAL)} protocols, 0 differences from `natlang evaluate`"
        worked("inspect-ai", natlang_envs.inspect, f"equal to ours: {told}", lines=0)


def test_an_endpoint_that_fails_in_the_middle_of_an_episode_loses_nothing_that_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player, asked, failing = Player(PICKUP, 12), [0], True

    def say(prompt: str) -> str | None:
        asked[0] += 1
        return None if failing and 15 < asked[0] < 20 else player.say(prompt)

    played = evaluate(player, PICKUP, episodes=12)[1]
    with answering(say, monkeypatch) as url:
        log = inspect(tmp_path, protocol(PICKUP, episodes=12), max_samples=3, max_connections=1, model_base_url=url)
        assert log.status == "error"
        broken = [each for each in log.samples or [] if each.error]
        kept = [each for each in log.samples or [] if not each.error]
        assert len(broken) == 4
        assert len(kept) == 8
        assert any(len(each.messages) > 2 for each in broken)  # with what was said in it until then
        assert not list(tmp_path.glob("*/run.json"))
        with pytest.raises(UsageError, match="no run is written: 4 episodes have not ended; inspect eval-retry"):
            write_runs(log)
        failing, before = False, asked[0]
        again = eval_retry(log, log_dir=str(tmp_path), display="none")[0]
    assert again.status == "success"
    assert asked[0] - before == sum(len(each.actions) for each in played if each.task_id in {s.id for s in broken})
    assert run_of(again)[1] == played


def test_each_epoch_is_a_run_and_the_first_is_that_of_an_evaluation(tmp_path: Path) -> None:
    log = inspect(tmp_path, protocol(PICKUP, agent="random"), model="none/none", epochs=2)
    first, second = run_of(log), run_of(log, "-2")
    run, played = evaluate(load_agent("random"), PICKUP)
    assert first[1] == played
    assert [each.task_id for each in second[1]] == [each.task_id for each in played]
    assert second[1] != played
    for written in (first[0], second[0]):
        assert (written.agent, written.sampling, written.privileged) == ("random", run.sampling, run.privileged)
        assert written.provenance
        assert (written.provenance["origin"], written.provenance["agent"]) == ("built-in", "random")
    rates = [sum(each.success for each in one[1]) / 100 for one in (first, second)]
    assert metric(log, "success") == pytest.approx(sum(rates) / 2)


def test_an_agent_is_never_asked_twice_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Lock()

    def slow(given: AgentInput) -> str:
        assert asked.acquire(blocking=False)
        time.sleep(0.01)
        asked.release()
        return given.admissible_commands[-1]

    monkeypatch.setattr("natlang_envs.inspect._agent", lambda _: (slow, "function"))
    assert inspect(tmp_path, protocol(PICKUP, agent="any", episodes=8), model="none/none").status == "success"


def test_all_runs_of_a_protocol_are_epochs_of_one_recording(tmp_path: Path) -> None:
    several = replace(load_protocol(PICKUP).first(5), name="own/v1", runs=3)
    file = tmp_path / "own.json"
    file.write_text(several.to_json(), encoding="utf-8")
    log = inspect(tmp_path / "logs", protocol(str(file), agent="random"), model="none/none")
    assert run_of(log)[1] == evaluate(load_agent("random"), several)[1]


def test_inspects_tools_read_the_log_and_ours_read_the_run(tmp_path: Path) -> None:
    here = Path(sys.executable).parent

    def call(program: str, *arguments: str) -> str:
        done = subprocess.run([here / program, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    played = ("-T", f"name={PICKUP}", "-T", "agent=oracle", "-T", "episodes=5", "--model", "none/none")
    call("inspect", "eval", "natlang_envs/protocol", *played, "--display", "plain")
    log = read_eval_log(list_eval_logs(str(tmp_path / "logs"))[0])
    dumped = json.loads(call("inspect", "log", "dump", log.location))
    assert dumped["eval"]["metadata"]["natlang_envs"]["protocol"] == f"{PICKUP}+first5"
    assert len(dumped["samples"]) == 5
    call("inspect", "view", "bundle", "--log-dir", "logs", "--output-dir", "site")
    assert (tmp_path / "site/index.html").exists()
    assert "holds" in call("natlang", "replay", str(next(tmp_path.glob("logs/*/run.json")).parent))
    (again,) = write_runs(log.location, tmp_path / "again")
    assert read_run(again)[1] == run_of(log)[1]
    with pytest.raises(UsageError, match="already holds a run"):
        write_runs(log, tmp_path / "again")


def test_an_episode_that_a_limit_cuts_is_no_success_and_of_no_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = Player(PICKUP, 5)
    with answering(player.say, monkeypatch) as url:
        log = inspect(tmp_path, protocol(PICKUP, episodes=5), token_limit=TOKENS, model_base_url=url)
    cut = [each for each in log.samples or [] if each.limit]
    assert cut
    assert all(each.scores and each.scores["outcome"].value["success"] == 0 for each in cut)
    assert {each.scores["outcome"].value["return"] for each in cut if each.scores} == {-1.0}
    assert not list(tmp_path.glob("*/run.json"))


def test_what_does_not_exist_is_refused_by_its_name() -> None:
    with pytest.raises(
        UsageError, match="unknown protocol 'dangerous-taxi-pikcup/v1': choose one of dangerous-taxi-pi"
    ):
        protocol("dangerous-taxi-pikcup/v1")
    with pytest.raises(UsageError, match="unknown agent 'randm'"):
        protocol(PICKUP, agent="randm")
    with pytest.raises(UsageError, match="episodes must be a whole number of at least 1, not 0"):
        protocol(PICKUP, episodes=0)
    with pytest.raises(UsageError, match="history must be"):
        protocol(PICKUP, history="ful")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="history and sampling are of the model"):
        protocol(PICKUP, agent="oracle", history=2)


def test_a_tool_call_is_a_command_and_the_log_tells_how_answers_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBACK_API_KEY", "none")
    with chat_server(lambda request: "pick up passenger") as server:
        for shape, action, read in (
            ("tool call", "pick up passenger", {"tool call": 1}),
            ("refusal", "[no command]", {"no command": 1}),
            ("cut", "[unfinished]", {"unfinished": 1}),
        ):
            task = protocol(PICKUP, episodes=1)
            log = inspect(tmp_path / shape, task, f"openai-api/loopback/{shape}", model_base_url=server.url)
            run, (played,) = run_of(log)
            assert played.actions == (action,)
            assert run.answers == read
            assert run.settings is not None
            assert run.settings["form"] == "inspect"
            assert log.samples
            assert log.samples[0].scores
            assert (log.samples[0].scores["outcome"].metadata or {})["answers"] == read
