"""Generation for many prompts, greedy or sampled: read in batches of similar length, then continued together.

A token reads all weights once, however many texts it is written for, so writing is done for all texts together. Reading
is bound by arithmetic: padding is waste, and a batch that outgrows a CPU's caches takes twice the time.

`write_speculatively` writes the same greedy texts sooner by prompt lookup. While memory is the bound, verifying a draft
of a few tokens costs little more than writing one. Drafts are looked up by n-gram: what followed the last tokens
before, in the prompt, in the text so far or in similar texts. Reflections repeat names from their prompts and phrases
from one another. A wrong draft costs its pass and changes nothing. This module handles tokens only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

Tokens = Sequence[int]

_SHARING = 4  # prompts that share a prefix, on average, from which on it is computed apart
_NGRAMS = (4, 3, 2)  # lengths of the n-grams that are looked up, the longest first
_DRAFT_LENGTH = 8  # tokens of a draft at most
_TOGETHER = 48  # tokens in a pass of all texts, from which on arithmetic is the bound


def like_length(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Cut places 0 to N - 1 into batches, the shortest first, of at most `budget` tokens with their padding."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[index] <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def shared_prefix(sequences: Sequence[tuple[int, ...]], longest: int) -> int:
    """Return the length of the longest prefix that is worth computing apart, at most `longest`; 0 if none is.

    A prefix of length n is worth it while there are few different ones for the number of sequences. The number of
    different prefixes never falls as n grows, so a binary search finds the longest.
    """
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if len({each[:middle] for each in sequences}) * _SHARING <= len(sequences):
            low = middle
        else:
            high = middle - 1
    return low


@torch.no_grad()
def write(
    model: Any,
    prompts: Sequence[Tokens],
    end: int,
    most: int,
    budget: int,
    draws: Sequence[np.random.Generator] | None = None,
) -> list[list[int]]:
    """Return the tokens behind each of B prompts, up to `end`, which is left out, and at most `most`.

    Up to `budget` tokens, with padding, are read at a time. `draws` holds a generator for each prompt, which samples at
    temperature 1; None takes the likeliest.
    """
    lengths = [len(each) for each in prompts]
    longest = max(lengths)
    told: list[list[int]] = [[] for _ in prompts]
    if most < 1:
        return told
    hidden, layers = read(model, prompts, end, longest, longest + most, budget)
    cache = Cache(layers=[*layers])
    head = model.get_output_embeddings()
    places = torch.tensor(lengths, device=hidden.device)  # of the token that is read next
    seen = torch.arange(longest + most, device=hidden.device) >= longest - places[:, None]
    running = list(range(len(prompts)))
    for step in range(most):
        logits = head(hidden)
        chosen = logits.argmax(dim=1) if draws is None else _sampled(logits, [draws[index] for index in running])
        for index, token in zip(running, chosen.tolist(), strict=True):
            told[index].append(token)
        ended = [end in told[index] for index in running]
        if all(ended) or step + 1 == most:
            break
        if 2 * sum(ended) >= len(ended):  # those that have ended are carried along until they are half
            kept = [row for row, done in enumerate(ended) if not done]
            running = [running[row] for row in kept]
            rows = torch.tensor(kept, device=hidden.device)
            chosen, places, seen = chosen[rows], places[rows], seen[rows]
            for layer in layers:
                layer.keep(rows)
        output = model.base_model(
            chosen[:, None],
            attention_mask=seen[:, : longest + step + 1].long(),
            position_ids=places[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        hidden, places = output.last_hidden_state[:, -1], places + 1
    return [each[: each.index(end)] if end in each else each for each in told]


def _sampled(logits: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
    """Return a token for each row of logits [B, V], drawn at temperature 1 with one number of the row's generator."""
    below = torch.softmax(logits.double(), dim=1).cumsum(dim=1)
    numbers = torch.tensor([[each.random()] for each in draws], dtype=torch.float64, device=logits.device)
    return torch.searchsorted(below, numbers * below[:, -1:], right=True)[:, 0].clamp(max=logits.shape[1] - 1)


