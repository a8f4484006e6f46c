"""What must hold for a label. Some of it needs the files of its repository, some does not.

Questions that are nearly the same are found by MinHash, and their shared letters decide.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from natlang_envs.autoexplore.baselines import LARGEST, bm25_of
from natlang_envs.autoexplore.dataset.labels import RANKED, Evidence, Label
from natlang_envs.autoexplore.dataset.own_labels import depth_of, difficulty_of, shortest_path
from natlang_envs.autoexplore.dataset.shipped import licence_of_quotes
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.repository.texts import MAX_QUESTION
from natlang_envs.repository.tree import Repository

SHORTEST_QUESTION, SHORTEST_EVIDENCE, LONGEST_EVIDENCE = 15, 10, 300  # characters
_WORD = re.compile(r"[\w./-]+")
NEAR = 0.6  # the share of letter groups in common (Jaccard) from which two questions are one
_LETTERS = 5  # of a group
_BANDS, _ROWS = 40, 3  # a pair as near as NEAR is compared with a probability of 1 - (1 - 0.6³)⁴⁰ = 0.99994


def ranked_paths(repository: Repository, question: str) -> tuple[str, ...]:
    return tuple(each.path for each in bm25_of(repository).rank(question)[:RANKED])


def question_problems(question: str) -> Iterator[str]:
    if question != " ".join(question.split()):
        yield "the question is not one line with single spaces"
    if not SHORTEST_QUESTION <= len(question) <= MAX_QUESTION:
        yield f"the question has {len(question)} characters, not {SHORTEST_QUESTION} to {MAX_QUESTION}"


def named_files(question: str, paths: Iterable[str]) -> list[str]:
    """Return the words of a question that name a file or a path.

    A name with a dot, or a path with a slash, counts in any case of letters; a name such as `LICENSE` as it is written.
    """
    dotted, plain, whole = _names(tuple(paths))
    found: list[str] = []
    for match in _WORD.findall(question):
        word = match.strip("./-")
        if (
            word in plain
            or word.lower() in dotted
            or match.lower().rstrip("./-") in dotted
            or ("/" in word and f"/{word.lower()}" in whole)
        ):
            found.append(match)
    return found


@lru_cache(maxsize=64)
def _names(paths: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the names with a dot, the names without that stand out from words, and the ends of paths and folders."""
    names = {path.rpartition("/")[2] for path in paths}
    dotted = frozenset(name.lower() for name in names if "." in name)
    plain = frozenset(name for name in names if "." not in name and name != name.lower())
    whole: set[str] = set()
    for path in paths:
        parts = path.lower().split("/")
        for end in range(2, len(parts) + 1):
            whole.update("/" + "/".join(parts[start:end]) for start in range(end - 1))
    return dotted, plain, frozenset(whole)


def evidence_problems(label: Label) -> Iterator[str]:
    """Yield what is wrong with the evidence, without the files; of what may not be quoted the text may be empty."""
    for path, text in label.evidence:
        if path not in label.targets:
            yield f"evidence is from {path}, which is no target"
        if not text and licence_of_quotes(label.repository, path) is None:
            yield f"the evidence in {path} has no text"
        elif text and not SHORTEST_EVIDENCE <= len(text) <= LONGEST_EVIDENCE:
            yield (
                f"the evidence {text[:30]!r}… has {len(text)} characters, not {SHORTEST_EVIDENCE} to {LONGEST_EVIDENCE}"
            )
    given = {each.path for each in label.evidence}
    yield from (f"target {path} has no evidence" for path in label.targets if path not in given)


