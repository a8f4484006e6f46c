"""Writes the protocol files of AutoExplore from the labels; a test holds the files to what this makes.

python -m natlang_envs.autoexplore.protocols
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from natlang_envs.autoexplore.answering.env import AutoExploreAnswerEnv
from natlang_envs.autoexplore.answering.episode import FORMS, LONGEST
from natlang_envs.autoexplore.dataset.labels import WORDINGS, Wording
from natlang_envs.autoexplore.dataset.shipped import load_labels
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.autoexplore.tasks import DEPTHS, LABELLED, ExploreSplit, RepositoryTasks, label_file_tasks
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.repository.tree import open_repository
from natlang_envs.tasks import hash_fraction

_DEPTHS = [*((f"-depth{depth}", f"Depth{depth}-", depth) for depth in DEPTHS), ("", "", None)]


def protocols() -> Iterator[Protocol]:
    """Yield the protocols of unknown repositories, for each environment and wording, and those of known ones."""
    for wording in WORDINGS:
        for family, name, depth in (*_DEPTHS, ("-search", "Search-", None)):
            which = f"about unknown repositories, those of the test split, {{count}} of them, in the {wording} wording."
            yield _protocol(family, name, depth, "test", wording, which)
        for family, name, depth in _DEPTHS if wording == "natural" else _DEPTHS[-1:]:
            which = f"about known repositories, {{count}} of them, in the {wording} wording: {{asked}} about files"
            which += (
                " that training questions are about, too. An agent may know the files and those questions, never these."
            )
            yield _protocol(f"-known{family}", name, depth, "known_test", wording, which)


def answer_protocols() -> Iterator[Protocol]:
    """Yield the protocols of answers in words, and in the listed form, each by walking and by searching."""
    for form, search in product(FORMS, (False, True)):
        kwargs: dict[str, Any] = {
            "dataset": LABELLED,
            "form": form,
            "search": search,
            "split": "test",
            "wording": "natural",
        }
        env = AutoExploreAnswerEnv(**kwargs)
        ids = _mixed(env.tasks.ids())
        how = "after searching for words" if search else "after walking through folders"
        words = "in words" if form == "text" else "by quoting and picking words of the quotations"
        yield Protocol(
            f"autoexplore-answer{'-search' * search}{'' if form == 'text' else '-listed'}/v1",
            "NatLang/AutoExplore-Answer-v0",
            kwargs,
            LONGEST,
            1,
            tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
            f"{len(ids)} questions about unknown repositories, each answered {words}, {how}, with a citation.",
            live="its questions and their answers are public",
        )


def _mixed(ids: Iterable[str]) -> list[str]:
    """Return ids in the order of a hash, which mixes the repositories."""
    return sorted(ids, key=lambda task_id: hash_fraction(f"v3/autoexplore/{task_id}"))


def _protocol(family: str, name: str, depth: int | None, split: ExploreSplit, wording: Wording, which: str) -> Protocol:
    tasks = RepositoryTasks(split, depth, LABELLED, wording)
    ids = _mixed(tasks.ids())
    asked = sum(label.id in tasks.pool for label in load_labels("known"))
    depths = "any depth" if depth is None else "this depth"
    return Protocol(
        f"autoexplore{family}{'' if wording == 'natural' else f'-{wording}'}/v1",
        f"NatLang/AutoExplore-{name}v0",
        {"dataset": LABELLED, "split": split, "wording": wording},
        HORIZON,
        1,
        tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
        f"Every question of {depths} {which.format(count=len(ids), asked=asked)}",
        live="its questions and their answers are public",
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
    write_protocols((*protocols(), *answer_protocols()))


if __name__ == "__main__":
    main()
