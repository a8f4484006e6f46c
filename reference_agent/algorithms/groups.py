"""RLOO, GRPO and GiGPO for line 34 of Algorithm 1: the `rl.group` episodes of a task are compared with each other.

RLOO and GRPO give all decisions of an episode one advantage, and skip groups whose returns are equal. RLOO's is the
return minus the mean of the others, undivided: dividing would give most weight to tasks that are almost solved or
almost hopeless. GRPO's is the return minus the group's mean, divided by its standard deviation. GiGPO adds a second
level: where several steps of the group met the same p(s), their rewards-to-go are compared too, so that one wrong step
does not blame the right ones before it. Simplified: neither level is divided, and rewards are not discounted. RLOO
takes one update a minibatch, the others PPO's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from reference_agent.algorithms.policy_gradient import Learner, Transition, Update, differ, rewards_to_go, scaled
from reference_agent.algorithms.ppo import several_passes
from reference_agent.algorithms.reinforce import one_pass
from reference_agent.rollout import Episode
from reference_agent.run.config import RLConfig


def rloo(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take one pass over the groups whose returns differ, last steps first."""
    transitions = leave_one_out(episodes, learner.config.group, learner.config.reward_scale)
    return _those_that_differ(learner, episodes, transitions, one_pass)


def grpo(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take PPO's passes over the groups whose returns differ."""
    return _those_that_differ(learner, episodes, compared(episodes, learner.config.group), several_passes)


def gigpo(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take PPO's passes over the batch with the credit of both levels."""
    return several_passes(learner, scaled(credit(episodes, learner.config)))


def leave_one_out(episodes: Sequence[Episode], size: int, scale: float) -> list[Transition]:
    """Return the decisions of the groups whose returns differ, with RLOO's advantages."""
    # The return less the mean of the others is the return less the mean of all, size / (size - 1) times.
    return _whole_returns(episodes, size, lambda gained: (gained - gained.mean()) / scale * size / (size - 1))


def compared(episodes: Sequence[Episode], size: int) -> list[Transition]:
    """Return the decisions of the groups whose returns differ, with GRPO's advantages."""
    return _whole_returns(episodes, size, lambda gained: (gained - gained.mean()) / gained.std())


def credit(episodes: Sequence[Episode], config: RLConfig) -> list[Transition]:
    """Return every decision with its episode's advantage plus its state's."""
    transitions: list[Transition] = []
    for group in _groups(episodes, config.group):
        gained = [rewards_to_go(each.rewards, config.reward_scale) for each in group]
        mean = float(np.mean([each[0] for each in gained]))
        met: dict[str, list[float]] = {}
        for episode, togo in zip(group, gained, strict=True):
            for decision, value in zip(episode.decisions, togo.tolist(), strict=True):
                met.setdefault(decision.state, []).append(value)
        for episode, togo in zip(group, gained, strict=True):
            for step, decision in enumerate(episode.decisions):
                of_state = float(togo[step]) - float(np.mean(met[decision.state]))
                transitions.append(Transition(step, decision, float(togo[0]) - mean + of_state))
    return sorted(transitions, key=lambda transition: -transition.step)


def _groups(episodes: Sequence[Episode], size: int) -> list[Sequence[Episode]]:
    return [episodes[first : first + size] for first in range(0, len(episodes), size)]


def _whole_returns(
    episodes: Sequence[Episode], size: int, advantage: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> list[Transition]:
    transitions: list[Transition] = []
    for group in _groups(episodes, size):
        if differ(group):
            returns = np.array([sum(each.rewards) for each in group])
            transitions += [
                Transition(step, decision, better)
                for episode, better in zip(group, advantage(returns).tolist(), strict=True)
                for step, decision in enumerate(episode.decisions)
            ]
    return sorted(transitions, key=lambda transition: -transition.step)


def _those_that_differ(
    learner: Learner,
    episodes: Sequence[Episode],
    transitions: list[Transition],
    passes: Callable[[Learner, list[Transition]], Update],
) -> Update:
    """Update on the transitions, if there are any, and tell the share of decisions that were skipped."""
    total = sum(len(each.decisions) for each in episodes)
    result = passes(learner, transitions) if transitions else Update(updates=0)
    return result._replace(skipped=1 - len(transitions) / total)
