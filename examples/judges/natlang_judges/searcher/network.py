"""The networks of the searcher: scores of files, of lists to open, and of the kind of step; a few thousand weights.

`SearcherNetwork` plays AutoExplore-Search, where a list is what a search for a word shows. `WalkerNetwork` plays
AutoExplore, where a list is a page of a folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from natlang_envs.repository.hits import ASKED
from natlang_judges.judges import JudgeKind

if TYPE_CHECKING:
    from natlang_judges.searcher.walking import WalkState

SEARCH, READ, NAME = 0, 1, 2  # kinds of steps; SEARCH opens a page where the player walks
MOST = 15  # steps of a game

Tensors = dict[str, Tensor]
ByKind = tuple[Tensor, Tensor, Tensor]  # of the lists, of the files to read, of the files to name


class SearchState(NamedTuple):
    """The states of a batch of searches, all at the same step."""

    searched: Tensor  # 1 for each word that was searched for
    read: Tensor  # 1 for each file that was read
    left: Tensor  # steps
    may: ByKind  # the words that may be searched for, the files that may be read, and those that may be named

    def may_by(self, _: Tensor) -> ByKind:
        return self.may


class StepScores(NamedTuple):
    """Logarithms of probabilities."""

    kind: Tensor  # of the three kinds of steps
    items: ByKind  # of the lists or files, for each kind
    may: ByKind  # the items that are allowed
    where: Tensor | None = None  # a walker's: of each listed file to be the answer, and of each page to lead to it


class FileFeatures(NamedTuple):
    features: Tensor
    listed: Tensor  # which files are listed
    lists: Tensor  # which lists there are


class SearcherNetwork(nn.Module):
    """Scores every step of a search from what the lists and texts show."""

    sizes = (57, 11, 10)  # features of a file, of a list (that of a word), and of the state
    walks = False

    def __init__(self, width: int = 48, dropout: float = 0.3) -> None:
        super().__init__()
        file, word, kind = self.sizes
        layers = (nn.BatchNorm1d(file, affine=False), nn.Linear(file, width), nn.GELU())
        self.files = nn.Sequential(*layers, nn.Dropout(dropout), nn.Linear(width, 2))
        self.words = nn.Sequential(nn.Linear(word, 16), nn.GELU(), nn.Linear(16, 1))
        self.kinds = nn.Sequential(nn.Linear(kind, 16), nn.GELU(), nn.Linear(16, 3))

    def forward(self, known: Tensors, state: Any) -> StepScores:
        """Score the steps of a batch of games."""
        files = self.file_features(known, state)
        listed = files.listed
        both = files.features.new_zeros(*listed.shape, 2)
        if listed.any():
            both[listed] = self.files(files.features[listed])
        reads, names = both.unbind(-1)
        belief = masked_log_softmax(names.detach(), listed).exp()
        lists = self.words(self.list_features(known, state, files, belief))[..., 0]
        where = None
        if self.walks:
            reads, names, lists = map(_rounded, (reads, names, lists))
            where = masked_log_softmax(torch.cat([names, lists], 1), torch.cat([listed, files.lists], 1))
            belief = where.detach()[:, : names.shape[1]].exp()
        may = state.may_by(belief)
        scores, kind = (lists, reads, names), self.kinds(self.state_features(state, files, belief))
        if where is not None:
            scores, worth = state.plan(where, reads, names, may)
            kind = kind + worth
        items = [masked_log_softmax(of, each) for of, each in zip(scores, may, strict=True)]
        possible = torch.stack([each.any(1) for each in may], 1)
        return StepScores(masked_log_softmax(kind, possible), (items[0], items[1], items[2]), may, where)

    def file_features(self, known: Tensors, state: SearchState) -> FileFeatures:
        lines = (state.searched[:, :, None, None] * known["lines"]).amax(1)
        done, read = state.searched[:, :, None], state.read
        has, saturated, rank, share, code = (done[..., None] * known["hits"]).unbind(-1)
        idf, weights = known["idf"][:, :, None] * done, known["weights"]
        listed = has.sum(1) > 0
        total, strong = idf.sum(1).clamp_min(1e-6), idf * saturated
        parts = [has.sum(1) / state.searched.sum(1, keepdim=True).clamp_min(1), (idf * has).sum(1) / total]
        parts += [strong.sum(1) / total, by_largest(strong.sum(1)), strong.amax(1) / idf.amax(1).clamp_min(1e-6)]
        parts += [by_largest(rank.sum(1)), rank.amax(1), (rank == 1).any(1).float(), by_largest((idf * share).sum(1))]
        parts += [(idf * rank).sum(1) / total, code.amax(1)]
        seen, both = known["texts"] * read[..., None], torch.maximum(lines, known["paths"])
        every = torch.maximum(torch.maximum(both, seen), has.transpose(1, 2))
        for rarity in (weights, torch.where(state.searched > 0, known["idf"], weights)):
            of = by_sum(rarity)[:, :, None]
            shown = (known["paths"], lines, both, seen, torch.maximum(seen, both), every)
            covers = [(bits @ of)[..., 0] for bits in shown]
            parts += [*covers, by_largest(covers[3]), by_largest(covers[5])]
        text = known["text"] * read[..., None]
        parts += [by_largest(text[..., number]) for number in range(1, 5)]
        unread = (listed.float() * (1 - read)).sum(1, keepdim=True)
        common = [known["size"][:, None] / 8, torch.log1p(unread) / 4, state.searched.mean(1, keepdim=True)]
        parts += [read, *(each.expand_as(read) for each in (*common, read.sum(1, keepdim=True) / MOST))]
        parts += [known["paths"].sum(-1) / 4, (known["paths"] * seen).sum(-1) / 4]
        kinds = known["kinds"]
        features = torch.cat([torch.stack(parts, -1), text, kinds, kinds[..., :2] * read[..., None]], -1)
        return FileFeatures(features, listed, known["asked"] > 0)

    def list_features(self, known: Tensors, state: SearchState, files: FileFeatures, belief: Tensor) -> Tensor:
        """Return the features of each list: how rare its word is, and which share of the belief has the word."""
        weights, free = known["weights"], state.may[SEARCH].float()
        rarer = (weights[:, None, :] * free[:, None, :] > weights[:, :, None]).float().sum(-1)
        done = state.searched[:, :, None, None]
        lines = torch.maximum((done * known["lines"]).amax(1), known["paths"])
        texts = known["texts"] * state.read[..., None]
        listed = files.listed.float()
        parts = [by_sum(weights), weights / 8, rarer / ASKED, (rarer == 0).float()]
        parts += [(belief[..., None] * bits).sum(1) for bits in (lines, texts)]
        parts += [(by_sum(listed)[..., None] * torch.maximum(lines, texts)).sum(1)]
        common = (state.left[:, None] / MOST, state.searched.mean(1, keepdim=True), free.mean(1, keepdim=True))
        parts += [each.expand_as(weights) for each in (*common, belief.amax(1, keepdim=True))]
        return torch.stack(parts, -1)

    def state_features(self, state: SearchState, files: FileFeatures, belief: Tensor) -> Tensor:
        best, searched = belief.max(1), state.searched.sum(1)
        parts = [state.left / MOST, (state.left <= 2).float(), searched / ASKED, (searched >= 4).float()]
        parts += [state.may[SEARCH].float().mean(1), state.read.sum(1) / MOST, best.values]
        parts += [state.read.gather(1, best.indices[:, None])[:, 0], (belief * state.read).sum(1)]
        return torch.stack([*parts, (files.listed.float() * (1 - state.read)).sum(1) / 40], -1)


class WalkerNetwork(SearcherNetwork):
    """Scores every step of a walk through folders."""

    sizes = (44, 22, 11)  # features of a file, of a page, and of the state
    walks = True

    def __init__(self, width: int = 48, dropout: float = 0.3) -> None:
        super().__init__(width, dropout)
        for weights in list(self.kinds.parameters())[-2:]:  # training starts from `WalkState.plan`
            nn.init.zeros_(weights)

    def file_features(self, known: Tensors, state: WalkState) -> FileFeatures:
        read, share = state.read, by_sum(known["weights"])[:, :, None]
        names, folders, seen, text = known["names"], known["folders"], known["texts"], known["text"]
        path = torch.maximum(names, folders)
        covers = [(bits @ share)[..., 0] for bits in (names, folders, path, seen, torch.maximum(path, seen))]
        covers += [(known[name] @ share)[..., 0] for name in ("hints", "folder_hints")]
        count = read.sum(1, keepdim=True)
        rare = torch.log((count + 1) / (seen.sum(1) + 0.5)).clamp_min(0) * known["weights"]  # in what was read
        covers.append((seen @ by_sum(rare)[:, :, None])[..., 0])
        parts = [*covers, *(by_largest(covers[number] * state.is_file) for number in (0, 1, 3, 4, 5, 6, 7))]
        parts += [by_largest(text[..., number] * state.is_file) for number in range(1, 5)]
        unread = (state.is_file * (1 - read)).sum(1, keepdim=True)
        common = (torch.log1p(unread) / 4, count / MOST, state.left[:, None] / MOST)
        parts += [read, *(each.expand_as(read) for each in common), state.away / 8, names.sum(-1) / 4]
        kinds = known["kinds"]
        features = torch.cat([torch.stack(parts, -1), text, kinds, kinds[..., :2] * read[..., None]], -1)
        return FileFeatures(features, state.is_file, state.is_page)

    def list_features(self, known: Tensors, state: WalkState, files: FileFeatures, belief: Tensor) -> Tensor:
        share = by_sum(known["weights"])[:, :, None]
        covers = [(known[name] @ share)[..., 0] for name in ("heads", "ways", "page_hints")]
        common = ((state.left / MOST)[:, None], torch.log1p(state.is_file.sum(1, keepdim=True)) / 4)
        parts = [*covers, *(by_largest(covers[number] * state.is_page) for number in (0, 2))]
        parts += [state.cost / 8, *(each.expand_as(covers[0]) for each in common)]
        parts.append(state.is_page.float().sum(1, keepdim=True).log1p().expand_as(covers[0]) / 4)
        return torch.cat([torch.stack(parts, -1), known["pages"]], -1)

    def state_features(self, state: WalkState, files: FileFeatures, belief: Tensor) -> Tensor:
        best = belief.max(1)
        of_best = state.read.gather(1, best.indices[:, None])[:, 0]
        parts = [state.left / MOST, (state.left <= 3).float(), state.opened.sum(1) / 8, state.read.sum(1) / MOST]
        unread = (state.is_file * (1 - state.read)).sum(1)
        parts += [best.values, of_best, (belief * state.read).sum(1), 1 - belief.sum(1), torch.log1p(unread) / 4]
        parts += [state.is_page.any(1).float(), state.cost.masked_fill(~state.is_page, 15).amin(1) / 8]
        return torch.stack(parts, -1)


def _rounded(scores: Tensor) -> Tensor:
    """Round scores to 1/256, with the gradient of the exact ones.

    Folders of which nothing is known have equal features. Rounding noise, which depends on the size of the batch, must
    not decide between them: the first one is chosen, in training and in play.
    """
    return scores + ((256 * scores).round() / 256 - scores).detach()


def masked_log_softmax(scores: Tensor, may: Tensor) -> Tensor:
    return torch.log_softmax(scores.masked_fill(~may, -1e9), -1).masked_fill(~may, -1e9)


def by_sum(values: Tensor) -> Tensor:
    return values / values.sum(1, keepdim=True).clamp_min(1e-6)


def by_largest(values: Tensor) -> Tensor:
    return values / values.amax(1, keepdim=True).clamp_min(1e-6)


def choose(scores: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return an item of each row: sampled by the generator, greedily without one."""
    if generator is None:
        return scores.argmax(-1)
    return torch.multinomial(scores.exp() + 1e-30, 1, generator=generator)[:, 0]


def choose_step(scores: StepScores, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Return a kind of step and its item for each game: sampled by the generator, greedily without one."""
    kind = choose(scores.kind, generator)
    return kind, torch.stack([choose(each, generator) for each in scores.items], 1).gather(1, kind[:, None])[:, 0]


def _of_shape(weights: Mapping[str, Tensor]) -> SearcherNetwork:
    return WalkerNetwork() if weights["words.0.weight"].shape[1] == WalkerNetwork.sizes[1] else SearcherNetwork()


SEARCHER = JudgeKind("searcher", "search", _of_shape)
