"""`natlang explore` as a user runs it: a real endpoint on loopback, and real isolation where there is one."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.autoexplore.copilot import AutoExploreCopilot
from natlang_envs.autoexplore.endpoint import OpenAIDriver
from natlang_envs.autoexplore.places import PREFIX
from natlang_envs.cli import main
from tests.natlang_envs.autoexplore.chat_server import Body, Chat, Model, completion, part, serve
from tests.natlang_envs.autoexplore.hostile import tree_hash
from tests.natlang_envs.autoexplore.isolation_here import isolated
from tests.natlang_envs.autoexplore.test_env import write

ROOT = Path(natlang_envs.__file__).parents[1]
COMMAND = [sys.executable, "-m", "natlang_envs.cli", "explore"]
TEST = "from total import total\n\nassert total([1, 2, 3]) == 6\nprint('all is well')\n"
CODE = """\
def total(numbers):
    result = 1
    for each in numbers:
        result += each
    return result
"""
FILES = {
    "README.md": "# Sums\n",
    "src/total.py": CODE,
    "src/test_total.py": TEST,
}
DIFF = """\
diff --git a/src/total.py b/src/total.py
--- a/src/total.py
+++ b/src/total.py
@@ -1,5 +1,5 @@
 def total(numbers):
-    result = 1
+    result = 0
     for each in numbers:
         result += each
     return result
"""


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    folder = tmp_path / "sums"
    folder.mkdir()
    write(folder, FILES)
    return folder


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "OPENAI" not in name}
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1", **changes}


def explore(*arguments: str, stdin: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, text=True, env=environment(**changes), timeout=90
    )


def explore_here(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, which is quicker; for what reads no standard input and gets no signal."""
    if "openai" in arguments:
        pytest.importorskip("openai")
    out, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in [each for each in os.environ if "OPENAI" in each]:
            patch.delenv(name)
        for name, value in {"COLUMNS": "80", "NO_COLOR": "1", **changes}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["natlang", "explore", *arguments])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as left:
            main()
    assert isinstance(left.value.code, int)
    return subprocess.CompletedProcess(arguments, left.value.code, out.getvalue(), errors.getvalue())


