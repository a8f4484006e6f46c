"""The rules of AutoExplore-Search for a batch of games, on what all words of their questions list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from natlang_judges.searcher.evidence import SearchEvidence, padded
from natlang_judges.searcher.network import MOST, NAME, READ, SEARCH, ByKind, SearchState, Tensors

_SEARCHES = 4  # words that the teacher searches for before it reads


class Questions:
    """Questions with all that their words list, the paths that answer each, and whether it is in the hard wording."""

    def __init__(self, found: Sequence[tuple[SearchEvidence, tuple[str, ...], bool]]) -> None:
        self._numbers = [
            {**evidence.numbers, "targets": np.array([path in targets for path in evidence.files], bool)}
            for evidence, targets, _ in found
        ]
        self.hard = torch.tensor([hard for _, _, hard in found])

    def games(self, rows: Tensor) -> Games:
        known = padded([self._numbers[row] for row in rows.tolist()])
        return Games(known, known.pop("targets"))


class Games:
    """One game of each question, all at the same step.

    Reading or naming a file that the current list lacks takes two steps: the file is listed again first.
    """

    def __init__(self, known: Tensors, targets: Tensor) -> None:
        self.known, self.targets = known, targets
        self.searched = torch.zeros_like(known["asked"])
        self.read = torch.zeros_like(targets, dtype=torch.float32)
        self.left = torch.full((len(targets),), float(MOST))
        self.current = torch.zeros_like(targets)  # the files of the list that is shown
        self.again = torch.zeros(len(targets), dtype=torch.bool)  # it was listed again for one of its files
        self.over, self.won = (torch.zeros(len(targets), dtype=torch.bool) for _ in range(2))

    def observe(self) -> tuple[Tensors, SearchState]:
        """Return what the network sees. Two steps are reserved: to list a file again, and to name it."""
        listed = (self.searched[:, :, None] * self.known["hits"][..., 0]).sum(1) > 0
        search = (self.known["asked"] > 0) & (self.searched == 0) & (self.left >= 3)[:, None]
        read = listed & (self.read == 0) & (self.left[:, None] - self._cost() >= 2)
        self.over = self.over | ~(search.any(1) | listed.any(1))
        here = self.current | ~self.again[:, None]
        may = (search & ~self.again[:, None], read & here, listed & here)
        return self.known, SearchState(self.searched, self.read, self.left, may)

    def _cost(self) -> Tensor:
        return 2 - self.current.float()

    def act(self, kind: Tensor, item: Tensor) -> None:
        """Take a step in each game that is not over: its kind, and the number of a word or a file."""
        hits = self.known["hits"][..., 0] > 0
        search, read, name = ((~self.over & (kind == each)).nonzero()[:, 0] for each in (SEARCH, READ, NAME))
        self.searched, self.read, self.current, self.left = (
            each.clone() for each in (self.searched, self.read, self.current, self.left)
        )
        self.left[search] -= 1
        self.left[read] -= self._cost()[read, item[read]]
        self.searched[search, item[search]] = 1
        self.read[read, item[read]] = 1
        self.current[search] = hits[search, item[search]]
        again = read[~self.current[read, item[read]]]
        lists = self.searched[again] * hits[again, :, item[again]]  # the words that listed the file
        self.current[again] = hits[again, lists.argmax(1)]
        self.won[name] = self.targets[name, item[name]]
        self.over = self.over | (kind == NAME)

    def teach(self, may: ByKind) -> tuple[Tensor, ByKind]:
        """Return the kind of step of a teacher who sees the answers, and the right words and files.

        It searches for the rarest words, then reads as long as it can, and then names.
        """
        search, read, name = may
        early = search.any(1) & ((self.searched.sum(1) < _SEARCHES) | ~name.any(1))
        kind = torch.where(early, SEARCH, torch.where(read.any(1), READ, NAME))
        rarest = self.known["weights"].masked_fill(~search, -1).argmax(1)
        return kind, (nn.functional.one_hot(rarest, search.shape[1]).bool(), self.targets & read, self.targets & name)
