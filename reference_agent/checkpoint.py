"""Checkpoints of fine-tuning: weights and optimizer as safetensors, progress and random state as JSON.

A checkpoint is a folder that is renamed into place when it is complete, so a killed write leaves the previous one.
Resuming gives the same weights, bit for bit, as never having stopped.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from natlang_envs.errors import UsageError
from reference_agent.models.language_model import LanguageModel, check_finite

PREFIX = "iteration-"


@dataclass(frozen=True)
class Progress:
    """Where RL fine-tuning stands.

    Attributes:
        stage: Number of the stage of the curriculum.
        iteration: Iterations done in it.
        random: State of the generator that draws tasks, labels and actions.
        reflections: The reflector's answers so far, by prompt: the cache.
        curve: One row an iteration.
    """

    stage: int
    iteration: int
    random: dict[str, Any]
    reflections: dict[str, str]
    curve: list[dict[str, float]]

    @property
    def name(self) -> str:
        """What its checkpoint is called; later ones have larger numbers."""
        return f"{PREFIX}{self.stage}-{self.iteration:06d}"


@dataclass(frozen=True)
class Steps:
    """Where supervised fine-tuning stands.

    Attributes:
        step: Updates done.
        random: States of the generators that draw examples and labels.
        order: Numbers of the examples that come next.
    """

    step: int
    random: list[dict[str, Any]]
    order: list[int]

    @property
    def name(self) -> str:
        """What its checkpoint is called; later ones have larger numbers."""
        return f"{PREFIX}{self.step:06d}"


@dataclass
class Lessons:
    """Where the warm-up of a tiny model stands.

    Attributes:
        lesson: Its number.
        step: Updates done in it.
        levels: Levels that were mastered, by the lesson's name; none where there is no entry.
        recent: What the last steps of the level reported.
        random: State of the generator that draws prompts.
    """

    lesson: int
    step: int
    levels: dict[str, int]
    recent: list[float]
    random: dict[str, Any]

    @property
    def name(self) -> str:
        """What its checkpoint is called; later ones have larger numbers."""
        return f"{PREFIX}{self.lesson}-{self.step:06d}"


P = TypeVar("P", Progress, Steps, Lessons)
Q = TypeVar("Q", Steps, Lessons)
SECONDS = 120.0  # between the checkpoints of what takes many short steps; the result does not depend on it


class Checkpoints:
    """Checkpoints of what takes many short steps: one every two minutes.

    Args:
        folder: Where they go; None for none.
        model: What learns.
        optimizer: Its optimizer.
    """

    def __init__(self, folder: Path | None, model: LanguageModel, optimizer: torch.optim.Optimizer) -> None:
        self._folder, self._model, self._optimizer = folder, model, optimizer
        self._saved = time.monotonic()

    def resume(self, kind: type[Q]) -> Q | None:
        """Put the newest checkpoint into model and optimizer, and return where it stands; None without one.

        Raises:
            UsageError: It is damaged or of another model.
        """
        last = newest(self._folder) if self._folder else None
        if last is None:
            return None
        progress = load_progress(last, kind)
        load_weights(last, self._model)
        load_optimizer(last, self._optimizer)
        return progress

    def save(self, progress: Steps | Lessons, now: bool = False) -> None:
        """Write a checkpoint, if it is time for one or `now` is set.

        Raises:
            NotFinite: A weight is not; the checkpoint before stays.
        """
        if self._folder is not None and (now or time.monotonic() - self._saved >= SECONDS):
            check_finite(self._optimizer)
            save(self._folder, self._model, self._optimizer, progress)
            self._saved = time.monotonic()


def save(
    folder: Path,
    model: LanguageModel,
    optimizer: torch.optim.Optimizer,
    progress: Progress | Steps | Lessons,
    keep: int = 2,
    critic: torch.nn.Module | None = None,
) -> Path:
    """Write a checkpoint below `folder` and delete all but the newest `keep`."""
    unfinished = folder / f".{progress.name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    model.save(unfinished)
    moments = {
        f"{index}.{key}": value
        for index, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }
    save_file(moments, unfinished / "optimizer.safetensors")
    if critic is not None:
        save_file(critic.state_dict(), unfinished / "critic.safetensors")
    (unfinished / "progress.json").write_text(json.dumps(asdict(progress)), encoding="utf-8")
    finished = folder / progress.name
    shutil.rmtree(finished, ignore_errors=True)
    unfinished.rename(finished)
    for old in sorted(folder.glob(f"{PREFIX}*"), key=_order)[:-keep]:
        shutil.rmtree(old)
    return finished


def newest(folder: Path) -> Path | None:
    """Return the newest finished checkpoint below `folder`."""
    return max(folder.glob(f"{PREFIX}*"), default=None, key=_order)


def _order(checkpoint: Path) -> list[int]:
    """Return the numbers in a checkpoint's name; by name alone, stage 10 would stand before stage 9."""
    return [int(number) for number in checkpoint.name.removeprefix(PREFIX).split("-") if number.isdecimal()]


def load_progress(checkpoint: Path, kind: type[P]) -> P:
    """Return where a checkpoint stands.

    Raises:
        UsageError: It is damaged.
    """
    try:
        return kind(**json.loads((checkpoint / "progress.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{checkpoint} is no checkpoint ({error}): delete it to go back to the one before") from None


def load_weights(checkpoint: Path, model: LanguageModel) -> None:
    """Put a checkpoint's weights into `model`.

    Raises:
        UsageError: They are of another model.
    """
    try:
        model.restore(checkpoint)
    except RuntimeError:
        raise UsageError(
            f"{checkpoint} is a checkpoint of another model or tokenizer: choose another --out for this config"
        ) from None


def load_critic(checkpoint: Path, critic: torch.nn.Module) -> None:
    """Put a checkpoint's value head into `critic`.

    Raises:
        UsageError: The file is damaged or missing.
    """
    with _undamaged(checkpoint):
        critic.load_state_dict(load_file(checkpoint / "critic.safetensors"))


def load_optimizer(checkpoint: Path, optimizer: torch.optim.Optimizer) -> None:
    """Put a checkpoint's moments into `optimizer`.

    Raises:
        UsageError: The file is damaged.
    """
    with _undamaged(checkpoint):
        moments = load_file(checkpoint / "optimizer.safetensors")
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in moments.items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


@contextmanager
def _undamaged(checkpoint: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # safetensors raises its own classes
        raise UsageError(f"{checkpoint} is damaged ({error}): delete it to go back to the one before") from None


def random_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return a generator's state as JSON values."""
    return dict(rng.bit_generator.state)


def restore_random(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator in a saved state."""
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    return rng


@contextmanager
def dropout_seed(*numbers: int) -> Iterator[None]:
    """Let dropout, which torch draws from its global generator only, depend on these numbers and disturb nobody."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1)[0]))
        yield
