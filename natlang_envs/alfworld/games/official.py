"""The official games, read from where `alfworld-download` put them; none are carried along.

A folder of data holds either what `alfworld-download` makes (`json_2.1.1/SPLIT/TASK/TRIAL/game.tw-pddl`) or one file a
split, `SPLIT_compact.json.xz`: `{"domain", "grammar_template", "games": {path: {"task", "problem"}}}`.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from natlang_envs.alfworld.engine.game_file import GameText, read_game_file, recognise
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.games.splits import OfficialSplit
from natlang_envs.errors import UsageError

COUNTS: dict[OfficialSplit, int] = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
VARIABLE = "ALFWORLD_DATA"
PREFIX = "official"
_LAYOUT = "json_2.1.1"
_GAME = "game.tw-pddl"
_TAIL = 256  # bytes of a game file in which `solvable`, its last entry, is looked for
_SOLVABLE = re.compile(rb'"solvable": (true|false)\s*}\s*\Z')
_REMEDY = "run `pip install alfworld` and `alfworld-download`, or pass source='generated', which needs no download"


class _Packed(NamedTuple):
    """A game of a compact file: the task's sentence, and the problem, compressed."""

    task: str
    problem: bytes


class _Compact(NamedTuple):
    """What one compact file holds, by task id."""

    grammar: str
    games: dict[str, _Packed]


def data_folder() -> Path:
    """Return the folder of the official games: `$ALFWORLD_DATA`, else where `alfworld-download` puts them.

    Raises:
        UsageError: There is no such folder.
    """
    given = os.environ.get(VARIABLE, "")
    folder = Path(given or "~/.cache/alfworld").expanduser().absolute()
    if not folder.is_dir():
        where = f"${VARIABLE} is {given!a}, which is no folder" if given else f"${VARIABLE} is not set"
        raise UsageError(f"the official ALFWorld games are not here ({where}): {_REMEDY}")
    return folder


@lru_cache(maxsize=8)
def official_ids(folder: Path, split: OfficialSplit) -> tuple[str, ...]:
    """Return the task ids of an official list, sorted; only the names of files and their last bytes are read.

    Args:
        folder: See `data_folder`.
        split: The official name of the list.

    Raises:
        UsageError: The games are not there, or not all of them.
    """
    compact = _compact_file(folder, split)
    ids = tuple(sorted(_read_compact(compact).games)) if compact.is_file() else _tree_ids(folder, split)
    if len(ids) != COUNTS[split]:
        what = f"{len(ids):,} of the {COUNTS[split]:,}" if ids else "none of the"
        raise UsageError(f"{folder} holds {what} official games of {split}: {_REMEDY}")
    return ids


def official_text(folder: Path, task_id: str) -> GameText:
    """Return a game that `official_ids` lists.

    Raises:
        UsageError: Its file is no game.
    """
    _, split, task, trial = task_id.split("/")
    compact = _compact_file(folder, cast("OfficialSplit", split))
    if not compact.is_file():
        return read_game_file(folder / _LAYOUT / split / task / trial / _GAME)
    content = _read_compact(compact)
    packed = content.games[task_id]
    return GameText(zlib.decompress(packed.problem).decode(), packed.task, content.grammar)


def _compact_file(folder: Path, split: OfficialSplit) -> Path:
    return folder / f"{split}_compact.json.xz"


def _tree_ids(folder: Path, split: OfficialSplit) -> tuple[str, ...]:
    found: list[str] = []
    for task in _folders(folder / _LAYOUT / split):
        # As the alfworld package chooses: no movable receptacle, nothing sliced, and solvable.
        if task.name.partition("-")[0] not in TASK_TYPES or "Sliced" in task.name:
            continue
        found += [f"{PREFIX}/{split}/{task.name}/{trial.name}" for trial in _folders(task) if _is_solvable(trial.path)]
    return tuple(sorted(found))


def _folders(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{os.fspath(folder)} cannot be listed ({error.strerror}): {_REMEDY}") from None


def _is_solvable(trial: str) -> bool:
    """Return whether a folder holds a game that says it can be won."""
    path = Path(trial, _GAME)
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            match = _SOLVABLE.search(file.read())
            if match:
                return match.group(1) == b"true"
            file.seek(0)
            content = cast("object", json.load(file))
    except FileNotFoundError:
        return False
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read ({error}): run `alfworld-download -f`") from None
    return isinstance(content, dict) and cast("dict[str, Any]", content).get("solvable") is True


@lru_cache(maxsize=6)
def _read_compact(path: Path) -> _Compact:
    """Read a compact file once; its problems stay compressed, which takes a tenth of their size."""
    try:
        with lzma.open(path) as file:
            content: dict[str, Any] = json.load(file)
        games: dict[str, dict[str, str]] = content["games"]
        packed: dict[str, _Packed] = {}
        for name, each in games.items():
            problem = zlib.compress(each["problem"].encode(), 1)
            packed[f"{PREFIX}/{name.removesuffix(f'/{_GAME}')}"] = _Packed(each["task"], problem)
        grammar = recognise(content["domain"], content["grammar_template"])[1]
        return _Compact(grammar, packed)
    except (OSError, EOFError, lzma.LZMAError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no compact file of games ({error}): copy it again") from None
