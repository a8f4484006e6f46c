"""The player: how usual an edit makes its line, and which thing to do next; a few thousand weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from natlang_judges.mender.code import BUCKETS, NUMBERS, SIGNS, Code
from natlang_judges.mender.desk import REACH, SCORE, WIDTH
from natlang_judges.mender.notes import EDIT, Ranked
from natlang_judges.weights import Kind

_HIDDEN = 0.3  # of the contexts of an edit, in training


class Judge(nn.Module):
    """Scores of edits by their code alone, and of options by all that was seen."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.contexts = nn.EmbeddingBag(BUCKETS, 1, mode="sum")
        nn.init.zeros_(self.contexts.weight)
        normal = nn.BatchNorm1d(NUMBERS, affine=False)
        self.code = nn.Sequential(
            normal, nn.Linear(NUMBERS, width), nn.GELU(), nn.Dropout(0.1), nn.Linear(width, 1)
        )  # fmt: skip
        self.next = nn.Sequential(nn.Linear(WIDTH, width), nn.GELU(), nn.Linear(width, 1))
        self.plain = nn.Linear(WIDTH, 1)  # begins with what code looks like, and what the shown test reaches
        nn.init.zeros_(self.plain.weight)
        with torch.no_grad():
            self.plain.weight[0, SCORE], self.plain.weight[0, REACH] = 4.0, 3.0
        self._ranked: dict[tuple[str, ...], Ranked] = {}

    def edits(self, ids: Tensor, numbers: Tensor) -> Tensor:
        """Return the scores of edits; in training, some contexts are hidden."""
        signs = torch.tensor(SIGNS).expand(ids.shape)
        if self.training:
            signs = signs * (torch.rand_like(signs) > _HIDDEN) / (1 - _HIDDEN)
        return (self.contexts(ids, per_sample_weights=signs.contiguous()) + self.code(numbers))[:, 0]

    @torch.no_grad()
    def rank(self, code: Code, number: int, after: Sequence[str]) -> Ranked:
        """Return what a line would read after each edit, the most usual first, and their scores; they are kept."""
        key = (code.text, str(number), *after)
        if key not in self._ranked:
            scores = self.edits(*map(torch.from_numpy, code.features(number, after)))
            order: list[int] = scores.argsort(descending=True, stable=True).tolist()
            self._ranked[key] = ([after[at] for at in order], scores[order].tolist())
        return self._ranked[key]

    def options(self, numbers: NDArray[np.float32]) -> Tensor:
        """Return the logarithms of the chances of options."""
        return torch.log_softmax(self.think(torch.from_numpy(numbers)), 0)

    def chooser(self) -> list[nn.Parameter]:
        """Return the weights that choose among options."""
        return [*self.next.parameters(), *self.plain.parameters()]

    def think(self, numbers: Tensor) -> Tensor:
        """Return the scores of options."""
        return (self.next(numbers) + self.plain(numbers))[:, 0]


@torch.no_grad()
def chosen(judge: Judge, numbers: NDArray[np.float32], rng: np.random.Generator | None) -> int:
    """Return a drawn option; without `rng` the likeliest, of edits or of all else, whichever is likelier together."""
    shares = judge.options(numbers).exp().double().numpy()
    if rng is not None:
        return int(rng.choice(len(shares), p=shares / shares.sum()))
    edits = numbers[:, EDIT] > 0
    tries = shares[edits].sum() >= shares[~edits].sum()
    return int(np.where(edits == tries, shares, -1.0).argmax())


MENDER = Kind("mender", "mend", lambda _: Judge())
