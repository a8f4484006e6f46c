"""Commands for who maintains the labelled dataset: `python -m tools.dataset`.

A label begins as a draft, one JSON object a line. `draft` fills in what a command can know and says what is wrong;
`assemble` makes the files of the splits; `sample` writes a sheet for a blind second review; `pool` writes files
that may answer besides, and `amend` takes in what readers of it found; `further` makes the labels that the third
edition adds, and `drawn` lists the files whose questions of these are test_seen's; `card` writes the card; `pin` writes
the Coffee Company's digest into the catalogue.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.autoexplore.dataset.blind_review import sample, write_readings
from natlang_envs.autoexplore.dataset.card import card
from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.editions import (
    NEWEST,
    amendments,
    amendments_file,
    digest,
    edition_named,
    load_labels,
    part_named,
    write_amendments,
)
from natlang_envs.autoexplore.dataset.report import all_parts
from natlang_envs.cli_support import printable, run_app
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from tools.dataset.amend import read_findings, take
from tools.dataset.assemble import assemble, drafts_folder, write_parts
from tools.dataset.drafts import Filled, fill_file, write_filled
from tools.dataset.drawn import drawn_files, repositories_in_train
from tools.dataset.further import assemble_further, kept_drafts, write_further
from tools.dataset.pin import main as pin
from tools.dataset.pool import pool, write_pool

app = typer.Typer(help="Maintain the labelled dataset.", pretty_exceptions_enable=False)
Out = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]


@app.command("card")
def card_command(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The file; by default the dataset's own.")] = None,
) -> None:
    """Write the dataset card, with counts and measurements filled in."""
    path = data_folder() / "README.md" if out is None else out
    parts = all_parts(partial(load_labels, edition=NEWEST))
    write_whole(path, card(parts, NEWEST, digest(NEWEST)).encode())
    typer.echo(str(path))


@app.command("draft")
def draft_command(
    drafts: Annotated[Path, typer.Argument(help="A file with one draft a line, which is filled in in place.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write here instead.")] = None,
) -> None:
    """Fill in drafts of labels, and say for each line what is still wrong with it."""
    filled = fill_file(drafts)
    write_filled(drafts if out is None else out, filled)
    for each in filled:
        for problem in each.problems:
            typer.echo(f"line {each.number}: {printable(problem)}")
    _print_counts(filled)
    if any(each.problems for each in filled):
        raise typer.Exit(1)


def _print_counts(filled: list[Filled]) -> None:
    clean = [each for each in filled if not each.problems]
    typer.echo(f"{len(clean)} of {len(filled)} lines are finished.")
    if not filled:
        return
    for name in ("depth", "kind", "difficulty"):
        values = [str(each.content[name]) for each in filled if name in each.content]
        typer.echo(f"  {name}: {_shares(values)}")
    first = [each.content["bm25"][0]["path"] in each.content["targets"] for each in filled if each.content.get("bm25")]
    if first:
        typer.echo(f"  BM25 ranks a target first in {sum(first) / len(first):.0%}")


def _shares(values: list[str]) -> str:
    counted = sorted(Counter(values).items())
    return ", ".join(f"{value} {count} ({count / len(values):.0%})" for value, count in counted)


@app.command("assemble")
def assemble_command(
    drafts: Annotated[Path | None, typer.Argument(help="The folder of drafts; by default the dataset's own.")] = None,
    leave_out: Annotated[bool, typer.Option("--leave-out", help="Leave out drafts that are not finished.")] = False,
) -> None:
    """Make the files of the splits from the drafts of all repositories."""
    unfinished: list[str] | None = [] if leave_out else None
    parts = assemble(drafts or drafts_folder(), unfinished)
    for path in write_parts(parts):
        typer.echo(str(path))
    for line in unfinished or ():
        typer.echo(f"left out: {printable(line)}")
    typer.echo(", ".join(f"{part} {len(labels)}" for part, labels in parts.items()))


@app.command("drawn")
def drawn_command(
    folder: Annotated[Path, typer.Argument(help="A folder, which gets one list a repository.")],
) -> None:
    """Write which files of train's repositories are drawn: their further questions are test_seen's."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in repositories_in_train():
        files = drawn_files(name)
        write_whole(folder / f"{name}.txt", "".join(f"{path}\n" for path in files).encode())
        typer.echo(f"{name}: {len(files)}")


@app.command("further")
def further_command(
    drafts: Annotated[list[Path] | None, typer.Argument(help="Files of drafts; by default the dataset's own.")] = None,
    leave_out: Annotated[bool, typer.Option("--leave-out", help="Leave out drafts that have a problem.")] = False,
) -> None:
    """Make the labels that the third edition adds, and keep their drafts."""
    further = assemble_further(drafts or sorted(kept_drafts().glob("*.jsonl")), leave_out=leave_out)
    for path in write_further(further):
        typer.echo(str(path))
    for line in further.left_out:
        typer.echo(f"left out: {printable(line)}")
    for line in further.unexplained:
        typer.echo(f"to explain with amend, or to be mended: {printable(line)}")
    typer.echo(", ".join(f"{part} {len(labels)}" for part, labels in further.parts.items()))
    if further.unexplained:
        raise typer.Exit(1)


@app.command("sample")
def sample_command(out: Out) -> None:
    """Write a tenth of the questions, without their answers, for a second, blind reading."""
    if out.exists():
        raise UsageError(f"{out} exists: choose another file, it may hold readings")
    chosen = sample(label for labels in all_parts(load_labels).values() for label in labels)
    write_readings(out, chosen)
    typer.echo(f"{len(chosen)} questions are in {out}: write the path of a file into each line's file.")


@app.command("pool")
def pool_command(
    split: Annotated[str, typer.Argument(help="train, validation, test or test_seen.")],
    out: Out,
    strong: Annotated[bool, typer.Option("--strong", help="Only labels that have a strong candidate.")] = False,
) -> None:
    """Write the files that may answer each question beside its targets, for a reader to judge."""
    pooled = write_pool(out, pool(load_labels(part_named(split)), every=not strong))
    typer.echo(f"{pooled} labels with their candidates are in {out}.")


@app.command("amend")
def amend_command(
    findings: Annotated[list[Path], typer.Argument(help="Files of what readers found, one JSON object a line.")],
    edition: Annotated[int, typer.Option(min=2, help="The edition that these amendments make.")] = NEWEST,
) -> None:
    """Take what readers found into the amendments, and say what does not hold and was left out."""
    known = edition_named(edition)
    made = take(read_findings(findings), amendments(known), known)
    write_amendments(amendments_file(known), made.amendments.values())
    for problem in made.problems:
        typer.echo(printable(problem))
    typer.echo(f"{len(made.amendments)} labels are amended; {len(made.problems)} remarks.")


@app.command("pin")
def pin_command() -> None:
    """Write the digest of the Coffee Company's files into the catalogue."""
    pin()


if __name__ == "__main__":
    run_app(app, "python -m tools.dataset")
