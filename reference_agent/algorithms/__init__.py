"""Policy-gradient algorithms for line 34 of Algorithm 1.

reinforce        REINFORCE on the reward-to-go, the paper's
rloo             leave-one-out baseline among the episodes of a task
grpo             returns compared within a task's group, PPO's updates
gigpo            episode-level and state-level advantages, PPO's updates
ppo              clipped ratio, with or without a critic
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
BUILT_IN = ("reinforce", "rloo", "ppo", "grpo", "gigpo")


def check_algorithm(name: str) -> None:
    """Raise `UsageError` unless an algorithm has this name; none is imported."""
    if name not in BUILT_IN:
        one_of("rl.algorithm", name, (*BUILT_IN, *sorted(entry_points(group=GROUP).names)))


def load_algorithm(name: str) -> Any:
    """Return the update function of an algorithm; errors as `check_algorithm`."""
    check_algorithm(name)
    if name in BUILT_IN:
        return import_module(f"{__name__}.{name}").update
    (entry,) = entry_points(group=GROUP, name=name)
    return entry.load()
