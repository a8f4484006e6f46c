"""What writes files: `echo`, `sed -i`, and the edits that models write."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import dropwhile

from natlang_envs.repository.names import is_git
from natlang_envs.sandbox.changes.edits import edited
from natlang_envs.sandbox.changes.overlay import Overlay, OverlayEntry, is_path, parent_of
from natlang_envs.sandbox.commands.context import (
    MISSING,
    ROOT,
    Command,
    CommandContext,
    CommandError,
    CommandKind,
    Output,
    named,
    resolve,
    resolve_target,
)

_ADDRESS = r"(?:\d{1,9}|\$|/(?:[^/\\\n]|\\.)+/)"
_STEP = re.compile(
    rf"\s*(?P<first>{_ADDRESS})?(?:\s*,\s*(?P<last>{_ADDRESS}))?\s*(?:(?P<gone>d)|(?P<put>[aic])(?:\\\n?|\s+)(?P<text>.*)"
    r"|s(?P<mark>[^\w\s\\])(?P<old>(?:(?!(?P=mark))[^\\]|\\.)*)(?P=mark)(?P<new>(?:(?!(?P=mark))[^\\]|\\.)*)(?P=mark)(?P<how>[gI]*))"
    r"\s*(?:[;\n]|\Z)",
    re.DOTALL,
)
_BASIC = re.compile(r"\\(.)|(\[\^?\]?[^\]]*\])|([(){}|+?])", re.DOTALL)
_ONLY = "sed -i takes s/OLD/NEW/, d, a, i and c, below line numbers or /PATTERN/"
_SECONDS = 10  # for one file
# It runs in a process of its own, since an expression may take forever. Input: lines and steps; output: lines.
_PROGRAM = """
import json, re, sys
lines, steps = json.load(sys.stdin)
for first, last, does, old, new, count in steps:
    def at(end, number, line):
        return end == number or (end == -1 and number == len(lines)) if isinstance(end, int) else re.search(end, line)
    inside, out = first == 0, []
    for number, line in enumerate(lines, 1):
        hit = first is None or inside or at(first, number, line)
        if hit and last is not None:
            inside = not (at(last, number, line) and inside or isinstance(last, int) and 0 <= last <= number)
        if hit and does == "s":
            line = re.sub(old, new, line, count)
        put = new.split("\\n") if hit and does in "aic" else []
        out += (put if does in "ic" else []) + ([] if hit and does in "dc" else [line]) + (put if does == "a" else [])
    lines = out
json.dump(lines, sys.stdout)
"""
_ECHO_OPTION = re.compile(r"-[neE]+")
_ECHO_ESCAPE = re.compile(rb"\\(?:([abefnrtv\\])|0([0-7]{0,3})|x([0-9a-fA-F]{1,2})|c.*)", re.DOTALL)
_ECHO_LETTERS = dict(zip(b"abefnrtv\\", b"\a\b\x1b\f\n\r\t\v\\", strict=True))


def echo(context: CommandContext, words: Sequence[str], output: Output) -> int:
    r"""Show its arguments; `-n` leaves the line break out, `-e` reads escapes such as `\n`, of which `\c` ends all."""
    shown = list(dropwhile(_ECHO_OPTION.fullmatch, words))
    options = "".join(words[: len(words) - len(shown)])
    content = (" ".join(shown) + "\n" * ("n" not in options)).encode("utf-8", "backslashreplace")
    output.write(_ECHO_ESCAPE.sub(_unescaped, content) if options.rfind("e") > options.rfind("E") else content)
    return 0


def _unescaped(escape: re.Match[bytes]) -> bytes:
    letter, octal, hexadecimal = escape.groups()
    if letter:
        return bytes([_ECHO_LETTERS[letter[0]]])
    if octal is None and hexadecimal is None:
        return b""
    return bytes([int(octal or b"0", 8) & 255 if hexadecimal is None else int(hexadecimal, 16)])


def sed_in_place(context: CommandContext, words: Sequence[str]) -> int:
    options = {word for word in words if word.startswith("-")}
    script, *operands = [word for word in words if word not in options] or [""]
    if wrong := options - {"-i", "-e", "-E", "-r", "-ie", "-iE", "-ir", "-Ei", "--in-place"}:
        raise CommandError(f"sed: {min(wrong)} is not here with -i; {_ONLY}")
    if not operands:
        raise CommandError("sed: name a script and a file")
    steps = _steps(script, bool(set("Er") & set("".join(options - {"--in-place"}))))
    changes: dict[str, bytes] = {}
    for typed in operands:
        with named(f"sed: {typed}"):
            path = resolve_target(context, typed)
            if context.files.kind(path) is None:
                raise CommandError(MISSING)
            text = context.files.read(path).decode("utf-8", "surrogateescape")
            changes[path] = _after(text, steps).encode("utf-8", "surrogateescape")
    for path, content in changes.items():
        context.files.write(path, content)
    return 0


def _steps(script: str, extended: bool) -> list[list[object]]:
    """Return the steps of a script: two addresses, what is done, an expression, a text, and how often."""
    steps: list[list[object]] = []
    at = 0
    while at < len(script.rstrip()):
        found = _STEP.match(script, at)
        if found is None:
            raise CommandError(f"sed: {script[at:][:60]!r} is not here; {_ONLY}")
        ends = [_address(each, extended) for each in (found["first"], found["last"])]
        if found["mark"] is None:
            text = (
                (found["text"] or "").removesuffix("\n").replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
            )
            steps.append([*ends, found["gone"] or found["put"], "", text, 0])
        else:
            old = _expression(found["old"].replace(f"\\{found['mark']}", found["mark"]), extended)
            old = f"(?i:{old})" if "I" in found["how"] else old
            steps.append(
                [*ends, "s", old, re.sub(r"\\(.)|&", _new, found["new"], flags=re.DOTALL), "g" not in found["how"]]
            )
        at = found.end()
    return steps


def _address(given: str | None, extended: bool) -> int | str | None:
    """Return where a step begins or ends: the number of a line, -1 for the last one, or an expression."""
    if given is None or given.isdigit():
        return given and int(given)
    return -1 if given == "$" else _expression(given[1:-1], extended)


def _expression(text: str, extended: bool) -> str:
    """Return an expression of `sed` as Python's `re` reads it."""

    def plain(found: re.Match[str]) -> str:
        escaped, group, sign = found.groups()
        if group is not None:
            if "[:" in group:
                raise CommandError(f"sed: {group} is not here: write the characters")
            return group.replace("\\", "\\\\")
        if sign is not None:
            return sign if extended else f"\\{sign}"
        return r"\b" if escaped in "<>" else escaped if escaped in "(){}|+?" and not extended else f"\\{escaped}"

    made = _BASIC.sub(plain, text)
    try:
        re.compile(made)
    except re.error as error:
        raise CommandError(f"sed: {text!r} is no expression: {error}") from None
    return made


