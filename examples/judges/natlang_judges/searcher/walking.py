"""The rules of AutoExplore for a batch of games.

In place of words the player chooses pages of folders to open. A step of a game is all the commands of the way there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from natlang_envs.repository.hits import ASKED, asked_words
from natlang_envs.repository.texts import NEXT, UP
from natlang_envs.repository.walk import PagePosition, Walk, path_of
from natlang_envs.repository.words import stem
from natlang_judges.searcher.evidence import KINDS, TEXT, hinted, kinds_of, padded, rarities, text_numbers, words_in
from natlang_judges.searcher.network import MOST, NAME, READ, SEARCH, ByKind, Tensors

_LAST = -20.0  # the score of naming, beside logarithms of probabilities: it is chosen when nothing else is possible
_FAR = 99  # steps to a page that a map lacks


class FolderMap(NamedTuple):
    """What is known of a repository's folders."""

    pages: tuple[PagePosition, ...]  # that are listed, or that a listed one leads to
    files: tuple[str, ...]  # that are listed
    opener: list[int]  # the number of the page that leads to each page, its own where none does
    page_of: list[int]  # the number of each file's page
    steps: Tensor  # the number of commands from each page to each other


def map_of(listed: Mapping[PagePosition, Sequence[str]], walk: Walk) -> FolderMap:
    """Return the map that the commands of some pages give; the ways are noted in `walk`."""
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
    return FolderMap(tuple(openers), tuple(files), [numbers[place] for place in openers.values()], of, steps)


class WalkQuestion(NamedTuple):
    question: str
    map: int  # the number of its repository's map
    targets: tuple[str, ...]  # the paths that answer it
    hard: bool  # the wording


class WalkQuestions:
    """Questions with what the names of pages and files have of their words, and the texts that were read so far.

    `text` returns what `cat` shows of a file, from the number of its map and its path.
    """

    def __init__(
        self, questions: Sequence[WalkQuestion], maps: Sequence[FolderMap], text: Callable[[int, str], str]
    ) -> None:
        self._maps, self._text = maps, text
        self.hard = torch.tensor([each.hard for each in questions])
        self.map = torch.tensor([each.map for each in questions])
        extra = max(len(each.pages) for each in maps)  # a page that is never open, for what a smaller map lacks
        numbers = [_numbers_of_map(each, extra) for each in maps]
        self.of_map = padded(numbers, page_of=extra, opener=extra, steps=_FAR)
        self._stems = [tuple(map(stem, asked_words(each.question))) for each in questions]
        self.of_question = padded(
            [_numbers_of(each, stems, maps[each.map]) for each, stems in zip(questions, self._stems, strict=True)]
        )
        files = self.of_map["page_of"].shape[1]
        self.texts = torch.zeros(len(questions), files, ASKED + TEXT, dtype=torch.float16)
        self._have = torch.zeros(len(questions), files, dtype=torch.bool)

    def games(self, rows: Tensor) -> WalkGames:
        return WalkGames(self, rows)

    def look(self, rows: Tensor, files: Tensor) -> None:
        """Compute the features of texts that are read for the first time."""
        for row, file in zip(rows.tolist(), files.tolist(), strict=True):
            if not self._have[row, file]:
                number, weights = int(self.map[row]), self.of_question["weights"][row].tolist()
                text = self._text(number, self._maps[number].files[file])
                found = text_numbers(self._stems[row], tuple(weights), text)
                self.texts[row, file] = torch.from_numpy(np.concatenate(found)).half()
                self._have[row, file] = True


def _numbers_of_map(known: FolderMap, extra: int) -> dict[str, np.ndarray]:
    folders: list[list[float]] = []
    for folder, page in known.pages:
        last = folder[-1] if folder else ""
        odd = (last in ("src", "lib"), last.startswith((".", "_")), page > 0, min(len(folder), 4) / 4)
        folders.append([*kinds_of("/".join(folder) + "/"), *odd])
    return {
        "page_of": np.array(known.page_of, np.int64),
        "opener": np.array([*known.opener, *[extra] * (extra + 1 - len(known.opener))], np.int64),
        "steps": np.pad(known.steps, (0, extra + 1 - len(known.steps)), constant_values=_FAR),
        "kinds": np.array([kinds_of(path) for path in known.files], np.float32).reshape(-1, KINDS),
        "folders": np.array([*folders, [0.0] * len(folders[0])], np.float32),
    }


def _numbers_of(asked: WalkQuestion, stems: tuple[str, ...], known: FolderMap) -> dict[str, np.ndarray]:
    names = [path.rpartition("/")[2] for path in known.files]
    folders = [*(page.folder for page in known.pages), ()]  # of the page that is never open, too
    heads = [folder[-1] if folder else "" for folder in folders]
    ways = ["/".join(folder) for folder in folders]
    onward = np.zeros(len(folders), bool)  # the pages on the way to a target
    for file in (known.files.index(path) for path in asked.targets if path in known.files):
        page = known.page_of[file]
        while not onward[page]:
            onward[page] = True
            page = known.opener[page]
    return {
        "names": np.array([words_in(stems, each) for each in names], bool).reshape(-1, ASKED),
        "file_hints": np.array([hinted(stems, each) for each in names], bool).reshape(-1, ASKED),
        "heads": np.array([words_in(stems, each) for each in heads], bool),
        "page_hints": np.array([hinted(stems, each) for each in heads], bool),
        "ways": np.array([words_in(stems, each) for each in ways], bool),
        "weights": rarities(asked.question),
        "targets": np.array([path in asked.targets for path in known.files], bool),
        "onward": onward,
    }


