"""The two players together: the frozen reflector speaks, the policy chooses (Algorithm 1, lines 28 and 29)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from natlang_envs.prompt import History, PathStep, reflection_prompt, state_prompt
from reference_agent.models.language_model import LanguageModel

REMEMBERED = 50_000  # answers of the reflector; each checkpoint of RL holds them, with their prompts of some kilobytes


class Decision(NamedTuple):
    """One choice of the policy, with what is needed to compute its probability again.

    Attributes:
        state: p(s).
        prompt: p(s), α(A(s)) and the reflection; without α(A(s)) where the policy scores each action's text.
        labels: The labels listed in it; with such a policy, the actions.
        chosen: The position of the chosen one.
        reflection: The reflection, None without a reflector.
        log_probability: Of the chosen one, when it was drawn; 0 if nothing was drawn.
    """

    state: str
    prompt: str
    labels: list[str]
    chosen: int
    reflection: str | None
    log_probability: float = 0.0


class Reflector:
    """A model that is asked for each prompt once: its last answers are kept by the exact prompt.

    Args:
        model: The trained reflector.
        max_tokens: The longest reflection.
        frozen: Whether to freeze it; a policy that reflects itself learns, and then `cache` has to be cleared.
    """

    def __init__(self, model: LanguageModel, max_tokens: int, frozen: bool = True) -> None:
        self.model = model
        self.frozen = frozen
        if frozen:
            self.model.freeze()
        self.max_tokens = max_tokens
        self.cache: dict[str, str] = {}

    def reflect(self, states: Sequence[str]) -> list[str]:
        """Return a reflection for each p(s)."""
        new = sorted({state for state in states if state not in self.cache})
        if new:
            written = self.model.write([reflection_prompt(state) for state in new], self.max_tokens)
            self.cache.update(zip(new, written, strict=True))
        said = [self.cache[state] for state in states]
        for oldest in list(islice(self.cache, max(len(self.cache) - REMEMBERED, 0))):
            del self.cache[oldest]
        return said


class Answer(NamedTuple):
    """What the policy was asked in a p(s), and how it rates what is listed there.

    Attributes:
        prompt: As in `Decision`.
        labels: As in `Decision`; K of them.
        reflection: As in `Decision`.
        logits: Tensor [K].
    """

    prompt: str
    labels: list[str]
    reflection: str | None
    logits: Tensor


# By p(s) and A(s).
Answers = dict[tuple[str, tuple[str, ...]], Answer]

_JOINTS = 8  # tokens by which a text may grow where it is joined to another


def fitting_state(
    policy: LanguageModel,
    reflector: Reflector | None,
    task: str,
    path: Sequence[PathStep],
    observation: str,
    commands: Sequence[str],
    history: History,
) -> str:
    """Return p(s), cut so that both players can read it with all that stands beside it; never without its task.

    Raises:
        UsageError: Even the task alone does not fit beside the commands.
    """
    # Both players come from one base; the reflector asks for these very tokens next, so counting costs nothing.
    reader, spoken = (reflector.model, reflector.max_tokens) if reflector else (policy, 0)
    choices = policy.list_actions(commands, None)
    beside = policy.count(policy.ask("", None, choices)) + max(policy.count(choice.label) for choice in choices)
    return state_prompt(
        task,
        path,
        observation,
        history=history,
        budget=max(0, policy.positions - beside - spoken - _JOINTS),
        length=lambda state: reader.count(reflection_prompt(state) if reflector else state),
    )


def explored(log_probabilities: Tensor, explore: float) -> Tensor:
    """Return the log-probabilities [B, K] of drawing evenly with probability `explore`, else from the given ones."""
    if not explore:
        return log_probabilities
    listed = log_probabilities.isfinite()
    even = explore / listed.sum(dim=1, keepdim=True)
    mixed = torch.log((1 - explore) * log_probabilities.exp() + even)
    return mixed.masked_fill(~listed, float("-inf"))


@torch.no_grad()
def decide(
    policy: LanguageModel,
    reflector: Reflector | None,
    states: Sequence[str],
    commands: Sequence[tuple[str, ...]],
    rng: np.random.Generator | None,
    explore: float = 0.0,
    own: Sequence[np.random.Generator] | None = None,
    known: Answers | None = None,
) -> list[Decision]:
    """Let both players answer each p(s).

    Args:
        policy: The policy's model.
        reflector: The reflector, or None.
        states: p(s) of each episode.
        commands: A(s) of each episode.
        rng: Draws labels and choices (temperature 1); without it labels are in order and the likeliest is chosen.
        explore: Where choices are drawn: with this probability evenly among the listed ones.
        own: Each episode's own generator, which draws its choice in place of `rng`, so that it does not depend on the
            others; labels are in order.
        known: The policy's answers so far, while its weights stay as they are; new ones are added. Without it equal
            p(s) and A(s) are one question, too: same labels, one forward pass.
    """
    known = {} if known is None else known
    asked = list(zip(states, commands, strict=True))
    _answer(policy, reflector, [each for each in dict.fromkeys(asked) if each not in known], rng, known)
    answers = [known[each] for each in asked]
    labels = [each.labels for each in answers]
    logits = pad_sequence([each.logits for each in answers], batch_first=True, padding_value=float("-inf"))
    drawn = torch.zeros(len(answers))
    if rng is None and own is None:
        chosen: Tensor = logits.argmax(dim=1)
    else:
        if explore:
            logits = explored(torch.log_softmax(logits, dim=1), explore)
        # The largest of the logits, each with its own Gumbel noise, is a draw from their softmax.
        noise = np.zeros(tuple(logits.shape))
        if own is not None:
            for row, (each, generator) in enumerate(zip(labels, own, strict=True)):
                noise[row, : len(each)] = generator.gumbel(size=len(each))
        elif rng is not None:
            noise = rng.gumbel(size=tuple(logits.shape))
        chosen = (logits + torch.from_numpy(noise).float()).argmax(dim=1)
        drawn = torch.log_softmax(logits, dim=1).gather(1, chosen[:, None])[:, 0]
    return [
        Decision(state, answer.prompt, answer.labels, choice, answer.reflection, log_probability)
        for state, answer, choice, log_probability in zip(states, answers, chosen.tolist(), drawn.tolist(), strict=True)
    ]


def _answer(
    policy: LanguageModel,
    reflector: Reflector | None,
    new: Sequence[tuple[str, tuple[str, ...]]],
    rng: np.random.Generator | None,
    known: Answers,
) -> None:
    """Add the answers to p(s) and A(s) that are not known."""
    if not new:
        return
    states = [state for state, _ in new]
    reflections: Sequence[str | None] = reflector.reflect(states) if reflector else [None] * len(new)
    listed = [policy.list_actions(commands, rng) for _, commands in new]
    prompts = [policy.ask(*each) for each in zip(states, reflections, listed, strict=True)]
    labels = [[choice.label for choice in each] for each in listed]
    logits = policy.choice_logits(prompts, labels)
    for key, prompt, names, reflection, row in zip(new, prompts, labels, reflections, logits, strict=True):
        known[key] = Answer(prompt, names, reflection, row[: len(names)])
