"""Hostile endpoints: whatever they send, the answer is a text or one line, in time and in bounded memory."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from natlang_envs import UsageError
from natlang_envs.evaluation.chat_endpoint import MAX_BODY, ChatEndpoint
from natlang_envs.evaluation.chat_settings import ChatSettings
from tests.support.chat_server import Body, Model, serve

HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextlib.contextmanager
def raw(send: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve one function of the connection, for what no proper server sends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def go() -> None:
            while True:
                try:
                    taken, _ = server.accept()
                except OSError:
                    return
                with taken, contextlib.suppress(OSError):
                    taken.recv(1 << 16)
                    send(taken)

        threading.Thread(target=go, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def refusal(monkeypatch: pytest.MonkeyPatch, url: str, timeout: float = 5.0, patience: float = 0) -> str:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    begun = time.monotonic()
    with pytest.raises(UsageError) as caught:
        ChatEndpoint("m", ChatSettings(timeout=timeout, patience=patience)).answer("s", "p")
    assert time.monotonic() - begun < timeout + 1
    line = str(caught.value)
    assert "\n" not in line
    assert line.isprintable()
    assert len(line) < 600
    return line


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (lambda prompt: Body(b"[" * 100_000), "no chat completion"),
        (lambda prompt: Body(b'{"a":' * 100_000), "no chat completion"),
        (lambda prompt: Body(b'{"choices": [' + b"9" * 10_000 + b"]}"), "no chat completion"),
        (lambda prompt: Body(b'{"choices": ["\xff"]}'), "no chat completion"),
        (lambda prompt: Body(b" " * (MAX_BODY + 1)), "answers with more than"),
        (lambda prompt: Body(b'{"error": "\x1b[2J\x1b]0;owned\x07"}', 400), "\\x1b[2J"),
        (lambda prompt: Body("\u202egnp.exe\u2028".encode(), 418), "\\u202e"),
        (lambda prompt: Body(b"x" * 100_000, 400), "status 400: xxx"),
    ],
)
def test_hostile_bodies(monkeypatch: pytest.MonkeyPatch, model: Model, says: str) -> None:
    with serve(model) as chat:
        assert says in refusal(monkeypatch, chat.url)


def test_a_body_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(connection: socket.socket) -> None:
        connection.sendall(HEADERS + b"\r\n")
        while True:
            connection.sendall(b" " * (1 << 20))

    with raw(send) as url:
        assert "answers with more than" in refusal(monkeypatch, url)


@pytest.mark.parametrize("first", [b"HTTP/1.1 200 OK\r\n", HEADERS + b"\r\n"])
def test_the_timeout_is_for_the_whole_request(monkeypatch: pytest.MonkeyPatch, first: bytes) -> None:
    """A line of the header every tenth of a second: each piece is in time, the whole never."""

    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        for number in range(300):
            connection.sendall(b"X-%d: 1\r\n" % number)
            time.sleep(0.1)

    with raw(send) as url:
        assert "did not answer within 0.5 seconds" in refusal(monkeypatch, url, timeout=0.5)


@pytest.mark.parametrize(
    ("encoding", "packed", "says"),
    [
        ("gzip", b"\x1f\x8b\x08\x00", "no chat completion"),
        ("gzip", gzip.compress(b" " * (MAX_BODY + 1), mtime=0), "answers with more than"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "no chat completion"),
        ("br", b"x", ""),
    ],
)
def test_packed_bodies_are_unpacked_within_a_limit(
    monkeypatch: pytest.MonkeyPatch, encoding: str, packed: bytes, says: str
) -> None:
    with serve(lambda prompt: Body(packed, headers=(("Content-Encoding", encoding),))) as chat:
        assert says in refusal(monkeypatch, chat.url)


def test_a_redirection_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def send(connection: socket.socket) -> None:
        asked.append("x")
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")

    with raw(send) as url:
        assert "status 302" in refusal(monkeypatch, url)
    assert len(asked) == 1


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://", "http://[::1", "x"])
def test_an_address_that_is_none_of_the_web(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(UsageError, match="no address of the web"):
        ChatEndpoint("m")


def test_a_wait_that_is_asked_for_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 429 Slow\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n")

    with raw(send) as url:
        assert "status 429" in refusal(monkeypatch, url, patience=59)


@pytest.mark.parametrize(
    ("address", "proxy", "read"),
    [
        ("http://127.0.0.1:9/v1", "", False),
        ("https://127.0.0.1:9/v1", "", True),
        ("http://a.test/v1", "http://b.test", True),
    ],
)
def test_certificates_are_read_where_something_is_encrypted(
    monkeypatch: pytest.MonkeyPatch, address: str, proxy: str, read: bool
) -> None:
    import openai

    given, make = list[bool | ssl.SSLContext](), openai.DefaultHttpxClient
    monkeypatch.setattr(openai, "DefaultHttpxClient", lambda **of: given.append(of["verify"]) or make(**of))
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("http_proxy", proxy)
    ChatEndpoint("m", ChatSettings(), tell=lambda line: None)
    (certificates,) = given
    if read:
        assert certificates is True
    else:  # TLS would fail
        assert isinstance(certificates, ssl.SSLContext)
        assert certificates.verify_mode is ssl.CERT_REQUIRED
        assert not certificates.get_ca_certs()
