"""The player: a small judge over files, words and what to do next, in one network of a few thousand weights."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from natlang_envs.errors import UsageError
from natlang_envs.repository.hits import ASKED

SEARCH, READ, NAME = 0, 1, 2
MOST = 15  # steps
_FILE, _WORD, _STATE = 57, 11, 10  # numbers of a file, of a word, and of the state

Tensors = dict[str, Tensor]


class State(NamedTuple):
    """Where a batch of games is.

    Attributes:
        searched: 1 for each word that was searched for.
        read: 1 for each file that was read.
        left: The steps left.
        may: Which words may be searched for, and which files read and named.
    """

    searched: Tensor
    read: Tensor
    left: Tensor
    may: tuple[Tensor, Tensor, Tensor]


class Options(NamedTuple):
    """Logarithms of chances: of the three kinds of steps, and of the words or files of each."""

    kind: Tensor
    items: tuple[Tensor, Tensor, Tensor]


class Judge(nn.Module):
    """Chances of every step from the evidence of a state."""

    def __init__(self, width: int = 48, dropout: float = 0.3) -> None:
        super().__init__()
        layers = (nn.BatchNorm1d(_FILE, affine=False), nn.Linear(_FILE, width), nn.GELU())
        self.files = nn.Sequential(*layers, nn.Dropout(dropout), nn.Linear(width, 2))
        self.words = nn.Sequential(nn.Linear(_WORD, 16), nn.GELU(), nn.Linear(16, 1))
        self.kinds = nn.Sequential(nn.Linear(_STATE, 16), nn.GELU(), nn.Linear(16, 3))

    def forward(self, known: Tensors, state: State) -> Options:
        """Return the chances for a batch of games."""
        lines = (state.searched[:, :, None, None] * known["lines"]).amax(1)
        numbers, listed = _of_files(known, state, lines)
        scores = numbers.new_zeros(*listed.shape, 2)
        if listed.any():
            scores[listed] = self.files(numbers[listed])
        belief = log_shares(scores[..., 1].detach(), listed).exp()
        word = log_shares(self.words(_of_words(known, state, lines, belief))[..., 0], state.may[SEARCH])
        read, name = log_shares(scores[..., 0], state.may[READ]), log_shares(scores[..., 1], state.may[NAME])
        some = torch.stack([each.any(1) for each in state.may], 1)
        return Options(log_shares(self.kinds(_of_state(state, belief, listed)), some), (word, read, name))


def log_shares(scores: Tensor, may: Tensor) -> Tensor:
    """Return the logarithms of chances, of things that may not be done a very low one."""
    return torch.log_softmax(scores.masked_fill(~may, -1e9), -1).masked_fill(~may, -1e9)


def _share(values: Tensor, dim: int = 1) -> Tensor:
    return values / values.sum(dim, keepdim=True).clamp_min(1e-6)


def _most(values: Tensor) -> Tensor:
    """Return values as shares of the largest of all files."""
    return values / values.amax(1, keepdim=True).clamp_min(1e-6)


def _of_files(known: Tensors, state: State, lines: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers of each file, and which files are listed."""
    done, read = state.searched[:, :, None], state.read
    has, saturated, rank, share, code = (done[..., None] * known["hits"]).unbind(-1)
    idf, weights = known["idf"][:, :, None] * done, known["weights"]
    listed = has.sum(1) > 0
    total, strong = idf.sum(1).clamp_min(1e-6), idf * saturated
    parts = [has.sum(1) / state.searched.sum(1, keepdim=True).clamp_min(1), (idf * has).sum(1) / total]
    parts += [strong.sum(1) / total, _most(strong.sum(1)), strong.amax(1) / idf.amax(1).clamp_min(1e-6)]
    parts += [_most(rank.sum(1)), rank.amax(1), (rank == 1).any(1).float(), _most((idf * share).sum(1))]
    parts += [(idf * rank).sum(1) / total, code.amax(1)]
    seen, both = known["texts"] * read[..., None], torch.maximum(lines, known["paths"])
    every = torch.maximum(torch.maximum(both, seen), has.transpose(1, 2))
    for rarity in (weights, torch.where(state.searched > 0, known["idf"], weights)):
        of = _share(rarity)[:, :, None]
        covers = [(bits @ of)[..., 0] for bits in (known["paths"], lines, both, seen, torch.maximum(seen, both), every)]
        parts += [*covers, _most(covers[3]), _most(covers[5])]
    text = known["text"] * read[..., None]
    parts += [_most(text[..., number]) for number in range(1, 5)]
    unread = (listed.float() * (1 - read)).sum(1, keepdim=True)
    common = [known["size"][:, None] / 8, torch.log1p(unread) / 4, state.searched.mean(1, keepdim=True)]
    parts += [read, *(each.expand_as(read) for each in (*common, read.sum(1, keepdim=True) / MOST))]
    parts += [known["paths"].sum(-1) / 4, (known["paths"] * seen).sum(-1) / 4]
    return torch.cat(
        [torch.stack(parts, -1), text, known["kinds"], known["kinds"][..., :2] * read[..., None]], -1
    ), listed


