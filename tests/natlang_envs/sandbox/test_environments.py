"""Programs of the sandbox in a Python environment of the user's: real ones, made by `venv`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from natlang_envs.errors import UsageError
from natlang_envs.sandbox import AutoExploreSandbox
from natlang_envs.sandbox.isolation.environments import find_environment
from tests.support.environments import make_environment
from tests.support.folders import write
from tests.support.hostile import tree_hash
from tests.support.isolation_here import needs_isolation

TEST = "import tea\n\n\ndef test_price():\n    assert tea.PRICE == 3\n"
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write(tmp_path / "shop", {"src/tea.py": "PRICE = 3\n", "tests/test_tea.py": TEST})


@needs_isolation
@pytest.mark.parametrize("inside", [False, True])
def test_pytest_runs_what_is_changed_and_not_the_copy_that_is_installed(
    shop: Path, tmp_path: Path, inside: bool
) -> None:
    folder = (shop if inside else tmp_path) / ".venv"
    write(make_environment(folder), {"tea.py": "PRICE = 5\n", "needed.py": "NAME = 'cup'\n"})
    write(shop, {".gitignore": ".venv\n"})
    before = tree_hash(tmp_path)
    with AutoExploreSandbox(shop, environment=folder) as sandbox:
        assert "1 passed" in sandbox.execute("pytest -q").stdout
        said = sandbox.execute("python -c 'import needed, sys; print(needed.NAME, sys.version_info[:2])'").stdout
        assert said == f"cup {sys.version_info[:2]}\n"
        sandbox.execute("sed -i s/3/4/ src/tea.py")
        assert "1 failed" in sandbox.execute("cd tests && pytest").stdout + sandbox.execute("pytest -q tests").stdout
        written = sandbox.execute("python -c 'import needed; open(needed.__file__, \"w\")'")
        assert "Read-only file system" in written.stderr
        assert [each.path for each in sandbox.changed_files()] == ["src/tea.py"]
    assert tree_hash(tmp_path) == before


@needs_isolation
def test_what_is_installed_from_the_repository_is_what_is_changed_there(tmp_path: Path) -> None:
    shop = write(tmp_path / "shop", {"code/tea.py": "PRICE = 3\n"})
    write(make_environment(tmp_path / "env", tested=False), {"editable.pth": f"{shop / 'code'}\n"})
    with AutoExploreSandbox(shop, environment=tmp_path / "env") as sandbox:
        sandbox.execute("sed -i s/3/4/ code/tea.py")
        assert sandbox.execute("python -c 'import tea; print(tea.PRICE)'").stdout == "4\n"
        assert sandbox.execute("pytest").stderr.endswith("No module named pytest\n")


@needs_isolation
def test_packages_of_the_python_are_there_only_where_the_environment_shares_them(shop: Path, tmp_path: Path) -> None:
    code = "python -c 'import importlib.util; print(bool(importlib.util.find_spec(\"numpy\")))'"
    home = Path(sys.base_prefix, "lib", f"python{HERE}", "site-packages")
    for options, sees in (((), False), (("--system-site-packages",), (home / "numpy").is_dir())):
        make_environment(tmp_path / f"env{len(options)}", *options, tested=False)
        with AutoExploreSandbox(shop, environment=tmp_path / f"env{len(options)}") as sandbox:
            assert sandbox.execute(code).stdout == f"{sees}\n"


@needs_isolation
def test_an_environment_of_copies_and_a_python_without_settings_are_environments(shop: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / "env", "--copies", tested=False)
    for folder in (tmp_path / "env", Path(sys.base_prefix)):
        if folder == Path("/usr"):
            continue  # Debian's own has its packages elsewhere
        with AutoExploreSandbox(shop, environment=folder) as sandbox:
            assert sandbox.execute("python -c 'import sys; print(sys.prefix)'").stdout == "/opt\n"


@needs_isolation
def test_an_environment_of_another_python_runs_that_one(shop: Path, tmp_path: Path) -> None:
    others = [*Path("/usr/bin").glob("python3.[0-9]*"), *Path.home().glob(".pyenv/versions/3.1*/bin/python3.[0-9]*")]
    others = [each for each in others if each.name.removeprefix("python").replace(".", "").isdigit()]
    other = next((each for each in sorted(others, reverse=True) if each.name != f"python{HERE}"), None)
    if other is None:
        pytest.skip("there is no Python of another version here")
    make_environment(tmp_path / "env", python=str(other), tested=False)
    with AutoExploreSandbox(shop, environment=tmp_path / "env") as sandbox:
        said = sandbox.execute("python -c 'import ssl, sys; print(\"python%d.%d\" % sys.version_info[:2])'")
        assert said.stdout == f"{other.name}\n"


def test_what_is_no_environment_is_refused(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(folder: Path | str) -> str:
        with pytest.raises(UsageError) as error:
            AutoExploreSandbox(shop, environment=folder)
        return str(error.value)

    monkeypatch.chdir(tmp_path)
    assert refused("env") == (
        "there is no folder 'env' with a Python environment: make it with python -m venv, or name another one"
    )
    assert refused("shop").endswith("site-packages): make it with python -m venv, or name another one")
    make_environment(shop / ".venv", tested=False)
    near = f"is no Python environment (bin/python, lib/python3.*/site-packages): '{shop / '.venv'}' is one"
    assert refused("shop") == f"'shop' {near}"
    assert refused(shop / ".venv" / "bin") == f"'{shop / '.venv' / 'bin'}' {near}"
    home = write(tmp_path / "old", {"bin/python3.1": "gone", f"lib/python{HERE}/os.py": ""})
    (shop / ".venv" / "bin" / "python").unlink()
    (shop / ".venv" / "bin" / "python").symlink_to(home / "bin" / "python3.1")
    settings = shop / ".venv" / "pyvenv.cfg"
    settings.write_text(f"home = {home / 'bin'}\n")
    assert find_environment(shop / ".venv").program == home / "bin" / "python3.1"
    shutil.rmtree(home)
    assert refused("shop/.venv") == (f"the Python of 'shop/.venv' is gone ({home / 'bin'}): make the environment anew")
    settings.write_bytes(b"\xff")
    assert str(home / "bin" / "python3.1") in refused("shop/.venv")


def test_nothing_of_an_environment_is_run_to_learn_about_it(shop: Path, tmp_path: Path) -> None:
    folder = shop / ".venv"
    make_environment(folder, tested=False)
    (folder / "bin" / "python").unlink()
    (folder / "bin" / "python").write_text(f"#!/bin/sh\ntouch {tmp_path / 'was-run'}\n")
    (folder / "bin" / "python").chmod(0o755)
    with AutoExploreSandbox(shop, environment=folder) as sandbox:
        sandbox.execute("python -c 1")
    assert not (tmp_path / "was-run").exists()


def test_without_isolation_the_environment_is_run_where_it_is(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_environment(tmp_path / "env")
    code = (
        "import natlang_envs.sandbox.isolation.isolation as each; each._candidates = lambda: ();"
        "from natlang_envs.sandbox import AutoExploreSandbox;"
        f"sandbox = AutoExploreSandbox({str(shop)!r}, environment={str(tmp_path / 'env')!r}, unsafe=True);"
        "print(sandbox.execute('pytest -q').stdout, sandbox.changed_files())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "1 passed" in done.stdout
    assert done.stdout.endswith("()\n")
