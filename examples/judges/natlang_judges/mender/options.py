"""The options of a player of AutoExplore-Change, their features, and the commands that do them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from natlang_envs.repository.texts import EXIT, HERE, NEXT, PREVIOUS, SUBMIT, TEST, UP
from natlang_envs.repository.walk import shared
from natlang_judges.mender.code import around, pieces
from natlang_judges.mender.seen import DEFINED, EDIT, FOLDER, PAGE, RUN, TEXT, Option, SeenSoFar, names_of, raw_of

WIDTH, REACH, SCORE = 37, 14, 34  # features of an option; the indices of two features of an edit
_MOST = 64  # edits at most among the options
_REACHED = 3.0  # added to the score of an edit, for that choice, if the shown test names its function
_RESERVE = 5  # steps that are reserved for an edit

Choose = Callable[["OptionFeatures", list[Option], NDArray[np.float32]], int]


class OptionFeatures(SeenSoFar):
    """What was seen in one episode, and what may be done about it."""

    def options(self) -> tuple[list[Option], NDArray[np.float32]]:
        """Return what may be done now, and the features of each option."""
        places = [each for each in self._places() if self._way(each) + 1 + _RESERVE <= self.left]
        rows = [self._of_place(each) for each in places]
        edits = [each for each in self._untried() if self._way(each) + 2 <= self.left]
        edits = sorted(edits, key=lambda each: -self._score(each) - _REACHED * self._of_line(each)[0])[:_MOST]
        if edits:
            scores = np.array([self._score(each) for each in edits])
            share = np.exp(scores - scores.max())
            more = np.stack([scores / 4, np.log1p((-scores).argsort().argsort()) / 4, share / share.sum()], 1)
            rows += [[*self._of_edit(each), *extra] for each, extra in zip(edits, more.tolist(), strict=True)]
        found = places + edits
        numbers = np.zeros((len(found), WIDTH), np.float32)
        numbers[:, 5:13] = (
            self.left / 30, self.runs / 3, bool(self.body), bool(self.shown), self.start[0] != "", self.start[1] != 0,
            len(self._seen) / 10, len(self._tried) / 3,
        )  # fmt: skip
        for at, (option, row) in enumerate(zip(found, rows, strict=True)):
            numbers[at, option.kind] = 1
            numbers[at, 13] = self._way(option) / 5
            numbers[at, 14 : 14 + len(row)] = row
        return found, numbers

    def _places(self) -> Iterator[Option]:
        for verb, path in (each.split(" ", 1) for inside in self._folders.values() for each in inside):
            if verb == "cd" and path not in self._folders:
                yield Option(FOLDER, path)
            elif verb == "cat" and (self._texts.get(path) or ["?"])[-1]:
                yield Option(TEXT, path)
            elif verb == "open" and path not in self._pages:
                yield Option(PAGE, path, 1)
        for path in (self.folder, self.folder.rpartition("/")[0]):
            if path not in self._folders:
                yield Option(FOLDER, path)
        for path, pages in self._pages.items():
            number = next((each for each in range(1, pages + 1) if (path, each) not in self._seen), 0)
            if number:
                yield Option(PAGE, path, number)
        if self.start[1] and self.start[0] not in self._pages:
            yield Option(PAGE, self.start[0])
        if not self.ran and not self.shown and self.made is None:
            yield Option(RUN)

    def _untried(self) -> Iterator[Option]:
        """Yield the edits that were not tried: all of a line that was open, the best one of any other."""
        for (path, line), (texts, _) in self._edits.items():
            tried = {text for text, _ in self._tried.get((path, line), ())}
            for text in texts:
                if text not in tried:
                    yield Option(EDIT, path, line, text)
                    if (path, line) not in self._full:
                        break

    def _score(self, option: Option) -> float:
        texts, scores = self._edits[option.path, option.number]
        return scores[texts.index(option.text)]

    def _match(self, words: frozenset[str]) -> float:
        return len(self._words & words) / max(1, len(self._words))

    def _of_place(self, option: Option) -> list[float]:
        path = option.path
        words = pieces(path)
        name = path.rpartition("/")[2].partition(".")[0]
        shown = self.shown.partition("::")[0]
        known = self._imports[name]
        return [
            self._match(words), float("test" in path), float(bool(words & {"doc", "docs", "example", "examples"})),
            float(name in self.body) + len(known & self.body),
            float(bool(shown) and f"{shown}/".startswith(f"{path}/")),
            float(name.removeprefix("test_") in shown), option.number / 5, float(path == self.start[0]),
            self._best.get(path, 0.0), len(self._texts.get(path, ())) / 3, path.count("/") / 3,
            float(path.endswith(".py")), float(bool(known)),
        ]  # fmt: skip

    def _of_edit(self, option: Option) -> list[float]:
        key = (option.path, option.number)
        *static, function = self._of_line(option)
        old, after = raw_of(self._lines[option.path][option.number]), raw_of(option.text)
        tried = self._tried.get(key, ())
        tries = (each for at, each in self._tried.items() if (at[0], self._function(*at)[1]) == (option.path, function))
        near = [result for each in tries for _, result in each]
        return [
            *static, float(bool((after - old) & self._raw)), float(bool((old - after) & self._raw)),
            len(tried) / 3, max((result for _, result in tried), default=0.0) / 3,
            max(near, default=0.0) / 3, float(1.0 in near),
            self._edits[key][0].index(option.text) / 4, len(self._edits[key][0]) / 20, float(option.path == self.path),
        ]  # fmt: skip

    def _function(self, path: str, line: int) -> tuple[str, float]:
        """Return the last function or class that begins before a line, and its line."""
        known = self._lines[path]
        while line in known and not DEFINED.match(known[line]):
            line -= 1
        found = DEFINED.match(known.get(line, ""))
        return (found[1], float(line)) if found else ("", 0.0)

    def _of_line(self, option: Option) -> list[float]:
        """Return the features of a line, whatever the edit, and last the line of its function."""
        path, line = key = (option.path, option.number)
        if key in self._static:
            return self._static[key]
        known = self._lines[path]
        name, first = self._function(path, line)
        chunk = [known[each] for each in around(known, line)] if name else [known[line]]
        module = path.rpartition("/")[2].removesuffix(".py")
        names, raw = names_of(known[line]), raw_of(known[line]) & self._raw
        words = frozenset[str]().union(*map(pieces, chunk))
        found = self._static[key] = [
            self._reached.get(name, 0.0), float(name in self.body), self._match(words),
            self._match(pieces(known[line])), self._match(pieces(name)),
            float(module in self.body or module in self.shown), len(names & self.body) / max(1, len(names)),
            float((path, line) == self.start), float(path == self.start[0]),
            float(any(each.isdigit() for each in raw)), float(not name), float(first),
        ]  # fmt: skip
        self._best[path] = max(self._best.get(path, 0.0), found[2])
        return found

    def _way(self, option: Option) -> int:
        """Return how many commands come before the last one of an option."""
        kind, path, number, _ = option
        if kind == RUN or (kind, path, number) == (EDIT, self.path, self.line):
            return 0
        steps, at = int(self.line > 0), self._page_of.get((path, number), 0)
        if kind in (PAGE, EDIT) and path == self.path:
            here = self._page_of.get((path, self.line), 0) if self.line else self.page
            return steps + 1 + (here != at) if kind == EDIT else steps if number else 0
        steps += self.path != ""
        here, there = (each.split("/") if each else [] for each in (self.folder, _end(option)))
        steps += len(here) + len(there) - 2 * shared(here, there)
        return steps + (-1 if kind == FOLDER else 2 + (at > 1) if kind == EDIT else kind == PAGE and number > 1)

    def command(self, choose: Choose) -> str:
        """Return the next command. Without a plan, `choose` returns the number of the option to take."""
        if self.passed:
            return SUBMIT
        if self.plan is None:
            options, numbers = self.options()
            if not options:
                return SUBMIT if SUBMIT in self.commands else EXIT
            self.plan = options[choose(self, options, numbers)]
        return self.next(self.plan)

    def next(self, option: Option) -> str:
        """Return the next command on the way to an option. An edit that was made is tested, or submitted."""
        found = self._next(option)
        return found if found in self.commands else EXIT

    def _next(self, option: Option) -> str:
        kind, path, number, _ = option
        if kind == EDIT and self.made == option[1:]:
            return TEST if self.runs and self.left > 1 else SUBMIT
        if kind == RUN:
            return TEST
        name = path.rpartition("/")[2]
        if self.path and self.path == path:
            if self.line:
                return self._edit(option) if (kind, number) == (EDIT, self.line) else f"open {name}"
            page = number if kind == PAGE else self._page_of.get((path, number), self.page)
            if page == self.page:
                return f"line {number}"
            listed = [int(each[5:]) for each in self.commands if each.startswith("page ")]
            return f"page {min(listed, key=lambda each: abs(each - page))}"
        if self.path:
            return f"open {self.path.rpartition('/')[2]}" if self.line else HERE
        inside, goal = f"{self.folder}/" if self.folder else "", f"{_end(option)}/"
        if not goal.startswith(inside):
            return UP
        below = goal[len(inside) :].partition("/")[0]
        command = f"cd {below}" if below else f"{'cat' if kind == TEXT else 'open'} {name}"
        turned = NEXT if self._at.get(f"{inside}{below or name}", 1) > self.leaf else PREVIOUS
        return command if command in self.commands else turned

    def _edit(self, option: Option) -> str:
        """Return the command of the listed edit with the wanted text, else of the best one that was not tried."""
        tried = {text for text, _ in self._tried.get((self.path, self.line), ())}
        wanted = (option.text, *(text for text in self._edits[self.path, self.line][0] if text not in tried))
        return next((self._listing[each] for each in wanted if each in self._listing), EXIT)


def _end(option: Option) -> str:
    return option.path if option.kind == FOLDER else option.path.rpartition("/")[0]