def read(
    model: Any, prompts: Sequence[Tokens], end: int, longest: int, width: int, budget: int
) -> tuple[Tensor, list[Reserved]]:
    """Return the states behind the prompts [B, size of a state], and all layers' keys and values up to `longest`."""
    hidden: list[Tensor] = [torch.empty(0)] * len(prompts)
    layers: list[Reserved] = []
    for batch in like_length([len(each) for each in prompts], budget):
        widest = max(len(prompts[index]) for index in batch)
        # Padding stands on the right, where a causal model cannot see it from the last real token.
        padded = [[*prompts[index], *[end] * (widest - len(prompts[index]))] for index in batch]
        # A plain cache keeps every place, where a model of sliding windows would choose one that forgets.
        ids, cache = torch.tensor(padded, device=model.device), DynamicCache()
        output = model.base_model(ids, past_key_values=cache, use_cache=True)
        read: list[Any] = [*cache.layers]
        layers = layers or [Reserved(each.keys, len(prompts), longest, width) for each in read]
        for row, index in enumerate(batch):
            count = len(prompts[index])
            hidden[index] = output.last_hidden_state[row, count - 1]
            for layer, each in zip(layers, read, strict=True):
                layer.put(index, each.keys[row, :, :count], each.values[row, :, :count])
    return torch.stack(hidden), layers


