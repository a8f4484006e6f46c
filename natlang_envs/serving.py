"""Serve an environment over OpenEnv's protocol: `natlang serve NatLang/ALFWorld-v0`.

Any client of OpenEnv's plays it (`GenericEnvClient(base_url=...)`), and so do the trainers that speak OpenEnv. Each
connection has an environment of its own. The protocol, its HTTP routes and WebSocket sessions are OpenEnv's.
"""

# OpenEnv is in an extra of its own and has no types to be strict about.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from openenv.core.env_server import (
    Action,
    ConcurrencyConfig,
    Environment,
    Observation,
    State,
    create_fastapi_app,
)
from openenv.core.env_server.types import EnvironmentMetadata

from natlang_envs.env import MAX_COMMAND_LENGTH, NatLangEnv
from natlang_envs.errors import UsageError

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
    """One environment of the suite behind OpenEnv's interface.

    Args:
        make: Makes the environment.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, make: Callable[[], NatLangEnv]) -> None:
        super().__init__()
        self._env = make()
        self._state = TaskState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task_id: str | None = None, **_: Any
    ) -> TextObservation:
        """Begin an episode: of the task `task_id`, or of one drawn with the seed."""
        text, info = self._env.reset(seed=seed, options={"task_id": task_id} if task_id else None)
        self._state = TaskState(episode_id=episode_id, step_count=0, task_id=info["task_id"])
        return self._seen(text, info)

    def step(self, action: CommandAction, timeout_s: float | None = None, **_: Any) -> TextObservation:
        """Give one command."""
        if self._state.task_id is None:
            raise UsageError("step was asked for before reset")
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
        spec, page = self._env.spec, type(self._env).__doc__ or ""
        return EnvironmentMetadata(name=spec.id if spec else type(self._env).__name__, description=page)

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
    limits = ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=idle)
    served = create_fastapi_app(
        lambda: ServedEnvironment(make), CommandAction, TextObservation, concurrency_config=limits
    )
    return served if token is None else _guarded(served, token)


def _guarded(app: App, token: str) -> App:
    prefix = f"/{token}"

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            path = scope["path"]
            if not hmac.compare_digest(path[: len(prefix) + 1].encode(), f"{prefix}/".encode()):
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": 1008})
                else:
                    await send({"type": "http.response.start", "status": 401, "headers": []})
                    await send({"type": "http.response.body", "body": b"the path has to begin with the token\n"})
                return
            scope = {**scope, "path": path[len(prefix) :], "raw_path": path[len(prefix) :].encode(), "root_path": ""}
        await app(scope, receive, send)

    return guarded
