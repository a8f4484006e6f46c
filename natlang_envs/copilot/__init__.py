"""The copilot: a person or a model answers a question or changes files in a sandbox, one command at a time.

copilot       the loop of prompt, answer and execution
drivers       a person and a model, who answer the prompts
shell         the grammar that finds the sandbox's commands in an answer
command_text  the first of several commands in a text, tidied
edit_forms    edits of files in an answer
project_tests  the project's own tests, before changes and after them
"""

from __future__ import annotations

from natlang_envs.copilot.copilot import (
    AutoExploreCopilot,
    Driver,
    Ending,
    PromptContent,
    TaskCommand,
    Turn,
    instructions,
)
from natlang_envs.copilot.drivers import HumanDriver, ModelDriver
from natlang_envs.copilot.project_tests import ProjectTests, run_project_tests

__all__ = [
    "AutoExploreCopilot",
    "Driver",
    "Ending",
    "HumanDriver",
    "ModelDriver",
    "ProjectTests",
    "PromptContent",
    "TaskCommand",
    "Turn",
    "instructions",
    "run_project_tests",
]
