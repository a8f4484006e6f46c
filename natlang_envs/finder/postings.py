"""The inverted index below the finder: which stretches of which files hold a term, and how often, in one SQLite file.

Stretches are numbered through all files. A file that changes gets new numbers; those it had belong to no file then.
"""

from __future__ import annotations

import gc
import sqlite3
from array import array
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from natlang_envs.errors import UsageError
from natlang_envs.finder.documents import END, Document, terms_of

Numbers: TypeAlias = npt.NDArray[Any]

_BITS = 6  # of how often a term stands in a stretch; the other 26 are the stretch's number
_MOST = (1 << _BITS) - 1
_ROOM = 1 << (32 - _BITS)  # stretches
_AT_ONCE = 2_000_000  # words that are collected before they are written


class Busy(Exception):  # noqa: N818 - nothing went wrong
    """Another process writes to this index."""


class Broken(Exception):  # noqa: N818 - what the index is
    """The index cannot be read."""


class TermHits(NamedTuple):
    """Where a term stands: the numbers of stretches, of their files, and how often it stands in each stretch."""

    stretches: Numbers
    files: Numbers
    counts: Numbers


class Postings:
    """An index in a folder, or in memory where that is None.

    Raises:
        Broken: The index cannot be read.
    """

    paths: list[str]  # of the files, in the order of their numbers
    first: Numbers  # the first stretch of each file
    file_of: Numbers  # the file of each stretch, or -1
    stretches_of: Numbers  # how many stretches each file has; they follow each other
    lengths: Numbers  # the words of each stretch
    words_in: Numbers  # the words of each file

    def __init__(self, folder: Path | None) -> None:
        path = ":memory:" if folder is None else str(folder / "index.sqlite")
        with _sqlite():
            self._db = sqlite3.connect(path, timeout=0.2, isolation_level=None)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=normal")
            self._db.executescript(
                "create table if not exists files(path text primary key, first integer, lengths blob) without rowid;"
                "create table if not exists postings(term text, first integer, stretches blob,"
                " primary key(term, first)) without rowid;"
                "create table if not exists made(stretches integer);"
            )
        self._load()

    def __del__(self) -> None:
        self._db.close()  # a connection would wait for the garbage collector, and its shared memory with it

    def _load(self) -> None:
        with _sqlite():
            rows: list[tuple[str, int, bytes]] = self._db.execute(
                "select path, first, lengths from files order by path"
            ).fetchall()
            made = self._db.execute("select max(stretches) from made").fetchone()[0] or 0
        self.made = made
        self.paths = [path for path, _, _ in rows]
        self.first = np.array([first for _, first, _ in rows], np.int64)
        lengths = np.frombuffer(b"".join(each for _, _, each in rows), np.uint16)
        self.stretches_of = counts = np.array([len(each) // 2 for _, _, each in rows], np.int64)
        starts = np.cumsum(counts) - counts
        numbers = np.arange(lengths.size) + np.repeat(self.first - starts, counts)
        self.file_of = np.full(made, -1, np.int64)
        self.lengths = np.zeros(made, np.int64)
        self.file_of[numbers] = np.repeat(np.arange(len(rows)), counts)
        self.lengths[numbers] = lengths
        self.words_in = np.bincount(self.file_of[numbers], lengths, minlength=len(rows))

    def update(self, outdated: Sequence[str], documents: Iterable[Document]) -> None:
        """Forget files and add others, all at once.

        Raises:
            Busy: Another process is doing that.
        """
        with _sqlite(), _no_collection():
            self._db.execute("begin immediate")
            try:
                self._db.executemany("delete from files where path = ?", [(path,) for path in outdated])
                self._add(documents)
                self._db.execute("commit")
            except BaseException:
                self._db.execute("rollback")
                raise
        self._load()

    def _add(self, documents: Iterable[Document]) -> None:
        stretch = self._db.execute("select coalesce(max(stretches), 0) from made").fetchone()[0]
        writer = _Writer(self._db, stretch)
        for document in documents:
            writer.add(document)
        writer.write()
        self._db.execute("insert into made values (?)", (writer.end,))

    @property
    def documents(self) -> int:
        return len(self.paths)

    @property
    def worn(self) -> bool:
        """Whether a quarter of it is of files that are gone or have changed."""
        return self.made > 1_000 and int(np.count_nonzero(self.file_of >= 0)) < 0.75 * self.made

    def hits(self, term: str) -> TermHits:
        """Return where a term stands, in the order of stretches."""
        with _sqlite():
            rows: list[Any] = self._db.execute(
                "select stretches from postings where term = ? order by first", (term,)
            ).fetchall()
        packed = np.frombuffer(b"".join(each for (each,) in rows), np.uint32)
        stretches = (packed >> _BITS).astype(np.int64)
        # Another process may have added files since this one looked.
        known = stretches < self.file_of.size
        packed, stretches = packed[known], stretches[known]
        files = self.file_of[stretches]
        alive = files >= 0
        return TermHits(stretches[alive], files[alive], (packed[alive] & _MOST).astype(np.int64))


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they are asked for."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Writer:
    """Numbers the words and names of files, collects the numbers in a row, and writes what they make, many at once."""

    def __init__(self, db: sqlite3.Connection, first: int) -> None:
        self._db = db
        self._first = self.end = first
        self._number_of = _Numbers({END: 0})
        self._term_numbers = _Numbers()
        self._terms, self._terms_until = array("I"), array("Q", [0])  # of all words; those of a word end there
        self._forget()

    def _forget(self) -> None:
        self._first = self.end
        self._paths: list[tuple[str, int]] = []  # with the first stretch of each
        self._words, self._names, self._places = array("I"), array("I"), array("I")

    def add(self, document: Document) -> None:
        stretches = document.words.count(END)
        if self.end + stretches > _ROOM:
            raise UsageError("this folder has more text than an index can hold: ask about a folder in it")
        self._paths.append((document.path, self.end))
        self._words.extend(map(self._number_of.__getitem__, document.words))
        self._names.extend(map(self._number_of.__getitem__, document.names))
        self._places.extend(map(self.end.__add__, document.names.values()))
        self.end += stretches
        if len(self._words) > _AT_ONCE:
            self.write()

    def write(self) -> None:
        for word in islice(self._number_of, len(self._terms_until) - 1, None):
            self._terms.extend(map(self._term_numbers.__getitem__, terms_of(word)))
            self._terms_until.append(len(self._terms))
        until = np.frombuffer(self._terms_until, np.uint64).astype(np.int64)
        words = np.frombuffer(self._words, np.uint32)
        stretches = np.cumsum(words == 0, dtype=np.uint32)  # of this batch
        self._write_files(np.bincount(stretches, np.diff(until)[words], minlength=self.end - self._first))
        words = np.concatenate([words, np.frombuffer(self._names, np.uint32)])
        stretches = np.concatenate([stretches + np.uint32(self._first), np.frombuffer(self._places, np.uint32)])
        self._write_postings(*np.unique(self._keys(words, stretches, until), return_counts=True))
        self._forget()

    def _write_files(self, lengths: Numbers) -> None:
        lengths = np.minimum(lengths, 65_535).astype(np.uint16)
        ends = [*(first for _, first in self._paths), self.end][1:]
        rows = (
            (path, first, lengths[first - self._first : end - self._first].tobytes())
            for (path, first), end in zip(self._paths, ends, strict=True)
        )
        self._db.executemany("insert into files values (?, ?, ?)", rows)

    def _keys(self, words: Numbers, stretches: Numbers, until: Numbers) -> Numbers:
        """Return the number of each term of these words, above that of the stretch."""
        counts = np.diff(until)[words]
        ends = np.cumsum(counts)
        places = np.arange(int(counts.sum())) + np.repeat(until[1:][words] - ends, counts)
        terms = np.frombuffer(self._terms, np.uint32)[places]
        return terms.astype(np.uint64) << np.uint64(32) | np.repeat(stretches, counts)

    def _write_postings(self, keys: Numbers, times: Numbers) -> None:
        packed = (keys << np.uint64(_BITS)).astype(np.uint32) | np.minimum(times, _MOST).astype(np.uint32)
        whole = packed.tobytes()
        numbers, begins = np.unique(keys >> np.uint64(32), return_index=True)
        ends = packed.itemsize * np.append(begins, packed.size)[1:]
        of_number = list(self._term_numbers)
        names = map(of_number.__getitem__, numbers.tolist())
        found = sorted(zip(names, (packed.itemsize * begins).tolist(), ends.tolist(), strict=True))
        rows = ((term, self._first, whole[begin:end]) for term, begin, end in found)
        self._db.executemany("insert into postings values (?, ?, ?)", rows)


@contextmanager
def _no_collection() -> Generator[None]:
    """Keep the garbage collector from going through millions of postings again and again, in which it finds nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def _sqlite() -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise Busy from None
        raise Broken(str(error)) from None
    except sqlite3.DatabaseError as error:
        raise Broken(str(error)) from None
