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
from natlang_envs.errors import UsageError, reason

COUNTS: dict[OfficialSplit, int] = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}  # of `valid_train` unknown
VARIABLE = "ALFWORLD_DATA"
PREFIX = "official"
_LAYOUT = "json_2.1.1"
GAME = "game.tw-pddl"
TRAJECTORY = "traj_data.json"
_TAIL = 16_384  # bytes at the end of a game file: `solvable` is its last entry, or the one before the walkthrough
_SOLVABLE = re.compile(rb'"solvable": (true|false)\s*(?:,\s*"walkthrough": \[[^\[\]{}]*\]\s*)?}\s*\Z')
_HEAD = 131_072  # bytes at the beginning, which hold the rules and the texts
_SENTENCE = re.compile(rb'Your task is to: [^"\\]*')
_REMEDY = "run `pip install alfworld` and `alfworld-download`, or pass source='generated', which needs no download"


class _Compact(NamedTuple):
    """The content of a compact file: by task id, the task's sentence and the compressed problem."""

    grammar: str
    games: dict[str, tuple[str, bytes]]


def data_folder() -> Path:
    """Return the folder of the official games: `$ALFWORLD_DATA`, else where `alfworld-download` puts them."""
    given = os.environ.get(VARIABLE, "")
    folder = Path(given or "~/.cache/alfworld").expanduser().absolute()
    if not folder.is_dir():
        where = f"${VARIABLE} is {given!a}, which is no folder" if given else f"${VARIABLE} is not set"
        raise UsageError(f"the official ALFWorld games are not here ({where}): {_REMEDY}")
    return folder


@lru_cache(maxsize=8)
def official_ids(folder: Path, split: OfficialSplit) -> tuple[str, ...]:
    """Return the task ids of an official list, sorted; only the names of files and their last bytes are read."""
    compact = _compact_file(folder, split)
    ids = tuple(sorted(_read_compact(compact).games)) if compact.is_file() else _tree_ids(folder, split)
    if not ids or len(ids) != COUNTS.get(split, len(ids)):
        what = f"{len(ids):,} of the {COUNTS[split]:,}" if ids else "none of the"
        raise UsageError(f"{folder} holds {what} official games of {split}: {_REMEDY}")
    return ids


def official_text(folder: Path, task_id: str) -> GameText:
    _, split, task, trial = task_id.split("/")
    compact = _compact_file(folder, split)
    if not compact.is_file():
        return read_game_file(folder / _LAYOUT / split / task / trial / GAME)
    content = _read_compact(compact)
    sentence, problem = content.games[task_id]
    return GameText(zlib.decompress(problem).decode(), sentence, content.grammar)


def official_trajectory(folder: Path, task_id: str) -> Path:
    """Return where a game's `traj_data.json` is, which holds the sentences that people wrote."""
    _, split, task, trial = task_id.split("/")
    if (compact := _compact_file(folder, split)).is_file():
        raise UsageError(f"{compact} has no human goals: run `alfworld-download`, or leave human_goals out")
    return folder / _LAYOUT / split / task / trial / TRAJECTORY


def _compact_file(folder: Path, split: str) -> Path:
    return folder / f"{split}_compact.json.xz"


def _tree_ids(folder: Path, split: OfficialSplit) -> tuple[str, ...]:
    found: list[str] = []
    kinds: set[bytes] = set()
    for task in _folders(folder / _LAYOUT / split):
        # As the alfworld package chooses: no movable receptacle, nothing sliced, and solvable.
        if task.name.partition("-")[0] not in TASK_TYPES or "Sliced" in task.name:
            continue
        for trial in _folders(task):
            path = Path(trial.path, GAME)
            if is_solvable(path):
                check_kind(path, kinds)
                found.append(f"{PREFIX}/{split}/{task.name}/{trial.name}")
    return tuple(sorted(found))


def check_kind(path: Path, kinds: set[bytes]) -> None:
    """Refuse a file with rules or texts of another game; those that differ in the sentence only are read once."""
    with path.open("rb") as file:
        head, found, _ = file.read(_HEAD).partition(b'"pddl_problem"')
    kind = _SENTENCE.sub(b"", head) if found else b""
    if not kind or kind not in kinds:
        read_game_file(path)
        kinds.add(kind)


def _folders(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{os.fspath(folder)} cannot be listed ({error.strerror}): {_REMEDY}") from None


def is_solvable(path: Path) -> bool:
    """Return whether there is a game file whose `solvable` is true."""
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
        raise UsageError(f"{path} cannot be read ({reason(error)}): run `alfworld-download -f`") from None
    return isinstance(content, dict) and cast("dict[str, Any]", content).get("solvable") is True


@lru_cache(maxsize=6)
def _read_compact(path: Path) -> _Compact:
    """Read a compact file once; its problems stay compressed, which takes a tenth of their size."""
    try:
        with lzma.open(path) as file:
            content: dict[str, Any] = json.load(file)
        games: dict[str, dict[str, str]] = content["games"]
        packed = {
            f"{PREFIX}/{name.removesuffix(f'/{GAME}')}": (each["task"], zlib.compress(each["problem"].encode(), 1))
            for name, each in games.items()
        }
        return _Compact(recognise(content["domain"], content["grammar_template"])[1], packed)
    except (OSError, EOFError, lzma.LZMAError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no compact file of games ({reason(error)}): copy it again") from None
