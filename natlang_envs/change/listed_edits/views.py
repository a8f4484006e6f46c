"""The views of a player: a page of a folder, of a source, or of the edits of a line; each with its commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple

from natlang_envs.repository.entries import Folder
from natlang_envs.repository.mutations import Edit, edits
from natlang_envs.repository.navigation import entered, turned
from natlang_envs.repository.texts import HERE, MAX_COMMANDS, NEXT, PREVIOUS, SUBMIT, TEST, UNDO, UP, describe_place

PAGE_LINES = 40  # of a source
NAMES = MAX_COMMANDS - 7  # of a page of a folder, beside `cd ..`, the next and the previous page, and the last four
EDITABLE = 24  # lines of a page that can be edited, at most
JUMPS = MAX_COMMANDS - EDITABLE - 5  # to other pages of a source, beside `cd .` and the last four
EDITS = 30  # of a page of a line
AROUND = 5  # lines above and below an open line
WIDTH = 160  # characters of a line that are shown

Key = tuple[str, str, int, int]  # folder, file or line; its path; the number of a line; the page, from 0


class EditSite(NamedTuple):
    """An edit of a repository: the path of the source, and the number among its edits."""

    path: str
    number: int


class CommandEffect(NamedTuple):
    """The effect of a command: goes to a view, shows a file, edits, or one of the last four."""

    kind: Literal["go", "cat", "edit", "undo", "test", "submit", "exit"]
    key: Key = ("folder", "", 0, 0)  # of the view gone to, or of the one with the file or edit
    number: int = 0  # of the edit
    feedback: str = ""  # the answer, where it is known beforehand


Effects = Mapping[str, CommandEffect]  # by command
_LAST: Effects = {each: CommandEffect(each) for each in ("undo", "test", "submit", "exit")}


class ChangeView:
    """One page.

    Args:
        key: Its key.
        head: The text above the lines.
        lines: Lines of a source by number, none of a folder.
        tail: The text below them.
        effects: What each command of this page does.

    Attributes:
        text: The page in words, where nothing that it shows is edited.
    """

    __slots__ = ("_head", "_listed", "_tail", "effects", "key", "lines", "text")

    def __init__(self, key: Key, head: str, lines: Mapping[int, str], tail: str, effects: Effects) -> None:
        self.key = key
        self.effects = effects
        self.lines = {number: _numbered(number, text) for number, text in lines.items()}
        self._head = [head]
        self._tail = [tail] if tail else []
        self.text = "\n".join([*self._head, *self.lines.values(), *self._tail])
        self._listed: dict[tuple[bool, bool], tuple[tuple[str, ...], Effects]] = {}

    def text_with(self, number: int, text: str) -> str:
        """Return the page in words, with another text of a line."""
        shown = {**self.lines, number: _numbered(number, text)}
        return "\n".join([*self._head, *shown.values(), *self._tail])

    def listed(self, edited: bool, tests: bool) -> tuple[tuple[str, ...], Effects]:
        """Return the commands: those of the page, `undo` and `submit` if `edited`, `test` while `tests` are left."""
        found = self._listed.get((edited, tests))
        if found is None:
            left_out = {*(() if edited else (UNDO, SUBMIT)), *(() if tests else (TEST,))}
            last = {name: effect for name, effect in _LAST.items() if name not in left_out}
            effects = {**self.effects, **last}
            found = self._listed[edited, tests] = tuple(effects), effects
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


def folder_views(folder: Folder, sources: Iterable[str]) -> list[ChangeView]:
    """Return the pages of a folder, where `sources` are the paths of the files that can be edited."""
    editable = frozenset(sources)
    path = folder.path
    prefix = f"{path}/" if path else ""
    names = [*((each, True) for each in folder.folders), *((each, False) for each in folder.files)]
    pages = [names[start : start + NAMES] for start in range(0, max(1, len(names)), NAMES)]
    views: list[ChangeView] = []
    for number, page in enumerate(pages):
        folders = tuple(name for name, is_folder in page if is_folder)
        files = tuple(name for name, is_folder in page if not is_folder)
        effects = {f"cd {name}": _to_folder(prefix + name) for name in folders}
        if path:
            effects[UP] = _to_folder(path.rpartition("/")[0])
        for name in files:
            whole = prefix + name
            if whole in editable:
                effects[f"open {name}"] = CommandEffect("go", ("file", whole, 0, 0), feedback=f"{whole} is open now.")
            else:
                effects[f"cat {name}"] = CommandEffect("cat", ("file", whole, 0, 0))
        for other, name in ((number + 1, NEXT), (number - 1, PREVIOUS)):
            if 0 <= other < len(pages):
                effects[name] = CommandEffect("go", ("folder", path, 0, other), feedback=turned(other, len(pages)))
        head = describe_place(path, folders, files, number, len(pages))
        views.append(ChangeView(("folder", path, 0, number), head, {}, "", effects))
    return views


def _to_folder(path: str) -> CommandEffect:
    return CommandEffect("go", ("folder", path, 0, 0), feedback=entered(path))


class EditedLine(NamedTuple):
    """A line with an edit: its number, the whole text, and the text as it is listed."""

    line: int
    text: str
    preview: str


class EditableSource:
    """A source that can be edited: its edits, and the views of its pages and lines, made when they are first seen.

    Args:
        path: Its path in the repository.
        text: Its text.
        home: The page of its folder that lists it.
    """

    def __init__(self, path: str, text: str, home: int) -> None:
        self.path = path
        self.text = text
        self.lines: list[str] = text.removesuffix("\n").split("\n")
        self._home: Key = ("folder", path.rpartition("/")[0], 0, home)
        self._views: dict[Key, ChangeView] = {}
        self._edited: dict[int, EditedLine] = {}

    @cached_property
    def edits(self) -> list[Edit]:
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

    def page_of(self, line: int) -> int:
        """Return the page with a line, or -1 where there is none."""
        return next((page for page, lines in enumerate(self.pages) if line in lines), -1)

    def edited(self, number: int) -> EditedLine:
        """Return the line that an edit changes, and what it reads then."""
        found = self._edited.get(number)
        if found is None:
            edit = self.edits[number]
            line, begins = self.lines[edit.line - 1], self.text.rfind("\n", 0, edit.start) + 1
            text = line[: edit.start - begins] + edit.new + line[edit.end - begins :]
            found = self._edited[number] = EditedLine(edit.line, text, cut(text, edit.start - begins).strip())
        return found

    def view(self, key: Key) -> ChangeView:
        """Return a view.

        Raises:
            KeyError: There is none of this key.
        """
        found = self._views.get(key)
        if found is None:
            found = self._views[key] = self._line(key) if key[0] == "line" else self._page(key)
        return found

    def _to_page(self, page: int) -> CommandEffect:
        return CommandEffect("go", ("file", self.path, 0, page), feedback=f"You see {self._where(page)} now.")

    def _page(self, key: Key) -> ChangeView:
        page = key[3]
        if key[2] or not 0 <= page < len(self.pages):
            raise KeyError(key)
        lines = self.pages[page]
        effects = {
            f"line {line}": CommandEffect("go", ("line", self.path, line, 0), feedback=f"Line {line} is open now.")
            for line in lines
            if line in self.of_line
        }
        effects |= {f"page {other + 1}": self._to_page(other) for other in _jumps(page, len(self.pages))}
        effects[HERE] = CommandEffect("go", self._home, feedback=entered(self._home[1]))
        head = f"# Open file\n{self.path}, {self._where(page)}"
        return ChangeView(key, head, {line: self.lines[line - 1] for line in lines}, "", effects)

    def _where(self, page: int) -> str:
        lines = self.pages[page]
        return f"page {page + 1} of {len(self.pages)}, lines {lines[0]} to {lines[-1]} of {len(self.lines)}"

    def _line(self, key: Key) -> ChangeView:
        _, _, line, page = key
        numbers = self.of_line[line]
        pages = -(-len(numbers) // EDITS)
        if not 0 <= page < pages:
            raise KeyError(key)
        effects: dict[str, CommandEffect] = {}
        previews: list[str] = []
        for at, number in list(enumerate(numbers, 1))[page * EDITS : (page + 1) * EDITS]:
            command, text = f"edit {line} {at}", self.edited(number).preview
            previews.append(f"{command}: {text}")
            effects[command] = CommandEffect("edit", key, number, f"Line {line} of {self.path} reads now:\n{text}")
        for other, name in ((page + 1, NEXT), (page - 1, PREVIOUS)):
            if 0 <= other < pages:
                feedback = f"You see page {other + 1} of {pages} of the edits of line {line} now."
                effects[name] = CommandEffect("go", ("line", self.path, line, other), feedback=feedback)
        effects[f"open {self.path.rpartition('/')[2]}"] = self._to_page(self.page_of(line))
        around = range(max(1, line - AROUND), min(len(self.lines), line + AROUND) + 1)
        of_pages = f", page {page + 1} of {pages}" if pages > 1 else ""
        tail = "\n".join([f"# Edits of line {line}{of_pages}", *previews])
        shown = {each: self.lines[each - 1] for each in around}
        return ChangeView(key, f"# Open line\n{line} of {self.path}", shown, tail, effects)


def _jumps(page: int, pages: int) -> list[int]:
    """Return the pages that are one command away: all of few, else the next and some at equal distances."""
    if pages <= JUMPS + 1:
        chosen = range(pages)
    else:
        spread = JUMPS - 2
        chosen = sorted({page - 1, page + 1, *(at * (pages - 1) // (spread - 1) for at in range(spread))})
    return [each for each in chosen if each != page and 0 <= each < pages]
