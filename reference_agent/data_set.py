"""The data set D as it is kept: its examples, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from natlang_envs.errors import UsageError, all_are, reason
from natlang_envs.files import write_whole

EXAMPLES = "examples.jsonl"


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
