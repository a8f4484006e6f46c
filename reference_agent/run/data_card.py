"""The card of a data set: contents and origin, without times and paths of the machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs import __version__
from natlang_envs.errors import UsageError, reason
from natlang_envs.prompt import History


class Summary(NamedTuple):
    """One trajectory of the teacher, and numbers of its examples."""

    task_id: str
    steps: int
    success: bool
    positive: int
    negative: int  # behind a wrong action
    restarts: int  # of both kinds, without the path
    skipped: int  # wrong actions behind which the game ended or the plan got no longer


class Meter(NamedTuple):
    """A chat model's usage: answers, tokens read and written, and their cost."""

    endpoint: str
    answers: int
    from_disk: int  # answers
    read: int
    written: int
    cost: float
    left_out: dict[str, int]  # lessons that were kept out of the data, by reason


@dataclass(frozen=True)
class Card:
    """Contents and origin of a data set."""

    teacher: str
    environment: str
    env_kwargs: dict[str, Any]
    seed: int
    history: History
    collect: dict[str, Any]  # the settings, and the teacher's options
    trajectories: list[dict[str, Any]]  # each a `Summary`, by the numbers in the examples
    failed: list[dict[str, Any]]  # as above, and not in the data
    chat: dict[str, Any] | None  # a chat model's `Meter`
    natlang_envs: str = __version__

    def total(self, name: str) -> int:
        """Return the sum of a number of `Summary` over the trajectories, such as `"negative"`."""
        return sum(each[name] for each in self.trajectories)


def read_card(path: Path) -> Card:
    """Read the card of a data set. Raises `UsageError` if it is missing or damaged."""
    try:
        return Card(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"{path} is no card of a data set ({reason(error)}): delete its folder to collect again"
        ) from None


def describe(card: Card) -> str:
    positive, negative = card.total("positive"), card.total("negative")
    lines = [
        f"{positive + negative} examples of the teacher {card.teacher} in {card.environment}"
        f" ({card.env_kwargs['split']}, seed {card.seed}):",
        f"{positive} on the way of {len(card.trajectories)} trajectories, {negative} after a mistake; "
        f"{card.total('restarts')} of them without their path.",
        f"{card.total('skipped')} wrong actions were skipped, {len(card.failed)} trajectories missed their goal.",
    ]
    if card.chat:
        meter = Meter(**card.chat)
        left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(meter.left_out.items())) or "none"
        lines.append(
            f"{meter.answers} answers ({meter.from_disk} from disk): {meter.read:,} tokens read, "
            f"{meter.written:,} written, cost {meter.cost:.2f}. Lessons left out: {left_out}."
        )
    return "\n".join(lines)
