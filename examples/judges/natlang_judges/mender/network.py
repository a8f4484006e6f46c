"""The network of the mender: it scores edits by their code alone, and options by all that was seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from natlang_judges.judges import JudgeKind
from natlang_judges.mender.code import BUCKETS, NUMBERS, SIGNS, KnownCode
from natlang_judges.mender.options import REACH, SCORE, WIDTH
from natlang_judges.mender.seen import EDIT, Ranked

_HIDDEN = 0.3  # the share of an edit's contexts that training hides


class MenderNetwork(nn.Module):
    """A few thousand weights."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.contexts = nn.EmbeddingBag(BUCKETS, 1, mode="sum")
        nn.init.zeros_(self.contexts.weight)
        layers = (nn.BatchNorm1d(NUMBERS, affine=False), nn.Linear(NUMBERS, width), nn.GELU())
        self.code = nn.Sequential(*layers, nn.Dropout(0.1), nn.Linear(width, 1))
        self.next = nn.Sequential(nn.Linear(WIDTH, width), nn.GELU(), nn.Linear(width, 1))
        self.plain = nn.Linear(WIDTH, 1)  # starts with the score of an edit's code, and what the shown test reaches
        nn.init.zeros_(self.plain.weight)
        with torch.no_grad():
            self.plain.weight[0, SCORE], self.plain.weight[0, REACH] = 4.0, 3.0
        self._ranked: dict[tuple[str, ...], Ranked] = {}

    def edits(self, ids: Tensor, numbers: Tensor) -> Tensor:
        """Return the scores of edits; in training mode, some of their contexts are hidden."""
        signs = torch.tensor(SIGNS).expand(ids.shape)
        if self.training:
            signs = signs * (torch.rand_like(signs) > _HIDDEN) / (1 - _HIDDEN)
        return (self.contexts(ids, per_sample_weights=signs.contiguous()) + self.code(numbers))[:, 0]

    @torch.no_grad()
    def rank(self, code: KnownCode, number: int, after: Sequence[str]) -> Ranked:
        """Return a line's texts after each edit, by falling score, and the scores; both are cached."""
        key = (code.text, str(number), *after)
        if key not in self._ranked:
            scores = self.edits(*map(torch.from_numpy, code.features(number, after)))
            order: list[int] = scores.argsort(descending=True, stable=True).tolist()
            self._ranked[key] = ([after[at] for at in order], scores[order].tolist())
        return self._ranked[key]

    def options(self, features: Tensor) -> Tensor:
        return (self.next(features) + self.plain(features))[:, 0]

    def log_probabilities(self, features: NDArray[np.float32]) -> Tensor:
        return torch.log_softmax(self.options(torch.from_numpy(features)), 0)

    def chooser(self) -> list[nn.Parameter]:
        """Return the weights that score options."""
        return [*self.next.parameters(), *self.plain.parameters()]

    @torch.no_grad()
    def choose(self, features: NDArray[np.float32], rng: np.random.Generator | None) -> int:
        """Return a sampled option.

        Without `rng` it is the most probable edit, or the most probable of the other options, whichever of the two
        groups is more probable as a whole.
        """
        shares = self.log_probabilities(features).exp().double().numpy()
        if rng is not None:
            return int(rng.choice(len(shares), p=shares / shares.sum()))
        edits = features[:, EDIT] > 0
        tries = shares[edits].sum() >= shares[~edits].sum()
        return int(np.where(edits == tries, shares, -1.0).argmax())


MENDER = JudgeKind("mender", "mend", lambda _: MenderNetwork())
