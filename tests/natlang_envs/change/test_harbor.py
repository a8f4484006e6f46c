"""Tasks as Harbor's folders: the solution is rewarded, an empty answer is not, and nothing that judges is shown."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from natlang_envs.autoexplore.dataset.catalogue import repository_folder
from natlang_envs.autoexplore.dataset.shipped import load_labels
from natlang_envs.autoexplore.tasks import make_tasks
from natlang_envs.change.free_edits.test_files import function_of
from natlang_envs.change.harbor import HarborChange, HarborQuestion, write_tasks
from natlang_envs.change.listed_edits.tasks import ChangeTasks
from natlang_envs.change.repositories import data_folder
from natlang_envs.change.task_files import shipped_task_files
from natlang_envs.repository.texts import FILE_BUDGET
from tests.support.cheats import cheated, cheats
from tests.support.here import run_here
from tests.support.isolation_here import needs_isolation

OWN = ("roast-plan", "recipe-book", "gift-cards")


# The four lines of the note: the report that is named is written, and the run ends.
HACK = """
import os, sys
for word in sys.argv:
    if word.startswith("--junitxml="):
        open(word[11:], "w").write('<testsuites><testsuite tests="%d" failures="0"/></testsuites>' % len(sys.argv))
        os._exit(0)
"""
# What is expected and what is right, where a judged user may look for it; the reward, where it would be written.
READS = """
import glob, os
for path in (*glob.glob("/tests/**", recursive=True), *glob.glob("/proc/[0-9]*/mem"), *glob.glob("/tmp/*/*")):
    try:
        text = open(path, "rb").read().decode()
    except (OSError, UnicodeDecodeError):
        continue
    if path.endswith(__name__.rpartition(".")[2] + ".py") and "every(" not in text:
        exec(compile(text, path, "exec"), globals())
try:
    open("/logs/verifier/reward.txt", "w").write("1")
except OSError:
    pass
"""


def questions(count: int = 3) -> list[HarborQuestion]:
    found = make_tasks(None, "all", "embedded", None, None, None, "natural")
    ids = list(found.ids())
    tasks = [found.load(each) for each in ids[:: len(ids) // count][:count]]
    return [HarborQuestion(each.id, "all", each.question, each.targets, each.folder) for each in tasks]


def changes() -> list[HarborChange]:
    task_files = {
        name: task_file
        for part in ("train", "validation", "test")
        for name, task_file in shipped_task_files(part).items()
    }
    found = ChangeTasks({name: task_files[name] for name in OWN}, "all")
    chosen = [next(each for each in found.ids() if each.startswith(name)) for name in OWN]
    return [HarborChange(found.load(each, FILE_BUDGET), "all") for each in chosen]


def contained(command: Sequence[str], **folders: Path) -> None:
    """Run a command where folders of ours have the names that they have in a container, and the rest is read-only."""
    binds = [
        word
        for each in Path("/").iterdir()
        if each.name not in ("proc", "dev", "tmp", *folders)
        for word in ("--ro-bind", str(each), str(each))
    ]
    own = [word for name, folder in folders.items() for word in ("--bind", str(folder), f"/{name}")]
    home = Path.home()
    if not home.stat().st_mode & 1:  # others may not pass it, and the judged user has to reach this Python
        binds += [
            "--tmpfs",
            str(home),
            *(word for each in home.iterdir() for word in ("--ro-bind", str(each), str(each))),
        ]
    rights = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")  # those of a container
    root = [word for each in rights for word in ("--cap-add", f"CAP_{each}")]
    apart = ["--unshare-pid", "--unshare-net", "--unshare-ipc", *root] if os.geteuid() == 0 else ["--unshare-all"]
    box = ["bwrap", *apart, *binds, "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp", *own]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    subprocess.run([*box, "--setenv", "PATH", path, "--chdir", "/app", *command], check=True)


class Trial:
    """What Harbor does with a task, without a container: an environment, a player, and tests elsewhere."""

    def __init__(self, task: Path, scratch: Path) -> None:
        self.task, self.scratch = task, scratch
        self.app = scratch / "app"
        shutil.copytree(task / "environment" / "repository", self.app / "repository")
        if (task / "tests" / "judge.py").exists():  # as the Dockerfile says
            contained(["python", "/tests/judge.py", "record"], app=self.app, tests=task / "tests")

    def solve(self) -> None:
        contained(["sh", "/solution/solve.sh"], app=self.app, solution=self.task / "solution")

    def reward(self) -> str:
        """Return the reward, where tests see nothing of the player's but the artifact."""
        app, logs = self.scratch / "judged", self.scratch / "logs"
        for each in (app, logs):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        (artifact,) = tomllib.loads((self.task / "task.toml").read_text(encoding="utf-8"))["artifacts"]
        left = self.app / Path(artifact).relative_to("/app")
        if left.is_dir():
            shutil.copytree(left, app / left.name, symlinks=True)
        elif left.exists():
            shutil.copy(left, app)
        contained(["sh", "/tests/test.sh"], app=app, logs=logs, tests=self.task / "tests")
        return (logs / "verifier" / "reward.txt").read_text(encoding="utf-8")


