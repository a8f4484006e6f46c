"""Writes the reward of a repair: 1 where every test passes on the sources as they were left, else 0.

A script of its own, which `test.sh` runs beside the unbroken repository. Only sources are taken from the player:
changed tests, settings and further files change nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

TESTS, LEFT, LOGS = Path("/tests"), Path("/app/repository"), Path("/logs/verifier")
SECONDS = 600
ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def passes(sources: list[str], tests: list[str], arguments: list[str]) -> bool:
    """Return whether every test passes with the player's sources.

    Args:
        sources: The paths that may be changed; one that the player removed is removed.
        tests: The ids of the tests.
        arguments: For pytest, besides.
    """
    with tempfile.TemporaryDirectory() as folder:
        root, report = Path(folder) / "repository", Path(folder) / "report.xml"
        shutil.copytree(TESTS / "repository", root)
        for path in sources:
            (root / path).unlink()
            if (LEFT / path).is_file():
                shutil.copyfile(LEFT / path, root / path)
        told = [each.replace("{root}", str(root)) for each in arguments]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            *told,
            *tests,
        ]
        try:
            done = subprocess.run(command, cwd=root, env={**os.environ, **ENVIRONMENT}, timeout=SECONDS, check=False)
            found = next(ElementTree.parse(report).getroot().iter("testsuite")).attrib
        except (subprocess.TimeoutExpired, OSError, ElementTree.ParseError, StopIteration):
            return False
    return done.returncode == 0 and (found["tests"], found["failures"], found["errors"]) == (str(len(tests)), "0", "0")


if __name__ == "__main__":
    LOGS.mkdir(parents=True, exist_ok=True)
    asked = json.loads((TESTS / "judged.json").read_text(encoding="utf-8"))
    (LOGS / "reward.txt").write_text(f"{int(passes(**asked))}\n", encoding="utf-8")
