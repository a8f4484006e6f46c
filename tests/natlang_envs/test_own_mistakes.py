"""Mistakes in what a user writes or asks for are one line that names the place: hooks, agents, tasks, flags."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from leaderboard.pack import pack
from natlang_envs import ENVIRONMENTS, UsageError, record
from natlang_envs.env import Outcome
from natlang_envs.evaluation import Decision, evaluate, load_agent, load_protocol
from natlang_envs.evaluation.workers import Workers
from natlang_envs.learners import trl
from natlang_envs.sandbox import AutoExploreSandbox
from natlang_envs.tasks import TaskList
from natlang_envs.two_player import aec_env
from tests.natlang_envs.test_cli import natlang, refused
from tests.support.corridor import Corridor

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
FEW = load_protocol("dangerous-taxi-pickup/v1").first(2)


@pytest.mark.parametrize(
    ("hook", "given", "words"),
    [
        ("_begin", None, r"Wrong\._begin gave None: give a str"),
        ("_observe", None, r"Wrong\._observe gave None: give a str"),
        ("_act", None, r"Wrong\._act gave None: give Outcome\(feedback, reward, terminated, success\)"),
        ("_act", ("fine", 1.0, True), r"Wrong\._act gave \('fine', 1\.0, True\): give Outcome"),
        ("_act", Outcome("fine", "1"), r"Wrong\._act gave '1': give a number as the reward"),  # type: ignore[arg-type]
        ("_act", Outcome(None, 1.0), r"Wrong\._act gave None: give a str as the feedback"),  # type: ignore[arg-type]
        ("_admissible_commands", None, r"Wrong\._admissible_commands gave None: give a tuple of str"),
        ("_admissible_commands", "go east", r"gave 'go east': give a tuple of str"),
        ("_admissible_commands", (1, 2), r"gave \(1, 2\): give a tuple of str"),
    ],
)
def test_a_hook_that_gives_something_else_is_named(hook: str, given: Any, words: str) -> None:
    env = type("Wrong", (Corridor,), {hook: lambda self, *_: given})()

    def play() -> None:
        env.reset(seed=0)
        env.step("light the lamp")

    with pytest.raises(UsageError, match=words):
        play()


def test_a_reward_may_be_any_number_and_a_list_of_commands_may_change() -> None:
    class Numbers(Corridor):
        """Rewards of NumPy, and one list of commands that grows."""

        def __init__(self) -> None:
            super().__init__()
            self._all = ["go east"]

        def _act(self, command: str) -> Outcome:
            self._all[:] = ["go west", "go east"]
            return Outcome("You walk on.", np.float32(0.5))  # type: ignore[arg-type]

        def _admissible_commands(self) -> Any:
            return self._all

    env = Numbers()
    assert env.reset(seed=0)[1]["admissible_commands"] == ("go east",)
    _, reward, *_, info = env.step("go east")
    assert reward == 0.5
    assert info["admissible_commands"] == ("go west", "go east")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3,), "3 is no action: give the command, a str"),
        (("move south", 3), "3 is no reflection: give a str, or None"),
        (("move south", None, "5"), "tokens must be a whole number of at least 0, not '5'"),
        (("move south", None, -5), "tokens must be a whole number of at least 0, not -5"),
    ],
)
def test_a_decision_holds_texts_and_a_count(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Decision(*arguments)


def test_an_agents_file_that_imports_what_is_not_here_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_of_two.py").write_text("import nosuchmodule\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="module 'mine_of_two' imports 'nosuchmodule', and there is no"):
        load_agent("mine_of_two:agent")
    with pytest.raises(UsageError, match="no module 'mine_of_tow' in this folder"):
        load_agent("mine_of_tow:agent")
    sys.modules.pop("mine_of_two", None)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "b", "a"], "the task 'a' is listed twice"),
        ([1, 2], "1 is no task id: give a str"),
    ],
)
def test_a_list_of_tasks_holds_each_once(ids: list[Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TaskList("mine", ids, "all")


def test_a_text_is_no_flag(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    for wrong in (
        lambda: trl.tasks(PICKUP, 3, split="test", allow_test="no"),  # type: ignore[arg-type]
        lambda: trl.tasks(PICKUP, 3, chat="no"),  # type: ignore[arg-type]
        lambda: trl.rollout(PICKUP, listed_only="no"),  # type: ignore[arg-type]
        lambda: trl.environment(PICKUP, changes_only="no"),  # type: ignore[arg-type]
        lambda: aec_env(PICKUP, equal_spaces="no"),  # type: ignore[arg-type]
        lambda: AutoExploreSandbox(tmp_path, unsafe="no"),  # type: ignore[arg-type]
        lambda: record(FEW, tmp_path / "run", sampling="no"),  # type: ignore[arg-type]
        lambda: record(FEW, tmp_path / "run", resume="no"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match="must be True or False, not 'no'"):
            wrong()


def test_nobody_but_the_two_players_observes() -> None:
    env = aec_env(PICKUP)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="unknown player 'reflecter_0': choose one of reflector_0, policy_0"):
        env.unwrapped.observe("reflecter_0")


def test_two_loops_do_not_write_one_run(tmp_path: Path) -> None:
    first, second = (record(FEW, tmp_path / "run", resume=True) for _ in range(2))

    def play(env: Any, command: str) -> None:
        env.reset()
        while not any(env.step(command)[2:4]):
            pass

    play(first, "move north")
    with pytest.raises(UsageError, match=r"another loop has gone on in .*run since this one began"):
        play(second, "pick up passenger")
    play(first, "move north")
    assert not first.episodes_left


def test_the_workers_play_the_agent_that_is_evaluated() -> None:
    with pytest.raises(UsageError, match="that of the workers, 'random', is"):
        evaluate(load_agent("oracle"), FEW, workers=Workers(1, agent="random"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"source": "realistic", "game": "x.tw-pddl"}, "a game of your own takes no source"),
        ({"source": "realistic", "goals": "new", "game": "x.tw-pddl"}, "a game of your own takes no source"),
        ({"task_types": [True]}, "unknown task type True"),
        ({"task_types": [2.0]}, r"unknown task type 2\.0"),
        ({"difficulty": {"plan_length": 3}}, "must be a lowest and a highest number"),
        ({"difficulty": {"plan_length": (1.9, 8.9)}}, "must be a lowest and a highest number"),
        ({"difficulty": {"plan_length": ("1", "8")}}, "must be a lowest and a highest number"),
    ],
)
def test_arguments_of_alfworld_that_would_change_nothing(arguments: dict[str, Any], words: str) -> None:
    assert any(each.id == "NatLang/ALFWorld-v0" for each in ENVIRONMENTS)
    with pytest.raises(UsageError, match=words):
        gymnasium.make("NatLang/ALFWorld-v0", **arguments)


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    live = ("protocol", "live", "dangerous-taxi-pickup-cities/v1", "--beacon", "x", "--out")
    assert "file" in refused(*live, str(tmp_path / "file" / "round.json"))
    assert "File name too long" in refused(*live, str(tmp_path / f"{'x' * 300}.json"))
    (tmp_path / "round.json").write_text("{}")
    assert "round.json is there: choose another --out" in refused(*live, str(tmp_path / "round.json"))
    assert (tmp_path / "round.json").read_text() == "{}"


def test_replay_names_the_protocol_that_was_played(tmp_path: Path) -> None:
    evaluate(load_agent("random"), FEW, name="random", out=tmp_path / "run")
    done = natlang("replay", str(tmp_path / "run"), "--protocol", "dangerous-taxi-pickup-cities/v1")
    assert done.returncode == 1
    assert "it was played on dangerous-taxi-pickup/v1, not on dangerous-taxi-pickup-cities/v1" in done.stdout
    own = replace(FEW, name="mine/v1")
    evaluate(load_agent("random"), own, name="random", out=tmp_path / "own")
    assert "was played on mine/v1, a protocol of your own: add --protocol FILE" in refused(
        "replay", str(tmp_path / "own")
    )
    with pytest.raises(UsageError, match=r"was played on mine/v1, a protocol of your own: add --protocol FILE"):
        pack(tmp_path / "own", name="me", out=tmp_path / "submissions", disclosure="None.")


def test_a_wording_that_embedded_repositories_do_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="embedded repositories have no hard wording"):
        gymnasium.make("NatLang/AutoExplore-v0", dataset="embedded", wording="hard")
