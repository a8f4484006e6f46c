"""The baselines: what they read, what they name, and that only the privileged ones know more than a player."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.baselines import Bm25, DepthFirstSearch
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.tasks import RepositoryTasks
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.agents import is_privileged, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.words import question_words
from natlang_envs.trajectory import Trajectory
from tests.support.folders import write
from tests.support.here import run_here

IDS = tuple(RepositoryTasks("all", None).ids())
EVERYTHING = Protocol(
    "all/embedded",
    "NatLang/AutoExplore-v0",
    {},
    15,
    10,
    tuple(Episode(each, seed) for seed, each in enumerate(IDS)),
    "",
)


@cache
def play(agent: str) -> list[Trajectory]:
    return evaluate(load_agent(agent), EVERYTHING)[1]


def successes(trajectories: list[Trajectory]) -> float:
    return float(np.mean([each.success for each in trajectories]))


@pytest.mark.parametrize(
    ("agent", "privileged", "low", "high"),
    [
        ("random", False, 0.01, 0.08),
        ("random-legal", True, 0.12, 0.27),
        ("depth-first", False, 0.25, 0.45),
        ("bm25", True, 0.75, 0.95),
        ("oracle", True, 1.0, 1.0),
    ],
)
def test_how_often_each_is_right(agent: str, privileged: bool, low: float, high: float) -> None:
    assert is_privileged(load_agent(agent)) is privileged
    assert low <= successes(play(agent)) <= high


def test_bm25_says_how_many_files_it_read_and_goes_straight_to_one() -> None:
    for each in play("bm25"):
        files = len(open_repository(RepositoryTasks("all", None).load(each.task_id).folder).files)
        assert each.reflections[0] is not None
        assert each.reflections[0].startswith(f"Of {files} files read, ")
        assert each.reflections[1:] == (None,) * (len(each.actions) - 1)
        assert each.actions[-1].startswith("id ")
        assert not any(action.startswith("cat ") for action in each.actions)


def test_the_depth_first_agent_names_a_file_before_its_steps_run_out() -> None:
    for each in play("depth-first"):
        assert each.actions[-1].startswith("id "), each.task_id
        assert each.reflections[-1] is not None
        read = {action for action in each.actions if action.startswith("cat ")}
        assert each.actions[-1].replace("id ", "cat ", 1) in read


def test_bm25_scores_as_the_formula_says(tmp_path: Path) -> None:
    first = "1\n\n2\n3\n4\n5\n"  # these count twice
    files = {"a": f"{first}lamp lamp lamp oil", "b": "lamp\n", "c": "nothing here", "d": b"lamp\0"}
    write(tmp_path, files)
    ranked = Bm25(open_repository(tmp_path)).rank("Which lamp?")
    mean = (2 * 5 + 4 + 2 + 4 + 0) / 4
    weight = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))

    def score(times: int, length: int) -> float:
        return weight * times * 2.5 / (times + 1.5 * (0.25 + 0.75 * length / mean))

    assert [each.path for each in ranked] == ["b", "a", "c", "d"]
    assert [each.score for each in ranked] == pytest.approx([score(2, 2), score(3, 14), 0.0, 0.0])


def test_words_of_a_question() -> None:
    assert question_words("Where are the hashes computed, and where is the Hash of boats?") == ("boat", "hash")
    assert question_words("What is it?") == ("is", "it", "what")


def explore(env: AutoExploreEnv) -> tuple[DepthFirstSearch, int, bool]:
    """Let the search play a game; return it, the steps it took, and whether it was right."""
    _, info = env.reset()
    search, terminated, steps = DepthFirstSearch(env.question), False, 0
    while not terminated:
        command = search.choose(info["admissible_commands"], env.horizon - steps)
        _, _, terminated, _, info = env.step(command)
        search.saw(command, info["feedback"])
        steps += 1
    return search, steps, info["success"]


@pytest.mark.parametrize("target", ["a/07.txt", "a/45.txt", "b/c/deep.txt", "z.txt"])
def test_the_depth_first_search_finds_it_wherever_it_is(tmp_path: Path, target: str) -> None:
    """With steps enough it reads every file once, over all pages, until one holds the words."""
    files = {f"a/{number:02}.txt": f"number {number}" for number in range(50)}
    files |= {f"a/in-{number:02}/x.txt": "inner" for number in range(40)}
    files |= {"b/c/deep.txt": "far", "b/c/other.txt": "", "z.txt": "end"}
    files[target] += " silver whistle"
    write(tmp_path, files)
    env = AutoExploreEnv(repository=str(tmp_path), question="Silver whistle?", target=target, horizon=10_000)
    search, _, success = explore(env)
    assert success
    assert search.files_read == len(env.files_read) <= len(files)


def test_without_the_words_it_reads_everything_and_names_one(tmp_path: Path) -> None:
    files = {
        "a/1": "x",
        "a/b/2": "one of the words: silver",
        "c/3": "",
        **{f"{number:02}": "y" for number in range(40)},
    }
    write(tmp_path, files)
    env = AutoExploreEnv(repository=str(tmp_path), question="Silver whistle, quiet bell?", target="a/b/2", horizon=100)
    search, steps, success = explore(env)
    assert success
    assert search.files_read == len(files)
    # In and out of three folders, to the third page, back to the first and in again.
    assert steps == len(files) + 6 + 2 + 5


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("bm25", "names a file for a question: give it AutoExplore, or labels"),
        ("depth-first", "walks through folders: give it an AutoExplore environment"),
    ],
)
def test_other_environments_are_refused_in_words(agent: str, words: str, tmp_path: Path) -> None:
    episodes = (Episode("classic/2.3/red-green", 0),)
    taxi = Protocol("taxi/x", "NatLang/DangerousTaxi-v0", {}, 30, 1, episodes, "")
    with pytest.raises(UsageError, match=words):
        evaluate(load_agent(agent), taxi)
    command = [
        "evaluate",
        "--agent",
        agent,
        "--protocol",
        "dangerous-taxi-pickup-cities/v1",
        "--out",
        str(tmp_path / "run"),
    ]
    done = run_here("natlang", *command)
    assert done.returncode == 2
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
