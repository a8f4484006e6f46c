"""`natlang serve`, played by OpenEnv's own client."""

from __future__ import annotations

import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium
import pytest

pytest.importorskip("openenv", reason="OpenEnv is not installed: run `make libraries`")
from openenv.core.generic_client import GenericEnvClient

from natlang_envs import unwrap
from tests.libraries.serving import HOUSE, TAXI, asked, command, served, wait_for

TOKEN = "a-token-for-this-test"


def test_a_client_of_openenv_plays_what_gymnasium_plays() -> None:
    env = unwrap(gymnasium.make(TAXI))
    with served(TAXI, "--split", "validation") as url:
        client = wait_for(url)
        task = "classic/2.3/red-green"
        first = client.reset(task_id=task)
        text, info = env.reset(options={"task_id": task})
        assert first.observation["text"] == text
        assert first.observation["admissible_commands"] == list(info["admissible_commands"])
        for number, each in enumerate(env.reference(), start=1):
            there = client.step({"command": each})
            text, reward, terminated, truncated, info = env.step(each)
            seen = there.observation
            assert (seen["text"], there.reward, there.done) == (text, reward, terminated or truncated)
            assert (seen["success"], seen["feedback"], seen["truncated"]) == (info["success"], info["feedback"], False)
            assert client.state() == {"episode_id": None, "step_count": number, "task_id": task}
        assert there.done
        assert seen["success"]
        client.close()


def test_seeds_draw_the_same_tasks_and_wrong_requests_are_one_line() -> None:
    env = unwrap(gymnasium.make(HOUSE, split="train"))
    with served(HOUSE) as url:
        client = wait_for(url)
        with pytest.raises(RuntimeError, match="step was asked for before reset"):
            client.step({"command": "look"})
        assert client.reset(seed=5).observation["task_id"] == env.reset(seed=5)[1]["task_id"]
        with pytest.raises(RuntimeError, match=r"there is no task|unknown task"):
            client.reset(task_id="no/such/task")
        with pytest.raises(RuntimeError, match="a command has at most 4,096 characters, not 5,000"):
            client.step({"command": "x" * 5_000})
        with pytest.raises(RuntimeError, match="Invalid message"):
            client.step({"comand": "look"})
        assert client.step({"command": "look"}).observation["feedback"]
        client.close()


def test_an_argument_of_reset_that_is_not_known_is_refused_and_the_session_goes_on() -> None:
    refused = (
        ({"split": "test"}, "'train' is served here, not 'test': start natlang serve with --split"),
        ({"index": 146}, "the split 'train' has 146 tasks, from 0 on: none is 146"),
        ({"index": -1}, "none is -1"),
        ({"index": True}, "index must be int, not True"),
        ({"index": 0, "task_id": "classic/2.3/red-green"}, "task_id and index both name a task: give one of them"),
        ({"taskid": "classic/2.3/red-green"}, "unknown argument of reset 'taskid': choose one of task_id"),
        ({"sead": 3}, "unknown argument of reset 'sead': choose one of seed"),
        ({"options": {}}, "unknown argument of reset 'options': choose one of"),
        ({"task_id": ""}, "unknown task ''"),
        ({"task_id": 7}, "task_id must be str, not 7"),
    )
    with served(TAXI) as url:
        client = wait_for(url)
        before = client.reset(seed=0).observation
        for steps, (wrong, words) in enumerate(refused, start=1):
            with pytest.raises(RuntimeError, match=re.escape(words)):
                client.reset(**wrong)
            client.step({"command": before["admissible_commands"][steps % 2]})  # to and fro
            assert client.state() == {"episode_id": None, "step_count": steps, "task_id": before["task_id"]}
            status, answer = asked(f"{url}/reset", wrong)
            assert status == 400
            assert words in answer


