"""Folders of games, and configs of the alfworld package that name them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from natlang_envs.alfworld.engine.game import GameText
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.games.generator import generate, task_ids
from natlang_envs.alfworld.games.official import official_ids, official_text
from natlang_envs.alfworld.games.splits import OfficialSplit
from tests.natlang_envs.alfworld.test_folder import FILE, HUMAN, IDS, SENTENCE, put
from tests.support.alfworld_samples import official_folder

# What the package reads of its base_config.yaml, and some of what only its trainers do.
CONFIG: dict[str, Any] = {
    "dataset": {
        "data_path": "$GAMES/train",
        "eval_id_data_path": "$GAMES/valid_seen",
        "eval_ood_data_path": None,
        "num_train_games": -1,
        "num_eval_games": 2,
    },
    "logic": {"domain": "$ALFWORLD_DATA/logic/alfred.pddl", "grammar": "$ALFWORLD_DATA/logic/alfred.twl2"},
    "env": {
        "type": "AlfredTWEnv",
        "domain_randomization": False,
        "task_types": [1, 2, 3, 4, 5, 6],
        "expert_timeout_steps": 150,
        "expert_type": "handcoded",
        "goal_desc_human_anns_prob": 0.0,
        "hybrid": {"start_eps": 100000},
        "thor": {"screen_width": 300},
    },
    "controller": {"type": "oracle"},
    "general": {"random_seed": 42, "training_method": "dagger"},
    "rl": {"training": {"max_nb_steps_per_episode": 7}},
    "dagger": {"training": {"max_nb_steps_per_episode": 50}},
}
UNSEEN = tuple(task_ids(False, numbers=range(2)))


def config(**values: Any) -> dict[str, Any]:
    """The config with other values, each named `section__key`."""
    changed = copy.deepcopy(CONFIG)
    for name, value in values.items():
        section, key = name.split("__")
        changed[section][key] = value
    return changed


def lay_generated(folder: Path) -> None:
    """Write generated games into folders of two splits."""
    for number, task_id in enumerate(IDS):
        split = "valid_seen" if number % 2 else "train"
        put(folder / split / f"{task_id.split('/')[2]}-Some-None-Thing-1" / f"trial_{number}", task_id, HUMAN)


def as_downloaded(folder: Path, official: bool) -> list[str]:
    """Write games as `alfworld-download` lays them below `json_2.1.1`, in the words of that download.

    Returns:
        The paths of the games of `valid_unseen`: the official 134, or some generated ones.
    """
    data = official_folder()
    # Those of `train` are some of `valid_seen` here, whose file is read in a tenth of the time.
    lists: dict[str, OfficialSplit] = {
        "train": "valid_seen",
        "valid_seen": "valid_seen",
        "valid_unseen": "valid_unseen",
    }
    for split, listed in lists.items():
        if official:
            assert data is not None
            ids = official_ids(data, listed)
            texts = {each: official_text(data, each) for each in (ids if split == "valid_unseen" else ids[::20])}
        else:
            chosen = [each for kind in TASK_TYPES for each in [x for x in UNSEEN if f"/{kind}/" in x][:2]]
            texts = {f"_/_/{each.split('/')[2]}-A-None-B-1/trial_{n}": generate(each) for n, each in enumerate(chosen)}
        for task_id, text in texts.items():
            _write(folder / "json_2.1.1" / split / "/".join(task_id.split("/")[2:]), text)
    return sorted(map(str, (folder / "json_2.1.1" / "valid_unseen").rglob("game.tw-pddl")))


def base_config() -> dict[str, Any]:
    """The config as alfworld's base_config.yaml has it, of games as they are downloaded."""
    below = "$ALFWORLD_DATA/json_2.1.1"
    return config(
        dataset__data_path=f"{below}/train",
        dataset__eval_id_data_path=f"{below}/valid_seen",
        dataset__eval_ood_data_path=f"{below}/valid_unseen",
        dataset__num_eval_games=-1,
    )


def _write(folder: Path, text: GameText) -> None:
    folder.mkdir(parents=True)
    content = {**FILE, "pddl_problem": text.problem, "grammar": FILE["grammar"].replace(SENTENCE, f'{text.task}"')}
    (folder / "game.tw-pddl").write_text(json.dumps(content), encoding="utf-8")
    (folder / "traj_data.json").write_text(
        json.dumps({"task_type": folder.parent.name.split("-")[0]}), encoding="utf-8"
    )
