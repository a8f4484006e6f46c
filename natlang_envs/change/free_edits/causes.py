"""Why a command does nothing in AutoExplore-ChangeFree, or ends the work without success."""

from __future__ import annotations

from collections.abc import Sequence

from natlang_envs.change.free_edits.patching import WORD
from natlang_envs.copilot.command_text import cd_first
from natlang_envs.copilot.copilot import EndKind, Turn
from natlang_envs.sandbox.commands.context import MISSING, NO_FOLDER, OUTSIDE
from natlang_envs.sandbox.commands.parser import ParseError, parse
from natlang_envs.sandbox.commands.table import NATIVE
from natlang_envs.why import Why, misspelt

_REASONS = {
    MISSING: ("not there", "There is no such file or folder."),
    OUTSIDE: ("not there", "Nothing outside the repository can be seen."),
    NO_FOLDER: ("not a place", "This is a file."),
    "Is a directory": ("wrong thing", "This is a folder."),
}


def why(turn: Turn, ending: EndKind | None, won: bool, listed: Sequence[str], tests: str) -> Why | None:
    """Return why a command did nothing, or ended the work without success.

    A program that ran and failed did something; its output says why it failed. `ending` is how the work ended with this
    command, `won` whether the task is solved, `tests` the name of the command that takes no arguments.
    """
    if ending == "done":
        return None if won else Why("wrong repair", "What was changed does not do what was asked.")
    command, _, result = turn
    if command is None:
        return Why("no command", "There is no command in this.")
    if result.stopped is not None:
        return Why("stopped", "It reached a limit of time or size, and was stopped.")
    if (parts := cd_first(command)) is not None:
        command = parts[0 if result.stderr.startswith("cd: ") else 1]
    first = command.split(None, 1)[0] if command.split() else ""
    if first in (tests, WORD):
        about = result.stderr.startswith((f"{WORD}: write", f"{tests}: takes"))
        if result.exit_code == 2:
            return Why("other grammar" if about else "not there", result.stderr.strip()[:200])
        return None
    try:
        line = parse(command)
    except ParseError as error:
        return Why("other grammar", f"This is no command line here: {error}"[:200])
    if result.exit_code == 127:
        name, *rest = line.words
        known = misspelt(name, (*NATIVE, "python", "pip", tests, WORD))
        meant = " ".join([known or "", *rest])
        words = f"There is no command {name!a:.60}."
        return Why("spelling" if known else "no such verb", words, meant if meant in listed else "")
    if first in ("id", "answer") and result.exit_code == 2:
        return Why("no such verb", "Nothing is named or answered here: the files are changed, and exit ends it.")
    last = result.stderr.strip().rpartition("\n")[2]
    reason = next((each for text, each in _REASONS.items() if last.endswith(text)), None)
    return Why(*reason) if first in NATIVE and result.exit_code and reason else None
