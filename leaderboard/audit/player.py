"""The program that an audited agent runs in: it gets what a player sees as JSON, one object a line, and answers so.

It is started as a file, by `leaderboard.audit.outside`, where there is no leaderboard to import. Its arguments are the
socket to answer at, the agent as `--agent` takes it, and the folders to import from.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any

_SHORT = 256  # characters that need no cutting


class Player:
    """An agent, and the random numbers of the episodes it is playing."""

    def __init__(self, spec: str) -> None:
        from natlang_envs.evaluation.agents import load_agent

        self._agent = load_agent(spec)
        self._drawing: dict[int, Any] = {}
        self._requests: dict[int, Any] = {}

    def facts(self) -> dict[str, bool]:
        """Return what the board has to know of the agent before it plays."""
        from natlang_envs.evaluation.agents import BatchAgent, HasChances, is_privileged, is_sampling

        return {
            "sampling": is_sampling(self._agent),
            "privileged": is_privileged(self._agent),
            "batch": isinstance(self._agent, BatchAgent),
            "chances": isinstance(self._agent, HasChances),
        }

    def act(self, views: list[dict[str, Any]]) -> list[str]:
        """Return an action for each view; a long one as it is played, any other as it is said."""
        from natlang_envs.evaluation.agents import decide
        from natlang_envs.evaluation.playing import bounded

        given = [self._given(view) for view in views]
        return [
            each.action if len(each.action) < _SHORT else bounded(each.action, None, seen.admissible_commands)[0]
            for seen, each in zip(given, decide(self._agent, given), strict=True)
        ]

    def chances(self, views: list[dict[str, Any]]) -> list[list[float]]:
        """Return how likely each listed command is in each view, after the reflection that was recorded."""
        ask: Any = self._agent
        return [[float(each) for each in ask.chances(self._given(view), view["reflection"])] for view in views]

    def _given(self, view: dict[str, Any]) -> Any:
        import numpy as np

        from natlang_envs.evaluation.agents import AgentInput
        from natlang_envs.evaluation.model_requests import Requests
        from natlang_envs.prompt import PathStep

        episode = view["episode"]
        if episode not in self._drawing:
            self._drawing[episode], self._requests[episode] = np.random.default_rng(view["seed"]), Requests()
        path = tuple(PathStep(*step) for step in view["path"])
        commands = tuple(view["admissible_commands"])
        given = (view["task"], path, view["observation"], commands, self._drawing[episode])
        return AgentInput(*given, requests=self._requests[episode])


def _answer(player: Player | None, question: dict[str, Any], spec: str) -> tuple[Player | None, Any]:
    ask = question["ask"]
    if ask == "load":
        player = Player(spec)
        return player, player.facts()
    return player, getattr(player, ask)(question["of"])


def main() -> None:
    """Answer questions until there are no more."""
    address, spec, *folders = sys.argv[1:]
    sys.path[:0] = folders
    os.dup2(2, 1)  # what an agent prints is read in one place
    line = socket.socket(socket.AF_UNIX)
    line.connect(address)
    player: Player | None = None
    with line, line.makefile("rb") as questions:
        for each in questions:
            question = json.loads(each)
            try:
                player, answer = _answer(player, question, spec)
                said = {"id": question["id"], "answer": answer}
            except BaseException as error:  # the board says it in a line, whatever it is
                said = {"id": question["id"], "problem": f"{type(error).__name__}: {error}"}
            line.sendall(json.dumps(said).encode() + b"\n")
            if "problem" in said:
                break
    sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of the agent's hold nothing up


if __name__ == "__main__":
    main()
