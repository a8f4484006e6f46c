"""Answers questions about CSV tables, over the tables as they are or with some rows left out."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from natlang_envs.errors import UsageError

Record = dict[str, str]
Answer = list[tuple[str | int, ...]]  # rows: the columns of `by`, then the value
LEFT_OUT = 8  # percent of the rows


@dataclass(frozen=True)
class Question:
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
        """The tables that it is about."""
        return (self.table, *self.joined[:1])

    @property
    def value_name(self) -> str:
        """The name of the answer's last column."""
        return self.value.rpartition(" ")[2]


def answer(question: Question, texts: Mapping[str, str]) -> Answer:
    """Return the answer over the texts of the tables."""
    groups: dict[tuple[str, ...], list[Record]] = {} if question.by else {(): []}
    for record in _records(question, texts):
        if all(_holds(record, *each) for each in question.where):
            groups.setdefault(tuple(record[each] for each in question.by), []).append(record)
    rows = [(*key, _value(question.value, records)) for key, records in sorted(groups.items())]
    if question.order == "value":
        rows.sort(key=lambda row: -int(row[-1]))
    return [*rows[: question.first]]


def fewer_rows(text: str, seed: int) -> str:
    """Return a table without some of its rows, chosen by a seed."""
    head, *rows = text.splitlines(keepends=True)
    return head + "".join(row for number, row in enumerate(rows) if _share(seed, number) >= LEFT_OUT)


def _share(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4], "big") % 100


def _records(question: Question, texts: Mapping[str, str]) -> Iterable[Record]:
    more: dict[str, Record] = {}
    if question.joined:
        table, column, *other = question.joined
        more = {each[other[0] if other else column]: each for each in _read(texts[table])}
    for record in _read(texts[question.table]):
        whole = {**more.get(record[question.joined[1]], {}), **record} if question.joined else record
        whole.update({name: record[column][:length] for name, (column, length) in question.derive.items()})
        yield whole


def _read(text: str) -> list[Record]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _holds(record: Mapping[str, str], column: str, how: str, wanted: str) -> bool:
    found = record.get(column, "")
    if how == "is":
        return found == wanted
    if how in ("from", "to"):
        return found >= wanted if how == "from" else found <= wanted
    if how == "least":
        return int(found) >= int(wanted)
    raise UsageError(f"unknown condition {how!r}: choose is, from, to or least")


def _value(value: str, records: Sequence[Record]) -> int:
    how, _, column = value.partition(" ")
    if how == "count":
        return len(records)
    if how == "distinct":
        return len({each[column] for each in records})
    numbers = [int(each[column]) for each in records]
    if how == "max":
        return max(numbers)
    if how in ("sum", "mean"):
        return sum(numbers) // (1 if how == "sum" else len(numbers))
    raise UsageError(f"unknown value {value!r}: choose count, distinct, sum, max or mean")
