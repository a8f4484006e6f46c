"""The commands that a prompt can list: those of the environment, in its order, page by page."""

from __future__ import annotations

from typing import NamedTuple

from natlang_envs.repository.entries import Folder
from natlang_envs.repository.navigation import pages_of
from natlang_envs.repository.texts import EXIT, NEXT, PREVIOUS, UP
from natlang_envs.sandbox.commands.parser import quote


class ListedCommands(NamedTuple):
    """One page of a folder, as commands.

    Attributes:
        page: Its number, from 0.
        pages: How many there are.
        lines: For each command, as a player reads it, the command line that does it; for `next page` and
            `previous page`, which are not the sandbox's, themselves.
    """

    page: int
    pages: int
    lines: dict[str, str]


def list_commands(folder: Folder, page: int) -> ListedCommands:
    """Return the commands of a page; `cd` and `cat` are for the sandbox, `id` and `exit` end the search."""
    pages = pages_of(folder.folders, folder.files)
    page = min(page, len(pages) - 1)  # the folder may have become shorter
    here = pages[page]
    lines = {f"cd {name}": f"cd {_operand(name)}" for name in here.folders}
    if folder.path:
        lines[UP] = UP
    for name in here.files:
        lines[f"cat {name}"] = f"cat {_operand(name)}"
        lines[f"id {name}"] = f"id {_operand(name)}"
    if page + 1 < len(pages):
        lines[NEXT] = NEXT
    if page:
        lines[PREVIOUS] = PREVIOUS
    lines[EXIT] = EXIT
    return ListedCommands(page, len(pages), lines)


def _operand(name: str) -> str:
    return quote(f"./{name}" if name.startswith("-") else name)
