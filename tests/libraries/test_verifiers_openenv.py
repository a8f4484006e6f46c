"""verifiers' own taskset `openenv` plays a game of `natlang serve`, with no line of glue."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

pytest.importorskip("verifiers.v1", reason="verifiers is not installed: run `make libraries`")

from natlang_envs import unwrap
from tests.libraries.serving import served
from tests.loopback import QuietHandler, serving

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "examples/libraries/verifiers_openenv.toml"
ID = "NatLang/DangerousTaxi-Pickup-v0"


@pytest.mark.timeout(600)  # each turn starts a program of verifiers'
def test_verifiers_openenv_taskset_plays_the_reference_and_is_paid_what_gymnasium_pays(tmp_path: Path) -> None:
    env = unwrap(gymnasium.make(ID, split="train"))
    ids = list(env.tasks.ids())
    shown: set[str] = set()

    class Player(QuietHandler):
        """A chat model that knows the way."""

        def do_POST(self) -> None:
            messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
            texts = [each["content"] for each in messages if each["role"] == "user"]
            seen = json.loads(texts[0] if isinstance(texts[0], str) else texts[0][0]["text"])["observation"]
            shown.add(seen["text"])
            env.reset(options={"task_id": seen["task_id"]})
            said = env.reference()[sum(each["role"] == "assistant" for each in messages)]
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

    with served(ID) as url, serving(Player) as model:
        text = CONFIG.read_text(encoding="utf-8")
        for printed, real in (("http://127.0.0.1:8000", url), ("http://127.0.0.1:8001", model)):
            assert printed in text
            text = text.replace(printed, real)
        (tmp_path / "eval.toml").write_text(text, encoding="utf-8")
        tool = shutil.which("vf-eval", path=str(Path(sys.executable).parent))
        assert tool
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            [tool, "@", "eval.toml"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (traces,) = tmp_path.glob("outputs/**/traces.jsonl")
    rewards = []
    for line in traces.read_text(encoding="utf-8").splitlines():
        rewards += [each["rewards"]["openenv_reward"]["score"] for each in json.loads(line)["traces"]]
    wanted = []
    for index in (0, 5):
        text, _ = env.reset(options={"task_id": ids[index]})
        assert text in shown
        wanted.append(sum(float(env.step(each)[1]) for each in env.reference()))
    assert sorted(rewards) == sorted(wanted)
