"""Live rounds: the tasks of a month, sampled from a public text that nobody knew before; see `Protocol.live`."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from typing import NamedTuple

from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.protocols import Episode, Protocol, load_protocol, protocol_names
from natlang_envs.task_random import TaskRandom
from natlang_envs.tasks import DrawnTasks

_FINE = 2**53  # as many numbers in [0, 1) as NumPy's generators have
_MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")
_ROUND = re.compile(rf"(?P<board>[a-z0-9-]+/v[0-9]+)-(?P<month>{_MONTH.pattern})")


class Round(NamedTuple):
    """A live round: a board, and the month `YYYY-MM` of its beacon."""

    board: str
    month: str

    @property
    def name(self) -> str:
        """The name of its protocol, such as `alfworld-generated/v1-2026-12`."""
        return f"{self.board}-{self.month}"

    @property
    def opens(self) -> date:
        """The day of its beacon, in UTC."""
        return date.fromisoformat(f"{self.month}-01")


def live_boards() -> list[str]:
    """Return the boards with live rounds, sorted."""
    return [name for name in protocol_names() if not why_development(name)]


def why_development(board: str) -> str:
    """Return why a board has no live rounds; empty if it has them.

    Raises:
        UsageError: There is no such board.
    """
    return load_protocol(require_choice("board", board, protocol_names())).development


def find_round(name: str) -> Round | None:
    """Return the round with a protocol's name, or None for any other name."""
    found = _ROUND.fullmatch(name)
    if found is None or found["board"] not in protocol_names() or why_development(found["board"]):
        return None
    return Round(found["board"], found["month"])


def checked_round(board: str, month: str) -> Round:
    """Return a round, or raise `UsageError` if its board has no live rounds or this is no month."""
    if why := why_development(board):
        raise UsageError(f"{board} is a development board ({why}): choose one of {', '.join(live_boards())}")
    return Round(board, checked_month(month))


def checked_month(month: str) -> str:
    """Return a month, or raise `UsageError` if it is none."""
    if not _MONTH.fullmatch(month):
        raise UsageError(f"{month!r} is no month: write YYYY-MM, for example 2026-12")
    return month


def live_protocol(played: Round, beacon: str) -> Protocol:
    """Return the protocol of a live round, with tasks and seeds from the beacon.

    SHA-256(beacon ‖ digest of the board's protocol) is the only source of chance, so everybody makes the same one. A
    seed gives the agent's random numbers too, so an agent that samples from them alone plays a round in one way.

    Args:
        played: The board and the month.
        beacon: A public text that nobody knew before the first day of the month.

    Raises:
        UsageError: There is no such board, it has no live rounds, or the beacon is empty.
    """
    played = checked_round(*played)
    if not beacon.strip():
        raise UsageError("the beacon is empty: give the public text that the round's tasks are drawn from")
    board = load_protocol(played.board)
    random = TaskRandom(hashlib.sha256(f"{beacon.strip()}\n{board.digest}".encode()).hexdigest())
    env = board.make_env()
    tasks = unwrap(env).tasks
    assert isinstance(tasks, DrawnTasks)
    assert isinstance(board.live, int)
    seeds: dict[str, int] = {}
    while len(seeds) < board.live:
        seeds[tasks.draw_new(lambda: random.below(_FINE) / _FINE)] = random.below(2**31)
    env.close()
    return Protocol(
        played.name,
        board.env_id,
        board.kwargs,
        board.horizon,
        board.runs,
        tuple(Episode(*each) for each in seeds.items()),
        f"The live round {played.month} of {board.name}: {board.live} tasks of its kind that no list holds, "
        f"drawn from the beacon {beacon.strip()!r:.80}.",
    )
