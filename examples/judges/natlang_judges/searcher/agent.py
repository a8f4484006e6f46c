"""The searcher as an agent: `natlang evaluate --agent searcher:FILE`; `searcher-sample:FILE` samples its steps."""

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
from natlang_judges.searcher.games import Games, Questions
from natlang_judges.searcher.network import SEARCHER, SearcherNetwork, StepScores, choose_step
from natlang_judges.searcher.walking import WalkGames, WalkQuestion, WalkQuestions, map_of

Steps = tuple[list[list[str]], ...]  # the commands of each list or file, for each kind of step


class SearcherAgent:
    """Chooses steps by a trained network. A step is one command or several: those of the way, then the last.

    A file that is not listed now is read or named after going where it was listed, or searching again for a word that
    listed it. A path does not say what was listed to a walker, so the agent remembers it. A game is known by its random
    number generator, since two games may have the same question.

    Args:
        weights: A file of `reflect-rl search`, or what `reflect-rl publish` made of it; or a network.
        sampling: Sample each step; else the most probable one is taken.

    Raises:
        UsageError: The file cannot be read, or holds something else.

    Example:
        >>> SearcherAgent(Path("searchers/seed0/reward.safetensors"))(view)  # doctest: +SKIP
        'search throttle'
    """

    def __init__(self, weights: Path | SearcherNetwork, sampling: bool = False) -> None:
        self.sampling = sampling
        self.network = SEARCHER.read(weights) if isinstance(weights, Path) else weights
        self._memory = WalkMemory()
        # What is left of the steps that were begun, by the game and the commands before.
        self._begun: dict[np.random.Generator, dict[tuple[str, ...], list[str]]] = {}

    def __call__(self, view: AgentInput) -> str:
        if not view.path:  # a game begins
            self._begun[view.rng] = {}
        done, begun = tuple(step.action for step in view.path), self._begun.setdefault(view.rng, {})
        commands = begun.get(done)
        if commands is None:
            scores, steps = self._think(view)
            if scores is None:
                return EXIT
            generator = torch.Generator().manual_seed(int(view.rng.integers(1 << 31))) if self.sampling else None
            kind, item = (int(each) for each in choose_step(scores, generator))
            commands = steps[kind][item]
        if commands[1:]:
            begun[(*done, commands[0])] = commands[1:]
        return commands[0]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        found = dict.fromkeys(view.admissible_commands, 0.0)
        begun = self._begun.get(view.rng, {}).get(tuple(step.action for step in view.path))
        scores, steps = (None, ([], [], [])) if begun else self._think(view)
        if scores is None:
            found[begun[0] if begun else EXIT] = 1.0
            return list(found.values())
        for kind, items, those in zip(scores.kind[0], scores.items, steps, strict=True):
            for chance, commands in zip((kind + items[0]).exp().tolist(), those, strict=False):  # items are padded
                if chance:
                    found[commands[0]] += chance
        return list(found.values())

    @torch.no_grad()
    def _think(self, view: AgentInput) -> tuple[StepScores | None, Steps]:
        """Return the scores of the steps, and the commands that take them; None where no step is possible."""
        left = steps_left(view.observation, "searcher")
        if self.network.walks == (view.observation.split("\n")[2] == "# Hits"):
            does, env = ("walks", "AutoExplore-v0") if self.network.walks else ("searches", "AutoExplore-Search-v0")
            raise UsageError(f"agent 'searcher' {does} with these weights: give it NatLang/{env}")
        games, steps = self._walk(view) if self.network.walks else self._search(view)
        games.left[0] = left
        known, state = games.observe()
        return None if games.over.any() else self.network(known, state), steps

    def _search(self, view: AgentInput) -> tuple[Games, Steps]:
        """Return the search so far, and the commands of each step."""
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
        games = Questions([(known, (), False)]).games(torch.tensor([0]))
        here = read_list(lists.get(now, ""))
        games.again[0] = again
        for marks, true in (
            (games.searched, [word in lists for word in known.words]),
            (games.read, [path in texts for path in known.files]),
            (games.current, [path in here for path in known.files]),
        ):
            marks[0, : len(true)] = torch.tensor(true)
        listed = {path: f"search {word}" for word, shown in reversed(lists.items()) for path in read_list(shown)}
        may = set(view.admissible_commands)
        reads, names = (
            [[command if (command := f"{verb} {path}") in may else listed[path]] for path in known.files]
            for verb in ("cat", "id")
        )
        return games, ([[f"search {word}"] for word in known.words], reads, names)

    def _walk(self, view: AgentInput) -> tuple[WalkGames, Steps]:
        """Return the walk so far, and the commands of each step."""
        walk, listed, texts = self._memory.see(view.rng, view.path, view.admissible_commands)
        known = map_of(listed, walk)
        asked = WalkQuestion(read_question(view.task), 0, (), False)
        games = WalkQuestions([asked], [known], lambda _, path: texts[path]).games(torch.tensor([0]))
        games.here[0] = known.pages.index(walk.here)
        games.opened[0, :-1] = torch.tensor([page in listed for page in known.pages])
        for number, path in enumerate(known.files):
            if path in texts:
                games.read[0, number] = 1
                games.questions.look(games.rows, torch.tensor([number]))
        _, state = games.observe()
        pages = [known.pages[number] for number in state.pages[0].tolist() if number < len(known.pages)]
        files = state.listed[0, : len(known.files)].tolist()
        reads, names = (
            [_way(walk, known.pages[known.page_of[at]], f"{verb} {known.files[at].rpartition('/')[2]}") for at in files]
            for verb in ("cat", "id")
        )
        return games, ([_way(walk, page, "") for page in pages], reads, names)


def _way(walk: Walk, end: PagePosition, last: str) -> list[str]:
    """Return the commands to a page, and `last`."""
    there = copy(walk)
    way: list[str] = []
    while there.here != end:
        way.append(there.towards(end, last))
        there.follow(way[-1])
    return [*way, last] if last else way


load, load_sampling = SEARCHER.loaders(SearcherAgent)