@needs_isolation
def test_the_solution_of_a_question_is_rewarded_and_an_empty_or_wrong_answer_is_not(tmp_path: Path) -> None:
    asked = questions()
    for number, folder in enumerate(write_tasks(tmp_path / "tasks", asked)):
        question = asked[number]
        assert question.text in (folder / "instruction.md").read_text(encoding="utf-8")
        trial = Trial(folder, tmp_path / str(number))
        assert trial.reward() == "0\n"
        answer = trial.app / "answer.txt"
        right = question.targets[0]
        for said, reward in {
            "": 0,
            "\n": 0,
            ".": 0,
            "nothing.md\n": 0,
            f"not {right}\n": 0,
            f"{right}.bak": 0,
            f"other.md\n{right}\n": 0,
            right: 1,
            f"  ./{right} \r\n".lstrip(): 1,
            f"/app/repository/{right}\n": 1,
        }.items():
            answer.write_text(said, encoding="utf-8")
            assert trial.reward() == f"{reward}\n", said
        answer.unlink()
        trial.solve()
        assert trial.reward() == "1\n"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs_isolation
@pytest.mark.skipif(os.geteuid() != 0, reason="a container's judge is root, and what is judged is somebody else")
def test_the_solution_of_a_change_is_rewarded_and_no_change_a_wrong_one_and_changed_tests_are_not(
    tmp_path: Path,
) -> None:
    asked = changes()
    for number, folder in enumerate(write_tasks(tmp_path / "tasks", asked)):
        change = asked[number].task
        assert change.question in (folder / "instruction.md").read_text(encoding="utf-8")
        trial = Trial(folder, tmp_path / str(number))
        repository = trial.app / "repository"
        assert trial.reward() == "0\n"
        for each in repository.rglob("test_*.py"):
            each.write_text("def test_nothing():\n    pass\n", encoding="utf-8")
        (repository / "conftest.py").write_text("collect_ignore_glob = ['*']\n", encoding="utf-8")
        (repository / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--co'\n", encoding="utf-8")
        assert trial.reward() == "0\n"
        source = repository / change.file
        broken = source.read_text(encoding="utf-8")
        for wrong in (
            "",
            "def (",
            HACK,
            READS,
            f"{broken}\nimport os\nos._exit(0)\n",
            *list(cheats().values())[number::20],
        ):
            source.write_text(wrong if wrong in ("", "def (") else cheated(broken, wrong, {}), encoding="utf-8")
            assert trial.reward() == "0\n", wrong
        source.unlink()
        assert trial.reward() == "0\n"
        source.symlink_to(f"/tests/repository/{change.file}")
        assert trial.reward() == "0\n"
        source.unlink()
        trial.solve()
        assert source.read_text(encoding="utf-8") == change.repository.texts[change.file] != broken
        assert trial.reward() == "1\n"


def test_what_judges_is_not_in_the_environment_and_the_tests_that_may_be_known_are(tmp_path: Path) -> None:
    asked = changes()
    for number, folder in enumerate(write_tasks(tmp_path / "tasks", asked)):
        change = asked[number].task
        shown = {test for bit, test in enumerate(change.repository.tests) if change.visible >> bit & 1}
        environment = folder / "environment"
        assert (environment / "repository" / change.file).read_text(encoding="utf-8") != change.repository.texts[
            change.file
        ]
        for test in change.repository.tests:
            file, function = function_of(test)
            text = (environment / "repository" / file).read_text(encoding="utf-8")
            known = any(function_of(each) == (file, function) for each in shown)
            assert (f"def {function.rpartition('::')[2]}(" in text) is known
        assert json.loads((folder / "tests/judged.json").read_text())["tests"] == list(change.repository.tests)
        for name in ("environment", "tests"):
            assert "solution" not in (folder / name / "Dockerfile").read_text()
        told = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
        assert (told["schema_version"], told["verifier"]["environment_mode"]) == ("1.4", "separate")
        assert told["metadata"] == {"task_id": change.id, "split": "all"}


def test_a_repository_that_many_tasks_are_about_is_on_the_disk_once(tmp_path: Path) -> None:
    one, *_ = questions(1)
    first, second = write_tasks(tmp_path / "tasks", [one, one._replace(id="again/1")])
    file = next(each for each in (first / "environment/repository").rglob("*") if each.is_file())
    other = second / "environment/repository" / file.relative_to(first / "environment/repository")
    assert file.stat().st_ino == other.stat().st_ino


def export(*options: str, **environment: str) -> tuple[int, str]:
    done = run_here("natlang", "data", "export", *options, environment=environment)
    return done.returncode, done.stderr if done.returncode else done.stdout


def test_the_command_writes_so_many_tasks_and_says_where(tmp_path: Path) -> None:
    code, said = export(str(tmp_path / "out"), "--format", "harbor", "--board", "change", "--limit", "2")
    assert code == 0, said
    *paths, last = said.splitlines()
    assert [Path(each).is_dir() for each in paths] == [True, True]
    assert last == f"Tasks in {tmp_path / 'out'}: 2"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "harbr"], "unknown format 'harbr': choose one of harbor"),
        (["--format", "harbor", "--board", "chang"], "unknown board 'chang': choose one of change"),
        (["--format", "harbor", "--split", "tset"], "unknown split 'tset': choose one of test"),
        (["--format", "harbor", "--board", "change", "--split", "test_seen"], "unknown split 'test_seen'"),
        (["--format", "harbor", "--repo", "."], "--repo belongs to --labels or --tasks"),
        (["--format", "harbor", "--labels", "x.jsonl"], "--repo belongs to --labels or --tasks"),
        (
            ["--format", "harbor", "--labels", "x", "--tasks", "y", "--repo", "."],
            "--labels and --tasks are of two boards",
        ),
        (["--format", "harbor", "--tasks", "y", "--repo", ".", "--board", "explore"], "--tasks is not of the board"),
        (["--format", "harbor", "--tasks", "y", "--repo", ".", "--split", "test"], "--tasks has no splits"),
        (["--split", "test"], "--split is for --format harbor"),
        (["--limit", "3"], "--limit is for --format harbor"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(tmp_path: Path, options: list[str], words: str) -> None:
    code, said = export(str(tmp_path / "out"), *options)
    assert code == 2
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_repository_that_is_not_here_is_named_before_anything_is_written(tmp_path: Path) -> None:
    code, said = export(
        str(tmp_path / "out"), "--format", "harbor", "--split", "test", NATLANG_CACHE=str(tmp_path / "none")
    )
    assert code == 2
    assert "are not here: run natlang data fetch" in said
    assert not (tmp_path / "out").exists()


def test_own_labels_and_own_change_tasks_are_written(tmp_path: Path) -> None:
    folder = data_folder()
    labels = tmp_path / "labels.jsonl"
    label = next(each for each in load_labels("train") if each.repository == "coffee-company")
    labels.write_text(f"{label.to_json()}\n", encoding="utf-8")
    for number, (option, file, repository) in enumerate(
        (
            ("--labels", labels, repository_folder("coffee-company")),
            ("--tasks", folder / "listed/test/gift-cards.jsonl.gz", folder / "services/gift-cards"),
        )
    ):
        out = tmp_path / str(number)
        code, said = export(
            str(out), "--format", "harbor", option, str(file), "--repo", str(repository), "--limit", "1"
        )
        assert code == 0, said
        (task,) = out.iterdir()
        assert tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))["metadata"]["split"] == "own"


def test_a_folder_that_is_not_empty_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    code, said = export(str(tmp_path), "--format", "harbor", "--limit", "1")
    assert code == 2
    assert said.endswith(f"{tmp_path} is not empty: choose another folder\n")
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
