"""Collects what the examples did, and writes the table of `docs/libraries.md` when `LIBRARIES_TABLE` names a file."""

from __future__ import annotations

import ast
import os
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


class Row(NamedTuple):
    library: str
    version: str
    link: str
    lines: int
    result: str


HEAD = ["| library | version | example | lines of glue | result |", "|---|---|---|---|---|"]
RESULTS = ("learns", "equal to ours", "plays")
ROWS: list[Row] = []


def lines_of_glue(module: ModuleType) -> int:
    """Return how many lines an example has without imports, docstrings, comments, blank lines and its last `if`."""
    assert module.__file__
    source = Path(module.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source)
    body = [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom | ast.Expr | ast.If)]
    docstrings = {
        line
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(each)
        for line in range(each.body[0].lineno, (each.body[0].end_lineno or 0) + 1)
    }
    lines = {line for each in body for line in range(each.lineno, (each.end_lineno or 0) + 1)} - docstrings
    text = source.splitlines()
    return sum(1 for line in lines if text[line - 1].strip() and not text[line - 1].strip().startswith("#"))


@pytest.fixture
def worked():
    """Say what an example did: it learns, is equal to Gymnasium's episodes, or plays; then the figures the test saw."""

    def record(package: str, module: ModuleType, result: str, lines: int | None = None) -> None:
        kind = result.partition(":")[0]
        assert kind in RESULTS
        title = (module.__doc__ or "").partition(":")[0]
        assert ("wiring only" in title) == (kind == "plays")
        assert module.__file__
        path = Path(module.__file__)
        link = f"[{path.stem}](../{path.relative_to(ROOT)})"
        ROWS.append(Row(package, version(package), link, lines_of_glue(module) if lines is None else lines, result))

    return record


def pytest_sessionfinish() -> None:
    page = os.environ.get("LIBRARIES_TABLE")
    if not page or not ROWS:
        return
    text = Path(page).read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    kept = {row.split("|")[3].strip(): row for row in old.splitlines() if "](../" in row}
    kept |= {each.link: f"| {' | '.join(map(str, each))} |" for each in ROWS}
    table = "\n".join([*HEAD, *sorted(kept.values())])
    Path(page).write_text(f"{head}{BEGIN}\n{table}\n\n{END}{tail}", encoding="utf-8")
