"""A server of chat models on loopback, whose answers have every shape that servers and models give them.

    with chat_server(lambda request: "move south") as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        # natlang evaluate --agent react:sse …: the command comes as a stream of events

The model's name chooses a shape of `SHAPES`, or a form of `answer_forms.FORMS` (`form:JSON`). `NAME@20` gives it to one
request in twenty, and the plain shape to all others. A shape says what a client is to make of it (`meant`).
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple

from natlang_envs.conformance.answer_forms import FORMS

ReplyMeaning = Literal["read", "again", "stop", "cut", "context", "refused", "no command"]
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


class ShapeRequest(NamedTuple):
    """What a shape is made of: the command, a text with it, how often this model was asked, and the request."""

    command: str
    text: str
    number: int = 1
    request: dict[str, Any] = {}  # noqa: RUF012 - never changed


class Sent(NamedTuple):
    """A response; `ending` is `closed`, `reset`, `dropped`, `unsized` or `chunked`, for how its connection ends."""

    body: bytes
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    ending: str = ""
    wait: float = 0.0


Send = Callable[[ShapeRequest], Sent]


class Shape(NamedTuple):
    meant: ReplyMeaning
    send: Send


def sent(content: object, status: int = 200, **more: Any) -> Sent:
    return Sent(json.dumps(content).encode(), status, **more)


def completion(text: object, finish: str | None = "stop", usage: object = USAGE, **message: Any) -> dict[str, Any]:
    """Return a completion; `message` are further members of its message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {**whole, "usage": usage} if usage is not None else whole


def error(message: str, status: int = 400, **more: Any) -> Sent:
    return sent({"error": {"message": message, **more}}, status)


def delta(finish: str | None = None, **content: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": content, "finish_reason": finish}]}


def stream(*events: object, done: bool = True, end: str = "\n\n", begin: str = "") -> Sent:
    """Return a stream of events; texts among them are sent as they are."""
    lines = [each if isinstance(each, str) else f"data: {json.dumps(each)}" for each in events]
    text = "".join(f"{line}{end}" for line in [*lines, *["data: [DONE]"] * done])
    return Sent((begin + text).encode(), kind="text/event-stream")


def _call(command: str) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "act", "arguments": json.dumps({"command": command})}}


def _call_pieces(command: str) -> list[dict[str, Any]]:
    function = _call(command)["function"]
    parts = [{"arguments": each} for each in re.findall(".{1,4}", function["arguments"])]
    pieces = [{"index": 0, "function": each} for each in ({**function, "arguments": ""}, *parts)]
    return [delta(tool_calls=[each]) for each in pieces]


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _plain(asked: ShapeRequest) -> Sent:
    return sent(completion(asked.text))


def _choice(**more: Any) -> dict[str, Any]:
    return {**completion(""), "choices": [more]}


def _once(failing: Sent) -> Send:
    """Return a shape that fails for one request in four."""
    return lambda a: failing if a.number % 4 == 2 else _plain(a)


def _message(**message: Any) -> Send:
    """Return a shape's completion, whose texts may hold {a} and {t}."""
    finish, written = message.pop("finish", "stop"), json.dumps({"text": None, **message})

    def send(asked: ShapeRequest) -> Sent:
        command, text = (_escaped(each) for each in (asked.command, asked.text))
        return sent(completion(finish=finish, **json.loads(written.replace("{a}", command).replace("{t}", text))))

    return send


def _streamed(*after: object, before: tuple[object, ...] = (), most: int | None = None, **more: Any) -> Send:
    """Return a stream of the text in pieces, or of the first so many, with other events around them."""

    def send(asked: ShapeRequest) -> Sent:
        pieces = [delta(content=each) for each in re.findall("(?s).{1,3}", asked.text)]
        return stream(*before, *pieces[:most], *after, **more)

    return send


