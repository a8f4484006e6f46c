"""`AlfredTWEnv` as scripts for the alfworld package construct it, played by our own engine.

batch          the batched environment
config         the package's config, read and checked
expert_plan    `extra.expert_plan`, planned when it is read
single         one game at a time, as `textworld.start` with alfworld's wrappers

Replace `from alfworld.agents.environment import get_environment` by
`from natlang_envs.alfworld.compat import get_environment`. The config, the batched `reset` and `step`, the infos and
the order of games after `seed` are the package's. These things differ:

- `game_files` is sorted, where the package keeps the order of the disk, and has games without a `traj_data.json` too.
- `extra.expert_plan` comes from our own `Expert` ("handcoded") or reference plan ("planner"), also at the start, where
  the package says "look". It is a list that is planned when it is read.
- `extra.gamefile` is given at every step; the package gives None after the start.
- `domain_randomization` draws its numbers from the seed of the batch, not from Python's global generator.
- The config may have `env.grammar`, the words that games are played in whatever their files say.
- It may have `env.explain: true`: the infos' `why` then says why nothing happened (a `natlang_envs.why.Why`, else
  None). `env.feedback: explained` says it in the observation, too.
- Keys that nothing here reads are ignored, as in the package, and a warning names them. `logic` is not read: games
  carry theirs.
- Evaluation on games that are not the official ones of the split, all of them, warns.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from natlang_envs.alfworld.compat.batch import AlfredBatch, parsed
from natlang_envs.alfworld.compat.config import (
    Config,
    games_folder,
    number_of_games,
    settings_of,
    task_types,
    value,
    warn_of_other_games,
)
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.games.folder import game_paths
from natlang_envs.alfworld.games.official import check_kind
from natlang_envs.errors import UsageError, reason, require_choice

__all__ = ["AlfredBatch", "AlfredTWEnv", "get_environment", "load_config"]

_VISUAL = ("AlfredThorEnv", "AlfredHybrid")
_REMEDY = (
    "fetch the official games with `alfworld-download`, or write generated ones with `natlang alfworld export`, "
    "which `pip install --no-deps alfworld==0.4.2` is enough for"
)


def get_environment(env_type: str) -> type[AlfredTWEnv]:
    """Return the class that a config's `env.type` names."""
    if env_type in _VISUAL:
        raise UsageError(f"env.type {env_type!r} shows images, and here there are texts alone: set 'AlfredTWEnv'")
    require_choice("env.type", env_type, ("AlfredTWEnv",))
    return AlfredTWEnv


def load_config() -> dict[str, Any]:
    """Read the config file that the command line names, as `alfworld.agents.modules.generic.load_config` does.

    `python script.py base_config.yaml -p general.training_method=dqn` changes a value. It is read as YAML, where the
    package takes it for a string.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("config_file", help="a file such as alfworld's configs/base_config.yaml")
    parser.add_argument("-p", "--params", nargs="+", metavar="SECTION.KEY=VALUE", default=[], help="values to change")
    given = parser.parse_args()
    try:
        import yaml
    except ImportError:
        raise UsageError("a config file is in YAML, and PyYAML is not installed: run `pip install pyyaml`") from None
    try:
        config: dict[str, Any] = yaml.safe_load(Path(given.config_file).read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{given.config_file} is no config file ({reason(error)})") from None
    for param in given.params:
        name, _, new = param.partition("=")
        *sections, key = name.split(".")
        value(config, *sections)[key] = yaml.safe_load(new)
    return config


class AlfredTWEnv:
    """The games of one split of a config.

    A class derived from it may leave out `super().__init__`, and set `config`, `train_eval`, `game_files` and
    `num_games` itself. What the config says about episodes is read by `init_env`.

    Args:
        config: The content of a config file as alfworld's `base_config.yaml`: dictionaries, or other mappings.
        train_eval: `"train"`, `"eval_in_distribution"` or `"eval_out_of_distribution"`.
        grammar: Whose words the games are played in, such as `"json_2.1.1"`, those of the paper; None takes the
            config's `env.grammar`, and else what the games' files say.
        explain: Whether infos have `why`; None takes the config's `env.explain`, and else False.

    Attributes:
        game_files: The paths of the games; `init_env` plays what it holds then.
        num_games: How many they are.
    """

    grammar: str | None = None
    explain: bool | None = None

    def __init__(
        self,
        config: Config,
        train_eval: str = "train",
        grammar: str | None = None,
        explain: bool | None = None,
    ) -> None:
        self.config = config
        self.train_eval = train_eval
        self.grammar = grammar
        self.explain = explain
        self.game_files: list[str]
        self.num_games: int
        settings_of(config, train_eval, grammar, explain)
        self.collect_game_files()
        if value(config, "env", "goal_desc_human_anns_prob") > 0:
            # As the package since 0.4.
            warnings.warn("goal_desc_human_anns_prob is ignored: games ask in the words of their files", stacklevel=2)

    def collect_game_files(self, verbose: bool = False) -> None:
        """Set `game_files` and `num_games` from the config; `verbose` prints how many they are."""
        folder = games_folder(self.config, self.train_eval)
        kinds = task_types(self.config)
        count = number_of_games(self.config, self.train_eval)
        checked: set[bytes] = set()
        try:
            found = game_paths(folder)
        except UsageError as error:
            raise UsageError(f"{error}; {_REMEDY}") from None
        paths = [path for path in found if _task_type(path, checked) in kinds][:count]
        if not paths:
            raise UsageError(f"{folder} has no game of the types {', '.join(kinds)}: set env.task_types to others")
        warn_of_other_games(self.train_eval, folder, found)
        self.game_files = [str(path) for path in paths]
        self.num_games = len(self.game_files)
        if verbose:
            print(f"{self.num_games} games of {self.train_eval} in {folder}")

    def share(self, rank: int, workers: int) -> None:
        """Keep one worker's share of the games, so that all workers together play each game once.

        Each then makes its batches with `init_env` and resets them until its `num_games` are played.

        Args:
            rank: Which worker this is, from 0.
            workers: How many there are.

        Raises:
            UsageError: There is no such worker, or more of them than games.
        """
        if not 0 <= rank < workers:
            raise UsageError(f"rank is {rank} and has to be from 0 to {workers - 1}, for {workers} workers")
        if workers > self.num_games:
            raise UsageError(f"{workers} workers cannot share {self.num_games} games: take at most {self.num_games}")
        self.game_files = self.game_files[rank::workers]
        self.num_games = len(self.game_files)

    def get_game_logic(self) -> None:
        """Do nothing: games carry their own rules and texts, and the files of the config's `logic` are not read."""

    def init_env(self, batch_size: int, group_size: int = 1) -> AlfredBatch:
        """Return a batch that plays the games, by the config as it is now.

        Args:
            batch_size: How many episodes are played at a time.
            group_size: How many neighbours of a batch start in the same game; the package has no such argument.
        """
        settings = settings_of(self.config, self.train_eval, self.grammar, self.explain)
        return AlfredBatch(self.game_files, settings, batch_size, group_size)


def _task_type(path: Path, checked: set[bytes]) -> str:
    """Return the type of a game, officially the beginning of its folder's name."""
    check_kind(path, checked)
    kind = path.parent.parent.name.partition("-")[0]
    return kind if kind in TASK_TYPES else parsed(str(path)).goal.task_type
