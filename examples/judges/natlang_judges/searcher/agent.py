"""The judge as an agent: `natlang evaluate --agent searcher:FILE`, or `searcher-sample:FILE` for drawn steps."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.repository.hits import read_list
from natlang_envs.repository.texts import EXIT, read_question, steps_left
from natlang_envs.repository.walk import PagePosition, Walk, WalkMemory
from natlang_judges.searcher.evidence import gather
from natlang_judges.searcher.games import Games, stack
from natlang_judges.searcher.judge import Options, draw
from natlang_judges.searcher.walking import SEARCHER, WalkGames, WalkQuestions, map_of

Steps = tuple[list[list[str]], ...]  # the commands of each list or file, for each kind of step
Ways = dict[tuple[str, ...], list[str]]


class SearcherAgent:
    """Looks, reads and names as a trained judge thinks likely: by searches, or on a walk through folders.

    To read or name a file that is not listed now, it first goes where it was, or searches again for a word that listed
    it. On a walk it remembers what was listed to it, which a path does not tell. Games are known by their random
    numbers: two may have the same question.

    Args:
        weights: A file of `reflect-rl search`, or what `reflect-rl publish` made of it.
        sampling: Draw each step, in place of the likeliest.

    Attributes:
        judge: What thinks.

    Raises:
        UsageError: The file cannot be read, or holds something else.
    """

    def __init__(self, weights: Path, sampling: bool = False) -> None:
        self.sampling = sampling
        self.judge = SEARCHER.read(weights)
        self._memory = WalkMemory()
        self._begun: dict[np.random.Generator, Ways] = {}  # what is left of ways, by the game and what was done

    def __call__(self, view: AgentInput) -> str:
        """Return the next command."""
        if not view.path:  # a game begins
            self._begun[view.rng] = {}
        done, begun = tuple(step.action for step in view.path), self._begun.setdefault(view.rng, {})
        way = begun.get(done)
        if way is None:
            options, steps = self._think(view)
            if options is None:
                return EXIT
            drawn = torch.Generator().manual_seed(int(view.rng.integers(1 << 31))) if self.sampling else None
            kind, item = (int(each) for each in draw(options, drawn))
            way = steps[kind][item]
        if way[1:]:
            begun[(*done, way[0])] = way[1:]
        return way[0]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        """Return how likely each listed command is to be drawn."""
        found = dict.fromkeys(view.admissible_commands, 0.0)
        begun = self._begun.get(view.rng, {}).get(tuple(step.action for step in view.path))
        options, steps = (None, ([], [], [])) if begun else self._think(view)
        if options is None:
            found[begun[0] if begun else EXIT] = 1.0
            return list(found.values())
        for kind, items, those in zip(options.kind[0], options.items, steps, strict=True):
            for chance, way in zip((kind + items[0]).exp().tolist(), those, strict=False):  # a batch has more room
                if chance:
                    found[way[0]] += chance
        return list(found.values())

    @torch.no_grad()
    def _think(self, view: AgentInput) -> tuple[Options | None, Steps]:
        """Return the chances of every step, and the commands that take it; none where nothing is left to do."""
        left = steps_left(view.observation, "searcher")
        if self.judge.walks == (view.observation.split("\n")[2] == "# Hits"):
            does, env = ("walks", "AutoExplore-v0") if self.judge.walks else ("searches", "AutoExplore-Search-v0")
            raise UsageError(f"agent 'searcher' {does} with these weights: give it NatLang/{env}")
        games, ways = self._walk(view) if self.judge.walks else self._search(view)
        games.left[0] = left
        state = games.state()
        return None if games.over.any() else self.judge(games.known, state), ways

    def _search(self, view: AgentInput) -> tuple[Games, Steps]:
        """Return the game of searches where it stands, and the commands of each step."""
        lists: dict[str, str] = {}
        texts: dict[str, str] = {}
        now, again = "", False
        for step in view.path:
            verb, _, value = step.action.partition(" ")
            again = verb == "search" and value in lists
            if verb == "search":
                lists[value], now = step.feedback, value
            elif verb == "cat":
                texts.setdefault(value, step.feedback)
        known = gather(read_question(view.task), lists, texts)
        games = stack([(known, ())], [False]).games(torch.tensor([0]))
        for number, word in enumerate(known.words):
            games.searched[0, number] = word in lists
        games.again[0] = again
        here = read_list(lists.get(now, ""))
        for number, path in enumerate(known.files):
            games.read[0, number] = path in texts
            games.current[0, number] = path in here
        listed = {path: f"search {word}" for word, shown in reversed(lists.items()) for path in read_list(shown)}
        may = set(view.admissible_commands)
        reads, names = (
            [[command if (command := f"{verb} {path}") in may else listed[path]] for path in known.files]
            for verb in ("cat", "id")
        )
        return games, ([[f"search {word}"] for word in known.words], reads, names)

    def _walk(self, view: AgentInput) -> tuple[WalkGames, Steps]:
        """Return the game of folders where it stands, and the commands of each step."""
        question = read_question(view.task)
        walk, listed, texts = self._memory.see(view.rng, view.path, view.admissible_commands)
        known = map_of(listed, walk)
        questions = WalkQuestions([(question, 0, ())], [known], lambda _, path: texts[path], [False])
        games = questions.games(torch.tensor([0]))
        games.here[0] = known.pages.index(walk.here)
        games.opened[0, :-1] = torch.tensor([page in listed for page in known.pages])
        for number, path in enumerate(known.files):
            if path in texts:
                games.read[0, number] = 1
                games.questions.look(games.rows, torch.tensor([number]))
        state = games.state()
        pages = [known.pages[number] for number in state.pages[0].tolist() if number < len(known.pages)]
        opens = [_way(walk, page, "") for page in pages]
        files = [
            (known.files[at], known.pages[known.page_of[at]]) for at in state.listed[0, : len(known.files)].tolist()
        ]
        reads, names = (
            [_way(walk, page, f"{verb} {path.rpartition('/')[2]}") for path, page in files] for verb in ("cat", "id")
        )
        return games, (opens, reads, names)


def _way(walk: Walk, end: PagePosition, last: str) -> list[str]:
    """Return the commands to a place, and the one that is given there."""
    there = copy(walk)
    way: list[str] = []
    while there.here != end:
        way.append(there.towards(end, last))
        there.follow(way[-1])
    return [*way, last] if last else way


load, load_sampling = SEARCHER.loaders(SearcherAgent)
