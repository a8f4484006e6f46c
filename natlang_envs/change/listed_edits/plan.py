"""The fewest commands to an edit, by a breadth-first search over views."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

from natlang_envs.change.listed_edits.tasks import Bench
from natlang_envs.change.listed_edits.views import Key, Move, Place
from natlang_envs.repository.texts import UP


def way_to(bench: Bench, start: Key, edits: Collection[Place]) -> list[str]:
    """Return the fewest commands that lead from a view to one of some edits, which has to be listed somewhere.

    Views that cannot matter are left out: other sources and lines, and of folders beside the way all but one step in
    and out, which is at times the shortest way back to the first page.
    """
    paths = {each.path for each in edits}
    wanted = {(each.path, bench.source(each.path).edits[each.number].line) for each in edits}
    relevant = {folder for path in (start[1], *paths) for folder in _with_above(path)}

    def matters(key: Key, move: Move, command: str) -> bool:
        kind, path, line, _ = move.key
        if kind == "line":
            return (path, line) in wanted
        if kind == "file":
            return path in paths or key[1] == path
        return key[0] != "folder" or key[1] in relevant or command == UP

    ways: dict[Key, tuple[str, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        key = queue.popleft()
        for command, move in bench.view(key).moves.items():
            if move.kind == "edit" and Place(key[1], move.number) in edits:
                return [*ways[key], command]
            if move.kind == "go" and move.key not in ways and matters(key, move, command):
                ways[move.key] = (*ways[key], command)
                queue.append(move.key)
    raise KeyError(f"no way from {start} to {sorted(edits)}")


def _with_above(path: str) -> Iterator[str]:
    """Yield a path and all folders above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
