"""The judge as an agent: `natlang evaluate --agent mender:FILE`, or `mender-sample:FILE` for drawn options."""

from __future__ import annotations

from pathlib import Path

import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from reference_agent.families.autoexplore.mender.desk import Desk
from reference_agent.families.autoexplore.mender.judge import chosen, load_judge


class MenderAgent:
    """Reads, tries edits and submits as a trained judge thinks likely.

    It remembers what was shown to it, which a path does not tell.

    Args:
        weights: A file of `reflect-rl mend`.
        sampling: Draw each option, in place of the likeliest.

    Attributes:
        judge: What thinks.

    Raises:
        UsageError: The file cannot be read, or holds something else.
    """

    def __init__(self, weights: Path, sampling: bool = False) -> None:
        torch.set_num_threads(1)
        self.sampling = sampling
        self.judge = load_judge(weights)
        self._desks: dict[tuple[str, ...], Desk] = {}  # by the task and the commands before
        self._said: dict[tuple[str, ...], str] = {}

    def __call__(self, view: AgentInput) -> str:
        """Return the next command."""
        done = (view.task, *(step.action for step in view.path))
        desk = self._desk(view, done)
        rng = view.rng if self.sampling else None
        if done not in self._said:
            self._said[done] = desk.command(lambda _, __, numbers: chosen(self.judge, numbers, rng))
        return self._said[done]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        """Return how likely each listed command is to be drawn."""
        del reflection
        done = (view.task, *(step.action for step in view.path))
        desk = self._desk(view, done)
        found = dict.fromkeys(view.admissible_commands, 0.0)
        if desk.passed or desk.plan is not None or not (thought := desk.options())[0]:
            found[self(view)] = 1.0
        else:
            with torch.no_grad():
                for option, chance in zip(thought[0], self.judge.options(thought[1]).exp().tolist(), strict=True):
                    found[desk.next(option)] += chance
        return list(found.values())

    def _desk(self, view: AgentInput, done: tuple[str, ...]) -> Desk:
        """Return what was seen on the way to a view, as far as it was shown to this agent."""
        if done not in self._desks or len(done) == 1:
            if "# Test runs left" not in view.observation:
                raise UsageError("agent 'mender' mends code: give it NatLang/AutoExplore-Change-v0")
            desk = self._desks.pop(done[:-1], None) or Desk(view.task, self.judge.rank)
            last = view.path[-1] if view.path else None
            desk.look(view.observation, view.admissible_commands, *(last or ("", "")))
            self._desks[done] = desk
            for past in (done, done[:-1]):
                self._said.pop(past, None)
        return self._desks[done]


def load(argument: str, sampling: bool = False) -> MenderAgent:
    """Return the agent of `mender:FILE`."""
    if not argument:
        name = "mender-sample" if sampling else "mender"
        raise UsageError(f"agent {name} needs weights: write --agent {name}:FILE, a file of `reflect-rl mend`")
    return MenderAgent(Path(argument), sampling)


def load_sampling(argument: str) -> MenderAgent:
    """Return the agent of `mender-sample:FILE`."""
    return load(argument, sampling=True)
