"""Takes what readers found about the labels into the amendments that an edition makes.

A reader writes one JSON object a line: `id`, and any of `add` (`path`, `text`: a span of a further file that answers),
`drop` with `why`, `answer` (the corrected one), `elsewhere` (why other files that hold the evidence do
not answer) and `natural`.
Each span is looked up in its file. What does not hold is told and left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath

from natlang_envs.autoexplore.dataset.checks import (
    LONGEST_EVIDENCE,
    SHORTEST_EVIDENCE,
    difficulty_of,
    evidence_elsewhere,
    named_files,
    natural_problems,
    shortest_path,
    text_of,
)
from natlang_envs.autoexplore.dataset.editions import Amendment, Edition, Elsewhere, amend, load_labels, unamended
from natlang_envs.autoexplore.dataset.labels import PARTS, Evidence, Kind, Label, Part, read_lines, read_object
from natlang_envs.autoexplore.dataset.licences import licence_of_quotes
from natlang_envs.autoexplore.dataset.near_duplicates import near_pairs
from natlang_envs.autoexplore.dataset.quotations import quotation_of
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.repository.tree import Repository, open_repository

_WHY = 200  # characters of a reason that are kept


@dataclass(frozen=True)
class Finding:
    """What a reader found about a label."""

    id: str
    add: tuple[Evidence, ...] = ()
    drop: bool = False
    why: str = ""
    answer: str = ""
    elsewhere: str = ""
    natural: str = ""


@dataclass
class Amended:
    """The amendments, and what was left out: one line each."""

    amendments: dict[str, Amendment]
    problems: list[str] = field(default_factory=list[str])


def read_findings(paths: Iterable[Path]) -> list[Finding]:
    """Return the findings of files, in order."""
    return [each for path in paths for _, each in read_lines(path, _finding)]


def _finding(value: object) -> Finding:
    names = ("add", "drop", "why", "answer", "elsewhere", "natural")
    content = read_object(value, ("id",), "a finding", optional=names)
    return Finding(
        id=content["id"],
        add=tuple(Evidence(each["path"], each["text"]) for each in content.get("add") or ()),
        drop=bool(content.get("drop")),
        why=" ".join(str(content.get("why") or "").split()),
        answer=" ".join(str(content.get("answer") or "").split()),
        elsewhere=" ".join(str(content.get("elsewhere") or "").split()),
        natural=" ".join(str(content.get("natural") or "").split()),
    )


def take(findings: Iterable[Finding], before: Mapping[str, Amendment], edition: Edition = 2) -> Amended:
    """Return the amendments with what readers found taken in.

    Args:
        findings: What the readers found.
        before: The amendments that the edition makes so far.
        edition: The second or the third.
    """
    known: dict[str, tuple[Part, Label]] = {
        label.id: (part, label) for part in PARTS for label in unamended(part, edition)
    }
    made = Amended(dict(before))
    for finding in findings:
        if finding.id not in known:
            made.problems.append(f"{finding.id}: there is no such label")
            continue
        label = known[finding.id][1]
        amendment = made.amendments.get(label.id, Amendment(label.id))
        made.amendments[label.id] = _with(label, amendment, finding, made.problems)
    _drop_leaks(known, made)
    _tell_near_duplicates(known, made)
    order = {name: at for at, name in enumerate(known)}
    made.amendments = {name: made.amendments[name] for name in sorted(made.amendments, key=order.__getitem__)}
    return made


def _with(label: Label, amendment: Amendment, finding: Finding, problems: list[str]) -> Amendment:
    repository = open_repository(repository_folder(label.repository))
    if finding.drop:
        return replace(amendment, dropped=finding.why[:_WHY] or "a reader found that it has no one answer")
    if finding.natural:
        wrong = list(natural_problems(replace(label, natural=finding.natural)))
        if names := named_files(finding.natural, repository.files):
            wrong.append(f"natural wording: it names a file: {', '.join(names)}")
        problems += [f"{label.id}: {each} ({finding.natural})" for each in wrong]
        if not wrong:
            amendment = replace(amendment, natural=finding.natural)
    if finding.answer and finding.answer != label.answer:
        amendment = replace(amendment, answer=finding.answer)
    held = {each.path for each in amendment.added} | set(label.targets)
    for path, text in finding.add:
        if path in held:
            continue
        span = _span(repository, path, text)
        if span is None:
            problems.append(f"{label.id}: {text[:60]!r} does not stand in {path}")
            continue
        held.add(path)
        evidence = Evidence(path, span)
        restricted = licence_of_quotes(label.repository, path) is not None
        added = quotation_of(text_of(repository, path), evidence) if restricted else evidence
        amendment = replace(amendment, added=(*amendment.added, added))
    return _completed(repository, label, amendment, finding)


def _completed(repository: Repository, label: Label, amendment: Amendment, finding: Finding) -> Amendment:
    """Return an amendment with what follows from its targets, and with reasons for evidence that stands elsewhere."""
    plain = amend(label, replace(amendment, path=(), kind="", difficulty="", dropped=""))
    if plain is None:
        return amendment
    path = shortest_path(repository, plain.targets)
    difficulty = difficulty_of(label.question, plain.targets)
    kind = label.kind if path[-1] == label.path[-1] else _kinds()[PurePosixPath(path[-1]).suffix]
    reasons = {each.path: each.why for each in amendment.elsewhere}
    elsewhere = [
        Elsewhere(each, why)
        for each in evidence_elsewhere(repository, plain.targets, plain.evidence)
        if (why := finding.elsewhere or reasons.get(each))
    ]
    return replace(
        amendment,
        path=path if path != label.path else (),
        kind=kind if kind != label.kind else "",
        difficulty=difficulty if difficulty != label.difficulty else "",
        elsewhere=tuple(elsewhere),
    )


@cache
def _kinds() -> Mapping[str, Kind]:
    """Return the kind that most labels give a file, by its ending."""
    counted: dict[str, Counter[Kind]] = defaultdict(Counter)
    for part in PARTS:
        for label in load_labels(part):
            counted[PurePosixPath(label.path[-1]).suffix][label.kind] += 1
    return defaultdict(lambda: "data", {name: counts.most_common(1)[0][0] for name, counts in counted.items()})


def _span(repository: Repository, path: str, text: str) -> str | None:
    """Return a span as it stands in a file, whatever its spaces, cut to whole lines where it is too long."""
    words = text.split()
    if repository.kind(path) != "file" or not words:
        return None
    content = text_of(repository, path)
    found = re.search(r"\s+".join(re.escape(word) for word in words), content)
    if found is None:
        return None
    span = content[found.start() : found.end()]
    while len(span) > LONGEST_EVIDENCE and "\n" in span:
        span = span.rpartition("\n")[0].rstrip()
    span = span[:LONGEST_EVIDENCE].rstrip()
    return span if len(span) >= SHORTEST_EVIDENCE else None


def _drop_leaks(known: Mapping[str, tuple[Part, Label]], made: Amended) -> None:
    """Drop labels that a further target brings onto both sides: no file is in `train` and in `test_seen`."""
    sides: dict[tuple[str, str], Part] = {
        (label.repository, path): part for part, label in known.values() for path in label.targets
    }
    for name, amendment in made.amendments.items():
        part, label = known[name]
        for path in () if amendment.dropped else (each.path for each in amendment.added):
            if sides.setdefault((label.repository, path), part) != part:
                why = f"{path} answers it too, which is in {sides[label.repository, path]}"
                made.amendments[name] = replace(amendment, dropped=why)
                made.problems.append(f"{name}: dropped, since {why}")
                break


def _tell_near_duplicates(known: Mapping[str, tuple[Part, Label]], made: Amended) -> None:
    """Tell which natural wordings say nearly what an earlier one does."""
    live = [each for each in made.amendments.values() if each.natural and not each.dropped]
    for first, second, _ in near_pairs([each.natural for each in live]):
        one, other = live[first], live[second]
        if known[one.id][1].repository == known[other.id][1].repository:
            made.problems.append(f"{other.id}: its natural wording is nearly that of {one.id}: {other.natural}")
