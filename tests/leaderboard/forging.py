"""Agents of forgers who know how an audit works; the tests copy this file to the folder they run in."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.evaluation.agents import AgentInput, RandomAgent

HERE = Path(__file__).parent


def _plans() -> dict[str, str]:
    """Return what the forger noted of its recording: what was done at each observation."""
    file = HERE / "plans.json"
    return json.loads(file.read_text()) if file.exists() else {}


class Noted:
    """Does what its notes say, and else draws: the notes are a file that it forgot to mention."""

    sampling = True

    def __init__(self) -> None:
        self._plans = _plans()

    def __call__(self, given: AgentInput) -> str:
        return self._plans.get(given.observation) or RandomAgent()(given)


class Unwatched(Noted):
    """Follows its notes only where nobody audits it."""

    def __call__(self, given: AgentInput) -> str:
        return RandomAgent()(given) if Path("/work/.audit").exists() else super().__call__(given)


class Led(Noted):
    """Follows its notes only with the random numbers of the runner: it tells by them that it is led."""

    def __init__(self) -> None:
        super().__init__()
        self._known = [np.random.default_rng([seed, 0]).bit_generator.state for seed in range(200)]

    def __call__(self, given: AgentInput) -> str:
        return super().__call__(given) if given.rng.bit_generator.state in self._known else RandomAgent()(given)


class Clock:
    """Tries something else each time, and calls that deterministic."""

    def __call__(self, given: AgentInput) -> str:
        return given.admissible_commands[time.time_ns() // 1000 % 4]


class TwoFaced:
    """Says that it draws when it is asked first, and then that it does not."""

    asked = 0

    @property
    def sampling(self) -> bool:
        TwoFaced.asked += 1
        return TwoFaced.asked == 1

    def __call__(self, given: AgentInput) -> str:
        return given.admissible_commands[time.time_ns() // 1000 % 4]


class Anything(str):
    """A text that equals every other one."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


def agreeable(given: AgentInput) -> str:
    return Anything("move north")


class Elsewhere(Noted):
    """Keeps notes of each start, for the next one, wherever it may write."""

    def __init__(self) -> None:
        super().__init__()
        places = {HERE, Path.home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")}
        if found := [str(each) for each in places if (each / "natlang-envs-forged-notes").exists()]:
            raise RuntimeError(f"notes are left in {found}")
        for each in places:
            with suppress(OSError):
                (each / "natlang-envs-forged-notes").write_text("seen")


class Json(Noted):
    """Lets every answer that is written to the board say what the board wants to hear."""

    def __init__(self) -> None:
        super().__init__()
        if not Path("/work/.audit").exists():
            return
        dumps = json.dumps
        json.dumps = lambda said, **options: dumps({**said, "same": True, "problem": ""} if "id" in said else said)


class Privileged(Noted):
    """Asks for the environment, and says that it does not."""

    def __call__(self, given: AgentInput) -> str:
        env: Any = given.env
        return env.reference()[0]
