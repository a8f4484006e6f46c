"""Many games at a time, on evidence that is gathered once: the rules of AutoExplore-Search for the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from natlang_judges.searcher.evidence import FILES, Evidence
from natlang_judges.searcher.judge import MOST, NAME, READ, SEARCH, State, Tensors

_SEARCHES = 4  # words that the teacher searches for before it reads


class Questions(NamedTuple):
    """Questions with all that their words list; `targets` marks the files that answer, `hard` the wording."""

    known: Tensors
    targets: Tensor
    hard: Tensor

    def games(self, rows: Tensor) -> Games:
        """Return a game of each of some questions."""
        return Games(self.rows(rows))

    def rows(self, rows: Tensor) -> Questions:
        """Return some of them, with as many files as the largest of them has."""
        known = {name: value[rows].float() for name, value in self.known.items()}
        most = max(1, int((known["hits"][..., 0].amax(1) > 0).sum(1).max()))
        known |= {name: known[name].narrow(axis + 1, 0, most) for name, axis in FILES.items()}
        return Questions(known, self.targets[rows, :most], self.hard[rows])


def stack(found: Sequence[tuple[Evidence, tuple[str, ...]]], hard: Sequence[bool]) -> Questions:
    """Return questions, each with the files that answer it, with as many files as the largest has."""
    most = max(1, *(len(each.files) for each, _ in found))
    known: Tensors = {}
    for name in found[0][0].numbers:
        arrays = [each.numbers[name] for each, _ in found]
        if name in FILES:
            axis = FILES[name]
            room = [
                [(0, most - len(x[0].files) if at == axis else 0) for at in range(a.ndim)]
                for x, a in zip(found, arrays, strict=True)
            ]
            arrays = [np.pad(array, each) for array, each in zip(arrays, room, strict=True)]
        known[name] = torch.from_numpy(np.stack(arrays)).half()
    targets = torch.zeros(len(found), most, dtype=torch.bool)
    for row, (each, right) in enumerate(found):
        targets[row, : len(each.files)] = torch.tensor([path in right for path in each.files], dtype=torch.bool)
    return Questions(known, targets, torch.tensor(hard))


class Games:
    """One game of each question, all at the same step; a step to a file that the current list lacks costs two."""

    def __init__(self, questions: Questions) -> None:
        self.known, self.targets = questions.known, questions.targets
        self.searched = torch.zeros_like(self.known["asked"])
        self.read = torch.zeros_like(self.targets, dtype=torch.float32)
        self.left = torch.full((len(self.targets),), float(MOST))
        self.current = torch.zeros_like(self.targets)  # the files of the list that is shown
        self.again = torch.zeros(len(self.targets), dtype=torch.bool)  # it was listed again for one of its files
        self.over, self.won = (torch.zeros(len(self.targets), dtype=torch.bool) for _ in range(2))

    def state(self) -> State:
        """Return what the judge is told. Two steps are kept: to list a file again, and to name it."""
        listed = (self.searched[:, :, None] * self.known["hits"][..., 0]).sum(1) > 0
        search = (self.known["asked"] > 0) & (self.searched == 0) & (self.left >= 3)[:, None]
        read = listed & (self.read == 0) & (self.left[:, None] - self._cost() >= 2)
        self.over = self.over | ~(search.any(1) | listed.any(1))
        here = self.current | ~self.again[:, None]
        return State(self.searched, self.read, self.left, (search & ~self.again[:, None], read & here, listed & here))

    def _cost(self) -> Tensor:
        return 2 - self.current.float()

    def act(self, kind: Tensor, item: Tensor) -> None:
        """Take a step in each game that is not over: a kind, and the number of a word or a file."""
        hits = self.known["hits"][..., 0] > 0
        search, read, name = ((~self.over & (kind == each)).nonzero()[:, 0] for each in (SEARCH, READ, NAME))
        self.searched, self.read, self.current = self.searched.clone(), self.read.clone(), self.current.clone()
        left = self.left.clone()
        left[search] -= 1
        left[read] -= self._cost()[read, item[read]]
        self.left = left
        self.searched[search, item[search]] = 1
        self.read[read, item[read]] = 1
        self.current[search] = hits[search, item[search]]
        again = read[~self.current[read, item[read]]]
        lists = self.searched[again] * hits[again, :, item[again]]  # the words that listed the file
        self.current[again] = hits[again, lists.argmax(1)]
        self.won[name] = self.targets[name, item[name]]
        self.over = self.over | (kind == NAME)

    def teach(self, may: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Return the kind of step that a teacher who sees the answers takes, and the right words and files.

        It searches for the rarest words, then reads as long as it can, and then names.
        """
        search, read, name = may
        early = search.any(1) & ((self.searched.sum(1) < _SEARCHES) | ~name.any(1))
        kind = torch.where(early, SEARCH, torch.where(read.any(1), READ, NAME))
        rarest = self.known["weights"].masked_fill(~search, -1).argmax(1)
        return kind, (nn.functional.one_hot(rarest, search.shape[1]).bool(), self.targets & read, self.targets & name)
