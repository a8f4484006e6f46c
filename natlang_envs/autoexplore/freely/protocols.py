"""Writes the protocol file of AutoExplore-ChangeFree from its tasks; a test holds the file to what this makes.

python -m natlang_envs.autoexplore.freely.protocols
"""

from __future__ import annotations

from collections.abc import Iterator

from natlang_envs.autoexplore.freely.drawing import free_tasks
from natlang_envs.autoexplore.freely.env import HORIZON
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction


def protocols() -> Iterator[Protocol]:
    """Yield the protocol: every task of the test split, of code and of data."""
    ids = sorted(free_tasks("test"), key=lambda task_id: hash_fraction(f"v1/change-free/{task_id}"))
    yield Protocol(
        "autoexplore-change-free/v1",
        "NatLang/AutoExplore-ChangeFree-v0",
        {"split": "test"},
        HORIZON,
        1,
        tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
        f"Every task of the test split, {len(ids)} of them: code to mend, and questions about tables. An entry records "
        "patches, which are tested in the sandbox.",
        live="its bugs and their repairs are public",
    )


def main() -> None:
    """Write the file."""
    write_protocols(protocols())


if __name__ == "__main__":
    main()
