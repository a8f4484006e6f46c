"""An audit passes honest agents and catches recordings that were chosen among many."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.agent_files import copy_agent_files
from leaderboard.audit import audit
from leaderboard.audit.auditing import _at_most_p, unlisted
from leaderboard.pack import pack
from leaderboard.standings.badges import BADGES_FILE, read_badges
from natlang_envs import UsageError, unwrap
from natlang_envs.evaluation import evaluate, load_agent, load_protocol
from tests.leaderboard.conftest import Finished
from tests.leaderboard.forge import PROTOCOL

AGENTS = Path(__file__).with_name("audited.py")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, that holds the agents."""
    shutil.copy(AGENTS, tmp_path)
    sys.modules.pop("audited", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry_of(agent: str, folder: Path, *, deterministic: bool = False, protocol: str = PROTOCOL) -> Path:
    evaluate(load_agent(agent), protocol, out=folder / "run", batch=1)
    return pack(folder / "run", name="agent", out=folder / "submissions", deterministic=deterministic)


def test_honest_agents_pass(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    entry = entry_of("audited:south", tmp_path / "fixed", deterministic=True)
    fixed = audit(entry, "audited:south", "beacon", progress=lambda *now: told.append(now))
    episodes = 2 * fixed.episodes + fixed.played_fresh
    assert told == [(done, episodes) for done in range(1, episodes + 1)]
    assert (fixed.same, fixed.problem, fixed.open) == (fixed.steps, "", ())
    drawn = audit(entry_of("audited:Drawing", tmp_path / "drawn"), "audited:Drawing", "beacon")
    # It draws from what the runner gives, and so the same again.
    assert drawn.same == drawn.steps
    assert drawn.problem == ""


def test_white_space_around_a_command_is_nothing_to_the_audit(tmp_path: Path) -> None:
    spaced = audit(entry_of("audited:spaced", tmp_path / "spaced", deterministic=True), "audited:spaced", "beacon")
    assert (spaced.same, spaced.again, spaced.problem) == (spaced.steps, spaced.recorded, "")
    assert spaced.recorded > 0


def test_best_of_many_tries_is_caught(tmp_path: Path) -> None:
    found = audit(entry_of("audited:BestOfMany", tmp_path), "audited:Drawing", "beacon")
    assert found.recorded >= found.again + 5
    assert "playing again has" in found.problem


@pytest.mark.parametrize("said", ["audited:drawing_unsaid", "audited:Drawing"])
def test_a_run_of_a_sampler_that_is_called_deterministic_is_caught(tmp_path: Path, said: str) -> None:
    entry = entry_of("audited:Likely", tmp_path)
    content = json.loads((entry / "submission.json").read_text())
    content.update(deterministic=True)
    content["run"]["sampling"] = False
    (entry / "submission.json").write_text(json.dumps(content))
    found = audit(entry, said, "beacon")
    assert "of an agent that does not draw are other ones" in found.problem


def test_calling_an_agent_that_does_not_draw_a_sampler_switches_no_check_off(tmp_path: Path) -> None:
    # The entry says that it draws; the agent does not, and is held to its word.
    found = audit(entry_of("audited:Drawing", tmp_path), "audited:south", "beacon")
    assert "of an agent that does not draw are other ones" in found.problem


@pytest.fixture
def of_the_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the agents of the tests be made by the board's own loader."""
    monkeypatch.setattr(
        "leaderboard.audit.agent_process.copy_agent_files",
        lambda *given: replace(copy_agent_files(*given), own_loader=True),
    )


@pytest.mark.usefixtures("of_the_board")
def test_draws_are_as_likely_as_the_agent_says(tmp_path: Path) -> None:
    honest = audit(entry_of("audited:Leaning", tmp_path / "honest"), "audited:Leaning", "beacon")
    assert honest.surprise is not None
    assert abs(honest.surprise) < 3
    assert honest.problem == ""
    kept = audit(entry_of("audited:Likely", tmp_path / "kept"), "audited:Leaning", "beacon")
    assert "more likely than draws are" in kept.problem
    other = audit(entry_of("audited:LeaningOtherwise", tmp_path / "other"), "audited:Leaning", "beacon")
    assert "less likely than draws are" in other.problem
    never = audit(tmp_path / "other" / "submissions" / PROTOCOL / "agent", "audited:Certain", "beacon")
    assert "are none that the agent can draw" in never.problem


def test_chances_of_an_agent_that_the_board_did_not_make_count_for_nothing(tmp_path: Path) -> None:
    found = audit(entry_of("audited:Leaning", tmp_path), "audited:Leaning", "beacon")
    assert found.surprise is None
    # A cheat that finds all actions alike would excuse any other action.
    entry = entry_of("audited:EvenSecond", tmp_path / "second", deterministic=True)
    excused = audit(entry, "audited:Even", "beacon")
    assert (excused.same, excused.drifted) == (0, 0)
    assert "of an agent that does not draw are other ones" in excused.problem


@pytest.mark.usefixtures("of_the_board")
def test_an_action_may_differ_at_few_steps_where_two_are_all_but_alike(tmp_path: Path) -> None:
    entry = entry_of("audited:Even", tmp_path, deterministic=True)
    few = audit(entry, "audited:Rounded", "beacon")
    assert 0 < few.drifted <= 0.05 * few.steps
    assert (few.same + few.drifted, few.problem) == (few.steps, "")
    all_ = audit(entry, "audited:EvenSecond", "beacon")
    assert (all_.same, all_.drifted) == (0, all_.steps)
    assert "are only all but as likely as those chosen now" in all_.problem
    with pytest.raises(UsageError, match="are no probabilities of the listed commands"):
        audit(entry, "audited:Absurd", "beacon")


@pytest.mark.slow
def test_tasks_that_the_protocol_does_not_list_are_played_too(tmp_path: Path) -> None:
    protocol = load_protocol("alfworld-generated/v1")
    env = unwrap(protocol.make_env())
    plans = {env.reset(options={"task_id": each.task_id})[0]: env.reference() for each in protocol.episodes}
    (tmp_path / "plans.json").write_text(json.dumps(plans))
    entry = entry_of("audited:ByHeart", tmp_path, deterministic=True, protocol=protocol.name)
    with pytest.raises(UsageError, match=r"the agent stopped: FileNotFoundError"):
        audit(entry, "audited:ByHeart", "beacon")
    (tmp_path / "own").mkdir()
    for name in ("plans.json", "audited.py"):
        shutil.copy(tmp_path / name, tmp_path / "own")
    found = audit(entry, "audited:ByHeart", "beacon", files=tmp_path / "own")
    # Tasks of one room and one goal begin alike, some 50 of the listed and 70 of the others: a plan wins some of these.
    assert found.recorded == found.again >= len(plans)
    assert found.played_fresh == 200
    assert found.fresh <= 20
    assert re.match(r"^tasks drawn afresh are won \d+ times in 200 \(p = ", found.problem)


def test_fresh_tasks_are_none_that_the_board_lists() -> None:
    cities = load_protocol("dangerous-taxi-pickup-cities/v1")
    drawn = unlisted(cities, np.random.default_rng(0))
    assert len(set(drawn)) == 200
    assert not set(drawn) & {each.task_id for each in cities.episodes}
    assert unlisted(load_protocol(PROTOCOL), np.random.default_rng(0)) == []


@given(st.integers(0, 30), st.integers(0, 200))
def test_at_most_p_is_fishers_test(won: int, others: int) -> None:
    p = _at_most_p(won, 30, others, 200)
    assert 0 < p <= 1
    assert _at_most_p(30, 30, others, 200) == 1
    assert won == 0 or _at_most_p(won - 1, 30, others, 200) <= p


@pytest.mark.slow
def test_another_beacon_gives_other_random_numbers(tmp_path: Path) -> None:
    entry = entry_of("audited:Drawing", tmp_path, protocol="alfworld-tomato/v1")
    assert audit(entry, "audited:Drawing", "one") == audit(entry, "audited:Drawing", "one")


def test_the_command_says_what_was_found_and_notes_the_badge(tmp_path: Path, command: Callable[..., Finished]) -> None:
    entry = entry_of("audited:Drawing", tmp_path)
    caught = command("audit", entry, "--agent", "audited:south", "--beacon", "x", "--note")
    assert caught.code == 2
    assert "does not pass" in caught.err[-1]
    assert not (tmp_path / BADGES_FILE).exists()
    passed = command("audit", entry, "--agent", "audited:Drawing", "--beacon", "x", "--note")
    assert passed.code == 0
    assert "no tasks are left to draw afresh" in passed.out[0]
    assert list(read_badges(tmp_path / BADGES_FILE).audited) == [f"{PROTOCOL}/agent"]
    with pytest.raises(UsageError, match="nothing to audit"):
        audit(entry, "oracle", "x")
    with pytest.raises(UsageError, match="there is no agent and no module 'nowhere' here"):
        audit(entry, "nowhere:agent", "x")
    with pytest.raises(UsageError, match="this agent gets all episodes in order, in one process: leave out --jobs"):
        audit(entry, "audited:Drawing", "x", jobs=2)
    with pytest.raises(UsageError, match="the environment variable NOT_SET is not set"):
        audit(entry, "audited:south", "x", variables=["NOT_SET"])
