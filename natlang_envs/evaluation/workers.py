"""Players in other processes: of this machine, or of a Ray cluster. What is recorded is the same bytes.

Every player makes the agent for itself, so a model is in memory once for each of them; a model behind an endpoint is
not. A player that dies is replaced, and plays what it had in hand again.
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
from natlang_envs.evaluation.playing import Answer, Crew, Player
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import Place

Backend = Literal["processes", "ray"]
_PlayerArguments = tuple[Callable[[], Agent], Protocol, Callable[[int], Requests]]
_ATTEMPTS = 3  # at a unit, each of which a dying player ended
_RETRIES = 30  # of Ray, which counts a player that is only starting again


@dataclass(frozen=True)
class Workers:
    """Players in other processes.

    Attributes:
        count: How many.
        backend: `processes` of this machine, or actors of a `ray` cluster, of one processor each.
        address: Of the Ray cluster, for example `ray://host:10001` or `auto`; None starts one on this machine.
        agent: What `--agent` takes: each player finds the agent by it. None pickles the agent that is evaluated.
    """

    count: int
    backend: Backend = "processes"
    address: str | None = None
    agent: str | None = None

    def crew(self, agent: Agent, protocol: Protocol, slots: int, requests: Callable[[int], Requests]) -> Crew:
        """Return the players, which each play `slots` units at a time, and keep their requests as the last one says."""
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
    """Players in processes of this machine."""

    def __init__(self, player: _PlayerArguments, count: int, slots: int) -> None:
        self.slots = count * slots
        self._players = [_Process(player, slots) for _ in range(count)]

    def submit(self, unit: list[Place]) -> Future[Answer]:
        return min(self._players, key=lambda each: len(each.in_hand)).submit(unit)

    def close(self) -> None:
        for each in self._players:
            each.close()


@dataclass
class _InHand:
    unit: list[Place]
    answer: Future[Answer]
    attempts: int = 1


class _Process:
    """One process, started again when it dies; a thread here takes in its answers."""

    def __init__(self, player: _PlayerArguments, slots: int) -> None:
        self._arguments = (player, slots)
        self.in_hand: dict[Place, _InHand] = {}  # by the first episode of the unit
        self._closing = False
        self._lock = threading.RLock()
        self._start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def submit(self, unit: list[Place]) -> Future[Answer]:
        with self._lock:
            asked = self.in_hand[unit[0]] = _InHand(unit, Future())
            self._send(unit)
            return asked.answer

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
        self._process = context.Process(target=_play_for, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()

    def _send(self, unit: list[Place] | None) -> None:
        with suppress(OSError):  # dead: the listener will notice
            self._line.send(unit)

    def _listen(self) -> None:
        while True:
            try:
                first, answer = cast("tuple[Place, Answer]", self._line.recv())
            except (EOFError, OSError):
                if not self._start_again():
                    return
                continue
            with self._lock:
                self.in_hand.pop(first).answer.set_result(answer)

    def _start_again(self) -> bool:
        with self._lock:
            if self._closing:
                return False
            self._process.join()
            for first, each in list(self.in_hand.items()):
                each.attempts += 1
                if each.attempts > _ATTEMPTS:
                    died = RuntimeError(f"a worker died {_ATTEMPTS} times at task {first[1].task_id}")
                    self.in_hand.pop(first).answer.set_result(([], died))
            self._start()
            for each in self.in_hand.values():
                self._send(each.unit)
            return True


def _play_for(line: Connection, arguments: _PlayerArguments, slots: int) -> None:
    """Play what comes along a line, until None comes or it ends."""
    lock = threading.Lock()
    player = _Player(*arguments)

    def play(unit: list[Place]) -> None:
        answer = player.answer(unit)
        with lock, suppress(OSError):
            line.send((unit[0], answer))

    with ThreadPoolExecutor(slots) as pool, suppress(EOFError, OSError, KeyboardInterrupt):
        while (unit := line.recv()) is not None:
            pool.submit(play, unit)


class _Player(Player):
    def answer(self, unit: Sequence[Place]) -> Answer:
        played, error = super().answer(unit)
        return played, error and _sendable(error)

    def version(self) -> str:
        return version("natlang-envs")


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class _RayActors:
    """Players in a Ray cluster. Ray starts them again, elsewhere if their node is gone."""

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
        actor: Any = self._ray.remote(_Player).options(num_cpus=1, scheduling_strategy="SPREAD", **options)
        self._players: list[tuple[Any, set[Future[Answer]]]] = [(actor.remote(*player), set()) for _ in range(count)]
        try:
            found = {str(each) for each in self._ray.get([each.version.remote() for each, _ in self._players])}
        except Exception as error:
            self.close()
            raise UsageError(f"the cluster cannot play ({_first_line(error)}): it needs the same packages") from None
        if found != {version("natlang-envs")}:
            self.close()
            raise UsageError(
                f"the cluster has natlang-envs {', '.join(sorted(found))} and this machine {version('natlang-envs')}: "
                "install the same version everywhere"
            )

    def submit(self, unit: list[Place]) -> Future[Answer]:
        player, in_hand = min(self._players, key=lambda each: len(each[1]))
        answer: Future[Answer] = player.answer.remote(unit).future()
        in_hand.add(answer)
        answer.add_done_callback(in_hand.discard)
        return answer

    def close(self) -> None:
        for each, _ in self._players:
            self._ray.kill(each)
        if self._ours:
            self._ray.shutdown()
