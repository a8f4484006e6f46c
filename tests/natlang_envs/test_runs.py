"""Runs that are interrupted, resumed, played in threads, or recorded by a loop of one's own."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.evaluation import AgentInput, Decision, evaluate, load_agent, load_protocol, read_run
from natlang_envs.evaluation.agents import RandomAgent, find_agent
from natlang_envs.evaluation.runs import JOURNAL_FILE, RUN_FILE, TRAJECTORIES_FILE, Provenance
from natlang_envs.trajectory import MAX_ACTION_CHARACTERS, MAX_REFLECTION_BYTES

WHOLE = load_protocol("dangerous-taxi-pickup/v1")
SMALL = replace(WHOLE, name="small", runs=2, episodes=WHOLE.episodes[:12])


class Failing:
    """Draws like the random agent until its endpoint fails."""

    sampling = True

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def __call__(self, given: AgentInput) -> str:
        self.calls -= 1
        if self.calls < 0:
            raise ConnectionError("503")
        return RandomAgent()(given)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_failing_endpoint_loses_only_the_episodes_in_flight(concurrency: int, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    _, expected = evaluate(Failing(10**9), SMALL, out=whole)
    steps = sum(len(each.actions) for each in expected)
    with pytest.raises(ConnectionError):
        evaluate(Failing(steps - 1), SMALL, out=broken, batch=1, concurrency=concurrency)
    assert not (broken / RUN_FILE).exists()
    kept = (broken / JOURNAL_FILE).read_bytes().splitlines()
    assert len(kept) - 1 >= len(expected) - concurrency
    # A kill in the middle of a line: what is whole stays.
    (broken / JOURNAL_FILE).write_bytes(b"\n".join(kept) + b'\n{"position": 3, "tok')
    asked = Failing(10**9)
    evaluate(asked, SMALL, out=broken, batch=1, resume=True)
    assert 10**9 - asked.calls < steps / 2
    assert (broken / TRAJECTORIES_FILE).read_bytes() == (whole / TRAJECTORIES_FILE).read_bytes()
    assert not (broken / JOURNAL_FILE).exists()


def test_a_doubled_key_is_refused_in_every_file_of_a_run(tmp_path: Path) -> None:
    evaluate(load_agent("random"), SMALL, out=tmp_path)
    path, recording = tmp_path / RUN_FILE, tmp_path / TRAJECTORIES_FILE
    facts, lines = path.read_text(), gzip.decompress(recording.read_bytes())
    path.write_text(facts.replace("{", '{"agent": "victim",', 1))
    with pytest.raises(UsageError, match=r"it says 'agent' twice"):
        read_run(tmp_path)
    path.write_text(facts)
    recording.write_bytes(gzip.compress(lines.replace(b"{", b'{"seed": 1, ', 1)))
    with pytest.raises(UsageError, match=r"line 1.*it says 'seed' twice"):
        read_run(tmp_path)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_seconds_of_a_run_are_wall_time_however_it_is_played(concurrency: int, tmp_path: Path) -> None:
    def waiting(given: AgentInput) -> str:
        time.sleep(0.01)
        return "move south"

    started = time.perf_counter()
    run, trajectories = evaluate(waiting, WHOLE, out=tmp_path, concurrency=concurrency, episodes=24)
    wall = time.perf_counter() - started
    waited = 0.01 * sum(len(each.actions) for each in trajectories)
    assert waited / concurrency < run.seconds < wall
    assert 0.5 * wall < run.seconds


def test_the_seconds_of_a_resumed_run_are_those_of_all_its_starts(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        evaluate(Failing(30), SMALL, out=tmp_path, batch=1)
    journal = tmp_path / JOURNAL_FILE
    head, *lines = journal.read_text().splitlines()
    slow = [json.dumps(json.loads(line) | {"seconds": 100.0}) for line in lines]
    journal.write_text("\n".join([head, *slow]) + "\n")
    run, _ = evaluate(Failing(10**9), SMALL, out=tmp_path, batch=1, resume=True)
    assert 0 < run.seconds - 100 * len(slow) < 60


def test_an_unfinished_run_is_neither_overwritten_nor_mixed(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        evaluate(Failing(5), SMALL, out=tmp_path, batch=1, name="a")
    before = (tmp_path / JOURNAL_FILE).read_bytes()
    with pytest.raises(UsageError, match="add --resume"):
        evaluate(RandomAgent(), SMALL, out=tmp_path, name="a")
    with pytest.raises(UsageError, match="of another protocol, agent, number of runs or weights"):
        evaluate(RandomAgent(), SMALL, out=tmp_path, name="b", resume=True)
    with pytest.raises(UsageError, match="finish it with `natlang evaluate --resume"):
        read_run(tmp_path)
    assert (tmp_path / JOURNAL_FILE).read_bytes() == before


@pytest.mark.parametrize("resume", [False, True])
def test_where_nothing_was_played_another_agent_may_begin(resume: bool, tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        evaluate(Failing(0), SMALL, out=tmp_path, batch=1, name="a")
    run, trajectories = evaluate(RandomAgent(), SMALL, out=tmp_path, name="b", resume=resume)
    assert (run.agent, len(trajectories)) == ("b", len(SMALL.episodes) * SMALL.runs)
    assert read_run(tmp_path) == (run, trajectories)


def test_a_run_does_not_go_on_with_other_weights(tmp_path: Path) -> None:
    old, new = (Provenance(checkpoint=each) for each in ("old", "new"))
    with pytest.raises(ConnectionError):
        evaluate(Failing(5), SMALL, out=tmp_path, batch=1, source=old)
    with pytest.raises(UsageError, match="number of runs or weights: choose another --out"):
        evaluate(RandomAgent(), SMALL, out=tmp_path, resume=True, source=new)
    evaluate(RandomAgent(), SMALL, out=tmp_path, resume=True, source=old)
    assert evaluate(RandomAgent(), SMALL, out=tmp_path, resume=True, source=old)[0].provenance == asdict(old)
    with pytest.raises(UsageError, match="already holds a run of other weights"):
        evaluate(RandomAgent(), SMALL, out=tmp_path, resume=True, source=new)


def test_threads_record_the_same_bytes(tmp_path: Path) -> None:
    evaluate(RandomAgent(), SMALL, out=tmp_path / "one")
    evaluate(RandomAgent(), SMALL, out=tmp_path / "many", concurrency=5)
    assert (tmp_path / "one" / TRAJECTORIES_FILE).read_bytes() == (tmp_path / "many" / TRAJECTORIES_FILE).read_bytes()


def test_a_try_is_no_run_of_the_protocol() -> None:
    run, trajectories = evaluate(RandomAgent(), WHOLE, episodes=3)
    assert (len(trajectories), run.protocol) == (3, "dangerous-taxi-pickup/v1+first3")
    assert run.protocol_digest != WHOLE.digest


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"concurrency": 0}, {"episodes": -1}])
def test_counts_below_one_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must be a whole number of at least 1"):
        evaluate(RandomAgent(), SMALL, **wrong)


def test_a_run_says_where_its_agent_came_from(tmp_path: Path) -> None:
    run, _ = evaluate(RandomAgent(), SMALL, out=tmp_path)
    assert run.provenance is not None
    assert run.provenance["agent"] == "natlang_envs.evaluation.agents.RandomAgent"
    assert (run.sampling, run.privileged) == (True, False)
    assert read_run(tmp_path)[0] == run
    assert evaluate(load_agent("oracle"), SMALL)[0].privileged is True


def test_long_texts_are_cut_before_they_are_played() -> None:
    _, (first, *_) = evaluate(lambda given: Decision("x" * 10_000, "é" * 20_000), SMALL)
    assert len(first.actions[0]) == MAX_ACTION_CHARACTERS
    assert first.reflections[0] == "é" * (MAX_REFLECTION_BYTES // 2)


MODULE = """
def first(given):
    return given.admissible_commands[0]

