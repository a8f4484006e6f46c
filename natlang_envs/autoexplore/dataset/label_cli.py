"""The commands of `natlang data` that make, check, count and export labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from natlang_envs.autoexplore.copilot.endpoint import OpenAIDriver
from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.export import card, digest, part_named, write_parquet, write_state_actions
from natlang_envs.autoexplore.dataset.labels import load_labels
from natlang_envs.autoexplore.dataset.llm_labels import journal_of, make_labels
from natlang_envs.autoexplore.dataset.report import (
    DEPTHS,
    Checked,
    Parts,
    all_parts,
    bm25_right,
    check,
    counts,
    depth_first_right,
    depth_group,
    rates,
    seen_by_players,
)
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.cli_support import printable
from natlang_envs.errors import UsageError
from natlang_envs.trajectory import write_whole
from tools.dataset.assemble import assemble, drafts_folder, write_parts
from tools.dataset.blind_review import (
    agreement,
    read_readings,
    readings_file,
    sample,
    write_readings,
)
from tools.dataset.drafts import Filled, fill_file, write_filled

_SHOWN_PROBLEMS = 50
Out = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to an app."""
    for name, function in (
        ("check", check_command),
        ("stats", stats_command),
        ("label", label_command),
        ("states", states_command),
        ("export", export_command),
        ("card", card_command),
        ("draft", draft_command),
        ("assemble", assemble_command),
        ("sample", sample_command),
    ):
        app.command(name)(function)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))


def check_command() -> None:
    """Check every label; what needs the files of a repository is skipped, and said, where they are not here."""
    parts = all_parts(load_labels)
    with _progress() as progress:
        bar = progress.add_task("labels", total=None)
        found = check(parts, lambda done, total: progress.update(bar, completed=done, total=total))
    _print_problems(found)
    total = sum(map(len, parts.values()))
    if found.skipped:
        typer.echo(
            f"NOT CHECKED AGAINST FILES: the labels of {', '.join(found.skipped)}. Run natlang data fetch, then check."
        )
    if found.problems:
        typer.echo(f"{len(found.problems)} problems in {total:,} labels.")
        raise typer.Exit(1)
    typer.echo(f"{total:,} labels, nothing wrong. Digest {digest()}")


def _print_problems(found: Checked) -> None:
    for problem in found.problems[:_SHOWN_PROBLEMS]:
        typer.echo(printable(problem))
    if len(found.problems) > _SHOWN_PROBLEMS:
        typer.echo(f"and {len(found.problems) - _SHOWN_PROBLEMS} more")


def stats_command() -> None:
    """Count the labels, and say how far BM25 and a depth-first searcher come, with 95% intervals."""
    parts = all_parts(load_labels)
    everything = [label for labels in parts.values() for label in labels]
    typer.echo(f"{len(everything):,} labels: " + ", ".join(f"{part} {len(labels)}" for part, labels in parts.items()))
    if not everything:
        return
    _print_counts_of(parts)
    for part, labels in parts.items():
        first, search = rates(labels, bm25_right), rates(labels, depth_first_right)
        for group in DEPTHS:
            typer.echo(f"{part}, depth {group}: BM25's first file {first[group]}; depth-first search {search[group]}")
    typer.echo(f"Evidence in the first 2,000 characters of a file: {seen_by_players(everything):.0%} of the labels.")
    readings = read_readings(readings_file())
    typer.echo(f"Second reading: {agreement(readings, {label.id: label for label in everything})}")


def _print_counts_of(parts: Parts) -> None:
    tables = (
        ("repository", counts(parts, lambda label: label.repository)),
        ("depth", counts(parts, depth_group)),
        ("kind", counts(parts, lambda label: label.kind)),
        ("difficulty", counts(parts, lambda label: label.difficulty)),
    )
    whole = sum(map(len, parts.values()))
    for name, table in tables:
        for value, by_part in table.items():
            shown = ", ".join(f"{part} {by_part[part]}" for part in parts if by_part[part])
            typer.echo(f"{name} {value}: {by_part.total()} ({by_part.total() / whole:.0%}; {shown})")


def label_command(
    repo: Annotated[Path, typer.Option(help="The folder to label; it is never modified.")],
    out: Out,
    model: Annotated[str, typer.Option(help="The model to ask; see natlang explore for the endpoint.")],
    questions: Annotated[int, typer.Option(min=1, max=20, help="How many are asked for of each file.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="The largest number of files.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one request.")] = 120.0,
    ignored: Annotated[bool, typer.Option("--ignored", help="Label what .gitignore names, too.")] = False,
) -> None:
    """Make labels of a repository of your own, with a model behind an OpenAI-compatible endpoint."""
    repository = open_repository(repo, ignored=ignored)
    if out.absolute().resolve().is_relative_to(repository.path):
        raise UsageError(f"{out} lies in {repo}, which is never modified: choose a file outside it")
    driver = OpenAIDriver(model, timeout=timeout)
    with _progress() as progress:
        bar = progress.add_task("files", total=None)
        try:
            labels, done = make_labels(
                repository,
                driver,
                out,
                count=questions,
                limit=limit,
                progress=lambda ready, total: progress.update(bar, completed=ready, total=total),
            )
        except UsageError as error:
            raise UsageError(f"{error}; what is finished is in {out}, the same command goes on from there") from None
    for each in done:
        for problem in each.dropped:
            typer.echo(printable(f"{each.path}: {problem}"))
    typer.echo(f"{len(labels)} labels of {len(done)} files are in {out}; what was dropped is in {journal_of(out)}.")
    typer.echo(f"Tokens: {driver.tokens.read:,} read, {driver.tokens.written:,} written.")


def states_command(
    out: Out, split: Annotated[str, typer.Option(help="train, validation, test or test_seen.")] = "train"
) -> None:
    """Write the state-action pairs of the shortest ways, one a line: for supervised training."""
    labels = load_labels(part_named(split))
    pairs = write_state_actions(out, labels)
    typer.echo(f"{pairs:,} state-action pairs of {len(labels):,} questions are in {out}.")


def export_command(folder: Annotated[Path, typer.Argument(help="A new or empty folder.")]) -> None:
    """Write Parquet files and the card, as the Hugging Face library datasets loads them."""
    for path in write_parquet(folder, all_parts(load_labels)):
        typer.echo(str(path))


def card_command(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The file; by default the dataset's own.")] = None,
) -> None:
    """Write the dataset card, with counts and measurements filled in."""
    path = data_folder() / "README.md" if out is None else out
    write_whole(path, card(all_parts(load_labels)).encode())
    typer.echo(str(path))


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


def sample_command(out: Out) -> None:
    """Write a tenth of the questions, without their answers, for a second, blind reading."""
    if out.exists():
        raise UsageError(f"{out} exists: choose another file, it may hold readings")
    chosen = sample(label for labels in all_parts(load_labels).values() for label in labels)
    write_readings(out, chosen)
    typer.echo(f"{len(chosen)} questions are in {out}: write the path of a file into each line's file.")
