"""Makes the labels that the third edition adds, from drafts of any repositories.

Questions about a repository of validation or test go there. Of a repository in train, a question whose files are all
drawn (see `drawn`) is test_seen's, and one of which none is drawn is train's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.checks import evidence_elsewhere, text_of
from natlang_envs.autoexplore.dataset.editions import Amendment, amend, amendments, explained, load_labels, part_named
from natlang_envs.autoexplore.dataset.further import further_file, withheld_line, write_lines
from natlang_envs.autoexplore.dataset.labels import PARTS, WORDINGS, Label, Part
from natlang_envs.autoexplore.dataset.near_duplicates import near_pairs
from natlang_envs.autoexplore.dataset.report import leaks
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.repository.tree import Repository, open_repository
from natlang_envs.errors import UsageError
from tools.dataset.assemble import drafts_folder, finished
from tools.dataset.drawn import is_drawn


@dataclass(frozen=True)
class Further:
    """The further labels.

    Attributes:
        parts: The labels by part, in the order of the catalogue and then of the drafts.
        left_out: One line for each draft that is left out.
        unexplained: One line for each file that holds evidence word for word and is no target.
    """

    parts: dict[Part, list[Label]]
    left_out: list[str] = field(default_factory=list[str])
    unexplained: list[str] = field(default_factory=list[str])


def kept_drafts() -> Path:
    """Return the folder with the drafts of the further labels, one file a repository."""
    return drafts_folder() / "further"


def assemble_further(paths: Iterable[Path], *, leave_out: bool = False) -> Further:
    """Return the further labels of every part.

    Args:
        paths: Files of drafts.
        leave_out: Whether drafts with a problem are left out; otherwise the first one is an error.

    Raises:
        UsageError: A draft has a problem (the message names it), or a file would be on two sides.
    """
    problems: list[str] = []
    labels = [label for path in paths for label in finished(path, None, problems)]
    labels = [label for label in labels if not _refused(label, problems)]
    labels = _without_repetitions(labels, problems)
    if problems and not leave_out:
        raise UsageError(f"{problems[0]}; mend it, or leave out all {len(problems)} such drafts with --leave-out")
    order = {name: at for at, name in enumerate(catalogue())}
    further = Further({part: [] for part in PARTS}, problems)
    for label in sorted(labels, key=lambda each: order[each.repository]):
        further.parts[_part(label)].append(label)
    amended = {part: _amended(labels) for part, labels in further.parts.items()}
    for label in chain.from_iterable(amended.values()):
        repository = open_repository(repository_folder(label.repository))
        elsewhere = evidence_elsewhere(repository, label.targets, label.evidence)
        further.unexplained.extend(
            f"{label.id}: evidence stands in {path} too" for path in elsewhere if path not in explained(label, 3)
        )
    if leaking := leaks({part: (*load_labels(part, 2), *amended[part]) for part in PARTS}):
        raise UsageError(f"{leaking[0]} ({len(leaking)} such lines)")
    return further


def _amended(labels: Iterable[Label]) -> list[Label]:
    """Return the labels as the third edition has them, without those that it drops."""
    known = amendments(3)
    found = (amend(each, known.get(each.id, Amendment(each.id))) for each in labels)
    return [each for each in found if each is not None]


def _refused(label: Label, problems: list[str]) -> bool:
    """Return whether a label by itself is refused, and note why."""
    problem = ""
    if not label.natural:
        problem = "it has no natural wording"
    elif catalogue()[label.repository].split == "train":
        drawn = [path for path in label.targets if is_drawn(label.repository, path)]
        if drawn and len(drawn) < len(label.targets):
            others = [path for path in label.targets if path not in drawn]
            problem = f"{', '.join(drawn)} is drawn for test_seen and {', '.join(others)} is not"
    if problem:
        problems.append(f"{label.id}: {problem} ({label.question})")
    return bool(problem)


def _part(label: Label) -> Part:
    split = catalogue()[label.repository].split
    if split == "train" and is_drawn(label.repository, label.targets[0]):
        return "test_seen"
    return part_named(split)


def _without_repetitions(labels: Sequence[Label], problems: list[str]) -> list[Label]:
    """Return the labels that ask nearly nothing that an older label, or one before them, asks; note the others."""
    old = [label for part in PARTS for label in load_labels(part, 2)]
    everything = [*old, *labels]
    found: dict[int, str] = {}
    for wording in WORDINGS:
        for first, second, share in near_pairs([label.asked(wording) for label in everything]):
            if second >= len(old):
                asked = everything[first].asked(wording)
                found.setdefault(second, f"it is nearly {everything[first].id} ({share:.0%} alike): {asked}")
    problems.extend(f"{everything[at].id}: {problem}" for at, problem in sorted(found.items()))
    return [label for at, label in enumerate(everything) if at >= len(old) and at not in found]


def write_further(further: Further) -> list[Path]:
    """Write the files of the further labels, and their drafts by repository; return the paths."""
    lines = {part: [_line(label) for label in labels] for part, labels in further.parts.items()}
    for part in PARTS:
        further_file(part).unlink(missing_ok=True)
        if lines[part]:
            write_lines(further_file(part), lines[part])
    by_repository: dict[str, list[str]] = {}
    for part, labels in further.parts.items():
        for label, line in zip(labels, lines[part], strict=True):
            by_repository.setdefault(label.repository, []).append(line)
    kept_drafts().mkdir(exist_ok=True)
    for path in kept_drafts().glob("*.jsonl"):
        path.unlink()
    for name, those in by_repository.items():
        write_lines(kept_drafts() / f"{name}.jsonl", those)
    labels_files = [further_file(part) for part in PARTS if lines[part]]
    return [*labels_files, *(kept_drafts() / f"{name}.jsonl" for name in by_repository)]


def _line(label: Label) -> str:
    repository: Repository = open_repository(repository_folder(label.repository))
    return withheld_line(label, partial(text_of, repository))
