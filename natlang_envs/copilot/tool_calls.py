"""Commands in the forms of programs: JSON, tags, and the tool calls of the common families of models."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from natlang_envs.copilot.command_text import WORDS
from natlang_envs.evaluation.model_text import json_values
from natlang_envs.sandbox.commands.parser import quote

_MOST_TRIED = 50  # tags of one answer
_DEEPEST = 6  # values in values
_LONGEST_CALL = 20_000  # characters of a call as Python writes it
_NAMES = ("name", "tool_name", "tool", "function", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "kwargs")
_COMMANDS = ("command", "cmd", "bash", "shell", "command_line", "commands", "code", "action", "execute", "run")
_CALLS = ("tool_calls", "tool_call", "function_call", "tool_uses", "function", "actions", *_ARGUMENTS)
_TAGGED = re.compile(
    r"<(tool_call|function_call|tool_use|invoke|function|command|cmd|bash|sh|shell|execute_bash|execute|run|action|tool_code"
    r"|answer|final_answer)"
    r"(?:=([\w.:-]+)|[ \t]+name=[\"']([^\"'<>\n]*)[\"'])?[ \t]*>",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"<parameter(?:=([\w-]+)|[ \t]+name=[\"']([\w-]+)[\"'][^<>\n]*)>|<arg_key>([\w-]+)</arg_key>\s*<arg_value>"
)
_VALUE_ENDS = re.compile(r"</parameter>|</arg_value>")
_MARKED = re.compile(  # Mistral, Llama, Kimi, DeepSeek
    r"\[TOOL_CALLS\]|<\|python_tag\|>|<[|\uff5c]tool[_\u2581]calls?(?:_section)?[_\u2581]begin[|\uff5c]>"
)
_PYTHON = re.compile(r"\s*\[?\s*(?:[A-Za-z_][\w.]*\(|\{\s*')")


def command_of(value: object, depth: int = 0) -> str | None:
    """Return the command that a JSON value names, by the keys that models use; None where there is none."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in ("{", "["):
            inner = next((found.value for found in json_values(text) if not found.broken and not found.start), None)
            return command_of(inner, depth + 1) if inner is not None else text
        return text or None
    if isinstance(value, list):
        return _of_list(cast("list[object]", value), depth)
    if not isinstance(value, dict):
        return None
    content = {str(name).lower(): each for name, each in cast("dict[str, object]", value).items()}
    name = next((each for key in _NAMES if isinstance(each := content.get(key), str)), "")
    given = next((content[key] for key in _ARGUMENTS if key in content), None)
    word = name.rpartition(".")[2].lower()
    if word in WORDS and (given is not None or not set(_COMMANDS) & set(content) - {"action"}):
        return _with_arguments(word, given)
    if given is not None and not isinstance(given, str):
        return command_of(given, depth + 1)
    for key in (*_COMMANDS, *_CALLS):
        each = content.get(key)
        found = command_of(each, depth + 1) if each is not None and not (key == "function" and each == name) else None
        if found:
            return found
    for key, each in content.items():
        word = {"final_answer": "answer", "final answer": "answer"}.get(key, key)
        if word in WORDS and isinstance(each, str):
            return _with_arguments(word, each)
    return None


def _of_list(values: list[object], depth: int) -> str | None:
    words = [each for each in values if isinstance(each, str)]
    if words and len(words) == len(values):
        if words[0] in ("bash", "sh", "zsh") and len(words) > 2 and words[1].startswith("-"):
            return words[2].strip() or None
        return " ".join(map(quote, words)) if words[0] in WORDS else "\n".join(words)
    return next((found for each in values if (found := command_of(each, depth + 1))), None)


def _with_arguments(word: str, given: object) -> str:
    """Return a command and its arguments, each quoted where it needs to be."""
    if isinstance(given, dict):
        given = list(cast("dict[str, object]", given).values())
    if isinstance(given, list):
        words = [str(each) for each in cast("list[Any]", given) if isinstance(each, str | int | float)]
        text = " ".join(words if word == "answer" else map(quote, words))
    else:
        text = given.strip() if isinstance(given, str) else ""
        if word in ("id", "cat", "cd") and " " in text and not set(text) & set("'\"\\"):
            text = quote(text)
    return f"{word} {text}".strip()


def calls_in(said: str) -> Iterator[tuple[str, int, int]]:
    """Yield the commands of tool calls and tags, with where each begins and ends."""
    marked = _MARKED.search(said)
    if marked is not None:
        for found in json_values(said[marked.end() :]):
            command = None if found.broken else command_of(found.value)
            if command:
                yield command, marked.start(), marked.end() + found.end
    at = 0
    for _ in range(_MOST_TRIED):
        tag = _TAGGED.search(said, at)
        if tag is None:
            return
        closing = said.find(f"</{tag[1]}", tag.end())
        end = len(said) if closing < 0 else closing
        body = said[tag.end() : end]
        after = said.find(">", end) + 1 if closing >= 0 else len(said)
        at = tag.end()
        command = _of_tag(tag[1].lower(), tag[2] or tag[3] or "", body)
        if command:
            yield command, tag.start(), after or len(said)
            at = max(end, at)


def _of_tag(tag: str, name: str, body: str) -> str | None:
    """Return the command of a tag with a body; of one that is about several, none: the tags in it are read next."""
    given: dict[str, object] = {}
    for parameter in islice(_PARAMETER.finditer(body), _MOST_TRIED):
        closing = _VALUE_ENDS.search(body, parameter.end())
        value = body[parameter.end() : closing.start() if closing else len(body)]
        given[next(each for each in parameter.groups() if each)] = value.strip()
    if given:
        name = name or body[: body.find("<")].strip()
        return command_of({"name": name, "arguments": given} if name else given)
    text = body.strip()
    if text[:1] in ("{", "["):
        content = command_of(text)
        known = name.lower() in WORDS and text[0] == "{"
        return command_of({"name": name, "arguments": text}) if known and content == text else content
    if tag in ("tool_call", "function_call", "tool_use", "invoke", "tool_code", "function"):
        called = python_call(text)
        return called or (f"{name} {text}".strip() if name.lower() in WORDS else text if name else None)
    if tag in ("answer", "final_answer") and text:
        return f"answer {text}"
    return text if text and not text.startswith("<") else None


def python_call(text: str) -> str | None:
    """Return the command of a call or object as Python writes it: `bash(command="ls")`, `{'command': 'ls'}`."""
    if len(text) > _LONGEST_CALL or not _PYTHON.match(text):
        return None
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
        call = parsed.elts[0] if isinstance(parsed, ast.List) and parsed.elts else parsed
        if isinstance(call, ast.Dict):
            return command_of(ast.literal_eval(call))
        while isinstance(call, ast.Call) and ast.unparse(call.func) == "print" and len(call.args) == 1:
            call = call.args[0]
        if not isinstance(call, ast.Call):
            return None
        name = ast.unparse(call.func).rpartition(".")[2]
        given: dict[str, object] = {str(at): ast.literal_eval(each) for at, each in enumerate(call.args)}
        given |= {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    if name in WORDS:
        return _with_arguments(name, given)
    return command_of(given) or (command_of(given["0"]) if "0" in given else None)
