"""The games in a folder of the user's own, such as `alfworld-generate` and our export write, and people's sentences."""

from __future__ import annotations

import json
import os
import re
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path

from natlang_envs.alfworld.engine.game import parse_game
from natlang_envs.alfworld.engine.game_file import GameText, read_game_file
from natlang_envs.alfworld.engine.grammar import TASK_PREFIX
from natlang_envs.alfworld.games.official import GAME, TRAJECTORY, is_solvable
from natlang_envs.alfworld.games.size_limits import within_limits
from natlang_envs.errors import UsageError
from natlang_envs.tasks import hash_fraction

PREFIX = "folder"
_LEFT_OUT = re.compile("movable|Sliced")  # what the alfworld package leaves out: movable receptacles, sliced objects
_LONGEST = 1_000  # characters of a sentence
_UNSAID = re.compile(r'[#{}\[\]|"\\]')  # what TextWorld's grammar would take for a rule


@lru_cache(maxsize=8)
def folder_games(folder: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the games below a folder and what wins them, sorted by task id: `folder/` and the path from there.

    Every file is read once, so that a bad one is refused here. Left out is what the alfworld package leaves out too:
    files that do not say that they can be solved, tasks with movable receptacles or sliced objects.
    """
    found = {f"{PREFIX}/{path.parent.relative_to(folder).as_posix()}": path for path in game_paths(folder)}
    return tuple((task_id, _goal(path)) for task_id, path in sorted(found.items()))


def game_paths(folder: Path) -> list[Path]:
    """Return the files of the games below a folder that the alfworld package plays too, sorted."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder: pass one that holds games, each in a {GAME}")
    paths = [Path(place, GAME) for place, _, names in os.walk(folder) if GAME in names]
    known = (path for path in paths if not _LEFT_OUT.search(path.relative_to(folder).as_posix()))
    found = sorted(path for path in known if is_solvable(path))
    if not found:
        what = "no file says that its game can be solved" if paths else f"none is called {GAME}"
        raise UsageError(f"{folder} holds no game to play ({what}): pass another folder")
    return found


def folder_text(folder: Path, task_id: str) -> GameText:
    return read_game_file(folder / task_id.removeprefix(f"{PREFIX}/") / GAME)


def folder_trajectory(folder: Path, task_id: str) -> Path:
    return folder / task_id.removeprefix(f"{PREFIX}/") / TRAJECTORY


def _goal(path: Path) -> tuple[str, ...]:
    try:
        return astuple(within_limits(parse_game(read_game_file(path))).goal)
    except UsageError as error:
        raise UsageError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def human_sentence(path: Path, task_id: str) -> str:
    """Return one of the sentences that people wrote for a game; which one depends on the task id alone."""
    try:
        notes = json.loads(path.read_text("utf-8"))["turk_annotations"]["anns"]
        written = [" ".join(note["task_desc"].split()) for note in notes]
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): leave human_goals out") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path} holds no human goals: download it again, or leave human_goals out") from None
    usable = [each for each in written if 0 < len(each) <= _LONGEST and each.isprintable() and not _UNSAID.search(each)]
    if not usable:
        raise UsageError(f"{path} holds no human goal in plain words: leave human_goals out")
    return TASK_PREFIX + usable[int(hash_fraction(f"alfworld/human/{task_id}") * len(usable))]
