"""Writes the protocol files of AutoExplore-Change and ChangeFree; a test compares the files with what this makes.

python -m natlang_envs.change.protocols
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from natlang_envs.change.free_edits.env import HORIZON as FREE_HORIZON
from natlang_envs.change.free_edits.task_sampling import free_tasks
from natlang_envs.change.listed_edits.episode import HORIZON
from natlang_envs.change.listed_edits.tasks import make_tasks
from natlang_envs.change.task_files import open_task_file
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction

# By what is open at the start: the end of the protocol's and the environment's name, and words of the description.
_STARTS = (
    ("", "", "Every bug of the test split, {} of them."),
    ("-file", "File", "Every bug of the test split, whose file is open, {} of them."),
    ("-line", "Line", "Every bug of the test split, whose line is open, {} of them."),
)
_FREE = (
    "Every task of the test split, {} of them: code to mend, and questions about tables. An entry records patches, "
    "which are tested in the sandbox."
)


def protocols() -> Iterator[Protocol]:
    """Yield a protocol of listed edits for each start, and the one of free edits: every task of the test split."""
    for ending, name, description in _STARTS:
        tasks = make_tasks("test", None, None).ids()
        yield _protocol(f"change{ending}", f"Change{name}", HORIZON, tasks, "v1/change", description)
    yield _protocol("change-free", "ChangeFree", FREE_HORIZON, free_tasks("test"), "v1/change-free", _FREE)


def _protocol(name: str, env: str, horizon: int, tasks: Iterable[str], order: str, description: str) -> Protocol:
    ids = sorted(tasks, key=lambda task_id: hash_fraction(f"{order}/{task_id}"))
    episodes = tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids))
    env_id, words = f"NatLang/AutoExplore-{env}-v0", description.format(len(ids))
    live = "its bugs and their repairs are public"
    return Protocol(f"autoexplore-{name}/v1", env_id, {"split": "test"}, horizon, 1, episodes, words, live=live)


def own_protocol(tasks: Path, repository: Path) -> Protocol:
    """Return the protocol that plays every task of a user's own repository, in the order of the ids.

    Its name, and so its digest, depends on the tasks and on the contents of the repository, not on their paths.
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


if __name__ == "__main__":
    write_protocols(protocols())