def _new(found: re.Match[str]) -> str:
    """Return a part of what is put in the place of a match, as `re` reads it."""
    if found[0] == "&" or found[1].isdigit():
        return rf"\g<{found[1] or 0}>"
    if found[1] in "LUEul":
        raise CommandError(f"sed: \\{found[1]} is not here")
    return {"n": "\n", "t": "\t", "\\": r"\\"}.get(found[1], found[1])


def _after(text: str, steps: list[list[object]]) -> str:
    lines = text.split("\n")
    ending = [] if lines[-1] else [lines.pop()]
    program = [sys.executable, "-I", "-c", _PROGRAM]
    try:
        done = subprocess.run(
            program, input=json.dumps([lines, steps]), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"the expression takes more than {_SECONDS} seconds") from None
    if done.returncode:
        raise CommandError(done.stderr.strip().rpartition("\n")[2])
    return "\n".join(json.loads(done.stdout) + ending)


def refusal(error: OSError | KeyError) -> str:
    """Return why a file cannot be read or written, in the words of a shell."""
    if isinstance(error, KeyError):  # a program removed the folder
        return MISSING
    return os.strerror(error.errno) if error.errno else "Input/output error"


def redirect(files: Overlay, target: str, content: bytes, append: bool) -> str:
    """Write a command's output to a file; return why that cannot be, or nothing."""
    try:
        if files.kind(target) == "file" and append:
            size = files.size(target)
            files.check_room(target, size + len(content))
            content = files.part(target, 0, size) + content
        files.write(target, content)
    except (OSError, KeyError) as error:
        return refusal(error)
    return ""


def write_edits(context: CommandContext, text: str) -> list[str]:
    """Make the edits that a text holds, all of them or none, and return a line for each file.

    What does not fit the files raises `EditError`, a path that cannot be read or written `CommandError`.
    """
    paths: dict[str, str] = {}

    def read(typed: str) -> str | None:
        path = paths[typed] = _target(context, typed)
        if context.files.kind(path) is None:
            return None
        try:
            return context.files.read(path).decode()
        except UnicodeDecodeError:
            raise CommandError(f"{typed}: it is no text") from None

    files = edited(text, read)
    targets = {paths.get(typed) or _target(context, typed): content for typed, content in files.items()}
    lines: list[str] = []
    changes: dict[str, OverlayEntry | None] = {}
    missing: list[str] = []  # folders on the way to files
    for path, content in targets.items():
        known = context.files.kind(path) is not None
        lines.append(f"{'deleted' if content is None else 'changed' if known else 'added'} {path}")
        mode = context.files.mode(path) if known else None
        changes[path] = None if content is None else OverlayEntry("file", content.encode(), mode=mode)
        while content is not None and (path := parent_of(path)[0]) and context.files.kind(path) is None:
            missing.append(path)
    context.files.apply({**{path: OverlayEntry("folder") for path in sorted(missing)}, **changes})
    return lines


def _target(context: CommandContext, typed: str) -> str:
    """Return the path of a file that is to be written: from the current folder, or else from the top."""
    top = CommandContext(context.files)
    for place in (context, top):
        try:
            path, kind = resolve(place, typed)
        except CommandError:
            continue
        if kind is not None:
            return resolve_target(place, typed)
    plain = typed.removeprefix(f"{ROOT}/").removeprefix("./")
    first = plain.partition("/")[0]
    here = f"{context.cwd}/" if context.cwd and not typed.startswith("/") else ""
    if here and "/" in plain and context.files.kind(here + first) is None:
        here = ""
    path = here + plain
    if plain.startswith("/") or not is_path(path) or any(map(is_git, path.split("/"))):
        raise CommandError(f"{typed}: it cannot be written")
    return path


KIND = CommandKind(
    "{commands}. Put TEXT in single quotes; it may span several lines.\n"
    "  So does cat > FILE with a here-document, << 'EOF'.",
    (Command("echo", echo, "echo TEXT > FILE writes a file, echo TEXT >> FILE adds to one"),),
)
