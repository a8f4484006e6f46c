"""Trained networks as agents: their weights are one file, which is loaded, published and refused in the same way.

Weights are published unrounded: the published player plays as the weights that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import published

Network = TypeVar("Network", bound=nn.Module, covariant=True)
Agent = TypeVar("Agent")


@dataclass(frozen=True)
class JudgeKind(Generic[Network]):
    name: str  # the agent that plays it, as in `--agent NAME:FILE`, and the policy of a published player
    command: str  # of `reflect-rl`, which trains it
    make: Callable[[Mapping[str, Tensor]], Network]  # makes a network of the shape of some weights

    @property
    def file(self) -> str:
        """The name of the weights in a published player."""
        return f"{self.name}.safetensors"

    def read(self, path: Path) -> Network:
        """Return the network of a file of weights or of a published player. Raises `UsageError` for any other file."""
        found = self.fitting(self._content(path), path)
        if found is None:
            raise UsageError(f"{path} holds no {self.name}: name a .safetensors file of `reflect-rl {self.command}`")
        return found

    def fitting(self, content: bytes, path: Path) -> Network | None:
        """Return the network with these weights, None if they belong to another kind.

        Raises `UsageError` if they are not finite.
        """
        try:
            weights = load(content)
            (network := self.make(weights)).load_state_dict(weights)
        except (SafetensorError, RuntimeError, KeyError, IndexError):
            return None
        if not all(bool(each.isfinite().all()) for each in network.state_dict().values()):
            raise UsageError(f"{path} has weights that are not finite: train again")
        return network.eval()

    def loaders(self, agent: Callable[[Path, bool], Agent]) -> tuple[Callable[[str], Agent], Callable[[str], Agent]]:
        """Return what makes the agents `NAME:FILE` and `NAME-sample:FILE`; `agent(path, sampling)` is one."""

        def load_agent(sampling: bool, argument: str) -> Agent:
            if not argument:
                name = f"{self.name}-sample" if sampling else self.name
                what = f"a file of `reflect-rl {self.command}`"
                raise UsageError(f"agent {name} needs weights: write --agent {name}:FILE, {what}")
            torch.set_num_threads(1)
            return agent(Path(argument), sampling)

        return partial(load_agent, False), partial(load_agent, True)

    def _content(self, path: Path) -> bytes:
        if not published.is_published(path):
            return path.read_bytes() if path.is_file() else b""
        policy, files = published.published_files(path)
        if policy != self.name or set(files) != {self.file}:
            other = "reflect-rl" if policy.startswith("policy") else policy[:40]
            raise UsageError(f"{path} plays by {policy[:40]!r} and not by a {self.name}: name it by {other}:{path}")
        return published.unpacked(files[self.file])
