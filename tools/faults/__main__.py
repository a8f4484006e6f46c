"""`python -m tools.faults`: do the faults to the commands, and write the page about them."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.cli.support import run_app
from natlang_envs.evaluation.runs import hardware
from tools.faults.cases import Case, served
from tools.faults.faults import FAULTS, Outcome, Trial

_QUICK = 4.0  # seconds
_PLACE = re.compile(r"/\S*?/place-\w+/(disk/)?")
_PAGE = """# Faults

{conclusion} {kills} of them were `kill -9`, {begun} of those after something had been written.

| command | {faults} |
| --- |{rule}
{rows}

{failures}A cell counts the next starts that were left to end with the undisturbed result, of all of its kind. Results
are compared byte by byte, recordings, curves and weights included, but for the seconds that a run took. In brackets:
the most unfinished or temporary things that lay about afterwards. `-`: the command goes on from no file of lines.

- **kill -9**: {each} a command, at instants spread over its whole duration, in an order drawn with a fixed seed. What
  is started again is killed again or, by chance, left to end.
- **full disk**: a tmpfs of a part of what is needed (without root: a limit on the size of files); then larger.
- **read-only**: the disk cannot be written, from the beginning or after a kill; then it can.
- **clock set**: after a kill, all files lie a year in the future or in the past.
- **two at once**: a second process in the same folder, begun later each time. It waits or is refused.
- **corrupt line**: cut short, full of NUL, not UTF-8 or no JSON, amid what the next start reads. Then what the line
  says is done. {texts}.

| when | the command |
| --- | --- |
{commands}

## What is said

{said}

`python -m tools.faults` wrote this page on {date}: {machine}, where other programs ran besides, {minutes:.0f} minutes.
[A test](../../tests/test_faults.py) does a few of them, and holds what was mended.
"""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def faults(
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("docs/dev/faults.md"),
    kills: Annotated[int, typer.Option(min=1, help="Kills of each command.")] = 50,
    others: Annotated[
        int, typer.Option(min=1, help="How often each other fault is done; to quick ones twice that.")
    ] = 2,
    only: Annotated[str | None, typer.Option(help="The one command to do them to, such as exploring; no page.")] = None,
) -> None:
    """Do the faults to the real commands, and write what their next start made of them."""
    begun, found = time.monotonic(), dict[tuple[str, str], Outcome]()
    with tempfile.TemporaryDirectory(prefix="faults-") as root, served(Path(root)) as cases:
        for case in cases:
            if only in (None, case.name):
                trial = Trial(case, Path(root), 3)
                for fault in FAULTS:
                    count = others * (2 if trial.seconds < _QUICK else 1)
                    done = found[case.name, fault] = trial.do(fault, kills if fault == "kill -9" else count)
                    typer.echo(f"{case.name}, {fault}: {done}")
        if only is None:
            out.write_text(_page(cases, found, time.monotonic() - begun), encoding="utf-8")
    if any(each.failures for each in found.values()):
        raise typer.Exit(1)


def _page(cases: Sequence[Case], found: Mapping[tuple[str, str], Outcome], seconds: float) -> str:
    failures = [f"- {case}, {fault}: {each}" for (case, fault), out in found.items() for each in out.failures]
    killed = [outcome for (_, fault), outcome in found.items() if fault == "kill -9"]
    count = sum(each.times for each in found.values())
    survived = (
        f"All {count:,} faults were survived: each next start that was not killed in its turn ended with the result of "
        "an undisturbed run, some after one line that said what to do. No file was ever half-written under its final "
        "name."
    )
    said = dict.fromkeys(_general(line) for outcome in found.values() for line in outcome.told)
    return _PAGE.format(
        conclusion=f"{len(failures)} of {count:,} faults were not survived." if failures else survived,
        kills=f"{sum(each.times for each in killed):,}",
        begun=f"{sum(each.begun for each in killed):,}",
        faults=" | ".join(FAULTS),
        rule=" --- |" * len(FAULTS),
        rows="\n".join(
            f"| {each.name} | {' | '.join(_cell(found[each.name, it]) for it in FAULTS)} |" for each in cases
        ),
        failures="".join(f"{each}\n" for each in failures) + "\n" * bool(failures),
        each=max(outcome.times for outcome in killed),
        texts="; ".join(f"{each.name}: `{each.text.removeprefix('disk/')}`" for each in cases if each.text),
        commands="\n".join(f"| {each.name} | `{each.command.replace('disk/', '')}` |" for each in cases),
        said="\n".join(f"- `{line}`" for line in said),
        date=datetime.now(UTC).date().isoformat(),
        machine=hardware(),
        minutes=seconds / 60,
    )


def _cell(outcome: Outcome) -> str:
    return f"{outcome.whole} of {outcome.ends}" + f" ({outcome.left})" * bool(outcome.left) if outcome.times else "-"


def _general(line: str) -> str:
    """Return a line, cut, without what differs from one time to the next."""
    line = re.sub(r"[0-9a-f]{12,}", "…", _PLACE.sub("", line).replace("disk/", ""))
    return re.sub(r"(line|column|char|characters|bytes|position) \d+(-\d+)?", r"\1 N", line).replace("`", "'")[:200]


if __name__ == "__main__":
    run_app(app, "python -m tools.faults")
