"""Speculative greedy decoding by prompt lookup: a pass verifies a few drafted tokens, for the same texts sooner.

A forward pass reads all weights of the model, whether for one token or for a few. While memory is the bound, verifying
a draft costs little more than writing one token. Drafts are looked up by n-gram: what followed the last tokens before,
in the prompt, in the text so far or in similar texts. Reflections repeat names from their prompts and phrases from one
another. A wrong draft costs its pass and changes nothing. This module handles tokens only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from reference_agent.models.generation import Reserved, Tokens, read

_NGRAMS = (4, 3, 2)  # lengths of the n-grams that are looked up, the longest first
_DRAFT_LENGTH = 8  # tokens of a draft at most
_TOGETHER = 48  # tokens in a pass of all texts, from which on arithmetic is the bound


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
    """Return the likeliest tokens behind each of B prompts, as `generation.write` does.

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
        output = _verify(model, cache, layers, ids, longest + places, starts, longest, most)
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
    model: Any,
    cache: Cache,
    layers: Sequence[Reserved],
    ids: list[list[int]],
    slots: Tensor,
    starts: Tensor,
    longest: int,
    most: int,
) -> Tensor:
    """Return the states [B, W, width] of tokens [B, W] that go into the places `slots` of the cache.

    Prompts end at the place `longest`; `starts` are their lengths. What lies in the cache behind a token's own place
    was drafted wrong, and is written over in time.
    """
    filled = int(slots.max()) + 1
    for layer in layers:
        layer.aim(slots, filled)
    there = torch.arange(filled, device=slots.device)
    seen = (there >= (longest - starts)[:, None, None]) & (there <= slots[:, :, None])
    kind = layers[0].dtype
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
