"""AutoExplore-Answer: answer a question about a repository in words, with a citation, scored by a key.

env, episode      the environment, and the rules of one episode
passages          files with line numbers, their passages, and the words that can be picked of one
plan              a short way to a right answer
keys, key_checks  what an answer has to say, and what must hold for that
facts             an answer as words, numbers with units, and names
score             whether an answer is right, and supported
agents            a baseline that learns nothing
"""

from natlang_envs.autoexplore.answering.keys import AnswerKey, embedded_answers, read_keys, shipped_keys, write_keys
from natlang_envs.autoexplore.answering.score import AnswerScore, Citation, score_answer

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