_HTML = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_TOO_LONG = "This model's maximum context length is 4096 tokens. However, you requested 4100 tokens."
_STOP, _GONE = delta("stop"), {"error": {"code": 502, "message": "gone"}}
_WRONG = "Action: drop off passenger"
# fmt: off
_READ: dict[str, Send] = {
    "plain": _plain,
    "no usage": _message(text="{t}", usage=None),
    "usage in texts": _message(text="{t}", usage={"prompt_tokens": "100", "completion_tokens": 10.0}),
    "total alone": _message(text="{t}", usage={"total_tokens": 110}),
    "input and output": _message(text="{t}", usage={"input_tokens": 100, "output_tokens": 10}),
    "null members": lambda a: sent({**completion(a.text), "usage": None, "system_fingerprint": None}),
    "null error": lambda a: sent({**completion(a.text), "error": None}),
    "no finish": lambda a: sent(_choice(message={"content": a.text})),
    "stop sequence": _message(text="{t}", finish="stop_sequence"),
    "reasoning": _message(text="{t}", reasoning_content="Hm.\nAction: look"),
    "reasoning alone": _message(text="", reasoning="So.\nAction: {a}"),
    "parts": _message(text=[{"type": "text", "text": "{t}"}]),
    "thinking part": _message(text=[{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "{t}"}]),
    "tool call": lambda a: sent(completion(None, "tool_calls", tool_calls=[_call(a.command)])),
    "stopped tool call": lambda a: sent(completion("", tool_calls=[_call(a.command)])),
    "legacy call": lambda a: sent(completion(None, "function_call", function_call=_call(a.command)["function"])),
    "choices out of order": lambda a: sent({**completion(""), "choices": [
        {"index": 1, "message": {"content": _WRONG}, "finish_reason": "stop"}, *completion(a.text)["choices"],
    ]}),
    "text choice": lambda a: sent(_choice(index=0, text=a.text, finish_reason="stop")),
    "big": _message(text=f"Thought: {'x' * 200_000}\n{{t}}"),
    "not a number": lambda a: Sent(_plain(a).body.replace(b'"created": 1', b'"created": NaN')),
    "surrogate": _message(text="\ud83d half\n{t}"),
    "nul": _message(text="a\0b\n{t}"),
    "byte order mark": lambda a: Sent(b"\xef\xbb\xbf" + _plain(a).body),
    "utf-16": lambda a: Sent(_plain(a).body.decode().encode("utf-16")),
    "spaces before": lambda a: Sent(b"\n\n   \n" + _plain(a).body),
    "gzip": lambda a: Sent(gzip.compress(_plain(a).body), headers=(("Content-Encoding", "gzip"),)),
    "deflate": lambda a: Sent(zlib.compress(_plain(a).body), headers=(("Content-Encoding", "deflate"),)),
    "chunked": lambda a: _plain(a)._replace(ending="chunked"),
    "idle close": lambda a: _plain(a)._replace(ending="dropped"),
    "slow": lambda a: _plain(a)._replace(wait=0.3),
    "sse": _streamed(_STOP, {"choices": [], "usage": USAGE}, before=(delta(role="assistant", content=""),)),
    "sse without finish": _streamed(end="\r\n\r\n", begin=": PROCESSING\r\n\r\n"),
    "sse without done": _streamed(_STOP, done=False),
    "sse with a mark": _streamed(_STOP, begin="\ufeff"),
    "sse line by line": _streamed(_STOP, end="\n"),
    "sse over lines": lambda a: stream(
        f"data: {json.dumps(delta(content=a.text), indent=1)}".replace("\n", "\ndata: "), _STOP
    ),
    "sse tool call": lambda a: stream(*_call_pieces(a.command), delta("tool_calls")),
    "sse legacy call": lambda a: stream(*(
        delta(function_call={name: _call(a.command)["function"][name]}) for name in ("name", "arguments")
    ), delta("function_call")),
    "sse of two choices": _streamed(_STOP, before=({"choices": [{"index": 1, "delta": {"content": _WRONG}}]},)),
    "sse pings": _streamed(_STOP, before=('event: ping\ndata: {"type": "ping"}',)),
    "too long beyond 2,000": lambda a: error(_TOO_LONG) if len(str(a.request["messages"])) > 2_000 else _plain(a),
    "max_completion_tokens": lambda a: error("use max_completion_tokens") if "max_tokens" in a.request else _plain(a),
    # These fail for one request in four.
    "429": _once(error("Rate limit", 429)._replace(headers=(("Retry-After", "0"),))),
    "503": _once(Sent(b"no healthy upstream", 503, "text/plain")),
    "502 page": _once(Sent(_HTML, 502, "text/html")),
    "529": _once(sent({"type": "error", "error": {"type": "overloaded_error"}}, 529)),
    "500 of a limit": _once(error("litellm.RateLimitError: try again in 1.2s.", 500, code="429")),
    "empty once": _once(sent({**completion(""), "choices": []})),
    "half closed once": _once(Sent(b'{"choices":[{"mess', ending="closed")),
    "reset once": _once(Sent(b"", ending="reset")),
}
_AGAIN: dict[str, Send] = {
    "empty choices": lambda a: sent({**completion(""), "choices": []}),
    "null choices": lambda a: sent({**completion(""), "choices": None}),
    "null finish": _message(text="{t}", finish=None),
    "error beside text": lambda a: sent({**completion(a.text), "error": {"message": "cut"}}),
    "error of a choice": lambda a: sent(_choice(
        index=0, error={"code": 502, "message": "cut"}, finish_reason="error", message={"content": a.text[:14]}
    )),
    "error alone": lambda a: error("Rate limit exceeded", 200, code=429),
    "error finish": _message(text="{t}", finish="error"),
    "interrupted": _message(text="{t}", finish="insufficient_system_resource"),
    "stream cut": _streamed(most=5, done=False),
    "stream error": _streamed(_GONE, most=5, done=False),
    "stream error, done": _streamed(_GONE, _STOP),
    "stream error, finish": _streamed({**delta("error"), **_GONE}, most=5),
    "event of another name": _streamed('event: error\ndata: {"message": "gone"}', _STOP),
    "piece of no JSON": _streamed("data: upstream reset", _STOP, most=5),
    "empty body": lambda a: Sent(b""),
    "page": lambda a: Sent(b"<!DOCTYPE html><html><body>Login</body></html>", kind="text/html"),
    "native": lambda a: sent({"message": {"role": "assistant", "content": a.text}, "done": True}),
    "lines": lambda a: Sent(b'{"message": {"content": "x"}}\n{"done": true}', kind="application/x-ndjson"),
    "messages": lambda a: sent({"type": "message", "content": [{"type": "text", "text": a.text}]}),
    "responses": lambda a: sent({"object": "response", "output": [{"content": [{"text": a.text}]}]}),
    "wrong endpoint": lambda a: sent({"error": "Unexpected endpoint or method."}),
    "half closed": lambda a: Sent(b'{"choices":[{"mess', ending="closed"),
    "reset": lambda a: Sent(b"", ending="reset"),
    "half a body": lambda a: Sent(b'{"choices":[{"message":{"content":"Thought', ending="unsized"),
    "half a stream": lambda a: _streamed(most=4, done=False)(a)._replace(ending="unsized"),
    "always 503": lambda a: Sent(b"no healthy upstream", 503, "text/plain"),
}
_CUT: dict[str, Send] = {
    "cut": _message(text="{t}", finish="length"),
    "cut thought": _message(text="<think>\nI consider {a}", finish="length"),
    "cut reasoning": _message(text="", reasoning_content="I could {a}", finish="max_tokens"),
    "cut stream": _streamed(delta("length")),
}
_STOPS: dict[str, Send] = {
    "no credits": lambda a: error("Insufficient credits.", 402),
    "no quota": lambda a: error("You exceeded your current quota", 429, code="insufficient_quota"),
    "wrong key": lambda a: error("Incorrect API key provided", 401, code="invalid_api_key"),
    "404 page": lambda a: Sent(b"<h1>Not Found</h1>", 404, "text/html"),
    "redirect": lambda a: Sent(b"", 307, headers=(("Location", "/v2/chat/completions"),)),
    "no system": lambda a: error("System role not supported") if "'system'" in str(a.request) else _plain(a),
}
_MEANINGS: dict[ReplyMeaning, dict[str, Send]] = {
    "read": _READ,
    "again": _AGAIN,
    "cut": _CUT,
    "stop": _STOPS,
    "no command": {"refusal": _message(refusal="I can't help with that."), "nothing": _message(text="")},
    "context": {
        "too long": lambda a: error(_TOO_LONG, code="context_length_exceeded"),
        "context size": lambda a: error("the request exceeds the available context size", type="exceed_context"),
    },
    "refused": {
        "filtered": lambda a: error("The response was filtered", code="content_filter"),
        "filtered answer": _message(text="{t}", finish="content_filter"),
    },
}
# fmt: on
SHAPES = {name: Shape(meant, send) for meant, shapes in _MEANINGS.items() for name, send in shapes.items()}


