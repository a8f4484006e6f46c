"""`python -m tools.faults`: do the faults to the commands, and write the table."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.cli_support import run_app
from tools.faults import loopback
from tools.faults.cases import measured, prepare
from tools.faults.faults import FAULTS, Outcome, Trial
from tools.faults.page import page

_QUICK = 4.0  # seconds
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def faults(
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("docs/faults.md"),
    kills: Annotated[int, typer.Option(min=1, help="Kills of each command.")] = 50,
    others: Annotated[
        int, typer.Option(min=1, help="How often each other fault is done; to quick ones twice that.")
    ] = 2,
    only: Annotated[list[str] | None, typer.Option(help="A command (exploring) or a fault (kill); repeatable.")] = None,
) -> None:
    """Do the faults to the real commands, and write what their next start made of them."""
    begun, found = time.monotonic(), {}
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, loopback.serving() as url:
        root = Path(folder)
        cases = prepare(root, url)
        for case in cases:
            if not _wanted(only, case.name, [each.name for each in cases]):
                continue
            trial = Trial(case, root, *measured(case, root, 3 if kills > 9 else 1))
            for fault, do in FAULTS.items():
                if _wanted(only, fault, list(FAULTS)):
                    count = others * (2 if trial.seconds < _QUICK else 1)
                    outcome = do(trial, kills if do is FAULTS["kill -9"] else count)
                    found[case.name, fault] = outcome
                    _tell(case.name, fault, outcome)
    if not only:
        out.write_text(page(cases, found, time.monotonic() - begun), encoding="utf-8")
        typer.echo(str(out))
    if any(each.failures for each in found.values()):
        raise typer.Exit(1)


def _wanted(only: list[str] | None, name: str, names: list[str]) -> bool:
    chosen = [each for each in only or () if each in names]
    return not chosen or name in chosen


def _tell(case: str, fault: str, outcome: Outcome) -> None:
    said = f"{outcome.times} times, {outcome.begun} begun, {outcome.whole} whole, {len(outcome.told)} told"
    typer.echo(f"{case}, {fault}: {said}, {outcome.left} left, {len(outcome.failures)} failed")
    for line in [*dict.fromkeys(outcome.told), *outcome.failures]:
        typer.echo(f"    {line}")


if __name__ == "__main__":
    run_app(app, "python -m tools.faults")
