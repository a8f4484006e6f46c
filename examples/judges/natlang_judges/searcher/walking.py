"""The judge without a search: the rules of the paper's AutoExplore for it, many games at a time, and what it looks at.

In place of words it chooses pages of folders to open. A step of a game is all the commands of the way there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from natlang_envs.repository.hits import ASKED, asked_words, general_rarity
from natlang_envs.repository.texts import NEXT, UP
from natlang_envs.repository.walk import PagePosition, Walk, path_of
from natlang_envs.repository.words import stem
from natlang_judges.searcher.evidence import TEXT, found_words, kinds_of, text_numbers
from natlang_judges.searcher.hints import hinted
from natlang_judges.searcher.judge import (
    MOST,
    NAME,
    READ,
    SEARCH,
    Judge,
    Looks,
    Tensors,
    most_of,
    shares_of,
)
from natlang_judges.weights import Kind

_LAST = -20.0  # what a name is worth beside the logarithm of a hope: it is given when nothing else can be done
_FAR = 99  # steps to a page that a map lacks


Marks = tuple[Tensor, Tensor, Tensor]  # of lists or files, for each kind of step


class Map(NamedTuple):
    """What is known of folders.

    Attributes:
        pages: The pages that are listed or that a listed one leads to.
        files: The files that are listed.
        opener: The number of the page that leads to each page, its own where none does.
        page_of: The number of each file's page.
        steps: The commands from each page to each other.
    """

    pages: tuple[PagePosition, ...]
    files: tuple[str, ...]
    opener: list[int]
    page_of: list[int]
    steps: Tensor


def map_of(listed: Mapping[PagePosition, Sequence[str]], walk: Walk) -> Map:
    """Return what the commands of some places tell; the ways are noted in `walk`."""
    openers: dict[PagePosition, PagePosition] = {}
    files: dict[str, PagePosition] = {}
    for place in sorted(listed):  # folders before what is in them
        openers.setdefault(place, place)
        for command in listed[place]:
            verb, _, name = command.partition(" ")
            if command == NEXT:
                openers.setdefault(PagePosition(place.folder, place.page + 1), place)
            elif verb == "cd" and command != UP:
                walk.note(place, name)
                openers.setdefault(PagePosition((*place.folder, name)), place)
            elif verb == "cat":
                files[path_of(place.folder, name)] = place
    numbers = {place: number for number, place in enumerate(openers)}
    steps = torch.tensor([[walk.steps(start, end) for end in openers] for start in openers], dtype=torch.uint8)
    of = [numbers[place] for place in files.values()]
    return Map(tuple(openers), tuple(files), [numbers[place] for place in openers.values()], of, steps)


class WalkQuestions:
    """Questions about repositories, or about what is known of one.

    Args:
        asked: For each question itself, the number of its map, and the files that answer it.
        maps: What is known of folders.
        text: Returns what `cat` shows first of a file, by the number of the map and the path.
        hard: Whether each question is in the hard wording.
    """

    def __init__(
        self,
        asked: Sequence[tuple[str, int, tuple[str, ...]]],
        maps: Sequence[Map],
        text: Callable[[int, str], str],
        hard: Sequence[bool],
    ) -> None:
        self.maps, self._text, self.hard = maps, text, torch.tensor(hard)
        files, pages = (max(1, *(len(each[at]) for each in maps)) for at in (1, 0))
        self.map = torch.tensor([number for _, number, _ in asked])
        # One page more than there are, which is never open, has the files and opens the pages that a map lacks.
        self.page_of = torch.full((len(maps), files), pages)
        self.opener = torch.full((len(maps), pages + 1), pages)
        self.steps = torch.full((len(maps), pages + 1, pages + 1), _FAR, dtype=torch.uint8)
        self.kinds, self.folders = torch.zeros(len(maps), files, 9), torch.zeros(len(maps), pages + 1, 13)
        for row, each in enumerate(maps):
            count = len(each.pages)
            self.page_of[row, : len(each.files)] = torch.tensor(each.page_of, dtype=torch.long)
            self.opener[row, :count] = torch.tensor(each.opener)
            self.steps[row, :count, :count] = each.steps
            self.kinds[row, : len(each.files)] = torch.tensor([kinds_of(path) for path in each.files]).reshape(-1, 9)
            self.folders[row, :count] = torch.tensor([_folder(place) for place in each.pages])
        self.names = torch.zeros(len(asked), files, ASKED, dtype=torch.bool)
        self.heads, self.ways, self.page_hints = (
            torch.zeros(len(asked), pages + 1, ASKED, dtype=torch.bool) for _ in range(3)
        )
        self.file_hints = torch.zeros_like(self.names)
        self.weights = torch.zeros(len(asked), ASKED)
        self.targets = torch.zeros(len(asked), files, dtype=torch.bool)
        self.onward = torch.zeros(len(asked), pages + 1, dtype=torch.bool)  # the pages on the way to a target
        self.words: list[tuple[str, ...]] = []
        for row, (question, number, targets) in enumerate(asked):
            words = asked_words(question)
            stems = tuple(map(stem, words))
            self.words.append(stems)
            self.weights[row, : len(words)] = torch.tensor([general_rarity(word) for word in words])
            here = maps[number]
            names = [path.rpartition("/")[2] for path in here.files]
            heads = [place.folder[-1] if place.folder else "" for place in here.pages]
            for bits, texts, told in (
                (self.names, names, found_words),
                (self.heads, heads, found_words),
                (self.ways, ["/".join(place.folder) for place in here.pages], found_words),
                (self.file_hints, names, hinted),
                (self.page_hints, heads, hinted),
            ):
                if texts and stems:
                    each = {text: told(stems, text)[: len(stems)] for text in dict.fromkeys(texts)}
                    bits[row, : len(texts), : len(stems)] = torch.tensor(np.stack([each[x] for x in texts])) > 0
            for file in (here.files.index(path) for path in targets if path in here.files):
                self.targets[row, file] = True
                page = here.page_of[file]
                while not self.onward[row, page]:
                    self.onward[row, page] = True
                    page = here.opener[page]
        self.texts = torch.zeros(len(asked), files, ASKED + TEXT, dtype=torch.float16)
        self._have = torch.zeros(len(asked), files, dtype=torch.bool)

    def games(self, rows: Tensor) -> WalkGames:
        """Return a game of each of some questions."""
        return WalkGames(self, rows)

    def look(self, rows: Tensor, files: Tensor) -> None:
        """Make the numbers of texts that are read for the first time."""
        for row, file in zip(rows.tolist(), files.tolist(), strict=True):
            if not self._have[row, file]:
                number = int(self.map[row])
                text = self._text(number, self.maps[number].files[file])
                found = text_numbers(self.words[row], tuple(self.weights[row].tolist()), text)
                self.texts[row, file] = torch.from_numpy(np.concatenate(found)).half()
                self._have[row, file] = True


class WalkState(NamedTuple):
    """Where a batch of games is, by the listed files and the pages that can be opened, as many as the game with most.

    Attributes:
        listed: The numbers of the files; `is_file` marks those that there are.
        pages: The numbers of the pages; `is_page` marks those that there are.
        read: Which files were read.
        away: The steps to each file's page.
        cost: The steps that opening each page takes.
        left: The steps left.
        back: Returns the steps from each page to that of a listed file.
    """

    listed: Tensor
    is_file: Tensor
    pages: Tensor
    is_page: Tensor
    read: Tensor
    away: Tensor
    cost: Tensor
    left: Tensor
    page_of: Tensor
    opened: Tensor
    back: Callable[[Tensor], Tensor]

    def may_by(self, belief: Tensor) -> Marks:
        """Return which pages may be opened and which files read and named: the file believed most stays in reach."""
        left = self.left[:, None]
        name = self.is_file & (self.away + 1 <= left)
        back = self.back(belief.masked_fill(~name, -1).argmax(1)) * name.any(1, keepdim=True)
        search = self.is_page & (self.cost + 1 + back.gather(1, self.pages) <= left)
        read = self.is_file & (self.read == 0) & (self.away + 2 + back.gather(1, self.page_of) <= left)
        return search, read, name

    def plan(self, where: Tensor, reads: Tensor, names: Tensor, may: Marks) -> tuple[Marks, Tensor]:
        """Return the scores of pages and files, and what each kind of step is worth: the hope by the commands it takes.

        A page is worth an eighth of what is hoped behind it, since its files have still to be read; a name comes last.
        """
        search, read, _ = may
        pages = where[:, names.shape[1] :] - self.cost.log1p()
        hopes = where[:, : names.shape[1]] - self.away.log1p()
        best = [each.masked_fill(~those, -50).amax(1) for each, those in ((pages - log(8), search), (hopes, read))]
        worth = torch.stack([*best, torch.full_like(best[0], _LAST)], 1).detach()
        return (pages, reads - self.away.log1p(), names), worth


class WalkGames:
    """One game of each question, all at the same step; see `Games`."""

    def __init__(self, questions: WalkQuestions, rows: Tensor) -> None:
        self.questions, self.rows, self.maps = questions, rows, questions.map[rows]
        self.targets = questions.targets[rows]
        self.opened = torch.zeros(len(rows), questions.opener.shape[1], dtype=torch.bool)
        self.opened[:, 0] = True
        self.here = torch.zeros(len(rows), dtype=torch.long)
        self.read = torch.zeros(self.targets.shape)
        self.left = torch.full((len(rows),), float(MOST))
        self.over, self.won = (torch.zeros(len(rows), dtype=torch.bool) for _ in range(2))

    @property
    def known(self) -> Tensors:
        """What is known of the questions, the listed files and the pages that can be opened."""
        q, rows, state = self.questions, self.rows[:, None], self.state()
        maps, where = self.maps[:, None], state.page_of
        texts = q.texts[rows, state.listed].float() * state.read[..., None]
        return {
            "weights": q.weights[self.rows],
            "names": q.names[rows, state.listed].float(),
            "folders": q.ways[rows, where].float(),
            "texts": texts[..., :ASKED],
            "text": texts[..., ASKED:],
            "kinds": q.kinds[maps, state.listed],
            "hints": q.file_hints[rows, state.listed].float(),
            "folder_hints": q.page_hints[rows, where].float(),
            "page_hints": q.page_hints[rows, state.pages].float(),
            "heads": q.heads[rows, state.pages].float(),
            "ways": q.ways[rows, state.pages].float(),
            "pages": q.folders[maps, state.pages],
        }

    def state(self) -> WalkState:
        """Return what the judge is told."""
        maps = self.maps
        page_of, opener = self.questions.page_of[maps], self.questions.opener[maps]
        steps = self.questions.steps[maps, self.here].float()
        listed, is_file = _packed(self.opened.gather(1, page_of))
        pages, is_page = _packed(self.opened.gather(1, opener) & ~self.opened)
        of = page_of.gather(1, listed)
        away, cost = steps.gather(1, of), steps.gather(1, opener.gather(1, pages)) + 1
        left = self.left[:, None]
        self.over = self.over | ~((is_file & (away < left)).any(1) | (is_page & (cost < left)).any(1))

        def back(best: Tensor) -> Tensor:
            return self.questions.steps[maps, :, of.gather(1, best[:, None])[:, 0]].float()

        read = self.read.gather(1, listed)
        self._state = WalkState(listed, is_file, pages, is_page, read, away, cost, self.left, of, self.opened, back)
        return self._state

    def act(self, kind: Tensor, item: Tensor) -> None:
        """Take a step in each game that is not over: a kind, and the number of a page or a file in the state."""
        state, number = self._state, torch.arange(len(kind))
        search, read, name = (~self.over & (kind == each) for each in (SEARCH, READ, NAME))
        page = state.pages[number, item.clamp_max(state.pages.shape[1] - 1)]
        at = item.clamp_max(state.listed.shape[1] - 1)
        file = state.listed[number, at]
        cost = state.cost[number, item.clamp_max(state.pages.shape[1] - 1)]
        self.left = self.left - torch.where(search, cost, torch.where(read, state.away[number, at] + 1, 0.0))
        self.here = torch.where(search, page, torch.where(read, state.page_of[number, at], self.here))
        self.opened, self.read = self.opened.clone(), self.read.clone()
        self.opened[search, page[search]] = True
        self.read[read, file[read]] = 1
        self.questions.look(self.rows[read], file[read])
        self.won[name] = self.targets[name, file[name]]
        self.over = self.over | name

    def teach(self, may: Marks) -> tuple[Tensor, Marks]:
        """Return the kind of step that a teacher who sees the answers takes, and the right pages and files.

        It opens the pages on the way to a right file, reads as long as it can, and then names.
        """
        state, (search, read, name) = self._state, may
        target = self.targets.gather(1, state.listed) & state.is_file
        onward = self.questions.onward[self.rows].gather(1, state.pages) & state.is_page
        early = search.any(1) & (~target.any(1) & onward.any(1) | ~name.any(1))
        kind = torch.where(early, SEARCH, torch.where(read.any(1), READ, NAME))
        return kind, (onward, target & read, target)


def _packed(marks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers of what is marked in each row, in order, with others behind them, and which are marked."""
    most = max(1, int(marks.sum(1).max()))
    numbers = marks.int().argsort(dim=1, descending=True, stable=True)[:, :most]
    return numbers, marks.gather(1, numbers)


