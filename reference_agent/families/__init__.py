"""What only one family of environments needs, a wing for each; other modules know none of them by name.

teacher.py    `make(env, rng, **options)`, the family's own teacher
phrases.toml  its sentences by kind, and the words that the tiny model's tokenizer keeps whole
prompts.toml  what a chat model is told when it is the teacher
warmup.py     what the tiny model's warm-up takes from the family, where it needs more than any other: `lessons` (see
              `reference_agent.warmup.Added`), `samples` (settings of its sample prompts), `words` (of its tokenizer)
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FAMILIES = ("dangerous-taxi", "alfworld", "autoexplore")


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
    """Return what a family's wing has by this name in `warmup.py`; None if it has nothing."""
    module = f"{__name__}.{family.replace('-', '_')}.warmup"
    if family not in FAMILIES or find_spec(module) is None:
        return None
    return getattr(import_module(module), name, None)


def _file(family: str, name: str) -> Path:
    return Path(__file__).parent / family.replace("-", "_") / name
