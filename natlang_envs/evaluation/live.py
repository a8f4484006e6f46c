"""Live rounds: a month's tasks, drawn from a public text that nobody knew before, and the boards that have them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.protocols import Episode, Protocol, load_protocol
from natlang_envs.task_random import TaskRandom
from natlang_envs.tasks import DrawnTasks

TASKS = 200  # of a round
_FINE = 2**53  # as many numbers in [0, 1) as NumPy's generators have
_STARTS = "its map has 300 starts in 500 states, and a table of them all plays it"
_LABELS = "its questions and their answers are public"
_BUGS = "its bugs and their repairs are public"
_OFFICIAL = "its games are public, and so are their plans"

# Why a board has no live rounds; an empty text for one that has. Each protocol of the suite stands here, and the tasks
# of one with rounds have `draw_new`.
_WITHOUT_ROUNDS = {
    "alfworld-generated/v1": "",
    "alfworld-seen/v1": _OFFICIAL,
    "alfworld-tomato/v1": "",
    "alfworld-unseen/v1": _OFFICIAL,
    "autoexplore-change-file/v1": _BUGS,
    "autoexplore-change-free/v1": _BUGS,
    "autoexplore-change-line/v1": _BUGS,
    "autoexplore-change/v1": _BUGS,
    "autoexplore-depth1-hard/v1": _LABELS,
    "autoexplore-depth1/v1": _LABELS,
    "autoexplore-depth2-hard/v1": _LABELS,
    "autoexplore-depth2/v1": _LABELS,
    "autoexplore-hard/v1": _LABELS,
    "autoexplore-known-depth1/v1": _LABELS,
    "autoexplore-known-depth2/v1": _LABELS,
    "autoexplore-known-hard/v1": _LABELS,
    "autoexplore-known/v1": _LABELS,
    "autoexplore-search-hard/v1": _LABELS,
    "autoexplore-search/v1": _LABELS,
    "autoexplore/v1": _LABELS,
    "dangerous-taxi-dropoff-cities/v1": "",
    "dangerous-taxi-dropoff/v1": _STARTS,
    "dangerous-taxi-pickup-cities/v1": "",
    "dangerous-taxi-pickup/v1": _STARTS,
}
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
    return [name for name, why in _WITHOUT_ROUNDS.items() if not why]


def why_development(board: str) -> str:
    """Return why a board has no live rounds; empty if it has them.

    Raises:
        UsageError: There is no such board.
    """
    return _WITHOUT_ROUNDS[require_choice("board", board, _WITHOUT_ROUNDS)]


def find_round(name: str) -> Round | None:
    """Return the round of which this is the protocol's name, or None if it is none's."""
    found = _ROUND.fullmatch(name)
    return Round(found["board"], found["month"]) if found and found["board"] in live_boards() else None


def checked_round(board: str, month: str) -> Round:
    """Return a round.

    Raises:
        UsageError: There is no such board, it has no live rounds, or this is no month.
    """
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
    drawn: dict[str, int] = {}
    while len(drawn) < TASKS:
        drawn[tasks.draw_new(lambda: random.below(_FINE) / _FINE)] = random.below(2**31)
    env.close()
    return replace(
        board,
        name=played.name,
        episodes=tuple(Episode(*each) for each in drawn.items()),
        description=f"The live round {played.month} of {board.name}: {TASKS} tasks of its kind that no list holds, "
        f"drawn from the beacon {beacon.strip()!r:.80}.",
    )
