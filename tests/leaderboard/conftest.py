"""One real run with reflections, made once, and fresh copies of the entry packed from it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from leaderboard.cli import main
from leaderboard.pack import pack
from natlang_envs.env import unwrap
from natlang_envs.evaluation import AgentInput, Decision, evaluate, load_protocol
from tests.leaderboard.forge import PROTOCOL

NAME = "wanderer"


class Wanderer:
    """Mostly follows the plan and sometimes errs, so that there are successes, failures and long episodes."""

    def __init__(self) -> None:
        # A planner of its own: a privileged agent could only be packed as a reference line.
        self._env = load_protocol(PROTOCOL).make_env()

    def __call__(self, view: AgentInput) -> Decision:
        if not view.path:
            task = next(each for each in load_protocol(PROTOCOL).episodes if self._starts(each.task_id, view))
            self._env.reset(seed=0, options={"task_id": task.task_id})
        plan = unwrap(self._env).reference()[0]
        action = plan if view.rng.random() < 0.9 else "move north"
        self._env.step(action)
        return Decision(action, f"I think\u2028of «{action}» 🚕\nnow.", tokens=7)

    def _starts(self, task_id: str, view: AgentInput) -> bool:
        return self._env.reset(options={"task_id": task_id})[0] == view.observation


class Finished(NamedTuple):
    """How a command ended."""

    code: int
    out: list[str]
    err: list[str]


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "wanderer"
    evaluate(Wanderer(), PROTOCOL, name="Wanderer 1", out=folder, batch=1)
    return folder


@pytest.fixture(scope="session")
def packed(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The entry that all tests copy; nobody writes into it."""
    return pack(run_folder, name=NAME, out=tmp_path_factory.mktemp("packed") / "submissions", disclosure="None.")


@pytest.fixture
def submissions(packed: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "submissions"
    shutil.copytree(packed, folder / PROTOCOL / NAME)
    return folder


@pytest.fixture
def entry(submissions: Path) -> Path:
    return submissions / PROTOCOL / NAME


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Finished]:
    """Run `natlang-leaderboard` in this process, through its entry point."""

    def run(*arguments: object) -> Finished:
        monkeypatch.setattr(sys, "argv", ["natlang-leaderboard", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Finished(int(left.value.code or 0), out.splitlines(), err.splitlines())

    return run
