"""A chat model behind an OpenAI-compatible endpoint on loopback plays AutoExplore-Answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from natlang_envs.autoexplore.answering.env import AutoExploreAnswerEnv
from natlang_envs.conformance.servers import chat_server
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.chat_players import ChatPlayer, load_chat, load_react
from natlang_envs.evaluation.model_requests import report_answers
from natlang_envs.evaluation.protocols import Episode, Protocol

TASK = "ferry-line/02"
GAMES = Protocol("ferry/v1", "NatLang/AutoExplore-Answer-v0", {"dataset": "embedded"}, 20, 1, (Episode(TASK, 1),), "")


def way(form: str) -> list[str]:
    env = AutoExploreAnswerEnv(form, dataset="embedded")  # type: ignore[arg-type]
    env.reset(options={"task_id": TASK})
    return env.reference()


@pytest.mark.parametrize("load", [load_react, load_chat])
@pytest.mark.parametrize("form", ["text", "listed"])
def test_what_a_model_answers_is_scored(
    form: str, load: Callable[[str], ChatPlayer], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = iter(way(form))
    asked: list[str] = []

    def model(request: dict[str, Any]) -> str:
        asked.append(str(request["messages"]))
        return next(commands)

    with chat_server(model) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        run, (game,) = evaluate(load("plain"), replace(GAMES, kwargs={**GAMES.kwargs, "form": form}))
    assert game.success
    assert list(game.actions) == way(form)
    assert ("`cite PATH:LINE`" in asked[0]) == (form == "text")
    assert not report_answers(run.answers or {}, [game]).unread


def test_an_answer_without_its_citation_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server(lambda request: way("text")[-1]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        _, (game,) = evaluate(load_react("plain"), GAMES)
    assert not game.success
    assert game.actions[-1].startswith("answer ")
