"""Writes the protocol files of ALFWorld; a test compares the committed files with this.

python -m natlang_envs.alfworld.protocols

needs the official games, whose ids two of the protocols list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from natlang_envs.alfworld.games.generated_tasks import GeneratedTasks
from natlang_envs.alfworld.games.official import COUNTS, data_folder, official_ids
from natlang_envs.alfworld.games.splits import OfficialSplit
from natlang_envs.evaluation.protocols import Episode, Protocol, write_protocols
from natlang_envs.tasks import hash_fraction

_TOMATO = (["pick_and_place_simple"], "Tomato-Microwave")
_GAMES = 200
_HORIZON, _TOMATO_HORIZON = 50, 15


def protocols(official: bool = True) -> Iterator[Protocol]:
    """Yield the four protocols, or only the two whose games need no download."""
    yield Protocol(
        "alfworld-tomato/v1",
        "NatLang/ALFWorld-TomatoMicrowave-v0",
        {"split": "test"},
        _TOMATO_HORIZON,
        1,
        _episodes(tuple(GeneratedTasks("test", *_TOMATO).ids())),
        "All 38 tomato games of kitchen 10, which no training split holds.",
    )
    yield Protocol(
        "alfworld-generated/v1",
        "NatLang/ALFWorld-v0",
        {"split": "test"},
        _HORIZON,
        1,
        _episodes(_unseen_tasks(2, _unseen_tasks(1))),
        f"{_GAMES} generated games of the six task types, in the four rooms that no training split holds.",
    )
    if not official:
        return
    lists: tuple[tuple[str, OfficialSplit], ...] = (("seen", "valid_seen"), ("unseen", "valid_unseen"))
    for name, split in lists:
        yield Protocol(
            f"alfworld-{name}/v1",
            "NatLang/ALFWorld-v0",
            {"source": "official", "split": split},
            _HORIZON,
            1,
            _episodes(official_ids(data_folder(), split)),
            f"The {COUNTS[split]} official games of {split}; they are read from $ALFWORLD_DATA.",
        )


def _episodes(ids: tuple[str, ...]) -> tuple[Episode, ...]:
    return tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids))


def _unseen_tasks(draw: int, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return games of the test split, drawn as `reset` draws them, each once and none of another draw's.

    Settings were chosen on the first draw, so the protocol holds the second.
    """
    tasks = GeneratedTasks("test")
    numbers = count()
    drawn: dict[str, None] = {}
    while len(drawn) < _GAMES:
        drawn[tasks.draw(lambda: hash_fraction(f"v{draw}/alfworld/{next(numbers)}"))] = None
        drawn = {task_id: None for task_id in drawn if task_id not in without}
    return tuple(drawn)


def main() -> None:
    """Write the files."""
    write_protocols(protocols())


if __name__ == "__main__":
    main()
