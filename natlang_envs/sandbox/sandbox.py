"""A repository to look around in, edit and run programs in, without ever changing the original."""

from __future__ import annotations

import codecs
import os
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from natlang_envs.errors import UsageError, check_flag
from natlang_envs.files import write_whole
from natlang_envs.repository.names import on_disk
from natlang_envs.repository.tree import Repository, RepositoryChanged, open_repository
from natlang_envs.sandbox.changes.edits import EditError
from natlang_envs.sandbox.changes.layered_folder import MANY, LayeredFolder
from natlang_envs.sandbox.changes.overlay import NO_STATE, Overlay, State, judged_copy, parent_of
from natlang_envs.sandbox.changes.patch import ChangedFile, Installed, changed_files, check_outside, installed, patch
from natlang_envs.sandbox.changes.work_folder import TooMuch, WorkFolder
from natlang_envs.sandbox.commands.context import CommandContext, CommandError, Output, resolve_target
from natlang_envs.sandbox.commands.parser import CommandLine, ParseError, parse
from natlang_envs.sandbox.commands.table import NATIVE, answer
from natlang_envs.sandbox.commands.writing import redirect, refusal, write_edits
from natlang_envs.sandbox.isolation.child import REFUSED
from natlang_envs.sandbox.isolation.environments import find_environment
from natlang_envs.sandbox.isolation.isolation import Completed, Isolation, Limits, find_isolation
from natlang_envs.sandbox.judging import command, shadowing, shown
from natlang_envs.spaces import escape_surrogates

_T = TypeVar("_T")
_P = ParamSpec("_P")
_RENEWALS = 5  # how often one command reads again what changed in the original
_BESIDE = re.compile(r"/opt/(?!(?:bin|lib|python|tools)$)[a-z]+")
_MOST_NOTES = 5  # files that changed that one command names
MAX_CODE = 100_000  # bytes of a program as an argument; the kernel takes 131,072
NO_INPUT = f"its standard input is empty here; python alone takes a program of up to {MAX_CODE:,} bytes from it"
PROGRAMS = {"python": "python", "python3": "python", "pip": "pip", "pip3": "pip"}


class CommandResult(NamedTuple):
    """The result of a command line.

    Attributes:
        stdout: Standard output; bytes that are no UTF-8 are backslash-escaped, UTF-16 with its mark is read.
        stderr: Standard error, likewise.
        exit_code: 0, or what the program of this name would return; 2 for a line that is not understood, 127 for a
            command that does not exist, 126 for one that cannot be run here.
        stopped: A plain sentence that names the limit that was hit, or None.
    """

    stdout: str
    stderr: str
    exit_code: int
    stopped: str | None = None


class SandboxState(NamedTuple):
    """The state of a sandbox: immutable, picklable and JSON-serialisable."""

    cwd: str
    changes: State


def _in_turn(
    method: Callable[Concatenate[AutoExploreSandbox, _P], _T],
) -> Callable[Concatenate[AutoExploreSandbox, _P], _T]:
    """Make the threads that use a sandbox wait for each other."""

    @wraps(method)
    def taking_turns(sandbox: AutoExploreSandbox, *given: _P.args, **named: _P.kwargs) -> _T:
        if sandbox.turn[0] != os.getpid():  # in a forked process no thread would release the lock
            sandbox.turn = (os.getpid(), threading.RLock())
        with sandbox.turn[1]:
            return method(sandbox, *given, **named)

    return taking_turns


