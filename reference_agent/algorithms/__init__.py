"""Policy-gradient algorithms for line 34 of Algorithm 1.

reinforce        REINFORCE on the reward-to-go, the paper's
ppo              clipped ratio, with or without a critic
groups           RLOO, GRPO and GiGPO, which compare the episodes of a task
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
_HOME = {"reinforce": "reinforce", "ppo": "ppo", "rloo": "groups", "grpo": "groups", "gigpo": "groups"}


def check_algorithm(name: str) -> None:
    """Raise `UsageError` unless an algorithm has this name; none is imported."""
    if name not in _HOME:
        one_of("rl.algorithm", name, (*_HOME, *sorted(entry_points(group=GROUP).names)))


def load_algorithm(name: str) -> Any:
    """Return the update function of an algorithm; errors as `check_algorithm`."""
    check_algorithm(name)
    if name in _HOME:
        module = import_module(f"{__name__}.{_HOME[name]}")
        return getattr(module, "update" if name == _HOME[name] else name)
    (entry,) = entry_points(group=GROUP, name=name)
    return entry.load()
