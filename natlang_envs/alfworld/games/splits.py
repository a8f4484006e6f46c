"""The splits of ALFWorld, ours and the official names, and the choice of task types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.errors import UsageError, one_of

TaskType = Literal[
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]
UNSEEN_PLANS = (10, 219, 308, 424)  # the floor plans of the official `valid_unseen`; all others are seen

AlfredSplit = Literal["train", "validation", "test", "all", "valid_seen", "valid_unseen"]
OfficialSplit = Literal["train", "valid_seen", "valid_unseen"]
OFFICIAL_SPLITS: dict[str, OfficialSplit] = {
    "train": "train",
    "validation": "valid_seen",
    "test": "valid_unseen",
    "valid_seen": "valid_seen",
    "valid_unseen": "valid_unseen",
}


def official_split(split: str) -> OfficialSplit | None:
    """Return the official name of a split, or None for `"all"`.

    Raises:
        UsageError: There is no such split.
    """
    return OFFICIAL_SPLITS.get(one_of("split", split, (*OFFICIAL_SPLITS, "all")))


def check_task_types(task_types: Sequence[str] | None) -> tuple[TaskType, ...]:
    """Return the task types that are asked for, in their usual order; all of them for None.

    Raises:
        UsageError: The list is empty, or one of them does not exist.
    """
    known = cast("tuple[TaskType, ...]", TASK_TYPES)
    if task_types is None:
        return known
    if isinstance(task_types, str) or not task_types:
        raise UsageError(f"task_types must be a list of names such as {TASK_TYPES[0]!r}, not {task_types!r}")
    asked = {one_of("task type", each, TASK_TYPES) for each in task_types}
    return tuple(each for each in known if each in asked)
