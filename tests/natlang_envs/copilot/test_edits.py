"""The copilot takes the edits that models write, all of one or nothing, and says what it cannot take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from natlang_envs.copilot.copilot import AutoExploreCopilot
from tests.support.folders import write

BEFORE = "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"
AFTER = BEFORE.replace("a - b", "a + b", 1)
OLD, NEW = "def add(a, b):\n    return a - b", "def add(a, b):\n    return a + b"
PATCH = (
    "*** Begin Patch\n*** Update File: src/calc.py\n@@ def add(a, b):\n"
    "-    return a - b\n+    return a + b\n*** End Patch"
)
DIFF = (
    "--- a/src/calc.py\n+++ b/src/calc.py\n@@ -1,4 +1,4 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n \n"
)
BLOCK = f"<<<<<<< SEARCH\n{OLD}\n=======\n{NEW}\n>>>>>>> REPLACE"
REPLACED = {"command": "str_replace", "path": "/work/src/calc.py", "old_str": OLD, "new_str": NEW}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"function": {"name": name, "arguments": json.dumps(arguments)}}]}


EDITS: dict[str, str | dict[str, Any]] = {
    "apply_patch": PATCH,
    "apply_patch in a block": f"I mend it.\n```\n{PATCH}\n```",
    "apply_patch with a here-document": f"apply_patch <<'EOF'\n{PATCH}\nEOF",
    "apply_patch in a shell's block": f"```bash\napply_patch <<'EOF'\n{PATCH}\nEOF\n```",
    "apply_patch after a label": f"Thought: so\nAction:\n{PATCH}",
    "apply_patch as a tool": call("apply_patch", {"input": PATCH}),
    "search and replace": f"src/calc.py\n```python\n{BLOCK}\n```",
    "search and replace, the path within": f"```python\nsrc/calc.py\n{BLOCK}\n```\nThat is all.",
    "search and replace without a block": f"### src/calc.py\n{BLOCK}",
    "a diff": f"```diff\n{DIFF}```",
    "a diff of git": f"diff --git a/src/calc.py b/src/calc.py\nindex 1..2 100644\n{DIFF}",
    "a diff with wrong numbers": "```diff\n" + DIFF.replace("-1,4 +1,4", "-10,2 +10,9") + "```",
    "patch": f"patch -p1 <<'EOF'\n{DIFF}EOF",
    "git apply": f"git apply <<'EOF'\n{DIFF}EOF",
    "str_replace": call("str_replace_based_edit_tool", REPLACED),
    "str_replace in a tag": f"<tool_call>{json.dumps({'name': 'edit', 'arguments': REPLACED})}</tool_call>",
    "old and new strings": json.dumps(
        {"tool": "edit", "file_path": "src/calc.py", "old_string": OLD, "new_string": NEW}
    ),
    "a file written by a tool": call("write_file", {"path": "src/calc.py", "content": AFTER}),
    "a whole file below its path": f"The new file:\n\nsrc/calc.py\n```python\n{AFTER}```",
    "a whole file below its path in bold": f"**`src/calc.py`**:\n\n```python\n{AFTER}```\nThis mends it.",
    "a whole file in a block of its name": f"```python src/calc.py\n{AFTER}```",
    "a whole file in a block of its path": f"```src/calc.py\n{AFTER}```",
    "a whole file in a block with a title": f'```python title="src/calc.py"\n{AFTER}```',
    "a whole file in a tag": f'<file path="src/calc.py">\n{AFTER}</file>',
    "a here-document": f"cat > src/calc.py <<'EOF'\n{AFTER}EOF",
    "sed": "sed -i '2s/a - b/a + b/' src/calc.py",
    "sed with another mark": "```bash\nsed -i '2s|-|+|' src/calc.py\n```",
    "sed with addresses and groups": r"sed -i '/def add/,/return/s/\(return a\) - b/\1 + b/' src/calc.py",
    "sed with extended expressions": r"sed -E -i '1,2s/(return) a - (b)/\1 a + \2/' src/calc.py",
    "sed that deletes and appends": r"sed -i '2d; 1a\    return a + b' src/calc.py",
    "cd and sed": "cd src && sed -i '2s/-/+/' calc.py",
}


@pytest.fixture
def calc(tmp_path: Path) -> Path:
    folder = tmp_path / "calc"
    folder.mkdir()
    write(folder, {"src/calc.py": BEFORE, "README.md": "# Calc\n"})
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_made(calc: Path, name: str) -> None:
    with AutoExploreCopilot("Mend it.", calc, mode="change") as copilot:
        turn = copilot.take(EDITS[name])
        assert turn.result.exit_code == 0, turn.result
        assert copilot.sandbox.overlay.read("src/calc.py").decode() == AFTER
        assert [each.path for each in copilot.sandbox.changed_files()] == ["src/calc.py"]


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (
            PATCH.replace("a - b", "a * b"),
            "src/calc.py: these lines are not in the file; they begin with 'return a * b'",
        ),
        (PATCH.replace("calc.py", "none.py"), "src/none.py: there is no such file"),
        (PATCH.replace("src/calc.py", "../x.py"), "../x.py: it cannot be written"),
        (BLOCK, "needs the path of its file"),
        (f"src/calc.py\n{BLOCK}".replace("def add(a, b):\n", ""), "stand 2 times in the file"),
        (f"src/calc.py\n{BLOCK.partition('>>>')[0]}", "has no end"),
        ("src/calc.py\n```python\n# ... existing code ...\n```", "stands for lines that are left out"),
        ("```python\nx = 1\n```", "A block of python without the path of its file changes nothing."),
        ("sed -i 's/x' src/calc.py", "'s/x' is not here"),
        ("sed -i 's/[/x/' src/calc.py", "is no expression"),
        ("sed -i 's/a/b/' none.py", "No such file or directory"),
        ("perl -pi -e 's/a/b/' README.md", "perl: command not found"),
        ("cd nowhere && sed -i 's/a/b/' README.md", "nowhere"),
    ],
)
def test_an_edit_that_cannot_be_made_is_said_in_one_line_and_changes_nothing(calc: Path, said: str, says: str) -> None:
    with AutoExploreCopilot("Mend it.", calc, mode="change") as copilot:
        result = copilot.take(said).result
        assert says in result.stderr
        assert result.stderr.count("\n") == 1
        assert result.exit_code != 0
        assert copilot.sandbox.changed_files() == ()


def test_files_come_move_and_go_together(calc: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new/deep/x.py\n+a\n+\n+b\n*** Update File: src/calc.py\n*** Move "
        "to: src/sums.py\n"
        "@@\n-    return a - b\n+    return a + b\n*** Delete File: README.md\n*** End Patch"
    )
    with AutoExploreCopilot("Mend it.", calc, mode="change") as copilot:
        copilot.take("cd src")
        result = copilot.take(patch).result
        assert result.stdout.split() == [
            "added",
            "new/deep/x.py",
            "deleted",
            "src/calc.py",
            "added",
            "src/sums.py",
            "deleted",
            "README.md",
        ]
        assert copilot.sandbox.overlay.read("new/deep/x.py") == b"a\n\nb\n"
        assert copilot.sandbox.overlay.read("src/sums.py").decode() == AFTER


def test_a_document_with_a_fence_is_read_whole(calc: Path) -> None:
    document = "cat <<'EOF' > x.md\nUse:\n```python\nx\n```\nEOF"
    with AutoExploreCopilot("Write.", calc, mode="change") as copilot:
        assert copilot.take(f"I write it.\n```bash\n{document}\n```").command == document
        assert copilot.sandbox.overlay.read("x.md") == b"Use:\n```python\nx\n```\n"


@pytest.mark.parametrize(
    "said",
    [
        "finish",
        "submit",
        "submit()",
        "Action: finish[all is well]",
        '<tool_call>{"name": "finish"}</tool_call>',
        "Done",
    ],
)
def test_other_words_for_the_end_of_a_change(calc: Path, said: str) -> None:
    with AutoExploreCopilot("Mend it.", calc, mode="change") as copilot:
        copilot.take(said)
        assert (copilot.ending is not None) is (said != "Done")


def test_an_expression_that_takes_for_ever_is_stopped(calc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natlang_envs.sandbox.commands.writing._SECONDS", 0.5)
    write(calc, {"a.txt": "a" * 60})
    with AutoExploreCopilot("Mend it.", calc, mode="change") as copilot:
        result = copilot.take(r"sed -i 's/\(a*\)*b/x/' a.txt").result
        assert "takes more than 0.5 seconds" in result.stderr
