"""A repository with everything in it that a file system allows, beside a secret that nobody may reach."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

SECRET = "the-secret-outside"


def make(base: Path) -> Path:
    """Make `base/secret.txt` and the repository `base/repo`; return the latter."""
    secret = base / "secret.txt"
    secret.write_text(SECRET + "\n")
    (base / "outer").mkdir()
    (base / "outer" / "inside.txt").write_text(SECRET + "\n")
    repo = base / "repo"
    (repo / "src" / "deep").mkdir(parents=True)
    (repo / "empty").mkdir()
    (repo / ".git" / "hooks").mkdir(parents=True)
    (repo / ".git" / "config").write_text(SECRET)
    (repo / "sub").mkdir()
    (repo / "sub" / ".git").write_text("gitdir: ../.git/modules/sub")
    (repo / "sub" / "module.py").write_text("x = 1\n")
    (repo / "README.md").write_text("# Title\n\nHello.\n")
    (repo / "src" / "main.py").write_text("def main():\n    return 1\n")
    (repo / "src" / "deep" / "far.txt").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    (repo / "no-end.txt").write_text("no line break at the end")
    (repo / "nothing").touch()
    (repo / "data.bin").write_bytes(bytes(range(256)) * 4)
    (repo / "latin.txt").write_bytes("café\n".encode("latin-1"))
    (repo / "with space.txt").write_text("space\n")
    (repo / "-n").write_text("dash\n")
    (repo / "it's").write_text("quote\n")
    (repo / "back\\slash").write_text("backslash\n")
    (repo / "line\nbreak").write_text("line break\n")
    (repo / "ümlaut").write_text("ü\n")
    (repo / "$(touch pwned)").write_text("dollar\n")
    (repo / ("n" * 255)).write_text("long\n")
    Path(os.fsdecode(os.fsencode(repo) + b"/bad\xff")).write_text("no utf-8\n")
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "to-file").symlink_to(secret)
    (repo / "to-folder").symlink_to(base / "outer")
    (repo / "to-root").symlink_to("/")
    (repo / "to-proc").symlink_to("/proc/self/root")
    (repo / "to-up").symlink_to("..")
    (repo / "to-inside").symlink_to("README.md")
    (repo / "dangling").symlink_to(base / "made-by-attack")
    (repo / "loop").symlink_to("loop")
    (repo / "src" / "up").symlink_to("../..")
    os.mkfifo(repo / "fifo")
    os.link(secret, repo / "hard-link")  # its content is the repository's own; writing must not reach the other name
    return repo


def tree_hash(folder: Path) -> str:
    """Return a hash of every name, kind, permission and content below a folder, and of where links point."""
    total = hashlib.sha256()
    for place, folders, files in os.walk(os.fsencode(folder)):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = place + b"/" + name
            status = os.lstat(path)
            total.update(b"%s %o\n" % (path, status.st_mode))
            if stat.S_ISLNK(status.st_mode):
                total.update(os.fsencode(Path(os.fsdecode(path)).readlink()))
            elif stat.S_ISREG(status.st_mode):
                total.update(Path(os.fsdecode(path)).read_bytes())
    return total.hexdigest()
