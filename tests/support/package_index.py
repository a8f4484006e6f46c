"""A real packaging index on loopback, and the archives it serves: good ones, and each kind of bad one."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.loopback import QuietHandler, serving

Change = Callable[[tarfile.TarFile], None]
NAME, VERSION = "teapot", "1.2"
FILE = f"{NAME}-{VERSION}.tar.gz"
TOP = f"{NAME}-{VERSION}"
FILES = {
    "README.md": "# Teapot\nIt holds a litre.\n" * 4_000,
    "docs/care/cleaning.md": "Rinse it with water; never use soap.\n",
    "src/teapot/pour.py": "def pour(cups):\n    return cups * 0.2\n",
    "PKG-INFO": "Name: teapot\n",
    "src/teapot.egg-info/SOURCES.txt": "README.md\n",
}


def add(tar: tarfile.TarFile, name: str, content: str = "", **changes: object) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content.encode())
    for each, value in changes.items():
        setattr(member, each, value)
    tar.addfile(member, io.BytesIO(content.encode()))


def archive(change: Change | None = None) -> bytes:
    """Return a source distribution, the same bytes for the same change."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, content in FILES.items():
            add(tar, f"{TOP}/{name}", content)
        if change:
            change(tar)
    return gzip.compress(plain.getvalue(), compresslevel=0, mtime=0)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Served:
    """What a running index serves, and what it was asked for.

    Attributes:
        content: The archive.
        ends_after: The bytes after which a connection breaks, though more were promised.
        ranges: Whether a part of the archive can be asked for.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.ends_after: int | None = None
        self.ranges = True
        self.url = ""
        self.asked: list[tuple[str, str | None]] = []


@contextmanager
def serve(content: bytes) -> Iterator[Served]:
    served = Served(content)

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            served.asked.append((self.path, wanted))
            if self.path == f"/simple/{NAME}/":
                self._send(200, f'<a href="/files/{FILE}">{FILE}</a>'.encode(), "text/html")
            elif self.path == f"/files/{FILE}":
                begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and served.ranges else 0
                self._send(206 if begin else 200, served.content[begin:], "application/gzip", served.ends_after)
            else:
                self._send(404, b"not here", "text/plain")

        def _send(self, status: int, content: bytes, kind: str, ends_after: int | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(content[:ends_after])
            self.close_connection = True

    with serving(Handler) as address:
        served.url = f"{address}/simple"
        yield served
