"""The commands that search and count, as the programs of these names do, without a process.

They see files through the overlay, follow no link, and have the limits of all commands.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence

from natlang_envs.repository.names import on_disk
from natlang_envs.repository.wildmatch import wildmatch
from natlang_envs.sandbox.commands.context import (
    ROOT,
    Command,
    CommandContext,
    CommandError,
    CommandKind,
    Output,
    read_options,
)
from natlang_envs.sandbox.commands.files import Readable, WalkedEntry, each_file, walk
from natlang_envs.sandbox.commands.grep import grep
from natlang_envs.sandbox.commands.writing import sed_in_place

_CONTINUING = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character


def pwd(context: CommandContext, words: Sequence[str], output: Output) -> int:
    read_options("pwd", words, "LP")
    output.line(f"{ROOT}/{context.cwd}" if context.cwd else ROOT)
    return 0


def wc(context: CommandContext, words: Sequence[str], output: Output) -> int:
    """Count lines (`-l`), words (`-w`), characters (`-m`) and bytes (`-c`); without an option all but characters."""
    flags, _, operands = read_options("wc", words, "lwmc")
    units = [unit for unit in "lwmc" if unit in (flags or "lwc")]
    rows: list[tuple[list[int], str]] = []
    sizes = 0

    def show(typed: str, file: Readable) -> None:
        nonlocal sizes
        sizes += file.size
        counts = {"l": 0, "w": 0, "m": 0, "c": file.size}
        open_word = False
        for block in file.blocks(output) if units != ["c"] else ():
            counts["l"] += block.count(b"\n")
            counts["w"] += len(block.split()) - (open_word and not block[:1].isspace())
            counts["m"] += len(block.translate(None, _CONTINUING)) if "m" in units else 0
            open_word = not block[-1:].isspace()
        rows.append(([counts[unit] for unit in units], typed if operands else ""))

    code = each_file("wc", context, operands, output, show)
    if len(operands) > 1:
        rows.append(([sum(column) for column in zip(*(counts for counts, _ in rows), strict=True)], "total"))
    width = len(str(sizes)) if operands and "-" not in operands else 7
    width = 1 if len(rows) * len(units) == 1 else width
    for counts, name in rows:
        output.line(f"{' '.join(f'{count:>{width}}' for count in counts)}{' ' if name else ''}{name}")
    return code


_ADDRESS = re.compile(r"\s*(\d{1,18}|\$)(?:\s*,\s*(\+?\d{1,18}|\$))?\s*p\s*;?\s*", re.ASCII)
_NO_SED = "only -n 'A,Bp' is here, which shows lines A to B; write files with echo or a here-document"


def sed(context: CommandContext, words: Sequence[str], output: Output) -> int:
    """Show lines A to B of a file (`-n 'A,Bp'`), or change lines in files (`-i`)."""
    if any(re.match(r"-\w*i|--in-place", word) for word in words):
        return sed_in_place(context, words)
    options = [word for word in words if word.startswith("-") and word != "-"]
    script, *operands = [word for word in words if word not in options] or [""]
    address = _ADDRESS.fullmatch(script)
    if address is None or options not in (["-n"], ["-n", "-e"], ["-ne"]) or address[1] == "0":
        raise CommandError(f"sed: {_NO_SED}")
    if len(operands) > 1:
        raise CommandError("sed: one file at a time")
    first, last = address[1], address[2] or address[1]

    def show(typed: str, file: Readable) -> None:
        room = output.room + 1
        if first == "$":
            output.write(file.last("n", 1, room))
            return
        start = file.begin("n", int(first) - 1, output)
        if last == "$":
            output.write(file.part(start, room))
            return
        end = int(first) + int(last[1:]) if last.startswith("+") else int(last)
        output.write(file.first("n", max(end - int(first), 0) + 1, room, start))

    return 2 if each_file("sed", context, operands, output, show) else 0


def find(context: CommandContext, words: Sequence[str], output: Output) -> int:
    """Show what is in folders by its name (`-name`, `-iname`, `-path`), kind (`-type f|d|l`) and `-maxdepth`."""
    places: list[str] = []
    waiting = deque(words)
    while waiting and not waiting[0].startswith(("-", "!")):
        places.append(waiting.popleft())
    tests, deepest = _find_tests(context, waiting)
    code = 0
    for typed in places or ["."]:
        try:
            for found in walk(context, typed, output):
                if found.depth <= deepest and any(all(test(found) for test in group) for group in tests):
                    output.line(found.called)
        except CommandError as error:
            output.fail(f"find: '{typed}': {error}")
            code = 1
    return code


def _find_tests(context: CommandContext, words: deque[str]) -> tuple[list[list[Callable[[WalkedEntry], bool]]], float]:
    """Return alternatives of tests that hold together, and the largest depth."""
    groups: list[list[Callable[[WalkedEntry], bool]]] = [[]]
    deepest = float("inf")
    negated = False
    while words:
        word = words.popleft()
        if word in ("-o", "-or") and groups[-1]:
            groups.append([])
        elif word in ("!", "-not"):
            negated = not negated
        elif word in ("-name", "-iname", "-path", "-wholename", "-type", "-maxdepth"):
            if not words:
                raise CommandError(f"find: missing argument to '{word}'")
            given = words.popleft()
            if word == "-maxdepth":
                if not (given.isascii() and given.isdigit()):
                    raise CommandError(f"find: '{given}' is no depth")
                deepest = int(given[:9])
                continue
            test = _find_test(context, word, given)
            groups[-1].append((lambda found, test=test: not test(found)) if negated else test)
            negated = False
        elif word not in ("-print", "-a", "-and"):
            known = "-name, -iname, -path, -type, -maxdepth, !, -o"
            raise CommandError(f"find: '{word}' is not here (there are {known})")
    return groups, deepest


def _find_test(context: CommandContext, word: str, given: str) -> Callable[[WalkedEntry], bool]:
    if word == "-type":
        if given not in ("f", "d", "l"):
            raise CommandError(f"find: Unknown argument to -type: {given}")
        if given == "l":
            return lambda found: context.files.link(found.path) is not None
        return lambda found: found.kind == ("file" if given == "f" else "folder")
    if word in ("-path", "-wholename"):  # unlike in a rule of git, a star stands for slashes too
        whole = wildmatch(given.replace("/", "\x01").encode("utf-8", "backslashreplace"))
        return lambda found: whole.fullmatch(on_disk(found.called).replace(b"/", b"\x01")) is not None
    small = word == "-iname"
    pattern = wildmatch((given.lower() if small else given).encode("utf-8", "backslashreplace"))

    def named(found: WalkedEntry) -> bool:
        name = found.called.rstrip("/").rpartition("/")[2]
        return pattern.fullmatch(on_disk(name.lower() if small else name)) is not None

    return named


KIND = CommandKind(
    "{commands}: search and count. Put patterns in single quotes.",
    (
        Command("grep", grep, "grep"),
        Command("find", find, "find -name"),
        Command("wc", wc, "wc", reads_names=True),
        Command("sed", sed, "sed -n A,Bp"),
        Command("pwd", pwd, "pwd"),
    ),
)
