"""Collects what the examples did, and writes the table of `docs/libraries.md` when `LIBRARIES_TABLE` names a file."""

from __future__ import annotations

import ast
import os
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


class Row(NamedTuple):
    library: str
    module: str
    lines: int
    learns: str


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
    """Say that an example did what it says; `learns` is a figure that the test saw, or "wiring only"."""

    def record(package: str, module: ModuleType, learns: str) -> None:
        name = module.__name__.rpartition(".")[2]
        title = (module.__doc__ or "").partition(":")[0]
        assert ("wiring only" in title) == (learns == "wiring only")
        ROWS.append(Row(f"{package} {version(package)}", name, lines_of_glue(module), learns))

    return record


def pytest_sessionfinish() -> None:
    page = os.environ.get("LIBRARIES_TABLE")
    if not page or not ROWS:
        return
    text = Path(page).read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    kept = {row.split("|")[2].strip(): row for row in old.splitlines() if "examples/" in row}
    for each in ROWS:
        link = f"[{each.module}](../examples/libraries/{each.module}.py)"
        kept[link] = f"| {each.library} | {link} | {each.lines} | {each.learns} |"
    table = ["| library | example | lines of glue | learns? |", "|---|---|---|---|", *sorted(kept.values())]
    Path(page).write_text(f"{head}{BEGIN}\n" + "\n".join(table) + f"\n\n{END}{tail}", encoding="utf-8")
