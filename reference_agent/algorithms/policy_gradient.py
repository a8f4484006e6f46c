"""Shared parts of the algorithms: advantages, log-probabilities of the choices, and one update in micro-batches.

Algorithms see prompts, labels, choices and rewards, no environment and no reflection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import ceil
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from reference_agent import processes
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import WritingPolicy
from reference_agent.players import PolicyDecision
from reference_agent.rollout import Episode
from reference_agent.run.config import RLConfig

_NO_SPREAD = 1e-5  # a standard deviation of advantages that is rounding
_ROUNDING = 1e-6  # difference of two sums, as a share of the numbers added, that is rounding

Question = tuple[str, tuple[str, ...], tuple[int, ...] | None]  # a prompt, its labels, and what was written


class Learner(NamedTuple):
    """State of an update: what it changes and draws from.

    An algorithm `update(learner, episodes) -> Update` gets one, and the `config.batch` episodes of an iteration:

    ```python
    def update(learner, episodes):
        def loss_of(part):
            chosen = pg.choices(learner, part).chosen  # log-probabilities [len(part)]
            weight = chosen.new_tensor([each.advantage for each in part])
            return -(weight * chosen).mean(), ()
        loss, norm = pg.step(learner, pg.centred(episodes, learner.config), loss_of)
        return Update(loss, gradient_norm=norm, updates=1)
    ```

    where `pg` is `reference_agent.algorithms.policy_gradient`.

    Attributes:
        policy: The policy, whose `parameters()` are trained.
        optimizer: AdamW on them.
        config: The settings; `config.options` are those of the algorithm.
        rng: Shuffles minibatches; the same generator draws tasks, labels and choices.
        critic: A value head on the last position's state, if the algorithm has a setting `critic`, and it is True.
        reference: The policy's weights before RL, if the algorithm has a setting `reference_kl`, and it is above 0.
    """

    policy: LanguageModel
    optimizer: torch.optim.Optimizer
    config: RLConfig
    rng: np.random.Generator
    critic: torch.nn.Module | None = None
    reference: Sequence[Tensor] | None = None


class Update(NamedTuple):
    """What an iteration's updates did, as means over them; None where the algorithm has no such thing."""

    loss: float | None = None  # None where no decision was learned from
    entropy: float | None = None  # of the policy's choice, nats; None for a policy that writes
    gradient_norm: float | None = None  # before it is cut
    kl: float | None = None  # estimate of KL(policy that sampled || policy now), nats, before each update
    clipped: float | None = None  # share of decisions whose ratio lay outside the clipping range
    updates: float | None = None  # steps of the optimizer
    skipped: float | None = None  # share of decisions that were left out of the forward pass
    reference_kl: float | None = None  # estimate of KL(policy now || policy before RL), nats, before each update


class Transition(NamedTuple):
    """One decision of one episode."""

    step: int
    decision: PolicyDecision
    advantage: float
    target: float = 0.0  # what the critic should have said
    reference: float = 0.0  # the choice's log-probability before RL
    listed: tuple[float, ...] = ()  # and those of all listed commands, with `exact_kl`


class Choices(NamedTuple):
    """The policy's view of B choices. All tokens of a written command get its credit; its entropy is unknown, and 0."""

    chosen: Tensor  # log π of what was chosen [B]: of a written command, the sum over its tokens
    entropy: Tensor  # the mean, nats
    values: Tensor | None  # the critic's [B]
    listed: Tensor | None = None  # log π of all listed commands [B, K], -inf where there are fewer


def rewards_to_go(rewards: Sequence[float], scale: float, discount: float = 1.0) -> NDArray[np.float64]:
    """Return Σ_{t ≥ h} discount^(t - h) r_t / scale for every step h."""
    following, gained = 0.0, list[float]()
    for reward in reversed(rewards):
        following = reward + discount * following
        gained.append(following)
    return np.asarray(gained[::-1]) / scale


def whole_return(rewards: Sequence[float], discount: float = 1.0) -> float:
    return sum(reward * discount**step for step, reward in enumerate(rewards))


