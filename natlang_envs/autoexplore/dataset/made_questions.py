"""Questions made from files by rules, without a model: `natlang data questions`.

A file is asked about by its headings, definitions, comments and other lines. Each question keeps the part of the file
that `cat` shows with its line.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from natlang_envs.autoexplore.dataset.checks import LONGEST_EVIDENCE, SHORTEST_EVIDENCE
from natlang_envs.autoexplore.dataset.labels import Evidence, Label
from natlang_envs.autoexplore.dataset.own_labels import depth_of, difficulty_of, kind_of_target
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.repository.navigation import pages_of
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import WORD

EACH = 150  # questions of a file at most
LARGEST = 400_000  # bytes of a file that are asked about; what is below takes too many steps to be read
_SHARED = 3  # files that a question may be about; what more of them say tells none of them
_SNIFFED = 8_192  # bytes in which a NUL makes a file binary
_LONGEST = 200  # characters of a question's text
_FEWEST_WORDS, _FEWEST_LETTERS = 3, 8  # of a line that is asked about
_LETTERS = 20  # with which it may have fewer words, as in scripts without spaces
_MARKS = " \t#*/\"'=-`<>!;:|.,"
_HEADING = re.compile(r"#{1,6} +(\S.*)")
_RULE = re.compile(r"([=\-~^\"'+*#.])\1{2,}\s*$")  # what underlines a heading of reStructuredText
_DEFINES = re.compile(
    r"\s*(?:(?:export|public|private|static|async|default|abstract)\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait)\s+(\w+)"
)
_OPENS = re.compile(r"\s*[rRbBuU]{0,2}(?:\"\"\"|''')\s*(\S.*)")
_COMMENT = re.compile(r"\s*(?:#|//|/\*|<!--|;|--)\s*(\S.*)")
_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


class RuleQuestion(NamedTuple):
    """A question about a file, the line that it was made from, and the part that shows the line, from 1."""

    question: str
    evidence: str
    part: int


def asked_about(path: str, text: str, each: int = EACH) -> list[RuleQuestion]:
    """Return up to so many different questions about a file, in the order of its lines.

    Headings, definitions and comments come first, up to half of them; the rest are drawn by random numbers that
    depend on the path alone.
    """
    told: dict[str, RuleQuestion] = {}
    plain: dict[str, RuleQuestion] = {}
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for number, line in enumerate(lines):
        evidence = line.strip()[:LONGEST_EVIDENCE]
        if len(evidence) < SHORTEST_EVIDENCE or _RULE.match(evidence):
            continue
        at = starts[number] + len(line) - len(line.lstrip())
        following = next((each for each in lines[number + 1 : number + 4] if each.strip()), "")
        kind, question = _question(line, following)
        if question:
            found = RuleQuestion(question, evidence, at // FILE_BUDGET + 1)
            (told if kind else plain).setdefault(question, found)
    chance = random.Random(path)
    first = _drawn(list(told.values()), each // 2 if plain else each, chance)
    chosen = set(first)
    rest = [*plain.values(), *(one for one in told.values() if one not in chosen)]
    return sorted([*first, *_drawn(rest, each - len(first), chance)], key=lambda one: (one.part, one))


def _drawn(asked: Sequence[RuleQuestion], most: int, chance: random.Random) -> list[RuleQuestion]:
    return list(asked) if len(asked) <= most else chance.sample(asked, most)


def _question(line: str, following: str) -> tuple[str, str]:
    """Return what a line is, "" where nothing marks it, and the question about it, "" where it says too little."""
    if found := _HEADING.match(line) or (_RULE.match(following) and re.match(r"(\S.*)", line)):
        return "heading", _asking("What is said about {}?", found[1], 1)
    if found := _DEFINES.match(line):
        opened = _OPENS.match(following)
        what = f"{found[1]} ({' '.join(_NAME.findall(found[1])).lower()})"
        return "definition", _asking("What does {} do?", f"{what}: {_clean(opened[1])}" if opened else what, 1)
    if found := _COMMENT.match(line):
        return "comment", _asking("Where is this done: {}?", found[1])
    first = _clean(line)
    both = f"{first} {_clean(following)}" if _says(first) else ""
    return "", _asking("What says: {}?", both)


def _asking(form: str, text: str, words: int = _FEWEST_WORDS) -> str:
    cleaned = _clean(text)[:_LONGEST]
    return form.format(cleaned) if _says(cleaned, words) else ""


def _clean(text: str) -> str:
    return " ".join(text.split()).strip(_MARKS)


def _says(text: str, words: int = _FEWEST_WORDS) -> bool:
    found = [word for word in WORD.findall(text) if not word.isdigit()]
    letters = sum(map(len, found))
    return letters >= _LETTERS or (len(found) >= words and letters >= _FEWEST_LETTERS)


def text_asked_about(repository: Repository, path: str) -> str:
    """Return what `cat` shows of a file, as one text, up to the largest size; "" of a binary one."""
    content = repository.part(path, 0, LARGEST)
    return "" if b"\0" in content[:_SNIFFED] else content.decode("utf-8", "backslashreplace")


def ways(repository: Repository) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every file that a player can name within the horizon, and the commands to it, `cat` and `id` included."""
    waiting: list[tuple[str, tuple[str, ...]]] = [("", ())]
    while waiting:
        folder, way = waiting.pop()
        prefix = f"{folder}/" if folder else ""
        for page in pages_of(repository.folder(folder)):
            if len(way) + 2 > HORIZON:
                break
            yield from ((prefix + name, (*way, f"cat {name}", f"id {name}")) for name in page.files)
            waiting += [(prefix + name, (*way, f"cd {name}")) for name in page.folders]
            way = (*way, "next page")


def made_labels(
    repository: Repository,
    each: int = EACH,  # questions of a file at most
    limit: int | None = None,  # questions in all at most; every file then has the same smaller number
    progress: Callable[[int, int], None] = lambda done, total: None,  # is told how many files of how many are done
) -> list[Label]:
    """Return labels of a repository that are made by rules, sorted by file and part."""
    found = dict(sorted(ways(repository)))
    if limit is not None and found:
        each = max(1, min(each, limit // len(found)))
    places: dict[str, dict[str, RuleQuestion]] = {}
    for done, path in enumerate(found):
        progress(done, len(found))
        for one in asked_about(path, text_asked_about(repository, path), each):
            places.setdefault(one.question, {})[path] = one
    labels = [
        _label(repository.name, question, about, found) for question, about in places.items() if len(about) <= _SHARED
    ]
    progress(len(found), len(found))
    return labels[:limit]


def _label(repository: str, question: str, about: dict[str, RuleQuestion], found: dict[str, tuple[str, ...]]) -> Label:
    targets = tuple(sorted(about))
    nearest = min(targets, key=lambda path: (len(found[path]), path))
    evidence = tuple(Evidence(path, about[path].evidence) for path in targets)
    return Label(
        repository,
        question,
        about[nearest].evidence,
        targets,
        evidence,
        found[nearest],
        depth_of(targets),
        kind_of_target(nearest),
        difficulty_of(question, targets),
        (),
        part=about[nearest].part,
    )
