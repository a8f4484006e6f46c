"""Makes code tasks from a repository with tests: takes something out, or breaks two or three places at once.

A task is kept if two tests notice it at least and one does not, three runs alike, in forks and in the sandbox. Where
something can be tried in any order, digests decide it, so making the tasks again gives the same.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, cast

from natlang_envs.change.free_edits.code_tasks import CodeTask, Piece, broken, tasks_file
from natlang_envs.change.free_edits.sandbox_tests import LIMITS, run_tests
from natlang_envs.change.making.code_locations import CodeLocations
from natlang_envs.change.making.fork_runner import Runner, SourcesWithTests, failing, names_of
from natlang_envs.change.making.issues import HiddenNames
from natlang_envs.change.making.make_tasks import FEWEST_FAILING, MOST_IN_A_FUNCTION
from natlang_envs.change.making.usable_tests import describe, usable
from natlang_envs.change.repositories import OWN, RepositoryEntry, change_repositories
from natlang_envs.errors import UsageError
from natlang_envs.files import json_line, write_whole
from natlang_envs.repository.mutations import Edit, edits
from natlang_envs.sandbox import AutoExploreSandbox

ASKED = (
    "Something in the sources is wrong, since a change that nobody remembers: find it, and mend it. {wanted} The tests "
    "are right: tests, settings and new files are put back before the sources are tested."
)
_RUNS: Sequence[Mapping[str, Any]] = ({}, {"protocol": True}, {"shuffle": 1})
_MOST_TOGETHER = 3
WANTED: Mapping[str, Mapping[str, int]] = {  # of each repository, by its split
    "train": {"statement": 22, "guard": 9, "branch": 3, "body": 8, "combined": 20},
    "validation": {"statement": 15, "guard": 8, "branch": 3, "body": 7, "combined": 12},
    "test": {"statement": 11, "guard": 6, "branch": 2, "body": 5, "combined": 10},
}
BODY = "body"
OPERATORS = ("statement", "guard", "branch", BODY)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Continue, ast.Break, ast.Delete)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SHORTEST_BODY = 2  # statements: shorter ones say too little about what is missing

Row = dict[str, Any]


class FileEdit(NamedTuple):
    """An edit of one file, the function that it is in, and what fails after it alone; 0 where that is not known."""

    file: str
    edit: Edit
    function: str
    failing: int = 0

    @property
    def piece(self) -> Piece:
        """The edit as tasks hold it."""
        return (self.file, self.edit.start, self.edit.end, self.edit.new)


def order(tested: SourcesWithTests, pieces: Iterable[Piece]) -> str:
    """Return a digest of edits of a repository, which orders them and names a task."""
    text = "\0".join([tested.digest, *("\0".join(map(str, each)) for each in pieces)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make(repository: RepositoryEntry, wanted: Mapping[str, int], pythons: Sequence[str] = ()) -> Iterator[Row]:
    """Make tasks: first the line of the repository, then a line for each.

    Args:
        repository: The repository.
        wanted: How many tasks of each kind.
        pythons: Other interpreters under which a task must be the same; they need pytest.
    """
    tested = repository.open()
    tests, left_out = usable(tested, repository.seconds)
    if left_out:
        raise UsageError(f"{repository.name}: {describe(left_out)[0]}")
    with ExitStack() as stack:
        runner, explaining = (
            stack.enter_context(Runner(tested, repository.seconds, messages=each)) for each in (False, True)
        )
        others = [stack.enter_context(Runner(tested, repository.seconds, each)) for each in pythons]
        yield {"repository": repository.name, "digest": tested.digest, "tests": tests}
        maker = _Maker(repository.name, tested, (runner, explaining), tests, others)
        functions: Counter[tuple[str, str]] = Counter()
        lines: set[tuple[str, int]] = set()
        for kind, count in wanted.items():
            kept = 0
            for changes in maker.combined() if kind == "combined" else maker.removed(kind):
                places = [(each.file, each.edit.line) for each in changes]
                inside = [(each.file, each.function) for each in changes]
                if kept == count:
                    break
                if lines & set(places) or any(functions[each] >= MOST_IN_A_FUNCTION for each in inside):
                    continue
                row = maker.row(kind, changes)
                if row is not None:
                    kept += 1
                    lines.update(places)
                    functions.update(inside)
                    yield row


class _Maker:
    def __init__(
        self,
        name: str,
        tested: SourcesWithTests,
        runners: tuple[Runner, Runner],
        tests: Sequence[str],
        others: Sequence[Runner],
    ) -> None:
        self._name, self._tested, self._tests = name, tested, tests
        self._runner, self._explaining = runners
        self._others = others
        self._hidden = HiddenNames(tested.sources)
        self._places = {file: CodeLocations(text) for file, text in tested.sources.items()}

    def removed(self, kind: str) -> Iterator[tuple[FileEdit, ...]]:
        """Yield the removals of a kind, in the order of their digests."""
        found = [self._change(file, edit) for file, text in self._tested.sources.items() for edit in removals(text)]
        yield from ((each,) for each in self._ordered(found) if each.edit.operator == kind)

    def combined(self) -> Iterator[tuple[FileEdit, ...]]:
        """Yield two or three edits of different functions, each of which tests notice when it is alone."""
        everything = [self._change(file, edit) for file, text in self._tested.sources.items() for edit in edits(text)]
        waiting: list[FileEdit] = []
        number = 0
        for each in self._ordered(change for change in everything if change.function):
            if any(each.function == other.function for other in waiting):
                continue
            failed = self._failing((each.piece,))[0]
            if 1 <= failed.bit_count() <= len(self._tests) // 4:
                waiting.append(each._replace(failing=failed))
            if len(waiting) == 2 + number % (_MOST_TOGETHER - 1):
                yield tuple(sorted(waiting, key=lambda change: (change.file, -change.edit.start)))
                waiting = []
                number += 1

    def row(self, kind: str, changes: tuple[FileEdit, ...]) -> Row | None:
        """Return a task's line, or None where the changes make none."""
        pieces = tuple(each.piece for each in changes)
        once = self._failing(pieces)[0]
        if once.bit_count() not in range(FEWEST_FAILING, len(self._tests)):
            return None
        texts = broken(self._tested.sources, pieces)
        elsewhere = [failing(each, self._tests, texts)[0] for each in self._others]
        if {*self._failing(pieces, _RUNS), *elsewhere} != {once}:
            return None
        with AutoExploreSandbox(self._tested.root, limits=LIMITS) as sandbox:
            for file, text in texts.items():
                sandbox.overlay.write(file, text.encode())
            outcomes = run_tests(sandbox, self._tested.arguments)
        if {test for test in self._tests if not outcomes.passed(test)} != names_of(once, self._tests):
            return None
        shown = list(dict.fromkeys(self._hidden.shown(self._tests, each.failing & once or once) for each in changes))
        (reply,) = self._explaining.ask(texts, [{"tests": [self._tests[each] for each in shown], "messages": True}])
        issues = (self._hidden.issue(self._tests[each], reply["messages"].get(self._tests[each])) for each in shown)
        return {
            "id": f"{self._name}/{order(self._tested, pieces)}",
            "kind": kind,
            "pieces": pieces,
            "failing": f"{once:x}",
            "shown": shown,
            "issue": ASKED.format(wanted=" ".join(issues)),
        }

    def _change(self, file: str, edit: Edit) -> FileEdit:
        return FileEdit(file, edit, self._places[file].function_name(edit.line))

    def _ordered(self, changes: Iterable[FileEdit]) -> list[FileEdit]:
        return sorted(changes, key=lambda each: order(self._tested, (each.piece,)))

    def _failing(self, pieces: tuple[Piece, ...], jobs: Sequence[Mapping[str, Any]] = ({},)) -> list[int]:
        return failing(self._runner, self._tests, broken(self._tested.sources, pieces), jobs)


