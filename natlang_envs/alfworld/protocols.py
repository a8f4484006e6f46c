"""Writes the protocol files of ALFWorld; a test compares the committed files with this.

python -m natlang_envs.alfworld.protocols

needs the official games, whose ids two of the protocols list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from natlang_envs.alfworld.games.generated_tasks import GeneratedTasks
from natlang_envs.alfworld.games.generator import parse_task_id
from natlang_envs.alfworld.games.official import COUNTS, data_folder, official_ids
from natlang_envs.alfworld.games.splits import OfficialSplit
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction

_PAPER_KITCHENS, _PAPER_RUNS, _PAPER_HORIZON = (5, 6, 8, 13), 25, 15
_TOMATO = (["pick_and_place_simple"], "Tomato-Microwave")
_GAMES = 200
_HORIZON = 50


def protocols(official: bool = True) -> Iterator[Protocol]:
    """Yield the six protocols, or only the four whose games need no download.

    Raises:
        UsageError: The official games are asked for and are not here.
    """
    yield Protocol(
        "alfworld-tomato/paper",
        "NatLang/ALFWorld-TomatoMicrowave-v0",
        {"split": "validation"},
        _PAPER_HORIZON,
        _PAPER_RUNS,
        _episodes(_tomato_tasks()),
        "The paper's 4 tasks and 25 runs, here generated games in the kitchens of the official ones: 5, 6, 8 and 13.",
    )
    yield Protocol(
        "alfworld-tomato/v1",
        "NatLang/ALFWorld-TomatoMicrowave-v0",
        {"split": "test"},
        _PAPER_HORIZON,
        1,
        _episodes(tuple(GeneratedTasks("test", *_TOMATO).ids())),
        "All 38 tomato games of kitchen 10, which no training split holds.",
    )
    played = _unseen_tasks(1)
    rooms = "generated games of the six task types, in the four rooms that no training split holds"
    for version, tasks, description in (
        ("v1", played, f"{_GAMES} {rooms}."),
        ("v2", _unseen_tasks(2, played), f"{_GAMES} further {rooms}; settings were chosen on v1."),
    ):
        yield Protocol(
            f"alfworld-generated/{version}",
            "NatLang/ALFWorld-v0",
            {"split": "test"},
            _HORIZON,
            1,
            _episodes(tasks),
            description,
        )
    if not official:
        return
    lists: tuple[tuple[str, OfficialSplit], ...] = (("seen", "valid_seen"), ("unseen", "valid_unseen"))
    for name, split in lists:
        yield Protocol(
            f"alfworld-{name}/official",
            "NatLang/ALFWorld-v0",
            {"source": "official", "split": split},
            _HORIZON,
            1,
            _episodes(official_ids(data_folder(), split)),
            f"The {COUNTS[split]} official games of {split}; they are read from $ALFWORLD_DATA.",
        )


def _episodes(ids: tuple[str, ...]) -> tuple[Episode, ...]:
    return tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids))


def _tomato_tasks() -> tuple[str, ...]:
    """Return one game of the validation split in each of the paper's kitchens, the first in the order of a hash."""
    tasks = GeneratedTasks("validation", *_TOMATO)
    first: dict[int, str] = {}
    for task_id in sorted(tasks.ids(), key=lambda task_id: hash_fraction(f"paper/alfworld/{task_id}")):
        first.setdefault(parse_task_id(task_id).room, task_id)
    return tuple(first[kitchen] for kitchen in _PAPER_KITCHENS)


def _unseen_tasks(version: int, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return games of the test split, drawn as `reset` draws them, each once and none of another version's."""
    tasks = GeneratedTasks("test")
    numbers = count()
    drawn: dict[str, None] = {}
    while len(drawn) < _GAMES:
        drawn[tasks.draw(lambda: hash_fraction(f"v{version}/alfworld/{next(numbers)}"))] = None
        drawn = {task_id: None for task_id in drawn if task_id not in without}
    return tuple(drawn)


def main() -> None:
    """Write the files."""
    write_protocols(protocols())


if __name__ == "__main__":
    main()
