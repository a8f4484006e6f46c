"""Names of splits, ours and the official ones, and of task types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast, get_args

from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.errors import UsageError, is_count, require_choice

UNSEEN_PLANS = (10, 219, 308, 424)  # the floor plans of the official `valid_unseen`; all others are seen
# Seen rooms, two of each kind, that the realistic games hold out of train and validation.
HELD_OUT_PLANS = (11, 24, 223, 230, 316, 322, 408, 420)
VALIDATION_UNSEEN = "validation_unseen"

AlfredSplit = Literal[
    "train",
    "validation",
    "validation_unseen",
    "test",
    "all",
    "valid_seen",
    "valid_unseen",
    "valid_train",
    "eval_in_distribution",
    "eval_out_of_distribution",
]
OfficialSplit = Literal["train", "valid_seen", "valid_unseen", "valid_train"]
GeneratedSplit = Literal["train", "validation", "test"]
OFFICIAL_SPLITS: dict[str, OfficialSplit] = {
    "train": "train",
    "validation": "valid_seen",
    "test": "valid_unseen",
    "valid_seen": "valid_seen",
    "valid_unseen": "valid_unseen",
    "valid_train": "valid_train",
    "eval_in_distribution": "valid_seen",  # as the alfworld package calls them
    "eval_out_of_distribution": "valid_unseen",
}


def official_split(split: str) -> OfficialSplit | None:
    """Return the official name of a split, or None for `"all"`."""
    if split == VALIDATION_UNSEEN:
        raise UsageError(f"only the realistic games have the split {split!r}: pass source='realistic'")
    return OFFICIAL_SPLITS.get(require_choice("split", split, (*OFFICIAL_SPLITS, "all")))


def generated_split(split: str) -> GeneratedSplit | None:
    """Return the name of a split that games other than the official ones have, or None for `"all"`."""
    name = official_split(split)
    known: tuple[GeneratedSplit, ...] = get_args(GeneratedSplit)
    if name is None or split in known:
        return cast("GeneratedSplit | None", name and split)
    instead = "".join(f", or split={ours!r} for other games" for ours in known if OFFICIAL_SPLITS[ours] == name)
    raise UsageError(f"only the official games have the split {split!r}: pass source='official'{instead}")


def check_task_types(task_types: object) -> tuple[str, ...]:
    """Return the task types that are asked for by names or by alfworld's numbers, in their order; all for None."""
    if task_types is None:
        return TASK_TYPES
    if isinstance(task_types, str) or not (isinstance(task_types, Iterable) and task_types):
        raise UsageError(f"task_types must be a list of names such as {TASK_TYPES[0]!r}, not {task_types!r}")
    asked = {_named(each) for each in cast("Iterable[str | int]", task_types)}
    return tuple(each for each in TASK_TYPES if each in asked)


def _named(task_type: str | int) -> str:
    if isinstance(task_type, str):
        return require_choice("task type", task_type, TASK_TYPES)
    if not is_count(task_type, 1) or task_type > len(TASK_TYPES):
        raise UsageError(f"unknown task type {task_type!r}: choose a number from 1 to {len(TASK_TYPES)}, or a name")
    return TASK_TYPES[task_type - 1]
