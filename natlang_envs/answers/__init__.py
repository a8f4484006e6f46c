r"""Reads the command that a model's answer means.

    read_answer("Thought: a door.\nAction: open door", ["open door", "go east"]).command  # "open door"

reading  the command that an answer means, from explicit forms to a sentence
listed   listed commands that a text names or a sentence states
texts    the parts of an answer: blocks, JSON, calls, fields with labels
calls    commands as JSON, tags and tool calls
spoken   separates the thought from the answer
"""

from __future__ import annotations

from natlang_envs.answers.calls import FoundJson, json_values
from natlang_envs.answers.reading import FreeCommands, Problem, Reading, read_answer
from natlang_envs.answers.spoken import Spoken, split_thought

__all__ = ["FoundJson", "FreeCommands", "Problem", "Reading", "Spoken", "json_values", "read_answer", "split_thought"]
