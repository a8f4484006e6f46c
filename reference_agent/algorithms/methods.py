"""The algorithms for line 34 of Algorithm 1: REINFORCE, PPO, RLOO, GRPO and GiGPO.

REINFORCE takes one update a minibatch on the reward-to-go. The paper leaves the estimator open and updates the steps of
a trajectory last to first, as this does. An optional baseline, the batch's mean reward-to-go at the same step, reduces
the variance; advantages with a baseline are divided by their standard deviation.

PPO takes several updates on a batch, with a clipped probability ratio; its epochs end early when the policy is too far
from the one that sampled. With a critic (`critic`), a linear value head on the policy's last state, the advantage is
the generalised advantage estimate; a truncated episode counts as ended. Appendix A found PPO unstable:
see `rl.dropout`. With `reference_kl` the loss also holds KL(policy || policy before RL): summed over all listed
commands, or estimated from the sampled ones by r (exp(x) - 1 - x), where x is log(policy before RL / policy), and r is
policy / policy that sampled, through which the gradient passes too.

The others compare the `group` episodes of a task. RLOO and GRPO give all decisions of an episode one advantage, and
skip groups whose returns are equal. RLOO's is the return minus the mean of the others, undivided: dividing would give
most weight to tasks that are almost solved or almost hopeless. GRPO's is the return minus the group's mean, divided by
its standard deviation. GiGPO adds a second level: where several steps of the group met the same p(s), their
rewards-to-go are compared too, so that one wrong step does not blame the right ones before it. Simplified: neither
level is divided. RLOO takes one update a minibatch, the others PPO's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from natlang_envs.errors import UsageError
from reference_agent.algorithms import Algorithm, AlgorithmSettings
from reference_agent.algorithms import policy_gradient as pg
from reference_agent.algorithms.policy_gradient import Learner, Transition, Update
from reference_agent.models.language_model import LanguageModel
from reference_agent.rollout import Episode
from reference_agent.run.bounds import at_least, choice, positive, refuse_given
from reference_agent.run.config import RLConfig

GAE = 0.95  # λ of generalised advantage estimation
VALUE_WEIGHT = 0.5  # of the critic's squared error


@dataclass(frozen=True)
class ReinforceSettings(AlgorithmSettings):
    """Settings of REINFORCE.

    Attributes:
        baseline: Baseline of the reward-to-go: `"none"` or `"step"`, the batch's mean at the same step.
    """

    baseline: str = choice("step", "none")

    def check(self, batch: int) -> None:
        if batch == 1 and self.baseline == "step":
            raise UsageError("rl.batch 1 leaves the baseline 'step' nothing to compare: raise it, or set 'none'")


@dataclass(frozen=True)
class RLOOSettings(AlgorithmSettings):
    """Settings of RLOO.

    Attributes:
        group: Episodes of each task in a batch.
    """

    group: int = at_least(2, 8)


@dataclass(frozen=True)
class PassesSettings(AlgorithmSettings):
    """Settings of several updates on a batch.

    Attributes:
        epochs: Passes over an iteration's decisions, each in shuffled minibatches.
        clip: Clipping range of the probability ratio.
        target_kl: KL(sampling policy || current policy), in nats, at which an iteration ends early; 0 for never.
        reference_kl: Weight of KL(policy || policy before RL) in the loss.
        exact_kl: Whether that distance is summed over all listed commands, or estimated from the sampled ones, as it
            is for a policy that writes.
    """

    epochs: int = at_least(1, 4)
    clip: float = positive(0.2)
    target_kl: float = at_least(0, 0.03)
    reference_kl: float = at_least(0, 0.0)
    exact_kl: bool = True

    def check(self, batch: int) -> None:
        if not self.reference_kl:
            refuse_given(self, ("exact_kl",), "without reference_kl")


@dataclass(frozen=True)
class PPOSettings(PassesSettings):
    """Settings of PPO: those of its passes, and how it computes advantages.

    Attributes:
        baseline: As in REINFORCE.
        critic: Whether there is a value head, whose advantages replace `baseline`.
    """

    baseline: str = choice("step", "none")
    critic: bool = False

    def check(self, batch: int) -> None:
        super().check(batch)
        if self.critic:
            refuse_given(self, ("baseline",), "beside a critic")
        else:
            ReinforceSettings(self.baseline).check(batch)


@dataclass(frozen=True)
class GroupPassesSettings(PassesSettings):
    """Settings of GRPO and GiGPO: those of PPO's passes, and `group`, the episodes of each task in a batch."""

    group: int = at_least(2, 8)


