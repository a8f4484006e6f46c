"""An environment without a plan of its own is played, evaluated and scored; only who asks for the plan is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natlang_envs import NatLangEnv, Registration, UsageError, register
from natlang_envs.cli.main import app
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.evaluation.runner import score_run
from tests.support.corridor import Corridor

ID = "Tests/Unplanned-v0"
PROTOCOL = Protocol("unplanned/v1", ID, {}, 9, 1, (Episode("room-0/room-1", 0),), "Rooms.")


class Unplanned(Corridor):
    """A corridor of which nobody has written the plan."""

    oracle = NatLangEnv.oracle


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    register(Registration(ID, f"{__name__}:Unplanned", "No plan."))


def test_it_is_scored_without_regret(tmp_path: Path) -> None:
    _, played = evaluate(load_agent("random"), PROTOCOL, out=tmp_path / "run")
    score = score_run(PROTOCOL, played)
    assert (score.episodes, score.mean_regret) == (1, None)


@pytest.mark.parametrize("agent", ["oracle", "reference"])
def test_who_follows_the_plan_is_told_that_there_is_none(agent: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Unplanned has no plan: write its oracle\(\) or reference\(\)$"):
        evaluate(load_agent(agent), PROTOCOL, out=tmp_path / "run")


def test_a_person_plays_it_and_hints_are_refused() -> None:
    commands = "go east\nlight the lamp\n"
    done = CliRunner().invoke(app, ["play", ID, "--task", "room-0/room-1"], input=commands)
    assert done.exit_code == 0, done.output
    assert "Success: return 0 in 2 steps.\n" in done.output
    assert isinstance(CliRunner().invoke(app, ["play", ID, "--hints"]).exception, UsageError)


def test_a_protocol_finds_the_environment_of_a_module_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rooms_here.py").write_text(
        "from natlang_envs import Registration, register\n"
        "register(Registration('Here/Rooms-v0', 'tests.support.corridor:Corridor', 'Rooms.'))\n"
    )
    monkeypatch.chdir(tmp_path)
    here = replace(PROTOCOL, env_id="rooms_here:Here/Rooms-v0")
    assert evaluate(load_agent("oracle"), here, out=tmp_path / "run")[1][0].success
    with pytest.raises(UsageError, match="nowhere:Here/Rooms-v0 cannot be made: No module named 'nowhere'"):
        replace(PROTOCOL, env_id="nowhere:Here/Rooms-v0").make_env()
