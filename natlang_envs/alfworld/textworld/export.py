"""Games written as the alfworld package reads them, so that TextWorld plays them too.

python -m natlang_envs.alfworld.textworld.export FOLDER generated/seen/pick_heat_then_place_in_recep/12/345 ...

writes FOLDER/TASK/TRIAL/game.tw-pddl and traj_data.json, the layout in which `alfworld-download` leaves a split.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from natlang_envs.alfworld.engine.game import GRAMMARS, GameText, parse_game
from natlang_envs.alfworld.engine.grammar import TASK_PREFIX
from natlang_envs.alfworld.games.generator import aim_of, generate, parse_task_id
from natlang_envs.alfworld.textworld.files import game_file
from natlang_envs.errors import UsageError
from natlang_envs.trajectory import write_whole

GAME, TRAJECTORY = "game.tw-pddl", "traj_data.json"
_TYPE = re.compile(r"\b(\w+)Type\b")


def export_game(text: GameText, folder: Path, overwrite: bool = False) -> Path:
    """Write a game with the installed alfworld package's domain and texts, and what its expert wants to know of it.

    Args:
        text: The game, in either grammar.
        folder: Where `game.tw-pddl` and `traj_data.json` go; made if missing.
        overwrite: Replace files that are there.

    Returns:
        The path of the game.

    Raises:
        UsageError: The alfworld package is missing, the game cannot be parsed, or a file is there already.
    """
    contents = {GAME: game_file(text), TRAJECTORY: _trajectory(text, folder.name)}
    for name in contents:
        if not overwrite and (folder / name).exists():
            raise UsageError(f"{folder / name} is there already: choose another folder, or pass overwrite")
    for name, content in contents.items():
        write_whole(folder / name, json.dumps(content).encode())
    return folder / GAME


def folder_of(task_id: str) -> Path:
    """Return the folder of a generated game in the package's layout, such as `TASK-Apple-None-Fridge-12/trial_345`.

    Raises:
        UsageError: No generated game has this id.
    """
    task = parse_task_id(task_id)
    aim = aim_of(task)
    return Path(f"{task.task_type}-{aim.object_type}-None-{aim.target_type}-{task.room}", f"trial_{task.number:03}")


def _trajectory(text: GameText, name: str) -> dict[str, Any]:
    """Return what the package's own loader and expert read: the kind of task and its parts, by their official names."""
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


def main(
    folder: Annotated[Path, typer.Argument(help="Where the games go, a folder each.")],
    task_ids: Annotated[list[str], typer.Argument(help="Ids of generated games.")],
    grammar: Annotated[str, typer.Option(help=f"One of {', '.join(GRAMMARS)}.")] = GRAMMARS[0],
    overwrite: Annotated[bool, typer.Option(help="Replace games that are there.")] = False,
) -> None:
    """Write generated games for TextWorld."""
    try:
        for task_id in task_ids:
            print(export_game(generate(task_id, grammar), folder / folder_of(task_id), overwrite))
    except UsageError as error:
        typer.echo(error, err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    typer.run(main)
