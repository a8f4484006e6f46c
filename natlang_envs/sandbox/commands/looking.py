"""The commands that look around: folders, and files or their first and last lines.

They answer as the programs of these names do. They see files through the overlay and nothing else. The root of the
repository is shown as `/work`; a path that leads out of it is answered, never tried.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from natlang_envs.sandbox.changes.overlay import Overlay
from natlang_envs.sandbox.commands.context import (
    NO_FOLDER,
    ROOT,
    Command,
    CommandContext,
    CommandError,
    CommandKind,
    Output,
    existing,
    named,
    read_options,
)
from natlang_envs.sandbox.commands.files import Readable, each_file


def cd(context: CommandContext, words: Sequence[str], output: Output) -> int:
    _, _, operands = read_options("cd", words, "", code=2)
    if len(operands) > 1:
        raise CommandError("cd: too many arguments")
    typed = operands[0] if operands else ROOT
    with named(f"cd: {typed}"):
        path, kind = existing(context, typed)
        if kind != "folder":
            raise CommandError(NO_FOLDER if kind == "file" else context.files.reason(path))
    context.cwd = path
    return 0


def ls(context: CommandContext, words: Sequence[str], output: Output) -> int:
    given, _, operands = read_options("ls", words, "1aAFplR", code=2)
    flags = frozenset(given)
    code = 0
    files: list[tuple[str, str]] = []
    folders: list[tuple[str, str]] = []
    for typed in operands or ["."]:
        output.check_time()
        try:
            path, kind = existing(context, typed)
        except CommandError as error:
            output.fail(f"ls: cannot access '{typed}': {error}")
            code = 2
        else:
            (folders if kind == "folder" else files).append((typed, path))
    for typed, path in sorted(files):
        output.line(_listed(context.files, typed, path, flags))
    many = len(operands) > 1 or "R" in flags
    first = not files
    waiting = sorted(folders, reverse=True)
    while waiting:
        output.check_time()
        typed, path = waiting.pop()
        folder = context.files.folder(path)
        if many:
            output.line(f"{typed}:" if first else f"\n{typed}:")
            first = False
        every = "a" in flags or "A" in flags
        if "a" in flags:
            for name in (".", ".."):
                output.line(_listed(context.files, name, "", flags))
        prefix = f"{path}/" if path else ""
        for name in sorted((*folder.folders, *folder.files, *context.files.others(path))):
            if every or name[0] != ".":
                output.line(_listed(context.files, name, prefix + name, flags))
        if "R" in flags:
            below = [name for name in folder.folders if every or name[0] != "."]
            waiting.extend((f"{typed.rstrip('/')}/{name}", prefix + name) for name in reversed(below))
    return code


def _listed(files: Overlay, name: str, path: str, flags: frozenset[str]) -> str:
    if flags.isdisjoint("Fpl"):
        return name
    kind = files.kind(path)
    if kind == "folder" and not flags.isdisjoint("Fp"):
        name += "/"
    if "l" not in flags:
        return name
    # No owner and no time: they would differ from one machine to the next.
    size = files.size(path) if kind == "file" else 0
    return f"{ {'folder': 'd', 'file': '-'}.get(kind or '', '?') } {size:>10} {name}"


def cat(context: CommandContext, words: Sequence[str], output: Output) -> int:
    """Show files whole; `-n` numbers the lines."""
    flags, _, operands = read_options("cat", words, "n")
    number = 0

    def show(typed: str, file: Readable) -> None:
        nonlocal number
        content = file.part(0, output.room + 1)
        if not flags:
            output.write(content)
            return
        for line in re.findall(rb"[^\n]*\n|[^\n]+", content):
            number += 1
            output.write(b"%6d\t%s" % (number, line))

    return each_file("cat", context, operands, output, show)


def ends(name: str, context: CommandContext, words: Sequence[str], output: Output) -> int:
    """Show the first or last lines (`-n`, 10 without it; of `tail` `+N`: from line N) or bytes (`-c`) of files."""
    flags, values, operands = read_options(name, words, "qv", "nc")
    titled = flags[-1] == "v" if flags else len(operands) > 1
    unit, text = next(iter(values.items()), ("n", "10"))
    from_start = name == "tail" and text.startswith("+")
    digits = text[1:] if from_start else text
    if not (digits.isascii() and digits.isdigit()):
        raise CommandError(f"{name}: invalid number of {'lines' if unit == 'n' else 'bytes'}: '{text}'")
    count = int(digits[:18])
    shown = 0

    def show(typed: str, file: Readable) -> None:
        nonlocal shown
        if titled:
            output.line(f"{chr(10) if shown else ''}==> {'standard input' if typed == '-' else typed} <==")
        shown += 1
        if name == "head":
            output.write(file.first(unit, count, output.room + 1))
        elif from_start:
            output.write(file.part(file.begin(unit, max(count, 1) - 1, output), output.room + 1))
        else:
            output.write(file.last(unit, count, output.room + 1))

    return each_file(name, context, operands, output, show)


KIND = CommandKind(
    "{commands}: look around; head and tail take -n NUMBER. The top folder is /work.",
    (
        Command("cd", cd, "cd FOLDER", reads_names=True),
        Command("ls", ls, "ls", reads_names=True),
        Command("cat", cat, "cat FILE", reads_names=True),
        Command("head", partial(ends, "head"), "head FILE", reads_names=True),
        Command("tail", partial(ends, "tail"), "tail FILE", reads_names=True),
    ),
)
