"""The commands of `natlang data` that make, check, count and export labels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.autoexplore.dataset.blind_review import agreement, read_readings, readings_file
from natlang_envs.autoexplore.dataset.export import write_export, write_state_actions
from natlang_envs.autoexplore.dataset.labels import Label, wording_named, write_labels
from natlang_envs.autoexplore.dataset.llm_labels import journal_of, make_labels
from natlang_envs.autoexplore.dataset.made_questions import EACH, made_labels
from natlang_envs.autoexplore.dataset.own_labels import read_own_labels
from natlang_envs.autoexplore.dataset.report import (
    Folders,
    Parts,
    all_parts,
    check,
    counts,
    depth_group,
    folder_here,
    searcher_rows,
    seen_by_players,
    wordings_of,
)
from natlang_envs.autoexplore.dataset.shipped import digest, load_labels, part_named
from natlang_envs.change.harbor import write_tasks
from natlang_envs.cli.change_tables import check_tables
from natlang_envs.cli.harbor import harbor_tasks
from natlang_envs.cli.support import LabelsOption, RepositoryOption, TasksOption, counting, print_some, printable
from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint
from natlang_envs.evaluation.chat_settings import ChatSettings
from natlang_envs.repository.tree import open_repository

labels_app = typer.Typer()
OWN = "labels"  # the split of a user's own labels
Out = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]


@dataclass(frozen=True)
class Chosen:
    """Labels, and where the files that they are about lie."""

    parts: Parts  # the labels by part
    folders: Folders  # where the files of a repository are
    own: bool  # whether they are the user's own
    digest: str  # of the files that the labels come from

    @property
    def explained(self) -> Callable[[Label], Collection[str]] | None:
        """Which files may hold a label's evidence without being targets; None where nobody has looked."""
        return None if self.own else lambda label: [each.path for each in label.elsewhere]


def chosen_labels(labels: Path | None, repository: Path | None) -> Chosen:
    if (labels is None) != (repository is None):
        raise UsageError("--labels and --repo belong together: name the file and the folder that it is about")
    if labels is not None and repository is not None:
        known = open_repository(repository)
        parts = {OWN: read_own_labels(labels, known)}
        if not parts[OWN]:
            raise UsageError(f"{labels} holds no label: make some with natlang data label")
        return Chosen(parts, lambda name: known.path, True, hashlib.sha256(labels.read_bytes()).hexdigest())
    return Chosen(all_parts(load_labels), folder_here, False, digest())


@labels_app.command("check")
def check_command(
    labels: LabelsOption = None,
    repository: RepositoryOption = None,
    change: Annotated[int | None, typer.Option(min=1, help="Run so many edits of change tasks again instead.")] = None,
    tables: Annotated[Path | None, typer.Option(help="With --change: your own tasks, about --repo (JSONL).")] = None,
) -> None:
    """Check every label; what needs the files of a repository is skipped, and said, where they are not here.

    With --change, run edits of change tasks again, in the sandbox, and compare which tests fail.
    """
    if change is not None:
        check_tables(change, tables, repository, labels)
        return
    if tables is not None:
        raise UsageError("--tables is for --change N: say how many edits are run again")
    chosen = chosen_labels(labels, repository)
    with counting("labels") as show:
        found = check(chosen.parts, show, folders=chosen.folders, explained=chosen.explained)
    print_some(found.problems, most=50)
    total = sum(map(len, chosen.parts.values()))
    if found.skipped:
        skipped = ", ".join(found.skipped)
        typer.echo(f"NOT CHECKED AGAINST FILES: the labels of {skipped}. Run natlang data fetch, then check.")
    if found.problems:
        typer.echo(f"{len(found.problems)} problems in {total:,} labels.")
        raise typer.Exit(1)
    typer.echo(f"{total:,} labels, nothing wrong. Digest {chosen.digest}")


@labels_app.command("stats")
def stats_command(labels: LabelsOption = None, repository: RepositoryOption = None) -> None:
    """Count the labels, and say how far BM25 and a depth-first searcher come, with 95% intervals."""
    chosen = chosen_labels(labels, repository)
    parts = chosen.parts
    everything = [label for given in parts.values() for label in given]
    typer.echo(f"{len(everything):,} labels: " + ", ".join(f"{part} {len(given)}" for part, given in parts.items()))
    if not everything:
        return
    _print_counts_of(parts)
    for wording in wordings_of(everything):
        for part, given in parts.items():
            for depth, first, search in searcher_rows(given, wording, chosen.folders):
                shown = f"BM25's first file {first}; depth-first search {search}"
                typer.echo(f"{part}, {wording} wording, depth {depth}: {shown}")
    if not isnan(seen := seen_by_players(everything, chosen.folders)):
        typer.echo(f"Evidence in the first 2,000 characters of a file: {seen:.0%} of the labels.")
    if not chosen.own:
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


