"""Makes labels of a user's own repository with a model behind an endpoint: `natlang data label`.

What is done stands in the file of labels and in a journal beside it, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from natlang_envs.answers import json_values, split_thought
from natlang_envs.autoexplore.dataset.checks import (
    LONGEST_EVIDENCE,
    SHORTEST_EVIDENCE,
    duplicate_problems,
    label_problems,
    ranked_paths,
    repository_problems,
    text_of,
)
from natlang_envs.autoexplore.dataset.labels import (
    KINDS,
    Evidence,
    FileVerdict,
    Label,
    json_lines,
    parse,
    read_labels,
    read_lines,
    write_labels,
)
from natlang_envs.autoexplore.dataset.own_labels import depth_of, difficulty_of, shortest_path
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from natlang_envs.prompt import prompt_texts
from natlang_envs.repository.tree import Repository

LARGEST_FILE = 60_000  # characters of a file that a model is shown; a longer one gets no question of its own
_LISTED = 400  # files that a model is told the names of
_NOTHING = "no such JSON object"
_BEGUN = ("repository", "model", "questions")  # what the journal begins with, before a line for each file
_ATTEMPTS = 2  # answers a model is given for one file


class LabelModel(Protocol):
    """Whoever answers prompts."""

    def answer(self, system: str, prompt: str) -> str: ...


class Done(NamedTuple):
    """A line of the journal: a file that was dealt with, the ids of its labels, and why others were dropped."""

    path: str
    ids: tuple[str, ...]
    dropped: tuple[str, ...]


def journal_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.journal")


def resume(out: Path, begun: dict[str, Any]) -> tuple[list[Label], list[Done]]:
    """Return what an earlier run finished: labels that the journal does not name are from a file that was not.

    `begun` is what the journal begins with, and refused where it begins with anything else.
    """
    journal = journal_of(out)
    if not journal.exists():
        if out.exists():
            raise UsageError(f"{out} exists and has no journal {journal.name} beside it: choose another -o")
        return [], []
    begin = f"begin again: remove {out.name} and {journal.name}"
    try:
        lines = [each for _, each in read_lines(journal, _parse_line)]
    except UsageError as error:
        raise UsageError(f"{error}; mend it, or {begin}") from None
    done = [each for each in lines if isinstance(each, Done)]
    former = next((each for each in lines if not isinstance(each, Done)), begun)
    if other := next((f"{key} {value!r}" for key, value in former.items() if value != begun[key]), None):
        raise UsageError(f"{out} was made with {other}: choose another -o, or {begin}")
    ids = {name for each in done for name in each.ids}
    labels = [label for label in read_labels(out) if label.id in ids] if out.exists() else []
    return labels, done


def _parse_line(value: object) -> Done | dict[str, Any]:
    content = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if tuple(content) == _BEGUN:
        return content
    if tuple(content) != Done._fields:
        raise ValueError(f"a line of the journal has the keys {', '.join(Done._fields)}")
    return Done(str(content["path"]), tuple(content["ids"]), tuple(content["dropped"]))


def files_to_ask(repository: Repository) -> list[str]:
    """Return the files that hold text of a length that a model can be shown."""
    return [
        path
        for path in repository.files
        if 0 < repository.mark(path).size <= LARGEST_FILE and b"\0" not in repository.part(path, 0, 1 << 13)
    ]


def make_labels(
    repository: Repository,
    model: LabelModel,
    out: Path,
    *,
    name: str = "",
    count: int = 2,
    limit: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[Label], list[Done]]:
    """Ask a model, called `name`, for questions on each file, check them, and write what holds after each file.

    With a journal beside `out` the run goes on where it was, and asks again where it was told nothing usable; `count`
    questions are asked for of each of `limit` files.
    """
    begun: dict[str, Any] = dict(zip(_BEGUN, (str(repository.path), name, count), strict=True))
    labels, done = resume(out, begun)
    done = [each for each in done if each.ids or not any(why.startswith(_NOTHING) for why in each.dropped)]
    paths = files_to_ask(repository)[:limit]
    if not paths:
        raise UsageError(f"{repository.path} holds no file of text that a model can be shown: choose another --repo")
    dealt = {each.path for each in done}
    progress(len(dealt.intersection(paths)), len(paths))
    for path in paths:
        if path in dealt:
            continue
        try:
            made, dropped = _labels_of(repository, model, path, count, labels)
        except UsageError as error:
            kept = f"what is finished is in {out}, the same command goes on from there"
            raise UsageError(f"{error}; {kept if done else 'nothing is finished'}") from None
        labels += made
        done.append(Done(path, tuple(each.id for each in made), tuple(dropped)))
        write_labels(out, labels)
        write_whole(journal_of(out), json_lines([begun, *(each._asdict() for each in done)]))
        dealt.add(path)
        progress(len(dealt.intersection(paths)), len(paths))
    return labels, done


class _DraftLabel(NamedTuple):
    """A question as a model wrote it."""

    question: str
    answer: str
    evidence: str
    kind: str


def _labels_of(
    repository: Repository, model: LabelModel, path: str, count: int, before: list[Label]
) -> tuple[list[Label], list[str]]:
    words = prompt_texts("natlang_envs.autoexplore.dataset")["ask"]
    system = words["role"].format(count=count, least=SHORTEST_EVIDENCE, most=LONGEST_EVIDENCE).strip()
    more = len(repository.files) - _LISTED
    files = [*repository.files[:_LISTED], *([f"(and {more} more)"] if more > 0 else [])]
    first = words["prompt"].format(files="\n".join(files), path=path, content=text_of(repository, path)).strip()
    prompt = first
    made: dict[str, Label] = {}
    problems: list[str] = []
    for _ in range(_ATTEMPTS):
        reply = model.answer(system, prompt)
        problems = []
        for line, asked in _objects(reply):
            if len(made) >= count:
                break
            if asked is None:
                problems.append(f"{_NOTHING}: {' '.join(line.split())[:80]}")
                continue
            known = [label.question for label in (*before, *made.values())]
            label, wrong = _label(repository, model, path, asked, known)
            if label is not None:
                made[label.id] = label
            problems += wrong
        if not problems or len(made) >= count:
            break
        prompt = words["again"].format(prompt=first, answer=reply, problems="\n".join(problems)).strip()
    return list(made.values()), problems


def _objects(reply: str) -> Iterator[tuple[str, _DraftLabel | None]]:
    """Yield each object of an answer, in lists too, and the question in it if there is one."""
    said = split_thought(reply).said
    nothing = True
    for found in json_values(said):
        for value in _flat(found.value):
            nothing = False
            yield said[found.start : found.end], _asked(value)
    if nothing and said.strip(".*`'\" \n").upper() != "NONE":
        yield said or "the answer holds nothing but a thought", None


def _flat(value: object) -> list[object]:
    """Return the objects of a list, or of an object that holds one list and no question."""
    if isinstance(value, dict) and "question" not in value:
        lists = [cast("object", each) for each in cast("dict[str, object]", value).values() if isinstance(each, list)]
        return _flat(lists[0]) if len(lists) == 1 else [cast("object", value)]
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _asked(value: object) -> _DraftLabel | None:
    content = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    values = [content.get(name) for name in _DraftLabel._fields]
    good = all(isinstance(each, str) for each in values) and content["kind"] in KINDS
    return _DraftLabel(*cast("list[str]", values)) if good else None


def _label(
    repository: Repository, model: LabelModel, path: str, asked: _DraftLabel, known: list[str]
) -> tuple[Label | None, list[str]]:
    """Return the label of a question if all checks hold, and what is wrong if not."""
    question = " ".join(asked.question.split())
    evidence = [Evidence(path, asked.evidence)]
    draft = _compose(repository, asked, question, evidence, {})
    wrong = [*label_problems(draft), *repository_problems(repository, draft)]
    wrong += [problem for at, problem in duplicate_problems([*known, question]) if at == len(known)]
    if wrong:
        return None, [f"{question!r}: {problem}" for problem in dict.fromkeys(wrong)]
    verdicts: dict[str, str] = {}
    for other in ranked_paths(repository, question):
        if other == path:
            continue
        verdict = _judge(repository, model, other, question, asked.answer)
        if verdict is None:
            return None, [f"{question!r}: no verdict was given on {other}"]
        span, verdicts[other] = verdict
        if span:
            evidence.append(Evidence(other, span))
    label = _compose(repository, asked, question, evidence, verdicts)
    wrong = [*label_problems(label), *repository_problems(repository, label)]
    return (None if wrong else label), [f"{question!r}: {problem}" for problem in wrong]


def _compose(
    repository: Repository, asked: _DraftLabel, question: str, evidence: list[Evidence], why: dict[str, str]
) -> Label:
    targets = tuple(sorted(each.path for each in evidence))
    ranked = ranked_paths(repository, question)
    verdicts = [FileVerdict(each, each in targets, why.get(each) or "it is a target") for each in ranked]
    content: dict[str, Any] = {
        "repository": repository.name,
        "question": question,
        "answer": " ".join(asked.answer.split()),
        "targets": list(targets),
        "evidence": [each._asdict() for each in sorted(evidence)],
        "path": list(shortest_path(repository, targets)),
        "depth": depth_of(targets),
        "kind": asked.kind,
        "difficulty": difficulty_of(question, targets),
        "bm25": [each._asdict() for each in verdicts],
    }
    return parse(content)


def _judge(repository: Repository, model: LabelModel, path: str, question: str, answer: str) -> tuple[str, str] | None:
    """Return the span of a file that answers a question, "" where it does not, and why; None without a verdict."""
    words = prompt_texts("natlang_envs.autoexplore.dataset")["judge"]
    system = words["role"].format(least=SHORTEST_EVIDENCE, most=LONGEST_EVIDENCE).strip()
    text = text_of(repository, path)
    prompt = words["prompt"].format(question=question, answer=answer, path=path, content=text[:LARGEST_FILE]).strip()
    for _ in range(_ATTEMPTS):
        values = [found.value for found in json_values(split_thought(model.answer(system, prompt)).said)]
        objects = [cast("dict[str, Any]", each) for value in values for each in _flat(value) if isinstance(each, dict)]
        given = next((each for each in objects if "answers" in each), dict[str, Any]())
        answers, why, span = given.get("answers"), given.get("why"), given.get("evidence")
        if isinstance(answers, bool) and isinstance(why, str) and isinstance(span, str) and why.strip():
            if not answers:
                return "", " ".join(why.split())
            if SHORTEST_EVIDENCE <= len(span) <= LONGEST_EVIDENCE and span in text:
                return span, " ".join(why.split())
    return None
