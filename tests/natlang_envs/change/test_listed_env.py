"""AutoExplore-Change: what is listed, what the tests say, how it ends, the exact plan, and its baselines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.change.listed_edits.env import AutoExploreChangeEnv
from natlang_envs.change.listed_edits.episode import submitted
from natlang_envs.change.listed_edits.views import EditSite
from natlang_envs.change.making.fork_runner import Runner, failing, open_tested
from natlang_envs.change.protocols import own_protocol
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.agents import is_privileged, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.repository.mutations import apply
from tests.support.explore_games import brute_force
from tests.support.folders import write
from tests.support.kiosk import TASKS, kiosk

ID = "NatLang/AutoExplore-Change-v0"
SUNDAY = "kiosk/0098f1942ce6bff2"  # `day != 6` in kiosk/days.py
TOTAL = "kiosk/d4d7e252b85515c9"  # `taken - sum(prices)` in kiosk/prices.py


def kiosk_env(folder: Path, **arguments: Any) -> AutoExploreChangeEnv:
    return AutoExploreChangeEnv(dataset=str(TASKS), repository=str(kiosk(folder)), **arguments)


def begin(folder: Path, task_id: str = SUNDAY, **arguments: Any) -> tuple[AutoExploreChangeEnv, tuple[str, ...]]:
    env = kiosk_env(folder, **arguments)
    _, info = env.reset(options={"task_id": task_id})
    return env, info["admissible_commands"]


def test_a_game_from_the_issue_to_the_repair(tmp_path: Path) -> None:
    env, listed = begin(tmp_path)
    assert listed == ("cd kiosk", "cd tests", "cat README.md", "cat pyproject.toml", "test", "exit")
    *_, info = env.step("cat README.md")
    assert info["feedback"] == "README.md reads:\n# Kiosk\nWhat a paper costs.\n"
    *_, info = env.step("test")
    assert info["feedback"] == "1 of 5 tests fail that you may see; 2 runs are left:\ntests/test_kiosk.py::test_monday"
    *_, info = env.step("cd kiosk")
    assert info["admissible_commands"] == (
        "cd ..",
        "open __init__.py",
        "open days.py",
        "open prices.py",
        "test",
        "exit",
    )
    observation, *_, info = env.step("open days.py")
    assert (
        "# Open file\nkiosk/days.py, page 1 of 1, lines 1 to 5 of 5\n   1 | from kiosk.prices import total"
        in observation
    )
    assert info["admissible_commands"] == ("line 5", "cd .", "test", "exit")
    observation, *_, info = env.step("line 5")
    assert (
        "   5 |     return total(prices, 1) if day != 6 else total(prices, 0)\n# Edits of line 5\nedit 5 1: "
        in observation
    )
    assert info["admissible_commands"][-3:] == ("open days.py", "test", "exit")
    observation, *_, info = env.step("edit 5 7")
    assert (
        info["feedback"]
        == "Line 5 of kiosk/days.py reads now:\nreturn total(prices, 1) if day == 6 else total(prices, 0)"
    )
    assert "   5 |     return total(prices, 1) if day == 6" in observation
    assert "# Edit\nline 5 of kiosk/days.py:\nreturn total(prices, 1) if day == 6" in observation
    assert info["admissible_commands"][-5:] == ("open days.py", "undo", "test", "submit", "exit")
    *_, info = env.step("test")
    assert info["feedback"] == "All 5 tests pass that you may see; 1 run is left."
    _, reward, terminated, truncated, info = env.step("submit")
    assert (reward, terminated, truncated, info["success"]) == (15, True, False, True)


def test_an_edit_replaces_the_one_before_and_can_be_undone(tmp_path: Path) -> None:
    env, _ = begin(tmp_path, start="line")
    env.step("edit 5 6")
    env.step("edit 5 1")
    assert env.edit == EditSite("kiosk/days.py", 0)
    *_, info = env.step("undo")
    assert env.edit is None
    assert info["feedback"] == "Nothing is edited now."
    assert {"undo", "submit"}.isdisjoint(info["admissible_commands"])


def test_tests_run_three_times_and_hidden_ones_are_never_named(tmp_path: Path) -> None:
    env, _ = begin(tmp_path)
    for _ in range(3):
        *_, info = env.step("test")
        assert "test_sunday" not in info["feedback"]  # it fails, too
    assert "test" not in info["admissible_commands"]
    *_, info = env.step("test")
    assert info["feedback"] == "'test' is not one of the listed commands: nothing was done."


@pytest.mark.parametrize(
    "command",
    ["edit 5 99", "edit 4 1", "line 3", "page 2", "open prices.py", "cd ..", "\0", "x" * 4096, "EDIT 5 1", ""],
)
def test_what_is_not_listed_does_nothing(tmp_path: Path, command: str) -> None:
    env, _ = begin(tmp_path, start="line")
    before = env.snapshot().state
    _, reward, terminated, _, info = env.step(command)
    assert (reward, terminated) == (-1, False)
    assert "is not one of the listed commands: nothing was done." in info["feedback"]
    assert env.snapshot().state == before


def test_a_stale_page_is_answered_in_words(tmp_path: Path) -> None:
    env, _ = begin(tmp_path, start="line")
    env.step("open days.py")
    _, reward, _, _, info = env.step("edit 5 6")
    assert reward == -1
    assert info["feedback"] == "'edit 5 6' is not one of the listed commands: nothing was done."


@pytest.mark.parametrize(("commands", "says"), [(["exit"], "You left"), (["edit 5 1", "submit"], "Tests fail: 0 of")])
def test_leaving_and_a_wrong_repair_lose(tmp_path: Path, commands: list[str], says: str) -> None:
    env, _ = begin(tmp_path, start="line")
    for command in commands:
        _, reward, terminated, _, info = env.step(command)
    assert (reward, terminated, info["success"]) == (-15, True, False)
    assert info["feedback"].startswith(says)


def test_the_last_step_without_a_repair_loses(tmp_path: Path) -> None:
    env, _ = begin(tmp_path, horizon=2)
    env.step("cd kiosk")
    _, reward, terminated, truncated, info = env.step("test")
    assert (reward, terminated, truncated) == (-15, True, False)
    assert info["feedback"].endswith("That was the last step. The work is over.")


@given(st.integers(1, 255), st.integers(0, 255))
def test_a_partial_repair_is_paid_between_the_two(broken: int, failing: int) -> None:
    whole, part = submitted(broken, failing, partial=False), submitted(broken, failing, partial=True)
    assert whole.reward == (15 if failing == 0 else -15)
    assert whole._replace(reward=0) == part._replace(reward=0)
    assert -15 <= part.reward <= 15
    assert (part.reward == 15) == (failing == 0)
    if failing & ~broken == 0:
        assert part.reward == pytest.approx(-15 + 30 * (broken & ~failing).bit_count() / broken.bit_count())


def test_what_the_tests_say_is_what_pytest_says(tmp_path: Path) -> None:
    """Of each edit of the broken file; and of another file, where the two places meet in no test."""
    env, _ = begin(tmp_path)
    task = env.change_task
    texts = {path: task.source(path).text for path in task.repository.texts}
    with Runner(open_tested(tmp_path / "kiosk")) as runner:
        for path, numbers in (("kiosk/days.py", (0, 5, 11)), ("kiosk/prices.py", (15,))):
            for number in numbers:
                edited = apply(texts[path], task.source(path).edits[number])
                found = failing(runner, list(task.repository.tests), {**texts, path: edited})
                assert found == [task.fails(EditSite(path, number))]


@pytest.mark.parametrize("task_id", [SUNDAY, TOTAL])
@pytest.mark.parametrize(
    "way", [[], ["cd tests"], ["cd kiosk", "open prices.py", "line 8"], ["cd kiosk", "open days.py"]]
)
def test_no_way_is_shorter_than_the_oracles(tmp_path: Path, task_id: str, way: list[str]) -> None:
    env, _ = begin(tmp_path, task_id)
    for command in way:
        env.step(command)
    plan = env.oracle()
    assert len(plan) == brute_force(env, len(plan), ("test", "cat ", "undo"))
    env.reset(options={"task_id": task_id})
    for command in [*way, *plan]:
        *_, info = env.step(command)
    assert info["success"]


def test_the_oracle_submits_what_is_right_and_replaces_what_is_wrong(tmp_path: Path) -> None:
    env, _ = begin(tmp_path, start="line")
    env.step("edit 5 1")
    assert env.oracle() == ["edit 5 6", "submit"]
    env.step("edit 5 6")
    assert env.oracle() == ["submit"]
    assert "submit" in env.safe_commands()
    env.step("submit")
    assert env.oracle() == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"start": "files"}, "unknown start 'files': choose one of file"),
        ({"partial": "no"}, "partial must be True or False, not 'no'"),
        ({"dataset": "embeded"}, "unknown dataset 'embeded': choose one of embedded"),
        ({"dataset": "tasks.jsonl"}, "name it, repository="),
        ({"repository": "."}, "needs tasks as dataset"),
        ({"repository": ".", "dataset": "no.jsonl"}, "no.jsonl cannot be read"),
        ({"repository": ".", "dataset": str(TASKS), "split": "test"}, "has no split 'test'"),
        ({"split": "tests"}, "unknown split 'tests'"),
        ({"file_budget": 0}, "file_budget must be"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        AutoExploreChangeEnv(**arguments)
    with pytest.raises(UsageError, match="partial"):
        gymnasium.make(ID, partail=True)


def broken_book(folder: Path, **changed: Any) -> str:
    rows = [json.loads(line) for line in TASKS.read_text(encoding="utf-8").splitlines()]
    for name, value in changed.items():
        for row in rows if name in rows[1] else rows[:1]:
            if name in row:
                row[name] = value
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"format": 7}, "has the format 7, not 1"),
        ({"digest": "0" * 64}, "are not those of tasks.jsonl"),
        ({"edits_digest": "0"}, "is of other edits of kiosk/"),
        ({"issue": "x" * 2_001}, "an issue has 1 to 2,000 characters"),
        ({"shown": "1"}, "line 2: 'shown' must be a JSON int"),
        ({"file": "kiosk/no.py"}, "lacks the outcomes of the edits of kiosk/no.py"),
    ],
)
def test_tasks_of_another_repository_or_version_are_refused(tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    task_file, root = broken_book(tmp_path, **changed), str(kiosk(tmp_path))
    with pytest.raises(UsageError, match=says):
        AutoExploreChangeEnv(dataset=task_file, repository=root, start="line").reset(seed=0)


def test_tasks_of_another_folder_are_refused_before_they_are_played(tmp_path: Path) -> None:
    task_file = Path(broken_book(tmp_path))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "shop.py").write_text("PRICE = 1\n")
    with pytest.raises(UsageError, match=r"are not those of tasks\.jsonl: give the folder of kiosk as it was"):
        own_protocol(task_file, tmp_path / "shop")
    with pytest.raises(UsageError, match="is no folder"):
        own_protocol(task_file, tmp_path / "none")


def test_a_file_that_holds_no_tasks_is_refused(tmp_path: Path) -> None:
    for content in (
        "",
        "[]\n",
        "nonsense\n",
        '{"format": 1, "repository": "a", "kind": "own", "digest": "", "tests": []}\n',
    ):
        path = tmp_path / f"{len(content)}.jsonl"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=r"make (tasks|them|some) with natlang data mutate"):
            AutoExploreChangeEnv(dataset=str(path), repository=str(tmp_path))


def test_what_is_hidden_compiled_or_linked_is_not_listed(tmp_path: Path) -> None:
    root = kiosk(tmp_path)
    write(
        root,
        {".secret": "", "__pycache__/a.pyc": "", "kiosk/__pycache__/b.pyc": "", "two\nlines.txt": "", "a b.txt": "c"},
    )
    (root / "outside").symlink_to("/etc")
    (root / "passwd").symlink_to("/etc/passwd")
    env = AutoExploreChangeEnv(dataset=str(TASKS), repository=str(root))
    _, info = env.reset(seed=0)
    listed = ("cd kiosk", "cd tests", "cat README.md", "cat a b.txt", "cat pyproject.toml", "test", "exit")
    assert info["admissible_commands"] == listed


def test_it_plays_where_the_system_opens_no_folders(tmp_path: Path) -> None:
    """Windows has neither these flags nor locks: the game looks up what was found out elsewhere."""
    code = """
