"""Policy-gradient algorithms for line 34 of Algorithm 1.

methods          REINFORCE (the paper's), PPO, RLOO, GRPO and GiGPO; the table of them
policy_gradient  shared: advantages, log-probabilities, one optimizer step

An algorithm is a function `update(learner, episodes) -> Update`. Another package registers its own in the entry-point
group `natlang_envs.algorithms`, as a function or as an `Algorithm`; `rl.algorithm` then names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from natlang_envs.errors import require_choice

GROUP = "natlang_envs.algorithms"
# Settings of RL that some algorithms read and others do not.
SPECIFIC = ("baseline", "critic", "epochs", "ratio", "reference_kl", "reward_scale", "target_kl")


@dataclass(frozen=True)
class Algorithm:
    """An algorithm, and which settings it reads.

    Attributes:
        update: Improves the policy by a batch: `update(learner, episodes) -> Update`.
        uses: Those of `SPECIFIC` that it reads; None where that is not known.
        compares: Whether it compares the `rl.group` episodes of a task, so that there must be two or more.
    """

    update: Callable[..., Any]
    uses: tuple[str, ...] | None = None
    compares: bool = False

    @property
    def unread(self) -> tuple[str, ...]:
        """Those of `SPECIFIC` that it is known not to read."""
        return () if self.uses is None else tuple(each for each in SPECIFIC if each not in self.uses)


def load_algorithm(name: str) -> Algorithm:
    """Return an algorithm by its name.

    Raises:
        UsageError: None has this name.
    """
    own: dict[str, Algorithm] = import_module(f"{__name__}.methods").ALGORITHMS
    if name in own:
        return own[name]
    require_choice("rl.algorithm", name, (*own, *sorted(entry_points(group=GROUP).names)))
    (entry,) = entry_points(group=GROUP, name=name)
    found = entry.load()
    return found if isinstance(found, Algorithm) else Algorithm(found)
