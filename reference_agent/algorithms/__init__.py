"""Policy-gradient algorithms for line 34 of Algorithm 1.

methods          REINFORCE (the paper's), PPO, RLOO, GRPO and GiGPO, with their settings; the table of them
policy_gradient  shared: advantages, log-probabilities, one optimizer step

An algorithm is an `Algorithm`: a function, and a dataclass of the settings that it alone reads. `RLConfig` takes one,
or a function without settings. A config names it by `rl.algorithm` and has its settings in the table `rl.NAME`; another
package registers its own in the entry-point group `natlang_envs.algorithms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from natlang_envs.errors import UsageError, require_choice, require_type
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

    ```python
    RLConfig(Algorithm(my_update, MySettings), {"temperature": 0.5}, batch=64)
    ```

    Attributes:
        update: Improves the policy by a batch: `update(learner, episodes) -> Update`.
        uses: The settings that it alone reads, which are `learner.config.options`. With one called `critic` the learner
            gets a value head, with one called `reference_kl` the weights before RL.
        compares: Whether it compares the episodes of a task: `uses` then has the number of these, `group`.

    Raises:
        UsageError: `update` is no function, `uses` no class of settings, or of `compares` and `group` one is missing.
    """

    update: Callable[..., Any]
    uses: type[AlgorithmSettings] = AlgorithmSettings
    compares: bool = False

    def __post_init__(self) -> None:
        if not callable(self.update):
            raise UsageError(f"{self.update!r:.100} is no update: give a function of a Learner and its episodes")
        if not (isinstance(self.uses, type) and issubclass(self.uses, AlgorithmSettings)):
            raise UsageError(f"{self.uses!r:.100} are no settings: give a subclass of AlgorithmSettings")
        if self.compares != ("group" in [each.name for each in fields(self.uses)]):
            raise UsageError("an algorithm that compares episodes of a task has compares=True and a setting `group`")


def algorithm_names() -> list[str]:
    return [*_own(), *sorted(entry_points(group=GROUP).names)]


def load_algorithm(given: str | Algorithm | Callable[..., Any]) -> Algorithm:
    """Return an algorithm by its name, or the one that is given, of which a function has no settings."""
    if isinstance(given, Algorithm):
        return given
    if callable(given):
        ours = (each for each in _own().values() if each.update is given)
        return next(ours, None) or Algorithm(given)
    require_type(given, str, "no algorithm: give a name, a function of a Learner and its episodes, or an Algorithm")
    if given in _own():
        return _own()[given]
    require_choice("rl.algorithm", given, algorithm_names())
    (entry,) = entry_points(group=GROUP, name=given)
    found = entry.load()
    return found if isinstance(found, Algorithm) else Algorithm(found)


def algorithm_name(given: str | Algorithm | Callable[..., Any]) -> str:
    """Return the name of an algorithm in messages."""
    if isinstance(given, str):
        return given
    update = given.update if isinstance(given, Algorithm) else given
    return getattr(update, "__name__", type(update).__name__)


def registered(given: object) -> Algorithm | None:
    """Return the algorithm of another package that a name stands for; None for any other."""
    return None if not isinstance(given, str) or given in _own() else load_algorithm(given)


def _own() -> dict[str, Algorithm]:
    # Imported on first use: torch takes seconds, and `methods` imports the settings of RL.
    return import_module(f"{__name__}.methods").ALGORITHMS
