"""A file as it is indexed: its words, those of each stretch of 40 lines, those of its path, and what kind it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import pieces_of

Kind = Literal["code", "docs", "tests", "other"]  # other: settings and data
LARGEST = 1 << 20  # bytes of a file that are looked at
_LINES, _STEP, _CHUNKS = 40, 30, 400  # of a chunk, between the beginnings of two, and of one file at most

_TEST = re.compile(r"(^|/)(tests?|testing|specs?|__tests__|fixtures)/|(^|/)(test_|conftest)|[._-](test|spec)\.\w+$")
_DOCS = re.compile(
    r"(^|/)(docs?|documentation|website|guides?|man|examples?|samples?|changelog|news)/"
    r"|\.(md|mdx|rst|txt|adoc|textile|tex|html?|[1-8])$"
    r"|(^|/)(license|licence|copying|authors|changes|changelog|history|news|readme|contributing)[^/]*$"
)
_CODE = re.compile(
    r"\.(py|pyi|pyx|ipynb|js|jsx|mjs|cjs|ts|tsx|vue|svelte|java|kt|kts|scala|groovy|go|rs|c|cc|cpp|cxx|h|hh|hpp|hxx|cs|fs"
    r"|m|mm|swift|rb|php|pl|pm|lua|r|jl|dart|ex|exs|erl|hs|ml|mli|clj|cljs|el|lisp|scm|nim|zig|v|vhd|sql|sh|bash|zsh"
    r"|fish|ps1|bat|asm|s|f|f90|pas|cu|proto|graphql)$"
)


@lru_cache(maxsize=100_000)
def kind_of(path: str) -> Kind:
    lower = path.lower()
    if _TEST.search(lower):
        return "tests"
    if _DOCS.search(lower):
        return "docs"
    return "code" if _CODE.search(lower) else "other"


class Document(NamedTuple):
    """A file in words, joined by spaces: of its path, and of each of its lines."""

    path: str
    name: str
    lines: list[str]

    @property
    def whole(self) -> str:
        return "\n".join([*self.lines, *[self.name] * 3])

    def chunks(self) -> Iterator[tuple[int, str]]:
        """Yield the first line (from 0) and the words of overlapping stretches of the file."""
        starts = range(0, max(1, len(self.lines) - (_LINES - _STEP)), _STEP)
        for start in starts[:_CHUNKS]:
            yield start, "\n".join([self.name, *self.lines[start : start + _LINES]])


def read_text(repository: Repository, path: str) -> str:
    """Return the text of a file, up to `LARGEST` bytes of it; nothing of a binary file, or of one that changed."""
    try:
        content = repository.part(path, 0, LARGEST)
    except UsageError:  # a `RepositoryChanged`: it is indexed by the next question
        return ""
    if len(content) == LARGEST:  # a line that is cut would be shown as if it were whole
        content = content[: content.rfind(b"\n") + 1] or content
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "ignore")
    return "" if b"\0" in content else content.decode("utf-8", "ignore")


def read_document(repository: Repository, path: str) -> Document:
    lines = [" ".join(pieces_of(line)) for line in read_text(repository, path).splitlines()]
    return Document(path, " ".join(pieces_of(path)), lines)
