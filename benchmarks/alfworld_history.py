"""How much of the path ALFWorld takes: the honest expert, where it remembers its last steps alone.

`python benchmarks/alfworld_history.py` plays `alfworld-generated/v1` with an expert that is shown as many steps as a
p(s) of that `history`, and counts the games it wins and the states where it does what it would do with the whole path.
That bounds every player with this `history`. Seconds of one core.
"""

from __future__ import annotations

from collections.abc import Sequence

from natlang_envs.alfworld.expert import Expert
from natlang_envs.env import unwrap
from natlang_envs.evaluation import load_protocol
from natlang_envs.prompt import PathStep

PROTOCOL = "alfworld-generated/v1"
HISTORIES = (1, 4, 8, 12, 16, 50)


def choice(task: str, path: Sequence[PathStep], observation: str, commands: Sequence[str]) -> str:
    """Return what the expert does after these steps."""
    expert = Expert(task)
    for step in path:
        expert.observe(step.action, step.feedback)
    return expert.choose(observation, commands)


def play(history: int) -> tuple[int, int, int]:
    """Return the games won, the states with the whole path's command, and all states."""
    protocol = load_protocol(PROTOCOL)
    env = unwrap(protocol.make_env())
    won = agreed = states = 0
    for episode in protocol.episodes:
        observation, info = env.reset(seed=episode.seed, options={"task_id": episode.task_id})
        path: list[PathStep] = []
        ended = False
        while not ended:
            listed = info["admissible_commands"]
            action = choice(info["task"], path[max(0, len(path) - history) :], observation, listed)
            agreed += action == choice(info["task"], path, observation, listed)
            states += 1
            observation, _, terminated, truncated, info = env.step(action)
            path.append(PathStep(action, info["feedback"]))
            ended = terminated or truncated
        won += info["success"]
    return won, agreed, states


def main() -> None:
    games = len(load_protocol(PROTOCOL).episodes)
    for history in HISTORIES:
        won, agreed, states = play(history)
        print(f"history {history}: wins {won} of {games}, as with the whole path in {agreed} of {states} states")


if __name__ == "__main__":
    main()
