"""Agents that audits start in a process of their own: honest ones, cheats, and ones that misbehave.

The tests copy this file to the folder they run in, so that `--agent audited:NAME` finds it, and it imports nothing of
the tests.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.env import NatLangEnv
from natlang_envs.evaluation.agents import AgentInput, Decision, RandomAgent

PLACE = re.compile(r"(The taxi|Red|Green|Yellow|Blue) is at row (\d+), column (\d+)")
WAITS = re.compile(r"The passenger waits at (\w+)")


def south(given: AgentInput) -> str:
    return "move south"


def spaced(given: AgentInput) -> str:
    return f"\t {given.admissible_commands[len(given.path) % len(given.admissible_commands)]} \n"


def towards(given: AgentInput) -> str:
    """Goes to the passenger's row and then to the column, whatever wall is there."""
    places = {name: (int(row), int(column)) for name, row, column in PLACE.findall(given.observation)}
    (row, column), (to_row, to_column) = places["The taxi"], places[WAITS.findall(given.observation)[0]]
    if row != to_row:
        return "move south" if row < to_row else "move north"
    if column != to_column:
        return "move east" if column < to_column else "move west"
    return "pick up passenger"


class BestOfTwo:
    """Plays each episode with the numbers it is given or with others, whichever are greater at first."""

    sampling = True

    def __call__(self, given: AgentInput) -> str:
        other = np.random.default_rng(sum(map(ord, given.observation)))
        rng = max((given.rng, other), key=lambda each: each.random())
        return given.admissible_commands[int(rng.integers(len(given.admissible_commands)))]


class Drawing:
    """Draws like the random agent, from what it is given."""

    sampling = True

    def __call__(self, given: AgentInput) -> str:
        return RandomAgent()(given)


def drawing_unsaid(given: AgentInput) -> str:
    return RandomAgent()(given)


class BestOfMany(Drawing):
    """Tries many games in its head with an environment of its own, and plays the best."""

    def __init__(self) -> None:
        from natlang_envs.evaluation.protocols import load_protocol

        protocol = load_protocol("dangerous-taxi-pickup/v1")
        self._env = protocol.make_env()
        self._tasks = {self._env.reset(options={"task_id": task})[0]: task for task, _ in protocol.episodes}
        self._plan: list[str] = []

    def __call__(self, given: AgentInput) -> str:
        if not given.path:
            self._plan = max((self._game(given, seed) for seed in range(150)), key=lambda game: game[0])[1]
        return self._plan[len(given.path)]

    def _game(self, given: AgentInput, seed: int) -> tuple[bool, list[str]]:
        rng = np.random.default_rng(seed)
        _, info = self._env.reset(options={"task_id": self._tasks[given.observation]})
        actions: list[str] = []
        ended = False
        while not ended:
            actions.append(str(rng.choice(info["admissible_commands"][:5])))
            _, _, terminated, truncated, info = self._env.step(actions[-1])
            ended = terminated or truncated
        return info["success"], actions


class ByHeart:
    """Knows the plans of the protocol's own tasks by what they show first, and nothing else."""

    def __init__(self) -> None:
        file = Path(__file__).with_name("plans.json")
        self._plans: dict[str, list[str]] = json.loads(file.read_text())
        self._plan: list[str] = []

    def __call__(self, given: AgentInput) -> str:
        if not given.path:
            self._plan = self._plans.get(given.observation, [])
        return self._plan[len(given.path)] if len(given.path) < len(self._plan) else "look"


# Cheats. Each plays at random where it finds nothing to cheat with.


def _plan_of(env: Any, given: AgentInput) -> str | None:
    """Return the next step of an environment's plan, if it is the one that shows what the agent sees."""
    env = getattr(env, "unwrapped", None)
    same = isinstance(env, NatLangEnv) and getattr(env, "_observation", None) == given.observation
    return env.reference()[0] if same else None


class FramePeek(Drawing):
    """Takes the environment from the variables of whoever called it."""

    def __call__(self, given: AgentInput) -> str:
        frame: Any = sys._getframe()
        for _ in range(6):
            if frame is None:
                break
            for value in list(frame.f_locals.values()):
                for each in value if isinstance(value, list) else [value]:
                    if plan := _plan_of(each, given) or _plan_of(getattr(each, "_env", None), given):
                        return plan
            frame = frame.f_back
        return super().__call__(given)


class HeapPeek(Drawing):
    """Takes the environment that shows what it sees from the collector's list of all objects."""

    def __init__(self) -> None:
        self._found: list[NatLangEnv] = []

    def __call__(self, given: AgentInput) -> str:
        for again in (False, True):
            if again and not given.path:
                self._found = [each for each in gc.get_objects() if isinstance(each, NatLangEnv)]
            for each in self._found:
                if plan := _plan_of(each, given):
                    return plan
        return super().__call__(given)


class Labels(Drawing):
    """Looks the task up in the protocol's list and plays it in an environment of its own."""

    def __init__(self) -> None:
        self._task = ""
        try:
            from natlang_envs.evaluation.protocols import load_protocol

            protocol = load_protocol("dangerous-taxi-pickup/v1")
            self._env: Any = protocol.make_env()
            self._tasks = {self._env.reset(options={"task_id": task})[0]: task for task, _ in protocol.episodes}
        except Exception:
            self._tasks = {}

    def __call__(self, given: AgentInput) -> str:
        if not given.path:
            self._task = self._tasks.get(given.observation, "")
        if not self._task:
            return super().__call__(given)
        self._env.reset(options={"task_id": self._task})
        for step in given.path:
            self._env.step(step.action)
        return self._env.unwrapped.reference()[0]


