"""One table of ids, registered with Gymnasium (one player) and with PettingZoo (reflector and policy)."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import gymnasium
import pettingzoo  # pyright: ignore[reportMissingTypeStubs]


class Registration(NamedTuple):
    """An id, where its environments are made, their arguments, and one line for the listing."""

    id: str
    entry_point: str
    vector_entry_point: str
    kwargs: dict[str, Any]
    summary: str


def _taxi(name: str, stage: str, horizon: int, summary: str) -> Registration:
    package = "natlang_envs.dangerous_taxi"
    return Registration(
        f"NatLang/{name}-v0",
        f"{package}.env:DangerousTaxiEnv",
        f"{package}.vector:DangerousTaxiVectorEnv",
        {"stage": stage, "horizon": horizon},
        summary,
    )


def _explore(name: str, depth: int | None, summary: str) -> Registration:
    package = "natlang_envs.autoexplore"
    return Registration(
        f"NatLang/{name}-v0",
        f"{package}.env:AutoExploreEnv",
        f"{package}.vector:AutoExploreVectorEnv",
        {"depth": depth, "horizon": 15},
        summary,
    )


def _alfworld(name: str, kwargs: dict[str, Any], summary: str) -> Registration:
    package = "natlang_envs.alfworld"
    return Registration(
        f"NatLang/{name}-v0", f"{package}.env:ALFWorldEnv", f"{package}.vector:ALFWorldVectorEnv", kwargs, summary
    )


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
    _alfworld("ALFWorld-TomatoMicrowave", _TOMATO, "Find a tomato in a kitchen and put it into the microwave."),
    _alfworld("ALFWorld", {"horizon": 50}, "Do a household task: find things, clean, heat or cool them, place them."),
)


def register_all() -> None:
    """Register every id in both registries.

    Gymnasium's order check and passive checker are left out: the environments raise on a step out of order
    themselves, the conformance suite checks more than the checker does, and both cost time at every step.
    """
    for entry in ENVIRONMENTS:
        gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
            entry.id,
            entry_point=entry.entry_point,
            vector_entry_point=entry.vector_entry_point,
            order_enforce=False,
            disable_env_checker=True,
            kwargs=entry.kwargs,
        )
        # PettingZoo has had a registry since 1.27; with older ones, call `natlang_envs.two_player.aec_env`.
        if hasattr(pettingzoo, "register"):
            pettingzoo.register("aec", entry.id, partial(_two_player, "aec_env", entry.id))
            pettingzoo.register("parallel", entry.id, partial(_two_player, "parallel_env", entry.id))


def _two_player(function: str, env_id: str, **kwargs: Any) -> Any:
    # Imported when an environment is made: it is the larger half of the package's import time.
    from natlang_envs import two_player

    return getattr(two_player, function)(env_id, **kwargs)
