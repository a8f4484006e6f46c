"""What models are asked, and what they write around an answer: thoughts, tokens of templates, JSON in the text.

Reading takes time by the length of the text, whatever it holds.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

_TAGS = "think(?:ing)?|thought|reasoning|analysis|scratchpad"
_OPENS = re.compile(rf"\s*<({_TAGS})>", re.IGNORECASE)
_CLOSES = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)
_TAG = re.compile(rf"</?(?:{_TAGS})>", re.IGNORECASE)
# gpt-oss: `<|channel|>analysis<|message|>…<|end|>`.
_MESSAGE = re.compile(
    r"<\|channel\|>([^<]*+)(?:<\|constrain\|>[^<]*+)?<\|message\|>((?:[^<]++|<(?!\|(?:end|return|call|start|channel)\|>))*+)"
)
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|return|end_of_text)\|>|<\uff5cend\u2581of\u2581sentence\uff5c>|<end_of_turn>"
    r"|<eos>|</s>\s*\Z"
)
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"  # spaces of no width
_OPENING = re.compile(r"[{\[]")
_MOST_TRIED = 50  # places of one text that JSON is read from
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks into strings


@cache
def prompt_texts(package: str) -> dict[str, Any]:
    """Return the texts of prompts that a package has in its `prompts.toml`."""
    return tomllib.loads(resources.files(package).joinpath("prompts.toml").read_text(encoding="utf-8"))


class Said(NamedTuple):
    """A text in its two parts, and whether the thought has an end."""

    thought: str
    said: str
    finished: bool = True


def split_thought(text: str) -> Said:
    """Return what a model thought and what it said: the text after a closing tag, or in the final channel."""
    text = text.replace("\r\n", "\n").strip().strip(_INVISIBLE)
    messages = list(_MESSAGE.finditer(text)) if "<|channel|>" in text else []
    if messages:
        last = messages[-1]
        thought = "\n".join(each[2].strip() for each in messages[:-1])
        if last[1].strip() in ("analysis", "") and len(messages) == 1:
            return Said(last[2].strip(), "", False)
        return Said(thought, last[2].strip())
    if text.startswith("analysis") and "assistantfinal" in text:  # the same without its marks
        thought, _, said = text.removeprefix("analysis").partition("assistantfinal")
        return Said(thought.strip(), said.strip())
    closing = _CLOSES.search(text)
    opening = _OPENS.match(text)
    if closing is not None:
        thought, said = text[: closing.start()], text[closing.end() :]
        return Said(_TAG.sub("", thought).strip(), _without_end(said))
    if opening is not None:
        return Said(_without_end(text[opening.end() :]), "", False)
    return Said("", _without_end(text))


def _without_end(text: str) -> str:
    """Return a text up to the mark of its end: what follows was never asked for."""
    text = text.strip().strip(_INVISIBLE)
    end = _END.search(text)
    return text[: end.start()].strip() if end is not None and end.start() else text


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
