"""`natlang serve`: an environment behind OpenEnv's protocol; see `natlang_envs.learners.openenv`."""

# Uvicorn is in the extra that brings OpenEnv.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import ipaddress
import os
import resource
import secrets
import socket
from typing import Annotated

import typer

from natlang_envs.errors import UsageError
from natlang_envs.make_env import make_env

TOKEN = "NATLANG_SERVE_TOKEN"
MAX_MESSAGE = 65_536  # bytes of a message; a command has at most 4,096 characters
_SPARE_FILES = 64  # descriptors for all but the sessions


def serve_command(
    id: Annotated[str, typer.Argument(help="The environment; `natlang envs` lists them.", show_default=False)],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 8000,
    split: Annotated[str, typer.Option(help="The split of its tasks; clients cannot choose it.")] = "train",
    sessions: Annotated[int, typer.Option(help="How many clients may be connected at once.", min=1)] = 64,
    idle: Annotated[float, typer.Option(help="Seconds after which a silent client's session ends.", min=1)] = 600,
) -> None:
    """Serve an environment over OpenEnv's protocol, one of its own for each client.

    Trainers are its clients, so the split is train unless you name another: --split test for an evaluation.

    On another address than loopback every request needs the token of $NATLANG_SERVE_TOKEN, or of the line printed.
    """
    import uvicorn

    from natlang_envs.learners.openenv import make_app

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if sessions > files - _SPARE_FILES:
        raise UsageError(f"{sessions:,} sessions are more than the {files:,} open files allowed here: see ulimit -n")
    env = make_env(id, split=split)
    env.reset(seed=0)  # a wrong id or split, or data that is not here, is said now, not to the first client
    env.close()
    token = os.environ.get(TOKEN) or (None if _is_loopback(host) else secrets.token_urlsafe(24))
    app = make_app(lambda: make_env(id, split=split), split, sessions, idle, token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise UsageError(f"nothing can listen at {host}:{port} ({why}): choose another") from None
    config = uvicorn.Config(app, log_level="warning", ws_max_size=MAX_MESSAGE, timeout_graceful_shutdown=2)
    name = f"[{host}]" if ":" in host else host
    where = f"http://{name}:{listening.getsockname()[1]}" + (f"/{token}" if token else "")
    typer.echo(f"{id}, split {split}, is served at {where} (OpenEnv); Ctrl-C ends it")
    uvicorn.Server(config).run(sockets=[listening])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
