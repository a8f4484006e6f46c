"""Reads what a chat endpoint sends, which may have any shape: a completion, a stream of one, an error, or nonsense."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple, cast

MAX_BODY = 16 << 20  # bytes of one response, unpacked
_TRIED_AGAIN = frozenset({408, 409, 429})  # and every status from 500 on
_SAID = 300  # characters of an endpoint's own words
_PASSING = re.compile(r"rate|overload|server|timeout|unavailable|capacity|too many", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)
_AGAIN_IN = re.compile(
    r"(?:again in|retry (?:in|after)|retryDelay\W{1,5})\s*((?:[\d.]+\s*[a-z]+\s*){1,3})", re.IGNORECASE
)
_UNITS = {"ms": 0.001, "milliseconds": 0.001, "s": 1.0, "seconds": 1.0, "m": 60.0, "minutes": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([\d.]+)\s*(ms|milliseconds?|s|seconds?|m|minutes?|h)(?![a-z])", re.IGNORECASE)
IS_IT_ONE = "is it an OpenAI-compatible endpoint?"


class Problem(Exception):  # noqa: N818 - becomes a UsageError with the address in front
    """Why a request gave no answer, and how long to wait before the next: `pause` seconds; None: another is of no use.

    `why` follows the address of the endpoint; `asked` says whether the endpoint itself asked for the pause.
    """

    def __init__(self, why: str, pause: float | None = 0.0, *, asked: bool = False, remedy: str = "") -> None:
        super().__init__(why)
        self.why, self.pause, self.asked, self.remedy = why, pause, asked, remedy

    def told(self, attempts: int) -> str:
        """Return the reason, after so many requests, and the remedy."""
        return f"{self.why} ({attempts} times): {self.remedy}" if self.remedy else self.why


class Completion(NamedTuple):
    """An answer: its text, the tokens it took, and what its reader should know of it."""

    text: str
    read: int
    written: int
    notice: str = ""


def plain(text: str) -> str:
    """Return foreign text with its control characters escaped, or it could steer the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def unpacked(body: bytes, encoding: str) -> bytes:
    """Return a body as it was before it was packed, up to `MAX_BODY` bytes and one more."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity") and body[:2] != b"\x1f\x8b":
        return body
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise Problem(f"answers with a body packed by {plain(encoding)[:40]!r}, which is not read here", None)
    for bits in (47, -15):  # with a header of gzip or zlib, and without any
        try:
            return zlib.decompressobj(bits).decompress(body, MAX_BODY + 1)
        except zlib.error:
            continue
    return body


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> Problem:
    """Return what a response with an error status means."""
    error = _parsed(body)
    error = _member(error, "error") or error
    said = _words_of(error) or body.decode("utf-8", "backslashreplace")
    pause = None if _is_quota(error, said) else _pause_of(status)
    return _problem(f"answers with status {status}", said, pause, headers)


def _problem(why: str, said: str, pause: float | None, headers: Mapping[str, str]) -> Problem:
    """Return a problem with the pause that the endpoint asks for, if it is of use to ask again at all."""
    asked = None if pause is None else pause_asked(headers, said)
    short = plain(" ".join(said.split()))[:_SAID]
    return Problem(f"{why}: {short}", pause if asked is None else asked, asked=bool(asked))


def pause_asked(headers: Mapping[str, str], said: str) -> float | None:
    """Return the seconds after which an endpoint wants to be asked again, in whatever form it says so."""
    after = headers.get("retry-after", "").strip()
    for value, unit in ((headers.get("retry-after-ms", ""), 0.001), (after, 1.0)):
        try:
            seconds = float(value) * unit
        except ValueError:
            continue
        if seconds >= 0:  # no NaN either
            return seconds
    try:
        return max(parsedate_to_datetime(after).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    told = _AGAIN_IN.search(said[: 10 * _SAID])
    return _seconds(after) or (_seconds(told[1]) if told else None) or _seconds(_reset(headers))


def _reset(headers: Mapping[str, str]) -> str:
    """Return when a limit that is used up begins anew."""
    for what in ("requests", "tokens"):
        reset = headers.get(f"x-ratelimit-reset-{what}")
        if reset and headers.get(f"x-ratelimit-remaining-{what}", "0").strip() == "0":
            return reset
    return ""


def _seconds(text: str) -> float | None:
    parts = _DURATION.findall(text)
    try:
        units = [_UNITS.get(unit.lower()) or _UNITS[f"{unit.lower()}s"] for _, unit in parts]
        return sum(float(number) * unit for (number, _), unit in zip(parts, units, strict=True)) if parts else None
    except ValueError:  # several points in one number
        return None


def completion_of(body: bytes) -> Completion:
    """Return the answer that is in a body."""
    done = _joined(body) if body.lstrip()[:1] in (b"d", b"e", b":", b"i") else _parsed(body)  # a stream of events
    choice = _first(done, "choices")
    message = _member(choice, "message")
    text, thought = _texts(message)
    text = text or _text(_member(choice, "text"))
    calls = _calls(message)
    error = _member(done, "error") or _member(choice, "error")
    if error and not text and not calls:
        raise _error(error)
    if not isinstance(_member(done, "choices"), list):
        raise Problem("answers with what is no chat completion", remedy=IS_IT_ONE)
    if choice is None:
        raise Problem("returned no choices", remedy=IS_IT_ONE)
    read, written = (_count(_member(done, "usage"), f"{what}_tokens") for what in ("prompt", "completion"))
    finish = plain(_text(_member(choice, "finish_reason")))[:40]
    refused = _text(_member(message, "refusal"))
    if not text and not calls:
        parts = [f"<think>\n{thought}\n</think>" if thought else "", refused]
        why = f"finish_reason {finish!r}" + (": allow more tokens" if finish == "length" else "")
        parts.append(f"[the answer holds no text; {why}]" if finish else "[the answer holds no text]")
        return Completion("\n".join(each for each in parts if each), read, written)
    notice = f"the answer was cut (finish_reason {finish!r})" if finish in ("length", "content_filter") else ""
    return Completion("\n".join(each for each in (text, *calls) if each), read, written, notice)


def _error(error: object) -> Problem:
    """Return what an error means that came with the status of success."""
    said = _words_of(error)
    code = _member(error, "code") or _member(error, "type") or ""
    status = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isascii() and code.isdigit()) else 0
    passing = _pause_of(status) is not None or (not status and bool(_PASSING.search(f"{code} {said}")))
    shown = f" ({plain(str(code))[:60]})" if code else ""
    pause = 0.0 if passing and not _is_quota(error, said) else None
    return _problem(f"answers with an error{shown}", said, pause, {})


def _pause_of(status: int) -> float | None:
    return 0.0 if status >= 500 or status in _TRIED_AGAIN else None


def _is_quota(error: object, said: str) -> bool:
    return bool(_QUOTA.search(f"{_member(error, 'code')} {_member(error, 'type')} {said}"))


def _words_of(error: object) -> str:
    """Return the message of an error, and what stands behind it."""
    if isinstance(error, str):
        return error
    said = _text(_member(error, "message")) or _text(_member(error, "detail"))
    raw = _text(_member(_member(error, "metadata"), "raw"))
    if said:
        return f"{said} ({raw})" if raw and raw != said else said
    return json.dumps(error) if error else ""


def _parsed(body: bytes) -> object:
    try:
        return cast("object", json.loads(body))
    except (ValueError, RecursionError):  # no JSON, or nested too deep
        return None


def _texts(message: object) -> tuple[str, str]:
    """Return the text of a message, whole or in parts, and what was thought before."""
    said = _text(_member(message, "content"))
    thought = _text(_member(message, "reasoning_content")) or _text(_member(message, "reasoning"))
    for each in _items(message, "content"):
        text = _text(_member(each, "text"))
        if _member(each, "type") in ("thinking", "reasoning"):
            thought += _text(_member(each, "thinking")) or text
        else:
            said += text
    return said, thought


def _calls(message: object) -> list[str]:
    """Return the tool calls of a message as text: nobody here gave it tools, but a model may know them by heart."""
    calls = _items(message, "tool_calls")
    found = [_member(call, "function") or _member(call, "custom") or call for call in calls]
    found.append(_member(message, "function_call"))
    return [f"<tool_call>{json.dumps(each, ensure_ascii=False)}</tool_call>" for each in found if _member(each, "name")]


def _joined(body: bytes) -> object:
    """Return the completion that a stream of events makes up."""
    texts: dict[str, str] = {}
    calls: dict[object, dict[str, str]] = {}
    whole: dict[str, object] = {}
    finish: object = None
    for event in (_parsed(line[5:]) for line in body.split(b"\n") if line.startswith(b"data:")):
        whole.update({name: each for name in ("error", "usage") if (each := _member(event, name))})
        choice = _first(event, "choices")
        if choice is None:
            continue
        finish = _member(choice, "finish_reason") or finish
        delta = _member(choice, "delta") or _member(choice, "message")
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            piece = _texts(delta)[0] if name == "content" else _text(_member(delta, name))
            texts[name] = texts.get(name, "") + piece
        for call in _items(delta, "tool_calls"):
            index = _member(call, "index")
            known = calls.setdefault(index if isinstance(index, int) else 0, {"name": "", "arguments": ""})
            for name in known:
                known[name] += _text(_member(_member(call, "function"), name))
        message = {**texts, "tool_calls": [{"function": each} for each in calls.values()]}
        whole["choices"] = [{"message": message, "finish_reason": finish}]
    return whole


def _member(content: object, name: str) -> object:
    return cast("dict[str, object]", content).get(name) if isinstance(content, dict) else None


def _items(content: object, name: str) -> list[object]:
    found = _member(content, name)
    return cast("list[object]", found) if isinstance(found, list) else []


def _first(content: object, name: str) -> object:
    return next(iter(_items(content, name)), None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(usage: object, name: str) -> int:
    number = _member(usage, name)
    return number if isinstance(number, int) and 0 <= number < 1 << 53 else 0
