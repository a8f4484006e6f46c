"""Policy-gradient algorithms for line 34 of Algorithm 1.

methods          REINFORCE (the paper's), PPO, RLOO, GRPO and GiGPO, with their settings; the table of them
policy_gradient  shared: advantages, log-probabilities, one optimizer step

An algorithm is an `Algorithm`: a function, and a dataclass of the settings that it alone reads. A config names it by
`rl.algorithm` and has its settings in the table `rl.NAME`. Another package registers its own in the entry-point group
`natlang_envs.algorithms`, as an `Algorithm`, or as a function without settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from natlang_envs.errors import require_choice
from natlang_envs.installed import entry_points

GROUP = "natlang_envs.algorithms"


@dataclass(frozen=True)
class AlgorithmSettings:
    """Settings of one algorithm: a subclass adds fields, whose values `reference_agent.run.bounds` limits."""

    def check(self, batch: int) -> None:
        """Raise `UsageError` if settings do not fit together, or not with `batch` episodes an iteration."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm, and its settings.

    Attributes:
        update: Improves the policy by a batch: `update(learner, episodes) -> Update`.
        uses: The settings that it alone reads, which are `learner.config.options`. With one called `critic` the learner
            gets a value head, with one called `reference_kl` the weights before RL.
        compares: Whether it compares the episodes of a task: `uses` then has the number of these, `group`.
    """

    update: Callable[..., Any]
    uses: type[AlgorithmSettings] = AlgorithmSettings
    compares: bool = False


def algorithm_names() -> list[str]:
    return [*_own(), *sorted(entry_points(group=GROUP).names)]


def load_algorithm(name: str) -> Algorithm:
    """Return an algorithm by its name.

    Raises:
        UsageError: None has this name.
    """
    if name in _own():
        return _own()[name]
    require_choice("rl.algorithm", name, algorithm_names())
    (entry,) = entry_points(group=GROUP, name=name)
    found = entry.load()
    return found if isinstance(found, Algorithm) else Algorithm(found)


def _own() -> dict[str, Algorithm]:
    # Imported on first use: torch takes seconds, and `methods` imports the settings of RL.
    return import_module(f"{__name__}.methods").ALGORITHMS
