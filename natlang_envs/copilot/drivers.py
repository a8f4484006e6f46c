"""Who answers the copilot's prompts: a person, or a model behind an endpoint."""

from __future__ import annotations

from collections.abc import Callable

from natlang_envs.copilot.copilot import AutoExploreCopilot
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint


class HumanDriver:
    """A person, asked line by line: `ask` shows the present state and returns a line, None when no more will come."""

    def __init__(self, ask: Callable[[AutoExploreCopilot], str | None]) -> None:
        self._ask = ask

    def reply(self, copilot: AutoExploreCopilot) -> str | None:
        while (line := self._ask(copilot)) is not None and not line.strip():
            pass
        return line


class ModelDriver:
    """A chat model at an endpoint, which is shown the instructions and the present prompt and no more."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self.endpoint = endpoint

    def reply(self, copilot: AutoExploreCopilot) -> str:
        """Return the model's answer to the present prompt; see `ChatEndpoint.answer`."""
        return self.endpoint.answer(copilot.instructions, copilot.prompt())
