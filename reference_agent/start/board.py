"""A game's protocol, its evaluation, its entry and its site; each command is printed as it can be typed again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import Episode, Protocol
from natlang_envs.files import write_whole
from natlang_envs.make_env import make_env
from reference_agent.start.game import GameFile

_MOST = 100  # tasks of a protocol
_MODULES = {"natlang": "natlang_envs.cli", "natlang-leaderboard": "leaderboard"}


def check_board() -> None:
    """Raise `UsageError`, before anything is trained, if the leaderboard's packages are not installed."""
    _run("natlang-leaderboard", "--help")


def _run(name: str, *arguments: str) -> None:
    command = [sys.executable, "-m", _MODULES[name], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"{name} {arguments[0]} failed: {said.removeprefix(f'{name}: ')}")


def protocol_of_game(game: GameFile) -> Protocol:
    """Return the protocol of a game: each task of the split test once, the first 100 at most."""
    env = make_env(game.id, split="test")
    tasks = game.tasks("test")[:_MOST]
    episodes = tuple(Episode(task, seed) for seed, task in enumerate(tasks))
    return Protocol(f"{game.name}/v1", game.id, {"split": "test"}, env.horizon, 1, episodes, "Test tasks, each once.")


def make_board(game: GameFile, out: Path, facts: list[str], echo: Callable[[str], None]) -> float:
    """Play the protocol of a game with the players in `out`, and make a board of it; return the share of games won.

    Args:
        game: The game.
        out: The folder of the players, in which everything is written.
        facts: Options of `natlang-leaderboard pack` about the players.
        echo: Called with each command before it runs.
    """
    protocol, run, board = out / "protocol.json", out / "evaluation", out / "board"
    write_whole(protocol, protocol_of_game(game).to_json().encode())
    players, entries = f"players:{out / 'players'}", board / "submissions"
    commands = [
        ["natlang", "evaluate", "--agent", players, "--protocol", str(protocol), "--out", str(run)],
        ["natlang-leaderboard", "pack", str(run), "--protocol", str(protocol), "--out", str(entries), *facts],
        ["natlang-leaderboard", "build", "--submissions", str(entries), "--out", str(board / "site")],
    ]
    for command in commands:
        echo("$ " + " ".join(f'"{each}"' if " " in each else each for each in command))
        name, *arguments = command
        _run(name, *arguments)
    rows = json.loads((board / "site" / "leaderboard.json").read_text(encoding="utf-8"))
    name = facts[facts.index("--name") + 1]
    return next(float(each["success_rate"]) for each in rows if each["name"] == name)
