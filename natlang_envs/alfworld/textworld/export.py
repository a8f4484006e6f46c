"""Games written as the alfworld package reads them, so that TextWorld plays them too.

natlang alfworld export FOLDER generated/seen/pick_heat_then_place_in_recep/12/345 ...

writes FOLDER/TASK/TRIAL/game.tw-pddl and traj_data.json, the layout in which `alfworld-download` leaves a split.
`source="folder"` plays such a folder here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from natlang_envs.alfworld.engine.game import GRAMMARS, GameText, parse_game
from natlang_envs.alfworld.engine.grammar import TASK_PREFIX
from natlang_envs.alfworld.games import generator, realistic, synthetic_rooms
from natlang_envs.alfworld.games.official import GAME, TRAJECTORY
from natlang_envs.alfworld.textworld.files import game_file
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.files import write_whole

_MAKERS = {
    synthetic_rooms.PREFIX: synthetic_rooms.synthetic_game,
    realistic.PREFIX: realistic.realistic_game,
}
_TYPE = re.compile(r"\b(\w+)Type\b")


def export_game(text: GameText, folder: Path, overwrite: bool = False) -> Path:
    """Write a game with the installed alfworld package's domain and texts, and what its expert wants to know of it."""
    contents = {GAME: game_file(text), TRAJECTORY: _trajectory(text, folder.name)}
    for name in contents:
        if not overwrite and (folder / name).exists():
            raise UsageError(f"{folder / name} is there already: choose another folder, or pass overwrite")
    for name, content in contents.items():
        write_whole(folder / name, json.dumps(content).encode())
    return folder / GAME


def game_of(task_id: str, grammar: str = GRAMMARS[0]) -> GameText:
    """Return a generated or realistic game, or one in a synthetic room."""
    made = _MAKERS.get(task_id.partition("/")[0], generator.generated_game)
    return made(task_id).text(require_choice("grammar", grammar, GRAMMARS))


def folder_of(task_id: str) -> Path:
    """Return the folder of a game in the package's layout, such as `TASK-Apple-None-Fridge-12/trial_345`."""
    task = _trajectory(game_of(task_id), "")
    parts = task["pddl_params"]
    place, number = task_id.split("/")[-2:]
    target = parts["parent_target"] or parts["toggle_target"]
    source = task_id.partition("/")[0]
    name = number if source == generator.PREFIX else f"{source}_{number}"
    return Path(f"{task['task_type']}-{parts['object_target']}-None-{target}-{place}", f"trial_{name}")


def _trajectory(text: GameText, name: str) -> dict[str, Any]:
    """Return the parts of a task, officially named, that the package's own loader and expert read."""
    goal = parse_game(text).goal
    spelled = {kind.lower(): kind for kind in _TYPE.findall(text.problem)}
    return {
        "task_id": name,
        "task_type": goal.task_type,
        "pddl_params": {
            "object_target": spelled[goal.object_type],
            "parent_target": spelled.get(goal.receptacle_type, ""),
            "toggle_target": spelled.get(goal.toggle_type, ""),
            "mrecep_target": "",
            "object_sliced": False,
        },
        "turk_annotations": {"anns": [{"task_desc": text.task.removeprefix(TASK_PREFIX)}]},
    }
