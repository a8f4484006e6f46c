"""`natlang check-sandbox`: attacks the sandbox on this machine, and prints what was tried and what held."""

from __future__ import annotations

import os
import platform
from collections import Counter

import typer
from rich.progress import track

from natlang_envs.cli.support import printable
from natlang_envs.sandbox.attacks.arena import Arena, verdict
from natlang_envs.sandbox.attacks.cases import ATTACKS
from natlang_envs.sandbox.isolation.control_group import groups_folder, who_counts_memory
from natlang_envs.sandbox.isolation.isolation import Bubblewrap, find_isolation

_CLASSES = {
    "read": "read what is outside",
    "write": "write what is outside",
    "reach": "reach processes, sockets and the network",
    "rights": "gain rights",
    "bomb": "pass a limit on time, memory, processes, disk or output",
    "hold": "hide what they hold, or have the kernel hold it",
    "left": "leave something behind",
    "pip": "do any of these from code that pip runs",
    "call": "reach parts of the kernel that no program needs",
    "layer": "change or find the files that many runs share",
}


def check_sandbox_command() -> None:
    """Attack the sandbox on this machine with hostile programs, and print what was tried and what held."""
    isolation = find_isolation()
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    typer.echo(
        f"{isolation.name}, as {user}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    )
    typer.echo(f"Memory of all processes together: {who_counts_memory()}")
    tried: Counter[str] = Counter()
    held: Counter[str] = Counter()
    failed: list[str] = []
    arena = Arena()
    try:
        attacks = {name: attack for name, attack in ATTACKS.items() if not attack.layered or isolation.lays()}
        # Where the kernel counts memory, the watcher is tried alone as well.
        watched = Bubblewrap(isolation.program, grouped=False) if isinstance(isolation, Bubblewrap) else isolation
        runs = [(isolation, *each) for each in attacks.items()]
        if groups_folder():
            runs += [(watched, *each) for each in attacks.items() if each[0].startswith("hold:")]
        for way, name, attack in track(runs, "attacks", transient=True):
            kind = name.partition(":")[0]
            tried[kind] += 1
            problem = verdict(attack, arena.attack(way, attack))
            held[kind] += not problem
            if problem:
                failed.append(f"{name}: {' '.join(problem.split())[:300]}")
    finally:
        arena.close()
    width = max(len(_CLASSES[kind]) for kind in tried)
    typer.echo(f"{'Hostile programs try to':{width}}  tried  held")
    for kind, count in tried.items():
        typer.echo(f"{_CLASSES[kind]:{width}}  {count:5}  {held[kind]:4}")
    for line in failed:
        typer.echo(printable(f"NOT HELD: {line}"))
    if failed:
        raise typer.Exit(1)
