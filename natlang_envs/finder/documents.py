"""A file as it is indexed: its words, those of each stretch of 40 lines, those of its path, and what kind it is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.finder.definitions import definitions, is_page
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import WORD, pieces_of

Kind = Literal["code", "docs", "tests", "other"]  # other: settings and data
LARGEST = 1 << 20  # bytes of a file that are looked at
BLOCK = 20  # lines
_BLOCKS = 600  # of a file at most
_LONGEST_NAME = 80  # characters of a name that is found as a whole
_JOINTS = re.compile(r"[\W_]+")
END = "\0"  # among the words of a file: a stretch ends
_WORD_OR_END = re.compile(rf"{WORD.pattern}|{END}")
_NO_WORDS = {code: " " for code in range(1, 128) if not chr(code).isalnum()}

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
    """A file in words, which `terms_of` makes terms of."""

    path: str  # below the repository's folder
    words: list[str]  # as they stand there, and after each stretch of 20 lines an `END`
    names: dict[str, int]  # the path, and the names that are defined there, each after a mark, with its stretch


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
    marked = "".join("\n".join(lines[start : start + BLOCK]).replace(END, " ") + f" {END} " for start in starts)
    mark = "#" if is_page(path) else ":"
    defined = {f"{mark}{name}": line // BLOCK for line, name in definitions(path, text, lines)}
    names = {f"/{path}": 0, **{name: stretch for name, stretch in defined.items() if stretch < len(starts)}}
    # Of ASCII alone, the same words in a fifth of the time.
    words = marked.translate(_NO_WORDS).split() if marked.isascii() else _WORD_OR_END.findall(marked)
    return Document(path, words, names)


def terms_of(word: str) -> list[str]:
    """Return the terms of a word of a document, or of one of its names."""
    mark, name = word[0], word[1:]
    if mark == END:
        return []
    if mark == "/":
        return [f"/{piece}" for piece in pieces_of(name)]
    if mark not in ":#":
        return pieces_of(word)
    terms = [f":{piece}" for piece in pieces_of(name)]
    if len(name) <= _LONGEST_NAME:
        terms += [f"~{folded(name)}"] if mark == "#" else [f"~{folded(name)}", f"={name}"]
    return terms  # a heading names what is defined elsewhere


def folded(name: str) -> str:
    """Return a name as `some_name`, `someName`, `--some-name` and the words `some name` have it alike."""
    return _JOINTS.sub("", name).lower()
