"""A command of the sandbox is added by one file: its module with its `Command`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from natlang_envs.sandbox.commands.table import KINDS, NATIVE

ROOT = Path(__file__).parents[3]
MODULE = """
from natlang_envs.sandbox.commands.context import Command, CommandKind
from natlang_envs.sandbox.commands.files import each_file


def tac(context, words, output):
    def show(typed, file):
        for line in reversed(list(file.lines(output))):
            output.write(line + b"\\n")

    return each_file("tac", context, words, output, show)


KIND = CommandKind("{commands}: shows lines in reverse.", (Command("tac", tac, "tac FILE", reads_names=True),))
"""
PROGRAM = """
import json, runpy
from natlang_envs.copilot.copilot import AutoExploreCopilot
with AutoExploreCopilot("Which?", "files") as copilot:
    found = {
        "run": copilot.sandbox.execute("cat a.txt | tac")[:3],
        "help": copilot.sandbox.execute("nothing").stderr,
        "prompt": copilot.instructions,
        "read": copilot.take("tac a.txt.").command,
    }
page = runpy.run_path("docs/generate.py")["generated"]
print(json.dumps(found | {"page": page("<!-- made: sandbox-commands -->\\n<!-- end -->\\n")}))
"""


def test_a_command_is_added_by_its_module_alone(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "natlang_envs", tmp_path / "natlang_envs", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in {
        "natlang_envs/sandbox/commands/reverse.py": MODULE,
        "docs/generate.py": (ROOT / "docs" / "generate.py").read_text(encoding="utf-8"),
        "files/a.txt": "1\n2\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["run"] == ["2\n1\n", "", 0]
    assert "sed, tac, tail" in found["help"]
    assert "- tac FILE: shows lines in reverse.\n" in found["prompt"]
    assert found["read"] == "tac a.txt"  # without the full stop of the sentence
    assert "- tac FILE: shows lines in reverse.\n" in found["page"]


def test_the_commands_are_those_of_the_prompt() -> None:
    assert [each.name for kind in KINDS for each in kind.commands] == [
        *("cd", "ls", "cat", "head", "tail"),
        *("grep", "find", "wc", "sed", "pwd"),
        "echo",
    ]
    assert list(NATIVE) == sorted(NATIVE)