class ChatServer:
    """A running server: its address, what it was asked, and the tokens that it counted in replies."""

    def __init__(self, command: Callable[[dict[str, Any]], str]) -> None:
        self._command, self._lock = command, threading.Lock()
        self._numbers: Counter[str] = Counter()
        self.url = ""
        self.requests: list[dict[str, Any]] = []

    def answer(self, request: dict[str, Any]) -> Sent:
        model = str(request.get("model", ""))
        with self._lock:
            self.requests.append(request)
            self._numbers[model] += 1
            number = self._numbers[model]
        name, _, every = model.partition("@")
        command = self._command(request)
        form = FORMS.get(name[5:]) if name.startswith("form:") else None
        others = re.findall("(?m)^- (.+)$", str(request["messages"][-1]["content"]).rpartition("\nActions:\n")[2])
        other = next((each for each in others if each != command), "look around")
        words = {"a": command, "b": other, "u": command.replace(" ", "_"), "c": command.upper(), "j": _escaped(command)}
        asked = ShapeRequest(command, (form or "Thought: so\nAction: {a}").format(**words), number, request)
        shape = Shape("read", _plain) if form else SHAPES.get(name)
        if shape is None:
            return error(f"The model {name!r} does not exist.", 404)
        return _plain(asked) if every and number % int(every) else shape.send(asked)


