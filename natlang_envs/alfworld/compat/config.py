"""Reads a config of the alfworld package as the package does."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.alfworld.games.official import VARIABLE
from natlang_envs.errors import UsageError, is_count, require_choice
from natlang_envs.evaluation.protocols import load_protocol
from natlang_envs.why import check_explaining

Config = Mapping[str, Any]
ExpertType = Literal["handcoded", "planner"]

DATA = {
    "train": "data_path",
    "eval_in_distribution": "eval_id_data_path",
    "eval_out_of_distribution": "eval_ood_data_path",
}
# The sections that this class reads; `hybrid` and `thor` concern images; `grammar`, `explain` and `feedback` are ours.
_KNOWN = {
    "env": (
        *("type", "task_types", "domain_randomization", "expert_type", "expert_timeout_steps", "grammar"),
        *("explain", "feedback"),
        *("goal_desc_human_anns_prob", "regen_game_files", "hybrid", "thor"),
    ),
    "dataset": (*DATA.values(), "num_train_games", "num_eval_games"),
    "logic": ("domain", "grammar"),
}
_METHODS = {"dqn": "rl", "dagger": "dagger"}  # training methods, and the sections that hold their number of steps
_PROTOCOLS = {"eval_in_distribution": "alfworld-seen/v1", "eval_out_of_distribution": "alfworld-unseen/v1"}
_EXAMPLE = "alfworld's configs/base_config.yaml"


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """A config's settings of episodes."""

    max_steps: int
    shuffled: bool  # whether things of a type change their numbers from episode to episode
    expert: ExpertType | None  # who makes `extra.expert_plan`
    grammar: str | None  # in place of the one in the games' files
    gives_reason: bool  # in the infos
    shows_reason: bool  # in the observation


def settings_of(
    config: Config, train_eval: str, grammar: str | None = None, explain: bool | None = None
) -> EpisodeSettings:
    """Return the settings of the episodes of a split.

    All splits but `"train"` are played without an expert and in the numbers of the files. A grammar, and whether to
    explain, may also be given beside the config's `env.grammar` and `env.explain`, if they agree.
    """
    _warn_of_unknown_keys(config)
    training = train_eval == "train"
    method = require_choice("general.training_method", str(value(config, "general", "training_method")), _METHODS)
    steps = value(config, _METHODS[method], "training", "max_nb_steps_per_episode")
    if not is_count(steps, 1):
        raise UsageError(
            f"{_METHODS[method]}.training.max_nb_steps_per_episode is {steps!a}: set a whole number above 0"
        )
    expert = None
    if training and method == "dagger":
        expert = require_choice("env.expert_type", str(value(config, "env", "expert_type")), ("handcoded", "planner"))
    asked = _agreed(config, "explain", explain)
    gives_reason, shows_reason = check_explaining(
        False if asked is None else asked, _section(config, "env").get("feedback", "plain")
    )
    return EpisodeSettings(
        max_steps=steps,
        shuffled=bool(value(config, "env", "domain_randomization")) and training,
        expert=cast("ExpertType | None", expert),
        grammar=_grammar(config, grammar),
        gives_reason=gives_reason,
        shows_reason=shows_reason,
    )


def games_folder(config: Config, train_eval: str) -> Path:
    key = DATA[require_choice("train_eval", train_eval, DATA)]
    given = value(config, "dataset", key)
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"dataset.{key} is {given!a}: set it to a folder of games")
    folder = os.fspath(cast("str | os.PathLike[str]", given))
    if not os.environ.get(VARIABLE):
        folder = folder.replace(f"${VARIABLE}", "~/.cache/alfworld")  # where the package looks then
    return Path(os.path.expandvars(folder)).expanduser()


def task_types(config: Config) -> tuple[str, ...]:
    """Return the task types that a config asks for by their numbers; others are left out, as the package does."""
    given = value(config, "env", "task_types")
    ids = list(cast("Iterable[object]", given)) if isinstance(given, Iterable) else []
    kinds = tuple(kind for number, kind in enumerate(TASK_TYPES, 1) if number in ids)
    if isinstance(given, str) or not kinds:
        raise UsageError(f"env.task_types is {given!a}: set a list of the numbers 1 to {len(TASK_TYPES)}")
    unknown = [str(each) for each in ids if each not in range(1, len(TASK_TYPES) + 1)]
    if unknown:
        _warn_once(f"env.task_types has {', '.join(unknown)}, ignored as in alfworld: it knows 1 to {len(TASK_TYPES)}")
    return kinds


def number_of_games(config: Config, train_eval: str) -> int | None:
    """Return how many games of a split are played; None for all."""
    key = f"num_{train_eval.partition('_')[0]}_games"
    count = value(config, "dataset", key)
    if not isinstance(count, int):
        raise UsageError(f"dataset.{key} is {count!a}: set a whole number, -1 for all games")
    return count if count > 0 else None


def warn_of_other_games(train_eval: str, folder: Path, paths: Iterable[Path]) -> None:
    """Warn where the games to evaluate on are not those of the official list, all of them and no others."""
    if train_eval not in _PROTOCOLS:
        return
    official = {episode.task_id.split("/", 2)[2] for episode in load_protocol(_PROTOCOLS[train_eval]).episodes}
    found = {"/".join(path.parts[-3:-1]) for path in paths}
    if found != official:
        _warn_once(
            f"{folder} holds {len(found & official)} of the {len(official)} official games of {train_eval}, and "
            f"{len(found - official)} beside them: a result on them does not compare with published ones"
        )


def value(config: Config, *keys: str) -> Any:
    """Return a value of a config, of dictionaries or of other mappings such as OmegaConf's."""
    found: Any = config
    for key in keys:
        if not isinstance(found, Mapping) or key not in found:
            raise UsageError(f"the config has no {'.'.join(keys)}: see {_EXAMPLE}")
        found = cast("Config", found)[key]
    return found


def _section(config: Config, name: str) -> Config:
    section = config.get(name) if isinstance(config, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    return cast("Config", section) if isinstance(section, Mapping) else {}


def _grammar(config: Config, grammar: str | None) -> str | None:
    if (file := _section(config, "logic").get("grammar")) in GRAMMARS:
        raise UsageError(f"logic.grammar is {file!r} and has to be a file, which no game is played by: use env.grammar")
    asked = _agreed(config, "grammar", grammar)
    return None if asked is None else require_choice("grammar", str(asked), GRAMMARS)


def _agreed(config: Config, name: str, argument: Any) -> Any:
    """Return a setting given by an argument, in the section `env`, or by both alike."""
    given = _section(config, "env").get(name)
    if given is not None and argument is not None and given != argument:
        raise UsageError(f"{name} is {argument!r} and env.{name} is {given!a}: give one of them")
    return argument if given is None else given


def _warn_of_unknown_keys(config: Config) -> None:
    """Name the keys that are ignored, as alfworld ignores them; sections of trainers may hold what they like."""
    ignored = [
        f"{section}.{key}" + "".join(f" (did you mean {close}?)" for close in get_close_matches(key, known, n=1))
        for section, known in _KNOWN.items()
        for key in map(str, _section(config, section))
        if key not in known
    ]
    if ignored:
        _warn_once(f"these keys of the config are ignored, as in alfworld: {', '.join(ignored)}")


@lru_cache(maxsize=1_024)
def _warn_once(text: str) -> None:
    """Warn, but once in a process: drivers construct a class for each game."""
    warnings.warn(text, stacklevel=5)
