"""A game in a file: its environment, its teacher, whether it keeps the contract, and its board.

The commands that make the board are printed as they can be typed again.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

import gymnasium

from natlang_envs.conformance import CHECKS, Case, NotApplicable
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, reason, require_choice
from natlang_envs.evaluation import Episode, Protocol, protocol_names
from natlang_envs.files import write_whole
from natlang_envs.make_env import importing_here, make_env
from natlang_envs.prompt import History
from natlang_envs.tasks import SPLITS
from reference_agent.collection import collect
from reference_agent.curriculum import Stage
from reference_agent.run.config import CollectConfig
from reference_agent.teachers.base import Teacher, plan
from reference_agent.teachers.check import check_demonstrations, what_can_be_known

_SHORT_FIRST: tuple[History, ...] = (0, 1, "commands", "full")
_FEW = 25  # trajectories by which it is chosen
_MOST = 100  # tasks of a protocol
_MODULES = {"natlang": "natlang_envs.cli", "natlang-leaderboard": "leaderboard"}
_TEACHER = '''"""The teacher of {id}: says why, and what to do. The players learn its sentences.

Let it say what follows from the state that the players see, such as "The key is in the attic. So I ...".
"""


def teacher(moment):
    action = moment.env.reference()[0]
    return f"So I {{action}}.", action
'''


@dataclass(frozen=True)
class GameFile:
    """A game of one's own."""

    id: str  # `module:id` of its environment, to be made from the current folder
    teacher: Teacher  # its teacher
    written: Path | None  # the file of the teacher, if it was written here

    @property
    def name(self) -> str:
        """The name of its board, which no board of the suite has."""
        module = self.id.partition(":")[0].rpartition(".")[2]
        found = re.sub(r"[^a-z0-9]+", "-", module.lower()).strip("-") or "game"
        return f"my-{found}" if any(each.startswith(f"{found}/") for each in protocol_names()) else found

    def stage(self, split: str) -> Stage:
        return Stage(self.id, env_kwargs={"split": split})

    def tasks(self, split: str) -> list[str]:
        env = make_env(self.id, split=split)
        found = list(env.tasks.ids())
        env.close()
        return found


def read_game(file: Path, env_id: str = "") -> GameFile:
    """Return the game in a Python file below the current folder, which registers it.

    The teacher is the function `teacher` of the file, or of FILE_teacher.py beside it, which is written if the
    environment has a plan and there is none.
    """
    module = _imported(file)
    prefix = f"{module.__name__}:"
    ids = [each.id for each in gymnasium.registry.values() if str(each.entry_point).startswith(prefix)]
    if not ids:
        classes = [name for name, each in vars(module).items() if _is_own(each, module)]
        name = classes[0] if classes else "MyGameEnv"
        line = f'register(Registration("Game/{name.removesuffix("Env")}-v0", f"{{__name__}}:{name}", "What it is."))'
        raise UsageError(f"{file} registers no environment: add the line {line}")
    if not env_id and len(ids) > 1:
        raise UsageError(f"{file} registers {', '.join(ids)}: name one with --env")
    env_id = require_choice("environment", env_id, ids) if env_id else ids[0]
    game = GameFile(f"{module.__name__}:{env_id}", *_teacher(module, file, env_id))
    for split in SPLITS:
        if not game.tasks(split):
            raise UsageError(f"{env_id} has no task in the split {split!r}: give it more tasks")
    return game


def _is_own(value: object, module: ModuleType) -> bool:
    return inspect.isclass(value) and issubclass(value, NatLangEnv) and value.__module__ == module.__name__


def _imported(file: Path) -> ModuleType:
    here = Path.cwd()
    if file.suffix != ".py" or not file.is_file():
        raise UsageError(f"{file} is no Python file: name the one of your game (docs/new_environment.md)")
    parts = file.resolve().with_suffix("").parts
    if not file.resolve().is_relative_to(here):
        raise UsageError(f"{file} is not below this folder: cd {file.resolve().parent}, and name it from there")
    name = ".".join(parts[len(here.resolve().parts) :])
    if not all(each.isidentifier() for each in name.split(".")):
        raise UsageError(f"{file} cannot be imported by its name: use letters, digits and _ alone")
    try:
        with importing_here():
            invalidate_caches()
            module = import_module(name)
    except Exception as error:
        raise UsageError(f"{file} cannot be imported ({type(error).__name__}: {reason(error)}): mend it") from error
    if Path(str(module.__file__)).resolve() != file.resolve():
        raise UsageError(f"{name} is the name of another module, {module.__file__}: rename {file}")
    return module


def _teacher(module: ModuleType, file: Path, env_id: str) -> tuple[Teacher, Path | None]:
    if teacher := vars(module).get("teacher"):
        return teacher, None
    beside, written = file.with_name(f"{file.stem}_teacher.py"), None
    if not beside.exists():
        env = make_env(f"{module.__name__}:{env_id}")
        env.reset(seed=0)
        if not plan(env):
            raise UsageError(f"{file} has neither a function teacher(moment) nor an oracle(): write one of them")
        written = beside
        write_whole(beside, _TEACHER.format(id=env_id).encode())
    teacher = vars(_imported(beside)).get("teacher")
    if teacher is None:
        raise UsageError(f"{beside} has no function teacher(moment): write it, or delete the file")
    return teacher, written


def broken_promises(game: GameFile) -> Iterator[str]:
    """Yield a line for each check of the conformance kit that a game does not pass."""
    case = Case(game.id)
    for check in CHECKS:
        try:
            with importing_here():
                check(case)
        except NotApplicable:
            pass
        except Exception as error:
            yield f"{check.__name__}: {type(error).__name__}: {reason(error)}"


def history_of(game: GameFile) -> tuple[History, str]:
    """Return the shortest history with which no p(s) is taught two actions, and in a line what no p(s) shows."""
    best, fewest, known = _SHORT_FIRST[0], -1, None
    for history in _SHORT_FIRST:
        examples = collect(game.stage("train"), game.teacher, demonstrations(game, _FEW, history), history=history)
        faults = next(row.faults for row in check_demonstrations(examples) if row.rule == "verdicts")
        if fewest < 0 or faults < fewest:
            best, fewest, known = history, faults, what_can_be_known(examples)
        if not faults:
            break
    assert known is not None
    if fewest:
        return best, f"{fewest} states are taught two ways: the teacher goes by what no state shows"
    told = f"{known.unclear:.0%} of the reflections name what their state does not show: {known.first[0]}"
    return best, told if known.unclear > CollectConfig.unclear else ""


def demonstrations(game: GameFile, trajectories: int, history: History, split: str = "train") -> CollectConfig:
    """Return the settings to collect so many trajectories, or one of each task of a split if these are fewer."""
    count = min(trajectories, len(game.tasks(split)))
    # A mistake that p(s) does not show is no lesson. What p(s) does not show is said once, by `history_of`.
    return CollectConfig(trajectories=count, policy_trajectories=count, negatives=1 if history else 0, unclear=1.0)


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
    """Play the protocol of a game with the players in `out`, and make a board there; return the share of games won.

    `facts` are options of `natlang-leaderboard pack` about the players; `echo` is called with each command before it
    runs.
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