def advantages(episodes: Sequence[Episode], config: RLConfig) -> list[Transition]:
    """Return every step of every episode, last steps first, with its reward-to-go less the `baseline`.

    An algorithm without a setting of that name has the baseline `"step"`.
    """
    returns = [rewards_to_go(each.rewards, config.reward_scale, config.discount).tolist() for each in episodes]
    means = [0.0] * max(map(len, returns))
    if _baseline(config) == "step":
        means = [float(np.mean([each[at] for each in returns if at < len(each)])) for at in range(len(means))]
    return last_first(
        Transition(step, decision, gained[step] - means[step])
        for episode, gained in zip(episodes, returns, strict=True)
        for step, decision in enumerate(episode.decisions)
    )


def _baseline(config: RLConfig) -> str:
    return getattr(config.options, "baseline", "step")


def last_first(transitions: Iterable[Transition]) -> list[Transition]:
    return sorted(transitions, key=lambda each: -each.step)


def differ(episodes: Sequence[Episode], discount: float = 1.0) -> bool:
    """Return whether the returns of some episodes differ by more than the rounding of their sums."""
    returns = [whole_return(each.rewards, discount) for each in episodes]
    added = max(sum(map(abs, each.rewards)) for each in episodes)
    return max(returns) - min(returns) > _ROUNDING * added


def scaled(transitions: Sequence[Transition]) -> list[Transition]:
    """Return advantages divided by their standard deviation; unchanged if that is about zero.

    A baseline must have been subtracted, so that they are about zero where nothing went better than expected: equal
    returns would be divided by about zero, and all actions made likelier.
    """
    spread = float(np.std([each.advantage for each in transitions]))
    divisor = 1.0 if spread < _NO_SPREAD else spread + 1e-6
    return [each._replace(advantage=each.advantage / divisor) for each in transitions]


def centred(episodes: Sequence[Episode], config: RLConfig) -> list[Transition]:
    transitions = advantages(episodes, config)
    return transitions if _baseline(config) == "none" else scaled(transitions)


def shared(episodes: Sequence[Episode], transitions: list[Transition], config: RLConfig) -> list[Transition]:
    """Return the transitions with weights of `rl.normalise`: all tokens, or all episodes that are left, count alike."""
    if config.normalise == "token":
        return transitions
    left = {id(each.decision) for each in transitions}
    own = [{id(one): len(one.written or "_") for one in each.decisions if id(one) in left} for each in episodes]
    own = [each for each in own if each]
    mean = sum(sum(each.values()) for each in own) / max(1, len(own))
    weight = {number: mean / sum(each.values()) for each in own for number in each}
    return [each._replace(advantage=each.advantage * weight[id(each.decision)]) for each in transitions]


def choices(learner: Learner, transitions: Sequence[Transition]) -> Choices:
    asked, policy = [_question(transition) for transition in transitions], learner.policy
    different = {question: index for index, question in enumerate(dict.fromkeys(asked))}
    prompts = [prompt for prompt, _, _ in different]
    if writes := isinstance(policy, WritingPolicy):
        written = [policy.tokens_of(text) if ids is None else ids for _, (text, *_), ids in different]
        logits, states = policy.written_logits_and_states(prompts, written)
    else:
        logits, states = policy.choice_logits_and_states(prompts, [labels for _, labels, _ in different])
    which = [different[question] for question in asked]
    logits, states = logits[which], states[which]
    values = None if learner.critic is None else learner.critic(states.float())[:, 0]
    if writes:  # its one text competes with all others, and not with listed ones
        return Choices(logits, logits.new_zeros(()), values)
    log_probabilities = torch.log_softmax(logits, dim=1)
    taken = torch.tensor([[transition.decision.chosen] for transition in transitions], device=logits.device)
    chosen = log_probabilities.gather(1, taken)[:, 0]
    probabilities = log_probabilities.exp()
    entropy = -(probabilities * log_probabilities.masked_fill(probabilities == 0, 0.0)).sum(dim=1).mean()
    return Choices(chosen, entropy, values, log_probabilities)


