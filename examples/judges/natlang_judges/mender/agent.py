"""The mender as an agent: `natlang evaluate --agent mender:FILE`; `mender-sample:FILE` samples its options."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_judges.mender.network import MENDER
from natlang_judges.mender.options import OptionFeatures
from natlang_judges.mender.seen import Option


@dataclass
class _MenderTurn:
    """A task after some commands: what was seen, and the next command with the probability of each."""

    seen: OptionFeatures
    task: str
    done: tuple[str, ...]
    command: str = ""
    chances: Counter[str] = field(default_factory=Counter[str])


class MenderAgent:
    """Reads, tries edits and submits by a trained network.

    A path does not say what was shown, so the agent remembers it. The key of a game is its random number
    generator, since two bugs may be reported in the same words.

    Args:
        weights: A file of `reflect-rl mend`, or what `reflect-rl publish` made of it.
        sampling: Sample each option; else the most probable one is taken.

    Raises:
        UsageError: The file cannot be read, or holds something else.

    Example:
        >>> MenderAgent(Path("menders/seed0/reward.safetensors"))(view)  # doctest: +SKIP
        'open prices.py'
    """

    def __init__(self, weights: Path, sampling: bool = False) -> None:
        self.sampling = sampling
        self.network = MENDER.read(weights)
        self._turns: dict[np.random.Generator, _MenderTurn] = {}

    def __call__(self, view: AgentInput) -> str:
        return self._turn(view).command

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        found = self._turn(view).chances
        return [float(found[each]) for each in view.admissible_commands]

    def _turn(self, view: AgentInput) -> _MenderTurn:
        done = tuple(step.action for step in view.path)
        last = self._turns.get(view.rng)
        if last is not None and (last.task, last.done) == (view.task, done):
            return last
        if "# Test runs left" not in view.observation:
            raise UsageError("agent 'mender' mends code: give it NatLang/AutoExplore-Change-v0")
        if last is None or not done or (last.task, last.done) != (view.task, done[:-1]):
            seen = OptionFeatures(view.task, self.network.rank)
        else:
            seen = last.seen
            if last.command != done[-1]:
                seen.plan = None
        turn = self._turns[view.rng] = _MenderTurn(seen, view.task, done)
        seen.look(view.observation, view.admissible_commands, *(view.path[-1] if view.path else ("", "")))

        def choose(_: OptionFeatures, options: list[Option], features: np.ndarray) -> int:
            for option, chance in zip(options, self.network.log_probabilities(features).tolist(), strict=True):
                turn.chances[seen.next(option)] += np.exp(chance)
            return self.network.choose(features, view.rng if self.sampling else None)

        turn.command = seen.command(choose)
        turn.chances = turn.chances or Counter([turn.command])
        return turn


load, load_sampling = MENDER.loaders(MenderAgent)
