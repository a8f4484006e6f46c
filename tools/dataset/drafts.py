"""Drafts of labels: a labeller writes a question and its files, a command fills in the rest and says what is wrong.

A draft is a line with the keys `WRITTEN`, and with `natural` where it has its natural wording from the start. Filling
adds `MADE`, where a verdict that is still to be given is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from natlang_envs.autoexplore.dataset.checks import (
    depth_of,
    difficulty_of,
    duplicate_problems,
    evidence_problems,
    file_problems,
    label_problems,
    ranked_paths,
    repository_problems,
    shortest_path,
)
from natlang_envs.autoexplore.dataset.further import restored_line
from natlang_envs.autoexplore.dataset.labels import KINDS, MADE, WRITTEN, Label, evidence_of, parse, read_lines
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.repository.tree import Repository, open_repository
from natlang_envs.files import write_whole

_IS_TARGET = "it is a target"


@dataclass(frozen=True)
class Filled:
    """A line of a file of drafts, filled in.

    Attributes:
        number: Of the line.
        content: What it holds now.
        problems: What is wrong with it, one line each; a label without problems is finished.
        label: The label, where the line is one.
    """

    number: int
    content: dict[str, Any]
    problems: tuple[str, ...]
    label: Label | None

    @property
    def question(self) -> str:
        """The question, as far as there is one."""
        return str(self.content.get("question", ""))


def fill_file(path: Path) -> list[Filled]:
    """Fill in the drafts of a file; the file is left alone.

    Raises:
        UsageError: The file cannot be read, a line is no JSON object, or a repository is not there.
    """
    lines = list(read_lines(path, _draft))
    filled = [_fill(number, content) for number, content in lines]
    more: dict[int, list[str]] = {}
    for at, problem in duplicate_problems([each.question for each in filled]):
        more.setdefault(at, []).append(problem)
    return [
        Filled(each.number, each.content, (*each.problems, *more.get(at, ())), each.label)
        for at, each in enumerate(filled)
    ]


def write_filled(path: Path, filled: Iterable[Filled]) -> None:
    """Write what was filled in, one object a line."""
    write_whole(path, "".join(f"{json.dumps(each.content, ensure_ascii=False)}\n" for each in filled).encode())


def _draft(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"a draft is a JSON object, not {json.dumps(value)[:60]}")
    return cast("dict[str, Any]", restored_line(cast("object", value)))


def _fill(number: int, content: dict[str, Any]) -> Filled:
    problems = _shape_problems(content)
    if problems:
        return Filled(number, content, problems, None)
    repository = open_repository(repository_folder(content["repository"]))
    targets = sorted(set(content["targets"]))
    evidence = [evidence_of(each) for each in content["evidence"]]
    missing = [path for path in targets if repository.kind(path) != "file"]
    if missing:
        found = (*file_problems(repository, targets, evidence), *evidence_problems(targets, evidence))
        return Filled(number, content, found, None)
    question = " ".join(content["question"].split())
    made: dict[str, Any] = {
        "question": question,
        "targets": targets,
        "path": list(shortest_path(repository, targets)),
        "depth": depth_of(targets),
        "difficulty": difficulty_of(question, targets),
        "bm25": _verdicts(repository, question, targets, content.get("bm25")),
    }
    if natural := " ".join(content.get("natural", "").split()):
        made["natural"] = natural
    names = (*WRITTEN, *MADE, "natural") if natural else (*WRITTEN, *MADE)
    whole: dict[str, Any] = {name: (content | made)[name] for name in names}
    open_verdicts = [each["path"] for each in whole["bm25"] if not isinstance(each["answers"], bool)]
    if open_verdicts:
        # The rest is checked as if nothing else answered, so that all problems are told at once.
        judged = [each | {"answers": each["path"] in targets, "why": each["why"] or "-"} for each in whole["bm25"]]
        problems = (*_problems(repository, parse(whole | {"bm25": judged})), _judge(open_verdicts))
        return Filled(number, whole, problems, None)
    label = parse(whole)
    return Filled(number, whole, _problems(repository, label), label)


def _problems(repository: Repository, label: Label) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*label_problems(label), *repository_problems(repository, label))))


def _judge(paths: list[str]) -> str:
    return f"no verdict yet (answers, why) on: {', '.join(paths)}"


def _shape_problems(content: dict[str, Any]) -> tuple[str, ...]:
    """Return what is wrong with the types of what a labeller writes."""
    found = [f"{name} is missing" for name in WRITTEN if name not in content]
    found += [f"{name} is no key of a label" for name in content if name not in (*WRITTEN, *MADE, "natural")]
    found += [
        f"{name} must be text"
        for name in ("repository", "question", "answer", "kind", "natural")
        if not isinstance(content.get(name, ""), str)
    ]
    targets, evidence = content.get("targets", [""]), content.get("evidence", [])
    if not isinstance(targets, list) or not targets or not all(isinstance(each, str) for each in cast("Any", targets)):
        found.append("targets must be a list of at least one path")
    if content.get("kind", KINDS[0]) not in KINDS:
        found.append(f"kind must be one of {', '.join(KINDS)}")
    if not isinstance(evidence, list):
        found.append("evidence must be a list")
    else:
        for each in cast("list[object]", evidence):
            try:
                evidence_of(each)
            except ValueError as error:
                found.append(str(error))
    return tuple(found)


def _verdicts(repository: Repository, question: str, targets: list[str], given: object) -> list[dict[str, Any]]:
    """Return the ranked files with the verdicts that were given; that a target answers goes without saying."""
    known: dict[str, dict[str, Any]] = {}
    for each in cast("list[Any]", given) if isinstance(given, list) else ():
        if isinstance(each, dict) and isinstance(cast("dict[str, Any]", each).get("path"), str):
            known[each["path"]] = each
    rows: list[dict[str, Any]] = []
    for path in ranked_paths(repository, question):
        before = known.get(path, {})
        answers, why = before.get("answers"), before.get("why")
        if path in targets:
            answers, why = True, (why if answers is True and why else _IS_TARGET)
        rows.append(
            {
                "path": path,
                "answers": answers if isinstance(answers, bool) else None,
                "why": why if isinstance(why, str) else "",
            }
        )
    return rows
