"""The full-text index below the finder: tantivy's where it is installed, otherwise that of Python's SQLite."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from natlang_envs.errors import UsageError
from natlang_envs.finder.documents import Document

_FILES, _CHUNKS = 200, 600  # the most hits that are looked at


class Busy(Exception):  # noqa: N818 - nothing went wrong
    """Another process writes to this index."""


class Broken(Exception):  # noqa: N818 - what the index is
    """The index cannot be read."""


class Scores(NamedTuple):
    """The BM25 of files for some words, higher is better, best first: of whole files, best chunks and paths.

    Attributes:
        lines: The first line (from 0) of the best chunk of a file.
    """

    files: dict[str, float]
    chunks: dict[str, float]
    paths: dict[str, float]
    lines: dict[str, int]


class Engine(Protocol):
    """An index in a folder, or in memory where that is None. Files and their chunks are documents of one index."""

    def update(self, outdated: Sequence[str], documents: Iterable[Document]) -> None:
        """Forget files and add others, all at once.

        Raises:
            Busy: Another process is doing that.
        """
        ...

    def scores(self, words: Sequence[str]) -> Scores:
        """Return how well files fit some words.

        Raises:
            Broken: The index cannot be read.
        """
        ...

    def rarity(self, word: str) -> float:
        """Return how rare a word is: the logarithm of the documents by those that have it."""
        ...

    @property
    def documents(self) -> int: ...

    @property
    def worn(self) -> bool:
        """Whether it is better made anew."""
        ...


class TantivyEngine:
    """The index of tantivy, of our own words: its tokenizer only splits them at white space."""

    _HEAP = 64 << 20  # bytes

    def __init__(self, folder: Path | None) -> None:
        self._lib: Any = import_module("tantivy")
        schema = self._lib.SchemaBuilder()
        schema.add_text_field("name", stored=True, tokenizer_name="raw", index_option="basic")
        schema.add_integer_field("line", stored=True)
        for field in ("whole", "chunk", "path"):
            schema.add_text_field(field, stored=False, tokenizer_name="whitespace", index_option="freq")
        with _tantivy():
            self._index: Any = self._lib.Index(schema.build(), path=None if folder is None else str(folder))
            self._searcher: Any = self._index.searcher()

    def update(self, outdated: Sequence[str], documents: Iterable[Document]) -> None:
        with _tantivy():
            writer = self._index.writer(heap_size=self._HEAP, num_threads=1)
            for path in outdated:
                writer.delete_documents_by_term("name", path)
        for each in documents:
            with _tantivy():
                self._add(writer, each)
        with _tantivy():
            writer.commit()
            writer.wait_merging_threads()
            self._index.reload()
            self._searcher = self._index.searcher()

    def _add(self, writer: Any, document: Document) -> None:
        new = self._lib.Document
        writer.add_document(new(name=[document.path], path=[document.name], whole=[document.whole]))
        for line, words in document.chunks():
            writer.add_document(new(name=[document.path], line=[line], chunk=[words]))

    def scores(self, words: Sequence[str]) -> Scores:
        lines: dict[str, int] = {}
        files, chunks, paths = (
            self._field(field, words, limit, lines)
            for field, limit in (("whole", _FILES), ("chunk", _CHUNKS), ("path", _FILES))
        )
        return Scores(files, chunks, paths, lines)

    def _field(self, field: str, words: Sequence[str], limit: int, lines: dict[str, int]) -> dict[str, float]:
        query, should = self._lib.Query, self._lib.Occur.Should
        terms = [(should, query.term_query(self._index.schema, field, word)) for word in words]
        found: dict[str, float] = {}
        with _tantivy():
            hits: list[tuple[float, Any]] = self._searcher.search(query.boolean_query(terms), limit).hits
            for score, address in hits:
                document = self._searcher.doc(address)
                path = document["name"][0]
                if path not in found:
                    found[path] = score
                    if field == "chunk":
                        lines[path] = document["line"][0]
        return found

    worn = False

    @property
    def documents(self) -> int:
        return self._searcher.num_docs

    def rarity(self, word: str) -> float:
        found = self._searcher.doc_freq("whole", word) + self._searcher.doc_freq("chunk", word)
        return _rarity(found, self.documents)


class SqliteEngine:
    """The index of SQLite's FTS5: files, chunks and paths in one table each, and files and chunks share one.

    FTS5 keeps no texts here (`content=''`), and before SQLite 3.43 can then forget none: what is outdated stays in it
    as rows that no file has any more, until they are a quarter of all, and the tables are filled anew by the finder.
    """

    def __init__(self, folder: Path | None) -> None:
        path = ":memory:" if folder is None else str(folder / "index.sqlite")
        with _sqlite():
            self._db = sqlite3.connect(path, timeout=0.2, isolation_level=None)
            self._db.execute("pragma journal_mode=wal")
            self._db.executescript(
                "create table if not exists files(id integer primary key autoincrement, path text unique);"
                "create table if not exists rows(id integer primary key autoincrement, file integer, line integer);"
                "create index if not exists rows_of on rows(file);"
                "create virtual table if not exists texts using fts5(body, content='', tokenize=\"unicode61"
                ' remove_diacritics 0");'
                "create virtual table if not exists paths using fts5(body, content='', tokenize=\"unicode61"
                ' remove_diacritics 0");'
                "create virtual table if not exists words using fts5vocab(texts, row);"
            )

    def __del__(self) -> None:
        self._db.close()  # a connection would wait for the garbage collector, and its shared memory with it

    def update(self, outdated: Sequence[str], documents: Iterable[Document]) -> None:
        with _sqlite():
            self._db.execute("begin immediate")
            try:
                for path in outdated:
                    self._db.execute("delete from rows where file = (select id from files where path = ?)", (path,))
                    self._db.execute("delete from files where path = ?", (path,))
                for each in documents:
                    self._add(each)
                self._db.execute("commit")
            except BaseException:
                self._db.execute("rollback")
                raise

    def _add(self, document: Document) -> None:
        add = self._db.execute
        file = add("insert into files(path) values (?)", (document.path,)).lastrowid
        add("insert into paths(rowid, body) values (?, ?)", (file, document.name))
        for line, body in ((None, document.whole), *document.chunks()):
            row = add("insert into rows(file, line) values (?, ?)", (file, line)).lastrowid
            add("insert into texts(rowid, body) values (?, ?)", (row, body))

    @property
    def worn(self) -> bool:
        """Whether a quarter of it is of files that are gone or have changed."""
        with _sqlite():
            made = self._db.execute("select seq from sqlite_sequence where name = 'rows'").fetchone()
            return made is not None and self.documents < 0.75 * made[0]

    @property
    def documents(self) -> int:
        with _sqlite():
            return self._db.execute("select count(*) from rows").fetchone()[0]

    def scores(self, words: Sequence[str]) -> Scores:
        found = Scores({}, {}, {}, {})
        asked = " OR ".join(f'"{word}"' for word in words)
        with _sqlite():
            for path, line, rank in self._db.execute(
                "select path, line, rank from (select rowid, rank from texts where texts match ? order by rank limit ?)"
                " as hits join rows on rows.id = hits.rowid join files on files.id = rows.file order by rank",
                (asked, _FILES + _CHUNKS),
            ):
                (found.files if line is None else found.chunks).setdefault(path, -rank)
                if line is not None:
                    found.lines.setdefault(path, line)
            for path, rank in self._db.execute(
                "select path, rank from (select rowid, rank from paths where paths match ? order by rank limit ?)"
                " as hits join files on files.id = hits.rowid order by rank",
                (asked, _FILES),
            ):
                found.paths[path] = -rank
        return found

    def rarity(self, word: str) -> float:
        with _sqlite():
            row = self._db.execute("select doc from words where term = ?", (word,)).fetchone()
            return _rarity(row[0] if row else 0, self.documents)


def _rarity(found: int, documents: int) -> float:
    return max(0.0, math.log((documents + 1) / (found + 0.5)))


@contextmanager
def _tantivy() -> Generator[None]:
    try:
        yield
    except (ValueError, OSError) as error:
        if "LockBusy" in str(error):
            raise Busy from None
        raise Broken(str(error)) from None


@contextmanager
def _sqlite() -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise Busy from None
        if "fts5" in str(error):
            raise UsageError(
                "this Python's SQLite has no full-text index: pip install 'natlang-envs[explore]'"
            ) from None
        raise Broken(str(error)) from None
    except sqlite3.DatabaseError as error:
        raise Broken(str(error)) from None


ENGINES: dict[str, type[TantivyEngine] | type[SqliteEngine]] = {"tantivy": TantivyEngine, "sqlite": SqliteEngine}


def engine_name() -> str:
    return "tantivy" if find_spec("tantivy") else "sqlite"


def engine_version(name: str) -> str:
    """Return the version of an engine, for the name of what it wrote."""
    return version("tantivy") if name == "tantivy" else sqlite3.sqlite_version
