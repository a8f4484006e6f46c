"""The table of commands: those of each module that has a `KIND`, read when this module is imported."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from natlang_envs.sandbox import commands
from natlang_envs.sandbox.commands.context import Command, CommandKind


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
