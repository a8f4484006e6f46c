"""Baselines of AutoExplore-Change that learn nothing: no edit, any edit, and the edits of suspicious lines."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

from natlang_envs.change.listed_edits.env import AutoExploreChangeEnv, Start
from natlang_envs.change.listed_edits.episode import TESTS
from natlang_envs.change.listed_edits.tasks import ChangeTask
from natlang_envs.change.listed_edits.views import EditSite
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.repository.texts import EXIT, HERE, NEXT, PREVIOUS, SUBMIT, TEST, UP

_AWAY = ("cat ", "open ", "page ")  # from a line back to its source, or not to an edit
_BACK = (HERE, UP, NEXT, PREVIOUS, TEST, EXIT)


class NothingAgent:
    """Leaves at once: what the score of no repair is."""

    def __call__(self, view: AgentInput) -> str:
        del view
        return EXIT


class RandomEditAgent:
    """Goes down to any line, makes any of its edits and submits it, untested."""

    sampling = True

    def __call__(self, view: AgentInput) -> str:
        commands = view.admissible_commands
        if SUBMIT in commands:
            return SUBMIT
        edits = [each for each in commands if each.startswith("edit ")]
        lines = [each for each in commands if each.startswith(("line ", "page "))]
        down = [each for each in commands if each not in _BACK and not each.startswith(_AWAY[:1])]
        # A folder or page from which nothing leads on is left again.
        chosen = edits or lines or down or [each for each in commands if each in _BACK[:4]] or [EXIT]
        return chosen[int(view.rng.integers(len(chosen)))]


class SpectrumAgent:
    """Tries the edits of the most suspicious lines, tests three, and submits the first that fails no visible test.

    A line is as suspicious as Ochiai's formula says: the more, the fewer of the tests that pass depend on it, if the
    failing test does. Privileged: which tests depend on a line is known from what fails after the edits of that line in
    the unbroken repository, which no player sees; it stands in for the coverage that a developer would measure. It also
    knows the way to every edit.
    """

    privileged = True

    def __call__(self, view: AgentInput) -> str:
        env = view.env
        if not isinstance(env, AutoExploreChangeEnv):
            raise UsageError("agent 'spectrum' mends code: give it NatLang/AutoExplore-Change-v0")
        tried = sum(step.action == TEST for step in view.path)
        if view.path and view.path[-1].action == TEST and view.path[-1].feedback.startswith("All "):
            return SUBMIT
        ranked = suspicious(env.change_task, env.start)
        best = ranked[min(tried, len(ranked) - 1)]
        if env.edit == best and tried < TESTS and env.steps_left > 1:
            return TEST
        way = [] if env.edit == best else env.way_to(best)
        if len(way) < env.steps_left:
            return [*way, SUBMIT][0]
        return SUBMIT if env.edit is not None else EXIT


@lru_cache(maxsize=1_024)
def suspicious(task: ChangeTask, start: Start) -> tuple[EditSite, ...]:
    """Return some edits of the broken repository, file or line, those of the most suspicious lines first."""
    repository = task.repository
    passing, failing = task.visible & ~task.broken, task.visible & task.broken
    paths = sorted(repository.texts) if start == "repository" else [task.file]
    scores: dict[tuple[str, int], float] = {}
    for path in paths:
        for line, numbers in repository.source(path).of_line.items():
            depend = 0
            for number in numbers:
                depend |= repository.fails(path, number)
            failed, passed = (depend & failing).bit_count(), (depend & passing).bit_count()
            scores[path, line] = failed / sqrt(failed + passed) if failed else 0.0
    if start == "line":
        scores = {(task.file, task.line): 1.0}
    best = sorted(scores, key=lambda each: (-scores[each], each))
    edits = (EditSite(path, number) for path, line in best for number in task.source(path).of_line.get(line, ()))
    return tuple(edit for edit, _ in zip(edits, range(TESTS + 1), strict=False))
