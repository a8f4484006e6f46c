"""Checkpoints of training: weights and optimizer as safetensors, progress and random state as JSON.

A checkpoint is a folder that is renamed into place when it is complete, so a killed write leaves the previous one.
Resuming gives the same weights, bit for bit, as an uninterrupted run.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors.torch import load_file, save, save_file

from natlang_envs.errors import UsageError, reason
from natlang_envs.files import whole_folder, write_whole
from reference_agent import processes
from reference_agent.models.backbone import disk_errors
from reference_agent.models.language_model import LanguageModel, check_finite

PREFIX = "iteration-"
_REFERENCE = "reference.safetensors"
SECONDS = 120.0  # between the checkpoints of many short steps; the result does not depend on it
# Files of a checkpoint beside those of its model.
OF_TRAINING = _OPTIMIZER, _CRITIC, _PROGRESS = "optimizer.safetensors", "critic.safetensors", "progress.json"
_KEPT = 2  # checkpoints, the newest ones


@dataclass
class TrainingProgress:
    """The point a training has reached: steps done in a part (stage, lesson), and its generators' states."""

    part: int
    step: int
    random: list[dict[str, Any]]

    @property
    def name(self) -> str:
        """The name of its checkpoint; later ones have larger numbers."""
        return name_of(self.part, self.step)


@dataclass
class Iterations(TrainingProgress):
    """Progress of RL: the reflector's cache of answers by prompt, and the curve, one row an iteration."""

    reflections: dict[str, str]
    curve: list[dict[str, float]]


@dataclass
class Steps(TrainingProgress):
    """Progress of supervised fine-tuning: numbers of the examples that come next, and the curve, one row a step."""

    order: list[int]
    curve: list[dict[str, float]] = field(default_factory=list[dict[str, float]])


@dataclass
class WarmupProgress(TrainingProgress):
    """Progress of a tiny model's warm-up: levels mastered by lesson, accuracies or losses of the last steps."""

    levels: dict[str, int]
    recent: list[float]


P = TypeVar("P", Iterations, Steps, WarmupProgress)


class Checkpoints:
    """The newest two checkpoints of one training in a folder (None keeps none), with a critic if it trains one.

    The best two, of those that `keep` names, stay too; without a folder the best weights are kept in memory.
    """

    def __init__(self, folder: Path | None, model: LanguageModel, critic: torch.nn.Module | None = None) -> None:
        self._folder, self._model, self._critic = folder, model, critic
        self._saved = time.monotonic()
        self._best: list[str] = []  # names; the one before serves if the newest checkpoint is deleted as damaged
        self._held: list[torch.Tensor] = []

    @property
    def last(self) -> Path | None:
        return newest(self._folder) if self._folder else None

    def resume(self, kind: type[P]) -> P | None:
        """Load the newest checkpoint; return its progress, or None. Raises `UsageError` if it is damaged."""
        last = self.last
        if last is None:
            return None
        try:
            progress = kind(**json.loads((last / _PROGRESS).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"{last} is no checkpoint ({reason(error)}): delete it to go to the one before") from None
        self._restore(last)
        return progress

    def _restore(self, checkpoint: Path) -> None:
        try:
            self._model.restore(checkpoint)
        except RuntimeError:
            raise UsageError(
                f"{checkpoint} is a checkpoint of another model or tokenizer: choose another --out for this config"
            ) from None
        if self._critic is not None:
            self._critic.load_state_dict(_tensors(checkpoint / _CRITIC))

    def keep(self, name: str, saved: bool = False) -> None:
        """Keep the weights of now as the best, whose checkpoint of this name is to be saved, or was `saved` before."""
        if self._folder is None:
            self._held = [weight.detach().clone() for weight in self._weights()]
        elif saved and not (self._folder / name).exists():
            raise UsageError(f"{self._folder} lacks {name}, the best weights so far: delete the folder to train again")
        else:
            self._best = [*self._best, name][-_KEPT:]

    def go_back(self, name: str) -> None:
        """Load the best weights that `keep` kept, whose checkpoint has this name."""
        processes.anyone(False)  # wait until the first process has written it
        if self._folder is not None:
            self._restore(self._folder / name)
            return
        with torch.no_grad():
            for weight, best in zip(self._weights(), self._held, strict=True):
                weight.copy_(best)

    def _weights(self) -> list[torch.nn.Parameter]:
        return [*self._model.parameters(), *(self._critic.parameters() if self._critic else ())]

    def reference(self) -> list[torch.Tensor]:
        """Return the weights before the first step: those that the folder keeps, or else, kept from now on, these."""
        now = [weight.detach().clone() for weight in self._model.parameters()]
        file = self._folder / _REFERENCE if self._folder else None
        if file and file.exists():
            kept = _tensors(file)
            return [kept[str(index)].to(weight.device) for index, weight in enumerate(now)]
        if file and self.last is None and processes.number() == 0:
            write_whole(file, save({str(index): weight.cpu() for index, weight in enumerate(now)}))
        return now

    def load_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Load the newest checkpoint's moments into `optimizer`. Raises `UsageError` if they are damaged."""
        assert self.last is not None
        state: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
        for name, value in _tensors(self.last / _OPTIMIZER).items():
            index, key = name.split(".", 1)
            state[int(index)][key] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": dict(state)})

    def save(self, progress: TrainingProgress, optimizer: torch.optim.Optimizer, always: bool = True) -> None:
        """Write a checkpoint, if `always` or the last is two minutes old, and delete all but the newest two."""
        if self._folder is None or not (always or time.monotonic() - self._saved >= SECONDS):
            return
        check_finite(optimizer)
        states = optimizer.state_dict()["state"].items()
        moments = {f"{index}.{key}": value for index, state in states for key, value in state.items()}
        with whole_folder(self._folder / progress.name, replace=True) as unfinished, disk_errors():
            self._model.save(unfinished)
            save_file(moments, unfinished / _OPTIMIZER)
            if self._critic is not None:
                save_file(self._critic.state_dict(), unfinished / _CRITIC)
            (unfinished / _PROGRESS).write_text(json.dumps(asdict(progress)), encoding="utf-8")
        for old in sorted(self._folder.glob(f"{PREFIX}*"), key=_order)[:-_KEPT]:
            if old.name not in self._best:
                shutil.rmtree(old)
        self._saved = time.monotonic()


def name_of(part: int, step: int) -> str:
    return f"{PREFIX}{part}-{step:06d}"


def newest(folder: Path) -> Path | None:
    return max(folder.glob(f"{PREFIX}*"), default=None, key=_order)


def _order(checkpoint: Path) -> list[int]:
    """Return the numbers in a checkpoint's name; by name alone, stage 10 would come before stage 9."""
    return [int(number) for number in checkpoint.name.removeprefix(PREFIX).split("-") if number.isdecimal()]


def _tensors(file: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(file)
    except Exception as error:  # safetensors raises its own classes
        raise UsageError(f"{file.parent} is damaged ({error}): delete it to go back to the one before") from None


def random_state(rng: np.random.Generator) -> dict[str, Any]:
    return dict(rng.bit_generator.state)


@contextmanager
def dropout_seed(*numbers: int) -> Iterator[None]:
    """Seed dropout, which draws from torch's global generator, by these numbers; the generator is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1)[0]))
        yield
