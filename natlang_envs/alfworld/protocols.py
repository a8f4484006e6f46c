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
_LIVE_TASKS = 200
_PUBLIC = "its games are public, and so are their plans"


def protocols(official: bool = True) -> Iterator[Protocol]:
    """Yield the four protocols, or only the two whose games need no download."""
    tomatoes = _episodes(tuple(GeneratedTasks("test", *_TOMATO).ids()))
    all_of_them = "All 38 tomato games of kitchen 10, which no training split holds."
    tomato = "NatLang/ALFWorld-TomatoMicrowave-v0"
    kwargs = {"split": "test"}
    yield Protocol("alfworld-tomato/v1", tomato, kwargs, _TOMATO_HORIZON, 1, tomatoes, all_of_them, live=_LIVE_TASKS)
    kinds: list[tuple[str, dict[str, str], tuple[str, ...], str]] = [
        (
            "generated",
            {"split": "test"},
            _unseen_tasks(2, _unseen_tasks(1)),
            f"{_GAMES} generated games of the six task types, in the four rooms that no training split holds.",
        )
    ]
    lists: tuple[tuple[str, OfficialSplit], ...] = (("seen", "valid_seen"), ("unseen", "valid_unseen"))
    for name, split in lists if official else ():
        games = f"The {COUNTS[split]} official games of {split}; they are read from $ALFWORLD_DATA."
        kinds.append((name, {"source": "official", "split": split}, official_ids(data_folder(), split), games))
    for name, kwargs, ids, games in kinds:
        live = _LIVE_TASKS if name == "generated" else _PUBLIC
        episodes = _episodes(ids)
        yield Protocol(f"alfworld-{name}/v1", "NatLang/ALFWorld-v0", kwargs, _HORIZON, 1, episodes, games, live=live)


def _episodes(ids: tuple[str, ...]) -> tuple[Episode, ...]:
    return tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids))


def _unseen_tasks(sample: int, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return sampled games of the test split, each once and none of `without`: settings were chosen on those."""
    tasks = GeneratedTasks("test")
    numbers = count()
    sampled: dict[str, None] = {}
    while len(sampled) < _GAMES:
        task_id = tasks.draw(lambda: hash_fraction(f"v{sample}/alfworld/{next(numbers)}"))
        if task_id not in without:
            sampled[task_id] = None
    return tuple(sampled)


if __name__ == "__main__":
    write_protocols(protocols())
