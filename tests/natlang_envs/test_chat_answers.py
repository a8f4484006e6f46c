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
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint, RefusedPromptError, connect
from natlang_envs.evaluation.chat_response import Bill, completion_of, pause_asked
from natlang_envs.evaluation.chat_settings import ChatSettings
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


def ask(monkeypatch: pytest.MonkeyPatch, chat: Chat, told: list[str] | None = None, patience: float = 300) -> str:
    monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
    settings = ChatSettings(timeout=5, patience=patience)
    return ChatEndpoint("m", settings, tell=(told if told is not None else []).append).answer("s", "p")


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
            "<think>\nI could `exit`\n</think>\n[the answer was cut at its limit: allow more tokens]",
        ),
        (
            message(content=None, reasoning="hm"),
            "<think>\nhm\n</think>\n[the answer holds no text]",
        ),
        (message(content=None, refusal="I must not."), "I must not.\n[the answer holds no text]"),
        (message("length", content="cat fi"), "<think>\ncat fi\n</think>\n[the answer was cut at its limit: "),
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
            stream(
                delta(tool_calls=call("")),
                delta("tool_calls", tool_calls=[{"index": 0, "function": {"arguments": "ls"}}]),
            ),
            '<tool_call>{"name": "sh", "arguments": "ls"}</tool_call>',
        ),
        (
            stream(delta(reasoning_content="h"), delta("length")),
            "<think>\nh\n</think>\n[the answer was cut at its limit: ",
        ),
    ],
)
def test_what_a_completion_holds(monkeypatch: pytest.MonkeyPatch, body: Body, text: str) -> None:
    with serve(lambda prompt: body) as chat:
        said = ask(monkeypatch, chat)
    assert said.startswith(text) if text.endswith(": ") else said == text


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda content: zlib.compress(content)[2:-4]),
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


@pytest.mark.parametrize(
    ("body", "requests", "says"),
    [
        (Body(b'{"error": "overloaded"}'), 3, "an error: overloaded (3 requests"),
        (Body(b'{"choices": null, "error": {"message": "bad", "metadata": {"raw": "why"}}}'), 3, "an error: bad (why)"),
        (Body(b'{"error": {"message": "no such model", "code": "model_not_found"}}'), 3, "(model_not_found): no such"),
        (message("content_filter", content="ls"), 3, "interrupts its answer (finish_reason 'content_filter')"),
        (Body(b'{"error": {"message": "x", "code": "insufficient_quota"}}', 429), 1, "status 429: x"),
        (Body(b'{"error": {"message": "You exceeded your current quota"}}'), 1, "exceeded your current quota"),
        (Body(b'{"detail": "Not Found"}', 404), 1, "status 404: Not Found"),
        (Body(b'{"error": {"message": "System role not supported"}}', 400), 1, "not supported: set system=false"),
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
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "30s"}, 30),
        ({"retry-after-ms": "4000", "retry-after": "9"}, 4),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_every_way_to_ask_for_a_pause(headers: dict[str, str], seconds: float | None) -> None:
    assert pause_asked(headers) == seconds


@pytest.mark.parametrize(
    ("usage", "bill"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}, Bill(5, 2)),
        ({"prompt_tokens": "5", "completion_tokens": 2.0}, Bill(5, 2)),
        ({"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3}, Bill(8, 2)),
        ({"total_tokens": 7}, Bill(other=7)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 10}, Bill(5, 2, 3)),
        ({"prompt_tokens": -1, "completion_tokens": True}, Bill(uncounted=1)),
        ({}, Bill(uncounted=1)),
        (None, Bill(uncounted=1)),
    ],
)
def test_every_name_of_a_count(usage: object, bill: Bill) -> None:
    assert completion_of(completion("ls", usage=usage).content).bill == bill
    assert Bill(1_000_000, 1_000_000, 1_000_000).cost(1, 2) == 5


def test_a_date_to_wait_for() -> None:
    date = formatdate(time.time() + 40, usegmt=True)
    assert 38 <= (pause_asked({"retry-after": date}) or 0) <= 40
    assert pause_asked({"retry-after": formatdate(0, usegmt=True)}) == 0


def test_a_pause_that_is_asked_for_is_kept_and_told(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    told: list[str] = []
    bodies = iter([Body(b"{}", 429, headers=(("Retry-After", "7"),)), Body(b"{}", 503), completion("ls")])
    with serve(lambda prompt: next(bodies)) as chat:
        assert ask(monkeypatch, chat, told) == "ls"
    assert waits == [7.0, 1.0]
    assert told == [f"{chat.url}/ answers with status 429: {{}}: it is asked again in 7 s"]


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda prompt: Body(b"busy", 503)) as chat, pytest.raises(UsageError, match=r"busy .2 requests in"):
        ask(monkeypatch, chat, patience=1.2)
    with serve(lambda prompt: Body(b"busy", 503)) as chat, pytest.raises(UsageError, match=r"status 503: busy$"):
        ask(monkeypatch, chat, patience=0)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (Body(b'{"error": {"message": "x", "code": "context_length_exceeded"}}', 400), "context"),
        (Body(b'{"error": {"message": "the request exceeds the available context size"}}', 400), "context"),
        (Body(b'{"error": "prompt is too long: 5 > 4"}', 400), "context"),
        (Body(b"Request Entity Too Large", 413), "context"),
        (Body(b'{"error": {"message": "x", "code": "content_filter"}}', 400), "refused"),
        (Body(b'{"error": {"message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}', 400), "refused"),
    ],
)
def test_a_prompt_that_is_never_taken(
    monkeypatch: pytest.MonkeyPatch, waits: list[float], body: Body, kind: str
) -> None:
    with serve(lambda prompt: body) as chat, pytest.raises(RefusedPromptError) as caught:
        ask(monkeypatch, chat)
    assert caught.value.kind == kind


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
        ChatEndpoint("m", ChatSettings(timeout=5, patience=0)).answer("s", "p")
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
