"""The card beside a data set: what is in it, and where it comes from. It holds no time and no path of this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.errors import UsageError
from reference_agent.config import Config


@dataclass(frozen=True)
class Played:
    """One trajectory of the teacher.

    Attributes:
        task_id: Its task.
        steps: How many steps it took.
        success: Whether it reached its goal.
        positive: Examples on its way.
        negative: Examples after a wrong action.
        restarts: Those of them, of both kinds, whose p(s) has no path.
        skipped: Wrong actions that were tried and not kept: the game ended, or the plan got no longer.
    """

    task_id: str
    steps: int
    success: bool
    positive: int
    negative: int
    restarts: int
    skipped: int


class Meter(NamedTuple):
    """What a chat model did.

    Attributes:
        endpoint: Its address.
        answers: Answers that were used, from the endpoint or from the disk.
        from_disk: Those of them that an earlier call had asked for.
        read: Tokens read for all these answers, as the endpoint counts them.
        written: Tokens written.
        cost: Of both, at the prices of the settings.
        left_out: Reason to the number of lessons that were kept out of the data for it.
    """

    endpoint: str
    answers: int
    from_disk: int
    read: int
    written: int
    cost: float
    left_out: dict[str, int]


@dataclass(frozen=True)
class Card:
    """What is in a data set.

    Attributes:
        teacher: Who reflected: "oracle", or "openai" and the model's name.
        environment: The environment's id.
        env_kwargs: Its further arguments.
        split: Where its tasks come from.
        seed: On it depend the tasks, the wrong actions and the wordings.
        history: How many steps of the path p(s) shows.
        collect: The settings of collecting.
        examples: How many there are.
        positive: Those on the teacher's way.
        negative: Those after a wrong action.
        restarts: Those of them, of both kinds, whose p(s) has no path.
        skipped: Wrong actions that were tried and not kept.
        trajectories: The trajectories, by the number that the examples give.
        failed: Trajectories that did not reach their goal, and are not in the data.
        chat: What the chat model did; None for the oracle.
        natlang_envs: The version of the package.
    """

    teacher: str
    environment: str
    env_kwargs: dict[str, Any]
    split: str
    seed: int
    history: int
    collect: dict[str, Any]
    examples: int
    positive: int
    negative: int
    restarts: int
    skipped: int
    trajectories: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    chat: dict[str, Any] | None
    natlang_envs: str


def make_card(config: Config, kept: Sequence[Played], failed: Sequence[Played], meter: Meter | None) -> Card:
    """Return the card of a collection."""
    positive, negative = sum(each.positive for each in kept), sum(each.negative for each in kept)
    environment, env_kwargs = config.demonstrations
    return Card(
        teacher=" ".join([config.collect.teacher, *([config.collect.model] if meter else [])]),
        environment=environment,
        env_kwargs=env_kwargs,
        split=config.split,
        seed=config.seed,
        history=config.history,
        collect=asdict(config.collect),
        examples=positive + negative,
        positive=positive,
        negative=negative,
        restarts=sum(each.restarts for each in kept),
        skipped=sum(each.skipped for each in kept),
        trajectories=[asdict(each) for each in kept],
        failed=[asdict(each) for each in failed],
        chat=meter._asdict() if meter else None,
        natlang_envs=_version(),
    )


def dump_card(card: Card) -> str:
    """Return a card as JSON."""
    return json.dumps(asdict(card), indent=2) + "\n"


def read_card(path: Path) -> Card:
    """Read what `dump_card` wrote.

    Raises:
        UsageError: The file is missing or is no card.
    """
    try:
        return Card(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} is no card of a data set ({error}): delete its folder to collect again") from None


def describe(card: Card) -> str:
    """Return a card in a few lines of words."""
    lines = [
        f"{card.examples} examples of the teacher {card.teacher} in {card.environment}"
        f" ({card.split}, seed {card.seed}):",
        f"{card.positive} on the way of {len(card.trajectories)} trajectories, {card.negative} after a mistake; "
        f"{card.restarts} of them without their path.",
        f"{card.skipped} wrong actions were skipped, {len(card.failed)} trajectories did not reach their goal.",
    ]
    if card.chat:
        meter = Meter(**card.chat)
        left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(meter.left_out.items())) or "none"
        lines.append(
            f"{meter.answers} answers ({meter.from_disk} from disk): {meter.read:,} tokens read, "
            f"{meter.written:,} written, cost {meter.cost:.2f}. Lessons left out: {left_out}."
        )
    return "\n".join(lines)


def _version() -> str:
    try:
        return version("natlang-envs")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "not installed"
