"""A repository as pages and moves: every page of every folder, its commands, and the shortest routes between them.

A page is made when it is first entered. All environments of the process share it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from natlang_envs.repository.entries import Folder
from natlang_envs.repository.texts import (
    EXIT,
    NEXT,
    PAGE_SLOTS,
    PREVIOUS,
    UP,
    bytes_shown,
    contents,
    describe_place,
    entered,
    is_binary,
    parts_of_text,
    turned,
)
from natlang_envs.repository.tree import Repository

Key = tuple[str, int]  # a folder's path and a page of it, from 0


class PageMove(NamedTuple):
    kind: Literal["go", "cat", "id", "exit"]  # what it is
    path: str = ""  # the file's path, or that of the folder gone to
    page: int = 0  # the page gone to
    feedback: str = ""  # the answer, where it is known beforehand


class FolderPage(NamedTuple):
    key: Key
    text: str  # the page in words
    commands: tuple[str, ...]
    moves: dict[str, PageMove]  # what each command does


class PageNames(NamedTuple):
    folders: tuple[str, ...]
    files: tuple[str, ...]


def pages_of(folder: Folder) -> list[PageNames]:
    """Fill pages with a folder's folders and then the files, each page with as many as its commands allow."""
    _, folders, files = folder
    pages: list[PageNames] = []
    while folders or files or not pages:
        some = folders[:PAGE_SLOTS]
        count = (PAGE_SLOTS - len(some)) // 2
        pages.append(PageNames(some, files[:count]))
        folders, files = folders[len(some) :], files[count:]
    return pages


class Navigation:
    """The places of a repository, made by `navigation_of`; `cat` shows `budget` characters of a file."""

    def __init__(self, repository: Repository, budget: int) -> None:
        self.repository = repository
        self.budget = budget
        self._pages = cache(self._pages_of)
        self.place = cache(self._place)
        self.text = cache(self._text)
        self.parts = cache(self._parts)

    def __reduce__(self) -> tuple[Callable[..., Navigation], tuple[Repository, int]]:
        """Pickle as the repository: it is made again, or shared, where it is loaded."""
        return navigation_of, (self.repository, self.budget)

    def _pages_of(self, path: str) -> list[PageNames]:
        return pages_of(self.repository.folder(path))

    def _place(self, key: Key) -> FolderPage:
        path, number = key
        pages = self._pages(path)
        if not 0 <= number < len(pages):
            raise KeyError(key)
        page, moves = pages[number], moves_of(self.repository.folder(path), number, pages)
        return FolderPage(key, describe_place(path, page.folders, page.files, number, len(pages)), tuple(moves), moves)

    def _text(self, path: str, before: int = 0) -> str:
        """Return the answer to `cat`; a long file is shown in parts, and was shown `before` times."""
        head = self.repository.part(path, 0, bytes_shown(self.budget * (before + 1)))
        return contents(path.rpartition("/")[2], head, self.repository.mark(path).size, self.budget, before)

    def _parts(self, path: str) -> int:
        """Return how many different texts `cat` shows of a file, one after the other."""
        content = self.repository.part(path, 0, bytes_shown(0))
        if not is_binary(content):  # or it may have no end
            content = self.repository.part(path, 0, self.repository.mark(path).size)
        return parts_of_text(content, self.budget)

    def route(self, start: Key, targets: Collection[str]) -> list[str]:
        """Return the fewest commands that lead from a place to the `id` of one of the files `targets`.

        A breadth-first search over the places that can matter: the folders above the start and the targets, and one
        step into any other folder, which is at times the shortest way back to the first page.
        """
        relevant = {folder for path in (start[0], *(_parent(target) for target in targets)) for folder in _above(path)}
        ways: dict[Key, tuple[str, ...]] = {start: ()}
        queue = deque([start])
        while queue:
            key = queue.popleft()
            for command, move in self.place(key).moves.items():
                if move.kind == "id" and move.path in targets:
                    return [*ways[key], command]
                after = (move.path, move.page)
                if move.kind != "go" or after in ways or (key[0] not in relevant and command != UP):
                    continue
                ways[after] = (*ways[key], command)
                queue.append(after)
        raise KeyError(f"no way from {start} to {sorted(targets)}")


def moves_of(folder: Folder, number: int, pages: Sequence[PageNames] | None = None) -> dict[str, PageMove]:
    """Return the commands of a page of a folder and what each does; `pages` are those of `pages_of`.

    `cd` into each folder, `cd ..`, `cat` and `id` for each file, `next page`, `previous page`, `exit`, as far as there
    is something for them.
    """
    pages = pages or pages_of(folder)
    path, page = folder.path, pages[number]
    prefix = f"{path}/" if path else ""
    moves = {f"cd {name}": PageMove("go", prefix + name, 0, entered(prefix + name)) for name in page.folders}
    if path:
        moves[UP] = PageMove("go", _parent(path), 0, entered(_parent(path)))
    for name in page.files:
        moves[f"cat {name}"] = PageMove("cat", prefix + name)
        moves[f"id {name}"] = PageMove("id", prefix + name)
    if number + 1 < len(pages):
        moves[NEXT] = PageMove("go", path, number + 1, turned(number + 1, len(pages)))
    if number:
        moves[PREVIOUS] = PageMove("go", path, number - 1, turned(number - 1, len(pages)))
    moves[EXIT] = PageMove("exit")
    return moves


@lru_cache(maxsize=64)
def navigation_of(repository: Repository, budget: int) -> Navigation:
    """Return the navigation of a repository, shared by every environment with this budget."""
    return Navigation(repository, budget)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = _parent(folder)
    yield ""
