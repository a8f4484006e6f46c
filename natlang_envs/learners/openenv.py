"""Serve an environment over OpenEnv's protocol: `natlang serve NatLang/ALFWorld-v0`.

Any client of OpenEnv's plays it (`GenericEnvClient(base_url=...)`), and so do the trainers that speak OpenEnv. Each
connection has an environment of its own, all of them in the split that the server was started with. The protocol, its
HTTP routes and WebSocket sessions are OpenEnv's; plain HTTP keeps no game between two requests. Clients of tools find
one tool, `act`, which gives a command.
"""

# OpenEnv is in an extra of its own and has no types to be strict about.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import hmac
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastmcp import FastMCP
from openenv.core.env_server import Action, ConcurrencyConfig, Environment, Observation, State, create_fastapi_app
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
    ToolError,
    ToolErrorType,
)
from openenv.core.env_server.types import EnvironmentMetadata

from natlang_envs.env import MAX_COMMAND_LENGTH, NatLangEnv
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.learners.tested_versions import warn_if_untested

warn_if_untested("openenv")

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]

LISTED_TASKS = 10_000
"""The most tasks that `/tasks` lists, as OpenEnv allows; `/num_tasks` counts all, and `/task` returns each."""

_TOOLS = {"list_tools": ListToolsAction, "call_tool": CallToolAction}
_ACT = "act"


class CommandAction(Action):
    """A command, as it stands in the last observation's `admissible_commands`."""

    command: str

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Any:
        """Return the action that a client sends: a command, or a tool client's request."""
        tools = _TOOLS.get(str(obj.get("type"))) if isinstance(obj, dict) else None
        return super().model_validate(obj, **options) if tools is None else tools.model_validate(obj, **options)


class TextObservation(Observation):
    """The observation after a command; `reward` and `done` are OpenEnv's own fields."""

    text: str
    task: str
    task_id: str
    admissible_commands: list[str]
    feedback: str
    success: bool
    truncated: bool = False


class TaskState(State):
    """The task being played; `episode_id` and `step_count` are OpenEnv's own fields."""

    task_id: str | None = None


@dataclass
class Served:
    make: Callable[[], NatLangEnv]  # makes the environment of a session
    split: str  # the split of its tasks

    @cached_property
    def name(self) -> str:
        """The environment's id without its namespace: OpenEnv's routes take one part of a path."""
        env = self.make()
        env.close()
        return _id(env).rpartition("/")[2]

    @cached_property
    def task_ids(self) -> tuple[str, ...]:
        """All tasks, in their fixed order."""
        env = self.make()
        env.close()
        return tuple(env.tasks.ids())

    def check_split(self, split: str) -> None:
        """Raise `UsageError` unless this is the split served."""
        if split != self.split:
            raise UsageError(f"{self.split!r} is served here, not {split!r:.99}: start natlang serve with --split")

    def task(self, index: int) -> str:
        """Return the id of a task by its position, or raise `UsageError` where there is none."""
        if not 0 <= index < len(self.task_ids):
            raise UsageError(f"the split {self.split!r} has {len(self.task_ids):,} tasks, from 0 on: none is {index}")
        return self.task_ids[index]


