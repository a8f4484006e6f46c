"""Recorded episodes: digest, file format, and replay.

The running hash after step t covers all observations up to t, so the last one covers the whole text of an episode.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast, get_type_hints

import gymnasium

from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError, reason
from natlang_envs.files import json_line, keys_once, write_whole
from natlang_envs.spaces import escape_surrogates

MAX_FILE_BYTES = 64 * 1024 * 1024  # of a recording, unpacked
MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_ACTION_CHARACTERS = 4_096
MAX_REFLECTION_BYTES = 16 * 1024
_PIECE = 64 * 1024


def chain(previous: str, observation: str) -> str:
    """Return the running hash (64 hex digits) after `observation`; `previous` is `""` at the reset."""
    return hashlib.sha256(f"{previous}\n{observation}".encode()).hexdigest()


@dataclass(frozen=True)
class Trajectory:
    """One episode.

    Attributes:
        task_id: The task that was reset to.
        seed: The seed that was reset with.
        run: Which of several runs of this task it is, from 0.
        actions: The T actions.
        reflections: The reflection before each action, or None.
        rewards: The T rewards.
        digest: The running hash after the last step; see `chain`.
        terminated: Whether the last step terminated the episode.
        truncated: Whether the last step reached the horizon.
        success: `info["success"]` of the last step.
    """

    task_id: str
    seed: int
    run: int
    actions: tuple[str, ...]
    reflections: tuple[str | None, ...]
    rewards: tuple[float, ...]
    digest: str
    terminated: bool
    truncated: bool
    success: bool


class Recorder:
    """Records one episode step by step."""

    def __init__(self, task_id: str, seed: int, run: int, observation: str) -> None:
        self._begin = (task_id, seed, run)
        self._actions: list[str] = []
        self._reflections: list[str | None] = []
        self._rewards: list[float] = []
        self._digest = chain("", observation)
        self._end = (False, False, False)

    def add(
        self,
        action: str,
        reflection: str | None,
        observation: str,
        reward: float,
        terminated: bool,
        truncated: bool,
        success: bool,
    ) -> None:
        """Add the result of one step; `action` as the environment took it, see `strip_unless_listed`."""
        self._actions.append(escape_surrogates(action))
        self._reflections.append(None if reflection is None else escape_surrogates(reflection))
        self._rewards.append(float(reward))
        self._digest = chain(self._digest, observation)
        self._end = (bool(terminated), bool(truncated), bool(success))

    def trajectory(self) -> Trajectory:
        """Return the episode as recorded so far."""
        steps = (tuple(self._actions), tuple(self._reflections), tuple(self._rewards))
        return Trajectory(*self._begin, *steps, self._digest, *self._end)


def play_again(
    env: gymnasium.Env[str, str], recorded: Trajectory
) -> Iterator[tuple[str, float, bool, bool, dict[str, Any]]]:
    """Replay an episode's actions, and yield the results of reset and steps.

    Actions that are left over when the episode ends are not played.
    """
    observation, info = env.reset(seed=recorded.seed, options={"task_id": recorded.task_id})
    yield observation, 0.0, False, False, info
    for action in recorded.actions:
        observation, reward, terminated, truncated, info = env.step(action)
        yield observation, float(reward), terminated, truncated, info
        if terminated or truncated:
            return


def replay(env: gymnasium.Env[str, str], recorded: Trajectory) -> Trajectory:
    """Replay an episode's actions, and return the new episode.

    Actions that are left over when the episode ends are not played, so the result is shorter and differs.
    """
    steps = play_again(env, recorded)
    recorder = Recorder(recorded.task_id, recorded.seed, recorded.run, next(steps)[0])
    for action, reflection, step in zip(recorded.actions, recorded.reflections, steps, strict=False):
        observation, reward, terminated, truncated, info = step
        recorder.add(action, reflection, observation, reward, terminated, truncated, info["success"])
    return recorder.trajectory()


def as_recorded(env: gymnasium.Env[str, str], played: Trajectory) -> Trajectory:
    """Return the last episode of `env` as it is recorded: see `NatLangEnv.recorded_actions`.

    Where the recording has other actions than the player's, they are played here, in `env`, and reflections are left
    out.
    """
    actions = unwrap(env).recorded_actions()
    if actions is None:
        return played
    return replay(env, replace(played, actions=tuple(actions), reflections=(None,) * len(actions)))


def difference(recorded: Trajectory, replayed: Trajectory) -> str | None:
    """Return in one line where a replay differs from the recording, or None."""
    if len({len(recorded.actions), len(recorded.reflections), len(recorded.rewards)}) != 1:
        return "actions, reflections and rewards have different lengths"
    if not (replayed.terminated or replayed.truncated):
        return f"the episode has not ended after its {len(recorded.actions)} recorded steps"
    if len(replayed.actions) < len(recorded.actions):
        return f"the episode ends after step {len(replayed.actions)}, but {len(recorded.actions)} steps are recorded"
    for step, (claimed, actual) in enumerate(zip(recorded.rewards, replayed.rewards, strict=True), 1):
        if claimed != actual:
            return f"the reward of step {step} is {claimed}, the environment gives {actual}"
    if recorded.digest != replayed.digest:
        return f"the digest is {recorded.digest[:12]}…, the environment gives {replayed.digest[:12]}…"
    for name in ("terminated", "truncated", "success"):
        if getattr(recorded, name) != getattr(replayed, name):
            return f"{name} is {getattr(recorded, name)}, the environment gives {getattr(replayed, name)}"
    return None


def plan_length(env: gymnasium.Env[str, str], task_id: str) -> int | None:
    """Return the length of the environment's plan for a task; None if it has none."""
    inner = unwrap(env)
    inner.reset(options={"task_id": task_id})
    try:
        return len(inner.reference())
    except NotImplementedError:
        return None