@contextmanager
def chat_server(command: Callable[[dict[str, Any]], str]) -> Generator[ChatServer]:
    """Serve until the block ends; `command` is the model: it returns its command for a request."""
    chat = ChatServer(command)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if deployment := re.search("/deployments/([^/]+)/", self.path):
                request["model"] = deployment[1]
            with suppress(OSError):  # who asked may not have waited
                _respond(self, chat.answer(request))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda request, client_address: None
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _respond(handler: BaseHTTPRequestHandler, response: Sent) -> None:
    time.sleep(response.wait)
    if response.ending == "reset":
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()
        handler.close_connection = True
        return
    handler.send_response(response.status)
    handler.send_header("Content-Type", response.kind)
    for name, value in response.headers:
        handler.send_header(name, value)
    chunked = response.ending == "chunked"
    if chunked:
        handler.send_header("Transfer-Encoding", "chunked")
    elif response.ending == "unsized":
        handler.send_header("Connection", "close")
    else:
        handler.send_header("Content-Length", str(len(response.body) + 5_000 * (response.ending == "closed")))
    handler.end_headers()
    pieces = [*re.findall(b"(?s).{1,7}", response.body), b""]
    handler.wfile.write(b"".join(b"%x\r\n%s\r\n" % (len(each), each) if chunked else each for each in pieces))
    handler.close_connection = response.ending in ("closed", "unsized", "dropped")
