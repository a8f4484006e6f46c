"""Writes the parts of the pages that repeat a table or a docstring of the code; a test compares the pages with them.

python docs/generate.py
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from gymnasium.envs.registration import load_env_creator
from typer.main import get_command

from natlang_envs.cli.main import app
from natlang_envs.cli.support import EXTRAS
from natlang_envs.evaluation import Protocol, load_protocol, protocol_names
from natlang_envs.files import write_whole
from natlang_envs.make_env import make_env
from natlang_envs.registration import ENVIRONMENTS, SANDBOXED, Registration
from natlang_envs.sandbox.commands.table import KINDS

HERE = Path(__file__).parent
# Between these two lines of a page stands what is made here.
MADE = re.compile(r"(<!-- made: ([\w-]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
# Packages export their public names in `__all__`; of these modules every name without an underscore is public.
PACKAGES = (
    "natlang_envs",
    "natlang_envs.dangerous_taxi",
    "natlang_envs.autoexplore",
    "natlang_envs.alfworld",
    "natlang_envs.evaluation",
    "natlang_envs.conformance",
    "reference_agent",
)
MODULES = (
    "natlang_envs.env",
    "natlang_envs.why",
    "natlang_envs.specs",
    "natlang_envs.tasks",
    "natlang_envs.task_random",
    "natlang_envs.vector",
    "natlang_envs.episodes",
    "natlang_envs.spaces",
    "natlang_envs.prompt",
    "natlang_envs.two_player",
    "natlang_envs.learners.wrappers",
    "natlang_envs.learners.encoders",
    "natlang_envs.learners.vector_wrappers",
    "natlang_envs.learners.trl",
    "natlang_envs.trajectory",
)
# What maintainers change the suite with; `natlang doctor` says nothing of them.
OWN_EXTRAS = {"docs": "building these pages: `make docs`", "dev": "linters and tests: `make test`"}


# What the rows of AutoExplore's protocols have in common, in fewer words.
SHORTER = (
    (r", those of the test split", ""),
    (r"^(Every question of (any|this) depth|\d+ questions) about ", ""),
    (r", in the (\w+) wording", r", \1 wording"),
    (r": (\d+) about files that training questions are about, too", r"; \1 about files of training questions"),
    (r", each answered (.*), after (\w+) \w+ \w+, with a citation", r", answered \1 after \2"),
    (r" by quoting and picking words of the quotations", " by quoting and picking"),
)
STANDARD = ("\n## Information\nAs of every `NatLangEnv`.\n", "\n## Version History\n- v0: initial version.")


def public_names() -> Iterator[tuple[str, list[str]]]:
    """Yield each module whose names are public, with the names."""
    for package in PACKAGES:
        yield package, list(import_module(package).__all__)
    for module in MODULES:
        yield module, list(_defined(module))


def table(head: str, rows: Iterable[Iterable[str]]) -> list[str]:
    return [head, re.sub(r"[^|]+", " --- ", head), *(f"| {' | '.join(row)} |" for row in rows)]


def environment(entries: list[Registration], level: str) -> Iterator[str]:
    """Yield the part of a page about one class: its docstring, and its ids below the first line."""
    creator: Any = load_env_creator(entries[0].entry_point)
    text = (inspect.getdoc(creator) or "").rstrip()
    for each in STANDARD:  # what every class says
        text = text.replace(each, "").rstrip()
    head, _, rest = text.partition("\n## ")
    rows: list[list[str]] = []
    for entry in entries:
        env = make_env(entry.id)
        arguments = ", ".join(f"`{name}={value!r}`" for name, value in entry.kwargs.items())
        rows.append([f"`{entry.id}`", entry.summary, str(env.horizon), str(env.max_commands), arguments])
    yield from [head.strip(), "", *table("| id | you are asked to | steps | commands | arguments |", rows), ""]
    yield f"## {rest}".replace("## ", f"{level} ")


def commands() -> Iterator[str]:
    group: Any = get_command(app)
    context = group.make_context("natlang", [], resilient_parsing=True)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    first = {name: " ".join(command.help.partition("\n\n")[0].split()) for name, command in found.items()}
    rows = ([f"`natlang {name}`", text.replace("|", "\\|")] for name, text in first.items())
    yield from table("| command | what it does |", rows)


def extras() -> Iterator[str]:
    text = (HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
    known = {**EXTRAS, **OWN_EXTRAS}
    rows = ([f"`{extra}`", known[extra]] for extra in tomllib.loads(text)["project"]["optional-dependencies"])
    yield from table("| `pip install 'natlang-envs[…]'` | for |", rows)


def protocols() -> Iterator[str]:
    groups: dict[str, list[Protocol]] = {"": []}
    for protocol in map(load_protocol, protocol_names()):
        groups.setdefault(protocol.development, []).append(protocol)
    for reason, group in groups.items():
        yield f"Without live rounds, since {reason}:" if reason else "With live rounds:"
        rows = ([f"`{each.name}`", str(len(each.episodes)), str(each.horizon), _tasks_of(each)] for each in group)
        yield from ["", *table("| protocol | episodes | steps | tasks |", rows), ""]


def api() -> Iterator[str]:
    """Yield the part of docs/api.md: every public name with the first line of its docstring, once."""
    listed: set[int] = set()
    for module, names in public_names():
        found = import_module(module)
        yield from [f"## `{module}`", "", _first_line(found), ""]
        new = {name: thing for name in names if id(thing := getattr(found, name)) not in listed}
        listed.update(map(id, new.values()))
        for name, thing in new.items():
            described = inspect.isclass(thing) or inspect.isfunction(thing)
            yield f"- `{name}`: {_first_line(thing) if described else f'a `{type(thing).__name__}`'}"
        yield ""


def _tasks_of(protocol: Protocol) -> str:
    """Return the first sentence of the description without the count, which is a column of the table."""
    sentence = protocol.description.partition(". ")[0].removesuffix(".")
    sentence = sentence.replace(f", {len(protocol.episodes)} of them", "")
    for long, short in SHORTER:
        sentence = re.sub(long, short, sentence)
    return f"{sentence[:1].upper()}{sentence[1:]}".replace("|", "\\|")


def _defined(module: str) -> Iterator[str]:
    """Yield the public classes and functions that a module defines, in their order."""
    for node in ast.parse(inspect.getsource(import_module(module))).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            yield node.name


def _first_line(thing: object) -> str:
    docstring = inspect.getdoc(thing)
    if not docstring:
        raise SystemExit(f"{thing} is public and has no docstring")
    return docstring.splitlines()[0]


def families() -> dict[str, list[Registration]]:
    """Return the ids of the suite by the package of their class, `autoexplore` or `autoexplore-searching`."""
    found: dict[str, list[Registration]] = {}
    for entry in (*ENVIRONMENTS, *SANDBOXED):
        name = "-".join(entry.entry_point.split(".")[1:-1])
        found.setdefault(name, []).append(entry)
    return found


PARTS: dict[str, Callable[[], Iterable[str]]] = {
    "commands": commands,
    "sandbox-commands": lambda: (f"- {kind.line()}" for kind in KINDS),
    "extras": extras,
    "protocols": protocols,
    "api": api,
    **{
        name: lambda entries=entries, level="###" if "-" in name else "##": environment(entries, level)
        for name, entries in families().items()
    },
}


def generated(page: str) -> str:
    """Return a page with its made parts as the code now has them."""

    def made(found: re.Match[str]) -> str:
        text = "\n".join(PARTS[found[2]]()).rstrip()
        return f"{found[1]}\n{text}\n\n{found[3]}"

    return MADE.sub(made, page)


def pages() -> list[Path]:
    return [path for path in sorted(HERE.glob("*.md")) if MADE.search(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for path in pages():
        write_whole(path, generated(path.read_text(encoding="utf-8")).encode())
