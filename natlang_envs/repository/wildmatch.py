"""Patterns of names as git reads them (`wildmatch.c`), as regular expressions that take no exponential time.

Bytes, not characters: a name need not be text, and git's `?` is one byte.
"""

from __future__ import annotations

import re
import string

_SETS = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
_STAR, _FOLDERS, _ALL = b"[^/]*", b"**/", b"**"  # tokens that take any number of bytes
_Token = bytes


def wildmatch(pattern: bytes) -> re.Pattern[bytes]:
    """Return what fits a path as a whole where `pattern` does; one that is broken fits nothing, as in git."""
    try:
        return re.compile(_joined(_tokens(pattern)), re.DOTALL)
    except _Broken:
        return re.compile(b"(?!)")


class _Broken(Exception):  # noqa: N818 - means that nothing fits
    """A pattern ends within a class or after a backslash, or names a class that is none."""


def _tokens(pattern: bytes) -> list[_Token]:
    """Return the regular expression of each byte or class, and tokens of their own for stars."""
    tokens: list[_Token] = []
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"*":
            end = at
            while pattern[end : end + 1] == b"*":
                end += 1
            after = pattern[end : end + 1]
            if end - at > 1 and pattern[at - 1 : at] in (b"", b"/") and after in (b"", b"/"):
                tokens.append(_FOLDERS if after else _ALL)
                end += len(after)
            else:
                tokens.append(_STAR)
            at = end
        elif byte == b"[":
            token, at = _class(pattern, at + 1)
            tokens.append(token)
        elif byte == b"?":
            tokens.append(b"[^/]")
            at += 1
        else:
            at += byte == b"\\"
            if at == len(pattern):
                raise _Broken
            tokens.append(re.escape(pattern[at : at + 1]))
            at += 1
    return tokens


def _class(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Return the regular expression of a class that begins before `at`, and where it ends."""
    found: set[int] = set()
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    before: int | None = None  # what a range may begin with
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        if at >= len(pattern):
            raise _Broken
        end = pattern.find(b"]", at + 2)
        if pattern[at : at + 2] == b"[:" and end < 0:
            raise _Broken
        if pattern[at : at + 2] == b"[:" and end > at + 2 and pattern[end - 1 : end] == b":":
            name = pattern[at + 2 : end - 1].decode("latin-1")
            if name not in _SETS:
                raise _Broken
            found.update(_SETS[name].encode())
            before, at = None, end + 1
        elif pattern[at : at + 1] == b"-" and before is not None and pattern[at + 1 : at + 2] not in (b"", b"]"):
            last, at = _plain(pattern, at + 1)
            found.update(range(before, last + 1))
            before = None
        else:
            before, at = _plain(pattern, at)
            found.add(before)
    found = (set(range(256)) - found if negated else found) - {ord("/")}
    return b"[%s]" % b"".join(b"\\x%02x" % byte for byte in sorted(found)) if found else b"(?!)", at + 1


def _plain(pattern: bytes, at: int) -> tuple[int, int]:
    """Return one byte of a class, and where the next begins."""
    at += pattern[at : at + 1] == b"\\"
    if at >= len(pattern):
        raise _Broken
    return pattern[at], at + 1


def _joined(tokens: list[_Token]) -> bytes:
    """Return one expression; what follows a star takes the first place that fits, and none is tried again.

    That loses nothing: what stands between two stars has a fixed length, or a fixed number of folders, so the first
    place leaves the most to what follows. Only what stands after the last star is bound to the end.
    """
    parts: list[bytes] = []
    blocks: list[list[_Token]] = [[]]
    for token in tokens:
        blocks[-1].append(token)
        if token in (_FOLDERS, _ALL):
            blocks.append([])
    gap = b""
    for number, block in enumerate(blocks):
        is_last = number == len(blocks) - 1
        following = b"" if is_last else block.pop()
        if gap == _ALL:
            parts.append(b".*")
        elif is_last and gap:
            parts.append(b"(?:.*/)?(?=[^/]*(?:/[^/]*){%d}\\Z)%s" % (block.count(b"/"), _in_folders(block)))
        elif not gap:
            parts.append(_in_folders(block))
        elif block:
            parts.append(b"(?>(?:.*?/)??%s)" % _in_folders(block))
        gap = following
    return b"".join(parts)


def _in_folders(block: list[_Token]) -> bytes:
    """Return the expression of tokens between two `**`."""
    chunks: list[list[_Token]] = [[]]
    for token in block:
        if token != _STAR:
            chunks[-1].append(token)
        elif chunks[-1] or len(chunks) == 1:
            chunks.append([])
    parts = [b"".join(chunks[0])]
    parts += [b"(?>[^/]*?%s)" % b"".join(chunk) for chunk in chunks[1:-1]]
    if len(chunks) > 1:
        parts.append(_STAR + b"".join(chunks[-1]))
    return b"".join(parts)
