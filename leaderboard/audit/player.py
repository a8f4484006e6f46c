"""The program that runs an audited agent: it reads `InputJson` and answers, one JSON object a line.

`leaderboard.audit.agent_process` starts it as a file, where there is no leaderboard to import. Its arguments are the
socket to answer at, the agent as `--agent` takes it, and the folders to import from.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any

_SHORT = 256  # characters that need no cutting


class AuditedAgent:
    """An agent, and the random numbers of the episodes it is playing."""

    def __init__(self, spec: str) -> None:
        from natlang_envs.evaluation.agents import load_agent

        self._agent = load_agent(spec)
        self._generators: dict[int, Any] = {}
        self._requests: dict[int, Any] = {}

    def facts(self) -> dict[str, bool]:
        from natlang_envs.evaluation.agents import BatchAgent, HasChances, is_privileged, is_sampling

        return {
            "sampling": is_sampling(self._agent),
            "privileged": is_privileged(self._agent),
            "batch": isinstance(self._agent, BatchAgent),
            "chances": isinstance(self._agent, HasChances),
        }

    def act(self, inputs: list[dict[str, Any]]) -> list[str]:
        """Return an action for each input; a long one is cut as when it is played."""
        from natlang_envs.evaluation.agents import decide
        from natlang_envs.evaluation.playing import bounded

        given = [self._given(each) for each in inputs]
        return [
            each.action if len(each.action) < _SHORT else bounded(each.action, None, seen.admissible_commands)[0]
            for seen, each in zip(given, decide(self._agent, given), strict=True)
        ]

    def chances(self, inputs: list[dict[str, Any]]) -> list[list[float]]:
        agent: Any = self._agent
        return [[float(chance) for chance in agent.chances(self._given(each), each["reflection"])] for each in inputs]

    def _given(self, content: dict[str, Any]) -> Any:
        import numpy as np

        from natlang_envs.evaluation.agents import AgentInput
        from natlang_envs.evaluation.model_requests import Requests
        from natlang_envs.prompt import PathStep

        episode = content["episode"]
        if episode not in self._generators:
            self._generators[episode], self._requests[episode] = np.random.default_rng(content["seed"]), Requests()
        path = tuple(PathStep(*step) for step in content["path"])
        commands = tuple(content["admissible_commands"])
        given = (content["task"], path, content["observation"], commands, self._generators[episode])
        return AgentInput(*given, requests=self._requests[episode])


def _answer(player: AuditedAgent | None, question: dict[str, Any], spec: str) -> tuple[AuditedAgent | None, Any]:
    ask = question["ask"]
    if ask == "load":
        player = AuditedAgent(spec)
        return player, player.facts()
    return player, getattr(player, ask)(question["of"])


def main() -> None:
    address, spec, *folders = sys.argv[1:]
    sys.path[:0] = folders
    os.dup2(2, 1)  # what an agent prints is read from its standard error
    line = socket.socket(socket.AF_UNIX)
    line.connect(address)
    player: AuditedAgent | None = None
    with line, line.makefile("rb") as questions:
        for each in questions:
            question = json.loads(each)
            try:
                player, answer = _answer(player, question, spec)
                reply = {"id": question["id"], "answer": answer}
            except BaseException as error:  # the board says it in a line, whatever it is
                reply = {"id": question["id"], "problem": f"{type(error).__name__}: {error}"}
            line.sendall(json.dumps(reply).encode() + b"\n")
            if "problem" in reply:
                break
    sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of the agent's hold nothing up


if __name__ == "__main__":
    main()
