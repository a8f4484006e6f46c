"""What only one family of environments needs, a wing for each; the trunk of the agent knows none of them by name.

teacher.py    `make(env, rng, **options)`, the family's own teacher
phrases.toml  its sentences by kind, and the words that the tiny model's tokenizer keeps whole
prompts.toml  what a chat model is told when it is the teacher
warmup.py     what the tiny model's warm-up takes from the family, where it needs more than any other: `lessons` (see
              `reference_agent.tiny.warmup.Added`), `samples` (settings of its sample prompts), `words` (of its tokenizer)
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FAMILIES = ("dangerous-taxi", "alfworld", "autoexplore")


def wing(family: str) -> str:
    """Return the package of a family's wing."""
    return f"{__name__}.{family.replace('-', '_')}"


@cache
def phrases(family: str) -> dict[str, list[str]]:
    """Return what a family's teacher says, by kind, and the words of the tiny tokenizer."""
    return tomllib.loads(_file(family, "phrases.toml").read_text(encoding="utf-8"))


def prompts(family: str) -> dict[str, str] | None:
    """Return what a chat model is told, by name; None for a family without a wing here."""
    if family not in FAMILIES:
        return None
    return tomllib.loads(_file(family, "prompts.toml").read_text(encoding="utf-8"))


def own(family: str, name: str) -> Any:
    """Return `name` of a family's `warmup.py`; None if it has none."""
    module = f"{wing(family)}.warmup"
    if family not in FAMILIES or find_spec(module) is None:
        return None
    return getattr(import_module(module), name, None)


def _file(family: str, name: str) -> Path:
    return Path(__file__).parent / wing(family).rpartition(".")[2] / name
