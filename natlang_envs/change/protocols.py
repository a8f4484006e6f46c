"""Writes the protocol files of AutoExplore-Change and ChangeFree; a test compares the files with what this makes.

python -m natlang_envs.change.protocols
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from natlang_envs.change.free_edits.env import HORIZON as FREE_HORIZON
from natlang_envs.change.free_edits.task_sampling import free_tasks
from natlang_envs.change.listed_edits.env import STARTS
from natlang_envs.change.listed_edits.episode import HORIZON
from natlang_envs.change.listed_edits.tasks import make_tasks
from natlang_envs.change.task_files import open_task_file
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction

_NAMES = dict(zip(STARTS, ("", "File", "Line"), strict=True))
_OPEN = dict(zip(STARTS, ("", ", whose file is open", ", whose line is open"), strict=True))


def protocols() -> Iterator[Protocol]:
    """Yield a protocol of listed edits for each start, and the one of free edits: every task of the test split."""
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
        )
    ids = sorted(free_tasks("test"), key=lambda task_id: hash_fraction(f"v1/change-free/{task_id}"))
    yield Protocol(
        "autoexplore-change-free/v1",
        "NatLang/AutoExplore-ChangeFree-v0",
        {"split": "test"},
        FREE_HORIZON,
        1,
        tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
        f"Every task of the test split, {len(ids)} of them: code to mend, and questions about tables. An entry records "
        "patches, which are tested in the sandbox.",
    )


def own_protocol(tasks: Path, repository: Path) -> Protocol:
    """Return the protocol that plays every task of a user's own repository, in the order of the ids.

    Its name, and so its digest, holds the tasks, which hold the digest of the repository, wherever they lie.

    Raises:
        UsageError: The file holds no tasks, or they are of another repository.
    """
    open_task_file(tasks).sources(repository)
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
    write_protocols(protocols())


if __name__ == "__main__":
    main()
