"""What a player of AutoExplore-Change has seen so far, what it may do about it, and the commands that do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from natlang_envs.autoexplore.changing.picking.episode import TESTS
from natlang_envs.autoexplore.changing.picking.views import HERE, SUBMIT, TEST
from natlang_envs.repository.texts import EXIT, NEXT, UP, read_steps_left
from natlang_envs.repository.words import content_words, pieces_of
from reference_agent.families.autoexplore.mender.code import Code, around

FOLDER, PAGE, TEXT, RUN, EDIT = range(5)  # kinds of options
WIDTH = 42  # numbers of an option
_RESERVE = 5  # steps that a reader keeps to try an edit
_PLACE = re.compile(r"# Open (?:file\n(?P<file>.+), page (?P<page>\d+) of (?P<pages>\d+), lines .*|line\n(?P<line>\d+) of (?P<of>.+))$", re.M)
_NUMBERED = re.compile(r"^ *(\d+) \|(?: (.*))?$", re.M)
_LISTED = re.compile(r"^edit (\d+) (\d+): (.*)$", re.M)
_MADE = re.compile(r"^# Edit\nline (\d+) of (.+):$", re.M)
_NAME = re.compile(r"[A-Za-z_]\w*")
_IMPORT = re.compile(r"^from [\w.]*?(\w+) import \(?([\w, \n]+)", re.M)
_DEFINED = re.compile(r"\s*(?:async )?(?:def|class) (\w+)")

Ranked = tuple[list[str], list[float]]  # what a line would read after its edits, the likeliest first, and how likely
Choose = Callable[["Desk", list["Option"], NDArray[np.float32]], int]
Rank = Callable[[Code, int, Sequence[str]], Ranked]


class Option(NamedTuple):
    """A thing to do: enter a folder, read a page or a text, run the tests unedited, or try an edit."""

    kind: int
    path: str = ""
    number: int = 0  # of the page, or the line
    text: str = ""  # the edited line


class Desk:
    """What was seen in one episode.

    Args:
        task: The task in words.
        rank: Ranks the edits of a line.
    """

    def __init__(self, task: str, rank: Rank) -> None:
        self._rank = rank
        self.issue = task.partition(": ")[2]
        self._words = set(content_words(self.issue))
        self._raw = set(re.findall(r"\w+", self.issue))
        self._folders: dict[str, list[str]] = {}
        self._at: dict[str, int] = {}  # on which page of its folder a file stands
        self._texts: dict[str, list[str]] = {}  # what `cat` showed; the last is empty when there is no more
        self._lines: dict[str, dict[int, str]] = {}
        self._page_of: dict[tuple[str, int], int] = {}
        self._pages: dict[str, int] = {}
        self._seen: set[tuple[str, int]] = set()
        self._edits: dict[tuple[str, int], Ranked] = {}
        self._full: set[tuple[str, int]] = set()  # lines whose edits were listed
        self._tried: dict[tuple[str, int], list[tuple[str, float]]] = {}
        self._static: dict[tuple[str, int], list[float]] = {}
        self._best: dict[str, float] = {}  # how well the best line of a source matches the issue
        self._reached: dict[str, float] = {}
        self._imports: dict[str, set[str]] = {}  # the names that texts import, by the last word of the module
        self.shown = ""  # the id of the shown test, once it is known
        self.body: set[str] = set()
        self.start: tuple[str, int] = ("", 0)
        self.plan: Option | None = None
        self.made: tuple[str, int, str] | None = None
        self.left, self.runs, self.steps = 0, TESTS, 0
        self.passed = False
        self._listing: dict[str, str] = {}  # the commands of the edits of the open line, by what it reads then

    def look(self, observation: str, commands: Sequence[str], action: str, feedback: str) -> None:
        """Take in what is seen after an action, `""` at the start."""
        head = observation.partition("\n# Last result\n")[0]
        self.left, self.commands, self.steps = read_steps_left(head), commands, self.steps + 1
        self.runs = int(head.partition("# Test runs left\n")[2].split()[0])
        if action == TEST:
            self._tested(feedback)
            self.plan = None
        if action.startswith("cat "):
            self._read(f"{self.folder}/{action[4:]}".lstrip("/"), feedback)
            self.plan = None
        place = _PLACE.search(head)
        if place is None:
            self._list(head)
        else:
            self._open(head, place)
        if self.plan and (self.plan.path in self._folders or (self.plan.path, self.plan.number or self.page) in self._seen):
            self.plan = self.plan if self.plan.kind in (TEXT, EDIT) else None

    def _open(self, head: str, place: re.Match[str]) -> None:
        made = _MADE.search(head)
        path = self.path = place["file"] or place["of"].partition(", page")[0]
        self.folder, known = path.rpartition("/")[0], self._lines.setdefault(path, {})
        self.page, self.line = int(place["page"] or 0), int(place["line"] or 0)
        if not self.start[0] and self.steps == 1:
            self.start = (path, self.line)
        if place["file"]:
            self._pages[path] = int(place["pages"])
        fresh = not self.line and (path, self.page) not in self._seen
        for number, text in _NUMBERED.findall(head):
            if not (made and int(made[1]) == int(number) and made[2] == path):
                known.setdefault(int(number), text)
            if self.page:
                self._page_of[path, int(number)] = self.page
        if fresh:
            self._seen.add((path, self.page))
            code = Code(known)
            for number, after in code.edited().items():
                if self._page_of.get((path, number)) == self.page:
                    self._edits[path, number] = self._rank(code, number, after)
            if self._full and self.start[1] and path == self.start[0]:
                self._edits[self.start] = self._rank(code, self.start[1], self._edits[self.start][0])
            self._understand()
        self._listing = {text: f"edit {line} {at}" for line, at, text in _LISTED.findall(head)}
        if self._listing and (path, self.line) not in self._full:
            self._full.add((path, self.line))
            self._edits[path, self.line] = self._rank(Code(known), self.line, list(self._listing))

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
        parts = self._texts.setdefault(path, [])
        parts.append(feedback.partition("\n")[2].rpartition("\n[characters")[0] or feedback.partition("\n")[2])
        if not feedback.endswith("the same command shows the next part]"):
            parts.append("")
        self._understand()

    def _tested(self, feedback: str) -> None:
        failed = feedback.split("\n")[1:]
        self.passed = feedback.startswith("All ")
        if not self.shown and failed and self.made is None:
            self.shown = failed[0]
            self._understand()
        if self.made is not None:
            shown = self.shown or self._guess(failed)
            told = 3.0 if shown not in failed else 1.0 if len(failed) == 1 else 2.0
            self._tried[self.made[:2]][-1] = (self.made[2], told)

    def _guess(self, failed: Sequence[str]) -> str:
        name = self._pattern()
        return next((each for each in failed if name and name.search(each.rpartition("::")[2])), failed[0] if failed else "")

    def _pattern(self) -> re.Pattern[str] | None:
        sentence = re.split(r"\. | \(", self.issue)[0].strip(" .").replace(" ", "_")
        words = [re.escape(each) for each in sentence.split("…")]
        return re.compile(r"test_?" + r"\w*".join(words) + r"\b", re.I) if len(sentence.strip("…_")) > 5 else None

    def _understand(self) -> None:
        """Find the shown test in what was read, and the functions that it reaches."""
        self._static.clear()
        name = re.compile(re.escape(self.shown.rpartition("::")[2].partition("[")[0]) + r"\b") if self.shown else self._pattern()
        every = "\n".join(part for parts in self._texts.values() for part in parts)
        found = re.search(rf"def {name.pattern}", every, re.I) if name else None
        self.body = set(_NAME.findall(re.split(r"\n(?=\S)", every[found.end() :], maxsplit=1)[0])) if found else set()
        self._imports.clear()
        for module, names in _IMPORT.findall(every):
            self._imports.setdefault(module, set()).update(_NAME.findall(names))
        bodies = {**dict(_bodies(every.split("\n")))} if self.body else {}
        for known in self._lines.values():
            bodies.update(_bodies([known[number] for number in sorted(known)]))
        self._reached = dict.fromkeys(self.body, 1.0)
        for share in (0.6, 0.3):
            for each in [name for name, value in self._reached.items() if value > share and name in bodies]:
                for other in bodies[each]:
                    self._reached.setdefault(other, share)

    def options(self) -> tuple[list[Option], NDArray[np.float32]]:
        """Return what may be done now, and the numbers that tell of each."""
        found: list[Option] = []
        rows: list[list[float]] = []
        common = [self.left / 30, self.runs / 3, float(bool(self.body)), float(bool(self.shown)), float(self.start[0] != ""), float(self.start[1] != 0)]
        common += [len(self._seen) / 10, len(self._tried) / 3]
        for folder, inside in self._folders.items():
            for verb, path in (each.split(" ", 1) for each in inside):
                if verb == "cd" and path not in self._folders:
                    found.append(Option(FOLDER, path))
                elif verb == "cat" and (self._texts.get(path) or ["?"])[-1]:
                    found.append(Option(TEXT, path))
                elif verb == "open" and (path, 1) not in self._seen:
                    found.append(Option(PAGE, path, 1))
        if self.start[0] and self.folder not in self._folders:
            found.append(Option(FOLDER, self.folder))
        above = self.folder.rpartition("/")[0]
        if self.folder and above not in self._folders:
            found.append(Option(FOLDER, above))
        for path, pages in self._pages.items():
            number = next((each for each in range(1, pages + 1) if (path, each) not in self._seen), 0)
            if number and (path, 1) in self._seen:
                found.append(Option(PAGE, path, number))
        if self.start[1] and not self._pages:
            found.append(Option(PAGE, self.start[0], 0))
        if self.runs == TESTS and not self.shown and self.made is None:
            found.append(Option(RUN))
        found = [each for each in found if self._way(each) + 1 + _RESERVE <= self.left]
        rows = [self._of_place(each) for each in found]
        lines: list[Option] = []
        for (path, line), (texts, _) in self._edits.items():
            tried = {text for text, _ in self._tried.get((path, line), ())}
            fresh = (text for text in texts if text not in tried)
            few = fresh if (path, line) in self._full else [text for text in [next(fresh, None)] if text is not None]
            lines += [Option(EDIT, path, line, text) for text in few]
        lines = [each for each in lines if self._way(each) + 2 <= self.left]
        if lines:
            scores = np.array([self._score(each) for each in lines])
            order = (-scores).argsort().argsort()
            share = np.exp(scores - scores.max())
            more = np.stack([scores / 4, np.log1p(order) / 4, share / share.sum()], 1)
            rows += [[*self._of_edit(each), *extra] for each, extra in zip(lines, more.tolist(), strict=True)]
        found += lines
        numbers = np.zeros((len(found), WIDTH), np.float32)
        for at, (option, row) in enumerate(zip(found, rows, strict=True)):
            numbers[at, option.kind] = 1
            numbers[at, 5:13] = common
            numbers[at, 13] = self._way(option) / 5
            numbers[at, 14 : 14 + len(row)] = row
        return found, numbers

    def _score(self, option: Option) -> float:
        texts, scores = self._edits[option.path, option.number]
        return scores[texts.index(option.text)]

    def _match(self, words: frozenset[str]) -> float:
        return len(self._words & words) / max(1, len(self._words))

    def _of_place(self, option: Option) -> list[float]:
        path = option.path
        words = _pieces(path)
        name = path.rpartition("/")[2].partition(".")[0]
        shown = self.shown.partition("::")[0]
        return [
            self._match(words), float("test" in path), float(bool(words & {"doc", "docs", "example", "examples"})),
            float(name in self.body) + len(self._imports.get(name, set()) & self.body), float(bool(shown) and (shown == path or shown.startswith(f"{path}/"))),
            float(name.removeprefix("test_") in shown), option.number / 5, float(path == self.start[0]),
            self._best.get(path, 0.0), len(self._texts.get(path, ())) / 3, path.count("/") / 3, float(path.endswith(".py")),
            float(any(name in part for parts in self._texts.values() for part in parts)) if len(name) > 2 else 0.0,
        ]  # fmt: skip

    def _of_edit(self, option: Option) -> list[float]:
        key = (option.path, option.number)
        static = self._static.get(key)
        if static is None:
            static = self._static[key] = self._of_line(*key)
            self._best[key[0]] = max(self._best.get(key[0], 0.0), static[2])
        old, after = _raw(self._lines[option.path][option.number]), _raw(option.text)
        tried = self._tried.get(key, ())
        function = static[-1]
        near = [told for (path, line), each in self._tried.items() if path == option.path for _, told in each if self._function(path, line)[1] == function]
        return [
            *static[:-1], float(bool((after - old) & self._raw)), float(bool((old - after) & self._raw)),
            len(tried) / 3, max((told for _, told in tried), default=0.0) / 3, max(near, default=0.0) / 3, float(1.0 in near),
            self._edits[key][0].index(option.text) / 4, len(self._edits[key][0]) / 20, float(option.path == self.path),
        ]  # fmt: skip

    def _function(self, path: str, line: int) -> tuple[str, float]:
        known = self._lines[path]
        depth = 999
        for number in range(line, 0, -1):
            text = known.get(number)
            if text is None:
                break
            if text.strip() and (found := _DEFINED.match(text)) and len(text) - len(text.lstrip()) < depth:
                return found[1], float(number)
        return "", 0.0

    def _of_line(self, path: str, line: int) -> list[float]:
        known = self._lines[path]
        name, first = self._function(path, line)
        chunk = [known[each] for each in around(known, line)] if name else [known[line]]
        words = frozenset[str]().union(*map(_pieces, chunk))
        own = _pieces(known[line])
        module = path.rpartition("/")[2].removesuffix(".py")
        names = _names(known[line])
        return [
            self._reached.get(name, 0.0), float(name in self.body), self._match(words), self._match(own),
            self._match(_pieces(name)), float(module in self.body or module in self.shown),
            len(names & self.body) / max(1, len(names)), float((path, line) == self.start), float(path == self.start[0]),
            float(bool({each for each in _raw(known[line]) & self._raw if each.isdigit()})), float(not name), float(first),
        ]  # fmt: skip

    def _way(self, option: Option) -> int:
        """Return how many commands come before the last one of an option."""
        if option.kind == RUN:
            return 0
        if option.kind == EDIT and (option.path, option.number) == (self.path, self.line):
            return 0
        steps = int(self.line > 0)
        if option.kind in (PAGE, EDIT) and option.path == self.path:
            page = self._page_of.get((self.path, self.line), 0) if self.line else self.page
            wanted = option.number if option.kind == PAGE else self._page_of.get((option.path, option.number), 0)
            return max(0, steps - (option.kind == PAGE and not option.number)) + (option.kind == EDIT) * (1 + (page != wanted))
        steps += self.path != ""
        goal = option.path.rpartition("/")[0]
        if option.kind == FOLDER and f"{self.folder}/".startswith(f"{option.path}/" if option.path else ""):
            goal = option.path
            steps -= 1
        here, there = self.folder.split("/") if self.folder else [], goal.split("/") if goal else []
        common = next((n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there)))
        steps += len(here) + len(there) - 2 * common
        return steps + (option.kind == EDIT) * (2 + (self._page_of.get((option.path, option.number), 1) > 1)) + (option.kind == PAGE and option.number > 1)

    def command(self, choose: Choose) -> str:
        """Return the next command, and note what it begins; without a plan, `choose` says which option is taken."""
        if self.passed:
            return SUBMIT
        if self.plan is None:
            options, numbers = self.options()
            if not options:
                return SUBMIT if SUBMIT in self.commands else EXIT
            self.plan = options[choose(self, options, numbers)]
        option = self.plan
        command = self.next(option)
        if command not in self.commands or command in (TEST, SUBMIT):
            self.plan = None
        if command.startswith("edit "):
            text = next(text for text, each in self._listing.items() if each == command)
            self.made = (option.path, option.number, text)
            self.plan = option._replace(text=text)
            self._tried.setdefault(self.made[:2], []).append((text, 0.0))
        return command if command in self.commands else EXIT

    def next(self, option: Option) -> str:
        """Return the next command on the way to an option; an edit that was made is tested, or submitted."""
        if option.kind == EDIT and self.made == (option.path, option.number, option.text):
            return TEST if self.runs and self.left > 1 else SUBMIT
        if option.kind == RUN:
            return TEST
        name = option.path.rpartition("/")[2]
        if self.path and self.path == option.path:
            if self.line:
                if self.line != option.number or option.kind != EDIT:
                    return f"open {name}"
                return self._edit(option)
            if option.kind == PAGE:
                return f"page {option.number}"
            page = self._page_of.get((option.path, option.number), self.page)
            return f"line {option.number}" if page == self.page else f"page {page}"
        if self.path:
            return f"open {self.path.rpartition('/')[2]}" if self.line else HERE
        goal = option.path.rpartition("/")[0]
        if option.kind == FOLDER and f"{self.folder}/".startswith(f"{option.path}/" if option.path else ""):
            return UP
        if self.folder == goal:
            verb = {FOLDER: "cd", TEXT: "cat"}.get(option.kind, "open")
            command = f"{verb} {name}"
        elif f"{goal}/".startswith(f"{self.folder}/" if self.folder else ""):
            command = f"cd {goal.removeprefix(self.folder).strip('/').partition('/')[0]}"
        else:
            return UP
        turned = NEXT if self._at.get(option.path, 1) > self.leaf else "previous page"
        return command if command in self.commands else turned

    def _edit(self, option: Option) -> str:
        """Return the listed edit that makes the open line read as wanted, else the likeliest that was not tried."""
        tried = {text for text, _ in self._tried.get((self.path, self.line), ())}
        wanted = (option.text, *(text for text in self._edits[self.path, self.line][0] if text not in tried))
        return next((self._listing[each] for each in wanted if each in self._listing), EXIT)


@lru_cache(maxsize=100_000)
def _pieces(text: str) -> frozenset[str]:
    return frozenset(pieces_of(text.replace("_", " ").replace("/", " ")))


@lru_cache(maxsize=100_000)
def _names(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text))


@lru_cache(maxsize=100_000)
def _raw(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


def _bodies(lines: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield functions, and the names in the lines behind each."""
    name, names = "", set[str]()
    for line in lines:
        if found := _DEFINED.match(line):
            if name:
                yield name, names
            name, names = found[1], set()
        names |= _names(line)
    if name:
        yield name, names
