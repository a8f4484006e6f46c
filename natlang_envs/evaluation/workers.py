"""Workers that play an agent in other processes: of this machine, or of a Ray cluster. The recording is the same.

Each worker makes the agent for itself, so each holds a model of its own in memory, if it is not behind an endpoint. A
worker that dies is replaced, and its batches are played again.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from multiprocessing.managers import BaseManager
from typing import Any, Literal, cast

from natlang_envs.errors import UsageError, check_count, require_choice
from natlang_envs.evaluation.agents import Agent, load_agent, name_of
from natlang_envs.evaluation.model_requests import Requests
from natlang_envs.evaluation.playing import BatchResult, EpisodePlayer, WorkerPool
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import Place

Backend = Literal["processes", "ray"]
_PlayerArguments = tuple[Callable[[], Agent], Protocol, Callable[[int], Requests]]
_ATTEMPTS = 3  # at a batch, each of which ended with the death of the worker
_RETRIES = 30  # of Ray, which counts an actor that is only starting again


@dataclass(frozen=True)
class Workers:
    """Workers in other processes.

    Attributes:
        count: Their number.
        backend: `processes` of this machine, or actors of a `ray` cluster, of one processor each.
        address: Of the Ray cluster, for example `ray://host:10001` or `auto`; None starts one on this machine.
        agent: The value of `--agent`, by which each worker finds the agent. None pickles the agent that is evaluated.
    """

    count: int
    backend: Backend = "processes"
    address: str | None = None
    agent: str | None = None

    def pool(self, agent: Agent, protocol: Protocol, slots: int, requests: Callable[[int], Requests]) -> WorkerPool:
        """Start the workers, which each play `slots` batches at a time; `requests` is called with positions."""
        require_choice("backend", self.backend, ("processes", "ray"))
        check_count("workers", self.count)
        if self.address is not None and self.backend != "ray":
            raise UsageError("an address is for the backend ray: add --backend ray")
        make = partial(_named, self.agent, name_of(agent)) if self.agent is not None else partial(_same, agent)
        try:
            pickle.dumps(make)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise UsageError(f"the agent cannot be pickled ({error}): name it, as --agent does") from None
        if self.backend == "processes":
            return _Processes((make, protocol, requests), self.count, slots)
        return _RayActors((make, protocol, requests), self.count, slots, self.address)


def _same(agent: Agent) -> Agent:
    return agent


def _named(name: str, kind: str) -> Agent:
    found = load_agent(name)
    if name_of(found) != kind:
        raise UsageError(f"the agent is {kind}, and that of the workers, {name!r}, is {name_of(found)}: name the same")
    return found


class _Processes:
    def __init__(self, player: _PlayerArguments, count: int, slots: int) -> None:
        self.slots = count * slots
        self._workers = [_Process(player, slots) for _ in range(count)]

    def submit(self, batch: list[Place]) -> Future[BatchResult]:
        return min(self._workers, key=lambda worker: len(worker.running)).submit(batch)

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


class _Process:
    """A process with a player, which is started with its first batch, and again when it dies."""

    def __init__(self, player: _PlayerArguments, slots: int) -> None:
        self._arguments = player
        self._threads = ThreadPoolExecutor(slots)
        self._lock = threading.Lock()
        self._started: tuple[_Manager, _RemotePlayer] | None = None
        self._closing = False
        self.running: set[Future[BatchResult]] = set()

    def submit(self, batch: list[Place]) -> Future[BatchResult]:
        result = self._threads.submit(self._result, batch)
        self.running.add(result)
        result.add_done_callback(self.running.discard)
        return result

    def close(self) -> None:
        self._closing = True
        if self._started is not None:
            self._started[0].shutdown()
        self._threads.shutdown()

    def _result(self, batch: list[Place]) -> BatchResult:
        for _ in range(_ATTEMPTS):
            now = None
            try:
                with self._lock:
                    now = self._started = self._started or self._start()
                return now[1].result(batch)
            except (EOFError, OSError):  # dead
                with self._lock:
                    self._started = None if self._started is now else self._started
            if self._closing:
                break
        return [], RuntimeError(f"a worker died {_ATTEMPTS} times at task {batch[0][1].task_id}")

    def _start(self) -> tuple[_Manager, _RemotePlayer]:
        manager = _Manager(ctx=multiprocessing.get_context("spawn"))
        manager.start(_end_with_parent)
        return manager, cast("Any", manager).player(*self._arguments)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, however it ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


class _RemotePlayer(EpisodePlayer):
    def result(self, batch: Sequence[Place]) -> BatchResult:
        played, error = super().result(batch)
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return played, error

    def version(self) -> str:
        return version("natlang-envs")


class _Manager(BaseManager):
    """A process that holds a player; each thread that asks it is answered by a thread of its own."""


_Manager.register("player", _RemotePlayer)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class _RayActors:
    """Actors of a Ray cluster. Ray starts them again, elsewhere if their node is gone."""

    def __init__(self, player: _PlayerArguments, count: int, slots: int, address: str | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report its use to its makers
        self._ray: Any = import_module("ray")
        self._ours = not self._ray.is_initialized()
        try:
            if address is not None and ":" in address:  # Ray itself would try for minutes
                host, _, port = address.removeprefix("ray://").rpartition(":")
                socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
            if self._ours:
                kwargs: dict[str, Any] = {"num_cpus": count} if address is None else {"address": address}
                self._ray.init(log_to_driver=False, configure_logging=False, **kwargs)
        except Exception as error:  # of many kinds, most of them with long texts
            raise UsageError(f"no Ray cluster answers at {address or 'this machine'}: {_first_line(error)}") from None
        self.slots = count * slots
        options: dict[str, Any] = {"max_restarts": -1, "max_task_retries": _RETRIES, "max_concurrency": slots}
        actor: Any = self._ray.remote(_RemotePlayer).options(num_cpus=1, scheduling_strategy="SPREAD", **options)
        self._workers: list[tuple[Any, set[Future[BatchResult]]]] = [
            (actor.remote(*player), set()) for _ in range(count)
        ]
        try:
            found = {str(each) for each in self._ray.get([each.version.remote() for each, _ in self._workers])}
        except Exception as error:
            self.close()
            raise UsageError(f"the cluster cannot play ({_first_line(error)}): it needs the same packages") from None
        if found != {version("natlang-envs")}:
            self.close()
            raise UsageError(
                f"the cluster has natlang-envs {', '.join(sorted(found))} and this machine {version('natlang-envs')}: "
                "install the same version everywhere"
            )

    def submit(self, batch: list[Place]) -> Future[BatchResult]:
        actor, running = min(self._workers, key=lambda worker: len(worker[1]))
        result: Future[BatchResult] = actor.result.remote(batch).future()
        running.add(result)
        result.add_done_callback(running.discard)
        return result

    def close(self) -> None:
        for actor, _ in self._workers:
            self._ray.kill(actor)
        if self._ours:
            self._ray.shutdown()
