"""The two players together: the frozen reflector speaks, the policy chooses (Algorithm 1, lines 28 and 29)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy
from itertools import islice
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from natlang_envs.errors import UsageError, check_count, check_flag, require_type
from natlang_envs.evaluation import agents as evaluation
from natlang_envs.prompt import PathStep
from reference_agent.models.backbone import memory_advice
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import WritingPolicy
from reference_agent.models.served import ServedModel
from reference_agent.models.tokenizer import PromptReader
from reference_agent.state import Shown, compose

REMEMBERED = 50_000  # cached reflections, which are part of every checkpoint of RL
_DRAFTS = 32  # last reflections, which the next are drafted from
_log = logging.getLogger(__name__)


class PolicyDecision(NamedTuple):
    """One choice of the policy, with what is needed to compute its probability again."""

    state: str
    prompt: str  # p(s), α(A(s)) and the reflection; without α(A(s)) if the policy scores or writes texts
    labels: list[str]  # those listed in the prompt; or the actions, if it scores their texts; or the one text it wrote
    chosen: int
    reflection: str | None
    log_probability: float = 0.0  # of the sampled label or of the written tokens; 0 under greedy decoding
    written: tuple[int, ...] | None = None  # tokens of the text, up to the end or to where it was cut

    def command(self, listed: Sequence[str]) -> str:
        return listed[self.chosen] if self.written is None else self.labels[0]


class Reflector:
    """A model that writes reflections; greedy ones are cached by prompt while its weights stay.

    Args:
        model: The trained reflector, here or on a server.
        max_tokens: Largest number of tokens of a reflection.
        frozen: Whether to freeze it; a policy that reflects itself learns.
        sampled: Whether reflections are sampled at temperature 1 where a generator is given.

    Attributes:
        written: Number of reflections written.
        cut: Number of those that were cut at `max_tokens`.
    """

    def __init__(
        self, model: LanguageModel | ServedModel, max_tokens: int = 48, frozen: bool = True, sampled: bool = False
    ) -> None:
        require_type(model, (LanguageModel, ServedModel), "no model: give one, such as load_model() returns")
        check_flag("frozen", frozen)
        check_flag("sampled", sampled)
        self.max_tokens = check_count("max_tokens", max_tokens)
        self.model, self.sampled, self.frozen = model, sampled, frozen
        self.written = self.cut = 0
        self.cache: dict[str, str] = {}
        self._changes = model.changes()
        if frozen:
            self.freeze()

    def freeze(self) -> None:
        """Stop training the reflector's model."""
        self.frozen = True
        self.model.freeze()

    def remember(self, said: dict[str, str]) -> None:
        """Add what was written with the weights of now to the cache."""
        self.cache.update(said)
        self._changes = self.model.changes()

    def reflect(self, states: Sequence[str], draws: Sequence[np.random.Generator] | None = None) -> list[str]:
        """Return a reflection for each p(s); `draws` holds a generator for each, to sample with."""
        if self.sampled and draws is not None:
            return self._write(states, draws)
        if self._changes != (changes := self.model.changes()):
            self.cache.clear()
            self._changes = changes
        if new := sorted(set(states) - self.cache.keys()):
            self.cache.update(zip(new, self._write(new, None), strict=True))
        said = [self.cache[state] for state in states]
        for oldest in list(islice(self.cache, max(len(self.cache) - REMEMBERED, 0))):
            del self.cache[oldest]
        return said

    def _write(self, states: Sequence[str], draws: Sequence[np.random.Generator] | None) -> list[str]:
        last = list(islice(reversed(self.cache.values()), _DRAFTS))
        written = self.model.complete(list(map(self.model.ask_reflection, states)), self.max_tokens, draws, last)
        cut = sum(each.cut for each in written)
        if cut and not self.cut:
            _log.warning(
                "a reflection was cut at %d tokens: raise max_tokens (reflection_tokens in a config)", self.max_tokens
            )
        self.written, self.cut = self.written + len(written), self.cut + cut
        return [each.text for each in written]


_ROLES: WeakKeyDictionary[object, str] = WeakKeyDictionary()  # what the weights of a player have learned


def take_role(model: LanguageModel, role: str, one_model: bool) -> None:
    """Note that a model's weights learn to be the `"policy"` or the `"reflector"`."""
    known = _ROLES.setdefault(model.adapter or model.model, role)
    if known != role and not one_model:
        raise UsageError(
            f"these weights are the {known}'s, which learning to be the {role} would change: train base.copy() for "
            "each player, or pass one_model=True (appendix E.2)"
        )


