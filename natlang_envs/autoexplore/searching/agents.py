"""Baselines of AutoExplore-Search that learn nothing: they search for rare words and name what the lists agree on."""

from __future__ import annotations

import math

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.repository.hits import ListedFile, asked_words, general_rarity, matches, read_counts, read_list
from natlang_envs.repository.texts import EXIT, read_question, steps_left
from natlang_envs.repository.words import content_words, stem

_SATURATION = 3  # matching lines at which a further one counts half


class SearchNotes:
    """What a player knows from the steps so far.

    Attributes:
        lists: The files that each search listed, by its word.
        texts: What was read of each file.
        rarity: How rare each word is: in the repository, as its list tells, or in general.
        add_up: Whether searches add up (`order="ranked"`), so that the last list is the best.
    """

    def __init__(self, view: AgentInput) -> None:
        self.question = read_question(view.task)
        self.asked = [stem(word) for word in asked_words(self.question)]
        self.rarity = {word: general_rarity(word) for word in self.asked}
        self.lists: dict[str, dict[str, ListedFile]] = {}
        self.texts: dict[str, str] = {}
        self.add_up = False
        for step in view.path:
            verb, _, value = step.action.partition(" ")
            if verb == "search":
                self.lists[value] = read_list(step.feedback)
                self.add_up |= ", " in step.feedback.partition(":")[0]
                found, files = read_counts(step.feedback)
                if files and not self.add_up:
                    self.rarity[stem(value)] = math.log((files + 1) / (found + 1))
            elif verb == "cat":
                self.texts[value] = self.texts.get(value, "") + step.feedback

    def scores(self) -> dict[str, float]:
        """Return what speaks for each file that was listed: rare words, many lines, and words of path and lines."""
        total = sum(self.rarity.values()) or 1.0
        found: dict[str, float] = {}
        seen: dict[str, set[str]] = {}
        lists = list(self.lists.items())
        for word, files in lists[-1:] if self.add_up else lists:
            for path, file in files.items():
                listed = self.rarity[stem(word)] * file.lines / (file.lines + _SATURATION) / total
                found[path] = found.get(path, 0.0) + (1 / (1 + file.rank) if self.add_up else listed)
                seen.setdefault(path, set(content_words(path))).update(content_words(file.first))
        for path in found:
            found[path] += 0.0 if self.add_up else self.cover(seen[path])
            if path in self.texts:
                found[path] += self.cover(set(content_words(self.texts[path])))
        return found

    def cover(self, words: set[str]) -> float:
        """Return the share of the question's words, weighed by rarity, that are found in some words."""
        total = sum(self.rarity.values()) or 1.0
        return sum(rarity for word, rarity in self.rarity.items() if any(matches(word, each) for each in words)) / total


class FirstHitAgent:
    """Searches for the rarest words of the question and names the file that the lists speak for most."""

    name, searches, reads = "first-hit", 3, 0

    def __call__(self, view: AgentInput) -> Decision:
        left = steps_left(view.observation, self.name)
        notes = SearchNotes(view)
        if any(command.startswith("cd ") for command in view.admissible_commands):
            raise UsageError(f"agent {self.name!r} searches: give it NatLang/AutoExplore-Search-v0")
        wanted = sorted(asked_words(notes.question), key=lambda word: -general_rarity(word))[: self.searches]
        for word in wanted:
            if word not in notes.lists and f"search {word}" in view.admissible_commands:
                return Decision(f"search {word}")
        scores = notes.scores()
        best = sorted(scores, key=lambda path: (-scores[path], path))
        if left > 2 and len(notes.texts) < self.reads:
            read = self._next_to_read(best, notes, view.admissible_commands)
            if read:
                return Decision(read)
        return Decision(self._name(best, notes, view.admissible_commands, left), reflection=_said(notes))

    def _next_to_read(self, best: list[str], notes: SearchNotes, commands: tuple[str, ...]) -> str:
        """Return the `cat` of the best unread file of this list, or the search for that of the best of all."""
        unread = [path for path in best if path not in notes.texts][: self.reads]
        for path in unread:
            if f"cat {path}" in commands:
                return f"cat {path}"
        return _search_for(unread[:1], notes, commands)

    def _name(self, best: list[str], notes: SearchNotes, commands: tuple[str, ...], left: int) -> str:
        for path in best:
            if f"id {path}" in commands:
                return f"id {path}"
            search = _search_for([path], notes, commands) if left > 1 else ""
            if search:
                return search
        return EXIT


class FirstHitReaderAgent(FirstHitAgent):
    """The same, but reads the files that the lists speak for, and counts the question's words in them, too."""

    name, searches, reads = "first-hit-reader", 4, 9


def _search_for(paths: list[str], notes: SearchNotes, commands: tuple[str, ...]) -> str:
    """Return the command that lists a file again, or "" where none does."""
    for path in paths:
        for word, files in notes.lists.items():
            if path in files and f"search {word}" in commands:
                return f"search {word}"
    return ""


def _said(notes: SearchNotes) -> str:
    return f"Searched for {', '.join(notes.lists) or 'nothing'}; read {len(notes.texts)} files."