class Reserved(DynamicLayer):
    """A layer's keys and values [B, heads, places, width] in memory that is taken once: others copy all at each token.

    `like` are keys of the layer. The first `filled` places are zero until they are put there.
    """

    def __init__(self, like: Tensor, count: int, filled: int, places: int) -> None:
        super().__init__()
        self._whole = [like.new_zeros(count, like.shape[1], places, like.shape[3]) for _ in range(2)]
        self.dtype, self.device = like.dtype, like.device
        self.is_initialized = True
        self._aim: tuple[Tensor, int] | None = None
        self._show(filled)

    def put(self, row: int, *keys_and_values: Tensor) -> None:
        """Put a prompt's keys and values [heads, places, width] where they end with the filled places."""
        filled = self.get_seq_length()
        for whole, each in zip(self._whole, keys_and_values, strict=True):
            whole[row, :, filled - each.shape[1] : filled] = each

    def keep(self, rows: Tensor) -> None:
        self._whole = [whole[rows] for whole in self._whole]
        self._show(self.get_seq_length())

    def aim(self, slots: Tensor, filled: int) -> None:
        """Let the next keys and values go into the places [B, N] in place of those behind the filled ones."""
        self._aim = slots, filled

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Add keys and values, and return all up to the last place that is taken."""
        filled = self.get_seq_length()
        slots, behind = self._aim or (None, filled + key_states.shape[2])
        for whole, each in zip(self._whole, (key_states, value_states), strict=True):
            if slots is None:
                whole[:, :, filled:behind] = each
            else:
                whole[torch.arange(len(slots), device=self.device)[:, None], :, slots] = each.transpose(1, 2)
        return self._show(behind)

    def _show(self, filled: int) -> tuple[Tensor, Tensor]:
        self.keys, self.values = (whole[:, :, :filled] for whole in self._whole)
        return self.keys, self.values


class Ngrams:
    """Index of n-grams: where each stood last."""

    def __init__(self, texts: Iterable[Tokens] = ()) -> None:
        self._next: dict[tuple[int, ...], tuple[Tokens, int]] = {}
        for text in texts:
            self.add(text, 0)

    def add(self, text: Tokens, start: int) -> None:
        """Index the n-grams of a text that are followed by a token from place `start` on."""
        for place in range(start, len(text)):
            for count in _NGRAMS:
                if place >= count:
                    self._next[tuple(text[place - count : place])] = (text, place)

    def continuation(self, run: Tokens, most: int) -> list[int]:
        """Return what followed an n-gram where it stood last, at most `most` tokens."""
        text, place = self._next.get(tuple(run), ((), 0))
        return list(text[place : place + most])


def window(config: Any) -> int | None:
    """Return how many tokens back the narrowest layer of a model sees; None if all see all, as masks here assume."""
    widths = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size", "window_size")]
    return min((each for each in widths if each is not None), default=None)


@torch.no_grad()
def write_speculatively(
    model: Any, prompts: Sequence[Tokens], end: int, most: int, budget: int, draft_from: Sequence[Tokens] = ()
) -> list[list[int]]:
    """Return the likeliest tokens behind each of B prompts, as `write` does.

    The model has no `window`. `draft_from` are similar texts that drafts may come from, beside the prompts.
    """
    if most < 1:
        return [[] for _ in prompts]
    lengths = [len(each) for each in prompts]
    longest = max(lengths)
    hidden, layers = read(model, prompts, end, longest, longest + most + _DRAFT_LENGTH, budget)
    cache, head = Cache(layers=[*layers]), model.get_output_embeddings()
    # What a prompt's end is followed by in another text, its beginning, is drafted from the second token on.
    common = Ngrams([*prompts[0][-_NGRAMS[0] :], *each] for each in draft_from)
    whole = [list(each) for each in prompts]
    own = [Ngrams([each]) for each in whole]
    for text, seen, token in zip(whole, own, head(hidden).argmax(dim=1).tolist(), strict=True):
        text.append(token)
        seen.add(text, len(text) - 1)
    running = list(range(len(prompts)))
    lead = 3  # how far the next draft goes

    def is_running(index: int) -> bool:
        return whole[index][-1] != end and len(whole[index]) - lengths[index] < most

    while left := [index for index in running if is_running(index)]:
        if 2 * len(left) <= len(running):  # those that have ended are carried along until they are half
            rows = torch.tensor([running.index(index) for index in left], device=hidden.device)
            for layer in layers:
                layer.keep(rows)
            running = left
        ahead = min(_DRAFT_LENGTH, lead, max(_TOGETHER // len(running) - 1, 0))
        drafts = [_draft(whole[index], own[index], common, ahead) if is_running(index) else [] for index in running]
        width = 1 + max(map(len, drafts))
        told = torch.tensor([len(whole[index]) - lengths[index] - 1 for index in running], device=hidden.device)
        ids = [
            [whole[index][-1], *draft, *[end] * (width - 1 - len(draft))]
            for index, draft in zip(running, drafts, strict=True)
        ]
        places = told[:, None] + torch.arange(width, device=hidden.device)
        starts = torch.tensor([lengths[index] for index in running], device=hidden.device)
        output = _verify(model, cache, ids, longest + places, starts, longest, most)
        found = head(output).argmax(dim=2).tolist()
        lead = 1
        for index, draft, tokens in zip(running, drafts, found, strict=True):
            if not is_running(index):
                continue
            right = next((place for place, token in enumerate(draft) if token != tokens[place]), len(draft))
            text, before = whole[index], len(whole[index])
            text += tokens[: right + 1][: most + lengths[index] - before]
            if end in text[before:]:
                del text[text.index(end, before) + 1 :]
            own[index].add(text, before)
            lead = max(lead, right + 2)
    texts = [text[length:] for text, length in zip(whole, lengths, strict=True)]
    return [each[:-1] if each[-1] == end else each for each in texts]


def _draft(text: Tokens, own: Ngrams, common: Ngrams, most: int) -> list[int]:
    """Return what may follow a text, at most `most` tokens: what followed its end before, then what followed that."""
    draft: list[int] = []
    while len(draft) < most:
        end = [*text[-_NGRAMS[0] :], *draft][-_NGRAMS[0] :]
        found = (seen.continuation(end[-count:], most) for count in _NGRAMS for seen in (own, common))
        more = next(filter(None, found), None)
        if more is None:
            break
        draft += more
    return draft[:most]


def _verify(
    model: Any, cache: Any, ids: list[list[int]], slots: Tensor, starts: Tensor, longest: int, most: int
) -> Tensor:
    """Return the states [B, W, width] of tokens [B, W] that go into the places `slots` of the cache.

    Prompts end at the place `longest`; `starts` are their lengths. What lies in the cache behind a token's own place
    was drafted wrong, and is written over in time.
    """
    filled = int(slots.max()) + 1
    for layer in cache.layers:
        layer.aim(slots, filled)
    there = torch.arange(filled, device=slots.device)
    seen = (there >= (longest - starts)[:, None, None]) & (there <= slots[:, :, None])
    kind = cache.layers[0].dtype
    mask = torch.zeros(seen.shape, dtype=kind, device=slots.device).masked_fill(~seen, torch.finfo(kind).min)
    output = model.base_model(
        torch.tensor(ids, device=slots.device),
        attention_mask=mask[:, None],
        # A draft behind the last token that is written may be behind the context too; what it says is not used.
        position_ids=(slots - longest).clamp(max=most - 1) + starts[:, None],
        past_key_values=cache,
        use_cache=True,
    )
    return output.last_hidden_state
