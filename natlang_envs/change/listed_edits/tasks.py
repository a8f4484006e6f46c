"""The listed change tasks: an issue, a broken source, and what each edit of it makes fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from natlang_envs.autoexplore.tasks import EMBEDDED
from natlang_envs.change.listed_edits.repository import Shelf, shelf_of
from natlang_envs.change.listed_edits.views import Key, Place, Source, View
from natlang_envs.change.making.make_tasks import edit_of, edits_digest, mask_of, unpack
from natlang_envs.change.repositories import OWN, PUBLIC
from natlang_envs.change.task_files import Book, open_book, shipped_books
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.repository.mutations import apply
from natlang_envs.tasks import SPLITS, Split, TaskList, check_in_split

FAMILY = "autoexplore-change"
_PARTS = tuple(split for split in SPLITS if split != "all")


class Bench:
    """A task that is played: a repository with one broken source.

    Args:
        task_id: The task's id, `repository/…`.
        book: The file that it stands in.
        shelf: The repository.

    Attributes:
        question: The issue.
        file: The broken source.
        broken: The tests that fail before anything is mended.
        visible: The tests that a player may know: the shown one, and those that pass before.
    """

    def __init__(self, task_id: str, book: Book, shelf: Shelf) -> None:
        row = book.tasks[task_id]
        self.id = task_id
        self.shelf = shelf
        self.question: str = row["issue"]
        self.file: str = row["file"]
        self.broken = mask_of(row)
        self.visible = (1 << len(shelf.tests)) - 1 & ~self.broken | 1 << row["shown"]
        self._mutation = edit_of(row)
        self._digest: str = row["edits_digest"]
        self._table = unpack(row["table"])
        self._source: Source | None = None
        self.plans: dict[Key, list[str]] = {}

    def __reduce__(self) -> tuple[Callable[..., Bench], tuple[str, Book, Path, int]]:
        """Pickle as where it comes from: it is made again, or shared, where it is loaded."""
        return _bench, (self.id, self.shelf.book, self.shelf.root, self.shelf.budget)

    @property
    def line(self) -> int:
        """The broken line."""
        return self._mutation.line

    def source(self, path: str) -> Source:
        """Return a source as it is before anything is mended."""
        if path != self.file:
            return self.shelf.source(path)
        if self._source is None:
            made = self.shelf.source_of(path, apply(self.shelf.texts[path], self._mutation))
            if edits_digest(made.edits) != self._digest:
                raise UsageError(f"task {self.id!r} is of other edits of {path}: install the version that made it")
            self._source = made
        return self._source

    def view(self, key: Key) -> View:
        """Return a view.

        Raises:
            KeyError: There is none of this key.
        """
        return self.shelf.folder(key) if key[0] == "folder" else self.source(key[1]).view(key)

    def fails(self, edit: Place | None) -> int:
        """Return the tests that fail with an edit or none; the environment says what holds beside the broken file."""
        if edit is None:
            return self.broken
        if edit.path == self.file:
            return self._table[edit.number]
        return self.broken | self.shelf.fails(*edit)

    def right(self) -> list[int]:
        """Return the edits of the broken file with which every test passes."""
        return [number for number, outcome in enumerate(self._table) if not outcome]


class ChangeTasks(TaskList):
    """Tasks that can be loaded by id.

    Args:
        books: The files of tasks.
        split: The name of the split they are of.
        root: The repository of a user's own; None where the package knows it.
    """

    def __init__(self, books: Mapping[str, Book], split: str, root: Path | None = None) -> None:
        super().__init__(FAMILY, sorted(task for book in books.values() for task in book.tasks), "all")
        self.split = split
        self._root = root
        self._books = dict(books)
        if not self.pool:
            raise UsageError(f"there is no task of the split {split!r} and this kind of code: choose others")

    def check(self, task_id: str) -> None:
        """Raise `UsageError` unless the task exists, in this split."""
        if task_id in self._known:
            return
        for part, book in _shipped() if self._root is None else ():
            if task_id in book.tasks:
                check_in_split(task_id, part, self.split)
                if self.split == "all":  # which draws from code that needs no download, and accepts every task
                    return
        super().check(task_id)

    def load(self, task_id: str, budget: int) -> Bench:
        """Return a task that `check` accepts."""
        name = task_id.partition("/")[0]
        book = self._books.get(name) or next(book for _, book in _shipped() if task_id in book.tasks)
        return _bench(task_id, book, self._root or book.folder, budget)


@lru_cache(maxsize=1_024)
def _bench(task_id: str, book: Book, root: Path, budget: int) -> Bench:
    return Bench(task_id, book, shelf_of(root, book, budget))


def _shipped() -> Iterator[tuple[str, Book]]:
    """Yield the books of the package, each with its split."""
    for part in _PARTS:
        for book in shipped_books(part).values():
            yield part, book


def make_tasks(split: Split, dataset: str | None, repository: str | None) -> ChangeTasks:
    """Return the tasks that the arguments of an environment describe."""
    require_choice("split", split, SPLITS)
    if repository is not None:
        if dataset is None:
            raise UsageError("a repository of your own needs tasks as dataset: make them with natlang data mutate")
        if split != "all":
            raise UsageError(f"a repository of your own has no split {split!r}: leave split out")
        book = open_book(dataset)
        return ChangeTasks({book.repository: book}, "all", Path(repository).absolute())
    if dataset is not None and str(dataset).endswith(".jsonl"):
        raise UsageError(f"the tasks of {dataset} are of a folder of yours: name it, repository=…")
    wanted = {EMBEDDED: OWN, PUBLIC: PUBLIC, None: OWN if split == "all" else None}
    kind = wanted[dataset if dataset is None else require_choice("dataset", dataset, (EMBEDDED, PUBLIC))]
    parts = ((part, book) for part, book in _shipped() if split in ("all", part))
    return ChangeTasks({book.repository: book for _, book in parts if kind in (None, book.kind)}, split)


def kinds_of_task(task_id: str) -> dict[str, str]:
    """Return the kind of code, the repository and the operator of a task; nothing of a user's own."""
    for _, book in _shipped():
        if task_id in book.tasks:
            operator = str(book.tasks[task_id]["operator"])
            return {"Code": book.kind, "Repository": book.repository, "Operator": operator}
    return {}
