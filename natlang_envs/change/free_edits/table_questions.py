"""Questions about CSV tables, and the programs that answer them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

Answer = list[tuple[str | int, ...]]  # rows: the columns of `by`, then the value
LEFT_OUT = 8  # percent of the rows
_HEAD = """import csv, io, json
rows = list(csv.DictReader(open({table!r}, newline="", encoding="utf-8")))
"""
_JOIN = """more = {{each[{key!r}]: each for each in csv.DictReader(open({table!r}, newline="", encoding="utf-8"))}}
rows = [{{**more.get(row[{column!r}], {{}}), **row}} for row in rows]
"""
_GROUPS = """def key_of(row):
    return tuple(row[name] for name in {by!r})


found = []
for key in sorted({{key_of(row) for row in rows}}):
    group = [row for row in rows if key_of(row) == key]
    found.append((*key, {value}))
"""
_CONDITIONS = {
    "is": "row[{0!r}] == {1!r}",
    "from": "row[{0!r}] >= {1!r}",
    "to": "row[{0!r}] <= {1!r}",
    "least": "int(row[{0!r}]) >= {1}",
}
_VALUES = {
    "count": "len(group)",
    "sum": "sum(int(row[{0!r}]) for row in group)",
    "max": "max(int(row[{0!r}]) for row in group)",
    "distinct": "len({{row[{0!r}] for row in group}})",
    "mean": "sum(int(row[{0!r}]) for row in group) // len(group)",
}


@dataclass(frozen=True)
class TableQuestion:
    """A question about a table: see `questions.toml`, with the values of a case in place of names in braces."""

    table: str
    value: str
    joined: tuple[str, ...] = ()
    derive: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    where: tuple[tuple[str, str, str], ...] = ()
    by: tuple[str, ...] = ()
    order: str = "key"
    first: int | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table, *self.joined[:1])

    @property
    def columns(self) -> list[str]:
        return [*self.by, self.value.rpartition(" ")[2]]

    def program(self) -> str:
        """Return a program that reads the tables by their paths and puts the answer into the variable `found`."""
        how, _, column = self.value.partition(" ")
        lines = [_HEAD.format(table=self.table)]
        if self.joined:
            table, column_of, *other = self.joined
            lines.append(_JOIN.format(table=table, column=column_of, key=other[0] if other else column_of))
        for name, (source, length) in self.derive.items():
            lines.append(f"for row in rows:\n    row[{name!r}] = row[{source!r}][:{length}]\n")
        for name, test, wanted in self.where:
            lines.append(f"rows = [row for row in rows if {_CONDITIONS[test].format(name, wanted)}]\n")
        value = _VALUES[how].format(column)
        if not self.by:
            return "".join([*lines, f"group = rows\nfound = [({value},)]\n"])
        lines.append(_GROUPS.format(by=self.by, value=value))
        if self.order == "value":
            lines.append("found.sort(key=lambda row: -row[-1])\n")
        if self.first is not None:
            lines.append(f"found = found[:{self.first}]\n")
        return "".join(lines)


def run_program(program: str, texts: Mapping[str, str]) -> tuple[Answer, str]:
    """Run a program of a question here, over tables by their paths, and return its answer and what it writes.

    Lines behind `TableQuestion.program` may write the answer into a file.
    """
    written = io.StringIO()

    def opened(path: str, mode: str = "r", **_: Any) -> Any:
        return nullcontext(written) if mode == "w" else io.StringIO(texts[path], newline="")

    names: dict[str, Any] = {"open": opened}
    exec(program, names)
    return names["found"], written.getvalue()


def fewer_rows(text: str, seed: int) -> str:
    """Return a table without some of its rows, chosen by a seed."""
    head, *rows = text.splitlines(keepends=True)
    return head + "".join(row for number, row in enumerate(rows) if _share(seed, number) >= LEFT_OUT)


def _share(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4], "big") % 100
