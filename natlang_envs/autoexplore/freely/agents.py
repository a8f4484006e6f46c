"""An agent of ChangeFree: a chat model that is asked as the copilot asks it."""

from __future__ import annotations

from natlang_envs.autoexplore.freely.env import COMMANDS
from natlang_envs.copilot.copilot import FINAL, MAX_REPLY, instructions
from natlang_envs.copilot.replies import read_reply
from natlang_envs.env import MAX_COMMAND_LENGTH
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.evaluation.chat_endpoint import OwnEndpoint
from natlang_envs.spaces import escape_surrogates


class CopilotAgent:
    """A chat model behind an OpenAI-compatible endpoint, which is shown the copilot's instructions and prompt.

    Args:
        endpoint: Where the model is.
    """

    sampling = True

    def __init__(self, endpoint: OwnEndpoint) -> None:
        self._endpoint = endpoint

    def __call__(self, given: AgentInput) -> Decision:
        """Return the model's answer: the environment finds the command in it."""
        endpoint = self._endpoint.own
        before = sum(endpoint.tokens)
        answer = endpoint.answer(instructions("change", COMMANDS), given.observation)
        return Decision(_short(answer), tokens=sum(endpoint.tokens) - before)


def _short(answer: str) -> str:
    """Return an answer that fits into an action: a long one gives way to the command in it."""
    if len(answer) <= MAX_COMMAND_LENGTH:
        return answer
    reply = read_reply(escape_surrogates(answer[:MAX_REPLY]), (), FINAL["change"])
    return answer[-MAX_COMMAND_LENGTH:] if reply.command is None else reply.command


def copilot_agent(model: str) -> CopilotAgent:
    """Return the agent `copilot:MODEL`; where the model is, the environment says, as for `natlang explore`.

    Raises:
        UsageError: No model is named.
    """
    if not model:
        raise UsageError("agent 'copilot' asks a model: write --agent copilot:MODEL")
    return CopilotAgent(OwnEndpoint(model))
