"""The embedded repositories, their questions, and their splits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.tasks import RepositoryTasks, split_of_task
from natlang_envs.repository.tree import open_repository
from natlang_envs.tasks import SPLITS

FOLDER = Path(natlang_envs.__file__).parent / "autoexplore" / "repositories"
REPOSITORIES = sorted(path for path in FOLDER.iterdir() if path.is_dir())
ALL = RepositoryTasks("all", None)
TASKS = [ALL.load(task_id) for task_id in ALL.ids()]


def test_there_are_eight_repositories_with_questions() -> None:
    assert len(REPOSITORIES) == 8
    assert {task.folder for task in TASKS} == set(REPOSITORIES)
    assert len({task.id for task in TASKS}) == len({task.question for task in TASKS}) == len(TASKS) >= 64
    assert {task.depth for task in TASKS} == {0, 1, 2, 3}


def test_the_repositories_are_what_they_were(golden: Callable[[str, str], None]) -> None:
    """A changed byte changes what players see: then the version rises."""
    lines = [f"{open_repository(path).digest} {path.name}" for path in REPOSITORIES]
    lines += [f"{task.id} [{split_of_task(task.id)}] {task.question} {', '.join(task.targets)}" for task in TASKS]
    golden("autoexplore-tasks.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_question_tells_no_file_and_its_target_is_in_reach(task) -> None:
    repository = open_repository(task.folder)
    assert set(task.targets) <= set(repository.files)
    assert task.question == " ".join(task.question.split())
    for path in repository.files:
        assert path.rpartition("/")[2].lower() not in task.question.lower()
    env = AutoExploreEnv()
    env.reset(options={"task_id": task.id})
    assert task.depth + 1 <= len(env.oracle()) <= env.horizon - 1


def test_nothing_that_an_installation_or_git_would_change() -> None:
    # pip compiles .py files where they are installed, a package's data leaves out what begins with a dot, and
    # .gitignore leaves out folders of these names.
    for path in REPOSITORIES:
        for file in open_repository(path).files:
            assert not file.endswith(".py")
            assert not any(part.startswith(".") for part in file.split("/"))
            assert not {"site", "build", "dist", "runs", "node_modules"} & set(file.split("/")[:-1])


@pytest.mark.parametrize("depth", [None, 1, 2])
def test_every_split_has_tasks_of_every_depth(depth: int | None) -> None:
    pools = {split: set(RepositoryTasks(split, depth).ids()) for split in SPLITS}
    assert all(len(pool) >= 5 for pool in pools.values())
    assert pools["train"] | pools["validation"] | pools["test"] == pools["all"]
    assert sum(len(pools[split]) for split in SPLITS if split != "all") == len(pools["all"])
    depths = {ALL.load(task_id).depth for task_id in pools["all"]}
    assert depths == {None: {0, 1, 2, 3}, 1: {0, 1}, 2: {2}}[depth]


def test_a_repository_is_in_one_split() -> None:
    for path in REPOSITORIES:
        assert len({split_of_task(task.id) for task in TASKS if task.folder == path}) == 1


@pytest.mark.parametrize(
    ("split", "depth", "task_id", "words"),
    [
        ("all", None, "ferry-line/1", "unknown task 'ferry-line/1': an id reads like 'ferry-line/"),
        ("all", None, "own/123456789012", "unknown task"),
        ("all", None, 7, "unknown task '7'"),
        ("train", None, "ferry-line/01", "is in the split 'test', not 'train': pass split='test'"),
        ("all", 1, "ferry-line/07", "has a target of depth 2: use NatLang/AutoExplore-Depth2-v0"),
        ("all", 2, "ferry-line/01", "has a target of depth 0: use NatLang/AutoExplore-Depth1-v0"),
    ],
)
def test_wrong_tasks_are_named(split: str, depth: int | None, task_id: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        RepositoryTasks(split, depth).check(task_id)
