"""The copilot: a loop of prompt, answer and execution of the answer's command over a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args

from natlang_envs.answers import Reading, read_answer
from natlang_envs.answers.texts import blocks
from natlang_envs.copilot.command_text import ENDS, in_turn, operands, parsed
from natlang_envs.copilot.edit_forms import WORD as EDIT
from natlang_envs.copilot.shell import Shell
from natlang_envs.errors import UsageError, check_count, require_choice
from natlang_envs.prompt import Choice, enumerate_actions, prompt_texts
from natlang_envs.repository.entries import Folder
from natlang_envs.repository.navigation import moves_of, pages_of
from natlang_envs.repository.texts import NEXT, PREVIOUS, UP, clean_question, turned
from natlang_envs.repository.tree import Repository
from natlang_envs.sandbox.commands.context import ROOT, CommandContext, CommandError, resolve
from natlang_envs.sandbox.commands.parser import quote
from natlang_envs.sandbox.commands.table import KINDS
from natlang_envs.sandbox.isolation.isolation import Limits
from natlang_envs.sandbox.sandbox import AutoExploreSandbox, CommandResult
from natlang_envs.spaces import escape_surrogates

Mode = Literal["identify", "answer", "change"]
EndKind = Literal["identified", "answered", "done", "left", "no step left", "no command"]
MODES: tuple[Mode, ...] = get_args(Mode)
SUCCESS: dict[Mode, EndKind] = {"identify": "identified", "answer": "answered", "change": "done"}
FINAL: dict[Mode, str] = {"identify": "id", "answer": "answer", "change": "exit"}  # what a final answer stands for
MAX_UNREADABLE = 3  # answers in a row without a command, which end the loop
EDITORS = (EDIT, "applypatch", "patch", "git")  # commands that take edits from a here-document
GIT_DIFF = ("git diff", "git --no-pager diff", "git diff HEAD")  # commands that show the changes
_words = partial(prompt_texts, "natlang_envs.copilot")
_NAMES_SHOWN = 200
_COMMAND_SHOWN = 300  # characters of an earlier command


class Turn(NamedTuple):
    """One turn of the loop: the command (None: none was found), what was said around it, and what it did."""

    command: str | None
    reasoning: str
    result: CommandResult


class Ending(NamedTuple):
    """The end of the loop.

    Attributes:
        kind: How it ended.
        value: The path of the file named, or the answer given, else empty.
        left_out: In words, what a patch of the changes leaves out, such as what was installed.
    """

    kind: EndKind
    value: str = ""
    left_out: tuple[str, ...] = ()


class TaskCommand(NamedTuple):
    """A command that a task adds to those of the sandbox: a line on what it does, and how it is answered."""

    about: str
    run: Callable[[str], CommandResult]


class Driver(Protocol):
    """A source of answers to the copilot's prompts."""

    def reply(self, copilot: AutoExploreCopilot) -> str | None:
        """Return the answer to the present prompt; None: no more will come."""


@dataclass(frozen=True)
class PromptContent:
    """The parts of the sandbox's state that a prompt shows.

    Attributes:
        files: Whether the folders and files of the current folder are listed, which saves `ls`.
        choices: Whether the commands are listed behind labels (to identify a file only).
        results: Of how many of the last commands the output is shown.
        characters: How much of each.
    """

    files: bool = True
    choices: bool = False
    results: int = 1
    characters: int = 6_000


