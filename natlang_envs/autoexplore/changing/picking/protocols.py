"""Writes the protocol files of AutoExplore-Change from its tasks; a test holds the files to what this makes.

python -m natlang_envs.autoexplore.changing.picking.protocols
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from natlang_envs.autoexplore.changing.picking.books import open_book
from natlang_envs.autoexplore.changing.picking.env import STARTS
from natlang_envs.autoexplore.changing.picking.episode import HORIZON
from natlang_envs.autoexplore.changing.picking.tasks import make_tasks
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction

_NAMES = dict(zip(STARTS, ("", "File", "Line"), strict=True))
_OPEN = dict(zip(STARTS, ("", ", whose file is open", ", whose line is open"), strict=True))


def protocols() -> Iterator[Protocol]:
    """Yield a protocol for each start: every task of the test split, own and public code."""
    ids = sorted(make_tasks("test", None, None).ids(), key=lambda task_id: hash_fraction(f"v1/change/{task_id}"))
    for start in STARTS:
        name = _NAMES[start]
        yield Protocol(
            f"autoexplore-change{f'-{start}' if name else ''}/v1",
            f"NatLang/AutoExplore-Change{name}-v0",
            {"split": "test"},
            HORIZON,
            1,
            tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
            f"Every bug of the test split{_OPEN[start]}, {len(ids)} of them.",
            live="its bugs and their repairs are public",
        )


def own_protocol(tasks: Path, repository: Path) -> Protocol:
    """Return the protocol that plays every task of a user's own repository, in the order of the ids.

    Its name, and so its digest, holds the tasks, which hold the digest of the repository, wherever they lie.

    Raises:
        UsageError: The file holds no tasks, or they are of another repository.
    """
    open_book(tasks).sources(repository)
    ids = make_tasks("all", str(tasks), str(repository)).ids()
    return Protocol(
        name=f"own/{hashlib.sha256(tasks.read_bytes()).hexdigest()[:12]}",
        env_id="NatLang/AutoExplore-Change-v0",
        kwargs={},
        horizon=HORIZON,
        runs=1,
        episodes=tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
        description="Every bug that was put into a repository of your own.",
        local={"dataset": str(tasks.absolute()), "repository": str(repository.absolute())},
    )


def main() -> None:
    """Write the files."""
    write_protocols(protocols())


if __name__ == "__main__":
    main()
