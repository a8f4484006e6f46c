"""Commands that fail, of the kinds that language models write, and what holds of the reasons that `why` gives."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from natlang_envs.alfworld.causes import seen_here, why
from natlang_envs.alfworld.engine.game import bits
from natlang_envs.alfworld.engine.grammar import BY_NAME, NOTHING_HAPPENS
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.plans import reference
from natlang_envs.why import CAUSES

_SYNONYMS = {
    "take": ("grab", "pick up", "get", "Take", "fetch"),
    "put": ("place", "drop", "insert"),
    "move": ("place", "drop", "insert"),
    "go to": ("walk to", "goto", "go", "move to", "head to"),
    "open": ("Open up", "unlock", "OPEN"),
    "close": ("shut",),
    "examine": ("inspect", "look at", "check", "look in", "search"),
    "use": ("turn on", "toggle", "switch on"),
    "heat": ("microwave", "warm", "cook"),
    "cool": ("chill", "refrigerate"),
    "clean": ("wash", "rinse"),
    "slice": ("cut", "chop"),
    "look": ("look around", "observe"),
    "inventory": ("check inventory", "i"),
}
_INVENTED = ("umbrella 1", "sandwich 2", "bookshelf 1", "oven 1", "rug 1", "milk 1")
_NOT_COMMANDS = ("wait", "turn off desklamp 1", "eat apple 1", "talk to robot", "find a mug", "give up")

Maker = Callable[[World, random.Random], str]


def _any(world: World, rng: random.Random, *verbs: str) -> str:
    """Return a command of now, of these verbs where there is one."""
    listed = [each for each in world.commands if each.startswith(verbs)] or list(world.commands)
    return rng.choice(listed)


def _thing(world: World, rng: random.Random) -> str:
    """Return something that can be taken, wherever it is."""
    return world.game.things[rng.choice(list(bits(world.game.pickupable)))].name


def _place(world: World, rng: random.Random, here: bool = False) -> str:
    at = world.game.at[world.location] if here else ()
    return world.game.receptacles[rng.choice(at or range(len(world.game.receptacles)))].name


def _hand(world: World, rng: random.Random) -> str:
    return _thing(world, rng) if world.held is None else world.game.things[world.held].name


def synonym(world: World, rng: random.Random) -> str:
    """Another verb."""
    command = _any(world, rng, *rng.sample(sorted(_SYNONYMS), 3))
    verb = next(each for each in (*_SYNONYMS, "help") if command.startswith(each))
    return rng.choice(_SYNONYMS.get(verb, ("h",))) + command.removeprefix(verb)


def no_number(world: World, rng: random.Random) -> str:
    """A name without its number, with an article or without."""
    words = _any(world, rng, "go", "take", "put", "move", "open", "examine", "heat", "use").split()
    left = [word for word in words if not word.isdigit()]
    return " ".join([*left[:-1], "the", left[-1]] if rng.random() < 0.3 else left)


def preposition(world: World, rng: random.Random) -> str:
    """Another preposition."""
    words = {
        "from": ("off", "in", "out of"),
        "in/on": ("in", "on", "into"),
        "to": ("in", "on", "onto"),
        "with": ("in", "using"),
    }
    command = _any(world, rng, "take", "put", "move", "heat", "cool", "clean")
    return " ".join(rng.choice(words[each]) if each in words else each for each in command.split())


def other_grammar(world: World, rng: random.Random) -> str:
    """Putting something down in the words of another release, wherever the player is."""
    form = rng.choice([each.put for each in BY_NAME.values() if each.put != world.game.grammar.put])
    return form.format(_hand(world, rng), _place(world, rng, here=rng.random() < 0.7))


def typo(world: World, rng: random.Random) -> str:
    """A letter too few, two that changed places, a capital, a blank too few or many, or a full stop."""
    command = _any(world, rng, "go", "take", "put", "move", "open", "examine")
    at = rng.randrange(1, len(command) - 2)
    return rng.choice(
        (
            command[:at] + command[at + 1 :],
            command[:at] + command[at + 1] + command[at] + command[at + 2 :],
            command.title(),
            command[:-2] + command[-1],
            command.replace("table ", " table ", 1),
            command + ".",
        )
    )


def elsewhere(world: World, rng: random.Random) -> str:
    """Something to do at a place where the player is not."""
    return rng.choice(("open {1}", "close {1}", "examine {1}", "take {0} from {1}")).format(
        _thing(world, rng), _place(world, rng)
    )


def not_in_it(world: World, rng: random.Random) -> str:
    """Taking what is not in the receptacle."""
    return f"take {_thing(world, rng)} from {_place(world, rng, here=True)}"


def not_held(world: World, rng: random.Random) -> str:
    """Using what is not in hand, but often in sight."""
    seen = [world.game.things[each].name for each in bits(seen_here(world) & world.game.pickupable)]
    form = rng.choice((world.game.grammar.put, "heat {} with {}", "clean {} with {}", "cool {} with {}", "examine {0}"))
    thing = rng.choice(seen) if seen and rng.random() < 0.6 else _thing(world, rng)
    return form.format(thing, _place(world, rng, here=rng.random() < 0.7))


def behind_a_door(world: World, rng: random.Random) -> str:
    """Taking out of, or putting into, what may be closed."""
    doors = [each.name for each in world.game.receptacles if each.openable]
    here = [world.game.receptacles[each].name for each in world.game.at[world.location]]
    place = rng.choice([each for each in here if each in doors] or doors or here or ["fridge 1"])
    if rng.random() < 0.5:
        return f"take {_thing(world, rng)} from {place}"
    return world.game.grammar.put.format(_hand(world, rng), place)


def hands_full(world: World, rng: random.Random) -> str:
    """Taking what is seen."""
    seen = [
        f"take {world.game.things[thing].name} from {world.game.receptacles[place].name}"
        for place in world.game.at[world.location]
        if world.reachable(place)
        for thing in bits(world.contents[place])
    ]
    return rng.choice(seen) if seen else not_in_it(world, rng)


def already(world: World, rng: random.Random) -> str:
    """Going to where the player is, and opening and closing what is so."""
    return rng.choice(("go to {}", "go to {}", "open {}", "close {}")).format(_place(world, rng, here=True))


def appliance(world: World, rng: random.Random) -> str:
    """Treating what is in hand with anything, and putting it anywhere."""
    form = rng.choice(("heat {} with {}", "cool {} with {}", "clean {} with {}", world.game.grammar.put))
    return form.format(_hand(world, rng), _place(world, rng))


def invented(world: World, rng: random.Random) -> str:
    """Names of what is not there."""
    thing, place = _thing(world, rng), _place(world, rng)
    return rng.choice(
        (
            f"take {rng.choice(_INVENTED)} from {place}",
            f"go to {rng.choice(_INVENTED)}",
            f"take {thing[:-1]}9 from {place}",
            f"go to {place}9",
            f"go to {thing}",
            f"take {thing} from {thing}",
        )
    )


def incomplete(world: World, rng: random.Random) -> str:
    """A command that does not say where."""
    thing = _hand(world, rng)
    return rng.choice(
        (f"take {thing}", f"put {thing}", f"heat {thing}", f"clean {thing}", f"use {thing}", "go", "open")
    )


def several(world: World, rng: random.Random) -> str:
    """Two commands at once."""
    return f"{_any(world, rng)}{rng.choice((' and then ', '; ', chr(10), ', then '))}{_any(world, rng)}"


def no_command(world: World, rng: random.Random) -> str:
    """What the game has no command for."""
    return rng.choice(_NOT_COMMANDS)


KINDS: dict[str, Maker] = {
    each.__name__.replace("_", " "): each
    for each in (
        *(synonym, no_number, preposition, other_grammar, typo, elsewhere, not_in_it, not_held, behind_a_door),
        *(hands_full, already, appliance, invented, incomplete, several, no_command),
    )
}


def failing_commands(world: World, rng: random.Random, of_each: int = 1) -> Iterator[tuple[str, str]]:
    """Yield kinds of mistakes and commands that do nothing in a game as it is."""
    for kind, make in KINDS.items():
        for _ in range(of_each):
            command = make(world, rng)
            if not world.understands(command.strip()):
                yield kind, command


@dataclass
class Findings:
    """What was found of reasons.

    Attributes:
        causes: How often each cause was given, by kind of mistake.
        proposals: How many commands were proposed in place of others, by cause.
        remedies: How many remedies were named, by cause.
        wrong: What did not work, a line each.
        seconds: The processor time of all calls.
    """

    causes: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    proposals: Counter[str] = field(default_factory=Counter[str])
    remedies: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    @property
    def calls(self) -> int:
        """How many commands failed."""
        return sum(each.total() for each in self.causes.values())

    def share_named(self, *left_out: str) -> float:
        """Return the share of the failed commands that have another cause than that there is no such verb."""
        counts = sum((each for kind, each in self.causes.items() if kind not in left_out), Counter[str]())
        return 1 - counts["no such verb"] / counts.total()

    def look_at(self, world: World, kind: str, command: str) -> None:
        """Ask why a command fails, and try what the reason says."""
        before = world.state()
        begun = time.process_time_ns()
        reason = why(world, command)
        self.seconds += (time.process_time_ns() - begun) / 1e9
        if reason is None or reason.cause not in CAUSES or world.state() != before:
            self.wrong.append(f"{command!r}: {reason}")
            return
        self.causes.setdefault(kind, Counter())[reason.cause] += 1
        if reason.instead:
            self.proposals[reason.cause] += 1
            self._expect(world.step(reason.instead) != NOTHING_HAPPENS, command, reason)
            world.set_state(before)
        if reason.remedy:
            self.remedies[reason.cause] += 1
            answers = [world.step(each) for each in reason.remedy]
            after = why(world, command)
            gone = after is None or after.cause != reason.cause
            self._expect(NOTHING_HAPPENS not in answers and gone, command, reason)
            world.set_state(before)

    def _expect(self, holds: bool, command: str, reason: object) -> None:
        if not holds:
            self.wrong.append(f"{command!r}: {reason}")


def measure(worlds: Iterable[World], seed: int, steps: int = 30) -> Findings:
    """Play games, half by their plans and half at random, and let commands of all kinds fail at every step."""
    found, rng = Findings(), random.Random(seed)
    for world in worlds:
        for _ in range(steps):
            for kind, command in failing_commands(world, rng):
                found.look_at(world, kind, command)
            plan = reference(world)
            near = [each for each in world.commands if not each.startswith("go to ")]
            world.step(
                plan[0] if plan and rng.random() < 0.4 else rng.choice(near if rng.random() < 0.6 else world.commands)
            )
            if world.won:
                break
    return found
