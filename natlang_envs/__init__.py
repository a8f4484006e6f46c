"""Natural-language environments for Gymnasium and PettingZoo: text in, text out, deterministic, fast and offline.

env                  the base class of every environment
vector, episodes     its vector form, and the default one
two_player           a reflector and a policy for any environment, over PettingZoo
spaces               the text spaces
tasks, task_random   tasks with stable ids, their splits, and random numbers keyed by a text
prompt               the state of any environment as text, and labels for its commands
registration         every id; registers them with Gymnasium and PettingZoo
making               makes an environment by its id
trajectory           recorded episodes, their digests and their replay
files                files written whole or not at all, locks, the cache folder
why                  why a command did nothing: a closed set of causes
specs                specs that tell an environment's horizon
errors               `UsageError`, and checks of names and positions that callers give
dangerous_taxi/      Gymnasium's Taxi told in words
autoexplore/         find the file of a repository that answers a question; the labelled dataset
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

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
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

# Former names of modules: importing one gives the module of today.
MOVED = {
    f"{__name__}.{former}": f"{__name__}.{now}"
    for former, now in {
        "copilot.drivers": "copilot.copilot",
        "enumeration": "prompt",
        "minari": "learners.minari",
        "trl": "learners.trl",
        "vector_wrappers": "learners.vector_wrappers",
        "wrappers": "learners.wrappers",
    }.items()
}


class _Moved(MetaPathFinder, Loader):
    """Finds modules by their former names."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # It was run under its own name, whose spec `create_module` has put aside.
        module.__spec__ = module.__spec__ and module.__spec__.loader_state


sys.meta_path.append(_Moved())
register_all()


def __getattr__(name: str) -> Any:
    # Evaluation is imported on first use only, so that `import natlang_envs` stays quick.
    if name == "record":
        from natlang_envs.evaluation.recording import record

        return record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