def _of_words(known: Tensors, state: State, lines: Tensor, belief: Tensor) -> Tensor:
    """Return the numbers of each word: how rare it is, and how much of what is shown and believed has it."""
    weights, free = known["weights"], state.may[SEARCH].float()
    rarer = (weights[:, None, :] * free[:, None, :] > weights[:, :, None]).float().sum(-1)
    done = state.searched[:, :, None, None]
    lines, texts = (
        torch.maximum((done * known["lines"]).amax(1), known["paths"]),
        known["texts"] * state.read[..., None],
    )
    listed = ((done[..., 0] * known["hits"][..., 0]).sum(1) > 0).float()
    parts = [_share(weights), weights / 8, rarer / ASKED, (rarer == 0).float()]
    parts += [(belief[..., None] * bits).sum(1) for bits in (lines, texts)]
    parts += [(_share(listed)[..., None] * torch.maximum(lines, texts)).sum(1)]
    common = (state.left[:, None] / MOST, state.searched.mean(1, keepdim=True), free.mean(1, keepdim=True))
    parts += [each.expand_as(weights) for each in (*common, belief.amax(1, keepdim=True))]
    return torch.stack(parts, -1)


def _of_state(state: State, belief: Tensor, listed: Tensor) -> Tensor:
    """Return the numbers of a state: what was done, what is left, and how sure the belief is."""
    best, searched = belief.max(1), state.searched.sum(1)
    parts = [state.left / MOST, (state.left <= 2).float(), searched / ASKED, (searched >= 4).float()]
    parts += [state.may[SEARCH].float().mean(1), state.read.sum(1) / MOST, best.values]
    parts += [state.read.gather(1, best.indices[:, None])[:, 0], (belief * state.read).sum(1)]
    return torch.stack([*parts, (listed.float() * (1 - state.read)).sum(1) / 40], -1)


def draw(options: Options, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Return a kind of step and its item for each game: the likeliest, or with a generator drawn ones."""

    def one(chances: Tensor) -> Tensor:
        return (
            chances.argmax(-1)
            if generator is None
            else torch.multinomial(chances.exp() + 1e-30, 1, generator=generator)[:, 0]
        )

    kind = one(options.kind)
    return kind, torch.stack([one(chances) for chances in options.items], 1).gather(1, kind[:, None])[:, 0]


def read_judge(weights: bytes, file: Path) -> Judge:
    """Return the judge of the weights that a file holds; it does not learn.

    Raises:
        UsageError: They are something else.
    """
    judge = Judge()
    try:
        judge.load_state_dict(load(weights))
    except (SafetensorError, RuntimeError):
        raise UsageError(f"{file} holds no searcher: name a .safetensors file of `reflect-rl search`") from None
    return judge.eval()
