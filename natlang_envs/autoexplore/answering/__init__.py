"""AutoExplore-Answer: answer a question about a repository in words, with a citation, scored by a key.

env, episode      the environment, and the rules of one episode
passages          files with line numbers, their passages, and the words that can be picked of one
plan              a short way to a right answer
tasks             the questions that have keys
keys, key_checks  what an answer has to say, and what must hold for that
facts             an answer as words, numbers with units, and names
score             whether an answer is right, and supported
causes            why a command does nothing
agents            baselines that learn nothing
"""

from natlang_envs.autoexplore.answering.keys import AnswerKey, read_keys, shipped_keys, write_keys
from natlang_envs.autoexplore.answering.score import AnswerScore, Citation, score_answer
from natlang_envs.autoexplore.answering.tasks import embedded_answers

__all__ = [
    "AnswerKey",
    "AnswerScore",
    "Citation",
    "embedded_answers",
    "read_keys",
    "score_answer",
    "shipped_keys",
    "write_keys",
]
