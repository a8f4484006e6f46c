"""A baseline of AutoExplore-Answer that learns nothing."""

from __future__ import annotations

import math

from natlang_envs.autoexplore.answering.env import AutoExploreAnswerEnv
from natlang_envs.autoexplore.answering.plan import way_to_cite
from natlang_envs.autoexplore.answering.score import MOST_WORDS, Citation
from natlang_envs.autoexplore.baselines import bm25_of
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.repository.hits import asked_words, general_rarity
from natlang_envs.repository.texts import EXIT
from natlang_envs.repository.words import content_words, stem

_FILES, _PICKS = 20, 6


class BestLineAgent:
    """Answers with the line that has most of the question's words, of the file that BM25 ranks first.

    Privileged: it reads every file of the repository beforehand, which no player can, and is told the way to the line.
    In the listed form it picks the first words of the line that the question does not say.
    """

    privileged = True

    def __call__(self, view: AgentInput) -> Decision:
        env = view.env
        if not isinstance(env, AutoExploreAnswerEnv):
            raise UsageError("agent 'best-line' quotes a line as the answer: give it NatLang/AutoExplore-Answer-v0")
        episode = env.episode
        asked = {stem(word): general_rarity(stem(word)) for word in asked_words(env.question)}
        if episode.citations:
            path, line = episode.citations[-1]
            said = episode.lines(path)[line - 1]
            return Decision(_answer(said, view.admissible_commands, len(episode.picks), asked))
        for path, _ in bm25_of(env.repository).rank(env.question)[:_FILES]:
            lines = episode.lines(path)
            best = max(range(len(lines)), key=lambda number: (_share(lines[number], asked), -number))
            way = way_to_cite(episode, Citation(path, best + 1), env.steps_left)
            if len(way) < env.steps_left:
                return Decision(way[0], reflection=None if view.path else f"Line {best + 1} of {path} fits best.")
        return Decision(EXIT)


def _share(line: str, asked: dict[str, float]) -> float:
    return sum(asked.get(word, 0.0) for word in content_words(line)) / math.sqrt(len(line) + 20)


def _answer(line: str, commands: tuple[str, ...], picked: int, asked: dict[str, float]) -> str:
    if "done" not in commands and not any(each.startswith("pick ") for each in commands):
        return f"answer {' '.join(line.split()[:MOST_WORDS]) or '?'}"
    words = [each for each in commands if each.startswith("pick ") and each not in ("pick yes", "pick no")]
    new = [each for each in words if not any(stem(word) in asked for word in content_words(each[5:]))]
    if picked < _PICKS and (new or not picked):
        return (new or words or ["pick yes"])[0]
    return "done"
