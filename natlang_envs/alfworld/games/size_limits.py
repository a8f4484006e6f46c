"""Size limits declared by the environments' spaces; larger games are refused."""

from __future__ import annotations

from typing import Final

from natlang_envs.alfworld.engine.game import Game
from natlang_envs.errors import UsageError

MAX_COMMANDS: Final = 128
MAX_OBSERVATION: Final = 8_000
_ALWAYS: Final = 3  # look, inventory and help
_WORDS: Final = 300  # characters of the longest sentence of the game without the names in it
_HELP: Final = 1_000  # characters that the help has at most


def most_commands(game: Game) -> int:
    """Return a number of commands that no state of a game exceeds.

    Objects move, but how often one lies somewhere never grows: so at worst all of them can be taken at one place.
    """
    here = max(map(len, game.at))
    lying = lamps = 0
    for things in game.contents:
        lying += (things & game.pickupable).bit_count()
        lamps += (things & game.toggleable).bit_count()
    # With something in hand: examine it, put it down, work on it, slice others with it.
    holding = 1 + 2 * here + game.sliceable.bit_count()
    # Every receptacle is gone to or examined; those at hand may have a door.
    return _ALWAYS + len(game.receptacles) + here + lamps + max(lying, holding)


def longest_text(game: Game) -> int:
    """Return a number of characters that no text of a game exceeds: at worst it names everything at once."""
    receptacles = sum([len(each.name) + len(", a ") for each in game.receptacles])
    things = sum([len(each.name) + len(", a ") for each in game.things])
    return max(_WORDS + len(game.task) + receptacles + max(map(len, game.at)) * things, _HELP)


def within_limits(game: Game) -> Game:
    """Return the game, or raise `UsageError` if it may exceed the limits."""
    for what, found, allowed in (
        ("commands", most_commands(game), MAX_COMMANDS),
        ("characters of an observation", longest_text(game), MAX_OBSERVATION),
    ):
        if found > allowed:
            raise UsageError(f"this ALFWorld game may need {found} {what}, more than {allowed}: take a smaller room")
    return game
