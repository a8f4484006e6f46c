"""Published players: a small JSON file that names all files of an agent by SHA-256, and the files themselves.

NAME.json is beside the folder `files/`, which holds each file, compressed, under its SHA-256: players share equal
files. So the SHA-256 of NAME.json covers all files of the agent. A file that is not there is read from the cache, where
`natlang-leaderboard players fetch` puts those of the board's players.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from natlang_envs.errors import UsageError, reason
from natlang_envs.files import cache_folder, keys_once, read_plain, write_whole

FILES = "files"  # the folder beside NAME.json
_FORMAT = 1
_MOST_NAMED = 64
_MOST_TEXT = 64 * 1024  # of NAME.json
_MOST_PACKED = 16 * 1024 * 1024
_MOST_UNPACKED = 64 * 1024 * 1024
_NAME = re.compile(r"[a-z0-9_-]+(/[a-z0-9_-]+)?\.[a-z0-9.]+")  # a file of a run, or of a folder in it
_DIGEST = re.compile(r"[0-9a-f]{64}")


def publish(player: Path, policy: str, contents: Mapping[str, bytes]) -> Path:
    """Write a player.

    Args:
        player: The file NAME.json.
        policy: What of it plays, for the loader.
        contents: The content of its files, by their names.
    """
    packed = {name: gzip.compress(content, mtime=0) for name, content in contents.items()}
    named = {name: hashlib.sha256(content).hexdigest() for name, content in packed.items()}
    content = {"format": _FORMAT, "policy": policy, "files": dict(sorted(named.items()))}
    text = (json.dumps(content, indent=2) + "\n").encode()
    if player.exists() and (not player.is_file() or player.read_bytes() != text):
        raise UsageError(f"{player} is there already and is not this player: choose another name, or delete it")
    for name, content in packed.items():
        if not (file := player.parent / FILES / f"{named[name]}.gz").exists():
            write_whole(file, content)
    write_whole(player, text)
    return player


def split_model(argument: str) -> tuple[Path, str]:
    """Return the path that an agent's argument names, and `@MODEL` behind it, or an empty text.

    As in `recall:PLAYER.json@smollm2`: the weights of the path are the agent's, the model is one that a name says.
    """
    path, at, model = argument.rpartition("@")
    return (Path(path), at + model) if at and path and Path(path).exists() else (Path(argument), "")


def is_published(path: Path) -> bool:
    return path.suffix == ".json" and path.is_file()


def published_files(player: Path) -> tuple[str, dict[str, Path]]:
    """Return what of a published player plays, and its files, whose SHA-256 was checked."""
    policy, named = named_files(player)
    found = {name: _file(player, digest) for name, digest in named.items()}
    for name, file in found.items():
        if hashlib.sha256(read_plain(file, _MOST_PACKED)).hexdigest() != named[name]:
            raise UsageError(f"{file} has not the SHA-256 of its name: it was changed, or is damaged")
    return policy, found


def named_files(player: Path) -> tuple[str, dict[str, str]]:
    """Return what of a published player plays, and the SHA-256 of each of its files, which need not be here."""
    try:
        read: Any = json.loads(read_plain(player, _MOST_TEXT), object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, UsageError) else f"{player} is no published player ({reason(error)})"
        raise UsageError(f"{said}: make one with `reflect-rl publish`") from None
    content = cast("dict[str, Any]", read if isinstance(read, dict) else {})
    policy, files = content.get("policy"), content.get("files")
    if set(content) != {"format", "policy", "files"} or content["format"] != _FORMAT or not isinstance(policy, str):
        raise UsageError(f"{player} is no published player of format {_FORMAT}: make one with `reflect-rl publish`")
    if not isinstance(files, dict) or not 0 < len(named := cast("dict[str, Any]", files)) <= _MOST_NAMED:
        raise UsageError(f"{player} names no files: make it with `reflect-rl publish`")
    for name, digest in named.items():
        if not _NAME.fullmatch(name) or not _DIGEST.fullmatch(str(digest)):
            raise UsageError(f"{player} names {name[:80]!r}, which is no file of a player")
    return policy, named


def unpacked(file: Path) -> bytes:
    """Return the content of a file of a published player, or raise `UsageError` if it is damaged or too large."""
    reader = zlib.decompressobj(31)
    try:
        content = reader.decompress(read_plain(file, _MOST_PACKED), _MOST_UNPACKED)
    except zlib.error:
        content = b""
    if not reader.eof or reader.unused_data:
        raise UsageError(f"{file} is no gzip file of at most {_MOST_UNPACKED >> 20} MiB: publish the player again")
    return content


def fetched_file(digest: str) -> Path:
    return cache_folder() / "players" / f"{digest}.gz"


def _file(player: Path, digest: str) -> Path:
    beside = player.parent / FILES / f"{digest}.gz"
    if beside.exists() or beside.is_symlink():
        return beside
    if not (fetched := fetched_file(digest)).is_file():
        raise UsageError(
            f"{beside} is missing: for a player of the board, natlang-leaderboard players fetch {player.stem}"
        )
    return fetched
