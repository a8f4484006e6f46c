"""The fixed texts of ALFWorld's games, which are facts of the game, and the two grammars they come in.

The games of the paper's time (`json_2.1.1`) and those of the alfworld package 0.4.2 differ in three things: where an
arrival is said to be, the words for putting a thing down, and whether there is a `help`. A result in one does not
compare with a result in the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

NOTHING_HAPPENS = "Nothing happens."
WELCOME = "-= Welcome to TextWorld, ALFRED! =-"
TASK_PREFIX = "Your task is to: "
EMPTY_HANDS = "You are not carrying anything."
MIDDLE_OF_THE_ROOM = "You are in the middle of a room. Looking quickly around you, you see {}."
FACING = "You are facing the {}. Next to it, you see {}."
_HELP = (
    ("look:", "look around your current location"),
    ("inventory:", "check your current inventory"),
    ("go to (receptacle):", "move to a receptacle"),
    ("open (receptacle):", "open a receptacle"),
    ("close (receptacle):", "close a receptacle"),
    ("take (object) from (receptacle):", "take an object from a receptacle"),
    ("move (object) to (receptacle):", "place an object in or on a receptacle"),
    ("examine (something):", "examine a receptacle or an object"),
    ("use (object):", "use an object"),
    ("heat (object) with (receptacle):", "heat an object using a receptacle"),
    ("clean (object) with (receptacle):", "clean an object using a receptacle"),
    ("cool (object) with (receptacle):", "cool an object using a receptacle"),
    ("slice (object) with (object):", "slice an object using a sharp object"),
)


def _help_text() -> str:
    """Return what `help` answers; the line of `move` is two columns short of the others, as it is in the game."""
    lines = [f"  {what:<{32 if what.startswith('move') else 34}}{meaning}" for what, meaning in _HELP]
    return "Available commands:\n" + "\n".join(lines) + "\n"


class Grammar(NamedTuple):
    """What differs between the two grammars.

    Attributes:
        name: One of `GRAMMARS`.
        names_location: An arrival is "at loc 40", not at the receptacle.
        put: The command for putting a thing (first) down in a receptacle (second).
        put_feedback: Its answer.
        cleaners: The types of receptacles a thing can be cleaned with.
        help: The answer to `help`; None where there is no such command.
    """

    name: str
    names_location: bool
    put: str
    put_feedback: str
    cleaners: frozenset[str]
    help: str | None


_ALL = (
    Grammar(
        "json_2.1.1",
        True,
        "put {} in/on {}",
        "You put the {} in/on the {}.",
        frozenset({"sink", "sinkbasin"}),
        None,
    ),
    Grammar(
        "0.4.2",
        False,
        "move {} to {}",
        "You move the {} to the {}.",
        frozenset({"sinkbasin"}),
        _help_text(),
    ),
)
GRAMMARS = ("json_2.1.1", "0.4.2")
BY_NAME = {grammar.name: grammar for grammar in _ALL}


def listing(names: Iterable[str]) -> str:
    """Return a list in the game's words: `nothing`, `a`, `a, and b`, `a, b, and c`."""
    *first, last = names = list(names) or ["nothing"]
    return f"{', '.join(first)}, and {last}" if len(names) > 1 else last


def condition(hot: bool, clean: bool, cool: bool, sliced: bool) -> str | None:
    """Return the adjectives of a thing that was worked on, as `examine` words them; None if there is none to say.

    A thing that is only sliced has no word here: the game asks about switches first.
    """
    if not (hot or clean or cool):
        return None
    if clean and hot:
        words = "hot and clean"
    elif clean and cool:
        words = "cool and clean"
    elif sliced:
        words = "clean" if clean else "hot" if hot else "cool"
    else:
        words = "hot" if hot else "clean" if clean else "cold"
    return f"{words} sliced" if sliced else words
