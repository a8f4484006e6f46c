"""Other heads of a policy: action scoring as in SayCan, which the paper's section 4.3 compares with, and one more.

The prompt ends where the action belongs, and lists none. An action's score is the log-probability of its text there;
the policy is the softmax of the scores over the admissible actions (Ahn et al., 2022: SayCan's language model). The
score includes the end of the text, as fine-tuning does; without it a command that is a prefix of another never scores
lower. The prompt is computed once: the actions follow one another behind it, and each attends to the prompt and itself
only. `WritingPolicy` writes its command instead.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import deepcopy
from itertools import chain, pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers.cache_utils import DynamicCache

from natlang_envs.errors import UsageError
from reference_agent.models.generation import like_length, window
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.tokenizer import TextReader
from reference_agent.run.config import Config

_PROMPT, _PADDING = 0, -1  # what a place holds, beside the numbers of actions, which begin at 1
_MANY, _PART = 1024, 256  # tokens of a prompt's actions where they are many, and of a part of them
_BEGINNINGS = (2, 4, 8, sys.maxsize)  # tokens of many actions that are read, one time after another
_NEVER = 20.0  # nats below another action at which one is not read on


class SayCanPolicy(TextReader, LanguageModel):
    """A model, which it shares, that chooses by the probability of actions' texts, `ends` included."""

    _may_be_empty = False

    def __init__(self, model: LanguageModel, ends: bool = True) -> None:
        self.__dict__.update(vars(model))
        self.ends = ends

    def choice_logits_and_states(
        self, prompts: Sequence[str], labels: Sequence[Sequence[str]]
    ) -> tuple[Tensor, Tensor]:
        """Return log-probabilities [B, K] of the actions of B prompts, and the states behind the prompts [B, width].

        A softmax makes them the policy; -inf where a prompt has fewer than K actions.
        """
        if not all(labels):
            raise UsageError("the environment lists no commands to choose from: set head = 'text'")
        if not self._may_be_empty and not all(map(self.count, chain.from_iterable(labels))):
            raise UsageError("an action without text has no probability: list another, or set head to 'labels'")
        actions = [[self.tokens_of(text) for text in each] for each in labels]
        if torch.is_grad_enabled() or max(sum(map(len, each)) for each in actions) <= _MANY:
            return self._scores(prompts, actions)
        told = [self._likely(prompt, each) for prompt, each in zip(prompts, actions, strict=True)]
        scores = pad_sequence([each for each, _ in told], batch_first=True, padding_value=float("-inf"))
        return scores, torch.stack([state for _, state in told])

    def _likely(self, prompt: str, actions: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
        """Return the scores [K] of a prompt's many actions, and the state behind it [width].

        What an action begins with is at least as probable as the action. Where that is e^20 times less probable than
        another action, which no draw can tell from never, it is the score, and the action is not read on.
        """
        self._check_length([(*(start := self.encode_prompt(prompt)), *max(actions, key=len))])
        cache, shared = self._begin([start, start], len(start) - 1)
        states = list[Tensor]()

        def scores_of(listed: Sequence[tuple[int, ...]]) -> Tensor:
            # Side by side: the time of attention grows with the square of what stands in a row.
            parts = _parts(listed)
            rows = deepcopy(cache)
            if rows is not None:
                rows.batch_select_indices(torch.zeros(len(parts), dtype=torch.long, device=self.model.device))
            told, behind = self._scores([prompt] * len(parts), [listed[part] for part in parts], (rows, shared))
            states.append(behind[0])
            return torch.cat([row[: part.stop - part.start] for row, part in zip(told, parts, strict=True)])

        scores, best, left = torch.zeros(len(actions)), -torch.inf, list(range(len(actions)))
        for length in _BEGINNINGS:
            begins = [actions[at][:length] for at in left]
            number = {begin: place for place, begin in enumerate(dict.fromkeys(begins))}
            scores[left] = scores_of(list(number))[[number[begin] for begin in begins]]
            likeliest = max(left, key=scores.__getitem__)
            best = max(best, float(scores_of([actions[likeliest]])))
            left = [at for at in left if len(actions[at]) > length and scores[at] >= best - _NEVER]
            if not left:
                break
        return scores, states[0]

    def tokens_of(self, action: str) -> tuple[int, ...]:
        return (*self.encode(action), self.end) if self.ends else self.encode(action)

    def _scores(
        self,
        prompts: Sequence[str],
        actions: Sequence[Sequence[tuple[int, ...]]],
        begun: tuple[DynamicCache | None, int] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return what `choice_logits_and_states` does, of actions' tokens; `begun` is what `_begin` told of prompts."""
        starts = [self.encode_prompt(prompt) for prompt in prompts]
        whole = [(*start, *max(each, key=len)) for start, each in zip(starts, actions, strict=True)]
        self._check_length(whole)
        if (seen := window(self.model.config)) is not None and (longest := max(map(len, whole))) > seen:
            raise UsageError(
                f"the model sees {seen} tokens back, and scoring texts shows it all {longest}: lower `history`, set "
                "head = 'labels', or use another model"
            )
        cache, shared = begun or self._begin(starts, min(map(len, starts)) - 1)

        # Lay out [B, T]: a prompt from `shared` on, then every action but for its last token, which predicts nothing.
        width = max(
            len(start) - shared + sum(len(action) - 1 for action in each)
            for start, each in zip(starts, actions, strict=True)
        )
        ids = np.full((len(starts), width), self.end)
        positions = np.zeros_like(ids)
        holds = np.full_like(ids, _PADDING)
        # For every token of every action: the row and place that predict it, and which score [B * K] it belongs to.
        predicted, wanted, owner = list[tuple[int, int]](), list[int](), list[int]()
        widest = max(map(len, actions))
        listed = torch.zeros(len(starts), widest, dtype=torch.bool)
        for row, (start, each) in enumerate(zip(starts, actions, strict=True)):
            listed[row, : len(each)] = True
            end = len(start) - shared
            ids[row, :end] = start[shared:]
            positions[row, :end] = np.arange(shared, len(start))
            holds[row, :end] = _PROMPT
            place = end
            for number, action in enumerate(each):
                behind = place + len(action) - 1
                ids[row, place:behind] = action[:-1]
                positions[row, place:behind] = np.arange(len(start), len(start) + len(action) - 1)
                holds[row, place:behind] = number + 1
                predicted += [(row, end - 1), *((row, at) for at in range(place, behind))]
                wanted += action
                owner += [row * widest + number] * len(action)
                place = behind

        device = self.model.device
        output = self.model.base_model(
            torch.from_numpy(ids).to(device),
            attention_mask=self._mask(torch.from_numpy(holds).to(device), shared),
            position_ids=torch.from_numpy(positions).to(device),
            past_key_values=cache,
            use_cache=cache is not None,
        )
        # A prompt's last place predicts the first token of all its actions: the head, which is large, reads it once.
        places = {each: index for index, each in enumerate(dict.fromkeys(predicted))}
        rows, columns = torch.tensor(list(places), device=device).T
        logits = self.model.get_output_embeddings()(output.last_hidden_state[rows, columns]).float()
        at = torch.tensor([places[each] for each in predicted], device=device)
        said = logits[at, torch.tensor(wanted, device=device)] - logits.logsumexp(dim=1)[at]
        sums = torch.zeros(len(starts) * widest, device=device).index_add(0, torch.tensor(owner, device=device), said)
        scores = sums.view(len(starts), widest).cpu().masked_fill(~listed, float("-inf"))
        ends = torch.tensor([len(start) - shared - 1 for start in starts], device=device)
        states = output.last_hidden_state[torch.arange(len(starts), device=device), ends]
        return scores, states.float().cpu()

    def _mask(self, holds: Tensor, shared: int) -> Tensor:
        """Return what is added to attention [B, 1, T, shared + T]: 0 where a place sees another, else the least."""
        own = (holds[:, None, :] == holds[:, :, None]) | (holds[:, None, :] == _PROMPT)
        sees = torch.nn.functional.pad(own.tril(), (shared, 0), value=True)[:, None]
        kind = self.model.dtype
        return torch.zeros(sees.shape, dtype=kind, device=sees.device).masked_fill(~sees, torch.finfo(kind).min)


def _parts(actions: Sequence[tuple[int, ...]]) -> list[slice]:
    ends = np.cumsum([len(each) for each in actions]) // _PART
    borders = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(actions)]
    return [slice(first, last) for first, last in pairwise(borders)]


class WritingPolicy(SayCanPolicy):
    """A language model that writes its command, token by token, listed or not.

    What it writes is scored as SayCan scores a listed action: the log-probabilities of all its tokens and of the end.
    A text that it has sampled is scored by the very tokens, for its words may have others.
    """

    _may_be_empty = True  # it has ended at once

    def written_logits(self, prompts: Sequence[str], written: Sequence[tuple[int, ...]]) -> Tensor:
        """Return the log-probabilities [B] of the tokens written behind B prompts; see `choice_logits`."""
        if torch.is_grad_enabled() or not self._large:
            return self.written_logits_and_states(prompts, written)[0]
        lengths = [self.count_prompt(prompt) + len(each) for prompt, each in zip(prompts, written, strict=True)]
        logits = torch.zeros(len(prompts))
        for batch in like_length(lengths, self._read_at_once):
            part = self.written_logits_and_states([prompts[at] for at in batch], [written[at] for at in batch])
            logits[batch] = part[0]
        return logits

    def written_logits_and_states(
        self, prompts: Sequence[str], written: Sequence[tuple[int, ...]]
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities [B] of the tokens written behind B prompts, and the states there [B, width]."""
        scores, states = self._scores(prompts, [[each] for each in written])
        return scores[:, 0], states


def head_of(policy: LanguageModel) -> str:
    return "text" if isinstance(policy, WritingPolicy) else "saycan" if isinstance(policy, SayCanPolicy) else "labels"


def with_head(policy: LanguageModel, config: Config) -> LanguageModel:
    heads = {"saycan": SayCanPolicy, "text": WritingPolicy}
    return heads[config.head](policy) if config.head in heads else policy
