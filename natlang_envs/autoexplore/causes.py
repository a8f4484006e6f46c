"""Why a command does nothing in a repository, or ends the search without success, and what was meant."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Protocol

from natlang_envs.env import Outcome
from natlang_envs.repository.navigation import FolderPage
from natlang_envs.repository.texts import EXIT, NEXT, PREVIOUS, UP, unknown_command
from natlang_envs.why import Why, misspelt

VERBS: Final = {
    word: verb
    for verb, words in {
        "cd": ("cd", "chdir", "enter", "go", "goto", "open"),
        "cat": ("cat", "read", "view", "show", "less", "more", "head", "tail", "print", "type", "open", "display"),
        "id": ("id", "identify", "answer", "submit", "select", "choose", "name"),
    }.items()
    for word in words
}
WHOLE: Final = {
    **dict.fromkeys(("..", "up", "back", "go back", "go up", "cd..", "cd ../", "cd -", "parent"), UP),
    **dict.fromkeys(("next", "page down", "next_page", "go to next page"), NEXT),
    **dict.fromkeys(("previous", "prev", "page up", "previous_page", "prev page"), PREVIOUS),
    **dict.fromkeys(("quit", "leave", "stop", "finish", "end", "give up"), EXIT),
}
FILLING: Final = frozenset(("to", "into", "the", "folder", "file", "directory", "in"))
QUOTES: Final = " \t\r\n'\"`"


class HasKind(Protocol):
    """The effect of a listed command."""

    @property
    def kind(self) -> str: ...


def unknown_or_lost(
    command: str,
    outcome: Outcome,
    effects: Mapping[str, HasKind],
    worded: Callable[[str], Why],
    lost: Mapping[str, Why],
) -> Why | None:
    """Return why a command is unknown, by `worded`, or why its kind of effect lost the episode, by `lost`."""
    if outcome.feedback.startswith(unknown_command(command)):
        return worded(command)
    if not outcome.terminated or outcome.success or command not in effects:
        return None
    return lost.get(effects[command].kind)


def worded(place: FolderPage, command: str) -> Why:
    """Return why a command is not understood in a place."""
    plain = " ".join(command.split()).strip(QUOTES)
    lower = plain.lower()
    if not plain:
        return Why("no command", "There is no command in this.", EXIT if len(place.moves) == 1 else "")
    whole = WHOLE.get(lower, lower)
    if whole in place.moves:
        cause = "spelling" if whole == lower or lower.startswith("cd") else "other verb"
        return Why(cause, "It is written otherwise.", whole)
    if whole in (UP, NEXT, PREVIOUS):
        return Why("already there", "This is the top folder." if whole == UP else "There is no further page.")
    said, *rest = plain.split(" ")
    verb = VERBS.get(said.lower())
    while rest and rest[0] in FILLING and len(rest) > 1:
        rest = rest[1:]
    name = " ".join(rest).strip(QUOTES)
    if verb is None:
        return no_verb(said, rest, place.moves)
    if not name.strip("./~"):
        return Why("already there" if name else "incomplete", "A command names a folder or a file of this place.")
    return _named(place, said, verb, name)


def no_verb(said: str, rest: Sequence[str], moves: Collection[str]) -> Why:
    """Return what is wrong with a command whose verb no command has, in a place with these commands."""
    verbs = dict.fromkeys(each.partition(" ")[0] for each in moves)
    found = misspelt(said.lower(), verbs)
    words = f"There is no command {said!a:.60}: there are {', '.join(verbs)}."
    meant = " ".join([found or "", *rest])
    return Why("spelling" if found else "no such verb", words, meant if meant in moves else "")


def _named(place: FolderPage, said: str, verb: str, name: str) -> Why:
    here = {command.partition(" ")[2]: command for command in place.moves if command.startswith(("cd ", "cat "))}
    short = name.removeprefix("./").strip("/")
    folder = place.key[0]
    inside = short.removeprefix(f"{folder}/") if folder else short
    found = inside if inside in here else spelt(here, inside)
    if found is None:
        first = inside.partition("/")[0]
        if f"cd {first}" in place.moves and first != inside:
            return Why("elsewhere", "A command names what is in this folder: go one folder at a time.", f"cd {first}")
        if "/" in inside:
            return Why("elsewhere", "A command names what is in this folder, without a path.")
        return Why("not there", f"There is no {name!a:.60} here.")
    listed = f"{verb} {found}"
    if listed not in place.moves:
        if here[found].startswith("cd "):
            cause = "other verb" if said == "open" else "wrong thing"
            return Why(cause, "This is a folder.", f"cd {found}")
        cause = "other verb" if said in ("open", "go") else "not a place"
        return Why(cause, "This is a file.", f"cat {found}")
    if found == name and said != verb:
        return Why("other verb", f"The verb is {verb!r} here.", listed)
    return Why("spelling", "It is written otherwise.", listed)


def spelt(here: Collection[str], name: str) -> str | None:
    same = [each for each in here if each.lower() == name.lower()]
    return same[0] if same else misspelt(name, here)