def differing(tasks: Iterable[CodeTask], repository: RepositoryEntry, python: str) -> Iterator[str]:
    """Yield the ids of a repository's tasks of which other tests fail under another interpreter, which needs pytest."""
    with Runner(repository.open(), repository.seconds, python) as runner:
        for task in tasks:
            texts = broken(runner.tested.sources, task.pieces)
            (outcome,) = failing(runner, task.tests, texts, [{"protocol": True}])
            if names_of(outcome, task.tests) != task.failing:
                yield task.id


def write_tasks(repository: RepositoryEntry, work: Path, pythons: Sequence[str] = ()) -> int:
    """Make a repository's tasks, unless the folder `work` has them from this version of its sources; return how many.

    Where all of its split's are there, they become the file of the split. `pythons` are those of `make`.
    """
    done = work / f"{repository.name}.jsonl"
    if (
        not done.exists()
        or json.loads(done.read_text(encoding="utf-8").partition("\n")[0])["digest"] != repository.open().digest
    ):
        rows = make(repository, WANTED[repository.split], pythons)
        write_whole(done, b"".join(map(json_line, rows)))
    own = [each for each in change_repositories().values() if each.kind == OWN and each.split == repository.split]
    parts = [work / f"{each.name}.jsonl" for each in own]
    if all(each.exists() for each in parts):
        write_whole(tasks_file(repository.split), gzip.compress(b"".join(each.read_bytes() for each in parts), mtime=0))
    return done.read_text(encoding="utf-8").count("\n") - 1


