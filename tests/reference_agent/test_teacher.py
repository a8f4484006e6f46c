"""The oracle teacher and what is collected from it: Algorithm 1, lines 2 to 20."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import natlang_envs
from natlang_envs.errors import UsageError
from natlang_envs.repository.words import stem
from reference_agent.data_set import Example, read_examples, write_examples
from reference_agent.families import phrases
from reference_agent.run.config import TeacherConfig
from reference_agent.teachers.base import Moment, agrees
from reference_agent.teachers.choose import make_teacher
from tests.reference_agent.conftest import collect, quick_config

ALL_STARTS = list(natlang_envs.unwrap(gymnasium.make("NatLang/DangerousTaxi-v0")).tasks.ids())
QUESTIONS = list(natlang_envs.unwrap(gymnasium.make("NatLang/AutoExplore-Search-v0")).tasks.ids())


@pytest.mark.parametrize("env_id", ["NatLang/DangerousTaxi-Pickup-v0", "NatLang/DangerousTaxi-Dropoff-v0"])
def test_every_reflection_agrees_with_its_action_on_the_whole_way_of_every_start(env_id: str) -> None:
    env = natlang_envs.unwrap(gymnasium.make(env_id))
    teacher = make_teacher(env, np.random.default_rng(0), TeacherConfig())
    said: set[str] = set()
    for task_id in ALL_STARTS:
        observation, info = env.reset(options={"task_id": task_id})
        ended = False
        while not ended:
            lesson = teacher(Moment(env, "", (), (), observation, info))
            assert lesson.reflection is not None
            assert lesson.action == env.oracle()[0]
            named = [command for command in info["admissible_commands"] if command in lesson.reflection]
            assert named == [lesson.action], lesson.reflection
            assert "optimal" not in lesson.reflection.lower()
            assert "  " not in lesson.reflection
            assert "{" not in lesson.reflection
            said.add(lesson.reflection)
            observation, _, terminated, truncated, info = env.step(lesson.action)
            ended = terminated or truncated
        assert info["success"]
    assert len(said) > 100, "the wording varies"


@pytest.mark.parametrize(("city", "games"), [("classic", 400), ("generated", 150)])
def test_a_teacher_that_looks_at_walls_says_what_is_there_and_drives_by_it(city: str, games: int) -> None:
    env = natlang_envs.unwrap(gymnasium.make("NatLang/DangerousTaxi-Dropoff-v0", map=city))
    teacher = make_teacher(env, np.random.default_rng(0), TeacherConfig(options={"walls": True}))
    random = np.random.default_rng(1).random
    arrived = 0
    seen: set[str] = set()
    for _ in range(games):
        observation, info = env.reset(options={"task_id": env.tasks.draw(random)})
        ended = False
        while not ended:
            lesson = teacher(Moment(env, "", (), (), observation, info))
            assert lesson.reflection is not None
            assert agrees(lesson.reflection, lesson.action, info["admissible_commands"]), lesson.reflection
            told = re.search(r"(a|no) wall (between columns \d and \d)(?: (in rows? [^:]+):)?", lesson.reflection)
            if told:
                kind, border, rows = told.groups()
                seen |= {kind, *re.findall("open|closed|none", lesson.reflection)}
                there = re.search(rf"{border} (in rows? \d(?: to \d)?)", observation)
                assert (there and there[1]) == rows, (lesson.reflection, observation)
            observation, _, terminated, truncated, info = env.step(lesson.action)
            assert info["success"] or not terminated, lesson.reflection
            ended = terminated or truncated
        arrived += info["success"]
    assert arrived >= 0.97 * games
    assert seen == {"a", "no", "open", "closed", "none"}


@given(task_id=st.sampled_from(QUESTIONS), seed=st.integers(0, 99), steps=st.integers(0, 4))
def test_a_teacher_that_searches_wins_by_fewest_commands_and_speaks_of_the_list_alone(
    task_id: str, seed: int, steps: int
) -> None:
    env = natlang_envs.unwrap(gymnasium.make("NatLang/AutoExplore-Search-v0"))
    rng = np.random.default_rng(seed)
    teacher = make_teacher(env, rng, TeacherConfig())
    observation, info = env.reset(options={"task_id": task_id})
    for _ in range(steps):  # from anywhere
        going = [each for each in info["admissible_commands"] if not each.startswith("id ") and each != "exit"]
        observation, _, _, _, info = env.step(going[int(rng.integers(len(going)))])
    plan = env.oracle()
    for left in range(len(plan), 0, -1):
        reflection, action = teacher(Moment(env, "", (), (), observation, info))
        assert len(env.oracle()) == left
        assert reflection is not None
        assert agrees(reflection, action, info["admissible_commands"]), reflection
        listed = observation.partition("# Hits\n")[2].lower()
        if found := re.search(r"(?:By|goes with) (.+?)(?:, one|: id) ", reflection):  # of the words named, one place
            place = action.removeprefix("id ").lower()
            lines = [line for line in listed.split("\n") if line.startswith(f"{place} (")]
            assert all(any(stem(word) in line for line in lines) for word in re.split(", | and ", found[1])), reflection
        observation, _, _, _, info = env.step(action)
    assert info["success"] == (plan != ["exit"])


def test_a_teacher_that_searches_goes_on_in_the_question_so_that_its_rule_meets_every_word() -> None:
    """A player who forgets its path, and took the best word anew after each list, would go between two for ever."""
    env = natlang_envs.unwrap(gymnasium.make("NatLang/AutoExplore-Search-v0"))
    teacher = make_teacher(env, np.random.default_rng(0), TeacherConfig())
    on = 0
    for task_id in QUESTIONS:
        _, info = env.reset(options={"task_id": task_id})
        searches = [each for each in info["admissible_commands"] if each.startswith("search ")]
        for at, search in enumerate(searches):
            env.reset(options={"task_id": task_id})
            observation, _, _, _, info = env.step(search)
            found = teacher(Moment(env, "", (), (), observation, info))[1]
            if found in searches:
                between = [*searches[at + 1 :], *searches[:at]]
                for other in between[: between.index(found)]:
                    env.reset(options={"task_id": task_id})
                    assert env.step(other)[4]["success"] is False
                    assert not env.oracle()[0].startswith("id "), "a word between them would have done"
                    on += 1
    assert on > 20


def test_a_negative_example_shows_the_wrong_step_in_its_path_and_says_so() -> None:
    examples = collect(quick_config())
    negatives = [each for each in examples if each.negative]
    assert negatives
    for each in negatives:
        step = next(line for line in each.state.splitlines() if line.startswith("- "))
        wrong = step.removeprefix("- ").partition(":")[0]
        assert -1 < each.reflection.find(wrong) < each.reflection.rfind(each.action), "the action is named last"
    for text in (text for each in examples for text in (each.state, each.reflection)):
        assert "spoiler" not in text
        assert "oracle" not in text


def test_regret_may_come_last_and_then_names_no_command() -> None:
    examples = collect(quick_config("teacher.regret='last'", "collect.negatives=5"))
    last = set(phrases("dangerous-taxi")["regret_last"])
    for each in examples:
        behind = each.reflection[each.reflection.rindex(each.action) + len(each.action) :].removeprefix(". ")
        named = [command for command in each.commands if command in each.reflection]
        assert named == [each.action]
        assert (behind.replace("the waiting passenger", "{goal}").replace("the passenger", "{goal}") in last) is (
            each.negative
        ), each.reflection
    assert any(each.negative for each in examples)
    with pytest.raises(UsageError, match=r"unknown teacher\.regret"):
        collect(quick_config("teacher.regret='never'"))


def test_negative_examples_are_kept_only_where_the_plan_got_longer_and_the_game_goes_on() -> None:
    config = quick_config("collect.negatives=5", "collect.trajectories=6")
    env = natlang_envs.unwrap(gymnasium.make("NatLang/DangerousTaxi-Pickup-v0"))
    examples = collect(config)
    for number in range(6):
        mine = [each for each in examples if each.trajectory == number]
        _, _ = env.reset(options={"task_id": mine[0].task_id})
        way = [each for each in mine if not each.negative and not each.restart]
        assert len(way) == len(env.oracle()) * config.collect.wordings
        for each in mine:
            if each.negative:
                assert "illegal, the game is over" not in each.state


def test_each_moment_is_told_in_several_wordings_of_one_action() -> None:
    examples = collect(quick_config("collect.negatives=0", "collect.wordings=5"))
    for first in range(0, len(examples), 5):
        told = examples[first : first + 5]
        assert len({(each.trajectory, each.state, each.action) for each in told}) == 1
    assert len({each.reflection for each in examples}) > len(examples) / 3


def test_tasks_come_from_the_split_and_are_all_different() -> None:
    examples = collect(quick_config("collect.trajectories=20"))
    tasks = {each.trajectory: each.task_id for each in examples}
    assert len(set(tasks.values())) == 20
    train = set(natlang_envs.unwrap(gymnasium.make("NatLang/DangerousTaxi-v0", split="train")).tasks.ids())
    assert set(tasks.values()) <= train


def test_the_same_seed_collects_the_same_and_files_hold_it(tmp_path: Path) -> None:
    assert collect(quick_config()) == collect(quick_config())
    assert collect(quick_config()) != collect(quick_config("seed=1"))
    examples: list[Example] = collect(quick_config())
    write_examples(tmp_path / "examples.jsonl", examples)
    assert read_examples(tmp_path / "examples.jsonl") == examples


@pytest.mark.parametrize("content", ["", "\n", "{", '{"state": 1}', "[]"])
def test_a_damaged_data_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "examples.jsonl"
    if content:
        path.write_text(content)
    with pytest.raises(UsageError, match=r"examples\.jsonl holds no reflection data"):
        read_examples(path)
