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
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from multiprocessing.connection import Connection
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


@dataclass
class _RunningBatch:
    batch: list[Place]
    result: Future[BatchResult]
    attempts: int = 1


class _Process:
    """A process that is started again when it dies; a thread here reads its results."""

    def __init__(self, player: _PlayerArguments, slots: int) -> None:
        self._arguments = (player, slots)
        self.running: dict[Place, _RunningBatch] = {}  # by the first episode of the batch
        self._closing = False
        self._lock = threading.RLock()
        self._start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def submit(self, batch: list[Place]) -> Future[BatchResult]:
        with self._lock:
            running = self.running[batch[0]] = _RunningBatch(batch, Future())
            self._send(batch)
            return running.result

    def close(self) -> None:
        with self._lock:
            self._closing = True
            self._send(None)
        self._process.join(5)
        self._process.kill()
        self._process.join()
        self._listener.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_play_batches, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()

    def _send(self, batch: list[Place] | None) -> None:
        with suppress(OSError):  # dead: the listener will notice
            self._line.send(batch)

    def _listen(self) -> None:
        while True:
            try:
                first, result = cast("tuple[Place, BatchResult]", self._line.recv())
            except (EOFError, OSError):
                if not self._start_again():
                    return
                continue
            with self._lock:
                self.running.pop(first).result.set_result(result)

    def _start_again(self) -> bool:
        with self._lock:
            if self._closing:
                return False
            self._process.join()
            for first, each in list(self.running.items()):
                each.attempts += 1
                if each.attempts > _ATTEMPTS:
                    died = RuntimeError(f"a worker died {_ATTEMPTS} times at task {first[1].task_id}")
                    self.running.pop(first).result.set_result(([], died))
            self._start()
            for each in self.running.values():
                self._send(each.batch)
            return True


def _play_batches(line: Connection, arguments: _PlayerArguments, slots: int) -> None:
    """Play the batches that come along a line, until None comes or it ends."""
    lock = threading.Lock()
    player = _RemotePlayer(*arguments)

    def play(batch: list[Place]) -> None:
        result = player.result(batch)
        with lock, suppress(OSError):
            line.send((batch[0], result))

    with ThreadPoolExecutor(slots) as pool, suppress(EOFError, OSError, KeyboardInterrupt):
        while (batch := line.recv()) is not None:
            pool.submit(play, batch)


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
