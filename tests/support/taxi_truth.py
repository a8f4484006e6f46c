"""What the tests of DangerousTaxi stand on: its ids, and the truth from outside.

Gymnasium's transition table, and what of it DangerousTaxi calls illegal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

import gymnasium
from gymnasium.envs.toy_text.taxi import TaxiEnv

from natlang_envs import NatLangEnv, unwrap
from natlang_envs.dangerous_taxi.city import City, load_city

PICKUP, DROPOFF, DELIVERY = (f"NatLang/DangerousTaxi{name}-v0" for name in ("-Pickup", "-Dropoff", ""))
IDS = (PICKUP, DROPOFF, DELIVERY)
ILLEGAL = object()
RED, GREEN, YELLOW, BLUE = range(4)  # the destination is always Green, at row 0, column 4


def make(env_id: str, **kwargs: Any) -> NatLangEnv:
    return unwrap(gymnasium.make(env_id, **kwargs))


def place(env: NatLangEnv, state: int, city: str = "classic") -> None:
    """Put an environment into any state: a snapshot says where the taxi is."""
    env.reset(options={"task_id": load_city(city).task_id(load_city(city).starts[0])})
    env.restore(env.snapshot()._replace(state=(state,)))


@cache
def taxi_table() -> list[list[Any]]:
    """For every state and action of TaxiEnv, the next state and whether the passenger is delivered, or ILLEGAL."""
    table: list[list[Any]] = []
    for state, actions in sorted(TaxiEnv().P.items()):
        row: list[Any] = []
        for action in range(6):
            ((_, after, reward, delivered),) = actions[action]
            stands_still = action < 4 and after == state
            drops_elsewhere = action == 5 and not delivered
            punished = reward == -10
            row.append(ILLEGAL if stands_still or drops_elsewhere or punished else (after, delivered))
        table.append(row)
    return table


def fewest_steps(start: int, is_goal: Callable[[int, int, bool], bool]) -> int:
    """Breadth-first search over Gymnasium's table; `is_goal(state, action, delivered)` ends it."""
    queue, seen = deque([(start, 0)]), {start}
    while queue:
        state, steps = queue.popleft()
        for action, outcome in enumerate(taxi_table()[state]):
            if outcome is ILLEGAL:
                continue
            after, delivered = outcome
            if is_goal(state, action, delivered):
                return steps + 1
            if after not in seen and not delivered:
                seen.add(after)
                queue.append((after, steps + 1))
    raise AssertionError(f"no way from state {start}")


def reachable_states() -> set[int]:
    """Every state that a legal game can be in, its last one included."""
    queue, seen = list(classic().starts), set(classic().starts)
    while queue:
        for outcome in taxi_table()[queue.pop()]:
            if outcome is ILLEGAL or outcome[0] in seen:
                continue
            seen.add(outcome[0])
            if not outcome[1]:
                queue.append(outcome[0])
    return seen


def classic() -> City:
    return load_city("classic")