def check_players(policy: LanguageModel, reflector: Reflector | None, one_model: bool) -> None:
    """Raise `UsageError` unless the players have weights of their own, or one model is asked for, and is both."""
    require_type(policy, LanguageModel, "no policy: give a model, such as load_model() returns")
    if reflector is not None:
        require_type(reflector, Reflector, "no reflector: give Reflector(model), or None")
    check_flag("one_model", one_model)
    model = reflector.model if reflector else None
    same = (
        isinstance(model, LanguageModel)
        and model.model is policy.model
        and (policy.adapter is model.adapter or None in (policy.adapter, model.adapter))
    )
    if same and not one_model:
        raise UsageError(
            "the policy and the reflector are one model: train base.copy() for each, or pass one_model=True "
            "(appendix E.2), where RL moves the reflections too"
        )
    if one_model and not same:
        raise UsageError("one_model=True, but the reflector is not the policy: leave it out, or give one model as both")


class PolicyAnswer(NamedTuple):
    """A question put to the policy, as in `PolicyDecision`, and the logits [K] of its K labels."""

    prompt: str
    labels: list[str]
    reflection: str | None
    logits: Tensor


# p(s), A(s) and the reflection.
Question = tuple[str, tuple[str, ...], str | None]
PolicyAnswers = dict[Question, PolicyAnswer]

_JOINTS = 8  # tokens by which a text may grow where it is joined to another
_LONGEST_COMMAND = 32  # tokens that a policy writes


class Speaker(NamedTuple):
    """A reflector that is not loaded: what counts its tokens, and how many it may write."""

    model: PromptReader
    max_tokens: int


def fitting_state(
    policy: PromptReader,
    reflector: Reflector | Speaker | None,
    task: str,
    path: Sequence[PathStep],
    observation: str,
    commands: Sequence[str],
    shown: Shown,
) -> str:
    """Return p(s), cut so that both players can read it with all that stands beside it; never without its task."""
    choices = policy.list_actions(commands, None)
    answer = max((policy.count(choice.label) for choice in choices), default=0)
    beside = policy.count_prompt(policy.ask("", None, choices)) + max(answer, _LONGEST_COMMAND * (not choices))
    spoken = reflector.max_tokens if reflector else 0
    budget = policy.positions - beside - spoken - _JOINTS
    if budget <= 0:
        raise UsageError(
            f"the model reads {policy.positions} tokens, which {beside} of commands and {spoken} of a reflection fill: "
            "take another model, or fewer reflection_tokens"
        )

    def length(state: str) -> int:
        # Both players come from one base; it reads these very tokens next, so counting with it costs nothing.
        return reflector.model.count_prompt(reflector.model.ask_reflection(state)) if reflector else policy.count(state)

    return compose(shown, task, path, observation, commands, budget, length)


@torch.no_grad()
def decide(
    policy: LanguageModel,
    reflector: Reflector | None,
    states: Sequence[str],
    commands: Sequence[tuple[str, ...]],
    rng: np.random.Generator | None,
    own: Sequence[np.random.Generator] | None = None,
    known: PolicyAnswers | None = None,
) -> list[PolicyDecision]:
    """Let both players answer each p(s) and A(s).

    `rng` samples labels and choices at temperature 1; without it labels are in order and decoding is greedy. `own`
    holds each episode's own generator, so that episodes do not depend on one another; labels are in order. `known`
    holds the policy's answers while its weights stay; new ones are added.
    """
    known = {} if known is None else known
    draws = own if own is not None else None if rng is None else [rng] * len(states)
    reflections: Sequence[str | None] = reflector.reflect(states, draws) if reflector else [None] * len(states)
    if isinstance(policy, WritingPolicy):
        return _written(policy, states, reflections, draws)
    asked = list(zip(states, commands, reflections, strict=True))
    answer(policy, asked, rng, known)
    answers = [known[each] for each in asked]
    logits = pad_sequence([each.logits for each in answers], batch_first=True, padding_value=float("-inf"))
    noise = np.zeros(tuple(logits.shape))
    if own is not None:
        for row, (each, generator) in enumerate(zip(answers, own, strict=True)):
            noise[row, : len(each.labels)] = generator.gumbel(size=len(each.labels))
    elif rng is not None:
        noise = rng.gumbel(size=noise.shape)
    # The largest of the logits, each with its own Gumbel noise, is a draw from their softmax.
    chosen = (logits + torch.from_numpy(noise).float()).argmax(dim=1)
    said = torch.log_softmax(logits, dim=1).gather(1, chosen[:, None])[:, 0] if draws else torch.zeros(len(answers))
    return [
        PolicyDecision(state, answer.prompt, answer.labels, choice, answer.reflection, log_probability)
        for state, answer, choice, log_probability in zip(states, answers, chosen.tolist(), said.tolist(), strict=True)
    ]


