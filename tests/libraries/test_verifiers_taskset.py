"""verifiers plays the taskset of `examples/libraries/verifiers_taskset.py`; its model is a server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers.v1", reason="verifiers is not installed: run `make libraries`")

from examples.libraries import verifiers_taskset
from natlang_envs.learners.trl import tasks
from natlang_envs.make_env import make_env
from natlang_envs.prompt import CHAT_ROLE, state_prompt
from tests.loopback import QuietHandler, serving

FOLDER = Path(verifiers_taskset.__file__).parent
ID = "NatLang/DangerousTaxi-Pickup-v0"


def expected(task_id: str, commands: int | None = None) -> tuple[list[str], list[str], float, float]:
    """Return what Gymnasium shows while its own plan is played: the texts, the commands, the return, the success."""
    env = make_env(ID, split="train")
    observation, info = env.reset(options={"task_id": task_id})
    texts, plan, earned = [state_prompt(info["task"], [], observation)], env.reference()[:commands], 0.0
    for command in plan:
        listed = "; ".join(info["admissible_commands"])
        texts[-1] += f"\n\nActions: {listed}"
        observation, reward, terminated, truncated, info = env.step(command)
        earned += float(reward)
        if not (terminated or truncated):
            texts.append(observation)
    if commands is not None:
        texts[-1] += f"\n\nActions: {'; '.join(info['admissible_commands'])}"
    return texts, plan, earned / env.reward_scale, float(info["success"])


@pytest.mark.timeout(600)  # each turn starts a program of verifiers'
def test_verifiers_shows_and_pays_what_gymnasium_does_and_keeps_what_was_played_when_the_endpoint_fails(
    tmp_path: Path, worked: Any
) -> None:
    games = {row["prompt"]: expected(row["prompt"]) for row in tasks(ID, 3)}
    assert len({texts[0] for texts, *_ in games.values()}) == 3
    failing = max(games, key=lambda each: len(games[each][1]))
    assert len(games[failing][1]) > 2

    class Player(QuietHandler):
        """A chat model that follows the plans; in the third turn of one game it is out of order."""

        def do_POST(self) -> None:
            messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
            texts = [
                each["content"] if isinstance(each["content"], str) else each["content"][0]["text"]
                for each in messages
                if each["role"] == "user"
            ]
            assert messages[0]["content"] == CHAT_ROLE
            name = next(each for each, (shown, *_) in games.items() if shown[: len(texts)] == texts)
            if name == failing and len(texts) == 3:
                self.send_error(401)
                return
            said = f"I go on.\n{games[name][1][len(texts) - 1]}"
            delta = {"index": 0, "delta": {"role": "assistant", "content": said}, "finish_reason": None}
            end = {"index": 0, "delta": {}, "finish_reason": "stop"}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
            parts = [json.dumps({**chunk, "choices": [each]}) for each in (delta, end)]
            data = "".join(f"data: {each}\n\n" for each in (*parts, "[DONE]")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with serving(Player) as model:
        text = (FOLDER / "verifiers_taskset.toml").read_text(encoding="utf-8")
        assert "http://127.0.0.1:8001" in text
        (tmp_path / "eval.toml").write_text(text.replace("http://127.0.0.1:8001", model), encoding="utf-8")
        own = str(Path(sys.executable).parent)
        tool = shutil.which("vf-eval", path=own)
        assert tool
        environment = os.environ | {"PATH": f"{own}:{os.environ['PATH']}", "PYTHONPATH": str(FOLDER)}
        done = subprocess.run(
            [tool, "@", "eval.toml"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
    (found,) = tmp_path.glob("outputs/**/traces.jsonl")
    traces = [each for line in found.read_text(encoding="utf-8").splitlines() for each in json.loads(line)["traces"]]
    assert len(traces) == 3, done.stdout + done.stderr
    for trace in traces:
        name = trace["task"]["data"]["task_id"]
        _, _, earned, success = games[name] if name != failing else expected(name, 2)
        assert trace["rewards"]["natlang"]["score"] == earned
        assert trace["metrics"]["success"] == success
        assert bool(trace["errors"]) == (name == failing)
    worked("verifiers", verifiers_taskset, "equal to ours: 3 episodes of the taxi, 0 differences")
