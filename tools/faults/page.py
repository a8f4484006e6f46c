"""The page of the faults: its conclusion, one table, what each cell counts, and the lines that were said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from natlang_envs.evaluation.runs import hardware
from tools.faults.cases import Case
from tools.faults.faults import FAULTS, Outcome

_PLACE = re.compile(r"/\S*?/place-\w+/(disk/)?")
_KEPT_WORDS = 220  # characters of a line that is quoted


def page(cases: Sequence[Case], found: Mapping[tuple[str, str], Outcome], seconds: float) -> str:
    """Return the page as Markdown."""
    every = list(found.values())
    failures = [f"- {case}, {fault}: {each}" for (case, fault), outcome in found.items() for each in outcome.failures]
    killed = [outcome for (_, fault), outcome in found.items() if fault == "kill -9"]
    count = sum(each.times for each in every)
    conclusion = (
        f"All {count:,} faults were survived: each next start went on to the very result of an undisturbed run, or said "
        "in one line what to do and then did, and no file was ever half-written under its final name."
        if not failures
        else f"{len(failures)} things went wrong in {count:,} faults; they are listed below the table."
    )
    lines = [
        "# Faults",
        "",
        conclusion,
        f"{sum(each.times for each in killed):,} of them were `kill -9`, {sum(each.begun for each in killed):,} of those "
        "after something had been written.",
        "",
        f"| command | {' | '.join(FAULTS)} |",
        f"| --- {'| --- ' * len(FAULTS)}|",
        *(f"| {each.name} | {' | '.join(_cell(found[each.name, fault]) for fault in FAULTS)} |" for each in cases),
        "",
        *failures,
        *([""] if failures else []),
        "A cell counts the next starts that ended with the undisturbed result, of all faults of its kind; - where the",
        "command goes on from no file of lines. Results are compared byte by byte, recordings and weights included, but",
        "for the seconds that a run took. In brackets: the most unfinished or temporary things that lay about afterwards.",
        "",
        "- **kill -9**: at instants spread over the command's whole duration, in an order drawn with a fixed seed. What is",
        "  started again is killed again, or left to finish, by chance.",
        "- **full disk**: a tmpfs of a part of what is needed (without root: a limit on the size of files), made larger",
        "  after two starts.",
        "- **read-only**: the disk cannot be written, from the beginning or after a kill; then it can.",
        "- **clock set**: after a kill, all files lie a year in the future or in the past.",
        "- **two at once**: a second process in the same folder, begun later each time. It waits or is refused.",
        "- **corrupt line**: cut short, full of NUL, not UTF-8 or no JSON, amid what the next start reads:",
        f"  {', '.join(f'`{_short(each.text)}` ({each.name})' for each in cases if each.text)}. Then the user does what",
        "  the line says.",
        "",
        "| when | the command |",
        "| --- | --- |",
        *(f"| {each.name} | `{each.shown}` |" for each in cases),
        "",
        "## What is said",
        "",
        *(f"- {_quoted(line)}" for line in dict.fromkeys(_general(each) for out in every for each in out.told)),
        "",
        f"`python -m tools.faults`, {datetime.now(UTC).date().isoformat()}, {hardware()}, where other programs ran",
        f"besides: {seconds / 60:.0f} minutes. The quick form of it is [a test](../tests/test_faults.py).",
    ]
    return "\n".join(lines) + "\n"


def _cell(outcome: Outcome) -> str:
    if not outcome.times:
        return "-"
    return f"{outcome.whole} of {outcome.ends}" + (f" ({outcome.left})" if outcome.left else "")


def _short(pattern: str) -> str:
    return pattern.rpartition("/")[2] if "*" not in pattern else "answers/"


def _general(line: str) -> str:
    """Return a line without what differs from one time to the next."""
    line = _PLACE.sub("", line)
    line = re.sub(r"[0-9a-f]{12,}", "…", line)
    return re.sub(r"\d+", "N", line)


def _quoted(line: str) -> str:
    return f"`{line[:_KEPT_WORDS].replace('`', chr(39))}`"
