"""AutoExplore: find the file of a repository that answers a question; and a sandbox and a copilot over any repository.

env, episode     the environment, and the rules of one episode
tasks            questions and their answers: embedded, labelled, or your own
search, baselines  what the baseline agents are made of: the walk of a search, and BM25
protocols        writes the evaluation protocols
repository/      a folder, indexed: its files, pages and words; nothing outside it is ever opened
sandbox/         commands, edits and programs over a repository that is never modified
copilot/         a person or a model works in a sandbox, one command at a time
agent_driver     an agent of the suite in the person's place
dataset/         the labelled dataset: fetching, labels, checks
explore_cli      `natlang explore`
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from natlang_envs.autoexplore.env import AutoExploreEnv
    from natlang_envs.copilot import AutoExploreCopilot
    from natlang_envs.repository import Repository, RepositoryChanged, open_repository
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
]

_WINGS = ("env", "repository", "sandbox", "copilot")


def __getattr__(name: str) -> Any:
    """Return a public name, importing its wing at first use: an environment has no need of the sandbox."""
    if name in __all__:
        for wing in _WINGS:
            module = import_module(f"{__name__}.{wing}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
