"""The surroundings of a program in isolation: its Python, its environment, and its rewritten command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import natlang_envs
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.files import cache_folder
from natlang_envs.sandbox.isolation.environments import SETTINGS, PythonEnvironment, settings_for_tests
from natlang_envs.sandbox.isolation.watch import Completed

PACKAGES = ".packages"
"""The usual name of the folder that `pip` installs into, below the sandbox's own."""
PYTHON = "/opt/bin/python"
REFUSED = 126  # as a shell's "found, but cannot be run"
OFFLINE = "pip: there is no network in the sandbox: name a folder or a wheel that is in it"

_TOOLS = "/opt/tools"
_LIBRARIES, _LOCAL = Path("/usr/lib"), Path("/usr/local/lib")
_NETWORK = re.compile(r"-i|--(extra-)?index-url\b|--proxy\b|.*((git|hg|svn|bzr)\+|(https?|ftp|ssh)://)", re.DOTALL)


def running_python() -> Path:
    """Return the Python that runs this, without its packages."""
    # In a virtual environment sys.executable is a link to, or a copy of, the program beside the standard library.
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


@lru_cache
def interpreter_mounts(shown: PythonEnvironment | None = None) -> tuple[str, ...]:
    """Return bubblewrap's arguments: the same Python at /opt/python, or where it is if that is visible anyway.

    Of an environment its Python, and /opt, the folder above the program, becomes the environment. Finding pip's files
    takes longer than running a program.
    """
    inside = program = shown.program if shown else running_python()
    version = shown.version if shown else f"3.{sys.version_info.minor}"
    prefix = program.parent.parent
    packages = [*_LIBRARIES.glob("python3*/*-packages"), *_LOCAL.glob("python3*/*-packages")]
    arguments: list[str] = []
    if not prefix.is_relative_to("/usr"):
        inside = Path("/opt/python/bin", program.name)
        arguments += [*folders("/opt/python", "/opt/python/bin"), "--ro-bind", str(program), str(inside)]
        arguments += ["--ro-bind", str(prefix / "lib"), "/opt/python/lib"]
        # A folder of its own: LD_LIBRARY_PATH reaches every program, and prefixes hold other libraries too.
        for shared in (prefix / "lib").glob(f"libpython{version}*.so.*"):
            arguments += [*folders("/opt/lib"), "--ro-bind", str(shared), f"/opt/lib/{shared.name}"]
            arguments += ["--setenv", "LD_LIBRARY_PATH", "/opt/lib"]
        packages += [Path("/opt/python", each.relative_to(prefix)) for each in prefix.glob("lib/python3*/*-packages")]
    elif shown:
        inside = Path("/opt/python/bin", program.name)
        arguments += [*folders("/opt"), "--symlink", str(prefix), "/opt/python"]
    arguments += [*folders("/opt/bin"), "--symlink", str(inside), PYTHON]
    for more in ("3", version):
        arguments += ["--symlink", "python", PYTHON + more]
    # What the machine has installed is not the program's, and neither are this suite and its data: they hold answers.
    suite = Path(natlang_envs.__file__).parent.resolve()
    own = [suite, suite.with_name("datasets")]  # the second one is there in a checkout
    with suppress(RuntimeError):  # a user without a home has no cache
        own.append(cache_folder().resolve())
    below = [each for each in own if each.is_relative_to("/usr") and each.is_dir()]
    packages = [] if shown and shown.shares_packages else packages
    packages += [each for each in below if not set(packages) & {*each.parents}]
    for each in sorted(packages):
        arguments += ["--perms", "0755", "--size", "4096", "--tmpfs", str(each), "--remount-ro", str(each)]
    tools = [each for each in _tools() if not (shown and (shown.packages / each.name.partition("-")[0]).exists())]
    if tools:
        arguments += [*folders(_TOOLS), "--setenv", "PYTHONPATH", _TOOLS]
    for tool in tools:
        arguments += ["--ro-bind", str(tool), f"{_TOOLS}/{tool.name}"]
    if shown:
        place = f"/opt/lib/python{version}"
        arguments += [*folders("/opt/lib", place), "--ro-bind", str(shown.packages), f"{place}/site-packages"]
        arguments += ["--ro-bind", str(SETTINGS), "/opt/pyvenv.cfg"]
        for name in ("etc", "share"):
            arguments += ["--ro-bind-try", str(shown.folder / name), f"/opt/{name}"]
        # What is changed goes before a copy that the environment may hold.
        arguments += ["--setenv", "PYTHONPATH", ":".join(("/work/src", *([_TOOLS] if tools else [])))]
        for name, value in settings_for_tests("/tmp").items():
            arguments += ["--setenv", name, value]
    return tuple(arguments)