def test_plain_http_names_the_environment_and_says_that_it_keeps_no_game() -> None:
    with served(TAXI) as url:
        wait_for(url).close()
        assert asked(f"{url}/metadata")[1]["name"] == TAXI
        status, answer = asked(f"{url}/step", {"action": {"command": "move north"}})
        assert (status, answer.partition(";")[0]) == (400, "step was asked for before reset")


def test_trainers_are_served_the_split_train_and_the_line_says_so() -> None:
    for options, split in (((), "train"), (("--split", "test"), "test")):
        with subprocess.Popen(command(TAXI, "--port", "0", *options), stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            assert server.stdout.readline().startswith(f"{TAXI}, split {split}, is served at http://127.0.0.1:")
            server.terminate()
    tasks = unwrap(gymnasium.make(TAXI, split="train")).tasks
    with served(TAXI) as url:
        client = wait_for(url)
        for seed in range(30):
            tasks.check(client.reset(seed=seed).observation["task_id"])


def test_sessions_are_isolated_and_bounded() -> None:
    with served(TAXI, "--sessions", "2") as url:
        one, two = wait_for(url), wait_for(url)
        starts = [each.reset(seed=seed).observation["text"] for seed, each in enumerate((one, two))]
        assert starts[0] != starts[1]
        one.step({"command": "move north"})
        assert two.state()["step_count"] == 0
        third = GenericEnvClient(base_url=url).sync()
        # OpenEnv's server says so and closes; which of the two its client meets first is a race of its own.
        third.connect()
        with pytest.raises(Exception, match=r"CAPACITY|received 1000"):
            third.reset()
        one.close()
        time.sleep(0.3)
        assert wait_for(url).reset(seed=0).observation["text"] == starts[0]


def test_other_addresses_than_loopback_need_the_token() -> None:
    with served(TAXI, "--host", "0.0.0.0") as url:
        assert re.fullmatch(r"http://0\.0\.0\.0:\d+/[\w-]{32}", url)
    with served(TAXI, token=TOKEN) as url:
        assert url.endswith(f"/{TOKEN}")
        assert wait_for(url).reset(seed=0).observation["text"]
        for wrong in (url.removesuffix(TOKEN), url[:-1] + "x", url.removesuffix(f"/{TOKEN}")):
            with pytest.raises(ConnectionError):
                GenericEnvClient(base_url=wrong).sync().__enter__()
        assert asked(f"{url.removesuffix(f'/{TOKEN}')}/health") == (200, {"status": "healthy"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["NatLang/Nothing-v0"], "Nothing"),
        ([TAXI, "--split", "everything"], "everything"),
        ([TAXI, "--sessions", "1000000000"], "1,000,000,000 sessions are more than the"),
        ([TAXI, "--host", "203.0.113.7"], "nothing can listen at 203.0.113.7:8000 (Cannot assign requested address)"),
    ],
)
def test_what_cannot_be_served_is_one_line(options: list[str], words: str) -> None:
    done = subprocess.run(command(*options), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    # The environment with verifiers has an older OpenEnv, which is told.
    assert sum("was tested with" not in line for line in done.stderr.splitlines()) == 1


def test_a_thousand_steps_a_second() -> None:
    with served(HOUSE) as url:

        def play(seed: int) -> int:
            client = wait_for(url)
            steps = 0
            until = time.monotonic() + 3
            while time.monotonic() < until:
                client.reset(seed=seed)
                for _ in range(40):
                    client.step({"command": "look"})
                    steps += 1
            client.close()
            return steps

        begun = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            steps = sum(pool.map(play, range(4)))
        rate = steps / (time.monotonic() - begun)
        print(f"{rate:.0f} steps/s with 4 clients")
        assert rate > 1_000


def test_the_code_of_the_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs/libraries.md").read_text(encoding="utf-8")
    code = page.partition("```py\n")[2].partition("```")[0]
    with served(HOUSE) as url:
        wait_for(url).close()
        exec(code.replace("http://127.0.0.1:8000", url))
    assert "False" in capsys.readouterr().out
