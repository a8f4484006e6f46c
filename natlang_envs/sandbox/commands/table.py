"""The table of commands: those of each module that has a `KIND`, read when this module is imported."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from natlang_envs.sandbox import commands
from natlang_envs.sandbox.commands.context import (
    Command,
    CommandContext,
    CommandError,
    CommandKind,
    LimitReached,
    Output,
)
from natlang_envs.sandbox.isolation.watch import Completed


def _kinds() -> tuple[CommandKind, ...]:
    names = sorted(each.name for each in iter_modules(commands.__path__))
    modules = (import_module(f"{commands.__name__}.{name}") for name in names)
    return tuple(module.KIND for module in modules if hasattr(module, "KIND"))


KINDS = _kinds()
"""The kinds of commands, in the order of the names of their modules."""
NATIVE: dict[str, Command] = {
    each.name: each for each in sorted((each for kind in KINDS for each in kind.commands), key=lambda each: each.name)
}
"""The commands by name, in the order of their names."""


def answer(name: str, context: CommandContext, words: Sequence[str], output: Output) -> Completed:
    stopped = None
    try:
        code = NATIVE[name].run(context, words, output)
    except CommandError as error:
        output.fail(str(error))
        code = error.code
    except LimitReached as error:
        code, stopped = 1, str(error)
    errors = "".join(f"{line}\n" for line in output.errors)
    return Completed(code, b"".join(output.chunks), errors.encode("utf-8", "backslashreplace"), stopped)
