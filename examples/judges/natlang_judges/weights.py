"""Small judges as agents: their weights are one file, which is loaded, published and refused in the same way.

A judge is published unrounded: it plays as the weights that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

Judge = TypeVar("Judge", bound=nn.Module, covariant=True)
Agent = TypeVar("Agent")


@dataclass(frozen=True)
class Kind(Generic[Judge]):
    """A kind of judge.

    Attributes:
        name: The agent that plays it, as in `--agent NAME:FILE`, and the policy of a published player.
        command: The command of `reflect-rl` that trains it.
        make: Makes a judge of the shape that some weights have.
    """

    name: str
    command: str
    make: Callable[[Mapping[str, Tensor]], Judge]

    def read(self, path: Path) -> Judge:
        """Return the judge of a file of weights or of a published player; it does not learn.

        Raises:
            UsageError: The file holds something else, or cannot be read.
        """
        found = self.fitting(self._content(path), path)
        if found is None:
            raise UsageError(f"{path} holds no {self.name}: name a .safetensors file of `reflect-rl {self.command}`")
        return found

    def fitting(self, content: bytes, path: Path) -> Judge | None:
        """Return the judge of the weights that a file holds; None if they are of no such judge.

        Raises:
            UsageError: They are not finite.
        """
        try:
            found = load(content)
            (judge := self.make(found)).load_state_dict(found)
        except (SafetensorError, RuntimeError, KeyError, IndexError):
            return None
        if not all(bool(each.isfinite().all()) for each in judge.state_dict().values()):
            raise UsageError(f"{path} has weights that are not finite: train again")
        return judge.eval()

    def loaders(self, agent: Callable[[Path, bool], Agent]) -> tuple[Callable[[str], Agent], Callable[[str], Agent]]:
        """Return what loads the agents `NAME:FILE` and `NAME-sample:FILE`, which are told whether they draw."""

        def load_agent(sampling: bool, argument: str) -> Agent:
            if not argument:
                name = f"{self.name}-sample" if sampling else self.name
                what = f"a file of `reflect-rl {self.command}`"
                raise UsageError(f"agent {name} needs weights: write --agent {name}:FILE, {what}")
            torch.set_num_threads(1)
            return agent(Path(argument), sampling)

        return partial(load_agent, False), partial(load_agent, True)

    @property
    def file(self) -> str:
        """The file of a published player."""
        return f"{self.name}.safetensors"

    def _content(self, path: Path) -> bytes:
        if published.is_published(path):
            policy, files = published.published_files(path)
            if policy != self.name or set(files) != {self.file}:
                other = "reflect-rl" if policy.startswith("policy") else policy[:40]
                raise UsageError(f"{path} plays by {policy[:40]!r} and not by a {self.name}: name it by {other}:{path}")
            return published.unpacked(files[self.file])
        try:
            return path.read_bytes()
        except OSError:
            return b""


def publish(weights: Path, player: Path, kinds: Sequence[Kind[nn.Module]]) -> str | None:
    """Write a judge as a published player, and return the name of the agent that plays it; None for other weights.

    Args:
        weights: Its file.
        player: The file NAME.json.
        kinds: The kinds of judges that it may be one of.

    Raises:
        UsageError: Its weights are not finite.
    """
    content = weights.read_bytes() if weights.is_file() else b""
    for kind in kinds:
        if kind.fitting(content, weights) is not None:
            published.publish(player, kind.name, {kind.file: content})
            return kind.name
    return None
