"""The episodes that an entry's page shows, and any other one as text."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium

from leaderboard.result import ReplayResult
from leaderboard.rounds import protocol_of
from leaderboard.schema import naming
from leaderboard.verify import beside_of, opened
from natlang_envs.env import NatLangEnv, unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.spaces import escape_surrogates
from natlang_envs.trajectory import Trajectory, parse_line, play_again, stream_lines

_RECORDED = ("task_id", "seed", "run", "success", "actions", "reflections", "rewards")
SHOWN = 12  # successes, and as many failures, that a page shows at least if the entry has them


def shown_episodes(result: ReplayResult, protocol: Protocol, kinds: dict[str, dict[str, str]]) -> list[int]:
    """Return the numbers, from 0, of the episodes that an entry's page shows.

    These are the first success and the first failure of each kind of task, and the first of all until there are 12 of
    either. They depend on the outcomes alone, so nobody chooses them. `kinds` is `kinds_of(protocol)`.
    """
    runs = len(result.outcomes) // len(protocol.episodes)
    of = [set(kinds[episode.task_id].items()) for episode, _ in protocol.plays(runs)]
    chosen: list[int] = []
    for outcome in "10":
        every = [number for number, each in enumerate(result.outcomes) if each == outcome]
        seen: set[tuple[str, str]] = set()
        new = [number for number in every if not of[number] <= seen and not seen.update(of[number])]
        others = [number for number in every if number not in new]
        chosen += new + others[: max(0, SHOWN - len(new))]
    return sorted(chosen)


def viewed(protocol: Protocol) -> gymnasium.Env[str, str] | None:
    """Return the environment that shows the observations, or None if its data are not on this machine."""
    try:
        env = protocol.make_env()
        if "ansi" in env.metadata["render_modes"]:
            env = protocol.make_env(render_mode="ansi")
        env.reset(options={"task_id": protocol.episodes[0].task_id})
    except UsageError:
        return None
    return env


def script_of(recording: Path, numbers: list[int], env: gymnasium.Env[str, str] | None) -> bytes:
    """Return the script with episodes that the viewer loads; without an environment it has no observations.

    It is a script, since a page that is opened from a file can load nothing else. It calls one function of the viewer
    with JSON, packed by gzip and in base64.
    """
    found = [_shown(env, each) for each in _episodes(recording, numbers)]
    packed = gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0)
    return f'pieces("{base64.b64encode(packed).decode()}");\n'.encode()


def episode_text(folder: Path, number: int) -> str:
    """Return an episode of an entry as text, step by step.

    Args:
        folder: The entry.
        number: The episode, from 1, in the order of the recording.

    Raises:
        UsageError: The folder is no entry, or it has no such episode.
    """
    with naming(folder):
        submission = opened(folder)
        protocol = protocol_of(submission.protocol, beside_of(folder))
    total = len(protocol.episodes) * submission.run.runs
    if not 1 <= number <= total:
        raise UsageError(f"there is no episode {number}: {folder} has those from 1 to {total}")
    (recorded,) = _episodes(folder / TRAJECTORIES_FILE, [number - 1])
    env = protocol.make_env()
    lines = [f"Episode {number} of {total}: {recorded.task_id}, seed {recorded.seed}, run {recorded.run + 1}"]
    for step, (observation, _, _, _, info) in enumerate(play_again(env, recorded)):
        if not step:
            lines.append(unwrap(env).task)
        lines += ["", f"Step {step + 1}" if step < len(recorded.actions) else "End", observation]
        if step < len(recorded.actions):
            lines.append(f"Listed: {'; '.join(info['admissible_commands'])}")
            if (reflection := recorded.reflections[step]) is not None:
                lines.append(f"Said: {reflection}")
            lines.append(f"> {recorded.actions[step]}   (reward {recorded.rewards[step]:g})")
    lines.append("Success" if recorded.success else "No success")
    env.close()
    return escape_surrogates("\n".join(lines))


def _episodes(recording: Path, numbers: list[int]) -> Iterator[Trajectory]:
    wanted = set(numbers)
    for number, line in enumerate(stream_lines(recording)):
        if number in wanted:
            yield parse_line(line)


def _shown(env: gymnasium.Env[str, str] | None, recorded: Trajectory) -> dict[str, Any]:
    """Return what the viewer shows of an episode, as JSON values; what the environment shows is that of a replay.

    Nothing is hashed and compared: the ledger says that it is what was recorded.
    """
    shown: dict[str, Any] = {"observations": None, "listed": [], "pictures": [], "task": ""}
    if env is not None:
        with suppress(UsageError):
            shown = _replayed(env, recorded)
    return shown | {name: getattr(recorded, name) for name in _RECORDED}


def _replayed(env: gymnasium.Env[str, str], recorded: Trajectory) -> dict[str, Any]:
    # The default picture only says the observation and the commands again.
    has_pictures = env.render_mode == "ansi" and type(unwrap(env)).render is not NatLangEnv.render
    texts: dict[str, list[str]] = {"observations": [], "listed": [], "pictures": []}
    for observation, _, _, _, info in play_again(env, recorded):
        texts["observations"].append(observation)
        texts["listed"].append("\n".join(info["admissible_commands"]))
        if has_pictures:
            texts["pictures"].append(str(env.render()))
    return {name: _shortened(those) for name, those in texts.items()} | {"task": unwrap(env).task}


def _shortened(texts: list[str]) -> list[tuple[int, str]]:
    """Return each text as (what it shares with the beginning of the one before it, the rest).

    An environment says most of its world again at every step; without this a page would hold megabytes. The shared
    length counts UTF-16 units, as JavaScript does.
    """
    shortened: list[tuple[int, str]] = []
    before = ""
    for text in texts:
        shared = shared_length(before, text)
        units = shared if text.isascii() else len(text[:shared].encode("utf-16-le")) // 2
        shortened.append((units, text[shared:]))
        before = text
    return shortened


def shared_length(one: str, other: str) -> int:
    """Return the number of characters that two texts begin with alike, by halving: slices compare at memory speed."""
    if one == other:  # as lists of commands mostly are
        return len(one)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
