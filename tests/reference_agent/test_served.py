"""A reflector behind a server on loopback, which asks the very model that a run has trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from natlang_envs.errors import UsageError
from reference_agent.models.language_model import GeneratedText, LanguageModel
from reference_agent.run.pipeline import train
from tests.loopback import QuietHandler, serving
from tests.reference_agent.conftest import quick_config

pytest.importorskip("openai")


class Completions(QuietHandler):
    """OpenAI's completions, by the reflector in a run's folder; `listed` are the models that it names."""

    run: Path
    listed = ("base", "reflector")
    broken = False
    says = ""  # in place of what the reflector would
    asked: list[dict[str, Any]]

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": each, "object": "model"} for each in self.listed]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        told = [GeneratedText(self.says, False)] * len(body["prompt"])
        if not self.says:
            model = LanguageModel.load(self.run / "reflector")
            told = model.complete([model.tokenizer.decode(each) for each in body["prompt"]], body["max_tokens"])
        choices = [
            {"index": number, "text": f" {each.text}", "finish_reason": "length" if each.cut else "stop"}
            for number, each in enumerate(told)
        ]
        self._answer({"id": "1", "object": "text_completion", "choices": choices[: -1 if self.broken else None][::-1]})

    def _answer(self, content: object) -> None:
        written = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)


def served(out: Path, *settings: str, **handler: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Train a run whose reflector is served; return its curve and the requests."""
    asked: list[dict[str, Any]] = []
    kind = type("Served", (Completions,), {"run": out, "asked": asked, **handler})
    with serving(kind) as address:
        train(quick_config(f"rl.reflector_endpoint='{address}/v1'", *settings), out, lambda *_: None)
        return json.loads((out / "curve.json").read_text()), asked


def test_a_served_reflector_trains_the_same_policy(trained: Path, tmp_path: Path) -> None:
    here = json.loads((trained / "curve.json").read_text())
    curve, asked = served(tmp_path / "served")
    assert curve == here
    assert {each["model"] for each in asked} == {"reflector"}
    assert {each["temperature"] for each in asked} == {0}
    assert sum(len(each["prompt"]) for each in asked) == sum(row["reflections"] for row in here)


@pytest.mark.slow
def test_sampled_reflections_and_those_of_an_adapter_can_be_served(tmp_path: Path) -> None:
    sampled = ("reflections='sampled'", "model.lora_rank=2", "players='adapters'")
    _, asked = served(tmp_path / "run", *sampled, says="Go.")
    assert {each["model"] for each in asked} == {"reflector"}
    assert {each["temperature"] for each in asked} == {1}
    assert len({each["seed"] for each in asked}) == len(asked)


def test_a_server_that_is_not_there_stops_the_run_in_a_line_and_it_goes_on_later(tmp_path: Path) -> None:
    with serving(QuietHandler) as address:
        pass
    config = quick_config(f"rl.reflector_endpoint='{address}/v1'")
    with pytest.raises(UsageError, match=r"does not answer .* `vllm serve .*reflector --served") as caught:
        train(config, tmp_path, lambda *_: None)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "reflector").is_dir()
    assert not (tmp_path / "policy").exists()


def test_a_server_that_answers_otherwise_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no model called 'reflector', but base: .*--lora-modules reflector="):
        served(tmp_path / "none", "model.lora_rank=2", "players='adapters'", listed=("base",))
    with pytest.raises(UsageError, match="is it an OpenAI-compatible server"):
        served(tmp_path / "few", broken=True)
    with pytest.raises(UsageError, match="needs a frozen reflector"):
        quick_config("rl.reflector_endpoint='http://localhost'", "players='one'")