class AutoExploreSandbox:
    """A copy-on-write sandbox over a repository.

    The commands of `sandbox/commands`, such as `ls`, `cat` and `grep`, are answered here, without a process, also in
    pipes; `> FILE`, `>> FILE` and here-documents write into the sandbox. `python` and `pip` run in isolation, see
    `isolation.py`, over a copy of the files in memory that exists for one run; of a large repository only the changes
    are copied for each. The root is shown as `/work`, nothing above it can be reached. Symbolic links are listed, never
    followed; `.git` is hidden and cannot be written. Use it as a context manager, or call `close`. Threads wait for
    each other: one command runs at a time, and its time begins with it. They share the current folder.

    Args:
        repository: A folder, or its index.
        limits: What programs may use; `disk` is also the most bytes that changed files may hold together, `output` the
            most bytes of standard output of any command, and `seconds` the most time of any command.
        unsafe: Run `python` and `pip` without isolation where there is none.
        environment: The folder of a Python environment, such as `.venv`. Programs are its Python, of whatever version,
            with its packages, which they cannot change; `pytest` is a command, too, and `src` is on the path.

    Raises:
        UsageError: The repository or the environment is not usable.
    """

    def __init__(
        self,
        repository: str | Path | Repository,
        *,
        limits: Limits | None = None,
        unsafe: bool = False,
        environment: str | Path | None = None,
    ) -> None:
        self.repository = repository if isinstance(repository, Repository) else open_repository(repository)
        self.limits = limits or Limits()
        check_flag("unsafe", unsafe)
        self._unsafe = unsafe
        self.environment = None if environment is None else find_environment(environment)
        self._programs = PROGRAMS | ({"pytest": "pytest"} if self.environment else {})
        self._context = CommandContext(Overlay(self.repository, self.limits.disk))
        self._closed = False
        self.turn = (os.getpid(), threading.RLock())  # the process that it is of, and whose turn it is
        self._notes: list[str] = []  # on what changed in the original during a command

    def __enter__(self) -> AutoExploreSandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Take no more commands."""
        self._closed = True

    @property
    def cwd(self) -> str:
        """The path of the current folder, "" for the root."""
        return self._context.cwd

    @property
    def overlay(self) -> Overlay:
        """The files as they are now."""
        return self._context.files

    @_in_turn
    def execute(self, command_line: str) -> CommandResult:
        """Run one command line. Whatever it is, it is answered.

        What changed in the original since it was indexed is taken as it is now, or left out if it is gone or changes
        all the time; the end of `stderr` names it.

        Raises:
            UsageError: The sandbox is closed.
        """
        try:
            stages = [self._parsed(command_line)]
            while stages[-1].then is not None:
                stages.append(stages[-1].then)
            last = stages[-1]
            for name in (stage.words[0] for stage in stages):
                if name not in NATIVE and name not in self._programs:
                    known = ", ".join(sorted({*NATIVE, *self._programs.values()}))
                    raise CommandError(f"{escape_surrogates(name)}: command not found (there are {known})", 127)  # noqa: TRY301
            target = None if last.target is None else resolve_target(self._context, last.target)
        except (ParseError, CommandError) as error:
            return CommandResult("", f"{error}\n", error.code)
        done = Completed(0, b"", b"", None)
        for stage in stages:
            limit = self.limits.output if stage is last and target is None else self.limits.disk
            try:
                after = self._living(
                    lambda stage=stage, given=done.stdout, limit=limit: self._run_stage(stage, given, limit)
                )
            except RepositoryChanged as error:
                after = Completed.failed(1, str(error))
            done = after._replace(stderr=done.stderr + after.stderr, stopped=done.stopped or after.stopped)
        if target is not None:
            problem = self._living(lambda: redirect(self.overlay, target, done.stdout, last.append))
            errors = done.stderr + f"{last.target}: {problem}\n".encode() if problem else done.stderr
            done = done._replace(stdout=b"", stderr=errors, exit_code=1 if problem else done.exit_code)
        notes, self._notes = self._notes, []
        done = done._replace(stderr=done.stderr + "".join(notes).encode("utf-8", "backslashreplace"))
        return CommandResult(_shown(done.stdout), _text(done.stderr), done.exit_code, done.stopped)

    def edit(self, text: str) -> CommandResult:
        """Apply a patch, a diff or blocks of search and replace: all of it or nothing.

        `natlang_envs.sandbox.changes.edits` describes the formats.

        Raises:
            UsageError: The sandbox is closed.
        """
        self._parsed("pwd")
        try:
            written = self._living(lambda: write_edits(self._context, escape_surrogates(text)))
        except (EditError, CommandError, RepositoryChanged) as error:
            return CommandResult("", f"{error}\n", 1)
        except (OSError, KeyError) as error:
            return CommandResult("", f"{refusal(error)}\n", 1)
        return CommandResult("".join(f"{line}\n" for line in written), "", 0)

    def _parsed(self, command_line: str) -> CommandLine:
        if self._closed:
            raise UsageError("the sandbox is closed: make a new one")
        return parse(escape_surrogates(command_line))

    def _living(self, act: Callable[[], _T]) -> _T:
        """Call what reads the original; a file that changed is taken as it is now, or left out."""
        met: set[str] = set()
        twice: set[str] = set()
        for _ in range(_RENEWALS):
            try:
                return act()
            except RepositoryChanged as error:
                (twice if error.path in met else met).add(error.path)
                self._renew(twice)
        return act()

    def _renew(self, without: Collection[str]) -> None:
        """Take the files of the original as they are now, and note what became of each that changed."""
        self.repository, became = self.repository.renewed(without)
        self._context.files = self.overlay.moved_to(self.repository)
        changed = [f"[{path} changed in the original: {what}]\n" for path, what in became.items()]
        more = len(changed) - _MOST_NOTES
        self._notes += changed[:_MOST_NOTES] + ([f"[and {more:,} more files]\n"] if more > 0 else [])

    def _run_stage(self, stage: CommandLine, given: bytes, limit: int) -> Completed:
        name, *words = stage.words
        if stage.given is not None:
            given = stage.given.encode()
        if name in NATIVE:
            self._context.given = given
            done = answer(name, self._context, words, Output(limit, self.limits.seconds))
        elif given and (self._programs[name] != "python" or words[:1] not in ([], ["-"]) or len(given) > MAX_CODE):
            done = Completed.failed(2, f"{name}: {NO_INPUT}")
        else:
            code = ["-c", os.fsdecode(given), *words[1:]] if given else words
            done = self._run((self._programs[name], *code))
        if stage.errors:
            joined = done.stdout + done.stderr if stage.errors == "&1" else done.stdout
            done = done._replace(stdout=joined, stderr=b"")
        return done

    def _run(self, argv: Sequence[str]) -> Completed:
        try:
            isolation = self.isolation()
        except UsageError as error:
            return Completed.failed(REFUSED, f"{argv[0]}: {error}")
        cwd = os.fsdecode(on_disk(self._context.cwd))
        done = self._run_over(self.overlay, isolation, argv, cwd, {})
        while self.overlay.kind(self._context.cwd) != "folder":  # the program removed the current folder
            self._context.cwd = parent_of(self._context.cwd)[0]
        return done

    def _run_over(
        self, overlay: Overlay, isolation: Isolation, argv: Sequence[str], cwd: str, beside: Mapping[str, Path]
    ) -> Completed:
        layered = len(self.repository.files) > MANY and isolation.lays()
        work = (LayeredFolder if layered else WorkFolder)(overlay, self.limits.disk, self.limits.seconds)
        work.beside = beside
        if self.environment:
            work.environment, work.original = self.environment, self.repository.path
        try:
            return isolation.run(argv, work, cwd, self.limits)
        except TooMuch as error:
            return Completed(1, b"", b"", f"{error}: its changes are undone")

    def isolation(self) -> Isolation:
        """Return what `python` and `pip` run in.

        Raises:
            UsageError: There is none on this machine, and the sandbox is not `unsafe`; the line says what to install.
        """
        return find_isolation(self._unsafe)

    @_in_turn
    def judge(
        self, command_line: str, files: Mapping[str, bytes] | None = None, beside: Mapping[str, Path] | None = None
    ) -> CommandResult:
        """Run a `python` that scores the changes, so that none of them decides how it ends.

        It runs as `python -I -B`, which finds no modules in the current folder and reads nothing of the sandbox when it
        starts, over a fresh copy: the original with the changes that `changed_files` names, without what was installed,
        `__pycache__`, `.pth`, `conftest.py` and the like, and what would be imported in the place of the judge's files.
        Nothing that it does is kept. Exit code 0 means that the program reached its end. Code under test that it
        imports or starts can still change what the program holds, and read its files: let the program print what the
        code answers, and compare that with what is expected in your own process.

        Args:
            command_line: `python`, its options, a script and arguments; it starts at the root.
            files: Files of the judge's own by path, put above the changes, whatever is in their place. Those that are
                Python are in a read-only folder, too, which comes first on the path.
            beside: Folders of yours that it may read, by where it finds them, such as `/opt/lab`.

        Raises:
            RepositoryChanged: The original changed since it was indexed.
            UsageError: The line runs something else, there is no isolation here, the sandbox is closed, or a folder is
                to be shown elsewhere than below /opt.
        """
        for inside in beside or {}:
            if not _BESIDE.fullmatch(inside):
                raise UsageError(f"a folder is shown below /opt, such as /opt/lab, not at {inside!r}")
        try:
            line = self._parsed(command_line)
        except ParseError as error:
            raise UsageError(f"the judge's command line is not understood: {error}") from None
        if PROGRAMS.get(line.words[0]) != "python" or line != CommandLine(line.words):
            raise UsageError(f"a judge runs python, without a pipe or redirection, not {command_line!r}")
        files = files or {}
        copy = judged_copy(self.overlay, self.limits.disk, files, shadowing(files, self.repository.files))
        with shown({path: content for path, content in files.items() if path.endswith(".py")}) as folder:
            there = {**(beside or {}), **folder}
            done = self._run_over(copy, self.isolation(), command(line.words[1:]), "", there)
        return CommandResult(_text(done.stdout), _text(done.stderr), done.exit_code, done.stopped)

    @_in_turn
    def installed(self) -> Installed:
        """Return what is in the folder that `pip` installs into: it is in no patch, but decides what programs do."""
        return installed(self.overlay)

    @_in_turn
    def left_out(self) -> tuple[str, ...]:
        """Return in words what a patch leaves out: what was installed, and changes of files that may not be read."""
        locked = filter(self.repository.is_locked, sorted(self.overlay.changes))
        unread = (f"{path} may not be read, so its change is not in the patch" for path in locked)
        return (*self.installed().lines(), *unread)

    @_in_turn
    def changed_files(self) -> tuple[ChangedFile, ...]:
        """Return the files and symbolic links that differ from the original, sorted by path.

        What `pip` installed is left out: see `installed`.

        Raises:
            RepositoryChanged: One of them changed in the original since it was indexed.
        """
        return tuple(changed_files(self.overlay))

    @_in_turn
    def diff(self) -> str:
        """Return the changes as a unified diff, for people: it begins with `left_out`, and only names binary files.

        Raises:
            RepositoryChanged: One of the files changed in the original since it was indexed.
        """
        words = "".join(f"{line}\n" for line in self.left_out())
        return words + "".join(map(_text, patch(self.changed_files(), whole_binaries=False)))

    @_in_turn
    def export(self, path: str | Path) -> None:
        """Write the changes as a patch that `git apply` accepts, and `patch -p1` where no binary file changed.

        Raises:
            RepositoryChanged: One of the files changed in the original since it was indexed.
            UsageError: The patch cannot be written there, or would lie in the repository.
        """
        check_outside(path, self.repository.path)
        try:
            write_whole(Path(path), b"".join(patch(self.changed_files())))
        except OSError as error:
            raise UsageError(f"the patch cannot be written to {str(path)!r} ({refusal(error)})") from None

    @_in_turn
    def snapshot(self) -> SandboxState:
        """Return the present state."""
        return SandboxState(self._context.cwd, self.overlay.state())

    @_in_turn
    def restore(self, state: SandboxState | Sequence[Any]) -> None:
        """Return to a state of a sandbox over the same repository, also one that went through JSON.

        Raises:
            UsageError: It is no such state; nothing is changed then.
        """
        try:
            cwd, changes = state
        except (ValueError, TypeError):
            raise UsageError(NO_STATE) from None
        overlay = Overlay(self.repository, self.limits.disk)
        overlay.restore(changes)
        if not isinstance(cwd, str) or overlay.kind(cwd) != "folder":
            raise UsageError(NO_STATE)
        self._context.files = overlay
        self._context.cwd = cwd

    @_in_turn
    def reset(self) -> None:
        """Return to the original, at its root."""
        self.overlay.reset()
        self._context.cwd = ""


def _shown(content: bytes) -> str:
    """Return what a command printed; a file in UTF-16 begins with a mark."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "backslashreplace")
    return _text(content)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
