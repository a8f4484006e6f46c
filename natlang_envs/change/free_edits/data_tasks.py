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
from typing import Any, cast

from natlang_envs.autoexplore.dataset.catalogue import COFFEE, repository_folder
from natlang_envs.change.free_edits.free_task import ChangeVerdict, FreeTask
from natlang_envs.change.free_edits.sandbox_tests import LIMITS
from natlang_envs.change.free_edits.table_questions import Answer, TableQuestion, fewer_rows, run_program
from natlang_envs.change.repositories import data_folder
from natlang_envs.errors import UsageError
from natlang_envs.sandbox import AutoExploreSandbox, CommandResult
from natlang_envs.sandbox.commands.parser import quote

PROGRAM = "answer.py"
OUTPUTS = {"figure": "answer.txt", "table": "answer.csv", "chart": "answer.vl.json"}
_ASKED = {
    "figure": "writes the number, and nothing else, to answer.txt",
    "table": "writes a CSV file answer.csv with the columns {columns}, a line with these names first",
    "chart": 'writes a chart as Vega-Lite JSON to answer.vl.json: the mark "{mark}", the field {x} on x and {y} on y, '
    "and the rows inline, in data.values",
}
_SECONDS = 10  # of processor time, of one run of a program; a sleeping one has six times as long
_OTHER_TABLES = 2
_MOST_SEEDS = 100
_KEYS = {
    *("name", "split", "form", "text", "table", "with", "derive", "where", "value", "by", "order", "first", "mark"),
    "cases",
}
_WRITE = {
    "figure": "    file.write(f'{{found[0][0]}}\\n')\n",
    "table": "    csv.writer(file, lineterminator='\\n').writerows([{names!r}, *found])\n",
    "chart": """    values = [dict(zip({names!r}, row)) for row in found]
    chart = {{'mark': {mark!r}, 'encoding': {encoding!r}, 'data': {{'values': values}}}}
    file.write(json.dumps(chart, ensure_ascii=False))
""",
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


@dataclass(frozen=True, eq=False)
class DataTask(FreeTask):
    """A question about tables: its kind is a figure, a table or a chart, its id `coffee-company/QUESTION-CASE`."""

    question: TableQuestion
    mark: str = ""  # of a chart

    about = "data"

    @property
    def output(self) -> str:
        return OUTPUTS[self.kind]

    def folder(self) -> Path:
        return repository_folder(COFFEE)

    def before(self) -> Mapping[str, str]:
        return {PROGRAM: "", self.output: ""}

    def check(self, sandbox: AutoExploreSandbox) -> CommandResult:
        """Run the program again over the tables as they are, and compare what it writes with what is saved."""
        for path in (PROGRAM, self.output):
            if sandbox.overlay.kind(path) != "file":
                return CommandResult("", f"There is no file {path} in the top folder.\n", 1)
        saved = sandbox.overlay.read(self.output).decode("utf-8", "replace")
        (again,) = _run(sandbox, self.output, [{}]) or [None]
        if again is None:
            return CommandResult("", f"Run again, {PROGRAM} ends without {self.output}.\n", 1)
        if again != saved:
            return CommandResult("", f"Run again, {PROGRAM} writes something else than {self.output} holds.\n", 1)
        if self.read(saved) is None:
            return CommandResult("", f"{self.output} does not have the form that is asked for.\n", 1)
        return CommandResult(f"Run again, {PROGRAM} writes what {self.output} holds, in the form asked for.\n", "", 0)

    def solution(self) -> Mapping[str, str]:
        """Return a program that works for this task, and what it writes."""
        names = self.question.columns
        encoding = {"x": {"field": names[0]}, "y": {"field": names[-1]}}
        program = f"{self.question.program()}with open({self.output!r}, 'w', newline='', encoding='utf-8') as file:\n"
        program += _WRITE[self.kind].format(names=names, mark=self.mark, encoding=encoding)
        return {PROGRAM: program, self.output: run_program(program, _texts(self.question.tables))[1]}

    def score(self, kept: Mapping[str, str]) -> ChangeVerdict:
        """Compare the saved answer, and run the saved program over the tables and over others."""
        for path in (PROGRAM, self.output):
            if path not in kept:
                return ChangeVerdict("unsolved", f"There is no {path}.")
        if self.read(kept[self.output]) != self.answer():
            return ChangeVerdict("unsolved", f"{self.output} does not hold the answer.")
        others = self.other_tables()
        with AutoExploreSandbox(self.folder(), limits=LIMITS) as sandbox:
            sandbox.overlay.write(PROGRAM, kept[PROGRAM].encode())
            found = _run(sandbox, self.output, [{}, *others])
        wanted = [self.answer(), *map(self.answer, others)]
        if [None if each is None else self.read(each) for each in found] != wanted:
            return ChangeVerdict(
                "unsolved", f"Run again over the tables, or over tables with other rows, {PROGRAM} does not answer."
            )
        return ChangeVerdict("solved", "The answer is right, also where the tables have other rows.")

    def answer(self, changed: Mapping[str, str] | None = None) -> Answer:
        """Return the answer over the tables, or with other texts for some of them."""
        return run_program(self.question.program(), {**_texts(self.question.tables), **(changed or {})})[0]

    def other_tables(self) -> list[dict[str, str]]:
        """Return tables in which rows are missing, each time so that the answer is another one."""
        table, right = self.question.table, self.answer()
        whole = _texts(self.question.tables)[table]
        changed = ({table: fewer_rows(whole, seed)} for seed in islice(count(1), _MOST_SEEDS))
        found = list(islice((each for each in changed if self.answer(each) != right), _OTHER_TABLES))
        if len(found) < _OTHER_TABLES:
            raise UsageError(f"{self.id}: its answer does not depend on the rows of {table}")
        return found

    def read(self, text: str) -> Answer | None:
        """Return the answer in a file, or None where it has another form."""
        try:
            if self.kind == "figure":
                return [(int(text),)] if text.strip().isascii() and text.strip().lstrip("-").isdigit() else None
            if self.kind == "table":
                head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
                return [(*row[:-1], int(row[-1])) for row in rows] if head == self.question.columns else None
            return self._read_chart(json.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError, csv.Error, RecursionError):
            return None

    def _read_chart(self, chart: Any) -> Answer | None:
        names = self.question.columns
        mark = chart["mark"]["type"] if isinstance(chart["mark"], dict) else chart["mark"]
        fields = [chart["encoding"][axis]["field"] for axis in ("x", "y")]
        rows = cast("list[dict[str, Any]]", chart["data"]["values"])
        found = [tuple(row[name] for name in names) for row in rows]
        exact = all([type(each) for each in row] == [*[str] * (len(names) - 1), int] for row in found)
        whole = all(list(row) and set(row) == set(names) for row in rows)
        return found if mark == self.mark and fields == [names[0], names[-1]] and exact and whole else None


@cache
def _texts(tables: tuple[str, ...]) -> dict[str, str]:
    folder = repository_folder(COFFEE)
    return {path: (folder / path).read_bytes().decode() for path in tables}


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


@cache
def data_tasks(split: str) -> Mapping[str, DataTask]:
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
    question = TableQuestion(
        table=table["table"].format(**case),
        value=table["value"].format(**case),
        joined=tuple(table.get("with", ())),
        derive={name: (column, length) for name, (column, length) in table.get("derive", {}).items()},
        where=tuple((column, how, wanted.format(**case)) for column, how, wanted in table.get("where", ())),
        by=tuple(table.get("by", ())),
        order=table.get("order", "key"),
        first=int(table["first"].format(**case)) if "first" in table else None,
    )
    names = question.columns
    asked = _ASKED[table["form"]].format(columns=", ".join(names), mark=table.get("mark"), x=names[0], y=names[-1])
    issue = (
        f"{table['text'].format(**case).strip()} Write a program {PROGRAM} in the top folder that reads the tables by "
        f"their paths below it and {asked}. Run it, and leave both files. The program is run again, also over tables "
        "with other rows."
    )
    return DataTask(f"{COFFEE}/{table['name']}-{number}", table["form"], issue, question, table.get("mark", ""))
