"""What an endpoint says in place of a text is read or shown, and what the environment says of it is read as meant."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from natlang_envs import UsageError
from natlang_envs.evaluation.chat_connection import connect
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint
from natlang_envs.evaluation.chat_response import pause_asked
from tests.support.chat_server import Body, Chat, completion, serve

SECRET = "sk-abcdef123456"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("BASE_URL", "API_KEY", "ORG_ID", "PROJECT_ID")
    for name in (*(f"OPENAI_{each}" for each in names), "AZURE_OPENAI_ENDPOINT", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    real = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: found.append(seconds) if seconds > 0.3 else real(seconds))
    return found


def message(finish: str = "stop", **content: Any) -> Body:
    return completion(None, choices=[{"message": {"role": "assistant", **content}, "finish_reason": finish}])


def stream(*events: object, end: bytes = b"\n\n") -> Body:
    lines = b"".join(b"data: " + json.dumps(each).encode() + end for each in events)
    return Body(
        b": hello" + end + lines + b"data: [DONE]" + end if end == b"\r\n\r\n" else lines, kind="text/event-stream"
    )


def delta(finish: str | None = None, **content: Any) -> dict[str, Any]:
    return {"choices": [{"delta": content, "finish_reason": finish}]}


def ask(monkeypatch: pytest.MonkeyPatch, chat: Chat, told: list[str] | None = None) -> str:
    monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
    return ChatEndpoint("m", timeout=5, tell=(told if told is not None else []).append).answer("s", "p")


def call(arguments: str) -> list[dict[str, Any]]:
    return [{"id": "1", "type": "function", "function": {"name": "sh", "arguments": arguments}}]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (message(content="ls"), "ls"),
        (message(content=[{"type": "text", "text": "l"}, {"type": "text", "text": "s"}]), "ls"),
        (message(content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ls"}]), "ls"),
        (message(content="ls", reasoning_content="hm"), "ls"),
        (
            message("length", content="", reasoning_content="I could `exit`"),
            "<think>\nI could `exit`\n</think>\n[the answer holds no text; finish_reason 'length': allow more tokens]",
        ),
        (
            message(content=None, reasoning="hm"),
            "<think>\nhm\n</think>\n[the answer holds no text; finish_reason 'stop']",
        ),
        (message(content=None, refusal="I must not."), "I must not.\n[the answer holds no text; finish_reason 'stop']"),
        (message("content_filter", content=None), "[the answer holds no text; finish_reason 'content_filter']"),
        (
            message(content=None, tool_calls=call('{"command": "ls"}')),
            '<tool_call>{"name": "sh", "arguments": "{\\"command\\": \\"ls\\"}"}</tool_call>',
        ),
        (
            message(content="So:", function_call={"name": "sh", "arguments": "ls"}),
            'So:\n<tool_call>{"name": "sh", "arguments": "ls"}</tool_call>',
        ),
        (completion(None, choices=[{"text": "ls"}]), "ls"),
        (stream(delta(role="assistant", content=""), delta(content="l"), delta("stop", content="s")), "ls"),
        (stream(delta(content="l"), delta(content="s"), {"choices": [], "usage": {}}, end=b"\r\n\r\n"), "ls"),
        (
            stream(delta(tool_calls=call("")), delta(tool_calls=[{"index": 0, "function": {"arguments": "ls"}}])),
            '<tool_call>{"name": "sh", "arguments": "ls"}</tool_call>',
        ),
        (stream(delta(reasoning_content="h"), delta("length")), "<think>\nh\n</think>\n[the answer holds no text; "),
    ],
)
def test_what_a_completion_holds(monkeypatch: pytest.MonkeyPatch, body: Body, text: str) -> None:
    with serve(lambda prompt: body) as chat:
        said = ask(monkeypatch, chat)
    assert said.startswith(text) if text.endswith("; ") else said == text


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda content: zlib.compress(content)[2:-4]),
        ("", gzip.compress),
    ],
)
def test_packed_answers_and_errors_are_read(monkeypatch: pytest.MonkeyPatch, encoding: str, pack: Any) -> None:
    headers = (("Content-Encoding", encoding),) if encoding else ()
    with serve(lambda prompt: Body(pack(completion("ls").content), headers=headers)) as chat:
        assert ask(monkeypatch, chat) == "ls"
    error = b'{"error": {"message": "no such model"}}'
    with serve(lambda prompt: Body(pack(error), 404, headers=headers)) as chat, pytest.raises(UsageError) as caught:
        ask(monkeypatch, chat)
    assert str(caught.value).endswith("status 404: no such model")


def test_an_answer_that_was_cut_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with serve(lambda prompt: message("length", content="echo 'half")) as chat:
        assert ask(monkeypatch, chat, told) == "echo 'half"
    assert [each.rpartition(": ")[2] for each in told] == ["the answer was cut (finish_reason 'length')"]


@pytest.mark.parametrize(
    ("body", "requests", "says"),
    [
        (Body(b'{"error": {"message": "Too Many Requests", "code": 429}}'), 3, "an error (429): Too Many Requests"),
        (Body(b'{"error": "overloaded"}'), 3, "an error: overloaded"),
        (Body(b'{"choices": null, "error": {"message": "bad", "metadata": {"raw": "why"}}}'), 1, "an error: bad (why)"),
        (Body(b'{"error": {"message": "no such model", "code": "model_not_found"}}'), 1, "(model_not_found): no such"),
        (Body(b'{"choices": [{"error": {"message": "cut", "code": 502}}]}'), 3, "an error (502): cut"),
        (stream(delta(content=""), {"error": {"message": "broke", "code": 500}}), 3, "an error (500): broke"),
        (Body(b'{"error": {"message": "x", "code": "insufficient_quota"}}', 429), 1, "status 429: x"),
        (Body(b'{"error": {"message": "You exceeded your current quota"}}'), 1, "exceeded your current quota"),
        (Body(b'{"error": {"message": "Rate limit"}}', 429), 3, "status 429: Rate limit"),
        (Body(b'{"detail": "Not Found"}', 404), 1, "status 404: Not Found"),
        (Body(f'{{"error": {{"message": "Wrong key {SECRET}"}}}}'.encode(), 401), 1, "Wrong key [OPENAI_API_KEY]"),
    ],
)
def test_the_words_of_an_error_are_shown(
    monkeypatch: pytest.MonkeyPatch, waits: list[float], body: Body, requests: int, says: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with serve(lambda prompt: body) as chat, pytest.raises(UsageError) as caught:
        ask(monkeypatch, chat)
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)
    assert len(chat.requests) == requests


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after": "30s"}, "", 30),
        ({"retry-after-ms": "4000", "retry-after": "9"}, "", 4),
        ({"x-ratelimit-reset-requests": "1m2s"}, "", 62),
        ({"x-ratelimit-reset-tokens": "250ms", "x-ratelimit-remaining-tokens": "0"}, "", 0.25),
        ({"x-ratelimit-reset-tokens": "9s", "x-ratelimit-remaining-tokens": "5"}, "", None),
        ({}, "Rate limit reached. Please try again in 4s.", 4),
        ({}, "Please try again in 1m30.5s. Thanks", 90.5),
        ({}, "retry after 2 minutes", 120),
        ({}, '{"retryDelay": "39s"}', 39),
        ({"retry-after": "soon"}, "Slow down", None),
        ({"retry-after": "-5"}, "", None),
        ({"retry-after": "nan"}, "", None),
    ],
)
def test_every_way_to_ask_for_a_pause(headers: dict[str, str], said: str, seconds: float | None) -> None:
    assert pause_asked(headers, said) == seconds


def test_a_date_to_wait_for() -> None:
    date = formatdate(time.time() + 40, usegmt=True)
    assert 38 <= (pause_asked({"retry-after": date}, "") or 0) <= 40
    assert pause_asked({"retry-after": formatdate(0, usegmt=True)}, "") == 0


def test_a_pause_that_is_asked_for_is_kept_and_told(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    told: list[str] = []
    bodies = iter([Body(b"{}", 429, headers=(("Retry-After", "7"),)), Body(b"{}", 503), completion("ls")])
    with serve(lambda prompt: next(bodies)) as chat:
        assert ask(monkeypatch, chat, told) == "ls"
    assert waits == [7.0, 1.0]
    assert told == [f"{chat.url}/ asks to wait 7 s: it is asked again in 7 s"]


@pytest.mark.parametrize("around", ["{}\r", " {}\n", "\t{} \r\n"])
def test_white_space_around_settings_does_not_count(monkeypatch: pytest.MonkeyPatch, around: str) -> None:
    with serve(lambda prompt: "ls") as chat:
        for name, value in (("API_KEY", SECRET), ("BASE_URL", chat.url), ("ORG_ID", "org"), ("PROJECT_ID", "project")):
            monkeypatch.setenv(f"OPENAI_{name}", around.format(value))
        endpoint = ChatEndpoint("m")
        assert endpoint.answer("s", "p") == "ls"
    assert endpoint.endpoint == f"{chat.url}/"
    headers = chat.requests[0].headers
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert (headers["openai-organization"], headers["openai-project"]) == ("org", "project")


def refused(monkeypatch: pytest.MonkeyPatch, **settings: str) -> str:
    """Return the one line that settings lead to, which holds no secret."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as caught:
        ChatEndpoint("m", attempts=1, timeout=5).answer("s", "p")
    line = str(caught.value)
    assert line.isprintable()
    assert SECRET not in line
    assert "hunter2" not in line
    return line


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("OPENAI_API_KEY", f"{SECRET}\n{SECRET}", "OPENAI_API_KEY holds a character that no key has"),
        ("OPENAI_API_KEY", f"{SECRET} x", "OPENAI_API_KEY holds a character that no key has"),
        ("OPENAI_ORG_ID", "a\nb", "OPENAI_ORG_ID holds a character"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/a b", "OPENAI_BASE_URL is no address of the web"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1?key=hunter2", "http://127.0.0.1:9/v1"),
        ("ALL_PROXY", "socks5://me:hunter2@127.0.0.1:9", "ALL_PROXY"),
        ("all_proxy", "socks4://127.0.0.1:9", "all_proxy"),
        ("HTTP_PROXY", "foo://me:hunter2@x", "HTTP_PROXY"),
        ("HTTPS_PROXY", "http://x:port", "HTTPS_PROXY"),
        ("HTTP_PROXY", "http://me:hunter2@127.0.0.1:9", "through the proxy http://127.0.0.1:9"),
        ("http_proxy", "http://127.0.0.1:9", "is http_proxy right? NO_PROXY goes round it"),
        ("SSL_CERT_FILE", "/nowhere/certificates.pem", "SSL_CERT_FILE names '/nowhere/certificates.pem'"),
        ("SSL_CERT_DIR", "/nowhere", "SSL_CERT_DIR names '/nowhere', which does not exist"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    assert says in refused(monkeypatch, **{name: value})


def test_certificates_that_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("no certificate")
    assert "SSL_CERT_FILE" in refused(
        monkeypatch, SSL_CERT_FILE=str(tmp_path / "x.pem"), OPENAI_BASE_URL="https://127.0.0.1:9"
    )


def test_no_proxy_goes_round_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda prompt: "ls") as chat:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert ask(monkeypatch, chat) == "ls"


def test_azure_settings_are_stripped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ENDPOINT", "http://127.0.0.1:9"), ("API_KEY", SECRET)):
        monkeypatch.setenv(f"AZURE_OPENAI_{name}", f" {value}\r\n")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-06-01\r")
    client = connect(5, "openai", lambda response: None)
    assert str(client.base_url) == "http://127.0.0.1:9/openai/"
    assert client.api_key == SECRET
