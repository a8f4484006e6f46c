"""Why a command ends a ride, and which command was meant."""

from __future__ import annotations

from typing import Final

from natlang_envs.dangerous_taxi.city import ILLEGAL, IN_TAXI, LANDMARKS, MOVES, PICK_UP, City
from natlang_envs.dangerous_taxi.words import COMMAND_INDEX, COMMANDS
from natlang_envs.why import Misspelt, Why

_WAYS: Final = {word: command for command in COMMANDS[:PICK_UP] for word in (command.split()[1], command.split()[1][0])}
_WAYS.update({"down": COMMANDS[0], "up": COMMANDS[1], "right": COMMANDS[2], "left": COMMANDS[3]})
_VERBS: Final = frozenset(("move", "go", "drive", "head", "turn", "travel", "steer"))
_PICK: Final = frozenset(("pick", "pickup", "board", "collect", "get", "take"))
_DROP: Final = frozenset(("drop", "dropoff", "deliver", "release", "unload"))
_SIGNS: Final = " \t\r\n.,!?;:'\"`*()[]<>_-"
_KNOWN: Final = Misspelt(("move", "south", "north", "east", "west", "pick", "pickup", "drop", "dropoff", "passenger"))


def why(city: City, state: int, command: str) -> Why | None:
    """Return why a command is illegal in a state; None where it is legal."""
    index = COMMAND_INDEX.get(command)
    if index is None:
        return _worded(city, state, command)
    if city.transitions[state][index] != ILLEGAL:
        return None
    row, column, passenger, destination = city.decode(state)
    if index < PICK_UP:
        down, right = MOVES[index]
        way = command.split()[1]
        if 0 <= row + down < city.rows and 0 <= column + right < city.columns:
            return Why("wall", f"A wall is to the {way}.")
        return Why("edge", f"The map ends to the {way}.")
    if index == PICK_UP:
        if passenger == IN_TAXI:
            return Why("in the taxi", "The passenger is in the taxi already.")
        return Why("nobody there", f"The passenger waits at {LANDMARKS[passenger]}.")
    if passenger != IN_TAXI:
        return Why("nobody in the taxi", "Nobody is in the taxi.")
    return Why("not the destination", f"The passenger wants to go to {LANDMARKS[destination]}.")


def _worded(city: City, state: int, command: str) -> Why:
    """Return why a text is none of the commands, and the command that it means, if that was legal."""
    plain = " ".join(command.lower().split()).strip(_SIGNS)
    if not plain:
        return Why("no command", "There is no command in this.")
    words = [each for word in plain.replace("_", " ").replace("-", " ").split() if (each := word.strip(_SIGNS))]
    meant = _meant(words)
    cause = "other grammar" if len(meant) < 2 else "several at once"
    if meant == [plain] or (not meant and (meant := _meant([_KNOWN.meant(word) or word for word in words]))):
        cause = "spelling"
    elif len(meant) == 1 and words[0] in (*_VERBS, *_PICK, *_DROP) and words[0] not in meant[0].split():
        cause = "other verb"
    if not meant:
        cause = "incomplete" if words[0] in _VERBS else "no such verb"
        return Why(cause, f"The commands are: {', '.join(COMMANDS)}.")
    legal = city.transitions[state][COMMAND_INDEX[meant[0]]] != ILLEGAL
    return Why(cause, f"This is written {meant[0]!r}.", meant[0] if legal else "")


def _meant(words: list[str]) -> list[str]:
    """Return the commands that words mean: a verb for the passenger, or ways to go."""
    if words[0] in _PICK:
        return [COMMANDS[PICK_UP]]
    if words[0] in _DROP:
        return [COMMANDS[-1]]
    return [_WAYS[word] for word in words if word in _WAYS] if words[0] in (*_VERBS, *_WAYS) else []
