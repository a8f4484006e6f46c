"""The result that replay derives from a recording, and the ledger that keeps it with the date of the replay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from leaderboard.schema import Digest, Strict, read_as
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.statistics import Interval, Score, success_interval
from natlang_envs.files import write_whole

LEDGER_FILE = "ledger.json"
_MAX_LEDGER_BYTES = 64 * 1024 * 1024
Rate = Annotated[float, Field(ge=0, le=1)]


class ReplayResult(Strict):
    trajectories_sha256: Digest
    protocol_digest: Digest
    env_id: str  # the environment, its version included
    package: str  # the version of natlang_envs that replayed it
    date: str  # the day of the replay, `YYYY-MM-DD`
    episodes_sha256: Digest  # a digest of all episodes, reflections included; entries that share it are copies
    actions_sha256: Digest  # a digest of the actions alone
    success_rate: Rate
    low: Rate
    high: Rate
    mean_return: float
    mean_steps: float
    mean_regret: float | None  # mean number of steps beyond the environment's plan, over successful episodes
    invalid_rate: Rate  # the share of the actions that were not among the listed commands
    # One character an episode, in the order of the protocol: 1 for success, 0 for none.
    outcomes: Annotated[str, Field(pattern=r"^[01]*$")]
    # The number of commands that did nothing, or lost a game, by cause; None where the environment gives no reasons, or
    # an earlier version replayed it.
    failed_commands: dict[str, int] | None = None
    failed_episodes: dict[str, int] | None = None  # the number of failed episodes by reason; None as above

    def score(self, protocol: Protocol) -> Score:
        return Score(
            success_rate=self.success_rate,
            interval=Interval(self.low, self.high),
            episodes=len(self.outcomes),
            tasks=len({episode.task_id for episode in protocol.episodes}),
            mean_return=self.mean_return,
            mean_steps=self.mean_steps,
            mean_regret=self.mean_regret,
        )

    def by_task(self, protocol: Protocol) -> dict[str, list[bool]]:
        found: dict[str, list[bool]] = {}
        runs = len(self.outcomes) // max(1, len(protocol.episodes))
        for (episode, _), outcome in zip(protocol.plays(runs), self.outcomes, strict=True):
            found.setdefault(episode.task_id, []).append(outcome == "1")
        return found


@dataclass(frozen=True)
class KindScore:
    kind: str
    success_rate: float
    interval: Interval
    episodes: int


def kinds_of(protocol: Protocol) -> dict[str, dict[str, str]]:
    """Return the kinds of each task by heading, such as `{"Depth": "2"}`; needs no data."""
    return {each.task_id: protocol.task_kinds(each.task_id) for each in protocol.episodes}


def by_kind(result: ReplayResult, protocol: Protocol, kinds: dict[str, dict[str, str]]) -> dict[str, list[KindScore]]:
    """Return the success by heading and kind of task; `kinds` is `kinds_of(protocol)`.

    A heading under which all tasks are of one kind is left out.
    """
    found: dict[str, dict[str, list[list[bool]]]] = {}
    for task, outcomes in result.by_task(protocol).items():
        for heading, kind in kinds[task].items():
            found.setdefault(heading, {}).setdefault(kind, []).append(outcomes)
    return {
        heading: [_kind_score(kind, groups[kind]) for kind in sorted(groups)]
        for heading, groups in found.items()
        if len(groups) > 1
    }


def _kind_score(kind: str, groups: list[list[bool]]) -> KindScore:
    episodes = sum(map(len, groups))
    return KindScore(kind, sum(map(sum, groups)) / episodes, success_interval(groups), episodes)


def read_ledger(path: Path) -> dict[str, ReplayResult]:
    """Return the results of earlier replays, by entry; none if there is no ledger."""
    return read_as(path, TypeAdapter(dict[str, ReplayResult]), _MAX_LEDGER_BYTES, missing={})


def write_ledger(path: Path, results: dict[str, ReplayResult]) -> None:
    """Write a ledger, one entry a line, sorted, so that two branches merge."""
    lines = ",\n".join(f'"{name}": {results[name].model_dump_json(exclude_defaults=True)}' for name in sorted(results))
    write_whole(path, f"{{\n{lines}\n}}\n".encode())
