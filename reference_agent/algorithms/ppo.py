"""PPO for line 34 of Algorithm 1: several updates on a batch, with a clipped probability ratio.

The epochs over the batch end early when the policy is too far from the one that sampled. Without a critic the advantage
is REINFORCE's; with one (`rl.critic`), a linear value head on the policy's last state, it is the generalised advantage
estimate, undiscounted. A truncated episode counts as ended. Appendix A found PPO unstable: see `rl.dropout`. With
`rl.reference_kl` the loss also holds the distance to the policy before RL: exp(x) - 1 - x, where x is the difference of
log-probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reference_agent.algorithms.policy_gradient import (
    Learner,
    Transition,
    Update,
    centred,
    choices,
    choices_in_parts,
    known_entropy,
    minibatches,
    scaled,
    step,
    with_reference,
)
from reference_agent.models.language_model import LanguageModel
from reference_agent.rollout import Episode

GAE = 0.95  # λ of generalised advantage estimation
VALUE_WEIGHT = 0.5  # of the critic's squared error


def make_critic(policy: LanguageModel) -> torch.nn.Linear:
    """Return a value head that says 0 of every state until it is trained."""
    critic = torch.nn.Linear(policy.model.get_output_embeddings().weight.shape[1], 1)
    torch.nn.init.zeros_(critic.weight)
    torch.nn.init.zeros_(critic.bias)
    return critic


def update(learner: Learner, episodes: Sequence[Episode]) -> Update:
    """Take up to `rl.epochs` passes over the batch in shuffled minibatches, with centred and scaled advantages."""
    if learner.critic is None:
        return several_passes(learner, centred(episodes, learner.config))
    transitions = judged(learner, episodes)
    # A critic that has not learned yet is no baseline: all that was rewarded would be made likelier.
    mean = float(np.mean([transition.advantage for transition in transitions])) if len(transitions) > 1 else 0.0
    return several_passes(
        learner, scaled([transition._replace(advantage=transition.advantage - mean) for transition in transitions])
    )


@torch.no_grad()
def judged(learner: Learner, episodes: Sequence[Episode]) -> list[Transition]:
    """Return every decision with the critic's advantage, and the value the critic should have named."""
    transitions = [
        Transition(number, decision, 0.0) for each in episodes for number, decision in enumerate(each.decisions)
    ]
    values: list[float] = []
    for each in choices_in_parts(learner, transitions):
        assert each.values is not None
        values += each.values.tolist()
    first = 0
    for episode in episodes:
        following = advantage = 0.0
        for index in reversed(range(first, first + len(episode.rewards))):
            reward = episode.rewards[index - first] / learner.config.reward_scale
            advantage = reward + following - values[index] + GAE * advantage
            following = values[index]
            transitions[index] = transitions[index]._replace(advantage=advantage, target=advantage + values[index])
        first += len(episode.rewards)
    return transitions


def several_passes(learner: Learner, transitions: Sequence[Transition]) -> Update:
    """Take up to `rl.epochs` passes over decisions whose advantages are used as they are."""
    config = learner.config
    if config.reference_kl > 0:
        transitions = with_reference(learner, transitions)

    def loss_of(part: Sequence[Transition]) -> tuple[Tensor, tuple[float, ...]]:
        chosen, entropy, values = choices(learner, part)
        weight = chosen.new_tensor([transition.advantage for transition in part])
        moved = chosen - chosen.new_tensor([transition.decision.log_probability for transition in part])
        ratio = moved.exp()
        surrogate = torch.minimum(ratio * weight, ratio.clamp(1 - config.ratio, 1 + config.ratio) * weight)
        kl = (ratio - 1 - moved).detach().mean()
        clipped = ((ratio - 1).abs() > config.ratio).float().mean()
        loss = -surrogate.mean() - config.entropy * entropy
        if values is not None:
            targets = values.new_tensor([transition.target for transition in part])
            loss = loss + VALUE_WEIGHT * (values - targets).square().mean()
        watched = (float(entropy.detach()), float(kl), float(clipped))
        if not config.reference_kl:
            return loss, watched
        away = chosen.new_tensor([transition.reference for transition in part]) - chosen
        distance = (away.exp() - 1 - away).mean()
        return loss + config.reference_kl * distance, (*watched, float(distance.detach()))

    parts: list[list[float]] = []
    for _ in range(config.epochs):
        order = learner.rng.permutation(len(transitions))
        for chunk in minibatches(len(transitions), learner):
            parts.append(step(learner, [transitions[index] for index in order[chunk].tolist()], loss_of))
            if 0 < config.target_kl < parts[-1][3]:
                break
        else:
            continue
        break
    loss, norm, entropy, kl, clipped, *distance = np.asarray(parts).mean(axis=0).tolist()
    away_now = distance[0] if distance else None
    return Update(loss, known_entropy(learner, entropy), norm, kl, clipped, len(parts), reference_kl=away_now)