def reinforce(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take one pass over the batch in minibatches, last steps first, with one update a minibatch."""
    transitions = pg.centred(episodes, learner.config)
    return _one_pass(learner, pg.shared(episodes, transitions, learner.config))


def ppo(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take up to `epochs` passes over the batch in shuffled minibatches, with centred and scaled advantages."""
    if learner.critic is None:
        transitions = pg.centred(episodes, learner.config)
    else:
        transitions = judged(learner, episodes)
        # A critic that has not learned yet is no baseline: all that was rewarded would be made likelier.
        mean = float(np.mean([each.advantage for each in transitions])) if len(transitions) > 1 else 0.0
        transitions = pg.scaled([each._replace(advantage=each.advantage - mean) for each in transitions])
    return several_passes(learner, pg.shared(episodes, transitions, learner.config))


def rloo(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take one pass over the groups whose returns differ, last steps first."""
    config = learner.config
    transitions = leave_one_out(episodes, config.group, config.reward_scale, config.discount)
    return _those_that_differ(learner, episodes, transitions, _one_pass)


def grpo(learner: Learner, episodes: Sequence[Episode]) -> Update:
    transitions = compared(episodes, learner.config.group, learner.config.discount)
    return _those_that_differ(learner, episodes, transitions, several_passes)


def gigpo(learner: Learner, episodes: Sequence[Episode]) -> Update:
    transitions = pg.scaled(credit(episodes, learner.config))
    return several_passes(learner, pg.shared(episodes, transitions, learner.config))


def make_critic(policy: LanguageModel) -> torch.nn.Linear:
    """Return a value head that says 0 of every state until it is trained."""
    critic = torch.nn.Linear(policy.model.get_output_embeddings().weight.shape[1], 1)
    torch.nn.init.zeros_(critic.weight)
    torch.nn.init.zeros_(critic.bias)
    return critic


@torch.no_grad()
def judged(learner: Learner, episodes: Sequence[Episode]) -> list[Transition]:
    """Return every decision with the critic's advantage, and the value the critic should have named."""
    transitions = [Transition(step, decision, 0.0) for each in episodes for step, decision in enumerate(each.decisions)]
    values: list[float] = []
    for each in pg.choices_in_parts(learner, transitions):
        assert each.values is not None
        values += each.values.tolist()
    first, discount = 0, learner.config.discount
    for episode in episodes:
        following = advantage = 0.0
        for index in reversed(range(first, first + len(episode.rewards))):
            reward = episode.rewards[index - first] / learner.config.reward_scale
            advantage = reward + discount * following - values[index] + discount * GAE * advantage
            following = values[index]
            transitions[index] = transitions[index]._replace(advantage=advantage, target=advantage + values[index])
        first += len(episode.rewards)
    return transitions


def leave_one_out(episodes: Sequence[Episode], size: int, scale: float, discount: float = 1.0) -> list[Transition]:
    # The return less the mean of the others is the return less the mean of all, size / (size - 1) times.
    return _whole_returns(episodes, size, discount, lambda gained: (gained - gained.mean()) / scale * size / (size - 1))


def compared(episodes: Sequence[Episode], size: int, discount: float = 1.0) -> list[Transition]:
    return _whole_returns(episodes, size, discount, lambda gained: (gained - gained.mean()) / gained.std())


def credit(episodes: Sequence[Episode], config: RLConfig) -> list[Transition]:
    """Return every decision with its episode's advantage plus its state's."""
    transitions: list[Transition] = []
    for group in _groups(episodes, config.group):
        gained = [pg.rewards_to_go(each.rewards, config.reward_scale, config.discount).tolist() for each in group]
        mean = float(np.mean([each[0] for each in gained]))
        met: dict[str, list[float]] = defaultdict(list)
        for episode, togo in zip(group, gained, strict=True):
            for decision, value in zip(episode.decisions, togo, strict=True):
                met[decision.state].append(value)
        transitions += [
            Transition(step, decision, togo[0] - mean + (togo[step] - float(np.mean(met[decision.state]))))
            for episode, togo in zip(group, gained, strict=True)
            for step, decision in enumerate(episode.decisions)
        ]
    return pg.last_first(transitions)


def _groups(episodes: Sequence[Episode], size: int) -> list[Sequence[Episode]]:
    if size < 2:
        raise UsageError("groups of one episode compare nothing: give Algorithm(update, RLOOSettings, compares=True)")
    return [episodes[first : first + size] for first in range(0, len(episodes), size)]


def _whole_returns(
    episodes: Sequence[Episode],
    size: int,
    discount: float,
    advantage: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> list[Transition]:
    transitions: list[Transition] = []
    for group in _groups(episodes, size):
        if not pg.differ(group, discount):
            continue
        returns = np.array([pg.whole_return(each.rewards, discount) for each in group])
        transitions += [
            Transition(step, decision, better)
            for episode, better in zip(group, advantage(returns).tolist(), strict=True)
            for step, decision in enumerate(episode.decisions)
        ]
    return pg.last_first(transitions)


def _those_that_differ(
    learner: Learner,
    episodes: Sequence[Episode],
    transitions: list[Transition],
    passes: Callable[[Learner, list[Transition]], Update],
) -> Update:
    """Update on the transitions, if there are any, and tell the share of decisions that were skipped."""
    total = sum(len(each.decisions) for each in episodes)
    transitions = pg.shared(episodes, transitions, learner.config)
    result = passes(learner, transitions) if transitions else Update(updates=0)
    return result._replace(skipped=1 - len(transitions) / total)


def _one_pass(learner: Learner, transitions: Sequence[Transition]) -> Update:
    """Take one update a minibatch, in the order of the transitions, whose advantages are used as they are."""

    def loss_of(part: Sequence[Transition]) -> tuple[Tensor, tuple[float, ...]]:
        chosen, entropy, *_ = pg.choices(learner, part)
        weight = chosen.new_tensor([each.advantage for each in part])
        return -(weight * chosen).mean() - learner.config.entropy * entropy, (float(entropy.detach()),)

    parts = [pg.step(learner, batch, loss_of) for batch in pg.minibatches(transitions, learner)]
    loss, norm, entropy = np.asarray(parts).mean(axis=0).tolist()
    return Update(loss, pg.known_entropy(learner, entropy), norm)


def several_passes(learner: Learner, transitions: Sequence[Transition]) -> Update:
    """Take up to `epochs` passes over decisions whose advantages are used as they are."""
    config, own = learner.config, learner.config.options
    if own.reference_kl > 0:
        transitions = pg.with_reference(learner, transitions)

    def loss_of(part: Sequence[Transition]) -> tuple[Tensor, tuple[float, ...]]:
        now = pg.choices(learner, part)
        chosen, entropy, values = now.chosen, now.entropy, now.values
        weight = chosen.new_tensor([each.advantage for each in part])
        moved = chosen - chosen.new_tensor([each.decision.log_probability for each in part])
        ratio = moved.exp()
        surrogate = torch.minimum(ratio * weight, ratio.clamp(1 - own.clip, 1 + own.clip) * weight)
        kl = (ratio - 1 - moved).detach().mean()
        clipped = ((ratio - 1).abs() > own.clip).float().mean()
        loss = -surrogate.mean() - config.entropy * entropy
        if values is not None:
            targets = values.new_tensor([each.target for each in part])
            loss = loss + VALUE_WEIGHT * (values - targets).square().mean()
        watched = (float(entropy.detach()), float(kl), float(clipped))
        if not own.reference_kl:
            return loss, watched
        distance = pg.distance(learner, now, part)
        return loss + own.reference_kl * distance, (*watched, float(distance.detach()))

    parts: list[list[float]] = []
    shuffled = (
        batch
        for _ in range(own.epochs)
        for batch in pg.minibatches([transitions[at] for at in learner.rng.permutation(len(transitions))], learner)
    )
    for batch in shuffled:
        parts.append(pg.step(learner, batch, loss_of))
        if 0 < own.target_kl < parts[-1][3]:
            break
    loss, norm, entropy, kl, clipped, *distance = np.asarray(parts).mean(axis=0).tolist()
    away_now = distance[0] if distance else None
    return Update(loss, pg.known_entropy(learner, entropy), norm, kl, clipped, len(parts), reference_kl=away_now)


ALGORITHMS = {
    "reinforce": Algorithm(reinforce, ReinforceSettings),
    "ppo": Algorithm(ppo, PPOSettings),
    "rloo": Algorithm(rloo, RLOOSettings, compares=True),
    "grpo": Algorithm(grpo, GroupPassesSettings, compares=True),
    "gigpo": Algorithm(gigpo, GroupPassesSettings, compares=True),
}
