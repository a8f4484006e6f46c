"""Training by several processes, one per GPU: `accelerate launch -m reference_agent train ...`.

Without GPUs, use `torchrun --nproc-per-node N -m reference_agent train ...`: accelerate would start a single process.

Each process plays its part of an iteration's episodes, which all then gather. Each computes the gradient of its
part of a batch; the parts are summed, so all take the same step. Only process 0 writes files and reports progress.
In a single process every function here returns its argument.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from natlang_envs.errors import UsageError

if TYPE_CHECKING:  # the command line asks who it is before it needs torch
    import torch

T = TypeVar("T")

GPU = "LOCAL_RANK"  # the environment variable, as the launchers set it


def count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def number() -> int:
    """Return which of them this is, from 0."""
    return int(os.environ.get("RANK", "0"))


def gpu() -> int:
    return int(os.environ.get(GPU, "0"))


@cache
def _state() -> Any:
    import torch
    from accelerate import PartialState

    # The others wait while the first collects and warms up, for longer than the usual ten minutes.
    state = PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(days=7))
    if state.num_processes != count():
        raise UsageError(f"{count()} processes were started, and do not find each other: start them by torchrun")
    if state.backend == "gloo":
        # A thread of its own that outlives the interpreter can abort a process, work done or not (pytorch pull 179291).
        atexit.register(state.destroy_process_group)
    return state


def first_before_others() -> AbstractContextManager[None]:
    """Let the first process do what is inside before the others do, who then find its files."""
    return nullcontext() if count() == 1 else _state().main_process_first()


def part(items: Sequence[T]) -> Sequence[T]:
    """Return this process's part of the items, whose parts are as equal as can be; in order they are all of them."""
    first, last = (len(items) * each // count() for each in (number(), number() + 1))
    return items[first:last]


def gather(items: list[T]) -> list[T]:
    if count() == 1:
        return items
    from accelerate.utils import gather_object

    _state()
    return list(gather_object(items))


def anyone(says: bool) -> bool:
    """Return whether any process says so; all get the same answer."""
    return any(gather([says]))


def add_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Put the sum of all processes' gradients in the place of this one's."""
    if count() == 1:
        return
    import torch
    from accelerate.utils import reduce

    device = _state().device  # where the processes can talk; a model may be elsewhere
    for each in parameters:
        if each.requires_grad:
            gradient = torch.zeros_like(each) if each.grad is None else each.grad
            total: Any = reduce(gradient.to(device), reduction="sum")
            each.grad = total.to(each.device)
