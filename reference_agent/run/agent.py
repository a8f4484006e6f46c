"""The trained players as an agent for `natlang evaluate --agent reflect-rl:RUN`.

`RUN` is a folder of `reflect-rl train`; `RUN/policy-sft` is the policy before RL, `RUN/policy-last`
the last of RL where another was better on validation. `reflect-rl:RUN` decodes greedily,
`reflect-rl-sample:RUN` samples at temperature 1 with each episode's own generator, so both repeat exactly. What
`reflect-rl publish` wrote plays as `reflect-rl:NAME.json`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.published import is_published
from reference_agent.players import PlayersAgent
from reference_agent.run.players import Players
from reference_agent.run.published import unpack
from reference_agent.run.stages import CONFIG, POLICIES


def trained_agent(run: Path, policy: str = "policy", sampling: bool = False) -> PlayersAgent:
    """Return the trained players of a run; `policy` is one of `POLICIES`."""
    players = Players.load(run, policy)
    torch.set_num_threads(players.config.threads)
    return players.agent(sampling)


def load(argument: str, sampling: bool = False) -> PlayersAgent:
    """Return the agent of `reflect-rl:RUN`, `reflect-rl:RUN/policy-sft` or `reflect-rl:PLAYER.json`."""
    path = Path(argument)
    if not argument:
        name = "players-sample" if sampling else "players"
        raise UsageError(f"the players need a folder: write --agent {name}:FOLDER, of reflect-rl train or Players.save")
    if is_published(path):
        with TemporaryDirectory() as folder:
            return trained_agent(Path(folder), unpack(path, Path(folder)), sampling)
    if path.name in POLICIES and not (path / CONFIG).exists():
        return trained_agent(path.parent, path.name, sampling)
    return trained_agent(path, sampling=sampling)


load_sampling = partial(load, sampling=True)
