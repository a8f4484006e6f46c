"""`natlang explore` with a model behind a real endpoint on loopback."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from natlang_envs import UsageError
from natlang_envs.copilot.copilot import AutoExploreCopilot
from natlang_envs.copilot.drivers import ModelDriver
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint
from natlang_envs.evaluation.chat_settings import ChatSettings
from tests.support.chat_server import Body, Model, completion, part, serve
from tests.support.explore_command import (
    DIFF,
    ask,
    explore_here,
    left_behind,
    refused,
)
from tests.support.hostile import tree_hash
from tests.support.isolation_here import isolated


def repairer(prompt: str) -> str:
    """A model that mends what it reads, runs the test, and leaves only when that says that all is well."""
    result = part(prompt, "Last result")
    if "all is well" in result or "need bubblewrap" in result:
        return "It holds now.\n\nexit"
    if part(prompt, "Commands so far") == "(none)":
        return "Let me read the code first.\n\n```bash\n$ cat src/total.py\n```"
    if "result = 1" in result:
        fixed = result.replace("result = 1", "result = 0")
        return f"Thought: the sum begins at 1.\nAction: echo '{fixed}' > src/total.py\nObservation: it is written"
    if result == "(no output)" and part(prompt, "Current folder") == "/work":
        return "<think>`python` needs the folder</think>cd src"
    return "I run the test with `python test_total.py` now."


def test_a_model_changes_a_repository(sums: Path, tmp_path: Path) -> None:
    before, around, patch = tree_hash(sums), left_behind(), tmp_path / "fix.patch"
    with serve(repairer) as chat:
        given = ("Repair the sum.", "--repo", str(sums), "--mode", "change", "--export", str(patch), "--results", "1")
        done = explore_here(*given, "--agent", "openai", "--model", "tiny", OPENAI_BASE_URL=chat.url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert DIFF in done.stdout
    commands = re.findall(r"^> (\w+)", done.stdout, re.MULTILINE)
    assert commands == ["cat", "echo", "cd", "python", "exit"]
    assert ("all is well" in done.stdout) is isolated()
    assert f"Tokens: {100 * len(commands)} read, {7 * len(commands)} written." in done.stdout
    assert "1 file was changed in the sandbox, none in" in done.stdout
    assert tree_hash(sums) == before
    assert left_behind() == around
    assert patch.read_text() == DIFF
    if shutil.which("git"):
        subprocess.run(["git", "apply", str(patch)], cwd=sums, check=True)
        assert "result = 0" in (sums / "src" / "total.py").read_text()
    first = chat.requests[0]
    assert (first.path, first.model) == ("/v1/chat/completions", "tiny")
    assert first.headers["authorization"] == "Bearer none"
    assert "- exit says that you are done" in first.system
    assert part(first.prompt, "Task") == "Change the files of the repository as asked: Repair the sum."


def test_a_model_answers_a_question(sums: Path) -> None:
    def model(prompt: str) -> str:
        if "result += each" in part(prompt, "Last result"):
            return "Action: answer It adds them up, from 1 on;\nsee src/total.py."
        return "cat src/total.py"

    with serve(model) as chat:
        done = ask(chat, sums, "What does total do?", "--mode", "answer", OPENAI_API_KEY="a-key")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(
        "Answer: It adds them up, from 1 on;\nsee src/total.py.\nTokens: 200 read, 14 written.\n"
    )
    assert chat.requests[0].headers["authorization"] == "Bearer a-key"
    assert "a-key" not in done.stdout


@pytest.mark.parametrize("labels", [False, True])
def test_a_model_identifies_a_file(sums: Path, labels: bool) -> None:
    def model(prompt: str) -> str:
        wanted = "id total.py" if part(prompt, "Current folder") == "/work/src" else "cd src"
        if not labels:
            return wanted
        return next(line.partition(".")[0] for line in part(prompt, "Choices").split("\n") if line.endswith(wanted))

    with serve(model) as chat:
        done = ask(chat, sums, "What adds numbers?", *(["--choices"] if labels else []))
    assert done.returncode == 0, done.stderr
    assert "Identified: src/total.py" in done.stdout
    assert "diff" not in done.stdout
    assert len(chat.requests) == 2


def test_azure(sums: Path) -> None:
    with serve(lambda prompt: "id README.md") as chat:
        azure = {
            "AZURE_OPENAI_ENDPOINT": chat.url.removesuffix("/v1"),
            "AZURE_OPENAI_API_KEY": "azure-key",
            "OPENAI_API_VERSION": "2024-06-01",
        }
        done = explore_here("Which?", "--repo", str(sums), "--agent", "openai", "--model", "tiny", **azure)
    assert done.returncode == 0, done.stderr
    assert chat.requests[0].path == "/openai/deployments/tiny/chat/completions?api-version=2024-06-01"
    assert chat.requests[0].headers["api-key"] == "azure-key"


def slow(prompt: str) -> str:
    time.sleep(2)
    return "ls"


NOTHING = "answers with what is no chat completion"


@pytest.mark.parametrize(
    ("model", "requests", "says"),
    [
        (lambda prompt: completion("", choices=[]), 3, "returned no choices (3 requests in"),
        (lambda prompt: completion("", choices=[{}]), 3, "returned no choices (3 requests in"),
        (lambda prompt: Body(b"[1, 2]"), 3, NOTHING),
        (lambda prompt: Body(b'{"choices": "none"}'), 3, NOTHING),
        (lambda prompt: Body(b"not json"), 3, NOTHING),
        (lambda prompt: Body(b"<html>hello</html>", kind="text/html"), 3, NOTHING),
        (lambda prompt: Body(b'{"error": {"message": "no such\\nmodel"}}', 404), 1, "status 404: "),
        (lambda prompt: Body(b'{"error": {"message": "wrong key"}}', 401), 1, "status 401: "),
        (slow, 3, "did not answer within 0.3 seconds (3 requests in 2 s): allow more with --timeout"),
    ],
)
def test_an_endpoint_that_is_no_use(sums: Path, model: Model, requests: int, says: str) -> None:
    around = left_behind()
    with serve(model) as chat:
        done = ask(chat, sums, "Which?", "--timeout", "0.3" if model is slow else "20")
        line = refused(done)
    assert says in line
    assert chat.url in line
    assert len(chat.requests) == requests
    assert left_behind() == around


def test_an_endpoint_that_is_down(sums: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        done = explore_here("Which?", "--repo", str(sums), "--agent", "openai", "--model", "m", OPENAI_BASE_URL=url)
    assert f"{url}/ cannot be reached (" in refused(done)


@pytest.mark.parametrize(
    "model",
    [
        lambda prompt: "I wonder what this is about.",
        lambda prompt: completion(None),
        lambda prompt: completion("", choices=[{"message": {"content": ["a", "list"]}}], usage="many"),
    ],
)
def test_a_model_that_talks_nonsense_is_told_so_and_then_left(sums: Path, model: Model) -> None:
    with serve(model) as chat:
        done = ask(chat, sums, "Which?")
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert len(chat.requests) == 3
    assert all("No command was found in this answer." in each.prompt for each in chat.requests[1:])
    assert "Ended: no command was found in several answers in a row." in done.stdout


def test_what_was_changed_is_shown_when_the_endpoint_goes_away(sums: Path, tmp_path: Path) -> None:
    def model(prompt: str) -> str | Body:
        first = part(prompt, "Commands so far") == "(none)"
        return "echo more >> README.md" if first else Body(b'{"error": {"message": "gone"}}', 410)

    with serve(model) as chat:
        done = ask(chat, sums, "Add.", "--mode", "change", "--export", str(tmp_path / "p"))
    assert "status 410" in refused(done)
    assert "+more" in done.stdout
    assert "+more" in (tmp_path / "p").read_text()


def test_a_key_that_is_none_and_a_password_are_not_shown(sums: Path) -> None:
    given = ("Q", "--repo", str(sums), "--agent", "openai", "--model", "m")
    line = refused(explore_here(*given, OPENAI_API_KEY="secr\u00e9t"))
    assert "OPENAI_API_KEY holds a character that no key has" in line
    assert "secr" not in line
    line = refused(explore_here(*given, OPENAI_BASE_URL="http://me:secret@127.0.0.1:1"))
    assert "http://127.0.0.1:1" in line
    assert "secret" not in line


@pytest.mark.parametrize("late", [0, 1])
def test_an_endpoint_that_drips_is_left(sums: Path, monkeypatch: pytest.MonkeyPatch, late: float) -> None:
    """Each byte comes in time, the answer never; a caller on a busy machine looks late, and sees no part of it."""
    waited = Future[bytes].result

    def wait(answer: Future[bytes], timeout: float | None = None) -> bytes:
        time.sleep(late)
        return waited(answer, timeout)

    monkeypatch.setattr(Future, "result", wait)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            taken, _ = server.accept()
            with taken, contextlib.suppress(OSError):
                taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
                for _ in range(100):
                    taken.sendall(b" ")
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}/v1")
        driver = ModelDriver(ChatEndpoint("m", ChatSettings(timeout=0.5, patience=0)))
        with AutoExploreCopilot("Q", sums) as copilot, pytest.raises(UsageError, match=r"did not answer within 0\.5"):
            copilot.run(driver)


def test_half_an_azure_is_named(sums: Path) -> None:
    azure = {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1", "AZURE_OPENAI_API_KEY": "k"}
    done = explore_here("Q", "--repo", str(sums), "--agent", "openai", "--model", "m", **azure)
    assert "OPENAI_API_VERSION" in refused(done)
