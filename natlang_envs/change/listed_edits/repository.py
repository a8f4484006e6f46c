"""A repository that is to be mended, shared by its tasks: folders, files, sources, and what edits make fail."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from natlang_envs.change.listed_edits.views import ChangeView, EditableSource, Key, folder_views
from natlang_envs.change.task_files import TaskFile, unpack
from natlang_envs.errors import UsageError
from natlang_envs.repository.entries import Folder
from natlang_envs.repository.texts import bytes_shown, contents

_LARGEST = 1 << 20  # bytes of a file that `cat` can reach


class ChangeRepository:
    """The folders and files of a repository, unbroken, of which `cat` shows at most `budget` characters."""

    def __init__(self, root: Path, task_file: TaskFile, budget: int) -> None:
        self.root, self.task_file, self.budget = root, task_file, budget
        self.tests = task_file.tests
        self.texts: Mapping[str, str] = task_file.sources(root)
        self._scans = {path: unpack(row) for path, row in task_file.scanned.items()}
        self._folders = {folder.path: folder_views(folder, self.texts) for folder in _folders(root)}
        views = (view for pages in self._folders.values() for view in pages)
        self._page = {  # of its folder, by the path of a file
            effect.key[1]: view.key[3] for view in views for effect in view.effects.values() if effect.key[0] == "file"
        }
        self.source = cache(self._source)
        self.read = cache(self._read)

    def _source(self, path: str) -> EditableSource:
        """Return a source as it is, unbroken; raise `KeyError` if there is none of this path."""
        return self.source_of(path, self.texts[path])

    def source_of(self, path: str, text: str) -> EditableSource:
        return EditableSource(path, text, self._page[path])

    def fails(self, path: str, number: int) -> int:
        """Return the tests that an edit makes fail where nothing is broken."""
        return self._scans[path][number]

    def folder(self, key: Key) -> ChangeView:
        """Return the view of a page of a folder; raise `KeyError` if there is none."""
        _, path, _, page = key
        if not 0 <= page < len(self._folders[path]):
            raise KeyError(key)
        return self._folders[path][page]

    def is_file(self, path: str) -> bool:
        """Return whether there is a file of this path that `cat` shows."""
        return path in self._page and path not in self.texts

    def _read(self, path: str, before: int) -> str:
        """Return the answer to `cat` of a file that was shown `before` times."""
        file = self.root / path
        with file.open("rb") as opened:
            head = opened.read(min(_LARGEST, bytes_shown(self.budget * (before + 1))))
        size = min(_LARGEST, file.stat().st_size)
        return contents(file.name, head, size, self.budget, before)


def _folders(root: Path) -> Iterator[Folder]:
    """Yield the folders of a repository without what is hidden, compiled, a link, or has an unprintable name."""

    def is_shown(path: Path) -> bool:
        name = path.name
        typed = name.isprintable() and name == name.strip()
        return typed and not name.startswith((".", "__pycache__")) and not path.is_symlink()

    for place, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if is_shown(Path(place, each)))
        path = Path(place).relative_to(root).as_posix()
        regular = (each for each in map(Path(place).joinpath, files) if is_shown(each) and each.is_file())
        names = sorted(each.name for each in regular if not each.name.endswith(".pyc"))
        yield Folder("" if path == "." else path, tuple(folders), tuple(names))


@lru_cache(maxsize=32)
def shared_repository(root: Path, task_file: TaskFile, budget: int) -> ChangeRepository:
    if not root.is_dir():
        raise UsageError(f"{root} is no folder: name the repository that the tasks were made of")
    return ChangeRepository(root, task_file, budget)
