"""Runs a repository's tests in the sandbox and says how each ended: a script of its own, of two processes.

The first imports nothing of the repository. It reads a ticket that only the caller knows, removes it, closes itself to
the processes that it starts, and begins its one line of output with the ticket. The second runs pytest, from the lab,
and the code under test with it: what that process says of a test can be forged there, and nowhere else.

    python -c CODE TICKET LAB SECONDS ARGUMENTS...
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import subprocess
import sys
from typing import Any

_MOST = 8 << 20  # bytes that are read of the second process
_NOT_DUMPABLE = (4, 0)  # prctl: nobody of the same user may look into this process
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}  # fmt: skip


def first(ticket_file: str, lab: str, seconds: str, arguments: list[str]) -> None:
    """Start the second process, and say what it said."""
    with open(ticket_file, encoding="ascii") as file:  # noqa: PTH123 - as few imports as can be
        ticket = file.read()
    os.unlink(ticket_file)  # noqa: PTH108
    ctypes.CDLL(None).prctl(*_NOT_DUMPABLE, 0, 0, 0)
    code = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    reading, writing = os.pipe()
    limit = int(seconds)
    process = subprocess.Popen(
        [sys.executable, "-s", "-P", "-B", "-c", code, str(writing), lab, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[writing],
        env={**os.environ, **_ENVIRONMENT} if "LD_LIBRARY_PATH" in os.environ else _ENVIRONMENT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    os.close(writing)
    said = b""
    while len(said) < _MOST:
        if not select.select([reading], [], [], 0.05)[0]:
            if process.poll() is not None:  # something that it started may still hold the pipe
                break
            continue
        piece = os.read(reading, 1 << 16)
        if not piece:
            break
        said += piece
    lines = said.decode("utf-8", "replace").splitlines()
    sys.stdout.write(f"{ticket}{json.dumps(lines)}\n")
    sys.stdout.flush()
    process.kill()


def second(output: int, lab: str, arguments: list[str]) -> None:
    """Run pytest, and write a line of JSON for each part of each test."""
    sys.path.insert(0, lab)
    import pytest

    class Reports:
        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed:
                _tell(output, {"test": report.nodeid, "part": "import", "end": "failed", "why": report.longreprtext})

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            why = report.longreprtext if report.failed else ""
            _tell(output, {"test": report.nodeid, "part": report.when, "end": report.outcome, "why": why})

    pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", "/work", *arguments], plugins=[Reports()])
    os._exit(0)


def _tell(output: int, content: dict[str, Any]) -> None:
    line = json.dumps(content).encode() + b"\n"
    while line:
        line = line[os.write(output, line) :]


if __name__ == "__main__":
    if sys.argv[1].isdigit():
        second(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    else:
        first(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
