"""A real OpenAI-compatible server on loopback, whose model is a function of the prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from tests.loopback import QuietHandler, serving


class Body(NamedTuple):
    """A response that is not a completion of a text."""

    content: bytes
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


Model = Callable[[str], str | Body]


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    system: str
    prompt: str
    model: str
    limit: int | None


class Chat:
    """What a running server was asked."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.requests: list[Request] = []
        self.url = ""

    def answer(self, request: Request) -> Body:
        said = self.model(request.prompt)
        return said if isinstance(said, Body) else completion(said)


def completion(text: str | None, **changes: Any) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    content = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    return Body(json.dumps({**content, **changes}).encode())


@contextmanager
def serve(model: Model) -> Iterator[Chat]:
    chat = Chat(model)

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            system, user = (each["content"] for each in body["messages"])
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.path, headers, system, user, body["model"], body.get("max_tokens"))
            chat.requests.append(request)
            answer = chat.answer(request)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.content)))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # who asked may not have waited
                self.wfile.write(answer.content)

    with serving(Handler) as address:
        chat.url = f"{address}/v1"
        yield chat


def part(prompt: str, title: str) -> str:
    """Return one part of a prompt, by its heading."""
    lines = prompt.split("\n")
    start = lines.index(f"# {title}") + 1
    end = next((at for at in range(start, len(lines)) if lines[at].startswith("# ")), len(lines))
    return "\n".join(lines[start:end])
