"""Labels of a user's own repository: what a command derives of them, and the short form that a person writes.

In the short form a label has a question, its answer, and the file or files that answer it. The rest is derived here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from natlang_envs.autoexplore.dataset.labels import Difficulty, Kind, Label, parse, read_labels, read_object
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.repository.navigation import navigation_of
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import Repository
from natlang_envs.repository.words import question_words, words_of

SHORT = ("question", "answer", "file")
_DOCUMENTS = ("md", "rst", "txt", "adoc", "org", "tex", "html", "htm")
_DATA = ("json", "jsonl", "csv", "tsv", "po", "pot", "toml", "yaml", "yml", "ini", "cfg", "lock", "xml", "svg", "conf")


def shortest_path(repository: Repository, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the fewest commands to the nearest target, with `cat` before `id`."""
    *moves, last = navigation_of(repository, FILE_BUDGET).route(("", 0), tuple(targets))
    return (*moves, f"cat {last.removeprefix('id ')}", last)


def depth_of(targets: Iterable[str]) -> int:
    return min(target.count("/") for target in targets)


def difficulty_of(question: str, targets: Iterable[str]) -> Difficulty:
    words = {word for target in targets for word in words_of(target)}
    return "shares" if words.intersection(question_words(question)) else "no words shared with the path"


def kind_of_target(path: str) -> Kind:
    ending = path.rpartition(".")[2].lower()
    return "documentation" if ending in _DOCUMENTS else "data" if ending in _DATA else "code"


def read_own_labels(path: Path, repository: Repository) -> list[Label]:
    """Return the labels of a user's file about one folder, those of the short form completed.

    Raises:
        UsageError: The file cannot be read, or a line is no label, or names a file that the folder has not.
    """
    return read_labels(path, lambda value: parse(_completed(value, repository)))


def _completed(value: object, repository: Repository) -> object:
    if not isinstance(value, dict) or {"targets", "digest"} & {*value}:
        return cast("object", value)
    content = read_object(cast("object", value), SHORT, "a label that is written by hand")
    given = content["file"]
    targets = cast("list[Any]", given if isinstance(given, list) else [given])
    if not targets or not all(isinstance(each, str) for each in targets):
        raise ValueError("file must be a path, or a list of paths")
    try:
        targets = sorted({require_choice("file", each, repository.files) for each in targets})
    except UsageError as error:
        raise ValueError(str(error)) from None
    if not isinstance(content["question"], str):
        raise ValueError("question must be text")
    question = " ".join(content["question"].split())
    path = shortest_path(repository, targets)
    return {
        "repository": repository.name,
        "question": question,
        "answer": content["answer"],
        "targets": targets,
        "evidence": [],
        "path": list(path),
        "depth": depth_of(targets),
        "kind": kind_of_target(min(targets, key=lambda each: (each.count("/"), each))),
        "difficulty": difficulty_of(question, targets),
        "bm25": [],
    }
