"""What a player looks at: a page of a folder, of a source, or of the edits of a line; each with its commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple

from natlang_envs.repository.entries import Folder
from natlang_envs.repository.mutations import Edit, edits
from natlang_envs.repository.navigation import entered, turned
from natlang_envs.repository.texts import (
    HERE,
    MAX_COMMANDS,
    NEXT,
    PREVIOUS,
    SUBMIT,
    TEST,
    UNDO,
    UP,
    describe_place,
)

PAGE_LINES = 40  # of a source
NAMES = MAX_COMMANDS - 7  # of a page of a folder, beside `cd ..`, the next and the previous page, and the last four
EDITABLE = 24  # lines of a page that can be edited, at most
JUMPS = MAX_COMMANDS - EDITABLE - 5  # to other pages of a source, beside `cd .` and the last four
EDITS = 30  # of a page of a line
AROUND = 5  # lines above and below an open line
WIDTH = 160  # characters of a line that are shown

Key = tuple[str, str, int, int]  # folder, file or line; its path; the number of a line; the page, from 0


class Place(NamedTuple):
    """An edit of a repository: the path of the source, and the number among its edits."""

    path: str
    number: int


class Move(NamedTuple):
    """The effect of a command: goes to a view, shows a file, edits, or one of the last four."""

    kind: Literal["go", "cat", "edit", "undo", "test", "submit", "exit"]
    key: Key = ("folder", "", 0, 0)  # of the view gone to, or of the one with the file or edit
    number: int = 0  # of the edit
    feedback: str = ""  # the answer, where it is known beforehand


class Listed(NamedTuple):
    """The commands of a moment, and what each does."""

    commands: tuple[str, ...]
    moves: Mapping[str, Move]


_LAST = {each: Move(each) for each in ("undo", "test", "submit", "exit")}


class View:
    """What is seen of one place.

    Args:
        key: Which one.
        head: What stands above the lines.
        lines: Lines of a source by number, none of a folder.
        tail: What stands below them.
        moves: What each command of this place does.

    Attributes:
        text: The view in words, where nothing that it shows is edited.
    """

    __slots__ = ("_head", "_listed", "_tail", "key", "lines", "moves", "text")

    def __init__(self, key: Key, head: str, lines: Mapping[int, str], tail: str, moves: dict[str, Move]) -> None:
        self.key = key
        self.moves = moves
        self.lines = {number: _numbered(number, text) for number, text in lines.items()}
        self._head = [head]
        self._tail = [tail] if tail else []
        self.text = "\n".join([*self._head, *self.lines.values(), *self._tail])
        self._listed: dict[tuple[bool, bool], Listed] = {}

    def text_with(self, number: int, text: str) -> str:
        """Return the view in words, with another text of a line."""
        shown = {**self.lines, number: _numbered(number, text)}
        return "\n".join([*self._head, *shown.values(), *self._tail])

    def listed(self, edited: bool, tests: bool) -> Listed:
        """Return the commands: those of the place, `undo` and `submit` if `edited`, `test` while `tests` are left."""
        found = self._listed.get((edited, tests))
        if found is None:
            left_out = {*(() if edited else (UNDO, SUBMIT)), *(() if tests else (TEST,))}
            moves = {**self.moves, **{name: move for name, move in _LAST.items() if name not in left_out}}
            found = self._listed[edited, tests] = Listed(tuple(moves), moves)
        return found


def _numbered(number: int, text: str) -> str:
    return f"{number:4} | {cut(text)}".rstrip()


def cut(text: str, at: int = 0) -> str:
    """Return a line as it is shown: what is far from the character `at` of a long one is left out."""
    text = text.rstrip("\r").expandtabs(4)
    if not text.isprintable():
        text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    if len(text) <= WIDTH:
        return text
    start = max(0, min(at - WIDTH // 2, len(text) - WIDTH))
    end = start + WIDTH
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def folder_views(folder: Folder, sources: Iterable[str]) -> list[View]:
    """Return the pages of a folder, where `sources` are the paths of the files that can be edited."""
    editable = frozenset(sources)
    path = folder.path
    prefix = f"{path}/" if path else ""
    names = [*((each, True) for each in folder.folders), *((each, False) for each in folder.files)]
    pages = [names[start : start + NAMES] for start in range(0, max(1, len(names)), NAMES)]
    views: list[View] = []
    for number, page in enumerate(pages):
        folders = tuple(name for name, is_folder in page if is_folder)
        files = tuple(name for name, is_folder in page if not is_folder)
        moves = {f"cd {name}": _to_folder(prefix + name) for name in folders}
        if path:
            moves[UP] = _to_folder(path.rpartition("/")[0])
        for name in files:
            whole = prefix + name
            if whole in editable:
                moves[f"open {name}"] = Move("go", ("file", whole, 0, 0), feedback=f"{whole} is open now.")
            else:
                moves[f"cat {name}"] = Move("cat", ("file", whole, 0, 0))
        for other, name in ((number + 1, NEXT), (number - 1, PREVIOUS)):
            if 0 <= other < len(pages):
                moves[name] = Move("go", ("folder", path, 0, other), feedback=turned(other, len(pages)))
        head = describe_place(path, folders, files, number, len(pages))
        views.append(View(("folder", path, 0, number), head, {}, "", moves))
    return views


def _to_folder(path: str) -> Move:
    return Move("go", ("folder", path, 0, 0), feedback=entered(path))


class Edited(NamedTuple):
    """A line with an edit: its number, the whole text, and the text as it is listed."""

    line: int
    text: str
    preview: str


class Source:
    """A source that can be edited: its edits, and the views of its pages and lines, made when they are first seen.

    Args:
        path: Its path in the repository.
        text: What it holds.
        home: The page of its folder on which it stands.
    """

    def __init__(self, path: str, text: str, home: int) -> None:
        self.path = path
        self.text = text
        self.lines: list[str] = text.removesuffix("\n").split("\n")
        self._home: Key = ("folder", path.rpartition("/")[0], 0, home)
        self._views: dict[Key, View] = {}
        self._edited: dict[int, Edited] = {}

    @cached_property
    def edits(self) -> list[Edit]:
        """Every listed edit."""
        return edits(self.text)

    @cached_property
    def of_line(self) -> dict[int, list[int]]:
        """The numbers of the edits of each line that has some."""
        numbered = groupby(range(len(self.edits)), key=lambda number: self.edits[number].line)
        return {line: list(numbers) for line, numbers in numbered}

    @cached_property
    def pages(self) -> list[range]:
        """The lines of each page: at most 40, and at most 24 that can be edited."""
        pages: list[range] = []
        first, editable = 1, 0
        for line in range(1, len(self.lines) + 1):
            if line - first == PAGE_LINES or (line in self.of_line and editable == EDITABLE):
                pages.append(range(first, line))
                first, editable = line, 0
            editable += line in self.of_line
        return [*pages, range(first, len(self.lines) + 1)]

    def edited(self, number: int) -> Edited:
        """Return the line that an edit changes, and what it reads then."""
        found = self._edited.get(number)
        if found is None:
            edit = self.edits[number]
            line, begins = self.lines[edit.line - 1], self.text.rfind("\n", 0, edit.start) + 1
            text = line[: edit.start - begins] + edit.new + line[edit.end - begins :]
            found = self._edited[number] = Edited(edit.line, text, cut(text, edit.start - begins).strip())
        return found

    def view(self, key: Key) -> View:
        """Return a view.

        Raises:
            KeyError: There is none of this key.
        """
        found = self._views.get(key)
        if found is None:
            found = self._views[key] = self._line(key) if key[0] == "line" else self._page(key)
        return found

    def key_of_line(self, line: int) -> Key:
        """Return the first page of a line's edits."""
        return ("line", self.path, line, 0)

    def _page(self, key: Key) -> View:
        page = key[3]
        if key[2] or not 0 <= page < len(self.pages):
            raise KeyError(key)
        lines = self.pages[page]
        moves: dict[str, Move] = {}
        for line in lines:
            if line in self.of_line:
                moves[f"line {line}"] = Move("go", self.key_of_line(line), feedback=f"Line {line} is open now.")
        for other in _jumps(page, len(self.pages)):
            goal = ("file", self.path, 0, other)
            moves[f"page {other + 1}"] = Move("go", goal, feedback=f"You see {self._where(other)} now.")
        moves[HERE] = Move("go", self._home, feedback=entered(self._home[1]))
        head = f"# Open file\n{self.path}, {self._where(page)}"
        return View(key, head, {line: self.lines[line - 1] for line in lines}, "", moves)

    def _where(self, page: int) -> str:
        lines = self.pages[page]
        return f"page {page + 1} of {len(self.pages)}, lines {lines[0]} to {lines[-1]} of {len(self.lines)}"

    def _line(self, key: Key) -> View:
        _, _, line, page = key
        numbers = self.of_line[line]
        pages = range(0, len(numbers), EDITS)
        if not 0 <= page < len(pages):
            raise KeyError(key)
        moves: dict[str, Move] = {}
        previews: list[str] = []
        for at, number in list(enumerate(numbers, 1))[page * EDITS : (page + 1) * EDITS]:
            command = f"edit {line} {at}"
            text = self.edited(number).preview
            previews.append(f"{command}: {text}")
            moves[command] = Move("edit", key, number, f"Line {line} of {self.path} reads now:\n{text}")
        for other, name in ((page + 1, NEXT), (page - 1, PREVIOUS)):
            if 0 <= other < len(pages):
                more = f"You see page {other + 1} of {len(pages)} of the edits of line {line} now."
                moves[name] = Move("go", ("line", self.path, line, other), feedback=more)
        home = next(number for number, lines in enumerate(self.pages) if line in lines)
        name = f"open {self.path.rpartition('/')[2]}"
        moves[name] = Move("go", ("file", self.path, 0, home), feedback=f"You see {self._where(home)} now.")
        around = range(max(1, line - AROUND), min(len(self.lines), line + AROUND) + 1)
        of_pages = f", page {page + 1} of {len(pages)}" if len(pages) > 1 else ""
        return View(
            key,
            f"# Open line\n{line} of {self.path}",
            {each: self.lines[each - 1] for each in around},
            "\n".join([f"# Edits of line {line}{of_pages}", *previews]),
            moves,
        )


def _jumps(page: int, pages: int) -> list[int]:
    """Return the pages that are one command away: all of few, else the next and some at equal distances."""
    if pages <= JUMPS + 1:
        chosen = range(pages)
    else:
        spread = JUMPS - 2
        chosen = sorted({page - 1, page + 1, *(at * (pages - 1) // (spread - 1) for at in range(spread))})
    return [each for each in chosen if each != page and 0 <= each < pages]
