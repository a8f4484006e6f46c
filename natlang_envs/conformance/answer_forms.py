"""Forms in which models write a command, and texts that name one without choosing it: tests for a reader of answers.

    from natlang_envs.conformance.answer_forms import misread

    misread(my_reader, ["move south", "move north"])  # a line for each answer that is read otherwise than it is meant

In a form {a} is the command that is meant, {b} another listed one, {u} the command with underscores, {c} in capitals
and {j} within JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Reader = Callable[[str | Mapping[str, Any], Sequence[str]], str | None]

FORMS: dict[str, str] = {
    "bare": "{a}",
    "full stop": "{a}.",
    "exclamation mark": "{a}!",
    "capitals": "{c}",
    "quotation marks": '"{a}"',
    "backquotes": "`{a}`",
    "bold": "**{a}**",
    "round brackets": "({a})",
    "square brackets": "[{a}]",
    "block quote": "> {a}",
    "point of a list": "- {a}",
    "number of a list": "1. {a}",
    "arrow": "\u2192 {a}",
    "after a reason": "The other way is closed.\n\n{a}",
    "before a reason": "{a}\n\nThis is the way.",
    "thought and action": "Thought: it is near\nAction: {a}",
    "thought and action on a line": "Thought: it is near. Action: {a}",
    "small letters": "thought: it is near\naction: {a}",
    "underscores": "ACTION: {u}",
    "no space": "Action:{a}",
    "full-width colon": "Action\uff1a{a}",
    "equals sign": "Action = {a}",
    "hyphen": "Action - {a}",
    "bold label": "**Action:** {a}",
    "bold word": "**Action**: {a}",
    "heading": "### Thought\nnear\n\n### Action\n{a}",
    "next line": "Action:\n{a}",
    "label and backquotes": "Action: `{a}`",
    "label and bold": "Action: **{a}**",
    "label and dollars": "Action: ${a}$",
    "label and brackets": "Action: [{a}]",
    "label and number": "Action: 1. {a}",
    "label and hyphen": "Action: - {a}",
    "label and aside": "Action: {a} (towards the exit)",
    "label and reason": "Action: {a}, because it is near",
    "label and remark": "Action: {a}\nThis brings me closer.",
    "label and first person": "Action: I will {a}.",
    "label and block": "Action:\n```\n{a}\n```",
    "label and JSON": 'Action: {{"action": "{j}"}}',
    "label and input": 'Action: act\nAction Input: {{"command": "{j}"}}',
    "label and call": "Action: act[{a}]",
    "numbered label": "Thought 1: near\nAction 1: {a}",
    "next action": "Next action: {a}",
    "my choice": "My choice: {a}",
    "final answer": "Final answer: {a}",
    "command": "Command: {a}",
    "made-up observation": "Action: {a}\nObservation: done\nThought: go on\nAction: {b}",
    "observation on the line": "Action: {a} Observation: done Action: {b}",
    "numbered actions": "Action 1: {a}\nAction 2: {b}",
    "plan below a label": "Action:\n1. {a}\n2. {b}",
    "not the other": "Action: {a} instead of {b}",
    "the other in the thought": "Thought: {b} leads away.\nAction: {a}",
    "the list before": "Available actions:\n- {b}\n- {a}\n\nAction: {a}",
    "block": "```\n{a}\n```",
    "block with a name": "So:\n```text\n{a}\n```",
    "block of fields": "```\nThought: near\nAction: {a}\n```",
    "tag": "<action>{a}</action>",
    "answer tag": "<answer>\n{a}\n</answer>",
    "tag of a token": "<|ACTION|>{a}</|ACTION|>",
    "JSON": '{{"action": "{j}"}}',
    "JSON with a thought": '{{"thought": "not {b}", "action": "{j}"}}',
    "JSON in a block": '```json\n{{"action": "{j}"}}\n```',
    "box": "The answer is \\boxed{{{a}}}.",
    "sentence": "I will {a}.",
    "sentence with a choice": "I considered {b}, but I will {a}.",
    "thought with an end": "<think>{b}?</think>{a}",
    "thought whose beginning is missing": "{b}, or not?\n</think>\n\nAction: {a}",
    "channels": "<|channel|>analysis<|message|>{b}?<|end|><|start|>assistant<|channel|>final<|message|>{a}<|return|>",
    "call in a channel": "<|channel|>commentary to=functions.act <|constrain|>json<|message|>"
    '{{"command": "{j}"}}<|call|>',
    "token of an end": "Action: {a}<|im_end|>",
    "next turn": "Action: {a}<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAction: {b}",
    "Hermes, Qwen": '<tool_call>\n{{"name": "act", "arguments": {{"command": "{j}"}}}}\n</tool_call>',
    "Qwen Coder": "<tool_call>\n<function=act>\n<parameter=command>\n{a}\n</parameter>\n</function>\n</tool_call>",
    "Llama": '<function=act>{{"command": "{j}"}}</function>',
    "Llama's token": '<|python_tag|>{{"name": "act", "parameters": {{"command": "{j}"}}}}<|eom_id|>',
    "Mistral": '[TOOL_CALLS][{{"name": "act", "arguments": {{"command": "{j}"}}}}]',
    "Mistral's newer": '[TOOL_CALLS]act[ARGS]{{"command": "{j}"}}',
    "GLM": "<tool_call>act\n<arg_key>command</arg_key>\n<arg_value>{a}</arg_value>\n</tool_call>",
    "Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.act:0<|tool_call_argument_begin|>"
    '{{"command": "{j}"}}<|tool_call_end|><|tool_calls_section_end|>',
    "DeepSeek": "<\uff5ctool\u2581calls\u2581begin\uff5c>"
    "<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>act\n"
    '```json\n{{"command": "{j}"}}\n```<\uff5ctool\u2581call\u2581end\uff5c>',
    "Python": 'act(command="{j}")',
}
NO_COMMAND: dict[str, str] = {
    "nothing": "",
    "a thought": "Thought: I will {a}",
    "a thought without an end": "<think>So my answer is\nAction: {a}",
    "an analysis alone": "<|channel|>analysis<|message|>I will {a}.",
    "an observation": "Observation: {a}",
    "a negation": "I will not {a}.",
    "a label and a negation": "Action: not {a}",
    "a possibility": "I could {a}.",
    "a condition": "If the way is free, I will {a}.",
    "a question": "Should I {a}?",
    "something past": "The last action was {a}.",
    "something considered": "I considered {a}.",
    "instead": "Instead of {a} I wait.",
    "a label that is not listed": "Action: fly\nThen {a}.",
    "a list": "The actions are:\n- {a}\n- {b}",
    "a list on a line": "Actions: {a}; {b}",
    "a list of one": "Available actions:\n- {a}",
    "an example": "For example:\nThought: near\nAction: {a}",
    "a format": 'Answer with two lines, such as "Action: {a}".',
    "a tag of an example": "<example>\nAction: {a}\n</example>",
    "JSON without an action": '{{"thought": "{j}"}}',
    "JSON of a former action": '{{"previous_action": "{j}"}}',
    "JSON that is cut": '{{"action": "{j}',
    "two lines": "{a}\n{b}",
    "two bare ones": "{a} or {b}",
    "two below a label": "Action: {a} or {b}",
    "two tags": "<action>{a}</action> <action>{b}</action>",
    "two boxes": "\\boxed{{{a}}} \\boxed{{{b}}}",
    "two objects": '{{"action": "{j}"}} {{"command": "{b}"}}',
    "two sentences": "First I will {a}. Then I will {b}.",
    "taken back": "Action: {a}\nWait, no.\nAction: {b}",
}


def rendered(form: str, command: str, other: str) -> str:
    """Return a text in a form: one of `FORMS` or `NO_COMMAND`, or your own."""
    escaped = json.dumps(command, ensure_ascii=False)[1:-1]
    return form.format(a=command, b=other, u=command.replace(" ", "_"), c=command.upper(), j=escaped)


def messages(command: str) -> dict[str, dict[str, Any]]:
    """Return messages of a chat model that mean a command, by what they are."""
    arguments = json.dumps({"command": command})
    function = {"name": "act", "arguments": arguments}
    return {
        "text": {"role": "assistant", "content": command},
        "parts": {"content": [{"type": "text", "text": "Action: "}, {"type": "text", "text": command}]},
        "reasoning beside": {"content": f"Action: {command}", "reasoning_content": "Action: something else"},
        "part of a thought": {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": command}]},
        "tool call": {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        "legacy call": {"content": "", "function_call": function},
        "arguments as an object": {"tool_calls": [{"function": {"name": "act", "arguments": {"command": command}}}]},
        "part of a call": {"content": [{"type": "tool_use", "name": "act", "input": {"command": command}}]},
    }


def cases(commands: Sequence[str]) -> Iterator[tuple[str, str | Mapping[str, Any], str | None]]:
    """Yield answers about each of some listed commands: a name, the answer, and the command it means or None."""
    for at, command in enumerate(commands):
        other = commands[(at + 1) % len(commands)]
        folded = [each.casefold() for each in commands]
        for name, form in FORMS.items():
            if not ("{c}" in form and folded.count(command.casefold()) > 1) and not (
                "{a}." in form and command[-1] == "."
            ):
                yield name, rendered(form, command, other), command
        for name, message in messages(command).items():
            yield f"message: {name}", message, command
        for name, form in NO_COMMAND.items():
            if command[-1] != ".":
                yield name, rendered(form, command, other), None


def misread(reader: Reader, commands: Sequence[str]) -> list[str]:
    """Return a line for each answer that a reader reads otherwise than it is meant.

    Args:
        reader: Takes an answer, a text or a message, and the listed commands; returns a command, or None.
        commands: The listed commands, at least two.
    """
    found = ((name, answer, meant, reader(answer, commands)) for name, answer, meant in cases(commands))
    return [f"{name}: {answer!r} means {meant!r}, not {read!r}" for name, answer, meant, read in found if meant != read]
