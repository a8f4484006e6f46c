"""AutoExplore: its rules, its commands and pages, its plans, and recorded games."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from natlang_envs import NatLangEnv
from natlang_envs.repository.texts import LAST_STEP, steps_left
from tests import strategies
from tests.support.explore_games import IDS, begun, own, section
from tests.support.folders import write
from tests.support.transcript import transcript

# Rules and rewards.


@pytest.mark.parametrize(
    ("commands", "reward", "success"),
    [
        (["cd boat", "cd engine", "id oil.md"], 15.0, True),
        (["cd boat", "cd engine", "cat oil.md", "id oil.md"], 15.0, True),
        (["id fares.csv"], -15.0, False),
        (["cd boat", "id checks.sh"], -15.0, False),
        (["exit"], -15.0, False),
        (["cd boat", "cd ..", "exit"], -15.0, False),
    ],
)
def test_the_last_command_pays_and_the_others_cost_one(commands: list[str], reward: float, success: bool) -> None:
    env = begun()
    steps = [env.step(command) for command in commands]
    assert [each[1] for each in steps] == [-1.0] * (len(steps) - 1) + [reward]
    assert [each[2] for each in steps] == [False] * (len(steps) - 1) + [True]
    assert not any(each[3] for each in steps)
    assert steps[-1][4]["success"] is success


@pytest.mark.parametrize(
    ("last", "reward", "success"), [("cd boat", -15.0, False), ("nonsense", -15.0, False), ("id fares.csv", 15.0, True)]
)
def test_the_fifteenth_step_terminates(last: str, reward: float, success: bool) -> None:
    env = begun("ferry-line/01")  # the target is fares.csv
    for step in range(14):
        observation, paid, *ends, _ = env.step("cat README.md")
        assert (paid, ends) == (-1.0, [False, False])
        assert section(observation, "Steps left") == [str(14 - step)]
        assert steps_left(observation, "") == 14 - step
    observation, paid, terminated, truncated, info = env.step(last)
    assert (paid, terminated, truncated, info["success"]) == (reward, True, False, success)
    assert (LAST_STEP in info["feedback"]) is not success
    assert section(observation, "Steps left") == ["0"]


@pytest.mark.parametrize("text", ["", "ls", "cat", "cat boat/checks.sh", "CD boat", "cd  boat", "cd boat.", "cd .."])
def test_any_other_text_costs_a_step_and_does_nothing(text: str) -> None:
    env = begun()
    before = env.snapshot().state
    _, reward, terminated, _, info = env.step(text)
    assert (reward, terminated, env.snapshot().state) == (-1.0, False, before)
    assert info["feedback"].endswith("is not one of the listed commands: nothing was done.")


@given(text=strategies.any_text)
def test_any_words_get_an_answer(text: str) -> None:
    env = begun()
    observation, reward, terminated, _, info = env.step(text)
    assert observation in env.observation_space
    assert info["feedback"]
    assert terminated is (text in ("exit", "id README.md", "id fares.csv"))
    assert reward == (-15.0 if terminated else -1.0)


def test_any_of_several_targets_is_right_and_the_nearest_is_planned() -> None:
    for target in ("summer.csv", "winter.csv"):
        env = begun("ferry-line/11")
        env.step("cd timetable")
        assert env.step(f"id {target}")[4]["success"]
    env = begun("ferry-line/11")
    assert env.oracle() == ["cd timetable", "id summer.csv"]


def test_safe_commands_never_lose() -> None:
    env = begun()
    for command in ("cd boat", "cd engine"):
        safe = env.safe_commands()
        assert "exit" not in safe
        assert not any(each.startswith("id ") for each in safe)
        env.step(command)
    assert "id oil.md" in env.safe_commands()


# Commands and pages.


def test_the_commands_stand_in_the_documented_order(tmp_path: Path) -> None:
    env = own(write(tmp_path, {"b/x": "", "a/y": "", "Z": "", "c.txt": "", "b/d/z": ""}), "Z")
    root = ("cd a", "cd b", "cat Z", "id Z", "cat c.txt", "id c.txt", "exit")
    assert env.action_space.commands == root
    env.step("cd b")
    assert env.action_space.commands == ("cd d", "cd ..", "cat x", "id x", "exit")


@pytest.mark.parametrize(
    ("folders", "files", "pages"),
    [(0, 1, 1), (0, 18, 1), (0, 19, 2), (35, 1, 2), (36, 0, 1), (36, 1, 2), (37, 18, 3), (34, 1, 1), (90, 200, 14)],
)
def test_long_folders_have_pages(tmp_path: Path, folders: int, files: int, pages: int) -> None:
    names = {f"long/f{number:03}": "" for number in range(files)}
    names |= {f"long/d{number:03}/x": "" for number in range(folders)}
    env = own(write(tmp_path, names), next(iter(names)), horizon=100)
    env.step("cd long")
    seen: list[str] = []
    for page in range(pages):
        commands = env.action_space.commands
        assert len(commands) <= env.max_commands == 40
        assert ("next page" in commands, "previous page" in commands) == (page + 1 < pages, page > 0)
        text = env.snapshot().observation
        assert section(text, "Page") == ([f"{page + 1} of {pages}"] if pages > 1 else [""])
        listed = [*section(text, "Folders here"), *section(text, "Files here")]
        seen += [name for name in listed if name != "(none)"]
        if page + 1 < pages:
            env.step("next page")
    listed = sorted(path.name for path in (tmp_path / "long").iterdir())
    assert seen == listed  # `d…` before `f…`
    for page in range(pages - 1, 0, -1):
        assert section(env.snapshot().observation, "Page") == [f"{page + 1} of {pages}"]
        env.step("previous page")


def fewest_steps(env: NatLangEnv) -> int:
    """Breadth-first search over nothing but steps and snapshots."""
    start = env.snapshot()
    queue, seen = deque([(start, 0)]), {start.state[:2]}
    while queue:
        here, steps = queue.popleft()
        env.restore(here)
        for command in env.action_space.commands:
            env.restore(here._replace(steps=0))
            _, _, terminated, _, info = env.step(command)
            if info["success"]:
                env.restore(start)
                return steps + 1
            there = env.snapshot()
            if not terminated and there.state[:2] not in seen:
                seen.add(there.state[:2])
                queue.append((there, steps + 1))
    raise AssertionError("no way")


def test_the_oracle_is_as_short_as_a_search_over_steps(tmp_path: Path) -> None:
    names = {f"a/{number:02}.txt": "" for number in range(100)}  # six pages
    names |= {"a/in/x": "", "a/in/y": "", "b/c/deep/z": "", "top": ""}
    write(tmp_path, names)
    for target in ("a/01.txt", "a/99.txt", "a/in/x", "b/c/deep/z", "top", ["top", "a/50.txt"]):
        env = own(tmp_path, target, horizon=100)
        for wander in ([], ["cd a"], ["cd a", *["next page"] * 2], ["cd a", *["next page"] * 5], ["cd b", "cd c"]):
            env.reset()
            for command in wander:
                env.step(command)
            plan = env.oracle()
            assert len(plan) == fewest_steps(env), (target, wander, plan)
            assert [env.step(command)[4]["success"] for command in plan] == [False] * (len(plan) - 1) + [True]
            assert env.oracle() == []


def test_a_demonstration_reads_the_evidence_first() -> None:
    env = begun()
    plan = env.demonstration()
    assert plan == ["cd boat", "cd engine", "cat oil.md", "id oil.md"]
    for number, command in enumerate(plan):
        assert env.demonstration() == plan[number:]
        env.step(command)
    assert env.demonstration() == []
    assert env.files_read == ("boat/engine/oil.md",)
    assert begun(horizon=3).demonstration() == begun(horizon=3).oracle()
    assert begun(horizon=4).demonstration() == plan


# Recorded games.


@pytest.mark.parametrize("env_id", IDS)
def test_golden_transcripts(env_id: str, golden: Callable[[str, str], None]) -> None:
    """A demonstration, a wrong file and unknown words: every character that a player sees."""
    task_id = {"": "ferry-line/06", "-Depth1": "bike-workshop/01", "-Depth2": "pottery-studio/09"}[
        env_id.removeprefix("NatLang/AutoExplore").removesuffix("-v0")
    ]
    env = begun(task_id, env_id=env_id)
    plays = (env.demonstration(), ["cat README.md", "look around", "id README.md"], ["exit"])
    lines = [env_id, *transcript(env, task_id, plays)]
    golden(f"{env_id.removeprefix('NatLang/')}.txt", "\n".join(lines) + "\n")
