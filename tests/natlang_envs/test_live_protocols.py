"""Live rounds: the same beacon draws the same tasks everywhere, none of which is on a list."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs import UsageError, unwrap
from natlang_envs.evaluation import (
    Round,
    evaluate,
    live_boards,
    live_protocol,
    load_agent,
    load_protocol,
    protocol_names,
    read_run,
    record,
    why_development,
)
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.runner import score_run
from tests.natlang_envs.test_cli import natlang, refused
from tests.strategies import examples
from tests.support.slow import slow_unless

TASKS = 200
TAXI, HOUSE = "dangerous-taxi-pickup-cities/v1", "alfworld-generated/v1"


def test_each_board_says_whether_it_is_live_or_for_development_and_why() -> None:
    assert live_boards() == [
        "alfworld-generated/v1",
        "alfworld-tomato/v1",
        "dangerous-taxi-dropoff-cities/v1",
        "dangerous-taxi-pickup-cities/v1",
    ]
    for name in protocol_names():
        if name not in live_boards():
            assert why_development(name).startswith("its ")
    with pytest.raises(UsageError, match="unknown board 'alfworld-generatd/v1': choose one of alfworld-generated/v1"):
        why_development("alfworld-generatd/v1")


@pytest.mark.parametrize("board", slow_unless(lambda number: number < 2, live_boards()))
def test_a_rounds_tasks_are_new_and_can_be_won(board: str) -> None:
    static, made = load_protocol(board), live_protocol(Round(board, "2026-12"), "a made-up beacon")
    assert (made.name, made.env_id, made.kwargs, made.horizon, made.runs) == (
        f"{board}-2026-12",
        static.env_id,
        static.kwargs,
        static.horizon,
        static.runs,
    )
    tasks = [each.task_id for each in made.episodes]
    assert len(set(tasks)) == len({each.seed for each in made.episodes}) == TASKS
    assert not set(tasks) & {each.task_id for each in static.episodes}
    listed = unwrap(static.make_env()).tasks
    if board.startswith("alfworld"):
        assert not set(tasks) & set(listed.ids())
    else:
        assert not {task.split("/")[0] for task in tasks} & set(listed.pool)  # type: ignore[attr-defined]
    run, trajectories = evaluate(load_agent("oracle"), made)
    assert score_run(made, trajectories).success_rate == 1.0
    assert run.protocol_digest == made.digest != static.digest


def test_tasks_and_seeds_depend_on_the_beacon_and_the_board_alone() -> None:
    made = live_protocol(Round(HOUSE, "2026-12"), "beacon")
    assert live_protocol(Round(HOUSE, "2026-12"), " beacon\n") == made
    assert live_protocol(Round(HOUSE, "2027-01"), "beacon").episodes == made.episodes
    other = live_protocol(Round(HOUSE, "2026-12"), "Beacon")
    assert not {each.task_id for each in other.episodes} & {each.task_id for each in made.episodes}
    assert not {each.seed for each in other.episodes} & {each.seed for each in made.episodes}


def test_what_a_beacon_draws_is_pinned(golden: Callable[[str, str], None]) -> None:
    digests = [f"{live_protocol(Round(each, '2026-12'), 'beacon').digest} {each}\n" for each in live_boards()]
    golden("live-protocol-digests.txt", "".join(digests))


@settings(max_examples=examples(200))
@given(text=st.text(max_size=40) | st.from_regex(r"[a-z-]+/v[0-9]-20[0-9]{2}-[0-9]{2}", fullmatch=True))
def test_a_rounds_name_is_read_back_and_other_names_are_none(text: str) -> None:
    found = find_round(text)
    assert found is None or (found.name == text and found.board in live_boards())
    assert find_round(Round(TAXI, "2026-09").name) == Round(TAXI, "2026-09")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("autoexplore/v1", "--beacon", "x"), "development board (its questions and their answers are public)"),
        (("dangerous-taxi-pickup/v1", "--beacon", "x"), "development board (its map has 300 starts in 500 states"),
        (("alfworld/v1", "--beacon", "x"), "unknown board 'alfworld/v1': choose one of alfworld-"),
        ((HOUSE, "--beacon", " "), "the beacon is empty"),
        ((HOUSE, "--beacon", "x", "--month", "2026-13"), "'2026-13' is no month: write YYYY-MM"),
        ((HOUSE,), "Missing option '--beacon'"),
    ],
)
def test_a_round_that_cannot_be_drawn_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refused("protocol", "live", *arguments)


@pytest.mark.slow
def test_a_round_is_drawn_evaluated_and_replayed_by_commands(tmp_path: Path) -> None:
    file, run = tmp_path / "round.json", str(tmp_path / "run")
    live = ("protocol", "live", TAXI, "--beacon", "beacon", "--month", "2026-12")
    assert natlang(*live, "--out", str(file)).stdout.startswith(f"{file} holds {TAXI}-2026-12, {TASKS} tasks, digest ")
    assert natlang(*live).stdout == file.read_text() == live_protocol(Round(TAXI, "2026-12"), "beacon").to_json()
    told = refused("evaluate", "--agent", "random", "--protocol", f"{TAXI}-2026-12", "--out", run)
    assert "is a live round: write it to a file by natlang protocol live --beacon TEXT --month 2026-12" in told
    assert natlang("evaluate", "--agent", "random", "--protocol", str(file), "--out", run).returncode == 0
    assert read_run(Path(run))[0].protocol == f"{TAXI}-2026-12"
    assert "holds: 200 episodes" in natlang("replay", run, "--protocol", str(file)).stdout
    assert "is a live round" in refused("replay", run)
    assert record(str(file), tmp_path / "loop").episodes_left == TASKS


@pytest.mark.parametrize(
    "change",
    [
        {"horizon": "15"},
        {"horizon": 0},
        {"runs": True},
        {"kwargs": []},
        {"episodes": []},
        {"episodes": [["map-0001/0.0/red-green", "0"]]},
        {"episodes": [["map-0001/0.0/red-green"]]},
        {"description": None},
        {"more": 1},
        {"local": {"dataset": "x"}},
    ],
)
def test_a_file_that_holds_no_protocol_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "round.json"
    content = json.loads(load_protocol(TAXI).to_json())
    path.write_text(load_protocol(TAXI).to_json())
    assert load_protocol(str(path)) == load_protocol(TAXI)
    path.write_text(json.dumps({**content, **change}))
    with pytest.raises(UsageError, match=r"round\.json (holds no protocol|is not as a protocol is written)") as told:
        load_protocol(str(path))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"episodes": 1}'])
def test_a_file_of_something_else_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "round.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="make it with natlang protocol live") as told:
        load_protocol(str(path))
    assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="cannot be read"):
        load_protocol(str(tmp_path / "none.json"))
