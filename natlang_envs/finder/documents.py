"""A file as it is indexed: its words, those of each stretch of 40 lines, those of its path, and what kind it is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.finder.definitions import definitions, is_page
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import pieces_of

Kind = Literal["code", "docs", "tests", "other"]  # other: settings and data
LARGEST = 1 << 20  # bytes of a file that are looked at
BLOCK = 20  # lines
_BLOCKS = 600  # of a file at most
_LONGEST_NAME = 80  # characters of a name that is found as a whole
_JOINTS = re.compile(r"[\W_]+")

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
    """A file in words.

    Attributes:
        path: Below the repository's folder.
        blocks: The words of each stretch of 20 lines.
        fields: For each block the further terms: of the path, and of the names that are defined there.
    """

    path: str
    blocks: list[list[str]]
    fields: list[list[str]]


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
    text = read_text(repository, path)
    lines = text.splitlines()
    starts = range(0, max(1, len(lines)), BLOCK)[:_BLOCKS]
    blocks = [pieces_of("\n".join(lines[start : start + BLOCK])) for start in starts]
    fields: list[list[str]] = [[] for _ in blocks]
    fields[0] += [f"/{word}" for word in pieces_of(path)]
    for line, name in definitions(path, text, lines):
        if line < len(blocks) * BLOCK:
            here = fields[line // BLOCK]
            here += [f":{word}" for word in pieces_of(name)]
            if len(name) <= _LONGEST_NAME:
                here.append(f"~{folded(name)}")
                if not is_page(path):  # a heading names what is defined elsewhere
                    here.append(f"={name}")
    return Document(path, blocks, fields)


def folded(name: str) -> str:
    """Return a name as `some_name`, `someName`, `--some-name` and the words `some name` have it alike."""
    return _JOINTS.sub("", name).lower()
