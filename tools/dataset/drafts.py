"""Turns drafts, as a labeller writes them, into labels; tells what is wrong with each, and what is still to be judged.

A draft is a line with the keys of `Draft`. Its evidence is quoted (`quote`), or given by its first and last line
(`lines`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any, cast

from natlang_envs.autoexplore.baselines import bm25_of
from natlang_envs.autoexplore.dataset.catalogue import repository_folder
from natlang_envs.autoexplore.dataset.checks import (
    evidence_elsewhere,
    label_problems,
    ranked_paths,
    repository_problems,
    text_of,
)
from natlang_envs.autoexplore.dataset.labels import Label, parse, read_object
from natlang_envs.autoexplore.dataset.own_labels import depth_of, difficulty_of, shortest_path
from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import Repository, open_repository
from natlang_envs.repository.words import question_words, words_of

_WRITTEN = ("repository", "targets", "natural", "question", "answer", "not")
_KINDS = {
    "documentation": ("md", "rst", "txt"),
    "data": ("csv", "toml", "cfg", "ini", "yml", "yaml", "json", "lock", "in", "conf", "xml", "sql", "properties"),
}
_ATOM = re.compile(r"\d+(?:[.,]\d+)*|\w*_\w+|[a-z]+[A-Z]\w*")
_POOL, _SHOWN = 5, 140  # files to be looked at beside the label's own; characters of their nearest line


def read_draft(value: object) -> dict[str, Any]:
    return read_object(value, _WRITTEN, "a draft", optional=("kind", "elsewhere"))


def files_of(name: str) -> Repository:
    return open_repository(repository_folder(name))


def text_in(label: Label) -> Callable[[str], str]:
    return partial(text_of, files_of(label.repository))


def label_of_draft(draft: dict[str, Any]) -> Label:
    """Return the label of a draft; a verdict that is still to be given has no reason."""
    repository = files_of(draft["repository"])
    targets = sorted(draft["targets"])
    for path in [*targets, *draft["not"], *draft.get("elsewhere", {})]:
        if repository.kind(path) != "file":
            raise UsageError(f"{draft['natural']}: {path} is no file of {draft['repository']}")
    spans: list[dict[str, str]] = []
    for path, given in cast("dict[str, Any]", draft["targets"]).items():
        several = given if isinstance(given, list) and not _is_lines(given) else [given]
        spans += [{"path": path, "text": _span(repository, path, each)} for each in cast("list[Any]", several)]
    why = {**cast("dict[str, str]", draft["not"]), **dict.fromkeys(targets, "it is a target")}
    ranked = ranked_paths(repository, draft["question"])
    return parse(
        {
            "repository": draft["repository"],
            "question": draft["question"],
            "natural": draft["natural"],
            "answer": draft["answer"],
            "targets": targets,
            "evidence": spans,
            "path": list(shortest_path(repository, targets)),
            "depth": depth_of(targets),
            "kind": draft.get("kind") or _kind(min(targets, key=lambda path: (path.count("/"), path))),
            "difficulty": difficulty_of(draft["question"], targets),
            "bm25": [{"path": each, "answers": each in targets, "why": why.get(each, "")} for each in ranked],
            "elsewhere": [{"path": path, "why": text} for path, text in draft.get("elsewhere", {}).items()],
        }
    )


def _is_lines(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(each, int) for each in cast("list[Any]", given))


def _span(repository: Repository, path: str, given: Any) -> str:
    """Return a quoted span as it is, or that of lines, counted from 1, without the spaces around it."""
    if not _is_lines(given):
        return str(given)
    first, last = given[0], given[-1]
    return "\n".join(text_of(repository, path).split("\n")[first - 1 : last]).strip()


def _kind(path: str) -> str:
    ending = PurePosixPath(path).suffix.removeprefix(".")
    return next((kind for kind, endings in _KINDS.items() if ending in endings), "code")


def draft_problems(label: Label) -> Iterator[str]:
    repository = files_of(label.repository)
    yield from label_problems(label)
    yield from repository_problems(repository, label)
    known = {each.path for each in label.elsewhere}
    stands = evidence_elsewhere(repository, label.targets, label.evidence)
    yield from (f"evidence stands in {path} too: make it a target, or explain" for path in stands if path not in known)


def draft_hints(label: Label) -> Iterator[str]:
    """Yield what may be wrong: figures of the answer that no span shows, words that the hard wording takes."""
    shown = " ".join(each.text for each in label.evidence)
    missing = [each for each in _ATOM.findall(label.answer) if each not in shown]
    if missing:
        yield f"the answer says {', '.join(missing)}, no span does"
    words: set[str] = {*words_of(shown), *(word for path in label.targets for word in words_of(path))}
    if taken := sorted(words.intersection(question_words(label.question))):
        yield f"the hard wording has the words {', '.join(taken)} of the span or the path"


def to_judge(label: Label) -> Iterator[tuple[str, str, str]]:
    """Yield files that may answer too, why they are looked at, and their line nearest to question and answer."""
    repository = files_of(label.repository)
    asked = f"{label.natural} {label.question} {label.answer}"
    pooled = f"{asked} {' '.join(each.text for each in label.evidence)}"
    index = bm25_of(repository)
    judged = [each.path for each in label.bm25 if not each.answers]
    pool = [each.path for words in (label.natural, pooled) for each in index.rank(words)[:_POOL]]
    words = set(question_words(asked))
    for path in dict.fromkeys([*judged, *pool]):
        if path not in label.targets:
            lines = [" ".join(line.split()) for line in text_of(repository, path).splitlines()]
            best = max(lines, key=lambda line: len(words.intersection(words_of(line))), default="")
            yield path, "judge" if path in judged else "pool", best[:_SHOWN]
