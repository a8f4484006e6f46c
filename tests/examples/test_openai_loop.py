"""The loop with OpenAI's package, against a real server on loopback."""

from __future__ import annotations

import pytest

from examples import openai_loop
from natlang_envs import unwrap
from natlang_envs.make_env import make_env
from tests.support.chat_server import serve


def test_a_model_that_knows_the_plan_wins(capsys: pytest.CaptureFixture[str]) -> None:
    env = unwrap(make_env(openai_loop.HOUSE))
    env.reset(seed=0)
    plan = env.reference()
    said = iter(plan)
    with serve(lambda prompt: next(said)) as chat:
        assert openai_loop.main(chat.url, "a-model")
    assert len(chat.requests) == len(plan)
    assert capsys.readouterr().out.count("> ") >= len(plan)
