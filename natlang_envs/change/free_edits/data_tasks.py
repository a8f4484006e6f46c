"""The data tasks: a question about the Coffee Company's tables, answered by a program and by what it writes.

The saved answer must be exact, and so must be what the saved program writes when it is run again, over the tables as
they are and over tables without some rows, chosen so that the answer is another one.
"""

from __future__ import annotations

import csv
import io
import json
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal, cast

from natlang_envs.autoexplore.dataset.catalogue import COFFEE, repository_folder
from natlang_envs.change.free_edits.free_task import Rules, Verdict
from natlang_envs.change.free_edits.sandbox_tests import LIMITS
from natlang_envs.change.free_edits.table_questions import Answer, Question, answer, fewer_rows
from natlang_envs.change.repositories import data_folder
from natlang_envs.errors import UsageError
from natlang_envs.sandbox import AutoExploreSandbox, CommandResult
from natlang_envs.sandbox.commands.parser import quote

Form = Literal["figure", "table", "chart"]
PROGRAM = "answer.py"
OUTPUTS: dict[Form, str] = {"figure": "answer.txt", "table": "answer.csv", "chart": "answer.vl.json"}
_ASKED: dict[Form, str] = {
    "figure": "writes the number, and nothing else, to answer.txt",
    "table": "writes a CSV file answer.csv with the columns {columns}, a line with these names first",
    "chart": 'writes a chart as Vega-Lite JSON to answer.vl.json: the mark "{mark}", the field {x} on x and {y} on y, '
    "and the rows inline, in data.values",
}
_SECONDS = 10  # of processor time, of one run of a program; a sleeping one has six times as long
_OTHER_TABLES = 2
_MOST_SEEDS = 100
_KEYS = {
    "name",
    "split",
    "form",
    "text",
    "table",
    "with",
    "derive",
    "where",
    "value",
    "by",
    "order",
    "first",
    "mark",
    "cases",
}
_HEAD = """import csv, io, json
rows = list(csv.DictReader(open({table!r}, newline="", encoding="utf-8")))
"""
_JOIN = """more = {{each[{key!r}]: each for each in csv.DictReader(open({table!r}, newline="", encoding="utf-8"))}}
rows = [{{**more.get(row[{column!r}], {{}}), **row}} for row in rows]
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
_RERUN = """
import json, os, resource, subprocess, sys
with open(sys.argv[1]) as file:
    program, output, tables, seconds = json.load(file)
os.unlink(sys.argv[1])
said = []
for changed in tables:
    for path, text in changed.items():
        with open(path, "w", newline="", encoding="utf-8") as file:
            file.write(text)
    if os.path.lexists(output):
        os.unlink(output)
    null = subprocess.DEVNULL
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"stdin": null, "stdout": null, "stderr": null, "env": environment, "timeout": 6 * seconds}
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        subprocess.run([sys.executable, "-s", "-B", program], **options, preexec_fn=limit)
        with open(output, newline="", encoding="utf-8") as file:
            said.append(file.read(1 << 16))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        said.append(None)
