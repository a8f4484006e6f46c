"""The texts of prompts for models, from the files in `prompts/`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def prompt_texts(name: str) -> dict[str, Any]:
    """Return the texts of one file, `name` being its name without the ending."""
    file = resources.files("natlang_envs.copilot").joinpath(f"prompts/{name}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
