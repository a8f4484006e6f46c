"""The index of one repository, kept in the cache folder and brought up to date by what changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

from natlang_envs.files import alone, cache_folder, write_whole
from natlang_envs.finder.documents import Document, read_document
from natlang_envs.finder.postings import Broken, Busy, Postings
from natlang_envs.repository.tree import Repository

FORMAT = 5  # of what is indexed: another one is another folder
KEPT = 20  # indexes of other repositories in the cache folder; the longest unused goes
_MARKS = "files.json"  # what was indexed of each file; written after the index, so a killed update is repeated

Tell = Callable[[int, int], None]  # is told how many of how many files are indexed
Marks = dict[str, list[int]]


class FileIndex:
    """A full-text index of a repository's files, as they are when it is made.

    It lies in the cache folder (`NATLANG_CACHE`), and only files that are new or have changed since are read again.
    Where nothing can be written there, or another process builds it at this moment, it is made in memory.

    Args:
        repository: From `open_repository`.
        tell: Is told the progress of reading files.

    Attributes:
        note: What a reader of its answers should know, such as that another process is updating it; mostly "".
    """

    def __init__(self, repository: Repository, tell: Tell = lambda done, total: None) -> None:
        self.repository = repository
        self.note = repository.left_out
        self._tell = tell
        self._folder: Path | None = self._make_folder()
        self.postings: Postings = self._open()

    def make_anew(self) -> None:
        """Throw away what is in the cache folder, which cannot be read, and index everything again."""
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / _MARKS).unlink()
        self.postings = self._open()

    def _make_folder(self) -> Path | None:
        """Return the folder in the cache, or None where none can be made."""
        whole = f"{self.repository.path}\n{self.repository.shows_ignored}"
        folder = cache_folder() / "finder" / hashlib.sha256(os.fsencode(whole)).hexdigest()[:20] / str(FORMAT)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for other in folder.parent.iterdir():  # of another version
                if other != folder:
                    shutil.rmtree(other, ignore_errors=True)
            os.utime(folder.parent)
            _forget_oldest(folder.parent.parent)
        except OSError:
            return None
        return folder

    def _open(self) -> Postings:
        """Return what is in the cache, brought up to date; as it is beside another process; or one in memory."""
        if self._folder is not None:
            with suppress(Broken, OSError):
                with suppress(Busy), alone(self._folder.parent, wait=False) as held:
                    if held is not False:
                        return self._open_alone(self._folder)
                if marks := self._read_marks():
                    postings = Postings(self._folder)
                    if marks != self._marks():
                        busy = "Another process is updating the index of this repository: this is of its state before."
                        self.note = f"{busy} {self.note}".strip()
                    return postings
        self._folder = None
        return self._brought_up_to_date(Postings(None), {})

    def _open_alone(self, folder: Path) -> Postings:
        marks = self._read_marks()
        if marks is not None:
            with suppress(Broken):
                postings = Postings(folder)
                if not postings.worn and bool(postings.documents) == bool(marks):
                    return self._brought_up_to_date(postings, marks)
        # New, what a killed process left, of no use any more, or mostly of what is gone.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return self._brought_up_to_date(Postings(folder), {})

    def _marks(self) -> Marks:
        return {path: list(self.repository.mark(path)) for path in self.repository.files}

    def _brought_up_to_date(self, postings: Postings, marks: Marks) -> Postings:
        now = self._marks()
        changed = [path for path, mark in now.items() if marks.get(path) != mark]
        outdated = [path for path in marks if path not in now] + (changed if marks else [])
        if changed or outdated:
            postings.update(outdated, self._documents(changed))
            if self._folder is not None:
                write_whole(self._folder / _MARKS, json.dumps(now).encode())
        return postings

    def _documents(self, paths: list[str]) -> Iterator[Document]:
        for done, path in enumerate(paths):
            self._tell(done, len(paths))
            yield read_document(self.repository, path)

    def _read_marks(self) -> Marks | None:
        """Return what was indexed of each file, or None where there is no whole index."""
        if self._folder is None:
            return None
        try:
            return cast("Marks", dict(json.loads((self._folder / _MARKS).read_bytes())))
        except (OSError, ValueError, TypeError):
            return None


def _forget_oldest(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
    for each in kept[KEPT:]:
        shutil.rmtree(each, ignore_errors=True)
