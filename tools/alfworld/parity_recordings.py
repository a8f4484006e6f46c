"""Games as the real TextWorld plays them, recorded step by step, and what our own engine does differently.

A recording is slow to make and does not depend on our engine, but for the plan at its end. To compare an engine with it
takes milliseconds, so an engine that has changed is compared with all recordings again.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from natlang_envs.alfworld.engine.game import Game, GameText, parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.plans import reference
from natlang_envs.files import write_whole
from natlang_envs.task_random import TaskRandom

if TYPE_CHECKING:
    from natlang_envs.alfworld.env import AnyWorld

RANDOM_STEPS = 60
WALK = 1  # rises when walks change, so that recordings of the former ones are made again
_ODD_IN = 10  # one command in ten is nonsense, or written oddly
_RESTORED_EVERY = 7  # steps after which our engine is replaced by one that was restored from its state
# How often a verb is chosen where it can be; others count 1.
_WEIGHTS = {
    **{"go": 6, "take": 10, "put": 5, "move": 5, "open": 8, "close": 2, "use": 6, "examine": 3},
    **{"heat": 20, "cool": 20, "clean": 20, "slice": 20},
}
_OFTEN = {"microwave", "fridge", "sinkbasin", "countertop", "diningtable", "knife", "butterknife", "bread", "tomato"}
_NONSENSE = (
    "",
    "dance",
    "help me",
    "go to fridge 99",
    "go to",
    "go to loc 1",
    "take",
    "take apple 1",
    "put apple 1 in/on fridge 1",
    "move apple 1 to fridge 1",
    "open",
    "examine countertop",
    "use",
    "inventory 1",
    "look\tlook",
    "Nothing happens.",
    "näher, żółw, 近づく",
)


class Step(NamedTuple):
    """A command (empty before the first), what it showed, what could be done then, and whether the game was won."""

    command: str
    text: str
    commands: tuple[str, ...]
    won: bool


class EngineRecording(NamedTuple):
    name: str  # the game's task id
    grammar: str  # one of `GRAMMARS`
    versions: dict[str, str]  # of the packages that played it, and of the walk
    seconds: float  # how long that took
    steps: tuple[Step, ...]  # the beginning, `RANDOM_STEPS` steps, and those of the reference plan from there

    @property
    def plan_won(self) -> bool:
        return self.steps[-1].won


class EngineDifference(NamedTuple):
    step: int  # 0 at the beginning
    command: str  # what was done
    what: str  # "text", "commands", or "won"
    expected: str  # TextWorld's
    got: str  # ours


def play(player: AnyWorld, text: GameText, name: str) -> tuple[Step, ...]:
    """Play a random walk, seeded by the game's name, and then the reference plan; `player` is the real engine."""
    random = TaskRandom(f"conformance/{WALK}/{name}")
    shadow = World(parse_game(text))  # the plan needs full knowledge
    steps = [Step("", player.intro(), player.commands, player.won)]

    def do(command: str) -> None:
        shadow.step(command)
        steps.append(Step(command, player.step(command), player.commands, player.won))

    for _ in range(RANDOM_STEPS):
        command = choose(random, player.commands)
        do("look" if _is_dead_end(shadow, command) else command)
    for command in reference(shadow):
        do(command)
    return tuple(steps)


def replay(player: AnyWorld, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Play the commands of a recording with an engine at the game's beginning, and return its steps."""
    first = Step("", player.intro(), player.commands, player.won)
    return (first, *(Step(each.command, player.step(each.command), player.commands, player.won) for each in steps[1:]))


def _is_dead_end(world: World, command: str) -> bool:
    """Return whether a command takes what can be put nowhere (a paper towel roll): no plan wins after that."""
    if not command.strip().startswith("take"):
        return False
    before = world.state()
    world.step(command)
    stuck = not (world.won or reference(world))
    world.set_state(before)
    return stuck


def choose(random: TaskRandom, commands: tuple[str, ...]) -> str:
    """Return the next command of a walk: rarely `go to`, often what changes something, sometimes nonsense."""
    if random.below(_ODD_IN) == 0:
        return _odd(random, commands)
    by_verb: dict[str, list[str]] = {}
    for command in commands:
        by_verb.setdefault(command.partition(" ")[0], []).append(command)
    verbs = [verb for verb in by_verb for _ in range(_WEIGHTS.get(verb, 1))]
    listed = by_verb[verbs[random.below(len(verbs))]]
    if random.below(2):  # what is rare, a treatment or a slice, begins with these
        listed = [command for command in listed if not _OFTEN.isdisjoint(command.split()[1:3])] or listed
    return listed[random.below(len(listed))]


def _odd(random: TaskRandom, commands: tuple[str, ...]) -> str:
    command = commands[random.below(len(commands))]
    forms = (
        _NONSENSE[random.below(len(_NONSENSE))],
        command.upper(),
        command.title(),
        f"  {command}\n",  # understood: TextWorld strips it
        command.replace(" ", "  "),
        command[:-1],
        f"{command} 1",
    )
    return forms[random.below(len(forms))]


def differences(recording: EngineRecording, game: Game) -> Iterator[EngineDifference]:
    """Yield where our engine differs from a recording; its state is saved and restored on the way."""
    world = World(game)
    for number, (command, text, commands, won) in enumerate(recording.steps):
        if number and number % _RESTORED_EVERY == 0:
            state = json.loads(json.dumps(world.state()))
            world = World(game)
            world.set_state(state)
        got = world.step(command) if number else world.intro()
        if got != text:
            yield EngineDifference(number, command, "text", text, got)
        if world.commands != commands:
            yield EngineDifference(number, command, "commands", *_apart(commands, world.commands))
        if world.won is not won:
            yield EngineDifference(number, command, "won", str(won), str(world.won))


def _apart(expected: tuple[str, ...], got: tuple[str, ...]) -> tuple[str, str]:
    """Return what only one of two lists holds, in words."""
    only = [each for each in expected if each not in got], [each for each in got if each not in expected]
    return ("another order", "another order") if only == ([], []) else (f"also {only[0]}", f"also {only[1]}")


def write_recording(path: Path, recording: EngineRecording) -> None:
    write_whole(path, gzip.compress(json.dumps(recording._asdict(), ensure_ascii=False).encode(), mtime=0))


def read_recording(path: Path) -> EngineRecording | None:
    """Read a recording; None where there is none, or a broken one."""
    try:
        content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        steps = tuple(Step(command, text, tuple(listed), won) for command, text, listed, won in content.pop("steps"))
        return EngineRecording(**content, steps=steps)
    except (OSError, EOFError, ValueError, TypeError, LookupError):
        return None
