"""Policy-gradient algorithms for line 34 of Algorithm 1.

methods          REINFORCE (the paper's), PPO, RLOO, GRPO and GiGPO
policy_gradient  shared: advantages, log-probabilities, one optimizer step

An algorithm is a function `update(learner, episodes) -> Update`. Another package registers its own in the entry-point
group `natlang_envs.algorithms`; `rl.algorithm` then names it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from natlang_envs.errors import one_of

GROUP = "natlang_envs.algorithms"
_OWN = ("reinforce", "ppo", "rloo", "grpo", "gigpo")


def check_algorithm(name: str) -> None:
    """Raise `UsageError` unless an algorithm has this name; none is imported."""
    if name not in _OWN:
        one_of("rl.algorithm", name, (*_OWN, *sorted(entry_points(group=GROUP).names)))


def load_algorithm(name: str) -> Any:
    """Return the update function of an algorithm; errors as `check_algorithm`."""
    check_algorithm(name)
    if name in _OWN:
        return getattr(import_module(f"{__name__}.methods"), name)
    (entry,) = entry_points(group=GROUP, name=name)
    return entry.load()