import os, sys
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "fork", "pread"):
    delattr(os, name)
sys.modules["fcntl"] = sys.modules["resource"] = None
import gymnasium, natlang_envs
env = gymnasium.make("NatLang/AutoExplore-Change-v0", dataset=sys.argv[1], repository=sys.argv[2])
env.reset(seed=0)
for command in env.unwrapped.oracle():
    *_, info = env.step(command)
print(info["success"])
"""
    command = [sys.executable, "-c", code, str(TASKS), str(kiosk(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


def everything(folder: Path, name: str = "Change") -> Protocol:
    ids = kiosk_env(folder).tasks.ids()
    episodes = tuple(Episode(each, seed) for seed, each in enumerate(ids))
    local = {"dataset": str(TASKS), "repository": str(folder / "kiosk")}
    return Protocol("all/changed", f"NatLang/AutoExplore-{name}-v0", {}, 30, 20, episodes, "", local)


@pytest.mark.parametrize(
    ("agent", "privileged", "low", "high"),
    [
        ("nothing", False, 0.0, 0.0),
        ("random", False, 0.0, 0.2),
        ("random-edit", False, 0.01, 0.3),
        ("spectrum", True, 0.3, 1.0),
        ("oracle", True, 1.0, 1.0),
    ],
)
def test_how_often_each_baseline_is_right(
    tmp_path: Path, agent: str, privileged: bool, low: float, high: float
) -> None:
    assert is_privileged(load_agent(agent)) is privileged
    played = evaluate(load_agent(agent), everything(tmp_path))[1]
    assert low <= sum(each.success for each in played) / len(played) <= high


def test_a_mending_agent_refuses_an_environment_without_edits() -> None:
    with pytest.raises(UsageError, match="give it NatLang/AutoExplore-Change-v0"):
        evaluate(
            load_agent("spectrum"),
            Protocol("a/b", "NatLang/AutoExplore-v0", {}, 15, 1, (Episode("ferry-line/06", 0),), ""),
        )
