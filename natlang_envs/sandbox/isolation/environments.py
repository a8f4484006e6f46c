"""Python environments of the user's, which programs in isolation are shown read-only: their packages, and their Python.

Nothing of an environment is run to learn about it: it may lie in a repository that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from natlang_envs.errors import UsageError

SETTINGS = Path(__file__).with_name("pyvenv.cfg")  # which make /opt an environment inside
_MAKE = "make it with python -m venv, or name another one"


class PythonEnvironment(NamedTuple):
    """A virtual environment, or another Python with packages of its own."""

    folder: Path
    program: Path  # the Python that it was made with, links resolved; its standard library is below the folder above
    version: str  # such as "3.12"
    packages: Path  # the folder of its packages
    shares_packages: bool  # whether it has those of the Python that it was made with, too


def find_environment(folder: str | Path) -> PythonEnvironment:
    """Return the Python environment in a folder, such as `.venv`.

    Raises:
        UsageError: There is none, or the Python that it was made with is gone.
    """
    path = Path(folder).absolute()
    if not path.is_dir():
        raise UsageError(f"there is no folder {str(folder)!r} with a Python environment: {_MAKE}")
    found = sorted(path.glob("lib/python3.*/site-packages"))
    python = path / "bin" / "python"
    if not found or not (python.is_symlink() or python.is_file()):
        near = [each for each in (path / ".venv", path / "venv", path.parent) if (each / "pyvenv.cfg").is_file()]
        hint = f"{str(near[0])!r} is one" if near else _MAKE
        raise UsageError(f"{str(folder)!r} is no Python environment (bin/python, lib/python3.*/site-packages): {hint}")
    settings = _settings(path)
    for packages in reversed(found):
        version = packages.parent.name.removeprefix("python")
        for program in _programs(python, settings.get("home", ""), version):
            prefix = program.parent.parent
            if any((prefix / lib / f"python{version}" / "os.py").is_file() for lib in ("lib", "lib64")):
                shares = settings.get("include-system-site-packages", "").lower() == "true"
                return PythonEnvironment(path, program, version, packages, shares)
    made_with = settings.get("home") or str(python.readlink() if python.is_symlink() else python)
    raise UsageError(f"the Python of {str(folder)!r} is gone ({made_with}): make the environment anew")


def _settings(folder: Path) -> dict[str, str]:
    try:
        text = (folder / "pyvenv.cfg").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # other Pythons than those of `venv` have none
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _programs(python: Path, home: str, version: str) -> Iterator[Path]:
    """Yield what the Python that an environment was made with may be; where `bin/python` is a copy, it is at home."""
    names = [Path(home, f"python{version}"), Path(home, "python3")] if home else []
    for each in (python, *names):
        with suppress(OSError, RuntimeError):
            yield each.resolve(strict=True)


def settings_for_tests(temporary: str) -> dict[str, str]:
    """Return the variables that keep what test tools remember out of the folder under test."""
    return {
        "PYTEST_ADDOPTS": f"-o cache_dir={temporary}/pytest",
        "HYPOTHESIS_STORAGE_DIRECTORY": f"{temporary}/hypothesis",
        "COVERAGE_FILE": f"{temporary}/coverage",
    }
