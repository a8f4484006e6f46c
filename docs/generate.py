"""Writes docs/environments.md from the table of ids and the docstrings of the environments; a test holds them together.

python docs/generate.py
"""

from __future__ import annotations

import inspect
from pathlib import Path

from gymnasium.envs.registration import load_env_creator

from natlang_envs.cli_support import make_env
from natlang_envs.registration import ENVIRONMENTS
from natlang_envs.trajectory import write_whole

PAGE = Path(__file__).parent / "environments.md"


def page() -> str:
    """Return the text of docs/environments.md."""
    lines = [
        "# Environments",
        "",
        "Written by `python docs/generate.py` from the docstrings: change those, then run it again.",
        "",
        "| id | horizon | commands | what it asks |",
        "| --- | --- | --- | --- |",
    ]
    for entry in ENVIRONMENTS:
        env = make_env(entry.id)
        lines.append(f"| `{entry.id}` | {env.horizon} | at most {env.max_commands} | {entry.summary} |")
    for entry_point in dict.fromkeys(entry.entry_point for entry in ENVIRONMENTS):
        creator = load_env_creator(entry_point)
        ids = [entry for entry in ENVIRONMENTS if entry.entry_point == entry_point]
        lines += ["", f"## {getattr(creator, '__name__', entry_point)}", "", "Registered as", ""]
        lines += [f"- `{entry.id}` with {_arguments(entry.kwargs)}" for entry in ids]
        docstring = inspect.getdoc(creator) or ""
        lines += ["", docstring.replace("\n## ", "\n### ").rstrip()]
    return "\n".join(lines) + "\n"


def _arguments(kwargs: dict[str, object]) -> str:
    return ", ".join(f"`{name}={value!r}`" for name, value in kwargs.items())


if __name__ == "__main__":
    write_whole(PAGE, page().encode())