def _folder(place: PagePosition) -> tuple[float, ...]:
    path = "/".join(place.folder)
    last = place.folder[-1] if place.folder else ""
    odd = (last in ("src", "lib"), last.startswith((".", "_")), place.page > 0, min(len(place.folder), 4) / 4)
    return (*map(float, kinds_of(f"{path}/")), *map(float, odd))


class Walker(Judge):
    """Chances of every step of a player who walks through folders."""

    sizes = (44, 22, 11)  # numbers of a file, of a page, and of the state
    walks = True

    def __init__(self, width: int = 48, dropout: float = 0.3) -> None:
        super().__init__(width, dropout)
        for weights in list(self.kinds.parameters())[-2:]:  # it begins with the plan
            nn.init.zeros_(weights)

    def look(self, known: Tensors, state: WalkState) -> Looks:
        """Return the numbers of each file, and what is listed."""
        read, share = state.read, shares_of(known["weights"])[:, :, None]
        names, folders, seen, text = known["names"], known["folders"], known["texts"], known["text"]
        path = torch.maximum(names, folders)
        covers = [(bits @ share)[..., 0] for bits in (names, folders, path, seen, torch.maximum(path, seen))]
        covers += [(known[name] @ share)[..., 0] for name in ("hints", "folder_hints")]
        count = read.sum(1, keepdim=True)
        rare = torch.log((count + 1) / (seen.sum(1) + 0.5)).clamp_min(0) * known["weights"]  # in what was read
        covers.append((seen @ shares_of(rare)[:, :, None])[..., 0])
        parts = [*covers, *(most_of(covers[number] * state.is_file) for number in (0, 1, 3, 4, 5, 6, 7))]
        parts += [most_of(text[..., number] * state.is_file) for number in range(1, 5)]
        unread = (state.is_file * (1 - read)).sum(1, keepdim=True)
        common = (torch.log1p(unread) / 4, count / MOST, state.left[:, None] / MOST)
        parts += [read, *(each.expand_as(read) for each in common), state.away / 8, names.sum(-1) / 4]
        kinds = known["kinds"]
        numbers = torch.cat([torch.stack(parts, -1), text, kinds, kinds[..., :2] * read[..., None]], -1)
        return Looks(numbers, state.is_file, state.is_page)

    def look_at_lists(self, known: Tensors, state: WalkState, looks: Looks, belief: Tensor) -> Tensor:
        """Return the numbers of each page that can be opened."""
        share = shares_of(known["weights"])[:, :, None]
        covers = [(known[name] @ share)[..., 0] for name in ("heads", "ways", "page_hints")]
        common = ((state.left / MOST)[:, None], torch.log1p(state.is_file.sum(1, keepdim=True)) / 4)
        parts = [*covers, *(most_of(covers[number] * state.is_page) for number in (0, 2))]
        parts += [state.cost / 8, *(each.expand_as(covers[0]) for each in common)]
        parts.append(state.is_page.float().sum(1, keepdim=True).log1p().expand_as(covers[0]) / 4)
        return torch.cat([torch.stack(parts, -1), known["pages"]], -1)

    def look_around(self, state: WalkState, looks: Looks, belief: Tensor) -> Tensor:
        """Return the numbers of a state."""
        best = belief.max(1)
        of_best = state.read.gather(1, best.indices[:, None])[:, 0]
        parts = [state.left / MOST, (state.left <= 3).float(), state.opened.sum(1) / 8, state.read.sum(1) / MOST]
        unread = (state.is_file * (1 - state.read)).sum(1)
        parts += [best.values, of_best, (belief * state.read).sum(1), 1 - belief.sum(1), torch.log1p(unread) / 4]
        parts += [state.is_page.any(1).float(), state.cost.masked_fill(~state.is_page, 15).amin(1) / 8]
        return torch.stack(parts, -1)


def _judge(weights: Mapping[str, Tensor]) -> Judge:
    return Walker() if weights["words.0.weight"].shape[1] == Walker.sizes[1] else Judge()


SEARCHER = Kind("searcher", "search", _judge)