def evidence_elsewhere(repository: Repository, targets: Sequence[str], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the files that hold a span of the evidence word for word, spaces aside, and are no targets; sorted."""
    texts, whole = _texts(repository)
    spans = {span for each in evidence if (span := " ".join(each.text.split()))}
    own = [text for path in targets if (text := texts.get(path))]
    spans = {span for span in spans if whole.count(span) > sum(text.count(span) for text in own)}
    return tuple(path for path, text in texts.items() if path not in targets and any(span in text for span in spans))


@lru_cache(maxsize=2)
def _texts(repository: Repository) -> tuple[dict[str, str], str]:
    """Return every file's text, its words joined by single spaces, and all of them as one."""
    texts = {path: " ".join(text_of(repository, path).split()) for path in repository.files}
    return texts, "\n".join(texts.values())


def natural_problems(label: Label) -> Iterator[str]:
    for problem in question_problems(label.natural):
        yield f"natural wording: {problem}"
    if label.natural == label.question:
        yield "natural wording: it is the hard one"


def text_of(repository: Repository, path: str) -> str:
    """Return a file as text with lines ended by line feeds."""
    return repository.part(path, 0, LARGEST * 8).decode("utf-8", "replace").replace("\r\n", "\n")


def label_problems(label: Label) -> Iterator[str]:
    """Yield what is wrong with a label, as far as that can be seen without the files."""
    yield from question_problems(label.question)
    if label.natural:
        yield from natural_problems(label)
    if not label.answer.strip():
        yield "there is no answer"
    if not label.targets:
        yield "there is no target"
        return
    if list(label.targets) != sorted(set(label.targets)):
        yield "the targets are not sorted, or one stands there twice"
    if not label.by_hand:
        yield from evidence_problems(label)
    if names := named_files(label.question, label.targets):
        yield f"the question names a file: {', '.join(names)}"
    if label.depth != depth_of(label.targets):
        yield f"depth is {label.depth}, the nearest target has {depth_of(label.targets)}"
    if label.difficulty != difficulty_of(label.question, label.targets):
        yield f"difficulty is {label.difficulty!r}, not {difficulty_of(label.question, label.targets)!r}"
    if len(label.path) < 2 or len(label.path) > HORIZON:
        yield f"the way has {len(label.path)} steps, not 2 to {HORIZON}"
    elif (label.path[-2], label.path[-1]) != tuple(f"{verb} {label.path[-1][3:]}" for verb in ("cat", "id")):
        yield "the way does not end in cat and id of one file"
    for path, answers, why in label.bm25:
        if answers != (path in label.targets):
            yield f"{path} {'answers, but is no target' if answers else 'is a target, but the verdict says no'}"
        if not why.strip():
            yield f"the verdict on {path} has no reason"


def repository_problems(repository: Repository, label: Label) -> Iterator[str]:
    """Yield what the files of its repository show to be wrong with a label."""
    gone = [path for path in label.targets if repository.kind(path) != "file"]
    yield from (f"target {path} is no file of the repository" for path in gone)
    for path, text in label.evidence:
        if repository.kind(path) == "file" and text not in text_of(repository, path):
            yield f"the evidence {text[:40]!r} is not in {path}"
    for what, question in (("question", label.question), ("natural wording", label.natural)):
        if names := named_files(question, repository.files):
            yield f"the {what} names a file: {', '.join(names)}"
    if gone or not label.targets:
        return
    if label.path != (path := shortest_path(repository, label.targets)):
        yield f"the way is {list(label.path)}, the shortest is {list(path)}"
    if label.part or label.by_hand:  # rules and people rank nothing
        return
    if (ranked := ranked_paths(repository, label.question)) != tuple(each.path for each in label.bm25):
        yield f"bm25 should hold, in this order: {', '.join(ranked)}"


def duplicate_problems(questions: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the positions of questions that say nearly what an earlier one says."""
    for first, second, near in near_pairs(questions):
        yield second, f"the question is nearly another one ({near:.0%} alike): {questions[first]}"


class Pair(NamedTuple):
    """The positions of two texts, the earlier one first, and how near they are."""

    first: int
    second: int
    share: float


def letter_groups(text: str) -> frozenset[str]:
    """Return all runs of five letters of a text, its words joined by single spaces."""
    plain = " ".join("".join(each if each.isalnum() else " " for each in text.lower()).split())
    return frozenset(plain[at : at + _LETTERS] for at in range(max(1, len(plain) - _LETTERS + 1)))


def share(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the share that two sets have in common."""
    return len(left & right) / len(left | right)


def near_pairs(texts: Sequence[str]) -> list[Pair]:
    """Return the pairs of texts that are nearly the same, in order; the same for the same input, for ever."""
    groups = [letter_groups(text) for text in texts]
    buckets: dict[tuple[int, bytes], list[int]] = {}
    for number, group in enumerate(groups):
        for band, key in enumerate(_bands(group)):
            buckets.setdefault((band, key), []).append(number)
    candidates = {
        (first, second)
        for numbers in buckets.values()
        for place, second in enumerate(numbers)
        for first in numbers[:place]
    }
    found = (Pair(first, second, share(groups[first], groups[second])) for first, second in sorted(candidates))
    return [pair for pair in found if pair.share >= NEAR]


def _bands(group: Iterable[str]) -> list[bytes]:
    values = np.array([zlib.crc32(each.encode()) for each in group], dtype=np.uint64)
    # (a·x + b) mod 2⁶⁴, then the upper bits: universal enough, and no product overflows unnoticed.
    lowest = (_FACTORS[:, None] * values[None, :] + _OFFSETS[:, None] >> np.uint64(32)).min(axis=1)
    return [lowest[at : at + _ROWS].tobytes() for at in range(0, _BANDS * _ROWS, _ROWS)]


def _constants(name: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return odd numbers that depend on nothing but the name: NumPy's random streams may change."""
    digests = (hashlib.sha256(f"minhash/{name}/{number}".encode()).digest() for number in range(_BANDS * _ROWS))
    return np.array([int.from_bytes(each[:8], "big") | 1 for each in digests], dtype=np.uint64)


_FACTORS, _OFFSETS = _constants("factor"), _constants("offset")
