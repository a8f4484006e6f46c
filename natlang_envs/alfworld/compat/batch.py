"""Episodes in a batch, with the methods of TextWorld's batches."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from natlang_envs.alfworld.causes import why
from natlang_envs.alfworld.compat.config import EpisodeSettings
from natlang_envs.alfworld.compat.expert_plan import Planner
from natlang_envs.alfworld.engine.game import Game, parse_game
from natlang_envs.alfworld.engine.game_file import read_game_file
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS
from natlang_envs.alfworld.engine.world import World
from natlang_envs.errors import UsageError
from natlang_envs.why import Why

Infos = dict[str, list[Any]]

_GAMES_KEPT = 4_096  # as in `tasks`


class _BatchEpisode:
    """One game, from its start until another one is loaded."""

    def __init__(self, path: str, game: Game, settings: EpisodeSettings) -> None:
        self.path = path
        self.settings = settings
        self.world = World(game)
        self.observation = self.world.intro()
        self.steps = 0
        self.why: Why | None = None
        self.planner = Planner(game, settings.expert) if settings.expert else None

    @property
    def done(self) -> bool:
        return self.world.won or self.steps >= self.settings.max_steps

    def step(self, command: str) -> None:
        """Apply a command; once the episode is over, nothing changes any more."""
        if not self.done:
            self.observation = self.world.step(command)
            self.steps += 1
            if self.settings.gives_reason:
                self.why = why(self.world, command) if self.observation == NOTHING_HAPPENS else None
                if self.why and self.settings.shows_reason:
                    self.observation = f"{self.observation} {self.why.sentence}"
            if self.planner:
                self.planner.observe(command)

    def infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {
            "won": self.world.won,
            "admissible_commands": list(self.world.commands),
            "extra.gamefile": self.path,
        }
        if self.planner:
            infos["extra.expert_plan"] = self.planner.plan()
        if self.settings.gives_reason:
            infos["why"] = self.why
        return infos


class _Order:
    """Games without end: shuffled, each once, then shuffled again, as TextWorld does."""

    def __init__(self, files: Sequence[str], seed: int | None) -> None:
        self._files = list(files)
        self._rng = np.random.RandomState(seed)
        self._next = len(self._files)

    def draw(self) -> str:
        if self._next == len(self._files):
            self._rng.shuffle(self._files)
            self._next = 0
        self._next += 1
        return self._files[self._next - 1]


class AlfredBatch:
    """Plays games in a batch, with the methods of TextWorld's batches.

    It can be copied with `copy.deepcopy` and pickled at any time; the copy goes on as the original does.
    """

    def __init__(
        self, gamefiles: Sequence[str], settings: EpisodeSettings, batch_size: int, group_size: int = 1
    ) -> None:
        if batch_size < 1 or group_size < 1 or batch_size % group_size:
            raise UsageError(f"a batch of {batch_size} has no groups of {group_size}: pass a multiple of it")
        if not gamefiles:
            raise UsageError("game_files is empty: leave one game at least")
        self.gamefiles = tuple(gamefiles)  # paths
        self.batch_size = batch_size  # episodes that are played at a time
        self._group_size = group_size
        self._settings = settings
        self._episodes: list[_BatchEpisode] = []
        self.seed(1234)  # as TextWorld does

    def __deepcopy__(self, memo: dict[int, Any]) -> AlfredBatch:
        for episode in self._episodes:
            memo[id(episode.world.game)] = episode.world.game  # what all episodes of a game share
        memo[id(self)] = batch = object.__new__(type(self))
        vars(batch).update(copy.deepcopy(vars(self), memo))
        return batch

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Set the order of the games; the same seed gives the order that TextWorld gives."""
        seed = None if seed is None else index(seed)  # one of numpy too
        self._order = _Order(self.gamefiles, seed)
        self._numbers = random.Random(seed)
        return [seed]

    def skip(self, nb_games: int = 1) -> None:
        for _ in range(nb_games):
            self._order.draw()

    def reset(self) -> tuple[tuple[str, ...], Infos]:
        """Start the next games; return their first observations and infos."""
        self._episodes = []
        grammar = self._settings.grammar
        for _ in range(self.batch_size // self._group_size):
            path = self._order.draw()
            game = parsed(path, grammar, self._numbers) if self._settings.shuffled else _game(path, grammar)
            self._episodes += [_BatchEpisode(path, game, self._settings) for _ in range(self._group_size)]
        return self._observations(), self._infos()

    def step(self, commands: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...], tuple[bool, ...], Infos]:
        """Apply a command to each episode; return observations, scores, whether they are over, and infos."""
        if not self._episodes:
            raise UsageError("no game was started: call reset first")
        if isinstance(commands, str) or len(commands) != self.batch_size:
            raise UsageError(f"step takes a list of {self.batch_size} commands, one for each episode: {commands!a:.60}")
        for command in commands:
            if not isinstance(command, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UsageError(f"step takes commands that are strings, such as 'look', and one is {command!a:.60}")
        for episode, command in zip(self._episodes, commands, strict=True):
            episode.step(command)
        scores = tuple(int(episode.world.won) for episode in self._episodes)
        return self._observations(), scores, tuple(episode.done for episode in self._episodes), self._infos()

    def close(self) -> None:
        self._episodes = []

    def _observations(self) -> tuple[str, ...]:
        return tuple(episode.observation for episode in self._episodes)

    def _infos(self) -> Infos:
        each = [episode.infos() for episode in self._episodes]
        return {key: [infos[key] for infos in each] for key in each[0]}


def parsed(path: str, grammar: str | None = None, numbers: random.Random | None = None) -> Game:
    text = read_game_file(path)
    return parse_game(text if grammar is None else text._replace(grammar=grammar), numbers)


_game = lru_cache(maxsize=_GAMES_KEPT)(parsed)
