"""Every shape of a server's reply is what it means: an answer, the model's fault, or the provider's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from natlang_envs import UsageError
from natlang_envs.conformance.servers import SHAPES, ChatServer, chat_server
from natlang_envs.evaluation import chat_endpoint
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint, RefusedPromptError
from natlang_envs.evaluation.chat_settings import ChatSettings


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server(lambda request: "move south") as running:
        yield running


def outcome(name: str, url: str, monkeypatch: pytest.MonkeyPatch, patience: float = 30) -> str:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    endpoint = ChatEndpoint(name, ChatSettings(timeout=5, patience=patience), tell=lambda line: None)
    try:
        done = endpoint.ask([{"role": "system", "content": "s"}, {"role": "user", "content": "p"}])
    except RefusedPromptError as error:
        return error.kind
    except UsageError as error:
        return "no answer" if str(error).isprintable() else "no line"
    said = f"{done.message}" if not done.message["content"] else done.text
    return "cut" if done.cut else "read" if "move south" in said else "no command"


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_is_what_it_means(server: ChatServer, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(chat_endpoint, "_FIRST_PAUSE", 0.01)
    meant = SHAPES[name].meant
    before = len(server.requests)
    if meant in ("again", "stop"):
        assert outcome(name, server.url, monkeypatch, patience=0.2) == "no answer"
        assert (len(server.requests) - before > 1) == (meant == "again"), "what may pass is asked again"
    else:
        assert [outcome(name, server.url, monkeypatch) for _ in range(2)] == [meant] * 2


def test_an_unknown_shape_is_no_model(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome("ssse", server.url, monkeypatch) == "no answer"
    assert outcome("form:JSON", server.url, monkeypatch) == "read"
