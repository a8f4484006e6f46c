"""Reads what a chat endpoint sends, which may have any shape: a completion, a stream of one, an error, or nonsense.

Only a reply that says of itself that it is whole is an answer. One that its own limit of tokens cut is the model's
fault; everything else is a `Problem` of the provider, and is asked for again.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple, cast

MAX_BODY = 16 << 20  # bytes of one response, unpacked
IS_IT_ONE = "is it an OpenAI-compatible endpoint?"
Kind = Literal["passing", "unlikely", "lasting", "context", "refused"]
_SAID = 300  # characters of an endpoint's own words
_WHOLE = {
    *("stop", "stop_sequence", "end_turn", "eos", "eos_token", "complete"),
    *("tool_calls", "tool_use", "function_call"),
}
_CUT = {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|exceed_context|maximum context|(?:prompt|input|messages?) (?:is|are) too (?:long|"
    r"large)|request (?:entity )?too large|reduce (?:the length|your message)|string_above_max_length|max_prompt_tokens"
    r"|input (?:tokens?|length)[^.]{0,60}exceed|maximum (?:allowed )?input length",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content.?(?:filter|management policy|policy.violation)|ResponsibleAIPolicy|requires moderation|flagged"
    r"|safety (?:system|filter|setting)|prohibited.content",
    re.IGNORECASE,
)
_REMEDIES = {
    re.compile("max_completion_tokens"): "set max_completion_tokens in place of max_tokens",
    re.compile(r"system.{0,30}(?:role|message|prompt|instruction)|roles must alternate", re.I): "set system=false",
}


class Bill(NamedTuple):
    """Tokens as an endpoint counts them: of prompts, of answers, in totals alone; and replies that count none."""

    read: int = 0
    written: int = 0
    other: int = 0
    uncounted: int = 0

    @property
    def tokens(self) -> int:
        return self.read + self.written + self.other

    @property
    def words(self) -> str:
        totals = f", {self.other:,} in totals" * bool(self.other)
        uncounted = f"; {self.uncounted:,} answers came without a count" * bool(self.uncounted)
        return f"{self.read:,} read, {self.written:,} written{totals}{uncounted}"

    def plus(self, more: Bill) -> Bill:
        return Bill(*(mine + theirs for mine, theirs in zip(self, more, strict=True)))

    def cost(self, read: float, written: float) -> float:
        return (self.read * read + (self.written + self.other) * written) / 1e6


class Problem(Exception):  # noqa: N818 - becomes a UsageError with the address in front
    """Why a request gave no answer. `why` follows the address of the endpoint.

    Attributes:
        kind: `passing` (another request may help), `unlikely` (so for an endpoint that has answered before), `lasting`
            (none helps), `context` (the prompt is too long) or `refused` (the provider's filter).
        pause: The seconds after which the endpoint wants to be asked again, or None.
        bill: What the reply counts all the same.
    """

    def __init__(self, why: str, kind: Kind = "passing", *, pause: float | None = None, remedy: str = "") -> None:
        super().__init__(why)
        self.why, self.kind, self.pause, self.remedy = why, kind, pause, remedy
        self.bill = Bill()


class ChatReply(NamedTuple):
    """A whole answer, or one that its own limit of tokens `cut`: its message, and what it took."""

    message: dict[str, Any]
    cut: bool = False
    bill: Bill = Bill()

    @property
    def text(self) -> str:
        """The answer as one text: tool calls as `<tool_call>{...}</tool_call>`, a thought in `<think>` tags.

        What was cut is a thought, too: nobody knows how it would have gone on.
        """
        message = self.message
        calls = [*(each["function"] for each in message.get("tool_calls", ())), message.get("function_call")]
        shown = (f"<tool_call>{json.dumps(call, ensure_ascii=False)}</tool_call>" for call in calls if call)
        said = "\n".join(each for each in (message["content"], *shown) if each)
        if said and not self.cut:
            return said
        thought = "\n".join(each for each in (message.get("reasoning_content"), said) if each)
        why = "was cut at its limit: allow more tokens" if self.cut else "holds no text"
        parts = (f"<think>\n{thought}\n</think>" if thought else "", message.get("refusal"), f"[the answer {why}]")
        return "\n".join(each for each in parts if each)


def plain(text: str) -> str:
    """Return foreign text with its control characters escaped, or it could steer the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> Problem:
    found = _parsed(body)
    error = _member(found, "error") or found
    said = _words_of(error) or body.decode("utf-8", "backslashreplace")
    return _problem(f"answers with status {status}", error, said, status, headers)


def _error(error: object) -> Problem:
    code = _member(error, "code") or _member(error, "type") or ""
    status = int(str(code)) if re.fullmatch("[1-9][0-9]{2}", str(code)) else 0
    shown = f" ({plain(str(code))[:60]})" if code else ""
    return _problem(f"answers with an error{shown}", error, _words_of(error), status, {})


def _problem(why: str, error: object, said: str, status: int, headers: Mapping[str, str]) -> Problem:
    passing = status >= 500 or 200 <= status < 300 or status in (408, 409, 425, 429)
    kind: Kind = "passing" if passing else "lasting" if status else "unlikely"
    known = f"{_member(error, 'code')} {_member(error, 'type')} {json.dumps(error) if error else said}"[: 10 * _SAID]
    if _QUOTA.search(known):
        kind = "lasting"
    elif status == 413 or _TOO_LONG.search(known):
        kind = "context"
    elif status in (0, 400, 403, 422) and _FILTERED.search(known):
        kind = "refused"
    remedy = next((told for pattern, told in _REMEDIES.items() if kind == "lasting" and pattern.search(known)), "")
    return Problem(f"{why}: {plain(' '.join(said.split()))[:_SAID]}", kind, pause=pause_asked(headers), remedy=remedy)


def pause_asked(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which an endpoint wants to be asked again: a number of them, or a date."""
    after = headers.get("retry-after", "").strip()
    for value, unit in ((headers.get("retry-after-ms", ""), 0.001), (after.removesuffix("s"), 1.0)):
        try:
            if (seconds := float(value) * unit) >= 0:  # no NaN either
                return seconds
        except ValueError:
            continue
    try:
        return max(parsedate_to_datetime(after).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def completion_of(body: bytes) -> ChatReply:
    """Return the answer that is in a body, or raise what is wrong with it, with what it counts."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    is_stream = body.lstrip()[:1] in (b"d", b"e", b":", b"i", b"r")
    done = _joined(body.decode("utf-8", "backslashreplace")) if is_stream else _parsed(body)
    bill = _bill(_member(done, "usage"))
    try:
        return ChatReply(*_answer(done), bill)
    except Problem as problem:
        problem.bill = bill._replace(uncounted=0)
        raise


def _answer(done: object) -> tuple[dict[str, Any], bool]:
    """Return the message of a reply that says that it is whole, or cut at its limit of tokens."""
    choices = _items(done, "choices")
    choice = _of_index_0(choices)
    message = _member(choice, "message")
    for place in (done, *choices, message):
        if error := _member(place, "error") or _member(place, "errors"):
            raise _error(error)
    if "error" in (_member(done, "object"), _member(done, "type")):
        raise _error(done)
    if not isinstance(_member(done, "choices"), list):
        raise Problem("answers with what is no chat completion", "unlikely", remedy=IS_IT_ONE)
    if not (isinstance(_member(choice, "message"), dict) or _text(_member(choice, "text"))):
        raise Problem("returned no choices", "unlikely", remedy=IS_IT_ONE)
    finish = _member(choice, "finish_reason")
    name = _text(finish).casefold()
    if name in _CUT or name in _WHOLE or "finish_reason" not in cast("dict[str, object]", choice):
        return _normal(choice, message), name in _CUT  # JSON that has an end is whole where nothing else is said
    why = f"interrupts its answer (finish_reason {plain(str(finish))[:40]!r})"
    raise Problem(why, "refused" if _FILTERED.search(name) else "passing")


def _normal(choice: object, message: object) -> dict[str, Any]:
    said, thought = _texts(message)
    called = (_member(call, "function") or _member(call, "custom") or call for call in _items(message, "tool_calls"))
    more = {
        "reasoning_content": thought,
        "refusal": _text(_member(message, "refusal")),
        "tool_calls": [{"type": "function", "function": each} for each in called if _member(each, "name")],
        "function_call": _member(message, "function_call"),
    }
    content = said or _text(_member(choice, "text"))
    return {"role": "assistant", "content": content, **{name: each for name, each in more.items() if each}}


def _words_of(error: object) -> str:
    if isinstance(error, str):
        return error
    said = _text(_member(error, "message")) or _text(_member(error, "detail"))
    raw = _text(_member(_member(error, "metadata"), "raw"))
    if said:
        return f"{said} ({raw})" if raw and raw != said else said
    return json.dumps(error) if error else ""


def _parsed(body: bytes | str) -> object:
    try:
        return cast("object", json.loads(body))
    except (ValueError, RecursionError):  # no JSON, or nested too deep
        return None


def _texts(message: object) -> tuple[str, str]:
    said = _text(_member(message, "content"))
    thought = _text(_member(message, "reasoning_content")) or _text(_member(message, "reasoning"))
    for each in _items(message, "content"):
        text = _text(_member(each, "text"))
        if _member(each, "type") in ("thinking", "reasoning"):
            thought += _text(_member(each, "thinking")) or text
        else:
            said += text
    return said, thought


def _events(text: str) -> Iterator[tuple[str, object]]:
    """Yield the name and the content of each event of a stream, up to `[DONE]`, which has no content."""
    name, data = "", list[str]()
    for line in [*re.split(r"\r\n|\r|\n", text), ""]:
        field, _, value = line.partition(":")
        if field == "event":
            name = value.strip()
        elif field == "data":
            data.append(value.removeprefix(" "))
        elif not line:
            whole = "\n".join(data)
            # Some servers end an event with its line; the lines of others make one event together.
            for piece in data if len(data) > 1 and _parsed(whole) is None else [whole] * bool(data):
                if piece.strip() == "[DONE]":
                    yield name, None
                    return
                yield name, _parsed(piece) or piece
            name, data = "", []


def _joined(text: str) -> dict[str, object]:
    """Return the completion that a stream of events makes up. Raises a `Problem` for one without its end."""
    texts = dict.fromkeys(("content", "reasoning_content", "refusal"), "")
    calls: dict[int, dict[str, str]] = {}
    legacy = {"name": "", "arguments": ""}
    whole: dict[str, object] = {}
    finish: object = None
    done = False
    for name, event in _events(text):
        done = event is None
        if done or name == "ping":
            continue
        known = any(_member(event, each) is not None for each in ("choices", "usage"))
        strange = {"message": f"a piece of its stream is none of an answer: {name} {event}"[:_SAID]}
        odd = None if known and name in ("", "message") else strange
        choices = _items(event, "choices")
        errors = [_member(each, said) for each in (event, *choices) for said in ("error", "errors")]
        whole["error"] = whole.get("error") or next(filter(None, errors), odd)
        whole["usage"] = _member(event, "usage") or whole.get("usage")
        choice = _of_index_0(choices, alone=True)
        finish = _member(choice, "finish_reason") or finish
        delta = _member(choice, "delta") or _member(choice, "message")
        pieces = (*_texts(delta), _text(_member(delta, "refusal")))
        for kind, piece in zip(texts, (pieces[0] or _text(_member(choice, "text")), *pieces[1:]), strict=True):
            texts[kind] += piece
        for place, call in enumerate(_items(delta, "tool_calls")):
            index = _member(call, "index")
            begun = calls.setdefault(index if isinstance(index, int) else place, {"name": "", "arguments": ""})
            _extend(begun, _member(call, "function"))
        _extend(legacy, _member(delta, "function_call"))
    if finish is None and not done:
        raise Problem("ends its stream in the middle of an answer")
    message = {**texts, "tool_calls": [{"function": each} for each in calls.values()]}
    message |= {"function_call": legacy} if legacy["name"] else {}
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": finish or "stop"}]}


def _extend(known: dict[str, str], piece: object) -> None:
    """Add a piece of a call; some servers repeat the name in each, or give the arguments at once."""
    name, arguments = _text(_member(piece, "name")), _member(piece, "arguments")
    known["name"] += name if name != known["name"] else ""
    known["arguments"] += json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)


def _of_index_0(choices: list[object], alone: bool = False) -> object:
    """Return the choice that says index 0, or the first that says none; unless `alone`, any other in its absence."""
    first = [each for each in choices if _member(each, "index") == 0]
    unsaid = [each for each in choices if not isinstance(_member(each, "index"), int)]
    return next(iter([*first, *unsaid, *([] if alone else choices)]), None)


def _member(content: object, name: str) -> object:
    return cast("dict[str, object]", content).get(name) if isinstance(content, dict) else None


def _items(content: object, name: str) -> list[object]:
    found = _member(content, name)
    return cast("list[object]", found) if isinstance(found, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _bill(usage: object) -> Bill:
    """Return what a reply counts, whatever the names; caches count beside `input_tokens`."""
    names = (("prompt", "input"), ("completion", "output"), ("total",))
    found = [next((n for name in few if (n := _count(usage, name)) is not None), None) for few in names]
    if not any(each is not None for each in found):
        return Bill(uncounted=1)
    read, written, total = (each or 0 for each in found)
    read += sum(_count(usage, f"cache_{what}_input") or 0 for what in ("creation", "read"))
    return Bill(read, written, max(total - read - written, 0))


def _count(usage: object, name: str) -> int | None:
    number = _member(usage, f"{name}_tokens")
    try:
        found = int(float(number)) if isinstance(number, int | float | str) and not isinstance(number, bool) else -1
    except (ValueError, OverflowError):
        return None
    return found if 0 <= found < 1 << 53 else None