class ServedEnvironment(Environment[CommandAction, TextObservation, TaskState]):
    """One environment of the suite behind OpenEnv's interface."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, served: Served) -> None:
        super().__init__()
        self._served = served
        self._env = served.make()
        self._state = TaskState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task_id: str | None = None,
        split: str | None = None,
        index: int | None = None,
        **unknown: Any,
    ) -> TextObservation:
        """Begin an episode: of the task `task_id`, of the one at `index`, or of one sampled with the seed."""
        known = {"seed": int, "episode_id": str, "task_id": str, "split": str, "index": int}
        for name in unknown:
            require_choice("argument of reset", name, known)
        for (name, kind), given in zip(known.items(), (seed, episode_id, task_id, split, index), strict=True):
            if not isinstance(given, kind | None) or isinstance(given, bool):
                raise UsageError(f"{name} must be {kind.__name__}, not {given!r:.99}")
        if split is not None:
            self._served.check_split(split)
        if index is not None:
            if task_id is not None:
                raise UsageError("task_id and index both name a task: give one of them")
            task_id = self._served.task(index)
        text, info = self._env.reset(seed=seed, options=None if task_id is None else {"task_id": task_id})
        self._state = TaskState(episode_id=episode_id, step_count=0, task_id=info["task_id"])
        return self._seen(text, info)

    def step(
        self, action: Action, timeout_s: float | None = None, request_id: str | None = None, **unknown: Any
    ) -> Observation:
        """Give one command, or do what a client of tools asks; a step is over at once, so no time limit can run out."""
        for name in unknown:
            require_choice("argument of step", name, ("action", "timeout_s", "request_id"))
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=[_TOOL])
        if isinstance(action, CallToolAction):
            return self._called(action)
        assert isinstance(action, CommandAction)
        return self._given(action.command)

    def _given(self, command: str) -> TextObservation:
        if self._state.task_id is None:
            raise UsageError("step was asked for before reset; both go through one WebSocket, for HTTP keeps no game")
        if len(command) > MAX_COMMAND_LENGTH:
            raise UsageError(f"a command has at most {MAX_COMMAND_LENGTH:,} characters, not {len(command):,}")
        text, reward, terminated, truncated, info = self._env.step(command)
        self._state.step_count += 1
        seen = self._seen(text, info)
        seen.reward, seen.done, seen.truncated = float(reward), terminated or truncated, truncated
        return seen

    def _called(self, call: CallToolAction) -> CallToolObservation:
        """Call the tool; what is wrong with a call stands in the answer, as OpenEnv's clients of tools ask."""
        kind = ToolErrorType.TOOL_NOT_FOUND
        try:
            require_choice("tool", call.tool_name, [_ACT])
            kind = ToolErrorType.INVALID_ARGS
            seen = self._given(_command(call.arguments))
        except UsageError as error:
            refused = ToolError(error_type=kind, message=str(error))
            return CallToolObservation(tool_name=call.tool_name, error=refused)
        return CallToolObservation(tool_name=_ACT, result=seen.model_dump(), reward=seen.reward, done=seen.done)

    @cached_property
    def mcp_server(self) -> FastMCP:
        """The tool for clients of `/mcp`; made when the first one asks."""
        server = FastMCP("natlang-envs")

        @server.tool(name=_ACT, description=_TOOL.description)
        def act(command: str) -> dict[str, Any]:
            return self._given(_command({"command": command})).model_dump()

        return server

    def list_splits(self) -> list[str]:
        return [self._served.split]

    def num_tasks(self, split: str) -> int:
        self._served.check_split(split)
        return len(self._served.task_ids)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return a task by its position: what `reset` takes as `task_id`, or as `split` and `index`."""
        self._served.check_split(split)
        return {"task_id": self._served.task(index), "split": split, "index": index}

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        return [self.get_task(split, index) for index in range(*slice(start, stop).indices(self.num_tasks(split)))]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the tasks, of a large split the first ones."""
        return self.get_task_range(split, 0, LISTED_TASKS)

    # A step takes microseconds: handing it to a thread would take longer than the step.
    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any
    ) -> TextObservation:
        return self.reset(seed, episode_id, **kwargs)

    async def step_async(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        return self.step(action, timeout_s, **kwargs)

    @property
    def state(self) -> TaskState:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return the environment's name and the page about it."""
        return EnvironmentMetadata(
            name=_id(self._env), description=type(self._env).__doc__ or "", version=version("natlang-envs")
        )

    def close(self) -> None:
        self._env.close()

    def _seen(self, text: str, info: dict[str, Any]) -> TextObservation:
        names = ("task", "task_id", "feedback", "success")
        commands = list(info["admissible_commands"])
        return TextObservation(text=text, admissible_commands=commands, **{name: info[name] for name in names})


_TOOL = Tool(
    name=_ACT,
    description="Give one command, as it stands in the last observation's `admissible_commands`.",
    input_schema={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)


def _command(arguments: Mapping[str, Any]) -> str:
    """Return the argument of the tool, or raise `UsageError`."""
    for name in arguments:
        require_choice(f"argument of {_ACT}", name, ["command"])
    command = arguments.get("command")
    if not isinstance(command, str):
        raise UsageError(f"{_ACT} takes the argument command, a str, not {command!r:.99}")
    return command


def make_app(
    make: Callable[[], NatLangEnv], split: str, sessions: int = 64, idle: float = 600.0, token: str | None = None
) -> App:
    """Return an ASGI application that serves environments.

    Args:
        make: Makes the environment of a session.
        split: The split of its tasks; a client that asks for another is refused.
        sessions: How many clients may be connected at once; one more is refused.
        idle: Seconds after which a silent client's session ends.
        token: What has to stand first in the path of every request, as in `http://HOST:PORT/TOKEN`; without it everyone
            may play who reaches the port.
    """
    served = Served(make, split)
    limits = ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=idle)
    more = {"state_cls": TaskState} if "state_cls" in inspect.signature(create_fastapi_app).parameters else {}  # 0.5
    app = create_fastapi_app(
        lambda: ServedEnvironment(served),
        CommandAction,
        TextObservation,
        concurrency_config=limits,
        env_name=served.name,
        **more,
    )
    app.add_exception_handler(UsageError, lambda request, error: _answer(400, str(error)))
    app.add_exception_handler(RequestValidationError, lambda request, error: _answer(422, error.errors()))
    return app if token is None else _guarded(app, token)


def _id(env: NatLangEnv) -> str:
    return env.spec.id if env.spec else type(env).__name__


def _answer(status: int, detail: Any) -> Response:
    """Answer a wrong HTTP request, in ASCII: it may quote what UTF-8 has no bytes for."""
    return Response(json.dumps({"detail": jsonable_encoder(detail)}), status, media_type="application/json")


def _guarded(app: App, token: str) -> App:
    prefix = f"/{token}"

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        # Container runtimes ask for /health without a token; it reveals nothing else.
        if scope["type"] not in ("http", "websocket") or scope["path"] == "/health":
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
