"""The shipped tasks of AutoExplore-Change: each can be won, no list tells where its bug is, and texts stay alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.change.listed_edits.env import AutoExploreChangeEnv
from natlang_envs.change.listed_edits.tasks import ChangeTask, ChangeTasks, kinds_of_task, make_tasks
from natlang_envs.change.making.make_tasks import MORE_IN_A_FUNCTION, MORE_OF_AN_OPERATOR
from natlang_envs.change.repositories import data_folder
from natlang_envs.change.task_files import shipped_task_files
from natlang_envs.make_env import make_env
from natlang_envs.repository.texts import FILE_BUDGET

IDS = [entry.id for entry in natlang_envs.ENVIRONMENTS if "Change" in entry.id and "Free" not in entry.id]
EACH = ("train", "validation", "test")
EVERY = 7  # task is looked at; all in a few releases


def sample(tasks: ChangeTasks) -> list[ChangeTask]:
    return [tasks.load(task_id, FILE_BUDGET) for task_id in list(tasks.ids())[::EVERY]]


def test_a_bug_is_mended_by_the_edit_that_takes_it_back_and_noticed_by_a_hidden_test() -> None:
    for task in sample(make_tasks("all", "embedded", None)):
        right = [task.source(task.file).edits[number] for number in task.right()]
        assert task.line in {edit.line for edit in right}
        assert task.fails(None) == task.broken
        assert (task.visible & task.broken).bit_count() == 1
        assert (task.visible & ~task.broken).bit_count() >= 1
        assert (task.broken & ~task.visible).bit_count() >= 1


def test_there_are_many_tasks_in_few_bytes() -> None:
    count = {split: sum(len(task_file.tasks) for task_file in shipped_task_files(split).values()) for split in EACH}
    own = sum(len(task_file.tasks) for task_file in shipped_task_files("test").values() if task_file.kind == "own")
    assert count["train"] >= 600
    assert count["validation"] >= 100
    assert count["test"] >= 200
    assert own >= 100
    assert sum(path.stat().st_size for path in data_folder().rglob("*.jsonl.gz")) < 1_000_000


@pytest.mark.parametrize("split", EACH)
def test_few_tasks_of_a_repository_are_alike(split: str) -> None:
    few, percent = (MORE_IN_A_FUNCTION, MORE_OF_AN_OPERATOR) if split == "train" else (3, 15)
    for task_file in shipped_task_files(split).values():
        rows = task_file.tasks.values()
        assert max(Counter((row["file"], row["line"]) for row in rows).values()) == 1
        assert max(Counter((row["file"], row["function"]) for row in rows).values()) <= few
        assert max(Counter(row["operator"] for row in rows).values()) <= max(1, len(rows) * percent // 100)


def test_no_list_tells_where_the_bug_is() -> None:
    """A broken source has the same lines that can be edited, and of the broken line about as many edits."""
    for task in sample(make_tasks("all", "embedded", None)):
        broken, whole = task.source(task.file), task.repository.source(task.file)
        assert broken.of_line.keys() == whole.of_line.keys()
        assert broken.pages == whole.pages
        assert abs(len(broken.of_line[task.line]) - len(whole.of_line[task.line])) <= 1


def test_every_task_is_won_by_the_oracle_within_the_horizon() -> None:
    for start, most in (("repository", 30), ("file", 30), ("line", 3)):
        env = AutoExploreChangeEnv(start=start)  # type: ignore[arg-type]
        for task_id in list(env.tasks.ids())[::EVERY]:
            env.reset(options={"task_id": task_id})
            plan = env.oracle()
            assert len(plan) <= most
            for command in plan:
                *_, info = env.step(command)
            assert info["success"]


def test_a_task_of_another_split_is_refused_and_all_accepts_each() -> None:
    task_id = next(make_tasks("validation", None, None).ids())
    everything = AutoExploreChangeEnv()
    assert everything.reset(options={"task_id": task_id})[1]["task_id"] == task_id
    with pytest.raises(UsageError, match="is in the split 'validation', not 'test'"):
        AutoExploreChangeEnv(split="test").reset(options={"task_id": task_id})
    assert set(kinds_of_task(task_id)) == {"Code", "Repository", "Operator"}


def test_golden_transcript(golden: Callable[[str, str], None]) -> None:
    lines: list[str] = []
    task_id = next(make_tasks("validation", None, None).ids())
    for env_id in IDS:
        env = make_env(env_id)
        observation, info = env.reset(options={"task_id": task_id})
        lines.append(f"== {env_id} {task_id}\n{observation}\n-- {'; '.join(info['admissible_commands'])}")
        *way, submit = env.oracle()
        begun = (
            ["test"] if env_id.endswith("Line-v0") else ["cat README.md", "cd tests", "cd .."][: 3 * (env_id == IDS[0])]
        )
        for command in [*begun, *way, "undo", way[-1], "test", submit]:
            observation, reward, _, _, info = env.step(command)
            lines.append(f"> {command}\n{observation}\n-- {'; '.join(info['admissible_commands'])}\n= {reward:g}")
    golden("AutoExplore-Change-v0.txt", "\n".join(lines) + "\n")