def ask(chat: Chat, folder: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the model of a server."""
    given = ("--repo", str(folder), "--agent", "openai", "--model", "tiny", *arguments)
    return explore_here(*given, **{"OPENAI_BASE_URL": chat.url, **changes})


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line on standard error of a refused command."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("natlang: ")
    return done.stderr


def left_behind() -> set[str]:
    places = {Path(tempfile.gettempdir()), Path("/dev/shm")}
    return {str(each) for place in places if place.is_dir() for each in place.glob(f"{PREFIX}*")}


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
        done = explore(*given, "--agent", "openai", "--model", "tiny", OPENAI_BASE_URL=chat.url)
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
        (lambda prompt: completion("", choices=[]), 3, "returned no choices (3 times)"),
        (lambda prompt: Body(b"[1, 2]"), 3, NOTHING),
        (lambda prompt: Body(b'{"choices": "none"}'), 3, NOTHING),
        (lambda prompt: Body(b"not json"), 3, NOTHING),
        (lambda prompt: Body(b"<html>hello</html>", kind="text/html"), 3, NOTHING),
        (lambda prompt: Body(b'{"error": {"message": "no such\\nmodel"}}', 404), 1, "status 404: "),
        (lambda prompt: Body(b'{"error": {"message": "wrong key"}}', 401), 1, "status 401: "),
        (lambda prompt: Body(b"overloaded", 503), 3, "status 503: "),
        (slow, 3, "did not answer within 0.3 seconds (3 times): allow more with --timeout"),
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
        lambda prompt: completion("", choices=[{}]),
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


def test_this_repository_is_explored() -> None:
    # In two parts, or this file would be about it, too.
    question = "where is the observation " + "hash computed?"
    done = explore("--repo", str(ROOT), question, "--agent", "bm25")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "Identified: natlang_envs/trajectory.py"


def test_a_person_explores_by_hand(sums: Path) -> None:
    lines = ["", "ls", "cd src", "grep x", "what is this?", "id nothing", "id total.py", "never read"]
    done = explore("--repo", str(sums), "What adds numbers?", stdin="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    for says in ("/work (30 steps left)\nsrc/  README.md", "/work/src (28 steps left)", "grep: command not found"):
        assert says in done.stdout
    assert "there is no such file here" in done.stdout
    assert done.stdout.endswith("Identified: src/total.py\n")
    assert "- id FILE names the file" in done.stdout


def test_a_person_changes_files_and_sees_the_diff(sums: Path, tmp_path: Path) -> None:
    before, patch = tree_hash(sums), tmp_path / "p"
    change = ("--repo", str(sums), "Add a line.", "--mode", "change", "--export", str(patch))
    done = explore(*change, stdin="echo more >> README.md\nexit\n")
    assert done.returncode == 0, done.stderr
    assert "@@ -1 +1,2 @@\n # Sums\n+more\n" in done.stdout
    assert tree_hash(sums) == before
    assert "+more" in patch.read_text()
    assert "exists: choose another name" in refused(explore_here(*change))
    untouched = explore("--repo", str(sums), "X", "--mode", "change", "--export", str(tmp_path / "q"), stdin="exit\n")
    assert untouched.returncode == 0
    assert "q was not written: there is nothing to export" in " ".join(untouched.stdout.split())
    assert not (tmp_path / "q").exists()


def test_the_end_of_input_shows_what_was_done(sums: Path) -> None:
    done = explore("--repo", str(sums), "Add.", "--mode", "change", stdin="echo more >> README.md\n")
    assert done.returncode == 1
    assert "Left without an end of the task." in done.stdout
    assert "+more" in done.stdout


def test_nothing_that_is_shown_steers_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, {"evil.txt": "\x1b]0;title\x07\x1b[2J[red]plain[/red]\r\u202e\n"})
    done = explore(
        "--repo", str(tmp_path), "\x1b[31mRed?", "--mode", "change", stdin="cat evil.txt\necho '\x1b[2J' > b\nexit\n"
    )
    assert done.returncode == 0, done.stderr
    assert "\\x1b]0;title\\x07\\x1b[2J[red]plain[/red]\\r\\u202e" in done.stdout
    assert "+\\x1b[2J" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("busy", [False, True])
def test_ctrl_c_shows_the_diff_so_far_and_leaves_nothing(sums: Path, tmp_path: Path, busy: bool) -> None:
    if busy and not isolated():
        pytest.skip("needs bubblewrap, or another isolation")
    around, patch = left_behind(), tmp_path / "p"
    arguments = ("--repo", str(sums), "Add.", "--mode", "change", "--export", str(patch))
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("echo more >> README.md\n" + ("python -c 'while True: pass'\n" if busy else ""))
        running.stdin.flush()
        for line in running.stdout:
            if "(29 steps left)" in line:
                break
        time.sleep(1.0 if busy else 0.1)
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors
    assert errors == ""
    assert "Interrupted." in rest
    assert "+more" in rest
    assert "+more" in patch.read_text()
    assert left_behind() == around


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--repo", "/nowhere/at/all", "Q"), "'/nowhere/at/all' does not exist"),
        (("--repo", __file__, "Q"), "is a file: give a folder"),
        (("--repo", ".", "  "), "question is empty"),
        (("--repo", ".", "Q", "--mode", "guess"), "unknown mode 'guess'"),
        (("--repo", ".", "Q", "--agent", "gpt"), "unknown agent 'gpt'"),
        (("--repo", ".", "Q", "--agent", "bm25:x"), "takes no argument"),
        (("--repo", ".", "Q", "--agent", "bm25", "--mode", "answer"), "names files and no more"),
        (("--repo", str(ROOT / "docs"), "Q", "--agent", "oracle"), "has to be told the answer"),
        (("--repo", ".", "Q", "--agent", "openai"), "pass --model"),
        (("--repo", ".", "Q", "--agent", "openai", "--model", "m"), "set OPENAI_API_KEY"),
        (("--repo", ".", "Q", "--mode", "change", "--choices"), "to identify a file only"),
        (("--repo", ".", "Q", "--export", "/nowhere/p"), "no folder '/nowhere'"),
        (("--repo", ".", "Q", "--steps", "0"), "Invalid value for '--steps'"),
        (("Q",), "Missing option '--repo'"),
        (("--repo", "."), "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(explore_here(*arguments))


def test_an_empty_and_an_unreadable_repository(tmp_path: Path) -> None:
    assert "holds no readable file" in refused(explore_here("--repo", str(tmp_path), "Q"))
    if os.geteuid():
        tmp_path.chmod(0)
        assert "cannot be read" in refused(explore_here("--repo", str(tmp_path), "Q"))
        tmp_path.chmod(0o700)


def test_a_key_that_is_none_and_a_password_are_not_shown(sums: Path) -> None:
    given = ("Q", "--repo", str(sums), "--agent", "openai", "--model", "m")
    line = refused(explore_here(*given, OPENAI_API_KEY="secr\u00e9t"))
    assert "OPENAI_API_KEY holds a character that no key has" in line
    assert "secr" not in line
    line = refused(explore_here(*given, OPENAI_BASE_URL="http://me:secret@127.0.0.1:1"))
    assert "http://127.0.0.1:1" in line
    assert "secret" not in line


def test_an_endpoint_that_drips_is_left(sums: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, the answer never."""
    pytest.importorskip("openai")
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
        driver = OpenAIDriver("m", timeout=0.5, attempts=1)
        with AutoExploreCopilot("Q", sums) as copilot, pytest.raises(UsageError, match=r"did not answer within 0\.5"):
            copilot.run(driver)


def test_half_an_azure_is_named(sums: Path) -> None:
    azure = {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1", "AZURE_OPENAI_API_KEY": "k"}
    done = explore_here("Q", "--repo", str(sums), "--agent", "openai", "--model", "m", **azure)
    assert "OPENAI_API_VERSION" in refused(done)


def test_without_the_package_the_remedy_is_named(sums: Path) -> None:
    code = "import sys; sys.modules['openai'] = None; from natlang_envs.cli import main; main()"
    arguments = ["explore", "Q", "--repo", str(sums), "--agent", "openai", "--model", "m"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert "pip install 'natlang-envs[explore]'" in refused(done)


def test_without_bubblewrap_a_program_is_answered_in_words(sums: Path) -> None:
    code = (
        "import natlang_envs.autoexplore.isolation as i; i._candidates = lambda: ();"
        "from natlang_envs.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "explore", "Q", "--repo", str(sums), "--mode", "change"],
        input="python src/test_total.py\nexit\n",
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "python: python and pip need bubblewrap to be isolated" in done.stdout
    assert "[exit code 126]" in done.stdout
