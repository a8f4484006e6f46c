"""An original that others write to meanwhile never stops a command."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from natlang_envs.repository.entries import KEPT_BYTES
from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox import AutoExploreSandbox
from natlang_envs.sandbox.commands.table import NATIVE
from tests.support.folders import write
from tests.support.isolation_here import isolation_or_skip

MANY = "natlang_envs.sandbox.sandbox.MANY"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return write(
        tmp_path / "shop", {"a.py": "print(1)\n", "dev.log": "start\n", "src/b.py": "x\n", "logs/big": "y\n" * 9}
    )


@pytest.fixture
def growing(shop: Path) -> Iterator[Path]:
    """A repository in which one small and one large file grow all the time."""
    write(shop, {"logs/big": b"y" * (KEPT_BYTES + 1)})
    done = threading.Event()

    def grow() -> None:
        while not done.is_set():
            for name in ("dev.log", "logs/big"):
                with (shop / name).open("a") as file:
                    file.write("more\n")

    thread = threading.Thread(target=grow)
    thread.start()
    yield shop
    done.set()
    thread.join()


@pytest.mark.parametrize("layered", [False, True])
def test_files_that_grow_never_stop_a_program(growing: Path, monkeypatch: pytest.MonkeyPatch, layered: bool) -> None:
    isolation_or_skip()
    monkeypatch.setattr(MANY, 0 if layered else 5_000)
    with AutoExploreSandbox(growing) as sandbox:
        before = (growing / "logs/big").stat().st_size
        while (growing / "logs/big").stat().st_size == before:  # the thread may not have had its turn
            time.sleep(0.001)
        results = [sandbox.execute("python a.py") for _ in range(5)]
        assert [each[0] for each in results] == ["1\n"] * 5, results
        assert [each.exit_code for each in results] == [0] * 5
        first = results[0].stderr
        assert "[logs/big changed in the original: " in first
        assert not sandbox.changed_files()
        sandbox.execute("echo 'print(2)' > a.py")
        assert sandbox.execute("python a.py").stdout == "2\n"
        assert "+print(2)" in sandbox.diff()


@pytest.mark.parametrize("command", sorted({*NATIVE} - {"echo", "pwd", "cd", "ls", "find", "sed", "grep"}))
def test_a_file_that_changed_is_read_anew(shop: Path, command: str) -> None:
    with AutoExploreSandbox(shop) as sandbox:
        (shop / "dev.log").write_text("start\nmore\n")
        result = sandbox.execute(f"{command} dev.log")
        assert result.exit_code == 0
        assert result.stderr == "[dev.log changed in the original: it is taken as it is now]\n"
        assert sandbox.execute(f"{command} dev.log") == result._replace(stderr="")


def test_a_file_that_was_read_stays_until_another_is_noticed(shop: Path) -> None:
    with AutoExploreSandbox(open_repository(shop, again=True)) as sandbox:
        assert sandbox.execute("cat a.py").stdout == "print(1)\n"
        write(shop, {"a.py": "print(2)\n", "new.py": "print(3)\n"})
        assert sandbox.execute("cat a.py") == ("print(1)\n", "", 0, None)
        write(shop, {"dev.log": "start\nmore\n"})
        assert "dev.log changed in the original" in sandbox.execute("cat dev.log").stderr
        assert sandbox.execute("cat a.py").stdout == "print(2)\n"
        assert "new.py" not in sandbox.execute("ls").stdout
    with AutoExploreSandbox(open_repository(shop, again=True)) as sandbox:
        assert sandbox.execute("cat new.py").stdout == "print(3)\n"


def test_what_is_gone_or_something_else_is_left_out_and_named(shop: Path) -> None:
    with AutoExploreSandbox(open_repository(shop, again=True)) as sandbox:
        sandbox.execute("echo new > src/c.py")
        shutil.rmtree(shop / "logs")
        (shop / "src" / "b.py").unlink()
        (shop / "src" / "b.py").mkdir()
        (shop / "dev.log").unlink()
        (shop / "dev.log").symlink_to("/etc/passwd")
        result = sandbox.execute("grep -r root .")
        assert (result.stdout, result.exit_code) == ("", 1)
        for note in (
            "[logs/big changed in the original: it is gone",
            "[dev.log changed in the original: not a regular file",
        ):
            assert note in result.stderr
        assert sandbox.execute("find . -type f").stdout == "./a.py\n./src/c.py\n"
        assert "Not a regular file" in sandbox.execute("cat dev.log").stderr
        assert [each.path for each in sandbox.changed_files()] == ["src/c.py"]
        sandbox.restore(sandbox.snapshot())
        assert sandbox.execute("cat src/c.py").stdout == "new\n"


def test_text_is_added_to_what_a_file_is_now(shop: Path) -> None:
    with AutoExploreSandbox(shop) as sandbox:
        (shop / "dev.log").write_text("start\nmore\n")
        assert "dev.log changed in the original" in sandbox.execute("echo mine >> dev.log").stderr
        assert sandbox.execute("cat dev.log").stdout == "start\nmore\nmine\n"
        assert sandbox.diff().endswith(" start\n more\n+mine\n")


def test_the_index_of_others_stays_as_it_was(shop: Path) -> None:
    index = open_repository(shop, again=True)
    with AutoExploreSandbox(index) as sandbox:
        (shop / "dev.log").unlink()
        sandbox.execute("cat dev.log")
        assert "dev.log" in index.files
        assert "dev.log" not in sandbox.repository.files
        assert sandbox.repository.size == index.size - len("start\n")
