"""A chat model and a packaging index on loopback, as slow as real ones, so that a kill can hit a request."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import time
from contextlib import AbstractContextManager, suppress

from tests.loopback import QuietHandler
from tests.loopback import serving as serving_handler

NAME, VERSION = "teapot", "1.2"
FILE = f"{NAME}-{VERSION}.tar.gz"
FILES = 300
_SCRIPT = {
    "30": "echo more >> README.md",
    "29": "python -c \"open('lines.txt', 'w').write('line\\n' * 3000)\"",
}
_LISTED = re.compile(r"^(\w+)\. (.+)$", re.MULTILINE)
_PIECES = 25


def archive() -> bytes:
    """Return a source distribution, always the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for number in range(FILES):
            member = tarfile.TarInfo(f"{NAME}-{VERSION}/docs/{number % 20}/{number}.md")
            content = f"# Cup {number}\n".encode() * 200
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), compresslevel=0, mtime=0)


def answer(prompt: str) -> str:
    """Return what the model says: the next command of a script, the hinted action, or the action it has announced."""
    steps = prompt.rpartition("# Steps left\n")[2].strip()
    if "# Steps left" in prompt:
        return _SCRIPT.get(steps, "exit")
    if "Answer with its label" in prompt:
        said = re.findall(r"Reflection: So I (.+)\.", prompt)[-1]
        return next((label for label, command in _LISTED.findall(prompt) if command == said), "none")
    hint = re.search(r"a good next action is `([^`]+)`", prompt)
    return f"So I {hint[1] if hint else 'exit'}."


class _Handler(QuietHandler):
    content = archive()

    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.01)
        message = {"role": "assistant", "content": answer(body["messages"][-1]["content"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
        said = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        self._send(200, [json.dumps(said).encode()], "application/json")

    def do_GET(self) -> None:  # noqa: N802
        if self.path == f"/simple/{NAME}/":
            self._send(200, [f'<a href="/files/{FILE}">{FILE}</a>'.encode()], "text/html")
            return
        wanted = self.headers["Range"]
        rest = self.content[int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0 :]
        size = len(self.content) // _PIECES
        pieces = [rest[at : at + size] for at in range(0, len(rest), size)]
        self._send(206 if wanted else 200, pieces, "application/gzip")

    def _send(self, status: int, pieces: list[bytes], kind: str) -> None:
        with suppress(OSError):  # who asked was killed
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(sum(map(len, pieces))))
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)
                time.sleep(0.02 if len(pieces) > 1 else 0)
        self.close_connection = True


def serving() -> AbstractContextManager[str]:
    """Serve until the block ends; the value is the server's address."""
    return serving_handler(_Handler)
