"""Fetches the files of the board's published players, which the repository's history holds and its tree does not.

`checkpoints/NAME.json` names the files of a player by SHA-256. `players.json` lists, for a commit, the files that it
holds as `checkpoints/files/SHA-256.gz` and the tree does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from leaderboard.git import git, git_bytes
from leaderboard.schema import CHECKPOINTS, Digest, read_as
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.published import FILES, fetched_file, named_files
from natlang_envs.files import write_whole

PLAYERS_FILE = "players.json"
_MOST_BYTES = 1 << 20
_Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


def player_names(root: Path = Path()) -> list[str]:
    return sorted(each.stem for each in (root / CHECKPOINTS).glob("*.json"))


def fetch_players(
    names: Sequence[str] = (), root: Path = Path(), *, report: Callable[[str], None] = lambda name: None
) -> list[Path]:
    """Bring the files of published players into the cache, and return those that were not there, sorted.

    Args:
        names: The players, such as `slips-100-seed1`; all of the board where none is named.
        root: The folder of the checkout.
        report: Called with the name of each player before its files are read.

    Example:
        >>> fetch_players(["searcher-imitation-seed1"])  # doctest: +SKIP
        [PosixPath('/root/.cache/natlang_envs/players/9e1f….gz')]
    """
    known = player_names(root)
    if not known:
        raise UsageError(f"{root / CHECKPOINTS} has no players: run this in a checkout of the repository")
    for name in names:
        require_choice("player", name, known)
    commits = read_commits(root / CHECKPOINTS.with_name(PLAYERS_FILE))
    fetched: set[Path] = set()
    for name in names or known:
        report(name)
        for digest in named_files(root / CHECKPOINTS / f"{name}.json")[1].values():
            if (root / CHECKPOINTS / FILES / f"{digest}.gz").exists() or fetched_file(digest).exists():
                continue
            if digest not in commits:
                raise UsageError(f"{PLAYERS_FILE} names no commit for {digest[:12]}…, a file of {name}: add it")
            write_whole(fetched_file(digest), _content(digest, commits[digest], root))
            fetched.add(fetched_file(digest))
    return sorted(fetched)


def read_commits(path: Path) -> dict[str, str]:
    commits = read_as(path, TypeAdapter(dict[_Commit, list[Digest]]), _MOST_BYTES)
    return {digest: commit for commit, digests in commits.items() for digest in digests}


def _content(digest: str, commit: str, root: Path) -> bytes:
    if git(["cat-file", "-e", f"{commit}^{{commit}}"], root) is None:  # a shallow clone
        git(["fetch", "--quiet", "--depth=1", "origin", commit], root)
    content = git_bytes(["cat-file", "blob", f"{commit}:{(CHECKPOINTS / FILES).as_posix()}/{digest}.gz"], root)
    if content is None:
        raise UsageError(f"neither this clone nor its origin has the commit {commit[:12]}: fetch it, then try again")
    if hashlib.sha256(content).hexdigest() != digest:
        raise UsageError(f"commit {commit[:12]} holds another file under {digest[:12]}…: the history was changed")
    return content
