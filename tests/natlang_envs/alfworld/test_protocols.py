"""ALFWorld's protocols: held-out games, and agents that play them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from natlang_envs.alfworld.games.generator import aim_of, parse_task_id
from natlang_envs.alfworld.games.splits import TASK_TYPES, UNSEEN_PLANS
from natlang_envs.alfworld.protocols import protocols
from natlang_envs.evaluation import evaluate, load_agent, load_protocol, read_run
from natlang_envs.evaluation.agents import baseline_names
from natlang_envs.evaluation.runner import score_run
from natlang_envs.trajectory import difference, replay
from tests.support.alfworld_samples import official_folder
from tests.support.here import run_here

FOLDER = official_folder()
TOMATO, GENERATED = "alfworld-tomato/v1", "alfworld-generated/v1"


def test_the_files_are_what_the_module_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    if FOLDER is not None:
        monkeypatch.setenv("ALFWORLD_DATA", str(FOLDER))
    made = {protocol.name: protocol for protocol in protocols(official=FOLDER is not None)}
    assert {TOMATO, GENERATED} <= set(made)
    for name, protocol in made.items():
        assert load_protocol(name) == protocol, f"{name}: run python -m natlang_envs.alfworld.protocols"


def test_the_tomato_is_in_a_room_that_nobody_trained_in() -> None:
    protocol = load_protocol(TOMATO)
    tasks = [parse_task_id(episode.task_id) for episode in protocol.episodes]
    assert (len(set(tasks)), protocol.horizon, protocol.runs) == (38, 15, 1)
    assert {task.room for task in tasks} == {10} <= set(UNSEEN_PLANS)
    assert {aim_of(task)[1:] for task in tasks} == {("Tomato", "Microwave")}


def test_the_generated_games_are_in_unseen_rooms_and_of_all_types() -> None:
    protocol = load_protocol(GENERATED)
    tasks = [parse_task_id(episode.task_id) for episode in protocol.episodes]
    assert (len(tasks), len(set(tasks)), protocol.horizon) == (200, 200, 50)
    assert {task.room for task in tasks} == set(UNSEEN_PLANS)
    counts = Counter(task.task_type for task in tasks)
    assert set(counts) == set(TASK_TYPES)
    assert min(counts.values()) >= 5


@pytest.mark.parametrize(("name", "count"), [("alfworld-seen/v1", 140), ("alfworld-unseen/v1", 134)])
def test_the_official_lists_are_known_without_the_games(name: str, count: int) -> None:
    protocol = load_protocol(name)
    assert len(protocol.episodes) == len(set(protocol.episodes)) == count
    assert all(each.task_id.startswith(f"official/{protocol.kwargs['split']}/") for each in protocol.episodes)


def test_every_agent_of_the_tables_plays_and_replays(tmp_path: Path) -> None:
    protocol = load_protocol(TOMATO)
    rates: dict[str, float] = {}
    for name in baseline_names(protocol.env_id):
        run, trajectories = evaluate(load_agent(name), protocol, name=name, out=tmp_path / name)
        assert len(trajectories) == 38
        env = protocol.make_env()
        assert all(difference(each, replay(env, each)) is None for each in trajectories[:5])
        assert read_run(tmp_path / name) == (run, trajectories)
        rates[name] = score_run(protocol, trajectories).success_rate
    assert list(rates) == ["random", "reference", "expert"]
    assert rates["random"] <= 0.05
    assert rates["reference"] == 1.0
    assert rates["expert"] >= 0.5


def test_the_command_says_what_official_games_need(tmp_path: Path) -> None:
    arguments = ["--agent", "random", "--protocol", "alfworld-seen/v1", "--out", str(tmp_path / "run")]
    done = run_here("natlang", "evaluate", *arguments, environment={"ALFWORLD_DATA": str(tmp_path)})
    assert done.returncode == 2
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("natlang:")]
    assert "holds none of the official games of valid_seen: run `pip install alfworld`" in line
    assert "Traceback" not in done.stderr
