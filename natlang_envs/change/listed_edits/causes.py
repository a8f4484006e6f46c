"""Why a command does nothing in AutoExplore-Change, or ends the work without a repair, and what was meant."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from natlang_envs.autoexplore.causes import FILLING, QUOTES, VERBS, WHOLE, no_verb, spelt, unknown_or_lost
from natlang_envs.change.listed_edits.episode import ChangeEpisode
from natlang_envs.change.listed_edits.views import EDITS, EditableSource
from natlang_envs.env import Outcome
from natlang_envs.repository.texts import HERE, NEXT, PREVIOUS, SUBMIT, TEST, UNDO, UP
from natlang_envs.why import Why

_WHOLE: Final = {
    **WHOLE,
    **dict.fromkeys(("tests", "run test", "run tests", "run the tests", "pytest", "python -m pytest"), TEST),
    **dict.fromkeys(("revert", "reset", "undo edit", "restore"), UNDO),
    **dict.fromkeys(("done", "commit", "submit edit", "submit repair"), SUBMIT),
    **dict.fromkeys((".", "back to folder", "close"), HERE),
}
_VERBS: Final = {
    **{word: "cd" if verb == "cd" and word != "open" else "open" for word, verb in VERBS.items() if verb != "id"},
    **dict.fromkeys(("line", "lines"), "line"),
    **dict.fromkeys(("page", "pages"), "page"),
    **dict.fromkeys(("edit", "change", "apply", "replace", "modify", "fix"), "edit"),
}

_LOST: Final = {
    "submit": Why("wrong repair", "Tests fail with what was submitted."),
    "exit": Why("left", "The work ended without a repair."),
}


def why(episode: ChangeEpisode, command: str, outcome: Outcome) -> Why | None:
    """Return why a command, as given, did nothing or ended the work without a repair; `episode` is as after it."""
    return unknown_or_lost(command, outcome, episode.effects, partial(_worded, episode), _LOST)


def _worded(episode: ChangeEpisode, command: str) -> Why:
    plain = " ".join(command.split()).strip(QUOTES)
    lower = plain.lower()
    if not plain:
        return Why("no command", "There is no command in this.")
    whole = _WHOLE.get(lower, lower)
    if whole in episode.effects:
        return Why("spelling" if whole == lower or lower.startswith("cd") else "other verb", _OTHERWISE, whole)
    in_folder = episode.view.key[0] == "folder"
    match whole:
        case "test":
            return Why("used up", "No run of the tests is left.")
        case "undo" | "submit":
            return Why("nothing edited", "Nothing is edited yet.")
        case "next page" | "previous page":
            page = f"page {episode.view.key[3] + (2 if whole == NEXT else 0)}"
            if page in episode.effects:
                return Why("other verb", "The pages of a source have numbers.", page)
            return Why("already there", "There is no further page.")
        case "cd .":
            if in_folder:
                return Why("already there", "No source is open.")
            return Why("elsewhere", "A line is open: go back to its source first.", remedy=_to_folder(episode)[:1])
        case "cd ..":
            if in_folder or not episode.view.key[1].count("/"):
                return Why("already there", "This is in the top folder.")
            return Why("elsewhere", _OPEN, remedy=_to_folder(episode))
        case _:
            pass
    given, *rest = plain.split(" ")
    verb = _VERBS.get(given.lower())
    while len(rest) > 1 and rest[0].lower() in FILLING:
        rest = rest[1:]
    name = " ".join(rest).strip(QUOTES)
    if verb is None:
        return no_verb(given, rest, episode.effects)
    if not name:
        return Why("incomplete", "It does not say which one.")
    if verb in ("cd", "open"):
        return _named(episode, given, verb, name)
    numbers = [int(each) for each in re.findall(r"\d{1,9}", name)]
    if not numbers:
        return Why("incomplete", f"{verb} takes a number.")
    listed = " ".join([verb, *map(str, numbers)])
    if listed in episode.effects:
        return Why("spelling" if given == verb else "other verb", _OTHERWISE, listed)
    if in_folder:
        return Why("elsewhere", "No source is open.")
    source = episode.goal.source(episode.view.key[1])
    return {"line": _line, "page": _page, "edit": _edit}[verb](episode, source, *numbers[:2])


_OTHERWISE: Final = "It is written otherwise."
_OPEN: Final = "A source is open: go back to its folder first."


def _to_folder(episode: ChangeEpisode) -> tuple[str, ...]:
    """Return the commands from a source or line back to the folder."""
    return (HERE,) if episode.view.key[0] == "file" else (_source_of(episode), HERE)


def _source_of(episode: ChangeEpisode) -> str:
    return f"open {episode.view.key[1].rpartition('/')[2]}"


def _named(episode: ChangeEpisode, given: str, verb: str, name: str) -> Why:
    kind, path, _, _ = episode.view.key
    inside = name.removeprefix("./").strip("/")
    if kind != "folder":
        if inside in (path, path.rpartition("/")[2]):
            if kind == "file":
                return Why("already there", "This source is open already.")
            return Why("other verb" if given != verb else "spelling", _OTHERWISE, _source_of(episode))
        return Why("elsewhere", _OPEN, remedy=() if "/" in name else _to_folder(episode))
    here = {
        command.partition(" ")[2]: command
        for command in episode.view.effects
        if command.startswith(("cd ", "open ", "cat ")) and command != UP
    }
    inside = inside.removeprefix(f"{path}/") if path else inside
    found = spelt(here, inside)
    if found is None:
        first = inside.partition("/")[0]
        if f"cd {first}" in episode.effects and first != inside:
            return Why("elsewhere", "A command names what is in this folder: go one folder at a time.", f"cd {first}")
        cause = "elsewhere" if "/" in inside else "not there"
        return Why(cause, "A command names what is in this folder, without a path.")
    listed = here[found]
    word = listed.partition(" ")[0]
    if (word == "cd") != (verb == "cd"):
        cause = "other verb" if given in ("open", "go") else "wrong thing" if word == "cd" else "not a place"
        return Why(cause, f"This is a {'folder' if word == 'cd' else 'file'}.", listed)
    return Why("other verb" if found == name and given != word else "spelling", _OTHERWISE, listed)


def _line(episode: ChangeEpisode, source: EditableSource, number: int, *more: int) -> Why:
    del more
    kind, _, open_line, page = episode.view.key
    if kind == "line":
        if number == open_line:
            return Why("already there", "This line is open.")
        home = source.pages[source.page_of(open_line)]
        back = (_source_of(episode),) if number in home and number in source.of_line else ()
        return Why("elsewhere", "Another line is open: go back to the source first.", remedy=back)
    at = source.page_of(number)
    if at < 0:
        return Why("not there", "The source has no such line.")
    if at == page:
        return Why("not offered", "This line cannot be edited.")
    way = (f"page {at + 1}",)
    return Why("elsewhere", "This line is on another page.", remedy=way if way[0] in episode.effects else ())


def _page(episode: ChangeEpisode, source: EditableSource, number: int, *more: int) -> Why:
    del more
    kind, _, _, page = episode.view.key
    if kind == "line":
        way = (_source_of(episode),)
        moves = episode.goal.view(episode.effects[way[0]].key).effects
        return Why("elsewhere", "A line is open.", remedy=way if f"page {number}" in moves else ())
    if number == page + 1:
        return Why("already there", "This is that page.")
    if 0 < number <= len(source.pages):
        return Why("elsewhere", "From here, other pages lead there.")
    return Why("not there", f"The source has {len(source.pages)} pages.")


def _edit(episode: ChangeEpisode, source: EditableSource, line: int, number: int = 0) -> Why:
    kind, _, open_line, page = episode.view.key
    if kind == "line":
        if not number:
            listed = f"edit {open_line} {line}"
            meant = listed if listed in episode.effects else ""
            return Why("incomplete", "It does not say which edit of which line.", meant)
        if line == open_line:
            turns = (number - 1) // EDITS - page
            if number <= len(source.of_line[line]):
                way = (NEXT if turns > 0 else PREVIOUS,) * abs(turns)
                return Why("elsewhere", "This edit is on another page.", remedy=way)
            return Why("not offered", "This line has no such edit.")
        home = source.pages[source.page_of(open_line)]
        way = (_source_of(episode), f"line {line}") if line in home and line in source.of_line else ()
        return Why("elsewhere", "Another line is open.", remedy=way)
    way = (f"line {line}",)
    if not number:
        return Why("incomplete", "It does not say which edit of which line.")
    return Why("elsewhere", "This line is not open.", remedy=way if way[0] in episode.effects else ())
