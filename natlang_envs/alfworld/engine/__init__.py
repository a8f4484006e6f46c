"""ALFWorld's rules and texts, step by step as TextWorld plays them.

game_file            reads a `game.tw-pddl` and recognises its release
pddl_facts, goals    the facts and the goal of its PDDL problem
grammar              fixed texts, and what differs between releases
game                 the parsed game, shared by all its episodes
world                one episode of a game
actions              the commands that can be given now, and the effect and the answer of each
"""

from __future__ import annotations

import hashlib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from natlang_envs.errors import UsageError

_ENGINE = Path(__file__).parent
_LIST = _ENGINE / "compiled.txt"  # a line for each module: the SHA-256 of its source when it was compiled


def is_compiled() -> bool:
    """Return whether the engine runs as compiled modules; the same sources run without."""
    return any((_ENGINE / f"world{suffix}").exists() for suffix in EXTENSION_SUFFIXES)


def _check_compiled() -> None:
    """Refuse a compiled engine of other sources than those that lie beside it."""
    listed = _LIST.read_text(encoding="ascii").splitlines() if _LIST.is_file() else [" alfworld/engine/world.py"]
    for line in listed:
        digest, name = line.split(" ", 1)
        if hashlib.sha256((_ENGINE.parents[1] / name).read_bytes()).hexdigest() != digest:
            raise UsageError(
                f"ALFWorld's compiled engine is of another version of {name}: install natlang-envs again, "
                "or delete the compiled files beside it"
            )


if is_compiled():
    _check_compiled()