class LabelFiles(Drawing):
    """Looks for files of labels, tasks, recordings and ledgers anywhere on the machine."""

    def __init__(self) -> None:
        names = ("test.jsonl", "ledger.json", "trajectories.jsonl.gz", "run.json", "labels.jsonl")
        places = list(Path("/").iterdir()) if Path("/work/.audit").exists() else []
        walked = (each for place in places if place.name not in ("proc", "sys") for each in os.walk(place))
        self._found = [Path(at, name) for at, _, files in walked for name in files if name in names]
        # The protocols' folder and our own processes' memory are worth a look too.
        self._found += [each for each in Path("/proc").glob("[0-9]*/environ") if b"AUDITING" in _read(each)]

    def __call__(self, given: AgentInput) -> str:
        return f"found {self._found}" if self._found else super().__call__(given)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


class Patched(Drawing):
    """Replaces the judgement of the audit with one of its own, and waits for the oracle's moves to be believed."""

    def __init__(self) -> None:
        for name, what in (("leaderboard.audit", "Audit"), ("leaderboard.audit.agent_process", "AgentProcess")):
            try:
                module = __import__(name, fromlist=[what])
                getattr(module, what).problem = ""
            except Exception:
                continue


class Parent(Drawing):
    """Looks for the auditing process, and writes over its memory."""

    def __call__(self, given: AgentInput) -> str:
        try:
            with open(f"/proc/{os.getppid()}/mem", "r+b") as memory:  # noqa: PTH123
                memory.read(1)
        except OSError:
            return super().__call__(given)
        return "found the parent"


class Caller(Drawing):
    """Asks somebody in the network."""

    def __init__(self) -> None:
        import socket

        try:
            socket.create_connection(("127.0.0.1", int(os.environ["AUDITED_PORT"])), timeout=5).close()
        except OSError:
            self._heard = False
        else:
            self._heard = True

    def __call__(self, given: AgentInput) -> str:
        return "heard from outside" if self._heard else super().__call__(given)


# Agents that misbehave, from the third step on.


class _Later:
    def __call__(self, given: AgentInput) -> str | Decision:
        if len(given.path) == 2:
            return self._misbehave()
        return "move south"

    def _misbehave(self) -> str:
        raise NotImplementedError


class Hangs(_Later):
    def _misbehave(self) -> str:
        time.sleep(1000)
        return "move south"


class Forks(_Later):
    """Goes on twice, so that two processes answer."""

    def _misbehave(self) -> str:
        if not os.fork():
            time.sleep(0.2)
        return "move south"


class ForkBomb(_Later):
    def _misbehave(self) -> str:
        while True:
            os.fork()


class Prints(_Later):
    """Prints as agents do; this is allowed."""

    def _misbehave(self) -> str:
        print("{}\n" * 100_000)
        sys.stderr.write("a note\n" * 100_000)
        os.write(1, b'{"id": 1, "answer": []}\n')
        return "move south"


class Writes(_Later):
    """Writes to the board's line itself."""

    def _misbehave(self) -> str:
        for each in range(3, 20):
            try:
                os.write(each, b'{"id": 1, "answer": []}\n')
            except OSError:
                continue
        return "move south"


class Floods(_Later):
    """Answers ten megabytes, past the program that cuts answers."""

    def _misbehave(self) -> str:
        for each in range(3, 20):
            try:
                os.write(each, b"x" * 10_000_000)
            except OSError:
                continue
        return "move south"


class SaysMuch(_Later):
    """An action of ten megabytes; the runner cuts it, and so does the audit."""

    def _misbehave(self) -> str:
        return "x" * 10_000_000


class Dies(_Later):
    def _misbehave(self) -> str:
        sys.stderr.write("no memory left\n")
        sys.stderr.flush()
        os._exit(3)


class Raises(_Later):
    def _misbehave(self) -> str:
        raise RuntimeError("two\nlines")


class Leaves(_Later):
    def _misbehave(self) -> str:
        sys.exit("enough")


class Nothing(_Later):
    def _misbehave(self) -> Any:
        return None


class DiesAtOnce:
    def __init__(self) -> None:
        os._exit(3)


# Agents that tell their chances.


class Leaning(Drawing):
    """Draws one of the listed commands, some more often, and tells how often."""

    weights = (0.5, 0.2, 0.15, 0.1, 0.04, 0.01)

    def __call__(self, given: AgentInput) -> str:
        return given.admissible_commands[int(given.rng.choice(6, p=np.array(self.weights)))]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        return list(self.weights)


class Likely(Leaning):
    """Draws a hundred times and keeps the likeliest, as one may who looks for a good game."""

    def __call__(self, given: AgentInput) -> str:
        draws = given.rng.choice(6, p=np.array(self.weights), size=100)
        return given.admissible_commands[int(draws[np.array(self.weights)[draws].argmax()])]


class LeaningOtherwise(Leaning):
    weights = (0.01, 0.04, 0.1, 0.15, 0.2, 0.5)


class Certain(Leaning):
    """Says that it always takes the first command, and so does."""

    weights = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Even(Leaning):
    """Finds all commands alike and takes the first, so that any action is as likely as its own."""

    sampling = False
    weights = (1 / 6,) * 6

    def __call__(self, given: AgentInput) -> str:
        return given.admissible_commands[0]


class EvenSecond(Even):
    def __call__(self, given: AgentInput) -> str:
        return given.admissible_commands[1]


class Rounded(Even):
    """As `Even` but for a few steps, where two commands are all but alike on another machine."""

    def __call__(self, given: AgentInput) -> str:
        return given.admissible_commands[int(not given.path and sum(map(ord, given.observation)) % 13 == 0)]


class Absurd(Leaning):
    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        return [float("nan")] * 6