def removals(source: str) -> list[Edit]:
    """Return every removal inside the functions of a source, by position; the rest of the text is kept.

    A *statement* goes alone; a *guard* is a condition with what leaves the block if it holds; a *branch* is the `else`
    or `elif` of a condition, or the condition before what then always happens. A *body* gives way to
    `raise NotImplementedError`, its docstring stays.
    """
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found: list[Edit] = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, _FUNCTIONS):
            for first, last, instead, operator in _of_function(function, lines):
                found.append(Edit(first, starts[first - 1], starts[last], "".join(instead), operator))
    return sorted({each for each in found if _compiles(source, each)})


_Removal = tuple[int, int, list[str], str]  # the first line, the last line, the lines in their place, the operator


def _of_function(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Iterator[_Removal]:
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if len(body) >= _SHORTEST_BODY:
        indent = " " * body[0].col_offset
        yield body[0].lineno, _last(body), [f"{indent}raise NotImplementedError\n"], BODY
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody"):
            block = cast("list[ast.stmt]", getattr(node, name, None) or [])
            for statement in block:
                if not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                    yield from _of_statement(statement, block, lines)
                    waiting.append(statement)


def _of_statement(statement: ast.stmt, block: list[ast.stmt], lines: list[str]) -> Iterator[_Removal]:
    alone = len(block) == 1
    first, last = statement.lineno, _last([statement])
    instead = [f"{' ' * statement.col_offset}pass\n"] if alone else []
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if isinstance(statement, _SIMPLE) and not is_text:
        yield first, last, instead, "statement"
    if not isinstance(statement, ast.If) or lines[first - 1].lstrip().startswith("elif"):
        return
    if statement.orelse:
        yield _last(statement.body) + 1, last, [], "branch"
    elif isinstance(statement.body[-1], _LEAVES):
        yield first, last, instead, "guard"
    else:
        inside = lines[statement.body[0].lineno - 1 : last]
        step = statement.body[0].col_offset - statement.col_offset
        if step > 0 and all(not each.strip() or each.startswith(" " * step) for each in inside):
            yield first, last, [each[step:] if each.strip() else each for each in inside], "branch"


def _last(block: list[ast.stmt]) -> int:
    return max(each.end_lineno or each.lineno for each in block)


def _compiles(source: str, edit: Edit) -> bool:
    """Return whether what is left is a source; statements that share a line are not taken apart."""
    try:
        compile(source[: edit.start] + edit.new + source[edit.end :], "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
