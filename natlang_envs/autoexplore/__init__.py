"""AutoExplore: find the file of a repository that answers a question.

env, episode     the environment, and the rules of one episode
causes           why a command does nothing, and what was meant
asking           what its kinds of environments share
tasks            questions and their answers: embedded, labelled, or your own
baselines        BM25 and depth-first search
protocols        writes the evaluation protocols
searching/       AutoExplore-Search: a search command in place of folders
answering/       AutoExplore-Answer: an answer in words with a citation, scored by a key
agent_driver     an agent of the suite in the place of the copilot's person
dataset/         the labelled dataset: fetching, labels, checks

The repository's index, the sandbox and the copilot are packages of their own; this one exports their public names, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from natlang_envs.autoexplore.answering.score import score_answer
    from natlang_envs.autoexplore.env import AutoExploreEnv
    from natlang_envs.copilot.copilot import AutoExploreCopilot
    from natlang_envs.repository.tree import Repository, RepositoryChanged, open_repository
    from natlang_envs.sandbox import AutoExploreSandbox, CommandResult, Limits

__all__ = [
    "AutoExploreCopilot",
    "AutoExploreEnv",
    "AutoExploreSandbox",
    "CommandResult",
    "Limits",
    "Repository",
    "RepositoryChanged",
    "open_repository",
    "score_answer",
]

_HOMES = {
    "AutoExploreCopilot": "copilot.copilot",
    "AutoExploreEnv": "autoexplore.env",
    "AutoExploreSandbox": "sandbox",
    "CommandResult": "sandbox",
    "Limits": "sandbox",
    "Repository": "repository.tree",
    "RepositoryChanged": "repository.tree",
    "open_repository": "repository.tree",
    "score_answer": "autoexplore.answering.score",
}


def __getattr__(name: str) -> Any:
    """Return a public name, importing its package at first use: an environment has no need of the sandbox."""
    if name in _HOMES:
        return getattr(import_module(f"natlang_envs.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