def _tools() -> Iterator[Path]:
    """Yield the files of pip and of its build tools, which every program is shown, wherever they are installed."""
    for name in ("pip", "setuptools", "wheel"):
        with suppress(metadata.PackageNotFoundError):
            package = metadata.distribution(name)
            home = Path(str(package.locate_file(""))).resolve()
            # Debian's packages list no files, others have no top_level.txt, and either may name what is not there.
            tops = {file.parts[0] for file in package.files or ()}
            tops.update((package.read_text("top_level.txt") or "").split())
            yield from (home / top for top in sorted(tops) if (home / top / "__init__.py").is_file())
            yield from sorted(home.glob(f"{name}-*-info"))


def folders(*names: str) -> list[str]:
    """Return the arguments that make folders open to all users: bubblewrap makes those above a mount for the owner."""
    return [part for name in names for part in ("--perms", "0755", "--dir", name)]


def environment(packages: str, temporary: str) -> dict[str, str]:
    """Return the whole environment of a program: the same on every machine, and nothing of the caller's."""
    return {
        "PATH": "/opt/bin:/usr/bin:/bin",
        "HOME": temporary,
        "TMPDIR": temporary,
        "USER": "sandbox",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",  # output from before a limit ended it is seen
        "PYTHONDONTWRITEBYTECODE": "1",  # or every run would show as changed files
        "PYTHONUSERBASE": packages,
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this one the wrong way round: 0 switches the isolation off
        "PIP_BREAK_SYSTEM_PACKAGES": "1",  # no system is there to be broken
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_INPUT": "1",
        "PIP_RETRIES": "0",
        "PIP_PROGRESS_BAR": "off",
    }


def system_mounts() -> list[str]:
    """Return the arguments that show /usr, and the names at the root that lead into it."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            arguments += ["--ro-bind", name, name]
    return [*arguments, *folders("/etc"), "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]


def command_line(argv: Sequence[str], python: str) -> list[str] | Completed:
    """Return the command line that runs `argv`, or the answer where there is nothing to run."""
    if not argv:
        raise UsageError("nothing to run: give python or pip and its arguments")
    name = require_choice("program", argv[0], ("python", "python3", "pip", "pip3", "pytest"))
    rest = list(argv[1:])
    if any("\0" in each for each in rest):
        return Completed.failed(REFUSED, f"{name}: an argument holds a NUL")
    if name.startswith("python"):
        return [python, *rest]
    if name == "pytest":
        return [python, "-m", "pytest", *rest]
    if any(_NETWORK.match(each) for each in rest):
        return Completed.failed(REFUSED, OFFLINE)
    for index, each in enumerate(rest):
        if each in {"install", "wheel"}:
            elsewhere = any(option.startswith(("--target", "-t", "--prefix", "--root")) for option in rest)
            user = ["--user"] if each == "install" and not elsewhere else []
            rest[index + 1 : index + 1] = ["--no-build-isolation", *user]
            break
    return [python, "-P", "-m", "pip", *rest]  # or a file pip.py in the current folder would be pip
