"""Writes the protocol files of AutoExplore from the labels; a test holds the files to what this makes.

python -m natlang_envs.autoexplore.protocols
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from natlang_envs.autoexplore.dataset.labels import WORDINGS
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.autoexplore.tasks import DEPTHS, LABELLED, RepositoryTasks, label_file_tasks
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.repository.tree import open_repository
from natlang_envs.tasks import hash_fraction


def protocols() -> Iterator[Protocol]:
    """Yield a protocol for each environment and wording: every question about the repositories of the test split."""
    variants = [(f"-depth{depth}", f"Depth{depth}-", depth) for depth in DEPTHS]
    for wording in WORDINGS:
        for family, name, depth in (*variants, ("", "", None), ("-search", "Search-", None)):
            tasks = RepositoryTasks("test", depth, LABELLED, wording)
            # In the order of a hash, which mixes the repositories.
            ids = sorted(tasks.ids(), key=lambda task_id: hash_fraction(f"v3/autoexplore/{task_id}"))
            depths = "any depth" if depth is None else "this depth"
            yield Protocol(
                f"autoexplore{family}{'' if wording == 'natural' else f'-{wording}'}/v1",
                f"NatLang/AutoExplore-{name}v0",
                {"dataset": LABELLED, "split": "test", "wording": wording},
                HORIZON,
                1,
                tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
                f"Every question of {depths} about the repositories of the test split, {len(ids)} of them, in the "
                f"{wording} wording.",
            )


def own_protocol(labels: Path, repository: Path) -> Protocol:
    """Return the protocol that asks every label of a file about a folder of the user's own, in the order of the ids.

    Its name, and so its digest, holds the labels and the contents of the folder, wherever they lie.
    """
    tasks = label_file_tasks(labels, repository)
    contents = f"{hashlib.sha256(labels.read_bytes()).hexdigest()} {open_repository(repository).digest}"
    return Protocol(
        name=f"own/{hashlib.sha256(contents.encode()).hexdigest()[:12]}",
        env_id="NatLang/AutoExplore-v0",
        kwargs={},
        horizon=HORIZON,
        runs=1,
        episodes=tuple(Episode(task_id, seed) for seed, task_id in enumerate(tasks.ids())),
        description="Every label of a file of your own.",
        local={"dataset": str(labels.absolute()), "repository": str(repository.absolute())},
    )


def main() -> None:
    """Write the files."""
    write_protocols(protocols())


if __name__ == "__main__":
    main()