def line_of(trajectory: Trajectory) -> bytes:
    """Return an episode as its line of a recording, with the line end."""
    return json_line(asdict(trajectory))


def write_trajectories(path: Path, trajectories: Iterable[Trajectory]) -> None:
    """Write one JSON object a line, compressed; equal episodes give equal bytes."""
    write_whole(path, gzip.compress(b"".join(map(line_of, trajectories)), mtime=0))


def read_trajectories(path: Path) -> list[Trajectory]:
    """Read a recording of `write_trajectories`.

    Raises:
        UsageError: The file is missing, too large, or is not such a file; the message names the line.
    """
    return list(stream_trajectories(path))


def stream_trajectories(path: Path) -> Iterator[Trajectory]:
    """Read a recording with one line in memory at a time.

    Raises:
        UsageError: The file is missing, too large, or is not such a file; the message names the line.
    """
    for number, line in enumerate(stream_lines(path), 1):
        try:
            yield parse_line(line)
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: {error}") from None


def parse_line(line: bytes) -> Trajectory:
    """Return the episode of a line of a recording.

    Raises:
        ValueError: It is no episode, or an action or a reflection is too long.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it cannot be read ({error})") from None
    found = _parse(json.loads(text, object_pairs_hook=keys_once))
    for action in found.actions:
        if len(action) > MAX_ACTION_CHARACTERS:
            raise ValueError(f"an action has {len(action)} characters: at most {MAX_ACTION_CHARACTERS} are played")
    for reflection in found.reflections:
        if reflection is not None and len(reflection.encode("utf-8", "replace")) > MAX_REFLECTION_BYTES:
            raise ValueError(f"a reflection is longer than {MAX_REFLECTION_BYTES} bytes")
    return found


def stream_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a recording with their ends, within bounds of bytes.

    Raises:
        UsageError: The file is missing, damaged or too large.
    """
    remedy = "run `natlang evaluate` again"
    total, line = 0, b""
    try:
        for piece in _unpacked(path):
            total += len(piece)
            if total > MAX_FILE_BYTES:
                raise UsageError(f"{path} unpacks to more than {MAX_FILE_BYTES} bytes: that is no recording")
            *whole, rest = piece.split(b"\n")
            for end in whole:
                yield line + end + b"\n"
                line = b""
            line += rest
            if len(line) > MAX_LINE_BYTES:
                raise UsageError(f"{path} unpacks to more than {MAX_LINE_BYTES} bytes in one line: {remedy}")
    except FileNotFoundError:
        raise UsageError(f"{path} is missing: {remedy}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read ({reason(error)}): {remedy}") from None
    if line:
        yield line


def _unpacked(path: Path) -> Iterator[bytes]:
    """Yield the content of a gzip file of one member, in pieces of at most 64 KiB."""
    unpacker = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        packed = file.read(_PIECE)
        if not packed:
            return
        while not unpacker.eof:
            piece = unpacker.decompress(packed, _PIECE)
            packed = unpacker.unconsumed_tail or file.read(_PIECE)
            if not piece and not packed and not unpacker.eof:
                raise EOFError("it is cut short")
            yield piece
        if unpacker.unused_data or packed:
            raise EOFError("there is something after its end")


_TYPES = get_type_hints(Trajectory)
_LISTS: dict[str, tuple[type, ...]] = {"actions": (str,), "reflections": (str, type(None)), "rewards": (int, float)}


def _parse(value: Any) -> Trajectory:
    if not isinstance(value, dict) or sorted(content := cast("dict[str, Any]", value)) != sorted(_TYPES):
        raise ValueError(f"a trajectory has exactly the keys {', '.join(_TYPES)}")
    for name, kind in _TYPES.items():
        given = content[name]
        if name in _LISTS:
            items = cast("list[Any]", given)
            if type(given) is not list or not {*map(type, items)} <= {*_LISTS[name]}:
                raise ValueError(f"{name} must be a list of {_LISTS[name][0].__name__}")
            content[name] = tuple(items)
        elif type(given) is not kind:
            raise ValueError(f"{name} must be {kind.__name__}, not {given!r}")
    return Trajectory(**content)
