"""Writes benchmarks/results/autoexplore_known_games.md: ten recorded games of `recall-smollm2` with their reflections.

Every game is replayed, and each reflection is compared with what the screen showed until then.

python -m tools.known_games
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import gymnasium

from natlang_envs.autoexplore.dataset.shipped import load_labels
from natlang_envs.evaluation.protocols import load_protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.files import write_whole
from natlang_envs.trajectory import Trajectory, read_trajectories

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "results" / "autoexplore_known_games.md"
PROTOCOL = "autoexplore-known/v1"
ENTRY = ROOT / "leaderboard" / "submissions" / PROTOCOL / "recall-smollm2"
EACH = 5  # games won, and games lost
_READ = re.compile(r"Read so far: (.*?\))\. ")
_FILE = re.compile(r"(\S+) \((\d+) parts?\)")
_LEFT = re.compile(r"(\d+) steps? (?:is|are) left\.$")
_PART = re.compile(r"^\[characters ([\d,]+) to ", re.MULTILINE)
_NAMED = re.compile(r"I name (\S+)\. ")
HEAD = f"""# Ten games in known repositories

The player's reflections say what was read, what of it looks best, and what the memory names next. Each is true of what
was shown.

Shown are the first {EACH} games that `recall-smollm2` won and the first {EACH} that it lost on `{PROTOCOL}`, in the
order of its recording. Each reflection is as recorded, except that the list of what was read stands only before the
last command. `python -m tools.known_games` replays the games and compares every file, part and step that a reflection
counts with what the screen showed.
"""


@cache
def _targets() -> dict[str, tuple[str, ...]]:
    return {label.id: label.targets for label in load_labels("known_test")}


def untrue(reflection: str, read: dict[str, int], steps_left: int) -> str:
    """Return what a reflection counts wrongly, given how many parts of each file were shown; "" if nothing."""
    listed = _READ.search(reflection)
    claimed = {file: int(parts) for file, parts in _FILE.findall(listed[1])} if listed else {}
    if claimed != read:
        return f"read: says {claimed}, shown {read}"
    left = _LEFT.search(reflection)
    if left is None or int(left[1]) != steps_left:
        return f"steps left: {reflection!r}, {steps_left} in truth"
    named = _NAMED.search(reflection)
    return f"names {named[1]}, which was not read" if named and named[1] not in read else ""


def game(env: gymnasium.Env[str, str], recorded: Trajectory, horizon: int) -> Iterator[str]:
    """Yield the lines of one game.

    Raises:
        ValueError: A reflection is not true of what was shown, or the replay ends otherwise than the recording.
    """
    _, info = env.reset(seed=recorded.seed, options={"task_id": recorded.task_id})
    question = info["task"].partition(": ")[2]
    targets = ", ".join(_targets()[recorded.task_id])
    yield f"## {'Won' if recorded.success else 'Lost'}: `{recorded.task_id}`\n\n{question} Answered by {targets}.\n"
    read: dict[str, set[str]] = {}
    folder: list[str] = []
    last = len(recorded.actions) - 1
    for at, (action, reflection) in enumerate(zip(recorded.actions, recorded.reflections, strict=True)):
        if fault := untrue(reflection or "", {file: len(parts) for file, parts in read.items()}, horizon - at):
            raise ValueError(f"{recorded.task_id}, step {at + 1}: {fault}")
        yield f"{at + 1}. `{action}`: {reflection if at == last else _READ.sub('', reflection or '')}"
        observation, _, _, _, info = env.step(action)
        verb, _, name = action.partition(" ")
        if verb == "cd":
            folder = folder[:-1] if name == ".." else [*folder, name]
        elif verb == "cat":
            part = _PART.findall(observation)[-1:]
            read.setdefault("/".join([*folder, name]), set()).add(part[0] if part else "1")
    if info["success"] != recorded.success:
        raise ValueError(f"{recorded.task_id}: the replay ends otherwise")
    yield ""


def page() -> str:
    protocol = load_protocol(PROTOCOL)
    env = protocol.make_env()
    played = list(read_trajectories(ENTRY / TRAJECTORIES_FILE))
    lines = [HEAD]
    for success in (True, False):
        for recorded in islice((each for each in played if each.success is success), EACH):
            lines.extend(game(env, recorded, protocol.horizon))
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    write_whole(PAGE, page().encode())
