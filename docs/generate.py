"""Writes docs/environments.md and docs/api.md from docstrings; a test compares the pages with them.

python docs/generate.py
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module, util
from pathlib import Path

from gymnasium.envs.registration import load_env_creator

from natlang_envs.files import write_whole
from natlang_envs.making import make_env
from natlang_envs.registration import ENVIRONMENTS

HERE = Path(__file__).parent
NOTICE = "Written by `python docs/generate.py` from the docstrings: change those, then run it again."
# Packages export their public names in `__all__`; of these modules every name without an underscore is public.
PACKAGES = (
    "natlang_envs",
    "natlang_envs.dangerous_taxi",
    "natlang_envs.autoexplore",
    "natlang_envs.alfworld",
    "natlang_envs.evaluation",
    "natlang_envs.conformance",
)
MODULES = (
    "env",
    "tasks",
    "task_random",
    "vector",
    "episodes",
    "spaces",
    "prompt",
    "enumeration",
    "two_player",
    "wrappers",
    "learners",
    "vector_wrappers",
    "trl",
    "trajectory",
)


def environments_page() -> str:
    """Return the text of docs/environments.md."""
    lines = [
        "# Environments",
        "",
        NOTICE,
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
        lines += [f"- `{entry.id}` with {_arguments(dict(entry.kwargs))}" for entry in ids]
        docstring = inspect.getdoc(creator) or ""
        lines += ["", docstring.replace("\n## ", "\n### ").rstrip()]
    return "\n".join(lines) + "\n"


def api_page() -> str:
    """Return the text of docs/api.md: every public name with the first line of its docstring."""
    lines = ["# Public names", "", NOTICE, "", "Everything else is internal and may change without notice.", ""]
    for package in PACKAGES:
        module = import_module(package)
        lines += [f"## `{package}`", "", _first_line(module), "", "| name | |", "| --- | --- |"]
        lines += [f"| `{name}` | {_describe(getattr(module, name))} |" for name in module.__all__]
        lines.append("")
    for name in MODULES:
        module = import_module(f"natlang_envs.{name}")
        lines += [f"## `{module.__name__}`", "", _first_line(module), "", "| name | |", "| --- | --- |"]
        lines += [f"| `{each}` | {_describe(getattr(module, each))} |" for each in _defined(module.__name__)]
        lines.append("")
    return "\n".join(lines)


def _defined(module: str) -> Iterator[str]:
    """Yield the public classes and functions that a module defines, in their order."""
    spec = util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            yield node.name


def _first_line(thing: object) -> str:
    docstring = inspect.getdoc(thing)
    if not docstring:
        raise SystemExit(f"{thing} is public and has no docstring")
    return docstring.splitlines()[0]


def _describe(thing: object) -> str:
    if inspect.isclass(thing) or inspect.isfunction(thing):
        return _first_line(thing).replace("|", "\\|")
    return f"a `{type(thing).__name__}`"


def _arguments(kwargs: dict[str, object]) -> str:
    return ", ".join(f"`{name}={value!r}`" for name, value in kwargs.items())


PAGES = {"environments.md": environments_page, "api.md": api_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        write_whole(HERE / name, page().encode())
