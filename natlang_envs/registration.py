"""Registers environments with Gymnasium (one player, and many episodes at a time) and PettingZoo (two players)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import pettingzoo  # pyright: ignore[reportMissingTypeStubs]

from natlang_envs.errors import UsageError

PLANNED = ("random", "random-legal", "oracle")
_TAXI = "natlang_envs.dangerous_taxi.env:DangerousTaxiEnv"
_TAXI_ARRAYS = "natlang_envs.dangerous_taxi.vector:DangerousTaxiVectorEnv"
_EXPLORE = "natlang_envs.autoexplore.env:AutoExploreEnv"
_SEARCH = "natlang_envs.autoexplore.searching.env:AutoExploreSearchEnv"
_ANSWER = "natlang_envs.autoexplore.answering.env:AutoExploreAnswerEnv"
_CHANGE = "natlang_envs.change.listed_edits.env:AutoExploreChangeEnv"
_CHANGE_FREE = "natlang_envs.change.free_edits.env:AutoExploreChangeFreeEnv"
_ALFWORLD = "natlang_envs.alfworld.env:ALFWorldEnv"


@dataclass(frozen=True)
class Registration:
    """An environment id and its properties.

    Attributes:
        id: The id, such as `Mine/Corridor-v0`.
        entry_point: Where the class is, as `module:Class`.
        summary: One line for listings.
        kwargs: The arguments of this id: JSON values.
        vector_entry_point: A vector form of its own; empty for the default one, `natlang_envs.episodes`.
        baselines: The built-in agents that the leaderboard shows a row of. Environments without an exact oracle name
            `reference` in place of `oracle`.
    """

    id: str
    entry_point: str
    summary: str
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    vector_entry_point: str = ""
    baselines: tuple[str, ...] = PLANNED


def _taxi(name: str, stage: str, horizon: int, summary: str) -> Registration:
    return Registration(f"NatLang/{name}-v0", _TAXI, summary, {"stage": stage, "horizon": horizon}, _TAXI_ARRAYS)


def _explore(name: str, depth: int | None, summary: str) -> Registration:
    return Registration(f"NatLang/{name}-v0", _EXPLORE, summary, {"depth": depth, "horizon": 15})


def _change(name: str, start: str, summary: str) -> Registration:
    kwargs = {"start": start, "horizon": 30}
    baselines = (*PLANNED, "nothing", "random-edit", "spectrum")
    return Registration(f"NatLang/AutoExplore-{name}-v0", _CHANGE, summary, kwargs, baselines=baselines)


def _alfworld(name: str, kwargs: dict[str, Any], summary: str) -> Registration:
    baselines = ("random", "reference", "expert")
    return Registration(f"NatLang/{name}-v0", _ALFWORLD, summary, kwargs, baselines=baselines)


_TOMATO: dict[str, Any] = {"task_types": ["pick_and_place_simple"], "goal": "Tomato-Microwave", "horizon": 15}

ENVIRONMENTS: tuple[Registration, ...] = (
    _taxi("DangerousTaxi-Pickup", "pickup", 15, "Drive to the passenger; one illegal command ends the game."),
    _taxi(
        "DangerousTaxi-Dropoff", "dropoff", 30, "Pick up and deliver, both are paid; one illegal command ends the game."
    ),
    _taxi("DangerousTaxi", "delivery", 30, "Deliver, only that is paid; one illegal command ends the game."),
    _explore("AutoExplore-Depth1", 1, "Find the file that answers a question, at most one folder below the top."),
    _explore("AutoExplore-Depth2", 2, "Find the file that answers a question, two folders below the top."),
    _explore("AutoExplore", None, "Find the file of a repository that answers a question, wherever it is."),
    Registration(
        "NatLang/AutoExplore-Search-v0",
        _SEARCH,
        "Find the file of a repository that answers a question, by searching for words in all files.",
        {"order": "lines", "horizon": 15},
        baselines=(*PLANNED, "bm25", "first-hit", "first-hit-reader"),
    ),
    Registration(
        "NatLang/AutoExplore-Answer-v0",
        _ANSWER,
        "Answer a question about a repository in words, and cite the lines that prove it.",
        {"form": "text", "search": False, "horizon": 20},
        baselines=("reference", "best-line"),
    ),
    _change("Change", "repository", "Mend what an issue reports, by one edit of any source; tests judge it."),
    _change("ChangeFile", "file", "Mend what an issue reports, by one edit; the broken file is open."),
    _change("ChangeLine", "line", "Mend what an issue reports, by one edit; the broken line is open."),
    _alfworld("ALFWorld-TomatoMicrowave", _TOMATO, "Find a tomato in a kitchen and put it into the microwave."),
    _alfworld("ALFWorld", {"horizon": 50}, "Do a household task: find things, clean, heat or cool them, place them."),
)

# These need more than the package: Linux with bubblewrap, and the lab that `natlang data fetch` brings.
SANDBOXED: tuple[Registration, ...] = (
    Registration(
        "NatLang/AutoExplore-ChangeFree-v0",
        _CHANGE_FREE,
        "Mend tested code, or answer a question about tables with a program, by free editing in a sandbox.",
        {"horizon": 40},
        baselines=("reference", "nothing"),
    ),
)

_registered: dict[str, Registration] = {}


def registration_of(env_id: str) -> Registration | None:
    """Return the registration of an id, of the suite or by `register`, or of `module:id`; None for any other."""
    return _registered.get(env_id.rpartition(":")[2])


def register(entry: Registration) -> None:
    """Register an id with Gymnasium, as a vector and with PettingZoo.

    Gymnasium's order check and passive checker are left out: the environments raise on a step out of order
    themselves, the conformance suite checks more than the checker does, and both cost time at every step.

    Raises:
        UsageError: `entry_point` is not written as `module:Class`; the class itself is looked for by `make`.
    """
    module, _, name = str(entry.entry_point).partition(":")
    if not module or not name:
        raise UsageError(f"the entry_point of {entry.id} must be 'module:Class', not {entry.entry_point!r}")
    _registered[entry.id] = entry
    gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
        entry.id,
        entry_point=entry.entry_point,
        vector_entry_point=entry.vector_entry_point or f"natlang_envs.episodes:{module}.{name}",
        order_enforce=False,
        disable_env_checker=True,
        kwargs=dict(entry.kwargs),
    )
    # PettingZoo has had a registry since 1.27; with older ones, call `natlang_envs.two_player.aec_env`.
    if hasattr(pettingzoo, "register"):
        pettingzoo.register("aec", entry.id, partial(_two_player, "aec_env", entry.id))
        pettingzoo.register("parallel", entry.id, partial(_two_player, "parallel_env", entry.id))


def register_all() -> None:
    for entry in (*ENVIRONMENTS, *SANDBOXED):
        register(entry)


def _two_player(function: str, env_id: str, **kwargs: Any) -> Any:
    # Imported when an environment is made: it is the larger half of the package's import time.
    from natlang_envs import two_player

    return getattr(two_player, function)(env_id, **kwargs)
