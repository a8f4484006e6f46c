"""`natlang doctor`: what works on this machine, what is missing, what that costs, and how to get it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from typing import Annotated, Any, Literal

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

from natlang_envs.cli.support import EXTRAS, packages_of
from natlang_envs.errors import UsageError
from natlang_envs.files import cache_folder
from natlang_envs.make_env import make_pinned
from natlang_envs.registration import ENVIRONMENTS

_LEAST_FREE = 1 << 30  # bytes: the repositories take 60 MB, models 300


@dataclass(frozen=True)
class Finding:
    what: str
    state: Literal["works", "limited", "missing"]
    says: str  # what was found; where it does not work, what that costs and what to do


def findings() -> Iterator[Finding]:
    """Yield what was found, the necessary first."""
    yield Finding("Python", "works", f"{platform.python_version()}, {platform.machine()}, {platform.system()}")
    yield _environments()
    yield _engine()
    yield from _extras()
    yield _asked("isolation", _isolation, "AutoExplore's sandbox runs no python or pip")
    if sys.platform.startswith("linux"):
        yield _memory_limit()
    without = 'no AutoExplore with dataset="labelled", and none of its protocols'
    yield _asked("repositories", _repositories, without)
    yield _asked("AutoExplore-ChangeFree", _lab, "it does not play")
    without = 'no ALFWorld with source="official"; generated games need nothing'
    yield _asked("official ALFWorld games", _official_games, without)
    yield _cache()


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of a table.")] = False,
) -> None:
    """Say what works here, what is missing and what that costs. Exits with status 1 if an environment does not work."""
    found = list(findings())
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in found], indent=2))
    else:
        table = Table(Column("what", no_wrap=True), Column("state", no_wrap=True), "found", box=box.SIMPLE)
        colours = {"works": "green", "limited": "yellow", "missing": "yellow"}
        for each in found:
            table.add_row(each.what, f"[{colours[each.state]}]{each.state}[/]", each.says.replace("[", "\\["))
        Console().print(table)
    if found[1].state != "works":
        raise typer.Exit(1)


def _engine() -> Finding:
    try:
        engine = _module("alfworld.engine")
    except UsageError as error:
        return Finding("ALFWorld's engine", "missing", str(error))
    says = "compiled" if engine.is_compiled() else "pure Python; docs/alfworld.md says how to compile it"
    return Finding("ALFWorld's engine", "works", says)


def _environments() -> Finding:
    failed: list[str] = []
    for each in ENVIRONMENTS:
        try:
            env = make_pinned(each.id)
            _, info = env.reset(seed=0)
            env.step(info["admissible_commands"][0])
            env.close()
        except Exception as error:  # whatever it is, the user is told
            failed.append(f"{each.id} ({type(error).__name__}: {error})")
    if failed:
        return Finding("environments", "missing", f"these do not play: {'; '.join(failed)}: install natlang-envs again")
    says = f"natlang-envs {metadata.version('natlang-envs')}: all {len(ENVIRONMENTS)} play"
    return Finding("environments", "works", says)


def _extras() -> Iterator[Finding]:
    for extra, cost in EXTRAS.items():
        missing = [name for name in packages_of(extra) if not any(metadata.distributions(name=name))]
        what = f"extra {extra}"
        if missing:
            needed = f"{', '.join(missing)} needed for {cost}"
            yield Finding(what, "missing", f"{needed}: pip install 'natlang-envs[{extra}]'")
        else:
            yield Finding(what, "works", cost)


def _module(name: str) -> Any:
    """Import a module of an environment's package by name: nothing else here depends on them."""
    return import_module(f"natlang_envs.{name}")


def _asked(what: str, ask: Callable[[], str], cost: str) -> Finding:
    """Return what a function finds, or, where it raises `UsageError`, the error and what is not possible without."""
    try:
        return Finding(what, "works", ask())
    except UsageError as error:
        return Finding(what, "missing", f"{cost}; {error}")


def _isolation() -> str:
    return f"{_module('sandbox.isolation.isolation').find_isolation().name}; try it: natlang check-sandbox"


def _memory_limit() -> Finding:
    isolation = _module("sandbox.isolation.control_group")
    words = f"of all processes of a program in the sandbox: {isolation.who_counts_memory()}"
    return Finding("memory limit", "works" if isolation.groups_folder() else "limited", words)


def _repositories() -> str:
    entries = _module("autoexplore.dataset.catalogue").catalogue().values()
    here = sum(each.is_cached for each in entries)
    if here < len(entries):
        raise UsageError(f"{here} of {len(entries)} are here: run natlang data fetch (60 MB, once)")
    return f"all {here} of the labelled dataset"


def _lab() -> str:
    _isolation()
    return f"its tests run with {_module('change.free_edits.pinned_pytest').lab().name}"


def _official_games() -> str:
    official = _module("alfworld.games.official")
    folder = official.data_folder()
    return f"{len(official.official_ids(folder, 'valid_unseen'))} unseen games in {folder}"


def _cache() -> Finding:
    folder = cache_folder()
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    if not os.access(there, os.W_OK):
        return Finding("cache", "missing", f"{folder} cannot be written to: set NATLANG_CACHE to another folder")
    state = "works" if free >= _LEAST_FREE else "limited"
    return Finding("cache", state, f"{folder}, {free / (1 << 30):.0f} GiB free")
