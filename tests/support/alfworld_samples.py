"""Games for tests: the official ones where they are found, and generated ones."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from natlang_envs.alfworld.engine.game import GRAMMARS, Game, parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.generator import generate, task_ids
from natlang_envs.alfworld.games.official import VARIABLE, official_ids, official_text
from natlang_envs.alfworld.games.splits import OfficialSplit
from natlang_envs.alfworld.plans import reference

COUNT = 510
BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "alfworld" / "official"


def official_folder() -> Path | None:
    """Where the official games are: named by the variable, or beside the checkout."""
    folder = Path(os.environ.get(VARIABLE) or BESIDE)
    return folder if folder.is_dir() else None


@lru_cache(maxsize=1)
def games() -> tuple[Game, ...]:
    """The official games of the two valid lists where they are found, filled up with generated ones; both grammars."""
    folder = official_folder()
    splits: tuple[OfficialSplit, ...] = ("valid_seen", "valid_unseen") if folder else ()
    texts = [official_text(folder, task) for split in splits if folder for task in official_ids(folder, split)]
    ids = [task for seen in (True, False) for task in task_ids(seen, numbers=range(2))]
    missing = COUNT - len(texts)
    texts += [generate(ids[n * len(ids) // missing]) for n in range(missing)]
    return tuple(parse_game(text._replace(grammar=GRAMMARS[n % 2])) for n, text in enumerate(texts))


def wander(world: World, steps: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield random commands and their answers, mostly other than going away, none of which wins."""
    rng = random.Random(seed)
    for _ in range(steps):
        stay = [command for command in world.commands if not command.startswith("go to ")]
        before, command = world.state(), rng.choice(stay if rng.random() < 0.7 else world.commands)
        answer = world.step(command)
        if world.won:
            world.set_state(before)
        else:
            yield command, answer


def win_by_the_plan(world: World) -> None:
    """Follow the reference plan: each command is listed, and the last one wins."""
    assert not world.won
    for command in reference(world):
        assert not world.won
        assert command in world.commands
        world.step(command)
    assert world.won
