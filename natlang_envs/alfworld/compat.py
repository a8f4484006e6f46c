"""`AlfredTWEnv` as scripts for the alfworld package construct it, played by our own engine.

Replace `from alfworld.agents.environment import get_environment` by
`from natlang_envs.alfworld.compat import get_environment`. The config, the batched `reset` and `step`, the infos and
the order of games after `seed` are the package's. These things differ:

- `game_files` is sorted, where the package keeps the order of the disk.
- `extra.expert_plan` comes from our own `Expert` ("handcoded") or reference plan ("planner"), also at the start, where
  the package says "look".
- `extra.gamefile` is given at every step; the package gives None after the start.
- `domain_randomization` draws its numbers from the seed of the batch, not from Python's global generator.
- Keys that the sections `env`, `dataset` and `logic` do not know are refused. `logic` is not read: games carry theirs.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from natlang_envs.alfworld.engine.game import Game, parse_game
from natlang_envs.alfworld.engine.game_file import read_game_file
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.expert import Expert
from natlang_envs.alfworld.games.folder import game_paths
from natlang_envs.alfworld.games.official import VARIABLE, check_kind
from natlang_envs.alfworld.games.splits import check_task_types
from natlang_envs.alfworld.plans import reference
from natlang_envs.errors import UsageError, one_of

ExpertType = Literal["handcoded", "planner"]
Infos = dict[str, list[Any]]

_GAMES_KEPT = 4_096  # as in `tasks`
_DATA = {
    "train": "data_path",
    "eval_in_distribution": "eval_id_data_path",
    "eval_out_of_distribution": "eval_ood_data_path",
}
_KNOWN = {
    "env": (
        *("type", "task_types", "domain_randomization", "expert_type", "expert_timeout_steps"),
        *("goal_desc_human_anns_prob", "regen_game_files", "hybrid", "thor"),
    ),
    "dataset": (*_DATA.values(), "num_train_games", "num_eval_games"),
    "logic": ("domain", "grammar"),
    "env.hybrid": ("start_eps", "thor_prob", "eval_mode"),
    "env.thor": ("screen_width", "screen_height", "smooth_nav", "save_frames_to_disk", "save_frames_path"),
}
_IMAGES = ("env.hybrid", "env.thor")  # sections that may be there and are not read
_METHODS = {"dqn": "rl", "dagger": "dagger"}  # training methods, and the sections that hold their number of steps
_EXAMPLE = "alfworld's configs/base_config.yaml"
_VISUAL = ("AlfredThorEnv", "AlfredHybrid")


def get_environment(env_type: str) -> type[AlfredTWEnv]:
    """Return the class that a config's `env.type` names.

    Raises:
        UsageError: It names a visual environment, or none.
    """
    if env_type in _VISUAL:
        raise UsageError(f"env.type {env_type!r} shows images, and here there are texts alone: set 'AlfredTWEnv'")
    one_of("env.type", env_type, ("AlfredTWEnv",))
    return AlfredTWEnv


class AlfredTWEnv:
    """The games of one split of a config.

    Args:
        config: The content of a config file as alfworld's `base_config.yaml`.
        train_eval: `"train"`, `"eval_in_distribution"` or `"eval_out_of_distribution"`.

    Attributes:
        config: The config.
        train_eval: The split.
        game_files: The paths of the games; `init_env` plays what it holds then.
        num_games: How many they are.

    Raises:
        UsageError: The config has keys or values that do not exist, or names a folder without games to play.
    """

    def __init__(self, config: dict[str, Any], train_eval: str = "train") -> None:
        one_of("train_eval", train_eval, _DATA)
        _check_keys(config)
        self.config = config
        self.train_eval = train_eval
        self._settings = _settings(config, train_eval == "train")
        kinds = check_task_types(cast("Sequence[int]", _value(config, "env", "task_types")))
        given = _value(config, "dataset", _DATA[train_eval])
        if not isinstance(given, str):
            raise UsageError(f"dataset.{_DATA[train_eval]} is {given!a}: set it to a folder of games")
        if not os.environ.get(VARIABLE):
            given = given.replace(f"${VARIABLE}", "~/.cache/alfworld")  # where the package looks then
        folder = Path(os.path.expandvars(given)).expanduser()
        checked: set[bytes] = set()
        paths = [path for path in game_paths(folder) if _task_type(path, checked) in kinds]
        if not paths:
            raise UsageError(f"{folder} has no game of the types {', '.join(kinds)}: set env.task_types to others")
        count = _value(config, "dataset", f"num_{train_eval.partition('_')[0]}_games", default=-1)
        self.game_files = [str(path) for path in paths[: count if count > 0 else None]]
        self.num_games = len(self.game_files)
        if _value(config, "env", "goal_desc_human_anns_prob", default=0) > 0:
            # As the package since 0.4.
            warnings.warn("goal_desc_human_anns_prob is ignored: games ask in the words of their files", stacklevel=2)

    def init_env(self, batch_size: int, group_size: int = 1) -> AlfredBatch:
        """Return what plays the games.

        Args:
            batch_size: How many episodes are played at a time.
            group_size: How many neighbours of a batch start in the same game; the package has no such argument.
        """
        return AlfredBatch(tuple(self.game_files), self._settings, batch_size, group_size)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a config says about episodes.

    Attributes:
        max_steps: After how many steps an episode ends.
        shuffled: Whether things of a type change their numbers from episode to episode.
        expert: Who makes `extra.expert_plan`; None if it is not asked for.
    """

    max_steps: int
    shuffled: bool
    expert: ExpertType | None


