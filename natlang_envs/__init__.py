"""Natural-language environments for Gymnasium and PettingZoo: text in, text out, deterministic, fast and offline.

>>> import gymnasium, natlang_envs
>>> env = gymnasium.make("NatLang/DangerousTaxi-Pickup-v0")
>>> observation, info = env.reset(seed=0, options={"task_id": "classic/2.3/red-green"})
>>> info["admissible_commands"][0]
'move south'
"""

from __future__ import annotations

from natlang_envs.env import NatLangEnv, Snapshot, unwrap
from natlang_envs.errors import UsageError
from natlang_envs.registration import ENVIRONMENTS, Registration, register, register_all

__all__ = ["ENVIRONMENTS", "NatLangEnv", "Registration", "Snapshot", "UsageError", "register", "unwrap"]
__version__ = "0.1.0"

register_all()
