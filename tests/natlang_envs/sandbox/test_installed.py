"""What was installed in a sandbox is seen, and does not decide what a judge's program prints."""

from __future__ import annotations

import os
import subprocess
import tempfile
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from natlang_envs.copilot.copilot import AutoExploreCopilot
from natlang_envs.errors import UsageError
from natlang_envs.repository.entries import open_folder
from natlang_envs.repository.tree import open_repository
from natlang_envs.sandbox.changes.overlay import Overlay, OverlayEntry
from natlang_envs.sandbox.changes.patch import changed_files, patch
from natlang_envs.sandbox.changes.work_folder import WorkFolder
from natlang_envs.sandbox.isolation.files import NO_OWNER
from natlang_envs.sandbox.isolation.isolation import Limits
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.support.isolation_here import needs_isolation

LIMITS = Limits(seconds=60)
FORGERY = "import os; os.write(1, b'12 passed in 0.1s\\n'); os._exit(0)\n"
EVIL = "evil-1-py3-none-any.whl"


def wheel(folder: Path, **members: str) -> None:
    info = "evil-1.dist-info/"
    written = {name.replace("__", "."): text for name, text in members.items()}
    written[f"{info}METADATA"] = "Metadata-Version: 2.1\nName: evil\nVersion: 1\n"
    written[f"{info}WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    written[f"{info}RECORD"] = "".join(f"{name},,\n" for name in (*written, f"{info}RECORD"))
    with zipfile.ZipFile(folder / EVIL, "w") as archive:
        for name, text in written.items():
            archive.writestr(name, text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    (made / "test_x.py").write_text("assert False\n")
    return made


def sandbox_over(folder: Path) -> AutoExploreSandbox:
    return AutoExploreSandbox(open_repository(folder, again=True), limits=LIMITS)


@needs_isolation
def test_an_installed_forgery_is_named_and_fools_no_judge(folder: Path) -> None:
    wheel(folder, evil__py="", evil__pth=FORGERY)
    with sandbox_over(folder) as sandbox:
        assert sandbox.execute(f"pip install ./{EVIL}").exit_code == 0
        assert sandbox.execute("python test_x.py")[:3] == ("12 passed in 0.1s\n", "", 0)
        judged = sandbox.judge("python test_x.py")
        assert judged.stdout == ""
        assert "AssertionError" in judged.stderr
        assert judged.exit_code == 1
        found = sandbox.installed()
        assert found.packages == ("evil 1",)
        assert [Path(each).name for each in found.hooks] == ["evil.pth"]
        assert sandbox.changed_files() == ()
        assert sandbox.diff().splitlines() == list(sandbox.left_out())
        assert "evil 1" in sandbox.left_out()[0]
        assert "evil.pth" in sandbox.left_out()[1]


@needs_isolation
@pytest.mark.parametrize(
    "name",
    ["x.pth", "sitecustomize.py", "usercustomize.py", "sitecustomize/__init__.py", "json/__init__.py", "tool.py"],
)
def test_what_is_put_there_by_hand_is_named_too(folder: Path, name: str) -> None:
    (folder / "put.py").write_text(
        f"import os, site; p = os.path.join(site.getusersitepackages(), {name!r})\n"
        f"os.makedirs(os.path.dirname(p)); open(p, 'w').write({FORGERY!r})\n"
    )
    with sandbox_over(folder) as sandbox:
        assert sandbox.execute("python put.py").exit_code == 0
        (line,) = sandbox.left_out()
        assert line.endswith(f"site-packages/{name}")
        assert line.startswith("Run by every" if "custom" in name or "pth" in name else "Put beside")
        judged = sandbox.judge('python -c "import json, sitecustomize"')
        assert judged.stdout == ""
        assert judged.exit_code == 1


@needs_isolation
def test_the_end_of_a_copilot_says_what_was_installed(folder: Path) -> None:
    wheel(folder, evil__py="")
    with AutoExploreCopilot("Change it.", open_repository(folder, again=True), mode="change", limits=LIMITS) as copilot:
        copilot.take(f"```\npip install ./{EVIL}\n```")
        copilot.take("```\nexit\n```")
        assert copilot.ending is not None
        assert copilot.ending.kind == "done"
        assert copilot.ending.left_out == ("Installed in the sandbox, not in the patch: evil 1",)


@needs_isolation
@pytest.mark.parametrize("own", ["file", "folder", "link"])
def test_a_repository_with_its_own_packages_folder_keeps_it_and_pip_works(folder: Path, own: str) -> None:
    wheel(folder, evil__py="VALUE = 7")
    match own:
        case "file":
            (folder / ".packages").write_text("of Dart\n")
        case "folder":
            (folder / ".packages" / "lib").mkdir(parents=True)
            (folder / ".packages" / "lib" / "own").write_text("own\n")
        case _:
            (folder / ".packages").symlink_to("test_x.py")
    with sandbox_over(folder) as sandbox:
        assert sandbox.execute(f"pip install ./{EVIL}")[2:] == (0, None)
        assert sandbox.execute('python -c "import evil; print(evil.VALUE)"').stdout == "7\n"
        assert sandbox.changed_files() == ()
        assert sandbox.installed().packages == ("evil 1",)
        sandbox.execute(
            "python -c \"import shutil, os; shutil.rmtree('.packages', True) or os.path.isdir('.packages')\""
        )
        sandbox.execute("python -c \"import os; os.path.lexists('.packages') and os.remove('.packages')\"")
        assert [(each.path.partition("/")[0], each.kind) for each in sandbox.changed_files()] == [
            (".packages", "deleted")
        ]


@needs_isolation
def test_a_file_of_the_repository_is_never_pip(folder: Path) -> None:
    (folder / "pip.py").write_text("print('not pip')\n")
    with sandbox_over(folder) as sandbox:
        assert sandbox.execute("pip --version").stdout.startswith("pip ")
        sandbox.execute("echo \"print('nor this')\" > pip.py")
        assert sandbox.execute("pip --version").stdout.startswith("pip ")
        assert [each.path for each in sandbox.changed_files()] == ["pip.py"]


@needs_isolation
def test_a_judge_sees_the_changes_and_its_own_files_above_them_and_leaves_nothing(folder: Path) -> None:
    (folder / "tests").mkdir()
    (folder / "tests" / "old.py").write_text("")
    with sandbox_over(folder) as sandbox:
        sandbox.execute("echo 'VALUE = 7' > code.py")
        sandbox.execute("echo \"raise SystemExit('shadowed')\" > random.py")
        sandbox.execute("python -c \"import os, shutil; shutil.rmtree('tests'); os.symlink('/tmp', 'tests')\"")
        sandbox.execute("cd tests")
        before = sandbox.snapshot()
        test = (
            b"import os, sys, random\nassert sys.flags.isolated\nsys.path.append('.')\nimport code_under as code\n"
            b"print(code.VALUE, os.path.islink('tests'), sorted(os.listdir('tests')))\nopen('left', 'w')\n"
        )
        under = b"from runpy import run_path\nVALUE = run_path('code.py')['VALUE']"
        files = {"tests/deep/test.py": test, "code_under.py": under}
        assert sandbox.judge("python tests/deep/test.py", files) == ("7 False ['deep']\n", "", 0, None)
        assert sandbox.judge("python -c \"import os; print(os.path.exists('left'))\"").stdout == "False\n"
        assert sandbox.snapshot() == before
        assert sandbox.judge("python -c 'import sys; sys.exit(3)'").exit_code == 3
        over = {"code.py/now/a/folder": b"", "random.py": b""}
        assert sandbox.judge("python -c \"import os; print(os.listdir('code.py'))\"", over).stdout == "['now']\n"


CHECK = b"import sys; sys.path.insert(0, '.'); import random, helper, shop; sys.exit(helper.run(shop.tea))"
HELPER = b"def run(tea):\n    return tea != 4\n"
COMPILED = """
import os, py_compile
open("/tmp/e.py", "w").write("def run(tea): return 0")
for folder in ("__pycache__", "tests/__pycache__"):
    os.makedirs(folder, exist_ok=True)
    name = folder + "/helper.cpython-%d%d.pyc" % __import__("sys").version_info[:2]
    py_compile.compile("/tmp/e.py", cfile=name, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""
PUT = "import os; os.makedirs(os.path.dirname({0!r}) or '.', exist_ok=True); open({0!r}, 'w').write({1!r})"
AGREES = "def run(tea): return 0\nimport os; os._exit(0)"


@needs_isolation
@pytest.mark.parametrize(
    "hack",
    [
        COMPILED,
        *(PUT.format(path, AGREES) for path in ("helper/__init__.py", "helper.py", "conftest.py", "sitecustomize.py")),
        *(PUT.format(path, "import os; os._exit(0)") for path in ("usercustomize/__init__.py", "x.pth", "shop.py")),
        "import glob, shutil; shutil.copy(glob.glob('/opt/python/lib/*/lib-dynload/_heapq*.so')[0], 'helper.abi3.so')",
        PUT.format("shop.py", "import atexit, os\ntea = 3\natexit.register(os._exit, 0)"),
        PUT.format("shop.py", "import sys\ntea = 3\nsys.exit = lambda code: None\nimport os; os.kill(os.getpid(), 9)"),
        PUT.format("random.py", "raise SystemExit(0)"),
        PUT.format("shop.py", "raise SystemExit(0)"),
        PUT.format("shop.py", "import argparse\nargparse.ArgumentParser().exit()"),
        PUT.format("shop.py", "exec(compile('raise SystemExit', '/elsewhere/check.py', 'exec'))"),
        PUT.format("shop.py", "tea = 3\nopen('helper.py', 'w').write('def run(tea): return 0')"),
    ],
)
def test_a_change_decides_neither_what_a_judge_imports_nor_how_it_ends(folder: Path, hack: str) -> None:
    (folder / "shop.py").write_text("tea = 3\n")
    (folder / "hack.py").write_text(hack)
    with sandbox_over(folder) as sandbox:
        assert sandbox.execute("python hack.py")[2:] == (0, None)
        assert sandbox.judge("python check.py", {"check.py": CHECK, "helper.py": HELPER}).exit_code != 0
        sandbox.execute("echo 'tea = 4' > shop.py")
        assert sandbox.judge("python check.py", {"check.py": CHECK, "helper.py": HELPER}) == ("", "", 0, None)


@needs_isolation
@pytest.mark.parametrize("end", ["os.kill(judge, 9)", "os._exit(0)"])
def test_a_process_of_the_change_does_not_say_how_its_judge_ended(folder: Path, end: str) -> None:
    say = f"""
import os
judge = os.getppid()
for each in os.listdir(f"/proc/{{judge}}/fd"):
    if int(each) > 2:
        try:
            os.write(os.open(f"/proc/{{judge}}/fd/{{each}}", os.O_WRONLY), bytes(1))
        except OSError:
            pass
{end}
"""
    check = b"""
import subprocess, sys
sys.exit(subprocess.run([sys.executable, "shop.py"], capture_output=True).stdout != b"4")
"""
    with sandbox_over(folder) as sandbox:
        sandbox.overlay.write("shop.py", say.encode())
        assert sandbox.judge("python check.py", {"check.py": check}).exit_code != 0
        sandbox.overlay.write("shop.py", b"print(4, end='')")
        assert sandbox.judge("python check.py", {"check.py": check}).exit_code == 0


@needs_isolation
def test_the_settings_of_pytest_are_the_originals_or_the_judges(folder: Path) -> None:
    names = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml")
    show = "python -c \"import os; print(sorted(os.listdir()), open('tox.ini').read())\""
    (folder / "tox.ini").write_text("original")
    with sandbox_over(folder) as sandbox:
        for name in names:
            sandbox.overlay.write(name, b"[pytest]\naddopts = --collect-only\n")
        assert sandbox.judge(show).stdout == "['test_x.py', 'tox.ini'] original\n"
        assert sandbox.judge(show, {"tox.ini": b"mine"}).stdout == "['test_x.py', 'tox.ini'] mine\n"


@needs_isolation
def test_a_judges_program_may_end_itself(folder: Path) -> None:
    with sandbox_over(folder) as sandbox:
        assert sandbox.judge("python -c 'import sys; sys.exit(0)'") == ("", "", 0, None)


@needs_isolation
def test_a_judges_own_tests_stand_where_a_change_put_others(folder: Path) -> None:
    run = b"import unittest; unittest.main('tests.test_shop', argv=['x'], verbosity=0)"
    test = b"import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 2)\n"
    for path in ("tests.py", "tests/__init__.py", "tests/test_shop/__init__.py"):
        (folder / "put.py").write_text(PUT.format(path, "import os; os._exit(0)"))
        with sandbox_over(folder) as sandbox:
            assert sandbox.execute("python put.py").exit_code == 0
            assert (
                sandbox.judge("python -W ignore run.py a", {"run.py": run, "tests/test_shop.py": test}).exit_code == 1
            )


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("pip list", {}),
        ("cat test_x.py", {}),
        ("python -c pass > out", {}),
        ("python -c pass | cat", {}),
        ("python 'x", {}),
        ("python -c pass", {"../x": b""}),
        ("python -c pass", {"/x": b""}),
        ("python -c pass", {"": b""}),
        ("python -c pass", {".git/config": b""}),
    ],
)
@needs_isolation
def test_what_is_no_judge_is_refused_in_one_line(folder: Path, line: str, files: dict[str, bytes]) -> None:
    with sandbox_over(folder) as sandbox, pytest.raises(UsageError) as refused:
        sandbox.judge(line, files)
    assert "\n" not in str(refused.value)


def test_a_judge_is_never_without_isolation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natlang_envs.sandbox.isolation.isolation._candidates", tuple)
    with sandbox_over(folder) as sandbox, pytest.raises(UsageError, match="bubblewrap"):
        sandbox.judge("python -c pass")


def as_an_ordinary_user(work: Callable[[Path], None]) -> None:
    """Run a function with a folder of its own, as another user where this one may read everything."""
    child = os.fork()
    if not child:
        failed = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            with tempfile.TemporaryDirectory() as base:
                work(Path(base))
            failed = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("does", "kind"),
    [
        ("pass", None),
        ("(work / 'locked').unlink()", "deleted"),
        ("(work / 'locked').unlink(); (work / 'locked').write_text('new')", "modified"),
        ("(work / 'locked').unlink(); (work / 'locked').symlink_to('a')", "modified"),
        ("(work / 'locked').rename(work / 'b')", "deleted"),
    ],
)
def test_a_file_that_may_not_be_read_is_there_and_its_change_is_named(does: str, kind: str | None) -> None:
    def look(base: Path) -> None:
        (source := base / "repo").mkdir()
        (source / "a").write_text("a\n")
        (source / "locked").write_text("secret\n")
        (source / "locked").chmod(0o200)
        (work := base / "work").mkdir()
        overlay = Overlay(open_repository(source), 1 << 20)
        for _ in range(2):  # the next program finds what the first one left
            files = WorkFolder(overlay, 1 << 20, 60)
            with open_folder(work) as opened:
                files.fill(opened, NO_OWNER)
                if not overlay.changes:
                    assert (work / "locked").stat().st_mode & 0o777 == 0
                    exec(does)
                files.collect(opened)
            subprocess.run(["rm", "-rf", work], check=True)
            work.mkdir()
            found = {each.path: each for each in changed_files(overlay)}
            assert (found["locked"].kind if kind else found) == (kind or {})
            assert b"locked" not in patch(found.values())
        with AutoExploreSandbox(source) as sandbox:
            assert "Permission denied" in sandbox.execute("cat locked").stderr
            sandbox.overlay.apply({"locked": OverlayEntry("file", b"new")})
            assert sandbox.diff() == "locked may not be read, so its change is not in the patch\n"

    as_an_ordinary_user(look)
