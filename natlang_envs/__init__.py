"""Text environments for Gymnasium and PettingZoo: deterministic, fast and offline.

env                  the base class of every environment
vector, episodes     its vector form, and the default one
two_player           a reflector and a policy for any environment, over PettingZoo
spaces               the text spaces
tasks, task_random   tasks with stable ids, their splits, and random numbers keyed by a text
prompt               the state of any environment as text, and labels for its commands
answers/             reads the command in what a model answers
registration         every id; registers them with Gymnasium and PettingZoo
make_env             makes an environment by its id
trajectory           recorded episodes, their digests and their replay
files                files written whole or not at all, locks, the cache folder
installed            what installed packages register
why                  why a command did nothing: a closed set of causes
specs                specs with an environment's own horizon
errors               `UsageError`, and checks of names and positions that callers give
dangerous_taxi/      Gymnasium's Taxi as texts
autoexplore/         find the file of a repository that answers a question; the labelled dataset
change/              mend broken code, by listed or free edits; answer questions about tables
alfworld/            household tasks
learners/            wrappers, encoders, and adapters of other libraries
evaluation/          agents play protocols; runs are kept and replayed
inspect              any protocol as a task of Inspect
conformance/         checks that any text environment can run
repository/          a repository as AutoExplore sees it
finder/              full-text search: which files answer a question
sandbox/             commands and programs over a repository that is never modified
copilot/             a person or a model works in a sandbox
cli/                 the `natlang` command

>>> import gymnasium, natlang_envs
>>> env = gymnasium.make("NatLang/DangerousTaxi-Pickup-v0")
>>> observation, info = env.reset(seed=0, options={"task_id": "classic/2.3/red-green"})
>>> info["admissible_commands"][0]
'move south'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from natlang_envs.env import NatLangEnv, Snapshot, unwrap
from natlang_envs.errors import UsageError
from natlang_envs.registration import ENVIRONMENTS, SANDBOXED, Registration, register, register_all

if TYPE_CHECKING:
    from natlang_envs.evaluation.recording import record

__all__ = [
    "ENVIRONMENTS",
    "SANDBOXED",
    "NatLangEnv",
    "Registration",
    "Snapshot",
    "UsageError",
    "record",
    "register",
    "unwrap",
]
__version__ = "0.1.0"

register_all()


def __getattr__(name: str) -> Any:
    # Evaluation is imported on first use only, so that `import natlang_envs` stays quick.
    if name == "record":
        from natlang_envs.evaluation.recording import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
