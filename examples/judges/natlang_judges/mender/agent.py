"""The judge as an agent: `natlang evaluate --agent mender:FILE`, or `mender-sample:FILE` for drawn options."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_judges.mender.desk import Desk
from natlang_judges.mender.judge import MENDER, chosen
from natlang_judges.mender.notes import Option


@dataclass
class _Game:
    """What was seen of a task up to some commands, what was answered then, and how likely each answer was."""

    desk: Desk
    task: str
    done: tuple[str, ...]
    said: str = ""
    chances: Counter[str] = field(default_factory=Counter[str])


class MenderAgent:
    """Reads, tries edits and submits as a trained judge thinks likely.

    It remembers what was shown to it, which a path does not tell. Games are known by their random numbers: two bugs may
    be reported in the same words.

    Args:
        weights: A file of `reflect-rl mend`, or what `reflect-rl publish` made of it.
        sampling: Draw each option, in place of the likeliest.

    Attributes:
        judge: What thinks.

    Raises:
        UsageError: The file cannot be read, or holds something else.
    """

    def __init__(self, weights: Path, sampling: bool = False) -> None:
        self.sampling = sampling
        self.judge = MENDER.read(weights)
        self._games: dict[np.random.Generator, _Game] = {}

    def __call__(self, view: AgentInput) -> str:
        """Return the next command."""
        return self._game(view).said

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        """Return how likely each listed command is to be drawn."""
        del reflection
        found = self._game(view).chances
        return [float(found[each]) for each in view.admissible_commands]

    def _game(self, view: AgentInput) -> _Game:
        """Return the game of a view, as far as it was shown to this agent."""
        done = tuple(step.action for step in view.path)
        last = self._games.get(view.rng)
        if last is not None and (last.task, last.done) == (view.task, done):
            return last
        if "# Test runs left" not in view.observation:
            raise UsageError("agent 'mender' mends code: give it NatLang/AutoExplore-Change-v0")
        if last is None or not done or (last.task, last.done) != (view.task, done[:-1]):
            desk = Desk(view.task, self.judge.rank)
        else:
            desk = last.desk
            if last.said != done[-1]:
                desk.plan = None
        game = self._games[view.rng] = _Game(desk, view.task, done)
        desk.look(view.observation, view.admissible_commands, *(view.path[-1] if view.path else ("", "")))

        def choose(desk: Desk, options: list[Option], numbers: np.ndarray) -> int:
            for option, chance in zip(options, self.judge.options(numbers).tolist(), strict=True):
                game.chances[desk.next(option)] += np.exp(chance)
            return chosen(self.judge, numbers, view.rng if self.sampling else None)

        game.said = game.desk.command(choose)
        game.chances = game.chances or Counter([game.said])
        return game


load, load_sampling = MENDER.loaders(MenderAgent)