class WalkState(NamedTuple):
    """The states of a batch of walks: the listed files and the pages that can be opened, padded to the largest game."""

    listed: Tensor  # the numbers of the files
    is_file: Tensor  # 0 where `listed` is padded
    pages: Tensor  # the numbers of the pages
    is_page: Tensor  # 0 where `pages` is padded
    read: Tensor  # 1 for each file that was read
    away: Tensor  # steps to each file's page
    cost: Tensor  # steps that opening each page takes
    left: Tensor  # steps
    page_of: Tensor  # the number of each file's page
    opened: Tensor  # the pages that are open
    back: Callable[[Tensor], Tensor]  # returns the steps from each page to that of a listed file

    def may_by(self, belief: Tensor) -> ByKind:
        """Return the pages that may be opened, and the files that may be read and named.

        The way back to the file with the most belief is reserved.
        """
        left = self.left[:, None]
        name = self.is_file & (self.away + 1 <= left)
        back = self.back(belief.masked_fill(~name, -1).argmax(1)) * name.any(1, keepdim=True)
        search = self.is_page & (self.cost + 1 + back.gather(1, self.pages) <= left)
        read = self.is_file & (self.read == 0) & (self.away + 2 + back.gather(1, self.page_of) <= left)
        return search, read, name

    def plan(self, where: Tensor, reads: Tensor, names: Tensor, may: ByKind) -> tuple[ByKind, Tensor]:
        """Return the scores of pages and files, and of each kind of step: log-probability less the log of its commands.

        A page counts an eighth, since its files have still to be read. A name comes last.
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
        self.targets = questions.of_question["targets"][rows]
        self.opened = torch.zeros(len(rows), questions.of_map["opener"].shape[1], dtype=torch.bool)
        self.opened[:, 0] = True
        self.here = torch.zeros(len(rows), dtype=torch.long)
        self.read = torch.zeros(self.targets.shape)
        self.left = torch.full((len(rows),), float(MOST))
        self.over, self.won = (torch.zeros(len(rows), dtype=torch.bool) for _ in range(2))

    def _known(self, state: WalkState) -> Tensors:
        q, m, rows, maps = self.questions.of_question, self.questions.of_map, self.rows[:, None], self.maps[:, None]
        texts = self.questions.texts[rows, state.listed].float() * state.read[..., None]
        return {
            "weights": q["weights"][self.rows],
            "names": q["names"][rows, state.listed].float(),
            "folders": q["ways"][rows, state.page_of].float(),
            "texts": texts[..., :ASKED],
            "text": texts[..., ASKED:],
            "kinds": m["kinds"][maps, state.listed],
            "hints": q["file_hints"][rows, state.listed].float(),
            "folder_hints": q["page_hints"][rows, state.page_of].float(),
            "page_hints": q["page_hints"][rows, state.pages].float(),
            "heads": q["heads"][rows, state.pages].float(),
            "ways": q["ways"][rows, state.pages].float(),
            "pages": m["folders"][maps, state.pages],
        }

    def observe(self) -> tuple[Tensors, WalkState]:
        maps = self.maps
        page_of, opener, all_steps = (self.questions.of_map[name] for name in ("page_of", "opener", "steps"))
        page_of, opener, steps = page_of[maps], opener[maps], all_steps[maps, self.here].float()
        listed, is_file = _packed(self.opened.gather(1, page_of))
        pages, is_page = _packed(self.opened.gather(1, opener) & ~self.opened)
        of = page_of.gather(1, listed)
        away, cost = steps.gather(1, of), steps.gather(1, opener.gather(1, pages)) + 1
        left = self.left[:, None]
        self.over = self.over | ~((is_file & (away < left)).any(1) | (is_page & (cost < left)).any(1))

        def back(best: Tensor) -> Tensor:
            return all_steps[maps, :, of.gather(1, best[:, None])[:, 0]].float()

        read = self.read.gather(1, listed)
        self._state = WalkState(listed, is_file, pages, is_page, read, away, cost, self.left, of, self.opened, back)
        return self._known(self._state), self._state

    def act(self, kind: Tensor, item: Tensor) -> None:
        """Take a step in each game that is not over: its kind, and the number of a page or a file in the state."""
        state, number = self._state, torch.arange(len(kind))
        search, read, name = (~self.over & (kind == each) for each in (SEARCH, READ, NAME))
        opens, at = (item.clamp_max(each.shape[1] - 1) for each in (state.pages, state.listed))
        page, file = state.pages[number, opens], state.listed[number, at]
        cost = torch.where(search, state.cost[number, opens], torch.where(read, state.away[number, at] + 1, 0.0))
        self.left = self.left - cost
        self.here = torch.where(search, page, torch.where(read, state.page_of[number, at], self.here))
        self.opened, self.read = self.opened.clone(), self.read.clone()
        self.opened[search, page[search]] = True
        self.read[read, file[read]] = 1
        self.questions.look(self.rows[read], file[read])
        self.won[name] = self.targets[name, file[name]]
        self.over = self.over | name

    def teach(self, may: ByKind) -> tuple[Tensor, ByKind]:
        """Return the kind of step of a teacher who sees the answers, and the right pages and files.

        It opens the pages on the way to a right file, reads as long as it can, and then names.
        """
        state, (search, read, name) = self._state, may
        target = self.targets.gather(1, state.listed) & state.is_file
        onward = self.questions.of_question["onward"][self.rows].gather(1, state.pages) & state.is_page
        early = search.any(1) & (~target.any(1) & onward.any(1) | ~name.any(1))
        kind = torch.where(early, SEARCH, torch.where(read.any(1), READ, NAME))
        return kind, (onward, target & read, target)


def _packed(marks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers of the marked items of each row, in order and padded with others, and which are marked."""
    most = max(1, int(marks.sum(1).max()))
    numbers = marks.int().argsort(dim=1, descending=True, stable=True)[:, :most]
    return numbers, marks.gather(1, numbers)
