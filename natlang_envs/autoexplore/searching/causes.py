"""Why a command does nothing in AutoExplore-Search, or ends the search without success, and what was meant."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from natlang_envs.autoexplore.causes import FILLING, QUOTES, VERBS, WHOLE, no_verb, spelt
from natlang_envs.autoexplore.searching.listing import AGAIN, Order, Words
from natlang_envs.repository.words import stem
from natlang_envs.why import Why

_VERBS: Final = {
    **{word: verb for word, verb in VERBS.items() if verb != "cd" or word == "open"},
    "open": "cat",
    **dict.fromkeys(("search", "grep", "find", "rg", "ag", "ack", "query", "lookup", "look", "locate"), "search"),
}
_FILLING: Final = FILLING | {"for", "word", "path"}


def worded(commands: Collection[str], words: Words, order: Order, command: str) -> Why:
    """Return why a command is not understood beside the listed ones, after a search for some words."""
    plain = " ".join(command.split()).strip(QUOTES)
    lower = plain.lower()
    if not plain:
        return Why("no command", "There is no command in this.")
    whole = WHOLE.get(lower, lower)
    if whole in commands:
        return Why("spelling" if whole == lower else "other verb", "It is written otherwise.", whole)
    if whole == AGAIN and order == "ranked":
        return Why("already there", "Nothing is searched for yet.")
    said, *rest = plain.split(" ")
    verb = _VERBS.get(said.lower())
    while len(rest) > 1 and rest[0].lower() in _FILLING:
        rest = rest[1:]
    name = " ".join(rest).strip(QUOTES)
    if verb is None:
        return no_verb(said, rest, commands)
    if not name:
        return Why("incomplete", "A command names a word or a file.")
    exact = said == verb
    return _searched(commands, words, exact, name) if verb == "search" else _named(commands, exact, verb, name)


def _searched(commands: Collection[str], words: Words, exact: bool, name: str) -> Why:
    offered = {each.partition(" ")[2]: each for each in commands if each.startswith("search ") and each != AGAIN}
    found = spelt(offered, name) or next((each for each in offered if stem(each) == stem(name.lower())), None)
    if found:
        return Why("spelling" if exact or found != name else "other verb", "It is written otherwise.", offered[found])
    if stem(name.lower()) in map(stem, words):
        return Why("already there", "This is searched for already.")
    parts = [spelt(offered, each) for each in name.split(" ")]
    one = next(filter(None, parts), None)
    if len(parts) > 1 and one:
        return Why("several at once", "A search is for one word.", offered[one])
    return Why("not offered", "Only the words that are listed can be searched for.")


def _named(commands: Collection[str], exact: bool, verb: str, name: str) -> Why:
    paths = dict.fromkeys(each.partition(" ")[2] for each in commands if each.startswith(("cat ", "id ")))
    short = name.removeprefix("./").strip("/")
    found = spelt(paths, short)
    if found is None:
        ending = [each for each in paths if each.endswith(f"/{short}")]
        listed = f"{verb} {ending[0]}" if len(ending) == 1 else ""
        if listed in commands:
            return Why("incomplete", "A file is named by its whole path.", listed)
        return Why("not there", "The list of the last search has no such file.")
    listed = f"{verb} {found}"
    if listed not in commands:
        return Why("elsewhere", "Only what the last search lists can be read.")
    return Why("spelling" if exact or found != name else "other verb", "It is written otherwise.", listed)
