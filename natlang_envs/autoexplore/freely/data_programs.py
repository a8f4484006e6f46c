"""Programs that answer data tasks: what the reference writes."""

from __future__ import annotations

from natlang_envs.autoexplore.freely.data_tasks import OUTPUTS, DataTask

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
