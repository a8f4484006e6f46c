"""Commands in the forms of programs: JSON, tags, and the tool calls of the common families of models."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from shlex import quote
from typing import Any, NamedTuple, cast

_MOST_TRIED = 50  # tags, and places that JSON is read from, of one answer
_DEEPEST = 6  # values in values
_LONGEST_OPEN = 4_000  # characters of a tag that nothing closes
_LONGEST_CALL = 20_000  # characters of a call as Python writes it
_NAMES = ("name", "tool_name", "tool", "function", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "kwargs")
_COMMANDS = ("command", "cmd", "bash", "shell", "command_line", "commands", "code", "action", "execute", "run")
_CALLS = ("tool_calls", "tool_call", "function_call", "tool_uses", "function", "actions", *_ARGUMENTS)
_CHOICES = re.findall(
    r"\w+",
    "final_answer answer final_action next_action selected_action chosen_action best_action action_name act choice move"
    " decision selection selected label option response output",
)
_ANSWERS = ("answer", "final_answer", "final answer")
_TOOLS = frozenset(("tool_call", "function_call", "tool_use", "invoke", "tool_code", "function"))
_TAGGED = re.compile(
    r"<\|?(tool_call|function_call|tool_use|invoke|function|command|cmd|bash|sh|shell|execute_bash|execute|run|tool_code"
    r"|(?:(?:final|next|my|chosen|selected|best)[_-])?(?:action|answer|choice|move|decision|command)|act|response|output"
    r"|final|option|label)"
    r"(?:=([\w.:-]+)|[ \t]+(?:name|id)=[\"']([^\"'<>\n]*)[\"'])?(?:[ \t]+[\w-]+=[\"'][^\"'<>\n]*[\"'])*[ \t]*\|?(/?)>",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"<parameter(?:=([\w-]+)|[ \t]+name=[\"']([\w-]+)[\"'][^<>\n]*)>|<arg_key>([\w-]+)</arg_key>\s*<arg_value>"
)
_VALUE_ENDS = re.compile(r"</parameter>|</arg_value>")
_MARKED = re.compile(  # Mistral, Llama, Kimi, DeepSeek, Granite
    r"\[TOOL_CALLS\]|<\|python_tag\|>|<[|\uff5c]tool[_\u2581]calls?(?:_section)?[_\u2581]begin[|\uff5c]>|<\|tool_call\|>"
)
_CALLED = re.compile(  # the name that stands before the arguments
    r"(?:\[TOOL_CALLS\][ \t]*|functions\.|tool[_\u2581]sep[|\uff5c]>)([\w.-]+)(?:\[CALL_ID\]\w*)?(?::\d+)?[^\w{]*"
    r"(?:\[ARGS\]|<\|tool_call_argument_begin\|>|```json|json)?\s*\Z"
)
_PYTHON = re.compile(r"\s*\[?\s*(?:[A-Za-z_][\w.]*\(|\{\s*')")
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks into strings


class FoundJson(NamedTuple):
    """A JSON value in a text: where it begins and ends, and what it is; `broken` where it cannot be read."""

    start: int
    end: int
    value: object
    broken: bool = False


def json_values(text: str) -> Iterator[FoundJson]:
    """Yield the objects and lists in a text; of a broken one its first line, if it begins one."""
    at = 0
    for _ in range(_MOST_TRIED):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        start = opening.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            line = text.rfind("\n", 0, start) + 1
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            if text[start] == "{" and not text[line:start].strip():
                yield FoundJson(start, end, None, broken=True)
            at = start + 1
        else:
            yield FoundJson(start, at, value)


def as_object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def is_call(value: object) -> bool:
    content = as_object(value)
    return any(key in content for key in (*_NAMES, "type")) and any(key in content for key in (*_ARGUMENTS, "function"))


def commands_of(value: object, words: Collection[str] = (), depth: int = 0) -> Iterator[str]:
    """Yield the commands that a value names by the keys that models use, the likeliest first.

    `words` are those that begin commands: a tool of that name is one.
    """
    if depth > _DEEPEST:
        return
    if isinstance(value, int) and not isinstance(value, bool) and not words:
        yield str(value)
    elif isinstance(value, str):
        text = value.strip()
        found = next((each for each in json_values(text)), None) if text[:1] in ("{", "[") else None
        if found is not None and not found.broken and not found.start:
            yield from commands_of(found.value, words, depth + 1)
        elif text:
            yield text
    elif values := as_list(value):
        yield from _of_list(values, words, depth)
    elif content := as_object(value):
        yield from _of_object(content, words, depth)


def _of_object(given_value: Mapping[str, object], words: Collection[str], depth: int) -> Iterator[str]:
    content = {str(name).lower(): each for name, each in given_value.items()}
    name = next((each for key in _NAMES if isinstance(each := content.get(key), str)), "")
    given = next((content[key] for key in _ARGUMENTS if key in content), None)
    word = name.rpartition(".")[2].lower()
    if word in words and (given is not None or not set(_COMMANDS) & set(content) - {"action"}):
        yield with_arguments(word, given)
    if given is not None and (not isinstance(given, str) or given.lstrip()[:1] in ("{", "[")):
        yield from commands_of(given, words, depth + 1)
    for key in (*_COMMANDS, *_CALLS):
        each = content.get(key)
        if each is not None and not (key == "function" and each == name):
            yield from commands_of(each, words, depth + 1)
    for key, each in content.items():
        if key in _ANSWERS[1:] and "answer" in words and isinstance(each, str):
            yield with_arguments("answer", each)
        elif key in words and isinstance(each, str):
            yield with_arguments(key, each)
    if not words:
        for key in _CHOICES:
            if key in content:
                yield from commands_of(content[key], words, depth + 1)
        if name:
            yield from _of_listed_call(name, given)


def _of_listed_call(name: str, given: object) -> Iterator[str]:
    """Yield what a call of a tool may be as a listed command: its arguments alone, or its name before them."""
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        given = next((each.value for each in json_values(given)), None)
    values = [*as_object(given).values(), *as_list(given)]
    texts = [str(each) for each in values] if isinstance(given, Mapping | list) else [str(given or "")]
    if len(texts) == 1:
        yield texts[0]
    yield " ".join([name.replace("_", " "), *texts]).strip()


def _of_list(values: list[object], words: Collection[str], depth: int) -> Iterator[str]:
    texts = [each for each in values if isinstance(each, str)]
    if not texts or len(texts) < len(values):
        for each in values:
            yield from commands_of(each, words, depth + 1)
    elif texts[0] in ("bash", "sh", "zsh") and len(texts) > 2 and texts[1].startswith("-"):
        yield texts[2].strip()
    else:
        yield " ".join(map(quote, texts)) if texts[0] in words else "\n".join(texts)


def with_arguments(word: str, given: object) -> str:
    """Return a command and its arguments, each quoted where it needs to be."""
    values = [*as_object(given).values(), *as_list(given)]
    if isinstance(given, Mapping | list):
        texts = [str(each) for each in values if isinstance(each, str | int | float)]
        text = " ".join(texts if word == "answer" else map(quote, texts))
    else:
        text = given.strip() if isinstance(given, str) else ""
        if word in ("id", "cat", "cd") and " " in text and not set(text) & set("'\"\\"):
            text = quote(text)
    return f"{word} {text}".strip()


class Call(NamedTuple):
    """A tool call or a tag in a text: where it stands, its values, each a text or as `commands_of` takes it."""

    start: int
    end: int
    values: tuple[object, ...]
    tool: bool  # whether it is a tool call


def calls_in(said: str) -> Iterator[Call]:
    """Yield the tool calls and the tags of commands in a text."""
    marked = _MARKED.search(said)
    if marked is not None:
        end, values = marked.end(), list[object]()
        for found in json_values(said[marked.end() :]):
            begin = marked.end() + found.start
            called = _CALLED.search(said[max(marked.start(), begin - 200) : begin])
            if not found.broken:
                value: object = found.value
                many = as_list(value) or [value]
                values += [{"name": called[1], "arguments": each} for each in many] if called else many
                end = marked.end() + found.end
        if not values:
            end, values = len(said), list(python_calls(said[marked.end() :].partition("<|")[0]))
        if values:
            yield Call(marked.start(), end, tuple(values), tool=True)
    at, unclosed = 0, set[str]()
    for _ in range(_MOST_TRIED):
        tag = _TAGGED.search(said, at)
        if tag is None:
            return
        name = tag[1].lower()
        closes = re.compile(rf"</\|?{name}\|?>|<\|/{name}\|>", re.IGNORECASE)
        closing = None if name in unclosed else closes.search(said, tag.end())
        unclosed |= set() if closing else {name}
        end = closing.start() if closing else min(len(said), tag.end() + _LONGEST_OPEN)
        at = tag.end()
        if tag[4]:  # `<action name="a"/>`
            yield Call(tag.start(), at, (tag[3] or "",), tool=False)
            continue
        values = _of_tag(name, tag[2] or tag[3] or "", said[tag.end() : end])
        if values:
            at = closing.end() if closing else end
            yield Call(tag.start(), at, tuple(values), name in _TOOLS)


def _of_tag(tag: str, name: str, body: str) -> list[object]:
    """Return the values of a tag with a body; of one that is about several, none: the tags in it are read next."""
    given: dict[str, object] = {}
    for parameter in islice(_PARAMETER.finditer(body), _MOST_TRIED):
        closing = _VALUE_ENDS.search(body, parameter.end())
        value = body[parameter.end() : closing.start() if closing else len(body)]
        given[next(each for each in parameter.groups() if each)] = value.strip()
    if given:
        name = name or body[: body.find("<")].strip()
        return [{"name": name, "arguments": given} if name else given]
    text = body.strip()
    if text[:1] in ("{", "["):
        value = next((each.value for each in json_values(text)), None) or next(python_calls(text), None)
        return [] if value is None else [{"name": name, "arguments": value} if name and not is_call(value) else value]
    if tag in _TOOLS:
        called = list(python_calls(text))
        return called or ([{"name": name, "arguments": text}] if name else [])
    if tag in _ANSWERS and text:
        return [{"answer": text}]
    return [text] if text and not text.startswith("<") else []


def python_calls(text: str) -> Iterator[object]:
    """Yield the calls or the object that a text is in Python's form: `act(command="ls")`, `{'command': 'ls'}`."""
    if len(text) > _LONGEST_CALL or not _PYTHON.match(text):
        return
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
        for each in parsed.elts if isinstance(parsed, ast.List) else [parsed]:
            call = each
            if isinstance(call, ast.Dict):
                yield ast.literal_eval(call)
            while isinstance(call, ast.Call) and ast.unparse(call.func) == "print" and len(call.args) == 1:
                call = call.args[0]
            if isinstance(call, ast.Call):
                name = ast.unparse(call.func).rpartition(".")[2]
                given = [ast.literal_eval(arg) for arg in call.args]
                named = {str(arg.arg): ast.literal_eval(arg.value) for arg in call.keywords}
                yield {"name": name, "arguments": named or given}
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return