print(json.dumps(said))
"""


@dataclass(frozen=True)
class DataTask:
    """A question about tables.

    Attributes:
        id: `coffee-company/name of the question-number of the case`.
        kind: What is asked for: a figure, a table or a chart.
        issue: What is asked, in words.
        question: What is asked, to be computed.
        mark: Of a chart.
    """

    id: str
    kind: Form
    issue: str
    question: Question
    mark: str = ""

    about = "data"

    def __hash__(self) -> int:
        return hash(self.id)

    def folder(self) -> Path:
        """Return the folder that the player works over."""
        return repository_folder(COFFEE)


class DataRules(Rules):
    """The rules of a data task: the program and what it writes may differ, nothing else."""

    def __init__(self, task: DataTask) -> None:
        self._task = task
        self._output = OUTPUTS[task.kind]

    def before(self) -> Mapping[str, str]:
        """Return that neither file is there."""
        return {PROGRAM: "", self._output: ""}

    def check(self, sandbox: AutoExploreSandbox) -> CommandResult:
        """Run the program again over the tables as they are, and compare what it writes with what is saved."""
        for path in (PROGRAM, self._output):
            if sandbox.overlay.kind(path) != "file":
                return CommandResult("", f"There is no file {path} in the top folder.\n", 1)
        saved = sandbox.overlay.read(self._output).decode("utf-8", "replace")
        (again,) = _run(sandbox, self._output, [{}]) or [None]
        if again is None:
            return CommandResult("", f"Run again, {PROGRAM} ends without {self._output}.\n", 1)
        if again != saved:
            return CommandResult("", f"Run again, {PROGRAM} writes something else than {self._output} holds.\n", 1)
        if _read(self._task, saved) is None:
            return CommandResult("", f"{self._output} does not have the form that is asked for.\n", 1)
        return CommandResult(f"Run again, {PROGRAM} writes what {self._output} holds, in the form asked for.\n", "", 0)

    def solution(self) -> Mapping[str, str]:
        """Return a program that works for this task, and what it writes."""
        # Imported here: it is needed for references alone.
        return {PROGRAM: program(self._task), self._output: written(self._task, _answer(self._task))}

    def score(self, kept: Mapping[str, str]) -> Verdict:
        """Compare the saved answer, and run the saved program over the tables and over others."""
        for path in (PROGRAM, self._output):
            if path not in kept:
                return Verdict("unsolved", f"There is no {path}.")
        if _read(self._task, kept[self._output]) != _answer(self._task):
            return Verdict("unsolved", f"{self._output} does not hold the answer.")
        others = other_tables(self._task)
        with AutoExploreSandbox(self._task.folder(), limits=LIMITS) as sandbox:
            sandbox.overlay.write(PROGRAM, kept[PROGRAM].encode())
            found = _run(sandbox, self._output, [{}, *others])
        wanted = [_answer(self._task), *(_answer(self._task, each) for each in others)]
        if [None if each is None else _read(self._task, each) for each in found] != wanted:
            return Verdict(
                "unsolved", f"Run again over the tables, or over tables with other rows, {PROGRAM} does not answer."
            )
        return Verdict("solved", "The answer is right, also where the tables have other rows.")


def written(task: DataTask, found: Answer) -> str:
    """Return an answer as the file that is asked for."""
    names = [*task.question.by, task.question.value_name]
    if task.kind == "figure":
        return f"{found[0][0]}\n"
    if task.kind == "table":
        file = io.StringIO(newline="")
        csv.writer(file, lineterminator="\n").writerows([names, *found])
        return file.getvalue()
    values = [dict(zip(names, row, strict=True)) for row in found]
    encoding = {"x": {"field": names[0]}, "y": {"field": names[-1]}}
    return json.dumps({"mark": task.mark, "encoding": encoding, "data": {"values": values}}, ensure_ascii=False)


def other_tables(task: DataTask) -> list[dict[str, str]]:
    """Return tables in which rows are missing, each time so that the answer is another one."""
    texts = _texts(task.question.tables)
    right = _answer(task)
    seeds = (
        {task.question.table: fewer}
        for seed in islice(count(1), _MOST_SEEDS)
        if answer(
            task.question, {**texts, task.question.table: (fewer := fewer_rows(texts[task.question.table], seed))}
        )
        != right
    )
    found = list(islice(seeds, _OTHER_TABLES))
    if len(found) < _OTHER_TABLES:
        raise UsageError(f"{task.id}: its answer does not depend on the rows of {task.question.table}")
    return found


@cache
def _texts(tables: tuple[str, ...]) -> dict[str, str]:
    folder = repository_folder(COFFEE)
    return {path: (folder / path).read_bytes().decode() for path in tables}


def _answer(task: DataTask, changed: Mapping[str, str] | None = None) -> Answer:
    return answer(task.question, {**_texts(task.question.tables), **(changed or {})})


def _run(sandbox: AutoExploreSandbox, output: str, tables: list[dict[str, str]]) -> list[str | None]:
    """Run the program of a sandbox over tables, one after the other; return what it wrote each time."""
    name = f"asked-{secrets.token_hex(8)}"
    given = json.dumps([PROGRAM, output, tables, _SECONDS]).encode()
    done = sandbox.judge(f"python -c {quote(_RERUN)} {name}", {name: given})
    try:
        found = json.loads(done.stdout)
    except (ValueError, RecursionError):  # a program may write there, too: it can only say what it would answer
        return []
    answers = cast("list[Any]", found) if isinstance(found, list) else []
    return [each if isinstance(each, str) else None for each in answers]


def _read(task: DataTask, text: str) -> Answer | None:
    """Return the answer in a file, or None where it has another form."""
    names = [*task.question.by, task.question.value_name]
    try:
        if task.kind == "figure":
            return [(int(text),)] if text.strip().isascii() and text.strip().lstrip("-").isdigit() else None
        if task.kind == "table":
            head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
            return [(*row[:-1], int(row[-1])) for row in rows] if head == names else None
        return _of_chart(task, names, json.loads(text))
    except (ValueError, IndexError, csv.Error, RecursionError):
        return None


def _of_chart(task: DataTask, names: list[str], chart: Any) -> Answer | None:
    try:
        mark = chart["mark"]["type"] if isinstance(chart["mark"], dict) else chart["mark"]
        fields = [chart["encoding"][axis]["field"] for axis in ("x", "y")]
        rows = cast("list[dict[str, Any]]", chart["data"]["values"])
        found = [tuple(row[name] for name in names) for row in rows]
        exact = all([type(each) for each in row] == [*[str] * (len(names) - 1), int] for row in found)
        whole = all(list(row) and set(row) == set(names) for row in rows)
    except (KeyError, TypeError, AttributeError):
        return None
    return found if mark == task.mark and fields == [names[0], names[-1]] and exact and whole else None


@cache
def data_tasks(split: str) -> Mapping[str, DataTask]:
    """Return the data tasks of a split by their ids, in the order of the file."""
    path = data_folder() / "questions.toml"
    tables: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    tasks: dict[str, DataTask] = {}
    for table in tables:
        if not set(table) <= _KEYS:
            raise UsageError(f"{path}: {table['name']} has unknown keys {sorted(set(table) - _KEYS)}")
        if table["split"] == split:
            for number, case in enumerate(table["cases"], 1):
                task = _task(table, number, case)
                tasks[task.id] = task
    return tasks


def _task(table: Mapping[str, Any], number: int, case: Mapping[str, Any]) -> DataTask:
    question = Question(
        table=table["table"].format(**case),
        value=table["value"].format(**case),
        joined=tuple(table.get("with", ())),
        derive={name: (column, length) for name, (column, length) in table.get("derive", {}).items()},
        where=tuple((column, how, wanted.format(**case)) for column, how, wanted in table.get("where", ())),
        by=tuple(table.get("by", ())),
        order=table.get("order", "key"),
        first=int(table["first"].format(**case)) if "first" in table else None,
    )
    form = cast("Form", table["form"])
    names = [*question.by, question.value_name]
    asked = _ASKED[form].format(columns=", ".join(names), mark=table.get("mark"), x=names[0], y=names[-1])
    issue = (
        f"{table['text'].format(**case).strip()} Write a program {PROGRAM} in the top folder that reads the tables by "
        f"their paths below it and {asked}. Run it, and leave both files. The program is run again, also over tables "
        "with other rows."
    )
    return DataTask(f"{COFFEE}/{table['name']}-{number}", form, issue, question, table.get("mark", ""))


def program(task: DataTask) -> str:
    """Return a program that answers a task."""
    question = task.question
    how, _, column = question.value.partition(" ")
    lines = [_HEAD.format(table=question.table)]
    if question.joined:
        table, column_of, *other = question.joined
        lines.append(_JOIN.format(table=table, column=column_of, key=other[0] if other else column_of))
    for name, (source, length) in question.derive.items():
        lines.append(f"for row in rows:\n    row[{name!r}] = row[{source!r}][:{length}]\n")
    for name, test, wanted in question.where:
        lines.append(f"rows = [row for row in rows if {_CONDITIONS[test].format(name, wanted)}]\n")
    value = _VALUES[how].format(column)
    names = [*question.by, question.value_name]
    if question.by:
        lines.append(
            f"def key_of(row):\n    return tuple(row[name] for name in {question.by!r})\n\n\n"
            "found = []\nfor key in sorted({key_of(row) for row in rows}):\n"
            "    group = [row for row in rows if key_of(row) == key]\n"
            f"    found.append((*key, {value}))\n"
        )
        if question.order == "value":
            lines.append("found.sort(key=lambda row: -row[-1])\n")
        if question.first is not None:
            lines.append(f"found = found[:{question.first}]\n")
    else:
        lines.append(f"group = rows\nfound = [({value},)]\n")
    lines.append(f"with open({OUTPUTS[task.kind]!r}, 'w', newline='', encoding='utf-8') as file:\n")
    if task.kind == "figure":
        lines.append("    file.write(f'{found[0][0]}\\n')\n")
    elif task.kind == "table":
        lines.append(f"    csv.writer(file, lineterminator='\\n').writerows([{names!r}, *found])\n")
    else:
        encoding = {"x": {"field": names[0]}, "y": {"field": names[-1]}}
        lines.append(f"    values = [dict(zip({names!r}, row)) for row in found]\n")
        lines.append(f"    chart = {{'mark': {task.mark!r}, 'encoding': {encoding!r}, 'data': {{'values': values}}}}\n")
        lines.append("    file.write(json.dumps(chart, ensure_ascii=False))\n")
    return "".join(lines)
