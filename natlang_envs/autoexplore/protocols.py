"""Writes the protocol files of AutoExplore from the labels; a test holds the files to what this makes.

python -m natlang_envs.autoexplore.protocols
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from natlang_envs.autoexplore.dataset.editions import NEWEST, Edition
from natlang_envs.autoexplore.dataset.labels import Wording
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.autoexplore.tasks import DEPTHS, LABELLED, LabelFileTasks, RepositoryTasks
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction

_PAPER_QUERIES, _PAPER_RUNS = 44, 10
_LEAST = 100
_HORIZON = 15


def _env_id(edition: Edition, depth: int | None) -> str:
    return f"NatLang/AutoExplore-{'' if depth is None else f'Depth{depth}-'}v{edition - 1}"


@dataclass(frozen=True)
class _Board:
    """An edition of the labels in a wording, and what its protocols are called."""

    edition: Edition
    wording: Wording
    family: str
    paper: str

    @property
    def whole(self) -> str:
        """The version of the protocols that hold every question."""
        return f"v{self.edition}"

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments of the environment."""
        chosen = {"wording": self.wording} if self.edition > 1 else {}
        return {"dataset": LABELLED, "split": "test"} | chosen

    def env_id(self, depth: int | None) -> str:
        """Return the environment for a depth."""
        return _env_id(self.edition, depth)

    def episodes(self, version: str, depth: int | None) -> tuple[Episode, ...]:
        """Return the tasks of the test split in the order of a hash, which mixes the repositories."""
        ids = sorted(
            RepositoryTasks("test", depth, LABELLED, self.edition, self.wording).ids(),
            key=lambda task_id: hash_fraction(f"{version}/autoexplore/{task_id}"),
        )
        return tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids))


_BOARDS = (
    _Board(1, "hard", "", "paper"),
    _Board(2, "natural", "", "paper2"),
    _Board(2, "hard", "-hard", "paper2"),
    _Board(3, "natural", "", "paper3"),
    _Board(3, "hard", "-hard", "paper3"),
)


def protocols() -> Iterator[Protocol]:
    """Yield the protocols of all editions.

    Raises:
        UsageError: The test split has too few labels.
    """
    for board in _BOARDS:
        yield from _protocols_of(board)


def _protocols_of(board: _Board) -> Iterator[Protocol]:
    asked = "" if board.edition == 1 else f", in the {board.wording} wording"
    for depth in DEPTHS:
        name = f"autoexplore-depth{depth}{board.family}"
        every = board.episodes(board.whole, depth)
        if len(every) < _LEAST:
            raise UsageError(f"the test split has {len(every)} labels of depth {depth}: {_LEAST} are needed")
        yield Protocol(
            f"{name}/{board.paper}",
            board.env_id(depth),
            board.kwargs,
            _HORIZON,
            _PAPER_RUNS,
            board.episodes("paper", depth)[:_PAPER_QUERIES],
            f"The paper's 44 queries and 10 runs, here about repositories that no training split holds{asked}.",
        )
        text = f"Every question of this depth about the repositories of the test split{asked}, {len(every)} of them."
        yield Protocol(f"{name}/{board.whole}", board.env_id(depth), board.kwargs, _HORIZON, 1, every, text)
    every = board.episodes(board.whole, None)
    text = f"Every question about the repositories of the test split{asked}, of any depth, {len(every)} of them."
    name = f"autoexplore{board.family}/{board.whole}"
    yield Protocol(name, board.env_id(None), board.kwargs, _HORIZON, 1, every, text)


def own_protocol(labels: Path, repository: Path) -> Protocol:
    """Return the protocol that asks every label of a file about a folder of the user's own, in the order of the ids.

    It plays the newest version of AutoExplore.

    Its name, and so its digest, holds the labels and the contents of the folder, wherever they lie.

    Raises:
        UsageError: The labels do not fit the folder, or one of the two cannot be read.
    """
    tasks = LabelFileTasks(labels, repository, None)
    contents = f"{hashlib.sha256(labels.read_bytes()).hexdigest()} {open_repository(repository).digest}"
    return Protocol(
        name=f"own/{hashlib.sha256(contents.encode()).hexdigest()[:12]}",
        env_id=_env_id(NEWEST, None),
        kwargs={},
        horizon=_HORIZON,
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
