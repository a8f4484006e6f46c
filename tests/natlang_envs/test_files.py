"""Files are written whole, through no link, and Python on the host imports nothing from the user's folder."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from natlang_envs.errors import UsageError, reason
from natlang_envs.files import json_line, run_python, whole_folder, write_whole

ROOT = Path(__file__).parents[2]
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60).filter(
    lambda name: name not in (".", "..")
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(name=NAMES, first=st.binary(), second=st.binary())
def test_a_file_holds_what_was_written_last_and_nothing_lies_beside_it(
    name: str, first: bytes, second: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / name
    for content in (first, second):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [name]
    path.unlink()


@pytest.mark.parametrize("planted", [".fix.patch.unfinished", "fix.patch"])
def test_a_planted_link_is_not_followed(planted: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / planted).symlink_to(victim)
    write_whole(folder / "fix.patch", b"patch")
    assert victim.read_text() == "precious"
    assert (folder / "fix.patch").read_bytes() == b"patch"
    assert not (folder / "fix.patch").is_symlink()


def test_a_value_is_one_line_of_json_also_with_half_a_character() -> None:
    assert json_line({"name": "Zoë", "lines": "a\nb"}) == '{"name":"Zoë","lines":"a\\nb"}\n'.encode()
    assert json.loads(json_line(["\ud800"])) == ["\ud800"]


def test_a_planted_pipe_does_not_hang(tmp_path: Path) -> None:
    for name in (".fix.patch.unfinished", "fix.patch"):
        os.mkfifo(tmp_path / name)
    write_whole(tmp_path / "fix.patch", b"patch")
    assert (tmp_path / "fix.patch").read_bytes() == b"patch"


def test_a_file_has_the_permissions_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    code = "import os, sys; os.umask(0o027); from natlang_envs.files import write_whole; from pathlib import Path; "
    path = tmp_path / "file"
    subprocess.run([sys.executable, "-c", f"{code}write_whole(Path({str(path)!r}), b'x')"], cwd=ROOT, check=True)
    assert path.stat().st_mode & 0o777 == 0o640


KILLED = """
import os, signal, sys
from pathlib import Path
from natlang_envs import files
def killed(self, target):
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = killed
files.write_whole(Path(sys.argv[1]), b"new")
"""


def test_a_killed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "entry"
    with suppress(ZeroDivisionError), whole_folder(target) as folder:
        (folder / "half").touch()
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with whole_folder(target) as folder:
        (folder / "whole").touch()
    with pytest.raises(UsageError, match="already exists"), whole_folder(target):
        pass
    with whole_folder(target, replace=True) as folder:
        (folder / "other").touch()
    assert [each.name for each in target.iterdir()] == ["other"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_another_process_took_for_a_leftover_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[Path] = []
    real = os.open

    def late(path: Path, *rest: int) -> int:
        if not removed and str(path).endswith(".unfinished"):
            removed.append(path)
            path.rmdir()
        return real(path, *rest)

    monkeypatch.setattr(os, "open", late)
    with whole_folder(tmp_path / "made") as folder:
        (folder / "note").write_text("all")
    assert removed
    assert [each.name for each in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize("module", ["pip", "json", "subprocess"])
def test_nothing_in_the_current_folder_or_in_python_variables_is_imported(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')"
    (tmp_path / f"{module}.py").write_text(trap)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run_python("-m", "pip", "config", "list", timeout=60)
    assert not (tmp_path / "sprung").exists()


def test_fetching_data_runs_no_pip_that_lies_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    environ = {**os.environ, "NATLANG_CACHE": str(tmp_path / "cache"), "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from natlang_envs.cli.main import main; main()"
    command = [sys.executable, "-I", "-c", code, "data", "fetch", "attrs"]
    subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, timeout=120, check=False)
    assert not (tmp_path / "sprung").exists()


def test_what_the_system_says_is_told_in_a_line_without_its_number_and_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        (tmp_path / "missing").read_text()
    assert reason(caught.value) == "No such file or directory"
    assert reason(ValueError("one\n  two")) == "one two"


def test_no_message_holds_an_error_of_the_system_as_it_is() -> None:
    said: list[str] = []
    for path in (
        each for name in ("natlang_envs", "reference_agent", "leaderboard") for each in (ROOT / name).rglob("*.py")
    ):
        for caught in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(caught, ast.ExceptHandler) and caught.type and "OSError" in ast.unparse(caught.type):
                told = (ast.unparse(each.value) for each in ast.walk(caught) if isinstance(each, ast.FormattedValue))
                said += [f"{path}:{caught.lineno}" for each in told if each == caught.name]
    # The player of AutoExplore-ChangeFree is shown it, and what a version shows stays.
    assert [each for each in said if "free_edits/patching.py" not in each] == []
