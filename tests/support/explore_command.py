"""`natlang explore`, run in this process or another, and the repository that it is run on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import natlang_envs
from natlang_envs.sandbox.isolation.temporary_folders import PREFIX
from tests.support.chat_server import Chat
from tests.support.here import run_here

ROOT = Path(natlang_envs.__file__).parents[1]
COMMAND = [sys.executable, "-m", "natlang_envs.cli.main", "explore"]
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


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "OPENAI" not in name}
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1", **changes}


def explore_here(*arguments: str, stdin: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
    """Run the command in this process; for what gets no signal."""
    environment = {
        **{name: None for name in os.environ if "OPENAI" in name},
        "COLUMNS": "80",
        "NO_COLOR": "1",
        **changes,
    }
    return run_here("natlang", "explore", *arguments, stdin=stdin, environment=environment)


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


def left_behind(process: int | None = None) -> set[str]:
    """Return the sandboxes of a process, this one or another, which their names tell; those of others come and go."""
    places = {Path(tempfile.gettempdir()), Path("/dev/shm")}
    return {str(each) for place in places for each in place.glob(f"{PREFIX}{process or os.getpid()}-*")}
