"""An agent of ChangeFree: a chat model that is asked as the copilot asks it."""

from __future__ import annotations

from dataclasses import replace

from natlang_envs.change.free_edits.env import COMMANDS
from natlang_envs.copilot.copilot import instructions
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.evaluation.chat_players import ChatPlayer, note
from natlang_envs.evaluation.chat_settings import ChatSettings, read_settings


class CopilotAgent(ChatPlayer):
    """A chat model behind an OpenAI-compatible endpoint, which is shown the copilot's instructions and prompt.

    Raises:
        UsageError: The settings have a history; the copilot's prompt already has the commands so far.
    """

    def __init__(self, model: str, settings: ChatSettings | None = None) -> None:
        settings = settings or ChatSettings()
        if settings.history != "full":
            raise UsageError("agent copilot shows the copilot's prompt, which has no path: leave history out")
        super().__init__(model, "copilot", replace(settings, history="none"))
        self.model_settings.pop("history")

    def _messages(self, view: AgentInput, shown: int, new: str) -> list[dict[str, str]]:
        prompt = view.observation + note(view.requests, len(view.path), "copilot")
        return [{"role": "system", "content": instructions("change", COMMANDS)}, {"role": "user", "content": prompt}]


def copilot_agent(argument: str) -> CopilotAgent:
    """Return the agent `copilot:MODEL`; for the settings behind a question mark see `read_settings`."""
    return CopilotAgent(*read_settings(argument, "copilot"))
