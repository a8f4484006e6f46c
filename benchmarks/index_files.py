"""What index-like files say of the entries beside and below them: `__init__.py`, contents pages, READMEs and others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from natlang_envs.autoexplore.repository.navigation import navigation_of
from natlang_envs.autoexplore.repository.texts import FILE_BUDGET
from natlang_envs.autoexplore.repository.tree import open_repository
from reference_agent.search.encoder import spoken
from reference_agent.search.listings import Example, entries_of

CONTENTS = re.compile(r"(index|contents|summary|_?toc|_sidebar)\.(rst|md|html|txt|ya?ml)|mkdocs\.ya?ml")
IMPORT = re.compile(r"^\s*(?:from\s+([.\w]+)\s+import\s+(\([^)]*|[^\n]*)|import\s+([.\w]+))", re.M)
ADDRESS = re.compile(r"https?://[^\s)>\]]+")
NAMEABLE = ("`__init__.py`", "contents page", "README")
ALL = "the first three"
KINDS = (*NAMEABLE, "other", ALL)
MANY, LONGEST = 3, 12  # entries that another file must name to count as an index; words of a line that are kept
Said = dict[str, tuple[bool, tuple[str, ...]]]  # by entry: named by path or import, and what is said of it


def kind_of(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    if name == "__init__.py":
        return KINDS[0]
    return KINDS[1] if CONTENTS.fullmatch(name) else KINDS[2] if name.startswith("readme") else KINDS[3]


def imported(home: str, text: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Yield each imported module as a path, whether it is one from the top of the repository, and its symbols."""
    for module, names, plain in IMPORT.findall(text):
        symbols = [each.split()[0] for each in re.sub(r"#.*|[()\\]", " ", names).split(",") if each.split()]
        symbols = [each for each in symbols if re.fullmatch(r"\w+", each)]
        dotted = module or plain
        up = len(dotted) - len(dotted.lstrip("."))
        base = "/".join(home.split("/")[: len(home.split("/")) - (up - 1)] if up > 1 else [home]) if up else ""
        place = "/".join(each for each in (base, dotted[up:].replace(".", "/")) if each)
        yield place, up > 0, symbols
        yield from ((f"{place}/{each}".lstrip("/"), up > 0, []) for each in symbols)


def lines_of(text: str) -> list[tuple[str, str]]:
    """Return lines, each with the heading above it."""
    lines, above = text.splitlines(), ""
    made: list[tuple[str, str]] = []
    for index, line in enumerate(lines):
        below = lines[index + 1].strip() if index + 1 < len(lines) else ""
        if line.startswith("#") or ":caption:" in line or (len(below) > 2 and len(set(below)) == 1 and line.strip()):
            above = line.replace(":caption:", "")
        made.append((line, above))
    return made


@cache
def said_in(folder: Path, index: str, entries: tuple[str, ...]) -> Said:
    """Return what the shown text of a file says of entries."""
    text = navigation_of(open_repository(folder), FILE_BUDGET).text(index).partition("\n")[2]
    text = ADDRESS.sub(" ", text)  # an address on the web often ends in a folder's name, and says nothing of it
    home = index.rpartition("/")[0]
    modules = list(imported(home, text)) if index.endswith(".py") else []
    lines = [pair for pair in lines_of(text) if not (modules and re.match(r"\s*(from|import)\s", pair[0]))]
    found: Said = {}
    for entry in entries:
        path = entry.rstrip("/")
        name = path.rpartition("/")[2]
        stem = name if entry.endswith("/") else name.rpartition(".")[0]
        bare = path[: len(path) - len(name)] + stem
        if entry == index or len(stem) < 2 or stem in ("__init__", "index"):
            continue
        exact, words = False, list[str]()
        for place, relative, symbols in modules:
            mine = place + "/"
            if mine.startswith(bare + "/") or (not relative and "/" in place and f"/{bare}/".endswith(f"/{mine}")):
                exact = True
                words += symbols + ([place.rpartition("/")[2]] if place.startswith(bare + "/") else [])
        below = bare[len(home) :].lstrip("/") if bare.startswith(home) else bare
        whole = re.escape(name) + ("/" if entry.endswith("/") else "")
        named = re.compile(
            rf"(?<![\w.-]){whole}(?!\w)|^[\s*/-]*{re.escape(below)}/?\s*$|[<(`\"/]{re.escape(below)}[>)`\".#]"
            + (rf"|(?<!\w){re.escape(below)}(?!\w)" if "/" in below else "")
        )
        loose = re.compile(rf"(?<![^\W_]){re.escape(stem)}(?![^\W_])", re.I)
        strict = [pair for pair in lines if named.search(pair[0])]
        exact = exact or bool(strict)
        near = strict if exact else [pair for pair in lines if len(stem) > 2 and loose.search(pair[0])]
        for line, above in [] if words else near:
            told = re.findall(r"[^\W_]{2,}", spoken(loose.sub(" ", line.replace(name, " "))))
            told = told if len(told) > 1 else re.findall(r"\w{2,}", above)
            words += [" ".join(told[:LONGEST])] if told else []
        if exact or near:
            found[entry] = exact, tuple(dict.fromkeys(words))
    return found


@cache
def indexes(folder: Path, place: str, kind: str, entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of a kind in a folder; of the other kind, the one that names most of the entries."""
    files = [each for each in entries_of(open_repository(folder), place) if not each.endswith("/")]
    files = [each for each in files if kind_of(each) == kind]
    if kind != "other":
        return tuple(files)
    counts = {each: sum(exact for exact, _ in said_in(folder, each, entries).values()) for each in files}
    best = max(files, key=counts.__getitem__, default="")
    return (best,) if best and counts[best] >= MANY else ()


def said_of(example: Example, kind: str, places: Sequence[str]) -> tuple[list[str], Said]:
    """Return the files of a kind in folders, and what they say of a listing's entries."""
    kinds = NAMEABLE if kind == ALL else (kind,)
    folder, entries = example.question.folder, example.entries
    files = [each for place in places for one in kinds for each in indexes(folder, place, one, entries)]
    found: Said = {}
    for each in files:
        for entry, (exact, words) in said_in(folder, each, entries).items():
            held = found.get(entry, (False, ()))
            found[entry] = exact or held[0], tuple(dict.fromkeys((*held[1], *words)))
    return files, found


def places_of(example: Example) -> dict[str, list[str]]:
    return {"beside": [example.folder], "above": [example.folder.rpartition("/")[0]] if example.folder else []}
