"""Ways of AutoExplore-Search to the `id` of a file: the fewest commands with `order="lines"`, few with `"ranked"`."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush
from itertools import combinations

from natlang_envs.autoexplore.searching.listing import AGAIN, SearchView, Words

# What a plan may have done last: a search for a word, or the reading of a file (and how often that was shown before).
_Done = tuple[str, str, int]
_WORDS = 4  # of a plan where searches add up


def shortest_plan(
    view: SearchView, words: Words, shown: tuple[str, ...], targets: Collection[str], most: int
) -> list[str] | None:
    """Return the fewest commands from a state to the `id` of a target, or None where more than `most` are needed.

    A list depends on its word alone, and the words that are offered on the text shown last; so a best-first search over
    words and texts finds every way. Of a long file, a later part costs one `cat` for each part before it.
    """
    moves, _ = view.moves(words, shown)
    named = _named(view, words, shown, targets)
    if named or most < 1:
        return [named] if named else None
    heap: list[tuple[int, int, _Done, tuple[str, ...]]] = []
    done: set[_Done] = set()

    def reach(step: _Done, way: tuple[str, ...], commands: tuple[str, ...]) -> None:
        # The name of a target, at least, comes after this step.
        if step not in done and len(way) + len(commands) < most:
            heappush(heap, (len(way) + len(commands), len(heap), step, (*way, *commands)))

    def read(paths: Collection[str], way: tuple[str, ...]) -> None:
        for path in paths:
            before = shown.count(path)
            parts = view.navigation.parts(path)
            for more in range(min(parts, most)):
                reach(("cat", path, (before + more) % parts), way, (f"cat {path}",) * (more + 1))

    for command, move in moves.items():
        if move.kind == "search":
            reach(("search", move.word, 0), (), (command,))
    read([move.path for move in moves.values() if move.kind == "cat"], ())
    while heap:
        _, _, step, way = heappop(heap)
        if step in done:
            continue
        done.add(step)
        kind, value, part = step
        if kind == "search":
            listed = [hit.path for hit in view.hits((value,)).best]
            for path in listed:
                if path in targets:
                    return [*way, f"id {path}"]
            read(listed, way)
        else:
            for word in (*view.near_text((value, part)), *view.asked):
                reach(("search", word, 0), way, (f"search {word}",))
    return None


def ranked_plan(
    view: SearchView, words: Words, shown: tuple[str, ...], targets: Collection[str], most: int
) -> list[str] | None:
    """Return few commands to the `id` of a target where searches add up, or None where none of at most `most` is found.

    It tries up to four words of the question, at first with those that are searched for already, then anew.
    """
    named = _named(view, words, shown, targets)
    if named or most < 1:
        return [named] if named else None
    for begun, way in ((words, []), ((), [AGAIN])) if words else (((), []),):
        for count in range(1, min(_WORDS, most - 1 - len(way)) + 1):
            for more in combinations([word for word in view.asked if word not in begun], count):
                listed = [hit.path for hit in view.hits((*begun, *more)).best]
                for path in listed:
                    if path in targets:
                        return [*way, *(f"search {word}" for word in more), f"id {path}"]
    return None


def _named(view: SearchView, words: Words, shown: tuple[str, ...], targets: Collection[str]) -> str:
    """Return the command that names a target now, or ""."""
    moves, _ = view.moves(words, shown)
    return next((command for command, move in moves.items() if move.kind == "id" and move.path in targets), "")
