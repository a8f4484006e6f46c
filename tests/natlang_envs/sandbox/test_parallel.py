"""Several threads in one sandbox: each command finds what those before it did, and no edit is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from natlang_envs.sandbox import AutoExploreSandbox
from tests.support.isolation_here import isolation_or_skip

MANY = "natlang_envs.sandbox.sandbox.MANY"


def program(name: str) -> str:
    return f"python -c \"import time; time.sleep(.05); open('{name}', 'w').write('{name}')\""


def native(name: str) -> str:
    return f"echo {name} > {name}"


def at_once(sandbox: AutoExploreSandbox, lines: list[str]) -> None:
    threads = [threading.Thread(target=sandbox.execute, args=(line,)) for line in lines]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


@pytest.mark.parametrize("layered", [False, True])
@pytest.mark.parametrize("ways", [(program,) * 4, (program, native, program, native)])
def test_every_edit_of_commands_at_once_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layered: bool, ways: tuple[Callable[[str], str], ...]
) -> None:
    isolation_or_skip()
    monkeypatch.setattr(MANY, 0 if layered else 5_000)
    (tmp_path / "a.py").write_text("x = 1\n")
    with AutoExploreSandbox(tmp_path) as sandbox:
        at_once(sandbox, [way(name) for way, name in zip(ways, "wxyz", strict=True)])
        assert {each.path for each in sandbox.changed_files()} == set("wxyz")


def test_what_is_written_while_a_program_runs_stays(tmp_path: Path) -> None:
    isolation_or_skip()
    (tmp_path / "a.py").write_text("x = 1\n")
    with AutoExploreSandbox(tmp_path) as sandbox:
        sandbox.execute("echo 1 > early")
        running = threading.Thread(target=sandbox.execute, args=(program("mine"),))
        running.start()
        sandbox.execute("echo 2 > meanwhile")
        sandbox.execute("echo 3 > early")
        running.join()
        found = {each.path: each.after for each in sandbox.changed_files()}
        assert found == {"early": b"3\n", "meanwhile": b"2\n", "mine": b"mine"}


def test_a_forked_process_does_not_wait_for_its_parents_threads(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with AutoExploreSandbox(tmp_path) as sandbox, sandbox.turn[1]:
        child = os.fork()
        if not child:
            thread = threading.Thread(target=lambda: os._exit(sandbox.execute("cat a.py").exit_code), daemon=True)
            thread.start()
            thread.join(20)
            os._exit(9)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.slow
def test_every_edit_is_kept_fifty_times_over_many_files(tmp_path: Path) -> None:
    isolation_or_skip()
    (tmp_path / "p").mkdir()
    for number in range(5_300):
        (tmp_path / "p" / f"{number}.py").write_text("x\n")
    for _ in range(50):
        with AutoExploreSandbox(tmp_path) as sandbox:
            at_once(sandbox, [program("w"), program("x"), native("y"), program("z")])
            assert {each.path for each in sandbox.changed_files()} == set("wxyz")
