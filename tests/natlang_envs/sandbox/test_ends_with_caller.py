"""What a process starts in its group ends when the process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from natlang_envs.sandbox.isolation.ends_with_caller import group

CALLER = """
import os, subprocess, sys, time
from natlang_envs.sandbox.isolation.ends_with_caller import group
if sys.argv[1] == "session": group(); os.setsid()
if sys.argv[1] == "forked" and (group(), os.fork())[1] == 0:
    os.close(1); time.sleep(6)
started = subprocess.Popen(["/bin/sleep", "60"], stdout=subprocess.DEVNULL, process_group=group())
print(started.pid, flush=True)
sys.stdin.read()
"""


def _ended(process: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].startswith("Z"):
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def _killed_caller(kind: str) -> int:
    with subprocess.Popen(
        [sys.executable, "-c", CALLER, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as caller:
        assert caller.stdout is not None
        started = int(caller.stdout.readline())
        assert os.getpgid(started) not in (os.getpgid(caller.pid), os.getpgid(0))
        caller.kill()
    return started


def test_what_a_killed_process_started_ends() -> None:
    assert _ended(_killed_caller("alone"))


def test_a_process_that_begins_a_session_gets_another_group() -> None:
    assert _ended(_killed_caller("session"))


def test_a_forked_process_does_not_keep_its_parents_group() -> None:
    assert _ended(_killed_caller("forked"))


def test_it_is_one_group_for_all_threads_and_another_one_when_its_shell_was_ended() -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(group())) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    (first,) = set(found)
    os.killpg(first, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while (second := group()) == first and time.monotonic() < deadline:
        time.sleep(0.01)
    assert first != second == group()
    assert os.getpgid(0) != second


def test_it_is_no_child_that_a_caller_waits_for() -> None:
    code = "import os; from natlang_envs.sandbox.isolation.ends_with_caller import group; group(); os.wait()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ChildProcessError" in done.stderr
