"""What a player of AutoExplore-Change has seen so far: folders, lines, edits, texts, and results of tests."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from natlang_envs.repository.texts import HERE, TEST, UP, steps_left
from natlang_envs.repository.words import content_words
from natlang_judges.mender.code import KnownCode

FOLDER, PAGE, TEXT, RUN, EDIT = range(5)  # kinds of options
NAME = re.compile(r"[A-Za-z_]\w*")
DEFINED = re.compile(r"\s*(?:async )?(?:def|class) (\w+)")
_PLACE = re.compile(
    r"# Open (?:file\n(?P<file>.+), page (?P<page>\d+) of (?P<pages>\d+), lines .*|line\n(?P<line>\d+) of (?P<of>.+))$",
    re.M,
)
_NUMBERED = re.compile(r"^ *(\d+) \|(?: (.*))?$", re.M)
_LISTED = re.compile(r"^edit (\d+) (\d+): (.*)$", re.M)
_MADE = re.compile(r"^# Edit\nline (\d+) of (.+):$", re.M)
_IMPORT = re.compile(r"^from [\w.]*?(\w+) import \(?([\w, \n]+)", re.M)
_BEHIND = re.compile(r"\n(?=\S)|\n\s+(?:async def|def|@)")  # what ends a test's body
_LONG = 5  # characters of a sentence by which a test is known

Ranked = tuple[list[str], list[float]]  # a line's texts after its edits, by falling score, and the scores
Rank = Callable[[KnownCode, int, Sequence[str]], Ranked]


class Option(NamedTuple):
    """Something to do: enter a folder, read a page or a text, run the tests unedited, or try an edit."""

    kind: int
    path: str = ""
    number: int = 0  # of the page, or the line
    text: str = ""  # the edited line


class SeenSoFar:
    """What was seen in one episode; `rank` ranks the edits of a line."""

    def __init__(self, task: str, rank: Rank) -> None:
        self._rank = rank
        self._issue = task.partition(": ")[2]
        self._words = set(content_words(self._issue))
        self._raw = raw_of(self._issue)
        self._folders: dict[str, list[str]] = {}
        self._at: dict[str, int] = {}  # the page of its folder that lists a file
        self._texts: dict[str, list[str]] = {}  # what `cat` showed; the last is empty where there is no more
        self._lines: dict[str, dict[int, str]] = {}
        self._page_of: dict[tuple[str, int], int] = {}
        self._pages: dict[str, int] = {}
        self._seen: set[tuple[str, int]] = set()
        self._edits: dict[tuple[str, int], Ranked] = {}
        self._full: set[tuple[str, int]] = set()  # lines whose edits were listed
        self._tried: defaultdict[tuple[str, int], list[tuple[str, float]]] = defaultdict(list)
        self._static: dict[tuple[str, int], list[float]] = {}
        self._best: dict[str, float] = {}  # how well the best line of a source matches the issue
        self._reached: dict[str, float] = {}
        self._imports: defaultdict[str, set[str]] = defaultdict(set)  # names by the last word of their module
        self.shown = ""  # the id of the shown test, once it is known
        self.body: set[str] = set()
        self.start: tuple[str, int] = ("", 0)
        self.plan: Option | None = None
        self.made: tuple[str, int, str] | None = None
        self.left = self.runs = 0
        self.ran = self.passed = False
        self._listing: dict[str, str] = {}  # the commands that edit the open line, by its text afterwards

    def look(self, observation: str, commands: Sequence[str], action: str, feedback: str) -> None:
        """Take in what is seen after an action, `""` at the start."""
        head = observation.partition("\n# Last result\n")[0]
        self.left, self.commands = steps_left(head, "mender"), commands
        self.runs = int(head.partition("# Test runs left\n")[2].split()[0])
        if action.startswith("edit "):
            self.made = (self.path, self.line, feedback.partition("\n")[2])
            self.plan = Option(EDIT, *self.made)
            self._tried[self.made[:2]].append((self.made[2], 0.0))
        elif action == TEST:
            self.ran = True
            self._tested(feedback)
            self.plan = None
        elif action.startswith("cat "):
            self._read(f"{self.folder}/{action[4:]}".lstrip("/"), feedback)
            self.plan = None
        place = _PLACE.search(head)
        if place is None:
            self._list(head)
        else:
            self._open(head, place)
        if not action:
            self.start = (self.path, self.line)
        if self.plan and self.plan.kind in (FOLDER, PAGE):
            path, page = self.plan.path, self.plan.number or self.page
            self.plan = None if path in self._folders or (path, page) in self._seen else self.plan

    def _open(self, head: str, place: re.Match[str]) -> None:
        path = self.path = place["file"] or place["of"].partition(", page")[0]
        self.folder, known = path.rpartition("/")[0], self._lines.setdefault(path, {})
        self.page, self.line = int(place["page"] or 0), int(place["line"] or 0)
        if place["file"]:
            self._pages[path] = int(place["pages"])
        made = _MADE.search(head)
        changed = int(made[1]) if made and made[2] == path else 0
        for number, text in _NUMBERED.findall(head):
            if int(number) != changed:
                known.setdefault(int(number), text)
            if self.page:
                self._page_of[path, int(number)] = self.page
        if not self.line and (path, self.page) not in self._seen:
            self._seen.add((path, self.page))
            code = KnownCode(known)
            foretold = code.edited()
            for number in known:
                if (path, number) in self._full:
                    self._edits[path, number] = self._rank(code, number, self._edits[path, number][0])
                elif number in foretold:
                    self._edits[path, number] = self._rank(code, number, foretold[number])
            self._understand()
        self._listing = {text: f"edit {line} {at}" for line, at, text in _LISTED.findall(head)}
        if self._listing and (path, self.line) not in self._full:
            self._full.add((path, self.line))
            self._edits[path, self.line] = self._rank(KnownCode(known), self.line, list(self._listing))

    def _list(self, head: str) -> None:
        self.path, self.page, self.line = "", 0, 0
        name = head.partition("# Current folder\n")[2].partition("\n")[0]
        self.folder = "" if name == "." else name
        turned = re.search(r"^# Page\n(\d+) of", head, re.M)
        self.leaf = int(turned[1]) if turned else 1
        inside = self._folders.setdefault(self.folder, [])
        for command in self.commands:
            verb, _, value = command.partition(" ")
            whole = f"{self.folder}/{value}".lstrip("/")
            if verb in ("cd", "open", "cat") and command not in (UP, HERE) and f"{verb} {whole}" not in inside:
                inside.append(f"{verb} {whole}")
                self._at[whole] = self.leaf

    def _read(self, path: str, feedback: str) -> None:
        text = feedback.partition("\n")[2]
        parts = self._texts.setdefault(path, [])
        parts.append(text.rpartition("\n[characters")[0] or text)
        if not feedback.endswith("the same command shows the next part]"):
            parts.append("")
        self._understand()

    def _tested(self, feedback: str) -> None:
        failed = feedback.split("\n")[1:]
        self.passed = feedback.startswith("All ")
        if not self.shown and failed:
            named = self._pattern()
            likely = (each for each in failed if named and re.search(named, each.rpartition("::")[2], re.I))
            self.shown = next(likely, failed[0] if len(failed) == 1 else "")
            self._understand()
        if self.made is not None:
            result = 3.0 if self.shown not in failed else 1.0 if len(failed) == 1 else 2.0
            self._tried[self.made[:2]][-1] = (self.made[2], result)

    def _pattern(self) -> str:
        """Return a pattern of the shown test's name; empty where the issue does not give it."""
        if self.shown:
            return re.escape(self.shown.rpartition("::")[2].partition("[")[0]) + r"\b"
        sentence = re.split(r"\. | \(", self._issue)[0].strip(" .").replace(" ", "_")
        words = r"\w*".join(map(re.escape, sentence.split("…")))
        return rf"test_?{words}\b" if len(sentence.strip("…_")) > _LONG else ""

    def _understand(self) -> None:
        """Find the shown test in what was read, and the functions that it reaches."""
        self._static.clear()
        name = self._pattern()
        every = "\n".join("".join(parts) for parts in self._texts.values())
        found = re.search(f"def {name}", every, re.I) if name else None
        self.body = set(NAME.findall(_BEHIND.split(every[found.end() :], maxsplit=1)[0])) if found else set()
        self._imports.clear()
        for module, names in _IMPORT.findall(every):
            self._imports[module].update(NAME.findall(names))
        bodies = _bodies(every.split("\n")) if self.body else {}
        for known in self._lines.values():
            bodies.update(_bodies([known[number] for number in sorted(known)]))
        self._reached = dict.fromkeys(self.body, 1.0)
        for share in (0.6, 0.3):
            for each in [name for name, value in self._reached.items() if value > share and name in bodies]:
                for other in bodies[each]:
                    self._reached.setdefault(other, share)


@lru_cache(maxsize=100_000)
def names_of(text: str) -> frozenset[str]:
    return frozenset(NAME.findall(text))


@lru_cache(maxsize=100_000)
def raw_of(text: str) -> frozenset[str]:
    """Return the names and numbers in a text."""
    return frozenset(re.findall(r"\w+", text))


def _bodies(lines: Sequence[str]) -> dict[str, set[str]]:
    """Return the names in the lines of each function."""
    found, names = dict[str, set[str]](), set[str]()
    for line in lines:
        if start := DEFINED.match(line):
            names = found[start[1]] = set()
        names |= names_of(line)
    return found
