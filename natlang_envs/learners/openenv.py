"""Serve an environment over OpenEnv's protocol: `natlang serve NatLang/ALFWorld-v0`.

Any client of OpenEnv's plays it (`GenericEnvClient(base_url=...)`), and so do the trainers that speak OpenEnv. Each
connection has an environment of its own, all of them in the split that the server was started with. The protocol, its
HTTP routes and WebSocket sessions are OpenEnv's; plain HTTP keeps no game between two requests.
"""

# OpenEnv is in an extra of its own and has no types to be strict about.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import Action, ConcurrencyConfig, Environment, Observation, State, create_fastapi_app
from openenv.core.env_server.types import EnvironmentMetadata

from natlang_envs.env import MAX_COMMAND_LENGTH, NatLangEnv
from natlang_envs.errors import UsageError, one_of

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class CommandAction(Action):
    """A command, as it stands in the last observation's `admissible_commands`."""

    command: str


class TextObservation(Observation):
    """What the player sees after a command; `reward` and `done` are OpenEnv's own fields."""

    text: str
    task: str
    task_id: str
    admissible_commands: list[str]
    feedback: str
    success: bool
    truncated: bool = False


class TaskState(State):
    """Which task is being played; `episode_id` and `step_count` are OpenEnv's own fields."""

    task_id: str | None = None


class ServedEnvironment(Environment[CommandAction, TextObservation, TaskState]):
    """One environment of the suite behind OpenEnv's interface."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, make: Callable[[], NatLangEnv]) -> None:
        super().__init__()
        self._env = make()
        self._state = TaskState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task_id: str | None = None, **unknown: Any
    ) -> TextObservation:
        """Begin an episode: of the task `task_id`, or of one drawn with the seed."""
        for name in unknown:
            if name == "split":
                raise UsageError("a client cannot choose the split: start natlang serve with --split")
            one_of("argument of reset", name, ("seed", "episode_id", "task_id"))
        for name, given, kind in (("seed", seed, int), ("episode_id", episode_id, str), ("task_id", task_id, str)):
            if not isinstance(given, kind | None) or isinstance(given, bool):
                raise UsageError(f"{name} must be {kind.__name__}, not {given!r:.99}")
        text, info = self._env.reset(seed=seed, options=None if task_id is None else {"task_id": task_id})
        self._state = TaskState(episode_id=episode_id, step_count=0, task_id=info["task_id"])
        return self._seen(text, info)

    def step(
        self, action: CommandAction, timeout_s: float | None = None, request_id: str | None = None, **unknown: Any
    ) -> TextObservation:
        """Give one command; a step is over at once, so no time limit can run out."""
        for name in unknown:
            one_of("argument of step", name, ("action", "timeout_s", "request_id"))
        if self._state.task_id is None:
            raise UsageError("step was asked for before reset; both go through one WebSocket, for HTTP keeps no game")
        if len(action.command) > MAX_COMMAND_LENGTH:
            raise UsageError(f"a command has at most {MAX_COMMAND_LENGTH:,} characters, not {len(action.command):,}")
        text, reward, terminated, truncated, info = self._env.step(action.command)
        self._state.step_count += 1
        seen = self._seen(text, info)
        seen.reward, seen.done, seen.truncated = float(reward), terminated or truncated, truncated
        return seen

    # A step takes microseconds: handing it to a thread would take longer than the step.
    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any
    ) -> TextObservation:
        """Begin an episode; see `reset`."""
        return self.reset(seed, episode_id, **kwargs)

    async def step_async(self, action: CommandAction, timeout_s: float | None = None, **kwargs: Any) -> TextObservation:
        """Give one command; see `step`."""
        return self.step(action, timeout_s, **kwargs)

    @property
    def state(self) -> TaskState:
        """The task, and how many commands were given."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return the environment's name and the page about it."""
        return EnvironmentMetadata(name=_name(self._env), description=type(self._env).__doc__ or "")

    def close(self) -> None:
        """Release the environment."""
        self._env.close()

    def _seen(self, text: str, info: dict[str, Any]) -> TextObservation:
        names = ("task", "task_id", "feedback", "success")
        commands = list(info["admissible_commands"])
        return TextObservation(text=text, admissible_commands=commands, **{name: info[name] for name in names})


def make_app(make: Callable[[], NatLangEnv], sessions: int = 64, idle: float = 600.0, token: str | None = None) -> App:
    """Return an ASGI application that serves environments.

    Args:
        make: Makes the environment of a session.
        sessions: How many clients may be connected at once; one more is told that there is no room.
        idle: Seconds after which a silent client's session ends.
        token: What has to stand first in the path of every request, as in `http://HOST:PORT/TOKEN`; without it everyone
            may play who reaches the port.
    """

    def serve() -> ServedEnvironment:
        return ServedEnvironment(make)

    env = make()
    serve.__name__ = _name(env)  # what OpenEnv's /list_environments says
    env.close()
    limits = ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=idle)
    served = create_fastapi_app(serve, CommandAction, TextObservation, concurrency_config=limits)
    served.add_exception_handler(UsageError, _refused)
    return served if token is None else _guarded(served, token)


def _name(env: NatLangEnv) -> str:
    return env.spec.id if env.spec else type(env).__name__


def _refused(request: Request, error: Exception) -> JSONResponse:
    """Answer a wrong HTTP request; in a WebSocket OpenEnv tells the message itself."""
    return JSONResponse({"detail": str(error)}, status_code=400)


def _guarded(app: App, token: str) -> App:
    prefix = f"/{token}"

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await app(scope, receive, send)
            return
        path, rest = scope["path"], scope["path"][len(prefix) :]
        if hmac.compare_digest(path[: len(prefix) + 1].encode(), f"{prefix}/".encode()):
            await app({**scope, "path": rest, "raw_path": rest.encode(), "root_path": ""}, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"the path has to begin with the token\n"})

    return guarded
