"""What only one family of environments needs, a package for each; the rest of the agent knows none of them by name.

alfworld/        an expert that gives reasons, lessons on lists of things
autoexplore/     a teacher that knows where the file is
dangerous_taxi/  a teacher that drives, lessons on walls and directions

Each has `teacher.py` with `make(env, rng, **options)`; `phrases.toml`, its sentences by kind and the words that the
tiny model's tokenizer keeps whole; `prompts.toml`, what a chat model is told when it is the teacher. `warmup.py` is
what the tiny model takes from the family: `lessons` (see `reference_agent.tiny.warmup.Added`), `samples` (settings of
its sample prompts) and `words` (of its tokenizer).
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FAMILIES = ("dangerous-taxi", "alfworld", "autoexplore")


def package_of(family: str) -> str:
    return f"{__name__}.{family.replace('-', '_')}"


@cache
def phrases(family: str) -> dict[str, list[str]]:
    """Return what a family's teacher says, by kind, and the words of the tiny tokenizer."""
    return _read(family, "phrases.toml")


def prompts(family: str) -> dict[str, str] | None:
    """Return what a chat model is told, by name; None for a family without a package here."""
    return _read(family, "prompts.toml") if family in FAMILIES else None


def own(family: str, name: str) -> Any:
    """Return `name` of a family's `warmup.py`; None if it has none."""
    module = f"{package_of(family)}.warmup"
    if family not in FAMILIES or find_spec(module) is None:
        return None
    return getattr(import_module(module), name, None)


def _read(family: str, name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / family.replace("-", "_") / name).read_text(encoding="utf-8"))
