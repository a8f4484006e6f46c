"""Greedy generation that guesses a few tokens ahead and checks them in one pass: the same texts, sooner.

A token reads all weights of the model once, and so do a few tokens: while memory is the bound, checking them costs
little more than writing one. Guessed is what stood behind the last tokens before: in the prompt, in the text so far, or
in other texts like it, since reflections repeat names from their prompts and phrases from one another. A wrong guess
costs its check and changes nothing. This module handles tokens only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from reference_agent.models.generation import Reserved, Tokens, read

_RUNS = (4, 3, 2)  # last tokens that have to stand there too, the longest run first
_AHEAD = 8  # guessed tokens of a text at most
_TOGETHER = 48  # tokens in a pass of all texts, from which on arithmetic is the bound


class Seen:
    """Where each run of tokens stood last.

    Args:
        texts: What is there from the beginning.
    """

    def __init__(self, texts: Iterable[Tokens] = ()) -> None:
        self._behind: dict[tuple[int, ...], tuple[Tokens, int]] = {}
        for text in texts:
            self.add(text, 0)

    def add(self, text: Tokens, start: int) -> None:
        """Remember the runs of a text that something from place `start` on follows."""
        for place in range(start, len(text)):
            for count in _RUNS:
                if place >= count:
                    self._behind[tuple(text[place - count : place])] = (text, place)

    def behind(self, run: Tokens, most: int) -> list[int]:
        """Return what followed a run of tokens where it stood last, at most `most` tokens."""
        text, place = self._behind.get(tuple(run), ((), 0))
        return list(text[place : place + most])


def can_guess(config: Any) -> bool:
    """Return whether a model attends to all that it has read, which the masks here take for granted."""
    return all(getattr(config, name, None) is None for name in ("sliding_window", "attention_chunk_size"))


@torch.no_grad()
def write_guessing(
    model: Any, prompts: Sequence[Tokens], end: int, most: int, budget: int, like: Sequence[Tokens] = ()
) -> list[list[int]]:
    """Return the likeliest tokens behind each of B prompts, as `generation.write` does.

    Args:
        model: A causal language model of transformers for which `can_guess` holds.
        prompts: The prompts.
        end: The token that ends a text, which is left out.
        most: Tokens of a text at most.
        budget: Tokens that are read at a time, with padding.
        like: Texts to guess from, beside the prompts.
    """
    if most < 1:
        return [[] for _ in prompts]
    lengths = [len(each) for each in prompts]
    longest = max(lengths)
    hidden, layers = read(model, prompts, end, longest, longest + most + _AHEAD, budget)
    cache, head = Cache(layers=[*layers]), model.get_output_embeddings()
    # What a prompt's end is followed by in another text, its beginning, is guessed from the second token on.
    common = Seen([*prompts[0][-_RUNS[0] :], *each] for each in like)
    whole = [list(each) for each in prompts]
    own = [Seen([each]) for each in whole]
    for text, seen, token in zip(whole, own, head(hidden).argmax(dim=1).tolist(), strict=True):
        text.append(token)
        seen.add(text, len(text) - 1)
    running = list(range(len(prompts)))
    lead = 3  # how far the next guess goes

    def is_running(index: int) -> bool:
        return whole[index][-1] != end and len(whole[index]) - lengths[index] < most

    while left := [index for index in running if is_running(index)]:
        if 2 * len(left) <= len(running):  # those that have ended are carried along until they are half
            rows = torch.tensor([running.index(index) for index in left], device=hidden.device)
            for layer in layers:
                layer.keep(rows)
            running = left
        ahead = min(_AHEAD, lead, max(_TOGETHER // len(running) - 1, 0))
        guesses = [_guess(whole[index], own[index], common, ahead) if is_running(index) else [] for index in running]
        width = 1 + max(map(len, guesses))
        told = torch.tensor([len(whole[index]) - lengths[index] - 1 for index in running], device=hidden.device)
        ids = [
            [whole[index][-1], *guess, *[end] * (width - 1 - len(guess))]
            for index, guess in zip(running, guesses, strict=True)
        ]
        places = told[:, None] + torch.arange(width, device=hidden.device)
        starts = torch.tensor([lengths[index] for index in running], device=hidden.device)
        output = _pass(model, cache, layers, ids, longest + places, starts, longest, most)
        found = head(output).argmax(dim=2).tolist()
        lead = 1
        for index, guess, tokens in zip(running, guesses, found, strict=True):
            if not is_running(index):
                continue
            right = next((place for place, token in enumerate(guess) if token != tokens[place]), len(guess))
            text, before = whole[index], len(whole[index])
            text += tokens[: right + 1][: most + lengths[index] - before]
            if end in text[before:]:
                del text[text.index(end, before) + 1 :]
            own[index].add(text, before)
            lead = max(lead, right + 2)
    texts = [text[length:] for text, length in zip(whole, lengths, strict=True)]
    return [each[:-1] if each[-1] == end else each for each in texts]


def _guess(text: Tokens, own: Seen, common: Seen, most: int) -> list[int]:
    """Return what may follow a text, at most `most` tokens: what followed its end before, then what followed that."""
    guess: list[int] = []
    while len(guess) < most:
        end = [*text[-_RUNS[0] :], *guess][-_RUNS[0] :]
        found = (seen.behind(end[-count:], most) for count in _RUNS for seen in (own, common))
        more = next(filter(None, found), None)
        if more is None:
            break
        guess += more
    return guess[:most]


def _pass(
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
    was guessed wrong, and is written over in time.
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
        # A guess behind the last token that is written may be behind the context too; what it says is not used.
        position_ids=(slots - longest).clamp(max=most - 1) + starts[:, None],
        past_key_values=cache,
        use_cache=True,
    )
    return output.last_hidden_state
