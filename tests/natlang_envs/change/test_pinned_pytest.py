"""The lab: fetched from a real index on loopback, compiled, looked through, refused by name where it is another."""

from __future__ import annotations

import hashlib
import io
import json
import random
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.package_index import Index, IndexSettings
from natlang_envs.change.free_edits import pinned_pytest
from natlang_envs.change.free_edits.sandbox_tests import LIMITS, in_sandbox, run_tests
from natlang_envs.change.making.fork_runner import open_tested
from natlang_envs.change.making.make_tasks import make
from natlang_envs.change.making.recheck import TaskSource, recheck
from natlang_envs.change.repositories import data_folder
from natlang_envs.change.task_files import write_task_file
from natlang_envs.sandbox import AutoExploreSandbox
from tests.loopback import QuietHandler, serving
from tests.support.folders import write
from tests.support.free import needs_lab
from tests.support.isolation_here import needs_isolation

pytest.importorskip("unearth")
SERVICES = data_folder() / "services"
SHOP: dict[str, bytes | str] = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "prices.py": "def left(price, taken):\n    return price - taken\n",
    "tests/test_prices.py": "from prices import left\n\n\ndef test_two():\n    assert left(5, 2) == 3\n\n\n"
    "def test_four():\n    assert left(9, 4) == 5\n\n\ndef test_none():\n    assert left(0, 0) == 0\n",
}


def wheel(files: Mapping[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return content.getvalue()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An index with two small wheels, which are pinned."""
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    contents = {"kettle": wheel({"kettle/__init__.py": "HOT = 100\n"}), "spout": wheel({"spout.py": "import kettle\n"})}
    pins = tuple(pinned_pytest.Wheel(name, "1.0", hashlib.sha256(each).hexdigest()) for name, each in contents.items())
    monkeypatch.setattr(pinned_pytest, "WHEELS", pins)

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/").split("/")[1].partition("-")[0]
            file = f"{name}-1.0-py3-none-any.whl"
            simple = self.path.startswith("/simple/")
            content = f'<a href="/files/{file}">{file}</a>'.encode() if simple else contents[name]
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if simple else "application/zip")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with serving(Handler) as address:
        yield Index(IndexSettings(indexes=(f"{address}/simple",), timeout=5))


def test_the_lab_is_fetched_whole_and_compiled(index: Index) -> None:
    folder = pinned_pytest.fetch_lab(lambda: index)
    assert pinned_pytest.lab() == folder == pinned_pytest.lab_folder()
    tag = sys.implementation.cache_tag
    compiled = folder / "kettle" / "__pycache__" / f"__init__.{tag}.pyc"
    assert compiled.read_bytes()[4] == 0b01  # its hash is there, and is not checked
    assert b"/opt/lab/kettle/__init__.py" in compiled.read_bytes()
    assert sorted(json.loads((folder / "lab.json").read_text())) == [
        f"__pycache__/spout.{tag}.pyc",
        "kettle/__init__.py",
        f"kettle/__pycache__/__init__.{tag}.pyc",
        "spout.py",
    ]
    assert pinned_pytest.fetch_lab(pytest.fail) == folder  # nothing is asked again


def test_a_lab_that_is_not_here_is_asked_for_in_one_line(index: Index) -> None:
    with pytest.raises(
        UsageError, match=r"the lab \S+ is not here \(pytest, to run tests with\): run natlang data fetch lab$"
    ):
        pinned_pytest.lab()


@pytest.mark.parametrize("half", [True, False])
def test_a_lab_that_is_not_as_it_was_made_is_refused_and_made_anew(index: Index, half: bool) -> None:
    folder = pinned_pytest.fetch_lab(lambda: index)
    if half:
        (folder / "lab.json").unlink()
    else:
        (folder / "spout.py").write_text("import shutil\n")
    pinned_pytest.lab.__globals__["_looked_through"].cache_clear()
    with pytest.raises(UsageError, match="run natlang data fetch lab, which makes it anew"):
        pinned_pytest.lab()
    assert pinned_pytest.fetch_lab(lambda: index) == folder
    assert (folder / "spout.py").read_text() == "import kettle\n"
    assert pinned_pytest.lab() == folder


def test_a_lab_of_another_version_is_named(index: Index) -> None:
    other = pinned_pytest.lab_folder().with_name("pytest-0.1-000000000000-cpython-38")
    other.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"pytest-0\.1-000000000000-cpython-38 is there, for another version: run"):
        pinned_pytest.lab()


def test_another_wheel_than_the_pinned_is_refused(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned_pytest, "WHEELS", (pinned_pytest.Wheel("kettle", "1.0", "0" * 64),))
    with pytest.raises(UsageError, match=r"has the SHA-256 .*, not the pinned 000000000000…"):
        pinned_pytest.fetch_lab(lambda: index)
    assert not pinned_pytest.lab_folder().exists()


@needs_isolation
@needs_lab
def test_tables_are_as_the_sandbox_runs_them_and_a_wrong_cell_is_found(tmp_path: Path) -> None:
    write(tmp_path / "shop", SHOP)
    journal = tmp_path / "tasks.jsonl"
    assert list(make(open_tested(tmp_path / "shop"), tmp_path / "journal", 1))
    write_task_file(tmp_path / "journal", journal, "shop", "yours")
    source = TaskSource(tmp_path / "shop", journal)
    with AutoExploreSandbox(tmp_path / "shop", limits=LIMITS) as sandbox:
        run = in_sandbox(sandbox, ("-o", "pythonpath={root}"))
        assert list(recheck(source, 2, random.Random(1), run)) == [None, None]
        head, task, *scans = journal.read_text().splitlines()
        row = json.loads(task)
        row["table"]["outcomes"] = [f"{int(each, 16) ^ 1:x}" for each in row["table"]["outcomes"]]
        journal.write_text("\n".join([head, json.dumps(row), *scans]) + "\n")
        (found,) = recheck(source, 1, random.Random(1), run)
    assert found is not None
    assert {*found.here, *found.table} == {"tests/test_prices.py::test_two"}


@needs_isolation
@needs_lab
def test_the_lab_can_be_read_and_not_written(tmp_path: Path) -> None:
    write(tmp_path / "shop", SHOP)
    with AutoExploreSandbox(tmp_path / "shop", limits=LIMITS) as sandbox:
        code = "import os, pathlib; print(len(os.listdir('/opt/lab')) > 5); pathlib.Path('/opt/lab/pytest/x').touch()"
        done = sandbox.judge(f'python -c "{code}"', beside={"/opt/lab": pinned_pytest.lab()})
        assert done.stdout == "True\n"
        assert "Read-only file system" in done.stderr
        assert sandbox.execute("python -c \"import os; print(os.path.exists('/opt/lab'))\"").stdout == "False\n"
        for place in ("/usr", "/opt/../usr", "/opt/bin", "/work/lab"):
            with pytest.raises(UsageError, match="a folder is shown below /opt"):
                sandbox.judge("python -c pass", beside={place: tmp_path})
        assert all(map(run_tests(sandbox).passed, run_tests(sandbox).parts))
