"""The depth-first baseline: a search that reads as it goes."""

from __future__ import annotations

from typing import NamedTuple

from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.repository.texts import EXIT, NEXT, PREVIOUS, UP, read_question, steps_left
from natlang_envs.repository.walk import PagePosition, Walk
from natlang_envs.repository.words import question_words, words_of

ENOUGH = 0.6  # the share of a question's words at which the depth-first search stops looking


class BestFile(NamedTuple):
    """A file that was read: where it is listed, and the share of the question's words in it."""

    place: PagePosition
    name: str
    share: float


class DepthFirstSearch:
    """Reads the files of a folder, page by page, then those of its folders; knows only what a player is shown.

    It names a file as soon as it holds enough of the question's words, or else, when the steps run out or everything is
    read, the best one.
    """

    def __init__(self, question: str) -> None:
        self._wanted = frozenset(question_words(question))
        self._walk = Walk()
        self._entered: set[tuple[str, ...]] = set()
        self._read: set[tuple[tuple[str, ...], str]] = set()
        self._best: BestFile | None = None
        self._decided = False

    @property
    def files_read(self) -> int:
        return len(self._read)

    def saw(self, command: str, feedback: str) -> None:
        self._walk.follow(command)
        here = self._walk.here
        verb, _, name = command.partition(" ")
        if command == PREVIOUS:
            self._decided = True  # the search itself never turns back
        elif verb == "cd" and command != UP:
            self._decided |= here.folder in self._entered  # nor enters a folder twice
            self._entered.add(here.folder)
        elif verb == "cat":
            self._read.add((here.folder, name))
            share = len(self._wanted.intersection(words_of(feedback))) / len(self._wanted)
            if self._best is None or share > self._best.share:
                self._best = BestFile(here, name, share)

    def choose(self, commands: tuple[str, ...], steps_left: int) -> str:
        walk, best = self._walk, self._best
        if best is not None:
            steps = walk.steps(walk.here, best.place) + 1
            if self._decided or best.share >= ENOUGH or steps >= steps_left - 1:
                return self._towards(best, commands)
        for command in commands:
            if command.startswith("cat ") and (walk.here.folder, command[4:]) not in self._read:
                return command
        for command in commands:
            if command.startswith("cd ") and command != UP and (*walk.here.folder, command[3:]) not in self._entered:
                return command
        for command in (NEXT, UP):
            if command in commands:
                return command
        return EXIT if best is None else self._towards(best, commands)

    def _towards(self, file: BestFile, commands: tuple[str, ...]) -> str:
        command = self._walk.towards(file.place, f"id {file.name}")
        return command if command in commands else EXIT


class DepthFirstAgent:
    """Searches depth first, from nothing but what it is shown: see `DepthFirstSearch`.

    It takes the question from the task's words, and begins anew at each step from the path, so that it can be evaluated
    in any order.
    """

    def __call__(self, view: AgentInput) -> Decision:
        search = DepthFirstSearch(read_question(view.task))
        for step in view.path:
            search.saw(step.action, step.feedback)
        command = search.choose(view.admissible_commands, steps_left(view.observation, "depth-first"))
        said = f"Read {search.files_read} files." if command.startswith("id ") else None
        return Decision(command, reflection=said)
