"""What the sandbox says has changed, through real git and patch."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from natlang_envs.repository.names import on_disk
from natlang_envs.sandbox.sandbox import AutoExploreSandbox
from tests.natlang_envs.sandbox.test_sandbox import both


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_patch_through_git(sandbox, repo, tmp_path):
    shutil.rmtree(repo / ".git")
    target = tmp_path / "target"
    shutil.copytree(repo, target, symlinks=True, ignore=shutil.ignore_patterns("fifo"))
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    both(
        sandbox,
        "echo end >> no-end.txt",
        "echo -n end >> README.md",
        "echo > nothing",
        "head -n 0 README.md > 'added empty'",
        "echo 'a b' > 'with space.txt'",
        "cat data.bin README.md > data.bin",
        "cat data.bin > new.bin",
        "echo x >> latin.txt",
        "echo x >> 'bad\\xff'",
        "echo x >> 'line\\x0abreak'",
        "echo x >> 'back\\slash'",
        "echo x >> ümlaut",
        "echo x >> run.sh",
        "tail -n +16 src/deep/far.txt > src/deep/half.txt",
        "head -n 3 src/deep/half.txt > src/deep/far.txt",
        "echo 'a\r\nb' > cr.txt",
    )
    assert "Binary files a/data.bin and b/data.bin differ\n" in sandbox.diff()
    sandbox.export(tmp_path / "changes.patch")
    apply = ["git", "apply", "--whitespace=nowarn"]
    done = subprocess.run([*apply, "../changes.patch"], cwd=target, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    changes = sandbox.changed_files()
    assert len(changes) == 16
    names = {change.path: os.fsencode(target) + b"/" + on_disk(change.path) for change in changes}
    for change in changes:
        assert Path(os.fsdecode(names[change.path])).read_bytes() == change.after
    assert os.access(target / "run.sh", os.X_OK)
    undone = subprocess.run([*apply, "-R", "../changes.patch"], cwd=target, capture_output=True, check=False)
    assert undone.returncode == 0
    assert (target / "data.bin").read_bytes() == bytes(range(256)) * 4
    assert not (target / "new.bin").exists()


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_patch_through_patch(repo, tmp_path):
    (repo / "far.txt").write_text("".join(f"{n % 7}\n" for n in range(3_000)))
    with AutoExploreSandbox(repo) as sandbox:
        both(
            sandbox,
            "head -n 2000 far.txt > 'new far.txt'",
            "tail -n +3 far.txt > half.txt",
            "head -n 900 half.txt > far.txt",
            "echo -n x >> far.txt",
            "tail -n 1900 half.txt >> far.txt",
            "echo x >> no-end.txt",
            "echo x > nothing",
            "head -n 0 nothing > README.md",
        )
        sandbox.export(tmp_path / "changes.patch")
        changes = sandbox.changed_files()
    done = subprocess.run(["patch", "-p1", "-i", "../changes.patch"], cwd=repo, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    for change in changes:
        path = repo / change.path
        assert (path.read_bytes() if path.exists() else b"") == change.after