@labels_app.command("label")
def label_command(
    repo: Annotated[Path, typer.Option(help="The folder to label; it is never modified.")],
    out: Out,
    model: Annotated[str, typer.Option(help="The model to ask; see natlang explore for the endpoint.")],
    questions: Annotated[int, typer.Option(min=1, max=20, help="How many are asked for of each file.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="The largest number of files.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one request.")] = 120.0,
    ignored: Annotated[bool, typer.Option("--ignored", help="Label what git ignores, too.")] = False,
) -> None:
    """Make labels of a repository of your own, with a model behind an OpenAI-compatible endpoint."""
    repository = open_repository(repo, ignored=ignored)
    if out.absolute().resolve().is_relative_to(repository.path):
        raise UsageError(f"{out} lies in {repo}, which is never modified: choose a file outside it")
    driver = ChatEndpoint(model, ChatSettings(timeout=timeout), tell=lambda line: typer.echo(printable(line), err=True))
    with counting("files") as show:
        labels, done = make_labels(repository, driver, out, name=model, count=questions, limit=limit, progress=show)
    for each in done:
        for problem in each.dropped:
            typer.echo(printable(f"{each.path}: {problem}"))
    dropped = sum(len(each.dropped) for each in done)
    typer.echo(f"{len(labels)} labels of {len(done)} files are in {out}; {dropped} dropped in {journal_of(out)}.")
    typer.echo(f"Tokens: {driver.tokens.words}.")
    if not labels:
        raise typer.Exit(1)


@labels_app.command("questions")
def questions_command(
    repo: Annotated[Path, typer.Option(help="The folder to ask about; it is never modified.")],
    out: Out,
    each: Annotated[int, typer.Option(min=1, help="The largest number of questions of a file.")] = EACH,
    limit: Annotated[int, typer.Option(min=1, help="The largest number in all; files share it evenly.")] = 300_000,
    ignored: Annotated[bool, typer.Option("--ignored", help="Ask about what git ignores, too.")] = False,
) -> None:
    """Make labels of a repository of your own by rules, without a model: the same files make the same labels."""
    repository = open_repository(repo, ignored=ignored)
    if out.absolute().resolve().is_relative_to(repository.path):
        raise UsageError(f"{out} lies in {repo}, which is never modified: choose a file outside it")
    with counting("files") as show:
        labels = made_labels(repository, each, limit, show)
    if not labels:
        raise UsageError(f"{repo} holds no line of text to ask about: choose another --repo")
    write_labels(out, labels)
    files = len({path for label in labels for path in label.targets})
    typer.echo(f"{len(labels):,} labels of {files:,} of {len(repository.files):,} files are in {out}.")


@labels_app.command("states")
def states_command(
    out: Out,
    split: Annotated[str, typer.Option(help="A split of the labels, such as known_train.")] = "train",
    wording: Annotated[str, typer.Option(help="natural or hard.")] = "natural",
) -> None:
    """Write the state-action pairs of the shortest ways, one a line: for supervised training."""
    labels = load_labels(part_named(split))
    pairs = write_state_actions(out, labels, wording_named(wording))
    typer.echo(f"{pairs:,} state-action pairs of {len(labels):,} questions are in {out}.")


@labels_app.command("export")
def export_command(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    labels: LabelsOption = None,
    repository: RepositoryOption = None,
    form: Annotated[
        str, typer.Option("--format", help="parquet, for the library datasets; or harbor, folders of tasks.")
    ] = "parquet",
    board: Annotated[str | None, typer.Option(help="With harbor: explore (questions, the default) or change.")] = None,
    tasks: TasksOption = None,
    split: Annotated[str | None, typer.Option(help="With harbor: the split, train unless told otherwise.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="With harbor: the largest number of tasks.")] = None,
) -> None:
    """Write the dataset: Parquet files and the card, or tasks as Harbor's folders.

    In Harbor's form, change tasks (--board change) may be written, too; your own are named by --tasks and --repo.
    """
    if require_choice("format", form, ("parquet", "harbor")) == "harbor":
        named = [*islice(harbor_tasks(board, labels, tasks, repository, split), limit)]  # before any is written
        paths = [*write_tasks(folder, named)]
        for path in paths:
            typer.echo(str(path))
        typer.echo(f"Tasks in {folder}: {len(paths):,}")
        return
    given = {"--board": board, "--tasks": tasks, "--split": split, "--limit": limit}
    for name in (name for name, value in given.items() if value is not None):
        raise UsageError(f"{name} is for --format harbor: leave it out, or name the format")
    chosen = chosen_labels(labels, repository)
    for path in write_export(folder, chosen.parts, chosen.digest, own=chosen.own):
        typer.echo(str(path))
