"""Shared parts of the algorithms: advantages, log-probabilities of the choices, and one update in micro-batches.

Algorithms see prompts, labels, choices and rewards, no environment and no reflection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reference_agent import processes
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import WritingPolicy
from reference_agent.players import Decision
from reference_agent.rollout import Episode
from reference_agent.run.config import RLConfig

_NO_SPREAD = 1e-5  # a standard deviation of advantages that is rounding
_ROUNDING = 1e-6  # difference of two sums, as a share of the numbers added, that is rounding


Question = tuple[str, tuple[str, ...], tuple[int, ...] | None]  # a prompt, its labels, and what was written


class Learner(NamedTuple):
    """State of an update: what it changes and draws from.

    Attributes:
        policy: The policy's model.
        optimizer: Of its weights.
        config: The settings.
        rng: Shuffles minibatches; the same generator draws tasks, labels and choices.
        critic: A value head on the last position's state, if the algorithm has one.
        reference: The policy's own weights before RL, if `rl.reference_kl` holds it near them.
    """

    policy: LanguageModel
    optimizer: torch.optim.Optimizer
    config: RLConfig
    rng: np.random.Generator
    critic: torch.nn.Module | None = None
    reference: Sequence[Tensor] | None = None


class Update(NamedTuple):
    """What an iteration's updates did, as means over them; None where the algorithm has no such thing.

    Attributes:
        loss: What was minimised; None where no decision was learned from.
        entropy: Of the policy's choice, nats; None for a policy that writes.
        gradient_norm: Before it is cut.
        kl: Estimate of KL(policy that sampled || policy now), nats, before each update.
        clipped: Share of decisions whose ratio lay outside the clipping range.
        updates: Number of steps of the optimizer.
        skipped: Share of decisions that were left out of the forward pass.
        reference_kl: Estimate of KL(policy now || policy before RL), nats, before each update.
    """

    loss: float | None = None
    entropy: float | None = None
    gradient_norm: float | None = None
    kl: float | None = None
    clipped: float | None = None
    updates: float | None = None
    skipped: float | None = None
    reference_kl: float | None = None


class Transition(NamedTuple):
    """One decision of one episode.

    `target` is what the critic should have said, `reference` the choice's log-probability before RL.
    """

    step: int
    decision: Decision
    advantage: float
    target: float = 0.0
    reference: float = 0.0


class Choices(NamedTuple):
    """log π(what was chosen) [B], the mean entropy of the choices in nats, and the critic's values [B] if any.

    For a written command it is the sum over its tokens, so each of them gets the command's credit; its entropy is not
    known, and 0 here.
    """

    chosen: Tensor
    entropy: Tensor
    values: Tensor | None


def rewards_to_go(rewards: Sequence[float], scale: float) -> NDArray[np.float64]:
    """Return Σ_{t ≥ h} r_t / scale for every step h."""
    return np.cumsum(np.asarray(rewards)[::-1])[::-1] / scale


def advantages(episodes: Sequence[Episode], config: RLConfig) -> list[Transition]:
    """Return every step of every episode, last steps first, with its reward-to-go less `rl.baseline`."""
    returns = [rewards_to_go(each.rewards, config.reward_scale) for each in episodes]
    at_step: dict[int, list[float]] = {}
    for gained in returns:
        for step, value in enumerate(gained.tolist()):
            at_step.setdefault(step, []).append(value)
    means = {step: float(np.mean(values)) if config.baseline == "step" else 0.0 for step, values in at_step.items()}
    transitions = [
        Transition(step, decision, float(gained[step]) - means[step])
        for episode, gained in zip(episodes, returns, strict=True)
        for step, decision in enumerate(episode.decisions)
    ]
    return sorted(transitions, key=lambda transition: -transition.step)


def differ(episodes: Sequence[Episode]) -> bool:
    """Return whether the returns of some episodes differ by more than the rounding of their sums."""
    returns = [sum(each.rewards) for each in episodes]
    added = max(sum(map(abs, each.rewards)) for each in episodes)
    return max(returns) - min(returns) > _ROUNDING * added


def scaled(transitions: Sequence[Transition]) -> list[Transition]:
    """Return advantages divided by their standard deviation; unchanged if that is about zero.

    A baseline must have been subtracted, so that they are about zero where nothing went better than expected: equal
    returns would be divided by about zero, and all actions made likelier.
    """
    spread = float(np.std([transition.advantage for transition in transitions]))
    if spread < _NO_SPREAD:
        return list(transitions)
    return [transition._replace(advantage=transition.advantage / (spread + 1e-6)) for transition in transitions]


def centred(episodes: Sequence[Episode], config: RLConfig) -> list[Transition]:
    """Return `advantages`, scaled if a baseline was subtracted."""
    transitions = advantages(episodes, config)
    return transitions if config.baseline == "none" else scaled(transitions)


def choices(learner: Learner, transitions: Sequence[Transition]) -> Choices:
    """Return the policy's present view of the transitions' choices."""
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
    return Choices(chosen, entropy, values)


def choices_in_parts(learner: Learner, transitions: Sequence[Transition]) -> Iterator[Choices]:
    """Yield `choices` of `rl.microbatch` transitions at a time."""
    size = learner.config.microbatch or len(transitions)
    for first in range(0, len(transitions), size):
        yield choices(learner, transitions[first : first + size])


@torch.no_grad()
def with_reference(learner: Learner, transitions: Sequence[Transition]) -> list[Transition]:
    """Return the transitions with what the policy before RL thought of their choices."""
    with _before_rl(learner):
        said = [value for each in choices_in_parts(learner, transitions) for value in each.chosen.tolist()]
    return [transition._replace(reference=each) for transition, each in zip(transitions, said, strict=True)]


@contextmanager
def _before_rl(learner: Learner) -> Generator[None]:
    """Let the policy compute with its weights before RL, and without dropout."""
    assert learner.reference is not None
    model, weights = learner.policy.model, learner.policy.parameters()
    training, now = model.training, [weight.data for weight in weights]
    model.eval()
    for weight, before in zip(weights, learner.reference, strict=True):
        weight.data = before
    try:
        yield
    finally:
        for weight, kept in zip(weights, now, strict=True):
            weight.data = kept
        model.train(training)


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
    questions = list(asked.values())
    size = min(size or len(questions), ceil(len(questions) / processes.count()))
    return [
        [transition for same in questions[first : first + size] for transition in same]
        for first in range(0, len(questions), size)
    ]


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

    norm = learner.policy.descend(learner.optimizer, losses(), learner.config.clip, together=True)
    loss, *watched = np.sum(processes.gather(means), axis=0).tolist()
    return [loss, norm, *watched]


def minibatches(count: int, learner: Learner) -> list[NDArray[np.int64]]:
    """Return the indices 0 .. count - 1, split into minibatches of about `rl.minibatch`, in order."""
    return np.array_split(np.arange(count), max(1, round(count / learner.config.minibatch)))
