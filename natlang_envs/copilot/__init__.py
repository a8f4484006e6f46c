"""The copilot: a person or a model answers a question or changes files in a sandbox, one command at a time.

copilot       the loop of prompt, answer and execution; drivers for a person and for a model
shell         the grammar that finds the sandbox's commands in an answer
command_text  the first of several commands in a text, tidied
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
