"""A repository that is to be mended, as all its tasks share it: folders, files, sources, and what edits make fail."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from natlang_envs.change.listed_edits.views import Key, Source, View, folder_views
from natlang_envs.change.making.make_tasks import unpack
from natlang_envs.change.task_files import Book
from natlang_envs.errors import UsageError
from natlang_envs.repository.entries import Folder
from natlang_envs.repository.texts import bytes_shown, contents

_LARGEST = 1 << 20  # bytes of a file that `cat` can reach


class Shelf:
    """The folders and files of a repository, unbroken.

    Args:
        root: Its folder.
        book: Its tasks, which tell the tests and what each edit of a source makes fail.
        budget: The largest number of characters that `cat` shows.

    Raises:
        UsageError: The files are not those that the tasks were made of.
    """

    def __init__(self, root: Path, book: Book, budget: int) -> None:
        self.root, self.book, self.budget = root, book, budget
        self.tests = book.tests
        self.texts: Mapping[str, str] = book.sources(root)
        self._scans = {path: unpack(row) for path, row in book.scanned.items()}
        self._folders = {folder.path: folder_views(folder, self.texts) for folder in _folders(root)}
        self._home = {
            move.key[1]: view.key[3]
            for views in self._folders.values()
            for view in views
            for move in view.moves.values()
            if move.key[0] == "file"
        }
        self._sources: dict[str, Source] = {}
        self._shown: dict[tuple[str, int], str] = {}

    def source(self, path: str) -> Source:
        """Return a source as it is, unbroken.

        Raises:
            KeyError: There is none of this path.
        """
        found = self._sources.get(path)
        if found is None:
            found = self._sources[path] = self.source_of(path, self.texts[path])
        return found

    def source_of(self, path: str, text: str) -> Source:
        """Return a source with another text."""
        return Source(path, text, self._home[path])

    def fails(self, path: str, number: int) -> int:
        """Return the tests that an edit makes fail where nothing is broken."""
        return self._scans[path][number]

    def folder(self, key: Key) -> View:
        """Return the view of a page of a folder.

        Raises:
            KeyError: There is none of this key.
        """
        _, path, _, page = key
        if not 0 <= page < len(self._folders[path]):
            raise KeyError(key)
        return self._folders[path][page]

    def is_file(self, path: str) -> bool:
        """Return whether there is a file of this path that `cat` shows."""
        return path in self._home and path not in self.texts

    def read(self, path: str, before: int) -> str:
        """Return the answer to `cat` of a file that was shown `before` times."""
        found = self._shown.get((path, before))
        if found is None:
            file = self.root / path
            with file.open("rb") as opened:
                head = opened.read(min(_LARGEST, bytes_shown(self.budget * (before + 1))))
            size = min(_LARGEST, file.stat().st_size)
            found = self._shown[path, before] = contents(file.name, head, size, self.budget, before)
        return found


def _folders(root: Path) -> list[Folder]:
    """Return the folders of a repository without what is hidden, compiled, a link, or has a name that none can type."""
    found: list[Folder] = []
    for place, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if _is_shown(each) and not Path(place, each).is_symlink())
        path = Path(place).relative_to(root).as_posix()
        names = (each for each in files if _is_shown(each) and not each.endswith(".pyc"))
        regular = (each for each in names if Path(place, each).is_file() and not Path(place, each).is_symlink())
        found.append(Folder("" if path == "." else path, tuple(folders), tuple(sorted(regular))))
    return found


def _is_shown(name: str) -> bool:
    return not name.startswith((".", "__pycache__")) and name.isprintable() and name == name.strip()


@lru_cache(maxsize=32)
def shelf_of(root: Path, book: Book, budget: int) -> Shelf:
    """Return a repository, shared by all environments with this budget.

    Raises:
        UsageError: The files are not those that the tasks were made of.
    """
    if not root.is_dir():
        raise UsageError(f"{root} is no folder: name the repository that the tasks were made of")
    return Shelf(root, book, budget)
