"""A chat model as teacher, asked over real HTTP on loopback."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from natlang_envs.errors import UsageError
from natlang_envs.make_env import make_env
from natlang_envs.prompt import Choice
from reference_agent.collection import gather
from reference_agent.run.config import Config
from reference_agent.run.config_file import parse_config
from reference_agent.teachers.base import FORBIDDEN
from reference_agent.teachers.chat import chosen, load_prompts
from tests.loopback import QuietHandler, serving

HINT = re.compile(r"a good next action is `([^`]+)`")
LISTED = re.compile(r"^(\w+)\. (.+)$", re.MULTILINE)


class Model(QuietHandler):
    """Follows the hint and says so in its reflection; the class attributes make it fail."""

    lock = threading.Lock()
    asked: list[dict[str, str]]
    fail_after = 10**9  # requests
    nonsense_every = 10**9
    blab_every = 10**9

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        system, prompt = (message["content"] for message in body["messages"])
        with self.lock:
            self.asked.append({"system": system, "prompt": prompt})
            number = len(self.asked)
        if number > self.fail_after:
            self.send_error(400)
            return
        if "Answer with its label" in prompt:
            said = re.findall(r"Reflection: So I (.+)\.", prompt)[-1]
            text = next(label for label, command in [*LISTED.findall(prompt), ("none", said)] if command == said)
            text = "no idea" if number % self.nonsense_every == 0 else text
        else:
            found = HINT.search(prompt)
            text = f"So I {found[1] if found else 'exit'}."
            text = f"{text} It is optimal." if number % self.blab_every == 0 else text
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Model]]:
    class Fresh(Model):
        asked: list[dict[str, str]] = []  # noqa: RUF012

    with serving(Fresh) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        yield Fresh


def config_of(env: str = "NatLang/DangerousTaxi-Pickup-v0", **further: object) -> Config:
    collect = {"trajectories": 3, "policy_trajectories": 2, "negatives": 1, "wordings": 1, "restarts": False}
    chat = {"name": "openai", "model": "m", "price_read": 2.0, "price_written": 10.0}
    chat |= {key: further.pop(key) for key in ("workers", "hint", "model") if key in further}
    settings = {"history": 10, "teacher": chat, "collect": {**collect, **further}}
    return parse_config({"curriculum": [{"env": env}], **settings})


def test_two_requests_a_lesson_with_the_roles_of_the_paper_and_a_bill(model: type[Model]) -> None:
    for env in ("NatLang/DangerousTaxi-Pickup-v0", "NatLang/ALFWorld-v0"):
        model.asked.clear()
        examples, card, _ = gather(config_of(env, trajectories=2))
        prompts = load_prompts(make_env(env))
        assert card.chat is not None
        assert card.chat["left_out"] == {}
        assert card.chat["answers"] == len(model.asked) == 2 * len(examples)
        assert card.chat["cost"] == pytest.approx(len(model.asked) * (100 * 2.0 + 10 * 10.0) / 1e6)
        assert {each["system"] for each in model.asked} == {prompts.system}
        assert sum(prompts.negative in each["prompt"] for each in model.asked) == card.total("negative")
        assert sum(prompts.reflect in each["prompt"] for each in model.asked) == len(examples)
        for each in examples:
            assert each.reflection == f"So I {each.action}."
            for told in (prompts.negative, prompts.reflect, "For you alone"):
                assert told not in each.state, "a student is not told what the teacher was"


def test_without_a_hint_the_model_is_not_told_the_plan(model: type[Model]) -> None:
    with pytest.raises(UsageError, match=r"kept nothing of what the chat model said: \d+ naming no listed command"):
        gather(config_of(hint=False))  # it says "exit", which a taxi cannot
    assert not any(HINT.search(each["prompt"]) for each in model.asked)


def test_answers_are_kept_and_a_second_call_asks_for_none(model: type[Model], tmp_path: Path) -> None:
    first = gather(config_of(), tmp_path)
    asked = len(model.asked)
    again = gather(config_of(), tmp_path)
    assert len(model.asked) == asked
    assert again.examples == first.examples
    assert first.card.chat is not None
    assert again.card.chat is not None
    assert (first.card.chat["from_disk"], again.card.chat["from_disk"]) == (0, again.card.chat["answers"])
    assert again.card.chat["cost"] == first.card.chat["cost"]
    gather(config_of(model="other"), tmp_path)
    assert len(model.asked) == 2 * asked, "another model is another request"
    for path in tmp_path.rglob("*.json"):
        path.write_text("{")
    with pytest.raises(UsageError, match="is no kept answer"):
        gather(config_of(), tmp_path)


def test_nonsense_and_secrets_are_kept_out_and_counted(model: type[Model]) -> None:
    model.nonsense_every, model.blab_every = 4, 5
    examples, card, _ = gather(config_of(workers=1))
    assert card.chat is not None
    left_out = card.chat["left_out"]
    assert set(left_out) == {"naming no listed command", "giving away what was told"}
    assert 2 * len(examples) + 2 * left_out["naming no listed command"] + left_out["giving away what was told"] == len(
        model.asked
    )
    assert not any(FORBIDDEN.search(each.reflection) for each in examples)
    assert all(each["success"] for each in card.trajectories), "the game goes on by the plan"


def test_a_server_that_goes_down_loses_nothing_that_was_answered(model: type[Model], tmp_path: Path) -> None:
    model.fail_after = 8
    with pytest.raises(UsageError, match="run again later"):
        gather(config_of(workers=2, negatives=5, wordings=3), tmp_path)
    assert len(list(tmp_path.rglob("*.json"))) <= 8
    model.fail_after = 10**9
    before = len(model.asked)
    whole = gather(config_of(workers=2, negatives=5, wordings=3), tmp_path)
    assert whole.card.chat is not None
    assert whole.card.chat["from_disk"] == len(list(tmp_path.rglob("*.json"))) - (len(model.asked) - before)


def test_a_server_that_is_down_from_the_start_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with serving(Model) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    with pytest.raises(UsageError, match="cannot be reached") as error:
        gather(config_of(), tmp_path)
    assert "\n" not in str(error.value)
    assert list(tmp_path.rglob("*.json")) == []


def test_an_answer_names_one_choice_or_none() -> None:
    choices = [Choice("A", "move south"), Choice("B", "move north"), Choice("Aa", "go to desk 1")]
    for answer in ("B", "b. move north"[3:], "B.", "(B)", "B. move north", "<think>A</think> B", "I move north."):
        assert chosen(answer, choices) == "move north", answer
    assert chosen("Aa", choices) == "go to desk 1"
    for answer in ("", "C", "no idea", "move south or move north", "go to desk 12"):
        assert chosen(answer, choices) is None, answer


@pytest.mark.parametrize("family", ["dangerous-taxi", "alfworld", "autoexplore"])
def test_every_family_has_prompts(family: str) -> None:
    env = type("Env", (), {"family": family})
    prompts = load_prompts(env)  # type: ignore[arg-type]
    assert all((prompts.system, prompts.reflect, prompts.negative, prompts.choose))
    assert bool(prompts.hint) == (family != "autoexplore")