class AutoExploreCopilot:
    """Lets a person or a model work in a sandbox over a repository.

    One turn is `prompt`, an answer from outside, and `take`; `run` does this until an end. Use it as a context manager,
    or call `close`: it owns its sandbox.

    Args:
        question: The question, or in the mode `change` the task.
        repository: A folder, or its index. It is never modified.
        mode: `identify` (name the file), `answer` (give the answer) or `change` (edit, run, and leave).
        steps: The largest number of turns.
        shown: How much a prompt holds.
        limits: What programs in the sandbox may use.
        unsafe: Run `python` and `pip` without isolation where there is none.
        environment: The folder of a Python environment, such as `.venv`, whose Python and pytest run in the sandbox.
        commands: Further commands by name; each is called with what stands behind the name.
        chained: Run the commands that `&&` joins in turn, as long as they succeed; else only the first of several.

    Attributes:
        sandbox: The sandbox.
        turns: The turns so far.
        ending: How it ended, or None.

    Raises:
        UsageError: The repository cannot be used, the question is empty, or another argument does not fit.
    """

    def __init__(
        self,
        question: str,
        repository: str | Path | Repository,
        *,
        mode: Mode = "identify",
        steps: int = 30,
        shown: PromptContent | None = None,
        limits: Limits | None = None,
        unsafe: bool = False,
        environment: str | Path | None = None,
        commands: Mapping[str, TaskCommand] | None = None,
        chained: bool = False,
    ) -> None:
        require_choice("mode", mode, MODES)
        steps = check_count("steps", steps)
        self.shown = shown or PromptContent()
        if self.shown.choices and mode != "identify":
            raise UsageError(f"commands can be listed as choices to identify a file only, not in the mode {mode!r}")
        self.question = clean_question(question)
        self.mode: Mode = mode
        self.steps = steps
        self.turns: list[Turn] = []
        self.ending: Ending | None = None
        self.sandbox = AutoExploreSandbox(repository, limits=limits, unsafe=unsafe, environment=environment)
        self._commands = dict(commands or {})
        self._chained = chained
        self._page = 0

    def __enter__(self) -> AutoExploreCopilot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove what the sandbox has on disk."""
        self.sandbox.close()

    @property
    def task(self) -> str:
        """The question or task, in words."""
        return _words()[self.mode]["task"].format(question=self.question)

    @property
    def steps_left(self) -> int:
        """The number of turns that are left."""
        return self.steps - len(self.turns)

    @property
    def succeeded(self) -> bool:
        """Whether it ended as its mode wants."""
        return self.ending is not None and self.ending.kind == SUCCESS[self.mode]

    @property
    def instructions(self) -> str:
        """The part of a prompt that never changes: the commands, and how to end."""
        more = dict(_words()["in_environment"]) if self.sandbox.environment else {}
        return instructions(self.mode, more | {name: each.about for name, each in self._commands.items()})

    @property
    def _pages(self) -> int:
        return len(pages_of(self._folder))

    @property
    def _folder(self) -> Folder:
        return self.sandbox.overlay.folder(self.sandbox.cwd)

    def _listed(self) -> tuple[str, ...]:
        self._page = min(self._page, self._pages - 1)  # the folder may have become shorter
        return tuple(moves_of(self._folder, self._page))

    def choices(self) -> list[Choice]:
        """Return the labelled commands of this prompt; none unless they are to be shown."""
        return enumerate_actions(self._listed()) if self.shown.choices else []

    def prompt(self) -> str:
        """Return the prompt of this turn, without the instructions."""
        words = _words()
        folder = self.sandbox.cwd
        lines = ["# Task", self.task, "# Current folder", f"{ROOT}/{folder}" if folder else ROOT]
        if self.shown.files:
            here = self.sandbox.overlay.folder(folder)
            for title, names in (("# Folders here", here.folders), ("# Files here", here.files)):
                lines += [title, *(names[:_NAMES_SHOWN] or ("(none)",))]
                if len(names) > _NAMES_SHOWN:
                    lines.append(words["more_names"].format(count=len(names) - _NAMES_SHOWN))
        lines.append("# Commands so far")
        lines += [f"{number}. {_briefly(turn.command)}" for number, turn in enumerate(self.turns, 1)] or ["(none)"]
        newest = self.turns[max(0, len(self.turns) - max(1, self.shown.results)) :]
        for turn in newest:
            lines.append("# Last result" if turn is newest[-1] else f"# Earlier result: {_briefly(turn.command)}")
            lines.append(describe(turn.result, self.shown.characters))
        if not newest:
            lines += ["# Last result", "(no command yet)"]
        lines += ["# Steps left", str(self.steps_left)]
        if self.shown.choices:
            lines += ["# Choices", *(f"{each.label}. {each.command}" for each in self.choices())]
        return escape_surrogates("\n".join(lines))

    def take(self, answer: str | Mapping[str, Any]) -> Turn:
        """Find the command in an answer, a text or a message, and execute it. Every answer takes a turn.

        Raises:
            UsageError: It is over already.
        """
        if self.ending is not None:
            raise UsageError("the copilot has come to an end: make a new one")
        choices = self.choices()
        labels, commands = [each.label for each in choices], [each.command for each in choices]
        reading = read_answer(
            answer, commands, labels=labels, free=Shell(FINAL[self.mode], self._commands, self._chained)
        )
        command = None if reading.command is None else escape_surrogates(reading.command)
        result = _answer(self._unreadable(reading), 2) if command is None else self._execute(command)
        if reading.left_over:
            note = _words()["left_over"].format(count=reading.left_over)
            result = result._replace(stderr=f"{result.stderr}{note}\n")
        turn = Turn(command, escape_surrogates(reading.rest), result)
        self.turns.append(turn)
        if self.ending is None:
            if len(self.turns) >= MAX_UNREADABLE and all(each.command is None for each in self.turns[-MAX_UNREADABLE:]):
                self.ending = self._ended("no command")
            elif self.steps_left == 0:
                self.ending = self._ended("no step left")
        return turn

    def run(self, driver: Driver, after: Callable[[Turn], None] | None = None) -> Ending:
        """Let a driver answer until the end.

        Args:
            driver: Who answers.
            after: Called after each turn.

        Raises:
            UsageError: The driver cannot go on. What was done so far stays in the sandbox.
        """
        while self.ending is None:
            answer = driver.reply(self)
            if answer is None:
                self.ending = self._ended("left")
                break
            turn = self.take(answer)
            if after is not None:
                after(turn)
        return self.ending

    def _ended(self, kind: EndKind, value: str = "") -> Ending:
        return Ending(kind, value, self.sandbox.left_out())

    def _unreadable(self, reading: Reading) -> str:
        words = _words()
        code = next(blocks(reading.rest), None) if self.mode == "change" else None
        return words["unreadable"] if code is None else words["no_path"].format(name=code.name or "text")

    def _execute(self, command: str) -> CommandResult:
        words = _words()
        is_listed = self.shown.choices and command in self._listed()
        line = command_line_of(command) if is_listed else command.strip()
        first, *others = [line] if is_listed else in_turn(line)
        if others:
            result = self._execute(first)
            for each in others:
                if result.exit_code or self.ending is not None:
                    break
                before, result = result, self._execute(each)
                result = result._replace(stdout=before.stdout + result.stdout, stderr=before.stderr + result.stderr)
            return result
        if line in (NEXT, PREVIOUS) and self.shown.choices:
            self._page = max(0, self._page + (1 if line == NEXT else -1))
            self._listed()
            return CommandResult(f"{turned(self._page, self._pages)}\n", "", 0)
        word, rest = [*line.split(None, 1), "", ""][:2]
        if word in self._commands:
            return self._commands[word].run(rest)
        edits = parsed(line) if word in EDITORS and self.mode == "change" else None
        if edits is not None and edits.given is not None:
            return self.sandbox.edit(edits.given)
        if self.sandbox.environment and line in GIT_DIFF:
            return CommandResult(self.sandbox.diff(), "", 0)
        if word not in ENDS:
            folder = self.sandbox.cwd
            result = self.sandbox.execute(line)
            if self.sandbox.cwd != folder:
                self._page = 0
            return result
        if word == "exit":
            self.ending = self._ended("done" if self.mode == "change" else "left")
            return CommandResult("", "", 0)
        if word == "id" and self.mode == "identify":
            return self._name(rest)
        if word == "answer" and self.mode == "answer":
            if not rest:
                return _answer(words["nothing_said"], 2)
            self.ending = self._ended("answered", rest)
            return CommandResult("", "", 0)
        signal = words[self.mode]["signal"]
        ends = signal if signal == "exit" else f"{signal} or exit"
        return _answer(words["wrong_end"].format(word=word, ends=ends), 2)

    def _name(self, typed: str) -> CommandResult:
        context = CommandContext(self.sandbox.overlay, self.sandbox.cwd)
        for name in operands(typed):
            try:
                path, kind = resolve(context, name)
            except CommandError:
                continue
            if kind == "file":
                self.ending = self._ended("identified", path)
                return CommandResult("", "", 0)
            if kind == "folder":
                return _answer(_words()["a_folder"].format(name=name), 1)
        return _answer(_words()["no_file"].format(name=typed or "id"), 1)


def instructions(mode: Mode, more: Mapping[str, str] | None = None) -> str:
    """Return the part of a prompt that never changes; `more` are further commands, each with what it does."""
    words = _words()
    commands = "\n".join(f"- {kind.line()}" for kind in KINDS)
    lines = [*(f"- {name} {about}" for name, about in (more or {}).items()), words[mode]["ends"].strip()]
    return words["role"].strip().replace("{commands}", commands).replace("{ends}", "\n".join(lines))


def describe(result: CommandResult, characters: int) -> str:
    """Return what a command did, in words, cut to a number of characters for each stream."""
    parts: list[str] = []
    for text in (result.stdout, result.stderr):
        if not text:
            continue
        parts.append(text[:characters].removesuffix("\n"))
        if len(text) > characters:
            parts.append(_words()["cut"].format(shown=f"{characters:,}", total=f"{len(text):,}"))
    if result.stopped is not None:
        parts.append(f"[stopped: {result.stopped}]")
    if result.exit_code:
        parts.append(f"[exit code {result.exit_code}]")
    return "\n".join(parts) or "(no output)"


def _briefly(command: str | None) -> str:
    if command is None:
        return "(none)"
    return command if len(command) <= _COMMAND_SHOWN else f"{command[:_COMMAND_SHOWN]} … [cut]"


def _answer(words: str, code: int) -> CommandResult:
    return CommandResult("", f"{words}\n", code)


def command_line_of(command: str) -> str:
    """Return the command line that does what a listed command says."""
    word, _, name = command.partition(" ")
    if word not in ("cd", "cat", "id") or command == UP:
        return command
    return f"{word} {quote(f'./{name}' if name.startswith('-') else name)}"