class _Episode:
    """One game, from its start until another one is loaded."""

    def __init__(self, path: str, game: Game, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self.world = World(game)
        self.observation = self.world.intro()
        self.steps = 0
        self.expert = Expert(self.observation, goal=game.goal) if settings.expert == "handcoded" else None

    @property
    def done(self) -> bool:
        return self.world.won or self.steps >= self.settings.max_steps

    def step(self, command: str) -> None:
        """Apply a command; once the episode is over, nothing changes any more."""
        if not self.done:
            self.observation = self.world.step(command)
            self.steps += 1
            if self.expert:
                self.expert.observe(command.strip(), self.observation)

    def infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {
            "won": self.world.won,
            "admissible_commands": list(self.world.commands),
            "extra.gamefile": self.path,
        }
        if self.settings.expert:
            infos["extra.expert_plan"] = self._plan()
        return infos

    def _plan(self) -> list[str]:
        if self.expert is None:
            return reference(self.world)
        return ["look"] if self.world.won else [self.expert.choose(self.observation, self.world.commands)]


class AlfredBatch:
    """Plays games in a batch, with the methods of TextWorld's batches.

    Attributes:
        gamefiles: The paths of the games.
        batch_size: How many episodes are played at a time.
    """

    def __init__(self, gamefiles: Sequence[str], settings: Settings, batch_size: int, group_size: int = 1) -> None:
        if batch_size < 1 or group_size < 1 or batch_size % group_size:
            raise UsageError(f"a batch of {batch_size} has no groups of {group_size}: pass a multiple of it")
        if not gamefiles:
            raise UsageError("game_files is empty: leave one game at least")
        self.gamefiles = tuple(gamefiles)
        self.batch_size = batch_size
        self._group_size = group_size
        self._settings = settings
        self._episodes: list[_Episode] = []
        self.seed(1234)  # as TextWorld does

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Set the order of the games; the same seed gives the order that TextWorld gives."""
        self._order = _shuffled(list(self.gamefiles), np.random.RandomState(seed))
        self._numbers = random.Random(seed)
        return [seed]

    def skip(self, nb_games: int = 1) -> None:
        """Pass over games of the order."""
        for _ in range(nb_games):
            next(self._order)

    def reset(self) -> tuple[tuple[str, ...], Infos]:
        """Start the next games; return their first observations and infos."""
        self._episodes = []
        for _ in range(self.batch_size // self._group_size):
            path = next(self._order)
            game = _parsed(path, self._numbers) if self._settings.shuffled else _game(path)
            self._episodes += [_Episode(path, game, self._settings) for _ in range(self._group_size)]
        return self._observations(), self._infos()

    def step(self, commands: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...], tuple[bool, ...], Infos]:
        """Apply a command to each episode; return observations, scores, whether they are over, and infos.

        Raises:
            UsageError: There is not one command for each episode, or `reset` was not called.
        """
        if not self._episodes:
            raise UsageError("no game was started: call reset first")
        if isinstance(commands, str) or len(commands) != self.batch_size:
            raise UsageError(f"step takes a list of {self.batch_size} commands, one for each episode: {commands!a:.60}")
        for episode, command in zip(self._episodes, commands, strict=True):
            episode.step(command)
        scores = tuple(int(episode.world.won) for episode in self._episodes)
        return self._observations(), scores, tuple(episode.done for episode in self._episodes), self._infos()

    def close(self) -> None:
        """End the episodes."""
        self._episodes = []

    def _observations(self) -> tuple[str, ...]:
        return tuple(episode.observation for episode in self._episodes)

    def _infos(self) -> Infos:
        each = [episode.infos() for episode in self._episodes]
        return {key: [infos[key] for infos in each] for key in each[0]}


def _shuffled(files: list[str], rng: np.random.RandomState) -> Iterator[str]:
    rng.shuffle(files)
    while True:
        yield from files
        rng.shuffle(files)


def _parsed(path: str, numbers: random.Random | None = None) -> Game:
    return parse_game(read_game_file(path), numbers)


_game = lru_cache(maxsize=_GAMES_KEPT)(_parsed)


def _task_type(path: Path, checked: set[bytes]) -> str:
    """Return the type of a game, officially the beginning of its folder's name.

    Raises:
        UsageError: The file is no game of ALFWorld.
    """
    check_kind(path, checked)
    kind = path.parent.parent.name.partition("-")[0]
    return kind if kind in TASK_TYPES else _parsed(str(path)).goal.task_type


def _settings(config: dict[str, Any], training: bool) -> Settings:
    method = one_of("general.training_method", str(_value(config, "general", "training_method")), _METHODS)
    steps = _value(config, _METHODS[method], "training", "max_nb_steps_per_episode")
    if not isinstance(steps, int) or steps < 1:
        raise UsageError(
            f"{_METHODS[method]}.training.max_nb_steps_per_episode is {steps!a}: set a whole number above 0"
        )
    expert = one_of(
        "env.expert_type", str(_value(config, "env", "expert_type", default="handcoded")), ("handcoded", "planner")
    )
    return Settings(
        max_steps=steps,
        shuffled=training and bool(_value(config, "env", "domain_randomization", default=False)),
        expert=cast("ExpertType", expert) if training and method == "dagger" else None,
    )


_REQUIRED = object()


def _value(config: dict[str, Any], *keys: str, default: Any = _REQUIRED) -> Any:
    """Return a value of a config.

    Raises:
        UsageError: The config does not have it, and there is no default.
    """
    value: Any = config
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            if default is not _REQUIRED:
                return default
            raise UsageError(f"the config has no {'.'.join(keys)}: see {_EXAMPLE}")
        value = cast("dict[str, Any]", value)[key]
    return value


def _check_keys(config: dict[str, Any]) -> None:
    """Refuse keys that nothing reads; sections of trainers may hold what they like."""
    for section, known in _KNOWN.items():
        for key in _value(config, *section.split("."), default=None) or ():
            if section in _IMAGES and key not in known:
                raise UsageError(
                    f"unknown key {section}.{key}; it would concern images, and here there are texts alone"
                )
            one_of(f"key of the config's section {section}", str(key), known)
