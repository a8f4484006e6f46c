"""Folders of games, and sentences that people wrote: every check, what is chosen, what is refused, and who reads it."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from natlang_envs import UsageError, unwrap
from natlang_envs.alfworld import ALFWorldEnv, Expert, ExpertAgent, SubgoalReward
from natlang_envs.alfworld.engine.grammar import TASK_PREFIX
from natlang_envs.alfworld.games.generator import generate, task_ids
from natlang_envs.alfworld.games.official import COUNTS
from natlang_envs.conformance import CHECKS, Case, Check, NotApplicable
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.prompt import PathStep
from tests.support.alfworld_real import needs_textworld
from tests.support.slow import slow_processes

FILE = json.loads(lzma.decompress(Path(__file__).with_name("release_2.1.2.json.xz").read_bytes()))
SENTENCE = 'Your task is to: examine the alarmclock with the desklamp."'
IDS = tuple(task_ids(True, numbers=range(1)))[::40]
HEAT, LOOK = "pick_heat_then_place_in_recep", "look_at_obj_in_light"
HUMAN = ["Warm it up,  then put it away. ", 'Say "go".', "Rules [such as this] {one}", "Make it hot!", ""]
SAID = {"Warm it up, then put it away.", "Make it hot!"}


def put(folder: Path, task_id: str, people: list[str] | None = None, **fields: Any) -> None:
    """Write a generated game as `alfworld-generate` does, in the words of what alfworld 0.4.2 downloads."""
    folder.mkdir(parents=True)
    text = generate(task_id)
    content = {**FILE, "pddl_problem": text.problem, "grammar": FILE["grammar"].replace(SENTENCE, f'{text.task}"')}
    (folder / "game.tw-pddl").write_text(json.dumps({**content, **fields}), encoding="utf-8")
    notes = {
        "task_type": task_id.split("/")[2],
        "turk_annotations": {"anns": [{"task_desc": each} for each in people or []]},
    }
    (folder / "traj_data.json").write_text(json.dumps(notes), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of games at several depths."""
    folder = tmp_path_factory.mktemp("games")
    for number, task_id in enumerate(IDS):
        put(folder / "/".join("deep" for _ in range(number % 3)) / f"game_{number}", task_id, HUMAN)
    return folder


def make(folder: Path, **kwargs: Any) -> ALFWorldEnv:
    env = unwrap(gymnasium.make("NatLang/ALFWorld-v0", source="folder", folder=str(folder), **kwargs))
    assert isinstance(env, ALFWorldEnv)
    return env


