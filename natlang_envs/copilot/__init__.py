"""The copilot: a person or a model answers a question or changes files in a sandbox, one command at a time.

copilot          the loop: a prompt, an answer, the command in it, what the command did
replies          finds the command in an answer
command_text     commands as they stand in text: the first of several, tidied
tool_calls       commands as JSON, tags and tool calls
listed_commands  the commands that are offered as choices
drivers          who answers: a person or a chat model
"""

from __future__ import annotations

from natlang_envs.copilot.copilot import AutoExploreCopilot, Driver, Ending, Shown, Turn
from natlang_envs.copilot.drivers import HumanDriver, ModelDriver

__all__ = ["AutoExploreCopilot", "Driver", "Ending", "HumanDriver", "ModelDriver", "Shown", "Turn"]
