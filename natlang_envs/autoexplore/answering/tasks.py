"""The questions of AutoExplore-Answer: labels that have a key, of the dataset, the package, or a user's own."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.autoexplore.answering.episode import Form
from natlang_envs.autoexplore.answering.keys import AnswerKey, parse_key, read_keys, shipped_keys
from natlang_envs.autoexplore.dataset.labels import Evidence, Label, Wording
from natlang_envs.autoexplore.tasks import ExploreSplit, ExploreTask, ExploreTasks, make_tasks
from natlang_envs.errors import UsageError

_EMBEDDED = Path(__file__).parents[1] / "repositories" / "answers.jsonl"


class Answered(NamedTuple):
    """What is known of a question: its label, and the key of its answer."""

    label: Label
    key: AnswerKey


class AnswerTasks:
    """Questions with keys: `tasks` are those of AutoExplore, `load` one of them, `answered` what is right there."""

    def __init__(
        self,
        depth: int | None,
        split: ExploreSplit,
        dataset: str | None,
        repository: str | None,
        keys: str | None,
        wording: Wording,
        form: Form,
    ) -> None:
        if (repository is None) != (keys is None):
            raise UsageError(
                "a folder of your own needs repository, labels as dataset, and keys: leave out all or none"
            )
        if repository is not None and dataset is None:
            raise UsageError("a folder of your own needs labels: give their file as dataset")
        self._embedded = embedded_answers()
        own = {} if keys is None else read_keys(Path(keys))
        self._keys = own or {**shipped_keys(), **{name: each.key for name, each in self._embedded.items()}}
        fitting = {
            name
            for name, key in self._keys.items()
            if (name in self._embedded or wording in key.wordings) and (form == "text" or key.listed)
        }
        self.tasks: ExploreTasks = make_tasks(depth, split, dataset, repository, None, None, wording, fitting)

    def answered(self, task: ExploreTask) -> Answered:
        return self._embedded[task.id] if task.label is None else Answered(task.label, self._keys[task.id])


@cache
def embedded_answers() -> dict[str, Answered]:
    """Return what is right for questions about embedded repositories, by the ids of the tasks."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in _EMBEDDED.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: _answered(row) for row in rows}


def _answered(row: dict[str, Any]) -> Answered:
    evidence = tuple(Evidence(*each) for each in row.pop("evidence"))
    targets = tuple(sorted({each.path for each in evidence}))
    answer, repository = row.pop("answer"), row["id"].partition("/")[0]
    label = Label(repository, "", answer, targets, evidence, (), 0, "data", "shares", ())
    return Answered(label, parse_key(row))
