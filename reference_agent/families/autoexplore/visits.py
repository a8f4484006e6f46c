"""The files that AutoExplore's teacher reads: some that do not answer, then one until its evidence is shown.

All of it is decided from the task, a seed and the present state, so the teacher can be asked about any state, that of a
student's own walk too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, combinations, permutations
from typing import NamedTuple

import numpy as np

from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.repository.navigation import Key, Navigation
from natlang_envs.repository.words import question_words, words_of

_SHOWN = re.compile(r"(.+) (reads|begins|goes on):\n")
_PLACE = re.compile(r"\n\[characters [\d,]+ to [\d,]+ of a file of [\d,]+ bytes; ([^\n]*)\]$")
_LEAST = 8  # characters of a span that are evidence, where a part shows no more of it


class FilePart(NamedTuple):
    """What one `cat` showed."""

    name: str
    text: str
    goes_on: bool  # whether there is a next part


class TargetFile(NamedTuple):
    """A file that answers."""

    path: str  # where it is
    part: int  # the first part that shows evidence, from 0
    parts: int  # how many it has
    # What that part shows of labelled spans, or for a question without a label the line with most of its words; empty
    # where no part that can be reached has any
    evidence: tuple[str, ...]


class Visits(NamedTuple):
    """What is to be read in a game: files in vain, then one of the targets."""

    vain: tuple[str, ...]
    targets: tuple[TargetFile, ...]


def part_of(feedback: str) -> FilePart | None:
    """Return the part of a file that the answer to a command shows; None for any other answer."""
    if not (head := _SHOWN.match(feedback)):
        return None
    place = None if head[2] == "reads" else _PLACE.search(feedback)
    text = feedback[head.end() : place.start() if place else None]
    return FilePart(head[1], text, bool(place and place[1].endswith("next part")))


def visits_of(env: AutoExploreEnv, rng: np.random.Generator, most: int) -> Visits:
    """Return what is read for the task of `env`, with up to `most` files in vain, how many being drawn.

    They are those that the label judges not to answer; without a label, others of a target's folder. As many are left
    out as do not fit into the steps of a game.
    """
    navigation, task = env.navigation, env.goal
    targets = tuple(_target(navigation, path, env, env.horizon) for path in task.targets)
    if any(each.evidence for each in targets):
        targets = tuple(each for each in targets if each.evidence)
    if task.label is not None:
        others = [each.path for each in task.label.bm25 if not each.answers]
    else:
        folder = task.targets[0].rpartition("/")[0]
        others = [path for path in env.repository.files if path.rpartition("/")[0] == folder]
    wanted, vain = int(rng.integers(most + 1)), ()
    for path in rng.permutation(sorted({*others} - {*task.targets})).tolist():
        if len(vain) == wanted:
            break
        if env.repository.kind(path) == "file" and part_of(navigation.text(path)):
            longer = Visits((*vain, path), targets)
            if _shortest(navigation, ("", 0), (), longer, env.horizon):
                vain = longer.vain
    return Visits(vain, targets)


def next_command(env: AutoExploreEnv, visits: Visits, here: FilePart | None) -> str:
    """Return the teacher's command: `id` of a file that shows its evidence, or the next one on the way there.

    A part that was to show evidence is left by `id` too where p(s) cut it off: to read on shows it never.
    """
    folder, page, shown = env.snapshot().state
    if here is not None:
        path = f"{folder}/{here.name}".removeprefix("/")
        parts = [each.part for each in visits.targets if each.path == path and each.evidence]
        if evidence_in(visits, path, here.text) or (shown.count(path) - 1) % env.navigation.parts(path) in parts:
            return f"id {here.name}"
    left = [path for path in visits.vain if path not in shown]
    for count in range(len(left), -1, -1):
        for some in combinations(left, count):
            rest = Visits(some, visits.targets)
            if found := _shortest(env.navigation, (folder, page), shown, rest, env.steps_left):
                return found
    return env.oracle()[0]


def evidence_in(visits: Visits, path: str, text: str) -> list[str]:
    return [each for target in visits.targets if target.path == path for each in target.evidence if each in text]


def _shortest(navigation: Navigation, start: Key, shown: Sequence[str], visits: Visits, steps: int) -> str | None:
    """Return the first of the fewest commands that make all visits and end the game; None if they are too many."""
    least: tuple[int, str] | None = None
    for order in permutations(visits.vain):
        for target in visits.targets:
            commands, key = list[str](), start
            for path in order:
                way, key = _way(navigation, key, path)
                commands += [*way, f"cat {_name(path)}"]
            way, _ = _way(navigation, key, target.path)
            before = shown.count(target.path)
            again = (target.part - before) % target.parts + 1 if target.evidence else int(not before)
            commands += [*way, *[f"cat {_name(target.path)}"] * again, f"id {_name(target.path)}"]
            if len(commands) <= steps and (least is None or len(commands) < least[0]):
                least = len(commands), commands[0]
    return None if least is None else least[1]


@lru_cache(maxsize=50_000)
def _way(navigation: Navigation, start: Key, path: str) -> tuple[tuple[str, ...], Key]:
    """Return the fewest commands from a place to the one that lists a file, and that place."""
    way, key = tuple(navigation.route(start, (path,))[:-1]), start
    for command in way:
        move = navigation.place(key).moves[command]
        key = (move.path, move.page)
    return way, key


def _target(navigation: Navigation, path: str, env: AutoExploreEnv, most: int) -> TargetFile:
    """Return a target and where its evidence stands, as far as `most` parts show it."""
    parts = navigation.parts(path)
    read = [part_of(navigation.text(path, number)) for number in range(min(parts, most))]
    texts = [each.text for each in read if each]
    ends = list(accumulate(map(len, texts)))
    found: dict[int, list[str]] = {}
    whole = "".join(texts)
    for span in _spans(env, path, whole):
        start = whole.find(span)
        shares = [
            whole[max(start, end - len(text)) : min(start + len(span), end)]
            for text, end in zip(texts, ends, strict=True)
        ]
        best = max(range(len(shares)), key=lambda number: len(shares[number]))
        if len(shares[best]) >= min(_LEAST, len(span)):
            found.setdefault(best, []).append(shares[best])
    first = min(found, default=0)
    return TargetFile(path, first, parts, tuple(found.get(first, ())))


def _spans(env: AutoExploreEnv, path: str, text: str) -> Iterator[str]:
    """Yield what counts as evidence, as it stands in the text of a target."""
    label, telling = env.goal.label, set(question_words(env.question))
    if label is None:
        best = max(text.split("\n"), key=lambda line: len(telling & set(words_of(line))))
        yield from [best] if telling & set(words_of(best)) else []
        return
    for each in label.evidence:
        for span in (each.text, each.text.replace("\n", "\r\n")):
            if each.path == path and span and span in text:
                yield span
                break


def _name(path: str) -> str:
    return path.rpartition("/")[2]