def refused(folder: Path | str | None, **kwargs: Any) -> str:
    with pytest.raises(UsageError) as caught:
        gymnasium.make("NatLang/ALFWorld-v0", **{"source": "folder", "folder": folder and str(folder), **kwargs})
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("human_goals", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("check", slow_processes(CHECKS), ids=lambda check: check.__name__)
def test_games_of_a_folder_conform(folder: Path, check: Check, human_goals: bool) -> None:
    case = Case("NatLang/ALFWorld-v0", {"source": "folder", "folder": str(folder), "human_goals": human_goals})
    if check.__name__ in ("oracle_is_exact", "splits_are_disjoint"):
        with pytest.raises(NotApplicable):
            check(case)
    else:
        check(case)


def test_every_game_below_the_folder_is_a_task_with_its_path_as_id(folder: Path) -> None:
    ids = list(make(folder).tasks.ids())
    assert ids == sorted(ids)
    assert set(ids) == {f"folder/{'deep/' * (number % 3)}game_{number}" for number in range(len(IDS))}
    env = make(folder)
    env.reset(options={"task_id": "folder/game_0"})
    assert env.task.endswith(generate(IDS[0]).task)


def test_task_types_and_goals_choose_among_the_games(folder: Path) -> None:
    types = [task_id.split("/")[2] for task_id in IDS]
    for number, name in ((2, LOOK), (4, HEAT)):
        for asked in (number, name):
            assert len(list(make(folder, task_types=[asked]).tasks.ids())) == types.count(name) > 0
    env = make(folder)
    env.reset(options={"task_id": "folder/game_0"})
    goal = f"{env.goal.object_type.title()}-{(env.goal.receptacle_type or env.goal.toggle_type).title()}"
    chosen = make(folder, goal=goal)
    assert "folder/game_0" in list(chosen.tasks.ids())
    for task_id in chosen.tasks.ids():
        env.reset(options={"task_id": task_id})
        assert (env.goal.object_type, env.goal.receptacle_type or env.goal.toggle_type) == tuple(
            goal.lower().split("-")
        )


def test_what_the_alfworld_package_leaves_out_is_left_out(tmp_path: Path) -> None:
    put(tmp_path / "good", IDS[0])
    put(tmp_path / "unsolvable", IDS[0], solvable=False)
    put(tmp_path / "pick_and_place_with_movable_recep-Mug-Plate-Shelf-4" / "trial", IDS[0], pddl_problem="")
    put(tmp_path / "pick_and_place_simple-AppleSliced-None-Shelf-5" / "trial", IDS[0], pddl_problem="")
    assert list(make(tmp_path).tasks.ids()) == ["folder/good"]


def test_a_bad_folder_is_refused_in_one_line_when_the_environment_is_made(tmp_path: Path) -> None:
    assert f"{tmp_path / 'none'} is no folder" in refused(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert "holds no game to play (none is called game.tw-pddl)" in refused(tmp_path / "empty")
    put(tmp_path / "a" / "no", IDS[0], solvable=False)
    assert "holds no game to play (no file says that its game can be solved)" in refused(tmp_path / "a")
    put(tmp_path / "b" / "other", IDS[0], pddl_domain=FILE["pddl_domain"].replace("(heatable ?o)", "(coolable ?o)"))
    assert "other/game.tw-pddl: its domain is not ALFWorld's" in refused(tmp_path / "b")
    put(tmp_path / "c" / "half", IDS[0], pddl_problem="(define (problem x) (:domain alfred)")
    assert "half/game.tw-pddl: this ALFWorld game is truncated" in refused(tmp_path / "c")
    put(tmp_path / "d" / "one", IDS[0])
    assert "has no game of the types" in refused(tmp_path / "d", goal="Sun-Moon")
    assert "takes no split ('train')" in refused(tmp_path / "d", split="train")
    assert "pass source='folder' and folder=PATH" in refused(None)
    assert "pass source='folder' and folder=PATH" in refused(tmp_path / "d", source="generated")
    assert "takes no folder" in refused(tmp_path / "d", game=str(tmp_path / "d" / "one" / "game.tw-pddl"))


# Sentences that people wrote.


def test_a_task_asks_in_one_of_the_sentences_that_people_wrote(folder: Path) -> None:
    env, said = make(folder, human_goals=True), set[str]()
    for task_id in env.tasks.ids():
        observation, _ = env.reset(options={"task_id": task_id})
        sentence = env.task.rpartition(TASK_PREFIX)[2]
        assert observation.endswith(TASK_PREFIX + sentence)
        said.add(sentence)
        again = make(folder, human_goals=True)
        assert again.reset(options={"task_id": task_id})[0] == observation
    assert said == SAID


def test_milestones_and_the_expert_read_the_goal_from_the_game(folder: Path) -> None:
    env = make(folder, human_goals=True)
    paid = SubgoalReward(env, 0.25)
    plain = SubgoalReward(make(folder), 0.25)
    for task_id in list(env.tasks.ids()):
        observation, info = paid.reset(options={"task_id": task_id})
        plain.reset(options={"task_id": task_id})
        plan = env.reference()
        assert [paid.step(command)[1] for command in plan] == [plain.step(command)[1] for command in plan]
        observation, info = paid.reset(options={"task_id": task_id})
        expert = Expert(observation, goal=env.goal)
        for _ in range(50):
            observation, _, ended, cut, info = paid.step(expert.choose(observation, info["admissible_commands"]))
            if ended or cut:
                break
        assert info["success"], task_id


def test_an_agent_that_reads_sentences_says_that_it_cannot_read_these(folder: Path) -> None:

    env = make(folder, human_goals=True)
    observation, info = env.reset(seed=1)
    view = AgentInput(
        info["task"], tuple[PathStep](), observation, info["admissible_commands"], np.random.default_rng()
    )
    with pytest.raises(UsageError, match="the expert agent plays without human_goals"):
        ExpertAgent()(view)


def test_official_games_ask_in_the_words_of_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COUNTS, "valid_seen", 1)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    trial = tmp_path / "json_2.1.1" / "valid_seen" / f"{HEAT}-Mug-None-Shelf-1" / "trial_1"
    put(trial, IDS[0], HUMAN)
    env = gymnasium.make("NatLang/ALFWorld-v0", source="official", split="valid_seen", human_goals=True)
    assert env.reset()[0].rpartition(TASK_PREFIX)[2] in SAID


def test_where_people_wrote_nothing_one_line_says_so(tmp_path: Path) -> None:
    put(tmp_path / "a" / "one", IDS[0], HUMAN[1:3])
    assert "holds no human goal in plain words" in refused(tmp_path / "a", human_goals=True)
    (tmp_path / "a" / "one" / "traj_data.json").write_text("[]")
    assert "holds no human goals" in refused(tmp_path / "a", human_goals=True)
    (tmp_path / "a" / "one" / "traj_data.json").unlink()
    assert "traj_data.json cannot be read (No such file or directory)" in refused(tmp_path / "a", human_goals=True)
    for source in ("generated", "mixed"):
        assert "people wrote no sentences" in refused(None, source=source, human_goals=True)
    assert refused(tmp_path / "a", human_goals="no") == "human_goals must be True or False, not 'no'"


@pytest.mark.slow
@needs_textworld
def test_textworld_states_a_sentence_that_people_wrote_as_we_do(folder: Path) -> None:
    ours, theirs = (make(folder, human_goals=True, backend=backend) for backend in ("native", "textworld"))
    for task_id in list(ours.tasks.ids())[:2]:
        options = {"task_id": task_id}
        assert ours.reset(options=options) == theirs.reset(options=options)
        for command in ours.reference():
            assert ours.step(command) == theirs.step(command)
