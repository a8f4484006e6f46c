"""`natlang explore` without an agent: prints the files that fit a question best, and the lines that matched."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from natlang_envs.cli.support import printable
from natlang_envs.errors import UsageError
from natlang_envs.finder import FileIndex, FoundFile, find, find_passages
from natlang_envs.finder.ranking import FIRST
from natlang_envs.repository.names import on_disk
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import pieces_of, telling_words

_SHOWN_AT_ONCE = 500  # files that are indexed without showing progress
# How the editors that take no `+LINE FILE` are told the line.
_AT_LINE = {
    **dict.fromkeys(("code", "codium", "cursor", "windsurf"), "-g"),
    **dict.fromkeys(("zed", "subl", "hx", "helix"), ""),
}


def answer(
    question: str,
    repository: Repository,
    top: int,
    kind: Literal["code", "docs", "all"],
    as_json: bool,
    opens: bool,
    console: Console,
) -> bool:
    """Print the files that fit a question best and the chance that they answer it; return whether that is fair."""
    index = _indexed(repository)
    best = find(index, question, top, kind)
    found = best.files
    if as_json:
        if index.note:
            typer.echo(index.note, err=True)
        files = [_facts(each, repository) for each in found]
        print(json.dumps({"chance": round(best.chance, 2), "files": files}, indent=2))
        return best.sure
    if index.note:
        console.print(Text(index.note, "yellow"))
    if not found:
        console.print(Text("No file has a word of this question: ask with other words, or see --kind and --ignored."))
        return False
    words = frozenset(telling_words(question))
    for number, each in enumerate(found):
        if number == top:  # what follows are the best of the other source files
            console.print()
        _show(console, each, _from_here(repository.path, each.path), words)
    few = min(FIRST, len(found))
    among = "This is the right file" if few == 1 else f"The right file is among the first {few}"
    hint = "" if best.sure else " Other words may find it: those that the code would use, or a name."
    console.print(Text(f"{among} with a chance of {best.chance:.0%}.{hint}", "dim" if best.sure else "yellow"))
    if opens:
        _open(repository.path / os.fsdecode(on_disk(found[0].path)), _line(found[0]))
    return best.sure


def print_passages(question: str, repository: Repository, as_json: bool, opens: bool, console: Console) -> bool:
    """Print the three passages that answer a question most likely; return whether there is one."""
    index = _indexed(repository)
    found = find_passages(index, question)
    if as_json:
        shown = [{"path": each.path, "line": each.line, "text": "\n".join(each.lines)} for each in found]
        print(json.dumps(shown, indent=2))
        return bool(found)
    words = frozenset(telling_words(question))
    for number, each in enumerate(found):
        head = Text("\n" * (number > 0)).append(printable(_from_here(repository.path, each.path)), "bold magenta")
        console.print(head.append(f":{each.line}", "green"))
        for line in each.lines:
            console.print(Text("  ").append_text(_marked(printable(line), words)))
    if not found:
        console.print(Text("No file has a word of this question: ask with other words, or see --ignored."))
    elif opens:
        _open(repository.path / os.fsdecode(on_disk(found[0].path)), found[0].line)
    return bool(found)


def _indexed(repository: Repository) -> FileIndex:
    errors = Console(stderr=True)
    bar = Progress(
        TextColumn("indexing"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), console=errors, transient=True
    )
    task = bar.add_task("", total=None)

    def tell(done: int, total: int) -> None:
        if total > _SHOWN_AT_ONCE and done % 50 == 0:
            if not bar.live.is_started and errors.is_terminal:
                bar.start()
            bar.update(task, completed=done, total=total)

    try:
        return FileIndex(repository, tell=tell)
    finally:
        if bar.live.is_started:  # stopping a bar that was not shown prints an empty line
            bar.stop()


def _line(found: FoundFile) -> int:
    return found.lines[0].number if found.lines else 1


def _facts(found: FoundFile, repository: Repository) -> dict[str, object]:
    lines = [{"line": each.number, "text": each.text} for each in found.lines]
    return {
        "path": found.path,
        "line": _line(found),
        "share": round(found.share, 4),
        "kind": found.kind,
        "lines": lines,
        "repository": str(repository.path),
    }


def _from_here(folder: Path, path: str) -> str:
    """Return the path of a file as an editor or a terminal opens it from the current folder, if that is shorter."""
    whole = str(folder / path)
    try:
        return min(os.path.relpath(whole), whole, key=len)
    except (OSError, ValueError):  # the current folder is gone, or on another drive
        return whole


def _show(console: Console, found: FoundFile, path: str, words: frozenset[str]) -> None:
    if not found.lines:
        console.print(Text(printable(path), "bold magenta"))
    width = max((len(str(each.number)) for each in found.lines), default=0)
    for each in found.lines:
        line = Text(printable(path), "bold magenta" if each is found.lines[0] else "magenta dim")
        line.append(f":{each.number}", "green").append(" " * (2 + width - len(str(each.number))))
        line.append_text(_marked(printable(each.text), words))
        console.print(line)


def _marked(text: str, words: frozenset[str]) -> Text:
    marked = Text()
    start = 0
    ends = (at for at in range(1, len(text)) if text[at].isalnum() != text[at - 1].isalnum())
    for end in [*ends, len(text)]:
        piece = text[start:end]
        marked.append(piece, "bold red" if words & set(pieces_of(piece)) else "")
        start = end
    return marked


def _open(path: Path, line: int) -> None:
    command = editor(path, line)
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        raise UsageError(f"the editor {command[0]!r} cannot be started ({error.strerror}): set EDITOR") from None


def editor(path: Path, line: int) -> Sequence[str]:
    """Return the command that opens `VISUAL` or `EDITOR`, or an editor that is there, at a line of a file."""
    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    program = shlex.split(given) or [each for each in ("code", "nvim", "vim", "vi", "nano") if shutil.which(each)][:1]
    if not program:
        raise UsageError("no editor is known: set VISUAL or EDITOR")
    option = _AT_LINE.get(Path(program[0]).stem)
    if option is None:
        return [*program, f"+{line}", str(path)]
    return [*program, *([option] if option else []), f"{path}:{line}"]
