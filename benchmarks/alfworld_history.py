"""How much of the path ALFWorld takes: the honest expert, where it remembers its last steps alone.

`python benchmarks/alfworld_history.py` plays `alfworld-generated/v1` with an expert that is shown as many steps as a
p(s) of that `history`, and counts the games it wins and the states where it does what it would do with the whole path.
That bounds every player with this `history`. Seconds of one core.
"""

from __future__ import annotations

from dataclasses import replace

from natlang_envs.alfworld.expert import ExpertAgent
from natlang_envs.evaluation import AgentInput, evaluate

PROTOCOL = "alfworld-generated/v1"
HISTORIES = (1, 4, 8, 12, 16, 50)


class Forgetful:
    """The expert with the last steps of the path alone; `agreed` counts where that makes no difference."""

    def __init__(self, history: int) -> None:
        self._expert = ExpertAgent()
        self._history = history
        self.agreed = 0

    def __call__(self, view: AgentInput) -> str:
        """Return the next command."""
        command = self._expert(replace(view, path=view.path[-self._history :]))
        self.agreed += command == self._expert(view)
        return command


def main() -> None:
    for history in HISTORIES:
        expert = Forgetful(history)
        _, games = evaluate(expert, PROTOCOL)
        won, states = sum(each.success for each in games), sum(len(each.actions) for each in games)
        same = f"as with the whole path in {expert.agreed} of {states} states"
        print(f"history {history}: wins {won} of {len(games)}, {same}")


if __name__ == "__main__":
    main()
