r"""What a model answers, and the command that it means.

    read_answer("Thought: a door.\nAction: open door", ["open door", "go east"]).command  # "open door"

reading  the command that an answer means, from the most express statement down to a sentence
listed   the listed commands: one that a text names, or that a sentence states
texts    the parts of what is said: blocks, JSON, fields that labels begin
calls    commands as JSON, tags and tool calls
spoken   what was thought and what was said
"""

from __future__ import annotations

from natlang_envs.answers.calls import FoundJson, json_values
from natlang_envs.answers.reading import FreeCommands, Problem, Reading, read_answer
from natlang_envs.answers.spoken import Spoken, split_thought

__all__ = ["FoundJson", "FreeCommands", "Problem", "Reading", "Spoken", "json_values", "read_answer", "split_thought"]
