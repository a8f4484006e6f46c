"""A file as a player of AutoExplore-Answer sees it: lines with numbers, passages to quote, words to pick."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from natlang_envs.autoexplore.answering.facts import tokens_of, words_in
from natlang_envs.repository.navigation import Navigation
from natlang_envs.repository.texts import MAX_COMMANDS, bytes_shown, check_budget, is_binary

_SLOTS = MAX_COMMANDS - 6  # the other commands need at most six
YES_NO = ("yes", "no")
_NUMBERED = len("12345: ")  # characters before a line; a file whose lines need more is none that people read


class NumberedLine(NamedTuple):
    number: int  # from 1
    text: str


class Passage(NamedTuple):
    """Lines of a file that stand one after the other; the first one's number names it."""

    line: int
    text: str


@lru_cache(maxsize=4_096)
def lines_shown(navigation: Navigation, path: str, part: int) -> tuple[NumberedLine, ...]:
    """Return the lines that `cat` shows in a part of a file, from 0; of the first one perhaps only the end."""
    head = navigation.repository.part(path, 0, bytes_shown(navigation.budget * (part + 1)))
    if is_binary(head):
        return ()
    text = head.decode("utf-8", "backslashreplace")
    start = part * navigation.budget
    shown = text[start : start + navigation.budget].removesuffix("\n")
    first = text.count("\n", 0, start) + 1
    return (
        tuple(NumberedLine(first + each, line.removesuffix("\r")) for each, line in enumerate(shown.split("\n")))
        if shown
        else ()
    )


@lru_cache(maxsize=4_096)
def numbered_text(navigation: Navigation, path: str, before: int) -> str:
    """Return what `cat` shows, with a number before each line."""
    plain = navigation.text(path, before)
    lines = lines_shown(navigation, path, before % navigation.parts(path))
    if not lines:
        return plain
    head = plain.partition("\n")[0]
    end = "" if head.endswith(" reads:") else plain[plain.rindex("\n[") :]
    return "\n".join([head, *(f"{number}: {text}" for number, text in lines)]) + end


def longest_numbered(budget: int) -> int:
    """Return by how much numbers may lengthen what `cat` shows of at most `budget` characters."""
    return (check_budget(budget) + 1) * _NUMBERED


@lru_cache(maxsize=4_096)
def passages(navigation: Navigation, path: str, part: int) -> tuple[Passage, ...]:
    """Return the passages of a part of a file: each line that is not empty, or several where there are many."""
    lines = [each for each in lines_shown(navigation, path, part) if each.text.strip()]
    size = -(-len(lines) // _SLOTS) or 1
    groups = [lines[start : start + size] for start in range(0, len(lines), size)]
    return tuple(Passage(group[0].number, "\n".join(each.text for each in group)) for group in groups)


@lru_cache(maxsize=4_096)
def picks_of(passage: Passage) -> tuple[str, ...]:
    """Return the words of a passage, each once, in its order, then yes and no; of too many, numbers and names first."""
    words = [each for each in dict.fromkeys(words_in(passage.text)) if each.lower() not in YES_NO]
    named = [each for each in words if any(token.named for token in tokens_of(each))]
    kept = set([*named, *(each for each in words if each not in named)][:_SLOTS])
    return (*(each for each in words if each in kept), *YES_NO)


@lru_cache(maxsize=65_536)
def words_for(variant: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fewest of some words, in their order, that together say a phrase; none where they do not say it."""
    wanted = tokens_of(variant)
    for size in range(1, min(len(words), len(wanted) + 3) + 1):
        for start in range(len(words) - size + 1):
            run = words[start : start + size]
            said = tokens_of(" ".join(run))
            if len(said) == len(wanted) and [each[0::2] for each in said] == [each[0::2] for each in wanted]:
                return run
    single = {tokens[0][0::2]: each for each in reversed(words) if len(tokens := tokens_of(each)) == 1}
    found = [single.get(each[0::2], "") for each in wanted]
    return tuple(found) if wanted and all(found) else ()
