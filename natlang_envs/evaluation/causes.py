"""Why episodes fail, and why commands do: counted from recordings, which are played again with `explain=True`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.trajectory import Trajectory, play_again
from natlang_envs.why import CAUSES, ENDINGS, Why

OUT_OF_STEPS = "out of steps"
REPEATED = f"{OUT_OF_STEPS}: repeated"
_DONE = ("wrong answer", "left")  # such a command does what it says
_LOST = f"{OUT_OF_STEPS}: "


class Causes(NamedTuple):
    """Why recorded episodes and commands failed, counted.

    Attributes:
        horizon: The largest number of steps of an episode.
        commands: How many commands failed for each cause of `natlang_envs.why.CAUSES`.
        episodes: How many episodes failed for each reason; `reason_in_words` explains one.
    """

    horizon: int
    commands: Counter[str]
    episodes: Counter[str]

    def add(self, played: Trajectory, whys: list[Why | None], shown: list[str]) -> None:
        """Count an episode; `whys` and `shown` are the `info["why"]` and `info["feedback"]` of each step."""
        self.commands.update(why.cause for why in whys if why and why.cause not in _DONE)
        if not played.success:
            self.episodes[self._reason(played, whys, shown)] += 1

    def _reason(self, played: Trajectory, whys: list[Why | None], shown: list[str]) -> str:
        """Return why an episode failed: by the cause that ended it, else by what at least half of its steps were."""
        last = whys[-1] if whys else None
        # Where the last step within the horizon terminates the episode, its command need not be to blame.
        if played.terminated and last and (len(whys) < self.horizon or last.cause in ENDINGS):
            return last.cause
        failed = Counter(why.cause for why in whys if why)
        if failed and 2 * failed.total() >= len(whys):
            return _LOST + failed.most_common(1)[0][0]
        steps = list(zip(played.actions, shown, strict=True))
        return REPEATED if 2 * (len(steps) - len(set(steps))) >= len(steps) else OUT_OF_STEPS


def no_causes(protocol: Protocol) -> Causes:
    return Causes(protocol.horizon, Counter(), Counter())


def count_causes(protocol: Protocol, recorded: Iterable[Trajectory]) -> Causes:
    """Count why the episodes of a recording, and their commands, failed.

    Args:
        protocol: The protocol that was played.
        recorded: The episodes.

    Raises:
        UsageError: The environment has no reasons, or its data are not on this machine.
    """
    if not protocol.explains:
        raise UsageError(f"{protocol.env_id} does not say why commands fail: count causes of another protocol")
    found = no_causes(protocol)
    env = protocol.make_env(explain=True)
    try:
        for each in recorded:
            _, *infos = (step[4] for step in play_again(env, each))
            found.add(each, [info["why"] for info in infos], [info["feedback"] for info in infos])
    finally:
        env.close()
    return found


def reason_in_words(reason: str) -> str:
    if reason == REPEATED:
        return "out of steps, half of them or more repeated an earlier command with the same answer"
    if reason in (OUT_OF_STEPS, *CAUSES):
        return CAUSES.get(reason, "out of steps")
    return f"out of steps, half of them or more failed, most of these because {CAUSES[reason.removeprefix(_LOST)]}"
