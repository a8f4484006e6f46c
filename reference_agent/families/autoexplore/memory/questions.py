"""What a player who remembers learns from, in `reflect-rl recall` and `reflect-rl reproduce`, and its settings."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from natlang_envs.errors import UsageError, require_choice
from natlang_envs.tasks import check_learning_split

if TYPE_CHECKING:
    from natlang_envs.autoexplore.dataset.labels import Label

KNOWN, NONE = "known", "none"
LEARNED, OF_LIFT = "learned", "lift"
JUDGES = (LEARNED, OF_LIFT)


class RecallQuestions(NamedTuple):
    """What a player learns from and is chosen by, and the repositories that the questions are about."""

    folders: Mapping[str, Path]
    train: Sequence[Label]
    validation: Sequence[Label]


class RecallTraining(NamedTuple):
    """From what, how long and how fast a policy learns."""

    model: str = ""  # a model whose lifts are looked at; empty for words alone
    questions: int | None = None  # questions to learn from and to validate with, each at most so many; None for all
    epochs: int = 6  # passes over the teacher's decisions; 0 leaves imitation out
    updates: int = 480  # updates by reward; 0 leaves reward out
    batch: int = 64  # questions of an update
    samples: int = 8  # games of each question in an update; their mean is the baseline
    rate: float = 3e-3  # of Adam in imitation; a third of it by reward
    # What a step costs, of the environment's 1. At 1 the policy names its first file at once, since six steps of
    # reading cost more than they win; boards count games won.
    step: float = 0.05
    entropy: float = 0.01  # what the entropy of a choice is worth, in rewards
    curriculum: bool = True  # by reward, begin with targets at most one folder deep, then two
    negatives: bool = True  # the teacher reads in vain before it reads a right file
    reflections: bool = True  # the policy is told what was read
    judge: str = LEARNED  # how a model judges: by weights of its states that are learned first, or by its lift
    precision: str = "auto"  # what a model reads with: bf16, fp32, or whichever is faster on this machine


def questions_about(repositories: Sequence[str]) -> RecallQuestions:
    """Return what a player of some repositories learns from; raise `UsageError` where nothing is asked about them."""
    folders = folders_of(repositories)
    found = RecallQuestions(folders, *(questions_of(split, folders) for split in ("known_train", "known_validation")))
    if not found.train or not found.validation:
        raise UsageError("no training question is about these repositories: use `reflect-rl remember` and recall:FILE")
    return found


def folders_of(repositories: Sequence[str]) -> dict[str, Path]:
    from natlang_envs.autoexplore.dataset.catalogue import catalogue, repository_folder
    from natlang_envs.repository.tree import open_repository

    known = [name for name, entry in catalogue().items() if entry.split == "train"]
    folders: dict[str, Path] = {}
    for given in [name for each in repositories for name in (known if each == KNOWN else [each])]:
        if Path(given).is_dir() and given not in catalogue():
            opened = open_repository(given)
            folder, name = opened.path, opened.name
        else:
            name = require_choice("repository, and no folder", given, (KNOWN, *catalogue()))
            folder = repository_folder(name)
        if folders.setdefault(name, folder) != folder:
            raise UsageError(f"two folders are called {name}: learn a memory of each")
    return folders


def questions_of(split: str, folders: Container[str]) -> list[Label]:
    """Return the questions of a split for learning that are about some repositories."""
    from natlang_envs.autoexplore.dataset.shipped import load_labels, part_named

    if split == NONE:
        return []
    check_learning_split(split, allow_test=False)
    return [label for label in load_labels(part_named(split)) if label.repository in folders]
