"""Explores a repository that is not remembered: by the names that it lists, or by the lists of its searches.

The hope for a name is the probability that the answer is behind it: a softmax over what is listed together, times the
hope for their folder. It grows with the question's words in the name, and with how often files of such names are asked
about with these words in the repositories that are remembered.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from natlang_envs.prompt import PathStep
from natlang_envs.repository.hits import (
    ListedFile,
    asked_words,
    general_rarity,
    matches,
    read_counts,
    read_list,
)
from natlang_envs.repository.texts import NEXT
from natlang_envs.repository.walk import PagePosition, Walk, WalkHistory, path_of
from natlang_envs.repository.words import content_words, stem
from reference_agent.memory.names import NameMemory, words_asked
from reference_agent.memory.plan import Candidate, FileGoal, PlanWeights, RecallSituation, best_place, goals

LOOKED_AT = 3  # files of those that were read, the best by words, which a language model judges
# Logits of names, chosen on the questions of train, whose repositories were left out of the memory, and of validation.
_ALIKE, _LIKE_OTHERS, _FOLDER, _SOURCE, _PAGE = 12.0, 2.0, 3.0, 0.9, 1.0
_AHEAD = 5  # steps that opening a folder or page is taken to cost beyond its way
_SHORTEST = 4  # letters of a word that is recognised within another
_SEARCHES = 3  # words searched for, the rarest of the question
_LISTED, _PATH, _SATURATION = 5.0, 2.0, 3  # worth of the lists, of words in the path; lines of which half count


def by_names(settings: PlanWeights) -> PlanWeights:
    """Return what compares files that were found by names: the texts alone, since a name has told what it can."""
    return settings._replace(belief=0.0)


def in_lists(settings: PlanWeights) -> PlanWeights:
    """Return what compares files that searches found: lists show lines of the whole file, the lift knows its beginning.

    Both were chosen on validation.
    """
    return settings._replace(lift=settings.lift / 4)


class Unopened(NamedTuple):
    """A folder, a page or a search that may be opened."""

    hope: float  # the logarithm of the probability that the answer is behind it
    place: PagePosition  # where its command is listed
    command: str  # what opens it
    behind: PagePosition  # where it leads to


class NameHopes:
    """Says what is hoped of names, for a question; names of the same words are weighed once."""

    def __init__(self, memory: NameMemory, question: str) -> None:
        self._memory = memory
        words = words_asked(" ".join(content_words(question).values()))
        rarity = {word: general_rarity(word) for word in words}
        total = sum(rarity.values()) or 1.0
        self._shares = {word: each / total for word, each in rarity.items()}
        self._known: dict[str, float] = {}

    def logit(self, place: PagePosition, command: str) -> float | None:
        """Return the logit of what a command opens or shows; None if it does neither."""
        verb, _, name = command.partition(" ")
        if command == NEXT:
            return _PAGE
        if verb == "cat":
            return self.of_name(name) + _SOURCE * name.endswith(".py")
        if verb == "cd" and name != "..":
            return self.of_name(name) + max(1.0, _FOLDER - len(place.folder))
        return None

    def of_name(self, name: str) -> float:
        if name not in self._known:
            own, low = words_asked(name), name.lower()
            found = 0.0
            for word, share in self._shares.items():
                within = (len(word) >= _SHORTEST and word in low) or any(
                    len(each) >= _SHORTEST and each in word for each in own
                )
                others = max((self._memory.told(each, word) for each in own), default=0.0)
                found += share * (_ALIKE * (within or word in own) + _LIKE_OTHERS * others)
            self._known[name] = found
        return self._known[name]


def around(hopes: NameHopes, seen: WalkHistory) -> tuple[list[Candidate], list[Unopened]]:
    """Return the files that were listed, and what was listed and not opened; ways are noted."""
    files: list[tuple[float, str, PagePosition]] = []
    unopened: list[Unopened] = []
    of_place = {PagePosition(): 0.0}
    for place in sorted(seen.listed):  # folders before what is in them, pages before the next
        logits = {each: logit for each in seen.listed[place] if (logit := hopes.logit(place, each)) is not None}
        most = max(logits.values(), default=0.0)
        whole = of_place.get(place, 0.0) - most - math.log(math.fsum(math.exp(each - most) for each in logits.values()))
        for command, logit in logits.items():
            name, hope = command.partition(" ")[2], whole + logit
            if command.startswith("cat "):
                files.append((hope, path_of(place.folder, name), place))
                continue
            behind = PagePosition((*place.folder, name))
            if command == NEXT:
                behind = PagePosition(place.folder, place.page + 1)
            else:
                seen.walk.note(place, name)
            of_place[behind] = hope
            if behind not in seen.listed:
                unopened.append(Unopened(hope, place, command, behind))
    files.sort(key=lambda each: (-each[0], each[1]))
    return [Candidate(path, rank, 1, hope, place) for rank, (hope, path, place) in enumerate(files)], unopened


def explore(
    situation: RecallSituation, unopened: Sequence[Unopened], settings: PlanWeights
) -> FileGoal | Unopened | None:
    """Return what to open or read: most is hoped of it for its steps, and the way back is left. None: name a file."""
    there = best_place(situation, settings)
    found: list[tuple[float, str, FileGoal | Unopened]] = [
        (goal.candidate.belief - math.log(goal.steps), goal.candidate.path, goal)
        for goal in goals(situation, settings._replace(files=len(situation.candidates)))
        if goal.verb == "cat"
    ]
    for each in unopened:
        steps, back = situation.way(each.place) + 1, 1 if there is None else situation.way(there, each.behind) + 1
        if steps + 1 + back <= situation.left:
            found.append((each.hope - math.log(steps + _AHEAD), each.command, each))
    return max(found, key=lambda each: each[:2])[2] if found else None


class SearchWalk(Walk):
    """Goes between lists in place of folders: the list of each word is a page, `HERE` that of all listed commands."""

    HERE = PagePosition((), -1)

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self._words = tuple(words)
        self.here = PagePosition((), len(words) - 1)

    def steps(self, start: PagePosition, end: PagePosition) -> int:
        return int(end not in (start, self.HERE))

    def towards(self, end: PagePosition, last: str) -> str:
        return last if self.steps(self.here, end) == 0 else f"search {self._words[end.page]}"


def lists_of(
    question: str, path: Sequence[PathStep], commands: Sequence[str]
) -> tuple[SearchWalk, list[Candidate], list[Unopened]]:
    """Return where a player who searches is, the files that were listed, and the next word to search for."""
    lists: dict[str, Mapping[str, ListedFile]] = {}
    order = sorted(asked_words(question), key=lambda word: -general_rarity(word))
    rarity = {stem(word): general_rarity(word) for word in order}
    words: list[str] = []  # of searches, the last one last
    for step in path:
        verb, _, word = step.action.partition(" ")
        if verb == "search":
            lists[word] = read_list(step.feedback)
            words = [each for each in words if each != word] + [word]
            found, files = read_counts(step.feedback)
            if files:
                rarity[stem(word)] = math.log((files + 1) / (found + 1))
    walk, ahead = SearchWalk(words), [word for word in order if word not in lists and f"search {word}" in commands]
    place_of = {path: PagePosition((), words.index(word)) for word in words for path in lists[word]}
    place_of.update((each[3:], SearchWalk.HERE) for each in commands if each.startswith("id "))
    beliefs = {each: _LISTED * _of_lists(each, lists, rarity) for each in place_of}
    ranked = sorted(place_of, key=lambda each: (-beliefs[each], each))
    candidates = [Candidate(each, rank, 1, beliefs[each], place_of[each]) for rank, each in enumerate(ranked)]
    behind = PagePosition((), len(words))
    more = ahead[: len(lists) < _SEARCHES]
    return walk, candidates, [Unopened(math.inf, walk.here, f"search {word}", behind) for word in more]


def _of_lists(path: str, lists: Mapping[str, Mapping[str, ListedFile]], rarity: Mapping[str, float]) -> float:
    """Return what speaks for a file: rare words with many lines, and the words of its path and its shown lines."""
    total = math.fsum(rarity.values()) or 1.0

    def share(words: Collection[str]) -> float:
        return math.fsum(each for word, each in rarity.items() if any(matches(word, other) for other in words)) / total

    named = content_words(path)
    listed, shown = 0.0, set(named)
    for word, files in lists.items():
        if path in files:
            listed += rarity[stem(word)] * files[path].lines / (files[path].lines + _SATURATION)
            shown.update(content_words(files[path].first))
    return listed / total + share(shown) + _PATH * share(named)
