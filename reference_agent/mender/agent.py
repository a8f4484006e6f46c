"""The judge as an agent: `natlang evaluate --agent mender:FILE`, or `mender-sample:FILE` for drawn options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from reference_agent.mender.desk import Desk
from reference_agent.mender.judge import MENDER, chosen


@dataclass
class _Game:
    """What was seen in a game up to some commands, and what was answered then."""

    desk: Desk
    done: tuple[str, ...]
    said: str | None = None


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
        game = self._game(view)
        if game.said is None:
            rng = view.rng if self.sampling else None
            game.said = game.desk.command(lambda _, __, numbers: chosen(self.judge, numbers, rng))
        return game.said

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        """Return how likely each listed command is to be drawn."""
        del reflection
        desk = self._game(view).desk
        found = dict.fromkeys(view.admissible_commands, 0.0)
        if desk.passed or desk.plan is not None or not (thought := desk.options())[0]:
            found[self(view)] = 1.0
        else:
            with torch.no_grad():
                for option, chance in zip(thought[0], self.judge.options(thought[1]).exp().tolist(), strict=True):
                    found[desk.next(option)] += chance
        return list(found.values())

    def _game(self, view: AgentInput) -> _Game:
        """Return the game of a view, as far as it was shown to this agent."""
        done = tuple(step.action for step in view.path)
        game = self._games.get(view.rng)
        if game is None or game.done != done or not done:
            if "# Test runs left" not in view.observation:
                raise UsageError("agent 'mender' mends code: give it NatLang/AutoExplore-Change-v0")
            goes_on = game is not None and done and game.done == done[:-1]
            desk = game.desk if game is not None and goes_on else Desk(view.task, self.judge.rank)
            last = view.path[-1] if view.path else None
            desk.look(view.observation, view.admissible_commands, *(last or ("", "")))
            game = self._games[view.rng] = _Game(desk, done)
        return game


load, load_sampling = MENDER.loaders(MenderAgent)