def distance(learner: Learner, now: Choices, transitions: Sequence[Transition]) -> Tensor:
    """Return the mean KL(policy now || policy before RL), nats: exact over the lists, or estimated from the choices.

    The estimate weighs each choice by how much likelier it is now than when it was sampled. Its gradient passes through
    that ratio too, which makes both value and gradient unbiased; without it the gradient would be that of
    KL(policy before RL || policy now).
    """
    if now.listed is None or not learner.config.options.exact_kl:
        away = now.chosen.new_tensor([each.reference for each in transitions]) - now.chosen
        ratio = (now.chosen - now.chosen.new_tensor([each.decision.log_probability for each in transitions])).exp()
        return (ratio * (away.exp() - 1 - away)).mean()
    before = pad_sequence([now.chosen.new_tensor(each.listed) for each in transitions], batch_first=True)
    gap = now.listed.masked_fill(now.listed.isinf(), 0.0) - before
    return (now.listed.exp() * gap).sum(dim=1).mean()


def choices_in_parts(learner: Learner, transitions: Sequence[Transition]) -> Iterator[Choices]:
    size = learner.config.microbatch or len(transitions)
    for first in range(0, len(transitions), size):
        yield choices(learner, transitions[first : first + size])


@torch.no_grad()
def with_reference(learner: Learner, transitions: Sequence[Transition]) -> list[Transition]:
    """Return the transitions with what the policy before RL, without dropout, thought of their choices."""
    assert learner.reference is not None
    model, weights = learner.policy.model, learner.policy.parameters()
    training, now = model.training, [weight.data for weight in weights]
    model.eval()
    for weight, before in zip(weights, learner.reference, strict=True):
        weight.data = before
    try:
        said = [each for part in choices_in_parts(learner, transitions) for each in _said(part)]
    finally:
        for weight, kept in zip(weights, now, strict=True):
            weight.data = kept
        model.train(training)
    exact = learner.config.options.exact_kl
    return [  # a policy that writes has listed nothing
        each._replace(reference=chosen, listed=tuple(listed[: len(each.decision.labels)]) if exact else ())
        for each, (chosen, listed) in zip(transitions, said, strict=True)
    ]


def _said(part: Choices) -> Iterator[tuple[float, list[float]]]:
    """Yield the log-probability of each choice, and those of all that was listed beside it."""
    nothing: list[list[float]] = [[]] * len(part.chosen)
    yield from zip(part.chosen.tolist(), nothing if part.listed is None else part.listed.tolist(), strict=True)


def known_entropy(learner: Learner, mean: float) -> float | None:
    """Return the mean entropy of `choices`, or None if the policy writes."""
    return None if isinstance(learner.policy, WritingPolicy) else mean


def _question(transition: Transition) -> Question:
    return transition.decision.prompt, tuple(transition.decision.labels), transition.decision.written


def _parts(transitions: Sequence[Transition], size: int) -> list[list[Transition]]:
    """Return the transitions of `size` different prompts at a time: equal ones stay together, to be computed once."""
    asked: dict[Question, list[Transition]] = {}
    for transition in transitions:
        asked.setdefault(_question(transition), []).append(transition)
    size = min(size or len(asked), ceil(len(asked) / processes.count()))
    same = list(asked.values())
    return [list(chain.from_iterable(same[first : first + size])) for first in range(0, len(same), size)]


def step(
    learner: Learner,
    transitions: Sequence[Transition],
    loss_of: Callable[[Sequence[Transition]], tuple[Tensor, tuple[float, ...]]],
) -> list[float]:
    """Take one step of the optimizer on a minibatch, `rl.microbatch` different prompts in memory at a time.

    `loss_of` gives the mean loss over some transitions, and means to watch. Processes share the work.
    Returns the loss, the norm of its gradient, and what was watched.
    """
    means: list[NDArray[np.float64]] = []

    def losses() -> Iterator[Tensor]:
        for part in processes.part(_parts(transitions, learner.config.microbatch)):
            loss, watched = loss_of(part)
            share = len(part) / len(transitions)
            means.append(share * np.asarray([float(loss.detach()), *watched]))
            yield loss * share

    norm = learner.policy.descend(learner.optimizer, losses(), learner.config.max_norm, together=True)
    loss, *watched = np.sum(processes.gather(means), axis=0).tolist()
    return [loss, norm, *watched]


def minibatches(transitions: Sequence[Transition], learner: Learner) -> list[list[Transition]]:
    parts = np.array_split(np.arange(len(transitions)), max(1, round(len(transitions) / learner.config.minibatch)))
    return [[transitions[index] for index in part.tolist()] for part in parts]