def _written(
    policy: WritingPolicy,
    states: Sequence[str],
    reflections: Sequence[str | None],
    draws: Sequence[np.random.Generator] | None,
) -> list[PolicyDecision]:
    prompts = [policy.ask(state, said, ()) for state, said in zip(states, reflections, strict=True)]
    told = policy.complete(prompts, _LONGEST_COMMAND, draws)
    scores = [0.0] * len(told)
    if draws is not None:
        scores = policy.written_logits(prompts, [each.tokens for each in told]).tolist()
    return [
        PolicyDecision(state, prompt, [each.text], 0, said, score, each.tokens)
        for state, prompt, each, said, score in zip(states, prompts, told, reflections, scores, strict=True)
    ]


def answer(
    policy: LanguageModel, asked: Sequence[Question], rng: np.random.Generator | None, known: PolicyAnswers
) -> None:
    new = [each for each in dict.fromkeys(asked) if each not in known]
    if not new:
        return
    listed = [policy.list_actions(commands, rng) for _, commands, _ in new]
    prompts = [policy.ask(state, said, choices) for (state, _, said), choices in zip(new, listed, strict=True)]
    labels = [[choice.label for choice in each] for each in listed]
    logits = policy.choice_logits(prompts, labels)
    for key, prompt, names, row in zip(new, prompts, labels, logits, strict=True):
        known[key] = PolicyAnswer(prompt, names, key[2], row[: len(names)])


_REMEMBERED_ANSWERS = 10_000  # of the policy


class PlayersAgent:
    """Two players, or a policy alone, as in training; greedy, or `sampling` at temperature 1."""

    def __init__(
        self, policy: LanguageModel, reflector: Reflector | None, shown: Shown, sampling: bool = False
    ) -> None:
        check_flag("sampling", sampling)
        self._policy, self._reflector, self.sampling = policy, reflector, sampling
        self._shown: Shown = shown
        self._policy.model.eval()
        self._known: PolicyAnswers = {}  # shared with `sampled()`, since both meet the same p(s)
        self._changes = policy.changes()

    def sampled(self) -> PlayersAgent:
        other = copy(self)
        other.sampling = True
        return other

    def act(self, views: Sequence[evaluation.AgentInput]) -> list[evaluation.Decision]:
        commands, states = [view.admissible_commands for view in views], [self._state(view) for view in views]
        own = [view.rng for view in views] if self.sampling else None
        self._forget()
        with memory_advice("while playing", "lower --batch"):
            decided = decide(self._policy, self._reflector, states, commands, None, own=own, known=self._known)
        return [
            evaluation.Decision(each.command(listed), each.reflection, self._tokens(each))
            for listed, each in zip(commands, decided, strict=True)
        ]

    def chances(self, view: evaluation.AgentInput, reflection: str | None) -> list[float]:
        """Return the probability of each command at temperature 1, with labels in order, after this reflection."""
        self._forget()
        asked = (self._state(view), view.admissible_commands, reflection)
        answer(self._policy, [asked], None, self._known)
        return torch.softmax(self._known[asked].logits.float(), 0).tolist()

    def _forget(self) -> None:
        if self._changes != (changes := self._policy.changes()) or len(self._known) > _REMEMBERED_ANSWERS:
            self._known.clear()
            self._changes = changes

    def _state(self, view: evaluation.AgentInput) -> str:
        seen = (view.task, view.path, view.observation, view.admissible_commands)
        return fitting_state(self._policy, self._reflector, *seen, self._shown)

    def _tokens(self, choice: PolicyDecision) -> int:
        """Count what both players read and wrote, as if nothing were remembered; a prompt of many actions once."""
        count = self._policy.count
        spoken = 0 if choice.reflection is None else count(choice.state) + count(choice.reflection)
        return self._policy.count_prompt(choice.prompt) + self._policy.answer_tokens(choice.labels) + spoken
