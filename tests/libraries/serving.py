"""A server of `natlang serve` for a test, and what asks it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TAXI, HOUSE = "NatLang/DangerousTaxi-v0", "NatLang/ALFWorld-v0"


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "natlang_envs.cli.main", "serve", *options]


@contextmanager
def served(*options: str, token: str | None = None) -> Iterator[str]:
    environment = os.environ | ({"NATLANG_SERVE_TOKEN": token} if token else {})
    with subprocess.Popen(
        command(*options, "--port", "0"), stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout
        found = re.search(r"served at (\S+) ", server.stdout.readline())
        assert found
        try:
            yield found[1]
        finally:
            server.terminate()


def wait_for(url: str, seconds: float = 10) -> Any:
    """Return a client of OpenEnv's that is connected, as soon as the server listens."""
    from openenv.core.generic_client import GenericEnvClient

    for _ in range(round(10 * seconds)):
        try:
            return GenericEnvClient(base_url=url).sync().__enter__()
        except ConnectionError:
            time.sleep(0.1)
    raise AssertionError(f"nothing listens at {url}")


def asked(url: str, body: object = None) -> tuple[int, Any]:
    """Return how plain HTTP answers: the status, and the answer or what is wrong."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, {"Content-Type": "application/json"})) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)["detail"]


def ask_tool(url: str, method: str, **params: Any) -> dict[str, Any]:
    """Return how `/mcp` answers one request."""
    status, answer = asked(f"{url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert status == 200
    return answer
