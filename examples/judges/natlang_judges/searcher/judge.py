"""The player: a small judge over files, words and what to do next, in one network of a few thousand weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from natlang_envs.repository.hits import ASKED

SEARCH, READ, NAME = 0, 1, 2
MOST = 15  # steps

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

    def may_by(self, _: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return `may`, whatever is believed."""
        return self.may


class Options(NamedTuple):
    """Logarithms of chances: of the three kinds of steps, and of the lists or files of each; which of them `may` be.

    `where` has those of each listed file and each page that can be opened to be or to hold the answer, for a `Walker`.
    """

    kind: Tensor
    items: tuple[Tensor, Tensor, Tensor]
    may: tuple[Tensor, Tensor, Tensor]
    where: Tensor | None = None


class Looks(NamedTuple):
    """Numbers of each file, which files are listed, and which lists there are to choose from."""

    files: Tensor
    listed: Tensor
    lists: Tensor


class Judge(nn.Module):
    """Chances of every step from the evidence of a state."""

    sizes = (57, 11, 10)  # numbers of a file, of a list (that of a word), and of the state
    walks = False

    def __init__(self, width: int = 48, dropout: float = 0.3) -> None:
        super().__init__()
        file, word, kind = self.sizes
        layers = (nn.BatchNorm1d(file, affine=False), nn.Linear(file, width), nn.GELU())
        self.files = nn.Sequential(*layers, nn.Dropout(dropout), nn.Linear(width, 2))
        self.words = nn.Sequential(nn.Linear(word, 16), nn.GELU(), nn.Linear(16, 1))
        self.kinds = nn.Sequential(nn.Linear(kind, 16), nn.GELU(), nn.Linear(16, 3))

    def forward(self, known: Tensors, state: Any) -> Options:
        """Return the chances for a batch of games."""
        looks = self.look(known, state)
        listed = looks.listed
        both = looks.files.new_zeros(*listed.shape, 2)
        if listed.any():
            both[listed] = self.files(looks.files[listed])
        reads, names = both.unbind(-1)
        belief = log_shares(names.detach(), listed).exp()
        lists = self.words(self.look_at_lists(known, state, looks, belief))[..., 0]
        where = None
        if self.walks:
            reads, names, lists = map(_even, (reads, names, lists))
            where = log_shares(torch.cat([names, lists], 1), torch.cat([listed, looks.lists], 1))
            belief = where.detach()[:, : names.shape[1]].exp()
        may = state.may_by(belief)
        scores, kind = (lists, reads, names), self.kinds(self.look_around(state, looks, belief))
        if where is not None:
            scores, worth = state.plan(where, reads, names, may)
            kind = kind + worth
        items = [log_shares(of, each) for of, each in zip(scores, may, strict=True)]
        some = torch.stack([each.any(1) for each in may], 1)
        return Options(log_shares(kind, some), (items[0], items[1], items[2]), may, where)

    def look(self, known: Tensors, state: State) -> Looks:
        """Return the numbers of each file, and what is listed."""
        lines = (state.searched[:, :, None, None] * known["lines"]).amax(1)
        done, read = state.searched[:, :, None], state.read
        has, saturated, rank, share, code = (done[..., None] * known["hits"]).unbind(-1)
        idf, weights = known["idf"][:, :, None] * done, known["weights"]
        listed = has.sum(1) > 0
        total, strong = idf.sum(1).clamp_min(1e-6), idf * saturated
        parts = [has.sum(1) / state.searched.sum(1, keepdim=True).clamp_min(1), (idf * has).sum(1) / total]
        parts += [strong.sum(1) / total, most_of(strong.sum(1)), strong.amax(1) / idf.amax(1).clamp_min(1e-6)]
        parts += [most_of(rank.sum(1)), rank.amax(1), (rank == 1).any(1).float(), most_of((idf * share).sum(1))]
        parts += [(idf * rank).sum(1) / total, code.amax(1)]
        seen, both = known["texts"] * read[..., None], torch.maximum(lines, known["paths"])
        every = torch.maximum(torch.maximum(both, seen), has.transpose(1, 2))
        for rarity in (weights, torch.where(state.searched > 0, known["idf"], weights)):
            of = shares_of(rarity)[:, :, None]
            shown = (known["paths"], lines, both, seen, torch.maximum(seen, both), every)
            covers = [(bits @ of)[..., 0] for bits in shown]
            parts += [*covers, most_of(covers[3]), most_of(covers[5])]
        text = known["text"] * read[..., None]
        parts += [most_of(text[..., number]) for number in range(1, 5)]
        unread = (listed.float() * (1 - read)).sum(1, keepdim=True)
        common = [known["size"][:, None] / 8, torch.log1p(unread) / 4, state.searched.mean(1, keepdim=True)]
        parts += [read, *(each.expand_as(read) for each in (*common, read.sum(1, keepdim=True) / MOST))]
        parts += [known["paths"].sum(-1) / 4, (known["paths"] * seen).sum(-1) / 4]
        kinds = known["kinds"]
        numbers = torch.cat([torch.stack(parts, -1), text, kinds, kinds[..., :2] * read[..., None]], -1)
        return Looks(numbers, listed, known["asked"] > 0)

    def look_at_lists(self, known: Tensors, state: State, looks: Looks, belief: Tensor) -> Tensor:
        """Return the numbers of each list that may be asked for: for a word, how rare it is, and how much has it."""
        weights, free = known["weights"], state.may[SEARCH].float()
        rarer = (weights[:, None, :] * free[:, None, :] > weights[:, :, None]).float().sum(-1)
        done = state.searched[:, :, None, None]
        lines = torch.maximum((done * known["lines"]).amax(1), known["paths"])
        texts = known["texts"] * state.read[..., None]
        listed = ((done[..., 0] * known["hits"][..., 0]).sum(1) > 0).float()
        parts = [shares_of(weights), weights / 8, rarer / ASKED, (rarer == 0).float()]
        parts += [(belief[..., None] * bits).sum(1) for bits in (lines, texts)]
        parts += [(shares_of(listed)[..., None] * torch.maximum(lines, texts)).sum(1)]
        common = (state.left[:, None] / MOST, state.searched.mean(1, keepdim=True), free.mean(1, keepdim=True))
        parts += [each.expand_as(weights) for each in (*common, belief.amax(1, keepdim=True))]
        return torch.stack(parts, -1)

    def look_around(self, state: State, looks: Looks, belief: Tensor) -> Tensor:
        """Return the numbers of a state: what was done, what is left, and how sure the belief is."""
        best, searched = belief.max(1), state.searched.sum(1)
        parts = [state.left / MOST, (state.left <= 2).float(), searched / ASKED, (searched >= 4).float()]
        parts += [state.may[SEARCH].float().mean(1), state.read.sum(1) / MOST, best.values]
        parts += [state.read.gather(1, best.indices[:, None])[:, 0], (belief * state.read).sum(1)]
        return torch.stack([*parts, (looks.listed.float() * (1 - state.read)).sum(1) / 40], -1)


