"""Plays an environment in another Python process, with other hash seed, locale, time zone and working folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from natlang_envs.conformance.case import Case, replayed, transcript, walks

_ELSEWHERE = {"LC_ALL": "C", "LANG": "C", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "0"}
_TIMEOUT = 120  # seconds


def elsewhere(case: Case, hash_seed: int, **request: Any) -> list[str]:
    """Return the transcript that another process gives: of `walks`, or from a `snapshot` on by `actions`."""
    paths = os.pathsep.join(str(Path(entry or ".").absolute()) for entry in sys.path)
    environ = {**os.environ, **_ELSEWHERE, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": paths}
    message = json.dumps({"env_id": case.env_id, "kwargs": case.kwargs, **request})
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=message,
            capture_output=True,
            encoding="ascii",
            env=environ,
            cwd=folder,
            timeout=_TIMEOUT,
            check=False,
        )
    assert done.returncode == 0, f"{case} fails in another process: {done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def _answer(request: dict[str, Any]) -> list[str]:
    case = Case(request["env_id"], request["kwargs"])
    if "snapshot" not in request:
        return transcript(walks(case.make()))
    env = case.make_inner()
    env.reset(seed=1234)
    return replayed(env, request["snapshot"], request["actions"])


if __name__ == "__main__":
    print(json.dumps(_answer(json.load(sys.stdin))))
