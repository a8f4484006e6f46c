"""An own agent on a protocol: drives towards the passenger as the crow flies, which walls and the edge punish.

python examples/agent.py
"""

from __future__ import annotations

import re

from natlang_envs.evaluation import AgentInput, evaluate, load_protocol
from natlang_envs.evaluation.runner import score_run

PROTOCOL = "dangerous-taxi-pickup-cities/v1"


def crow(view: AgentInput) -> str:
    """Return the next command: first along the column, then along the row, then pick up."""
    places = {name: (int(row), int(column)) for name, row, column in PLACE.findall(view.observation)}
    who = WAITS.search(view.observation)
    row, column = places["The taxi"]
    target_row, target_column = places[who.group(1) if who else "The taxi"]
    if row != target_row:
        return "move south" if row < target_row else "move north"
    if column != target_column:
        return "move east" if column < target_column else "move west"
    return "pick up passenger"


PLACE = re.compile(r"(The taxi|Red|Green|Yellow|Blue) is at row (\d+), column (\d+)")
WAITS = re.compile(r"The passenger waits at (\w+)")

if __name__ == "__main__":
    _, trajectories = evaluate(crow, PROTOCOL, name="crow")
    result = score_run(load_protocol(PROTOCOL), trajectories)
    low, high = result.interval
    print(f"crow on {PROTOCOL}: success {result.success_rate:.1%} (95% interval {low:.1%} to {high:.1%})")
