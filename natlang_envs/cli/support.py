"""What the three command lines share: one-line errors, and what they print."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import requires, version
from pathlib import Path
from typing import Annotated, NoReturn, cast

import gymnasium
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from natlang_envs.errors import UsageError

LabelsOption = Annotated[Path | None, typer.Option("--labels", help="Your own AutoExplore labels (JSONL).")]
TasksOption = Annotated[Path | None, typer.Option("--tasks", help="Your own AutoExplore-Change tasks (JSONL).")]
RepositoryOption = Annotated[Path | None, typer.Option("--repo", help="The folder that --labels or --tasks is about.")]
# What the disk answers: no bug, and the user can mend it.
_DISK = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.EIO),
    *(errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG),
}
# What is not possible without each extra; `docs` and `dev` are for those who change the suite.
EXTRAS = {
    "agent": "the reference agent, reflect-rl",
    "eight-bit": "models in 8 bits",
    "leaderboard": "packing, verifying and building the leaderboard",
    "explore": "a faster index for natlang explore; chat models: --agent openai, natlang data label",
    "inspect": "playing protocols as tasks of Inspect: inspect eval natlang_envs/protocol",
    "data": "fetching the repositories of the labelled dataset, and exporting it",
    "ray": "evaluating on a Ray cluster",
    "serve": "serving an environment over OpenEnv's protocol: natlang serve",
    "alfworld": 'backend="textworld"; our own engine plays the same games without it',
}


@cache
def packages_of(extra: str) -> tuple[str, ...]:
    """Return the packages that an extra of pyproject.toml brings, as the installed distribution says."""
    brought = (re.match(r"([\w.-]+).*; extra == [\"']([\w-]+)[\"']", line) for line in requires("natlang-envs") or ())
    return tuple(found[1] for found in brought if found and found[2] == extra)


def run_app(app: str | Callable[..., object], name: str) -> NoReturn:
    """Run a command and leave the process with its exit code.

    Bad input, a disk that takes no more, and an extra that is not installed become one line on standard error and exit
    code 2; Ctrl-C becomes exit code 130. Anything else is a bug of ours or of an agent, and keeps its traceback.

    Args:
        app: The command, made with `pretty_exceptions_enable=False`, or where it is, as `module:attribute`: then it is
            imported here, so that a missing extra is answered in one line too.
        name: What the user typed, named in messages.
    """
    if sys.argv[1:] == ["--version"]:
        print(f"{name} {version('natlang-envs')}")
        sys.exit(0)
    try:
        if isinstance(app, str):
            module, _, attribute = app.partition(":")
            app = cast("Callable[..., object]", getattr(import_module(module), attribute))
        result = app(prog_name=name, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except (UsageError, gymnasium.error.UnregisteredEnv) as error:
        _fail(name, str(error))
    except ModuleNotFoundError as error:
        package = _missing(error)
        if package is None:
            raise
        extra = next(each for each in EXTRAS if package in packages_of(each))
        _fail(name, f"{package} is not installed: pip install 'natlang-envs[{extra}]'")
    except BrokenPipeError:
        sys.stdout = None  # whoever read us has gone; there is nothing left to flush to
        sys.exit(1)
    except OSError as error:
        if error.errno not in _DISK:
            raise
        where = f" ({error.filename})" if error.filename else ""
        _fail(name, f"stopped: {error.strerror}{where}; what was finished is kept: mend that and start again")
    except Exception as error:
        # A wrong command line: depending on its version, typer raises click's exceptions or its own copies of them.
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        context = getattr(error, "ctx", None)
        _fail(name, f"{describe().rstrip('.')} (see {context.command_path if context else name} --help)")
    sys.exit(result if isinstance(result, int) else 0)


def _missing(error: BaseException | None) -> str | None:
    """Return the package of an extra that is not installed; other packages wrap the error when they need it."""
    while error is not None:
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if any(package in packages_of(extra) for extra in EXTRAS):
            return package
        error = error.__cause__ or error.__context__
    return None


def _fail(name: str, message: str) -> NoReturn:
    print(f"{name}: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)


def counted(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def printable(text: str) -> str:
    """Return `text` with control characters escaped: what an environment quotes must not steer the terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text)


def print_some(lines: Sequence[str], most: int) -> None:
    """Print the first lines, made printable, and how many more there are."""
    for line in lines[:most]:
        typer.echo(printable(line))
    if len(lines) > most:
        typer.echo(f"and {len(lines) - most} more")


@contextmanager
def counting(what: str) -> Generator[Callable[[int, int], None]]:
    """Show a progress bar; what is yielded is to be called with how many are done, and how many there are."""
    with progress_bar() as progress:
        bar = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


def progress_bar(*more: ProgressColumn) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *more, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))