def on_text(prompt):
    assert "Commands:" in prompt and prompt.index("move south")
    return "move south"

class Batched:
    def act(self, inputs):
        return ["move south" for each in inputs]

def pair(prompt, given):
    return "move south"

number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my_agents.py").write_text(MODULE)
    (tmp_path / "half_agents.py").write_text("def first(given):\n    return (\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_agents", raising=False)
    return "my_agents"


def test_a_function_of_the_current_folder_is_an_agent(module: str) -> None:
    plays = [evaluate(load_agent(f"{module}:{name}"), SMALL)[1] for name in ("first", "on_text", "Batched")]
    assert plays[0] == plays[1] == plays[2]
    assert find_agent(f"{module}:first")[1] == "function"
    assert "" not in sys.path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my_agents:last", "module 'my_agents' has no 'last'"),
        ("my_agents:number", "is no agent"),
        ("my_agents:pair", "my_agents:pair is no agent: it must take one argument"),
        ("half_agents:first", r"half_agents\.py, line 2: .* mend the agent's file"),
        ("nothing_here:agent", "there is no agent 'nothing_here'"),
        ("my agents:first", "unknown agent"),
    ],
)
def test_a_wrong_function_is_named(name: str, words: str, module: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_agent(name)


def loop(env: natlang_envs.NatLangEnv, choose: Callable[[tuple[str, ...]], str], episodes: int) -> None:
    """Play as any Gymnasium loop does."""
    for _ in range(episodes):
        _, info = env.reset()
        ended = False
        while not ended:
            _, _, terminated, truncated, info = env.step(choose(info["admissible_commands"]))
            ended = terminated or truncated


def test_a_loop_of_ones_own_records_what_evaluate_would(tmp_path: Path) -> None:
    def choose(commands: tuple[str, ...]) -> str:
        return commands[0]

    env = natlang_envs.record(SMALL, tmp_path / "loop", name="mine")
    loop(env, choose, 5)  # pyright: ignore[reportArgumentType]
    env.reset()  # given up: it is played again
    again = natlang_envs.record(SMALL, tmp_path / "loop", name="mine", resume=True)
    assert again.episodes_left == 7
    loop(again, choose, 7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="all episodes of small are played"):
        again.reset()
    run, trajectories = read_run(tmp_path / "loop")
    assert trajectories == evaluate(lambda given: given.admissible_commands[0], SMALL)[1]
    assert (run.agent, run.runs, (run.provenance or {})["origin"]) == ("mine", 1, "loop")


def test_white_space_around_an_agents_commands_leaves_no_trace(tmp_path: Path) -> None:
    padded = evaluate(lambda given: f" {given.admissible_commands[0]}\n", SMALL)[1]
    assert padded == evaluate(lambda given: given.admissible_commands[0], SMALL)[1]
    env = natlang_envs.record(SMALL, tmp_path / "loop")
    loop(env, lambda commands: f"{commands[0]}\r\n", 12)  # pyright: ignore[reportArgumentType]
    assert read_run(tmp_path / "loop")[1] == padded


def test_a_run_of_a_module_names_the_command_that_starts_it(tmp_path: Path) -> None:
    given = ["evaluate", "--agent", "oracle", "--protocol", "dangerous-taxi-pickup/v1", "--episodes", "1"]
    command = ["-m", "natlang_envs.cli.main", *given, "--out", str(tmp_path / "run")]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    told = json.loads((tmp_path / "run" / RUN_FILE).read_text())["provenance"]["command"]
    assert told == " ".join(["python", *command])
