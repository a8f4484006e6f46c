"""Writes the protocol files of AutoExplore from the labels; a test holds the files to what this makes.

python -m natlang_envs.autoexplore.protocols
"""

from __future__ import annotations

from collections.abc import Iterator

from natlang_envs.autoexplore.tasks import DEPTHS, LABELLED, RepositoryTasks
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction

_PAPER_QUERIES, _PAPER_RUNS = 44, 10
_V1_LEAST = 100
_HORIZON = 15


def _episodes(version: str, depth: int | None) -> tuple[Episode, ...]:
    """The tasks of the test split in the order of a hash, which mixes the repositories."""
    ids = sorted(
        RepositoryTasks("test", depth, LABELLED).ids(),
        key=lambda task_id: hash_fraction(f"{version}/autoexplore/{task_id}"),
    )
    return tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids))


def protocols() -> Iterator[Protocol]:
    """Yield the five protocols.

    Raises:
        UsageError: The test split has too few labels.
    """
    for depth in DEPTHS:
        env_id = f"NatLang/AutoExplore-Depth{depth}-v0"
        kwargs = {"dataset": LABELLED, "split": "test"}
        paper, v1 = _episodes("paper", depth)[:_PAPER_QUERIES], _episodes("v1", depth)
        if len(paper) < _PAPER_QUERIES or len(v1) < _V1_LEAST:
            raise UsageError(f"the test split has {len(v1)} labels of depth {depth}: {_V1_LEAST} are needed")
        yield Protocol(
            f"autoexplore-depth{depth}/paper",
            env_id,
            kwargs,
            _HORIZON,
            _PAPER_RUNS,
            paper,
            "The paper's 44 queries and 10 runs, here about repositories that no training split holds.",
        )
        yield Protocol(
            f"autoexplore-depth{depth}/v1",
            env_id,
            kwargs,
            _HORIZON,
            1,
            v1,
            f"Every question of this depth about the repositories of the test split, {len(v1)} of them.",
        )
    every = _episodes("v1", None)
    yield Protocol(
        "autoexplore/v1",
        "NatLang/AutoExplore-v0",
        {"dataset": LABELLED, "split": "test"},
        _HORIZON,
        1,
        every,
        f"Every question about the repositories of the test split, of any depth, {len(every)} of them.",
    )


def main() -> None:
    """Write the files."""
    write_protocols(protocols())


if __name__ == "__main__":
    main()