def _even(scores: Tensor) -> Tensor:
    """Return scores without what rounding makes of equal ones, which depends on how many games are played at a time.

    Folders of which nothing is known are alike: the first one is chosen, in training and in play.
    """
    return scores + ((256 * scores).round() / 256 - scores).detach()


def log_shares(scores: Tensor, may: Tensor) -> Tensor:
    """Return the logarithms of chances, of things that may not be done a very low one."""
    return torch.log_softmax(scores.masked_fill(~may, -1e9), -1).masked_fill(~may, -1e9)


def shares_of(values: Tensor, dim: int = 1) -> Tensor:
    """Return values as shares of their sum."""
    return values / values.sum(dim, keepdim=True).clamp_min(1e-6)


def most_of(values: Tensor) -> Tensor:
    """Return values as shares of the largest of all files."""
    return values / values.amax(1, keepdim=True).clamp_min(1e-6)


def drawn(chances: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return an item of each row: the likeliest, or with a generator a drawn one."""
    if generator is None:
        return chances.argmax(-1)
    return torch.multinomial(chances.exp() + 1e-30, 1, generator=generator)[:, 0]


def draw(options: Options, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Return a kind of step and its item for each game: the likeliest, or with a generator drawn ones."""
    kind = drawn(options.kind, generator)
    return kind, torch.stack([drawn(each, generator) for each in options.items], 1).gather(1, kind[:, None])[:, 0]
