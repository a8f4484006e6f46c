"""The copilot: a person or a model answers a question or changes files in a sandbox, one command at a time.

copilot       the loop: a prompt, an answer, the command in it, what the command did; a person or a model that answers
shell         the grammar of the sandbox's commands in an answer
command_text  commands as they stand in text: the first of several, tidied
edit_forms    edits of files in an answer
"""

from __future__ import annotations

from natlang_envs.copilot.copilot import (
    AutoExploreCopilot,
    Driver,
    Ending,
    HumanDriver,
    ModelDriver,
    PromptContent,
    TaskCommand,
    Turn,
    instructions,
)

__all__ = [
    "AutoExploreCopilot",
    "Driver",
    "Ending",
    "HumanDriver",
    "ModelDriver",
    "PromptContent",
    "TaskCommand",
    "Turn",
    "instructions",
]
