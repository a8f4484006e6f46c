"""The data set D as it is kept: its examples, one JSON object a line, and its card: contents and origin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs import __version__
from natlang_envs.errors import UsageError, all_are, reason
from natlang_envs.files import write_whole
from natlang_envs.prompt import History

EXAMPLES, VALIDATION, CARD = "examples.jsonl", "validation.jsonl", "card.json"


@dataclass(frozen=True)
class Example:
    """One example (s, R, A(s), a) of the data set D, and its origin.

    Attributes:
        trajectory: Number of the trajectory.
        task_id: Task of the trajectory.
        negative: Whether the last step in the path is a deliberate mistake.
        restart: Whether p(s) hides the path that led to the state.
        state: p(s).
        reflection: R.
        commands: A(s), in the environment's order.
        action: a.
        shown: Whether the policy learns from it too.
    """

    trajectory: int
    task_id: str
    negative: bool
    restart: bool
    state: str
    reflection: str
    commands: tuple[str, ...]
    action: str
    shown: bool = True


def as_examples(examples: object) -> list[Example]:
    """Return a data set as a list. Raises `UsageError` if it holds something else."""
    return all_are(Example, examples, "no example: give what collect returns")


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    write_whole(path, "".join(json.dumps(as_row(each)) + "\n" for each in examples).encode())


def as_row(example: Example) -> dict[str, Any]:
    """Return an example as it is written; `shown` only where it is false, as the data of a run does not say it."""
    return {name: value for name, value in asdict(example).items() if name != "shown" or not value}


def read_examples(path: Path) -> list[Example]:
    """Read what `write_examples` wrote. Raises `UsageError` if it is missing or damaged."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        examples = [Example(**{**row, "commands": tuple(row["commands"])}) for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path} holds no reflection data ({reason(error)}): delete it to collect again") from None
    if not examples:
        raise UsageError(f"{path} holds no reflection data (it is empty): delete it to collect again")
    return examples


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
    validation: str = "none: collected by an older version"  # examples of validation tasks: how many, or why none
    known: str = "What a student can know was not counted by the version that collected."  # else the table
    natlang_envs: str = __version__

    def total(self, name: str) -> int:
        """Return the sum of a number of `Summary` over the trajectories, such as `"negative"`."""
        return sum(each[name] for each in self.trajectories)


def read_card(path: Path) -> Card:
    """Read the card of a data set. Raises `UsageError` if it is missing or damaged."""
    try:
        return Card(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} is no card ({reason(error)}): delete its folder to collect again") from None


def describe(card: Card) -> str:
    positive, negative = card.total("positive"), card.total("negative")
    lines = [
        f"{positive + negative} examples of the teacher {card.teacher} in {card.environment}"
        f" ({card.env_kwargs['split']}, seed {card.seed}):",
        f"{positive} on the way of {len(card.trajectories)} trajectories, {negative} after a mistake; "
        f"{card.total('restarts')} of them without their path.",
        f"{card.total('skipped')} wrong actions were skipped, {len(card.failed)} trajectories missed their goal.",
        f"Examples of validation tasks: {card.validation}.",
        card.known,
    ]
    if card.chat:
        meter = Meter(**card.chat)
        left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(meter.left_out.items())) or "none"
        lines.append(
            f"{meter.answers} answers ({meter.from_disk} from disk): {meter.read:,} tokens read, "
            f"{meter.written:,} written, cost {meter.cost:.2f}. Lessons left out: {left_out}."
        )
    return "\n".join(lines)
