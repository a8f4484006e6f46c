"""Separates what a model thought from its answer: tags of thoughts, channels, tokens of templates.

The time grows with the length of the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from natlang_envs.answers.calls import as_list, as_object

_NAMES = "(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratchpad|reflection|rationale|monologue|seed:think)"
_TAG = re.compile(  # `</think>` in quotes is a text about the tag; the first character comes first for speed
    rf"[<\[\u25c1](?<!['\"`].)(?:(?<=<)(/?){_NAMES}[ \t]*>|(?<=\[)(/?)THINK\]|(?<=\u25c1)(/?)think\u25b7"
    r"|(?<=<)\|(?:begin_of_|START_|(end_of_|END_))(?:thought|THINKING)\|>)",
    re.IGNORECASE,
)
# gpt-oss: `<|start|>assistant<|channel|>analysis<|message|>…<|end|>`.
_MESSAGE = re.compile(
    r"(?:<\|start\|>([^<]*+))?<\|channel\|>([^<]*+)(?:<\|constrain\|>[^<]*+)?<\|message\|>"
    r"((?:[^<]++|<(?!\|(?:end|return|call|start|channel)\|>))*+)"
)
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([\w.-]+)")
_BEGIN = re.compile(  # before an answer
    r"(?:\s*+(?:<s>|<bos>|<\|begin_of_text\|>|\[/INST\]|<\|assistant\|>|<start_of_turn>model"
    r"|<\|(?:im_start|start_header_id|start)\|>assistant(?:<\|end_header_id\|>)?))*+"
)
_END = re.compile(  # after one, or before the next turn
    r"<\|(?:im_end|im_start|eot_id|eom_id|eot|end|endoftext|return|end_of_text|end_of_turn|END_OF_TURN_TOKEN|user|system"
    r"|observation|start_header_id)\|>|<\uff5c(?:end\u2581of\u2581sentence|User)\uff5c>|<(?:end|start)_of_turn>|<eos>|\[/?INST\]"
    r"|</s>(?=\s*(?:\Z|<s>|\[INST\]|\n))"
)
INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"  # characters of no width


class Spoken(NamedTuple):
    """An answer in its parts.

    Attributes:
        thought: What was thought before.
        said: What was said.
        finished: Whether the thought has an end.
        calls: The tool calls of the message, each with a `name` and `arguments`.
    """

    thought: str
    said: str
    finished: bool = True
    calls: tuple[Mapping[str, Any], ...] = ()


def split_thought(answer: str | Mapping[str, Any]) -> Spoken:
    """Return what a model thought and what it said: the text outside of the tags of a thought, or in the final channel.

    Args:
        answer: A text or a message; see `read_answer`.
    """
    if not isinstance(answer, str):
        text, thought, calls = _of_message(answer)
        inner = split_thought(text)
        return inner._replace(thought=_joined(thought, inner.thought), calls=(*calls, *inner.calls))
    text = answer.replace("\r\n", "\n").strip().strip(INVISIBLE)
    messages = list(_MESSAGE.finditer(text)) if "<|channel|>" in text else []
    if messages:
        return _of_channels(messages)
    if text.startswith("analysis") and text[8:9].isupper():  # the same without its marks
        thought, final, said = text[8:].partition("assistantfinal")
        return Spoken(thought.strip(), said.strip(), bool(final))
    return _outside_tags(text)


def _of_channels(messages: list[re.Match[str]]) -> Spoken:
    """Return what the messages of one answer say: a call, or the last one that is no analysis."""
    last = messages[-1]
    head = f"{last[1] or ''} {last[2]}"
    thought = _joined(*(each[3] for each in messages[:-1]))
    called = _RECIPIENT.search(head)
    if called is not None:
        return Spoken(thought, "", calls=({"name": called[1], "arguments": last[3].strip()},))
    if last[2].split()[:1] != ["final"]:
        return Spoken(_joined(thought, last[3]), "", last[2].split()[:1] == ["commentary"])
    return Spoken(thought, _without_tokens(last[3]))


def _outside_tags(text: str) -> Spoken:
    thoughts: list[str] = []
    said: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        closes = any(tag.groups())
        if not closes and inside:
            continue
        (thoughts if inside else said).append(text[at : tag.start()])
        if closes and not inside:  # its beginning was in the prompt
            thoughts += said
            said = []
        at, inside = tag.end(), not closes
    (thoughts if inside else said).append(text[at:])
    rest = "\n".join(filter(None, map(str.strip, said)))
    if inside:
        return Spoken(_joined(rest, *thoughts), "", False)
    return Spoken(_joined(*thoughts), _without_tokens(rest))


def _without_tokens(text: str) -> str:
    """Return a text up to the mark of its end: what follows was never asked for."""
    begin = _BEGIN.match(text)
    text = text[begin.end() if begin else 0 :].strip().strip(INVISIBLE)
    end = _END.search(text)
    return text[: end.start()].strip() if end is not None else text


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, (each.strip() for each in parts)))


def _of_message(message: Mapping[str, Any]) -> tuple[str, str, list[Mapping[str, Any]]]:
    content = message.get("content")
    texts = [content] if isinstance(content, str) else []
    thoughts = [each for key in ("reasoning_content", "reasoning") if isinstance(each := message.get(key), str)][:1]
    given: list[object] = [*as_list(message.get("tool_calls")), message.get("function_call")]
    for part in as_list(content):
        item = as_object(part)
        kind, text = item.get("type"), item.get("text")
        if kind in ("thinking", "reasoning"):
            thought = item.get("thinking") or item.get("reasoning") or text
            inner = [as_object(each).get("text") for each in as_list(thought)]
            thoughts += [each for each in (thought, *inner) if isinstance(each, str)]
        elif kind in ("tool_use", "function_call", "tool_call"):
            given.append(part)
        elif isinstance(text, str):
            texts.append(text)
    calls: list[Mapping[str, Any]] = []
    for each in map(as_object, given):
        call = as_object(each.get("function") or each.get("custom") or each)
        if isinstance(call.get("name"), str):
            arguments = next((call[key] for key in ("arguments", "input") if call.get(key) is not None), "")
            calls.append({"name": call["name"], "arguments": arguments})
    return "".join(texts), "\n".join(thoughts), calls
