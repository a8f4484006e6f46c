"""The commands of `reflect-rl` about players who remember."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from natlang_envs.cli.support import counting
from natlang_envs.errors import UsageError, require_choice
from reference_agent.families.autoexplore.memory.questions import (
    JUDGES,
    KNOWN,
    LEARNED,
    NONE,
    folders_of,
    questions_about,
    questions_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_agent.families.autoexplore.memory.learning import RecallAccuracy

memory_app = typer.Typer()


@memory_app.command()
def remember(
    out: Annotated[Path, typer.Option(help="The file of the memory, .safetensors.")],
    repositories: Annotated[
        list[str], typer.Option(help="A folder, a repository of the dataset, or known: all that train asks about.")
    ] = [KNOWN],  # noqa: B006 - typer wants a list
    split: Annotated[str, typer.Option(help="Questions to learn from: known_train, train, or none.")] = "known_train",
    labels: Annotated[Path | None, typer.Option(help="Your own labels about the one folder that is given.")] = None,
    each: Annotated[int, typer.Option(min=1, help="Questions made from a file at most.")] = 150,
    texts: Annotated[bool, typer.Option(help="Count all words of the texts in place of made questions.")] = False,
    folds: Annotated[int, typer.Option(min=0, help="Say how well questions are recalled that it was not told.")] = 0,
) -> None:
    """Learn a memory of repositories: which part of which file speaks of what. The same input makes the same bytes."""
    from natlang_envs.autoexplore.dataset.own_labels import read_own_labels
    from natlang_envs.repository.tree import open_repository
    from reference_agent.families.autoexplore.memory.learning import count, held_out
    from reference_agent.families.autoexplore.memory.learning import remember as learn

    require_choice("split", split, (NONE, "train", "known_train"))
    folders = folders_of(repositories)
    if labels is None:
        told = questions_of(split, folders)
    elif len(folders) == 1:
        ((name, folder),) = folders.items()
        told = [replace(label, repository=name) for label in read_own_labels(labels, open_repository(folder))]
    else:
        raise UsageError("--labels are about one folder: name it alone with --repositories")
    with counting("files") as show:
        counted = count(folders, each, texts, show)
    source = "texts" if texts else "questions"
    memory = learn(counted, told, folders, source)
    size = memory.write(out)
    files, parts = (
        sum(sum(map(bool if many else int, known.parts)) for known in memory.known) for many in (True, False)
    )
    typer.echo(f"{len(folders)} repositories, {files:,} files, {parts:,} parts, {len(memory.words):,} words.")
    typer.echo(f"{len(told):,} questions of training. {size:,} bytes are in {out}.")
    if folds:
        show_held_out(held_out(counted, told, folders, folds))
    typer.echo(f"Play with it: natlang evaluate --agent recall:{out} --out runs/{out.stem} --protocol ...")


@memory_app.command()
def recall(
    out: Annotated[Path, typer.Option(help="The run's folder. A run that was stopped there is resumed.")],
    model: Annotated[str, typer.Option(help="A model that judges texts, such as smollm2; none: words.")] = "",
    judge: Annotated[
        str | None, typer.Option(help="How it judges: learned, by weights that are taught first (default), or lift.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where texts are read: cpu or cuda.")] = "cpu",
    precision: Annotated[
        str | None, typer.Option(help="What they are read with: bf16, fp32, or auto, the faster here (default).")
    ] = None,
    repositories: Annotated[list[str], typer.Option(help="Repositories of the dataset, or known.")] = [KNOWN],  # noqa: B006
    questions: Annotated[int | None, typer.Option(min=5, help="Questions to learn from at most, for a try.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many policies.")] = 1,
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the teacher's decisions; 0: reward alone.")] = 6,
    updates: Annotated[int, typer.Option(min=0, help="Updates by reward; 0: imitation alone.")] = 480,
    curriculum: Annotated[bool, typer.Option(help="By reward, begin with files that lie near the top.")] = True,
    negatives: Annotated[bool, typer.Option(help="The teacher reads files that do not answer, too.")] = True,
    reflections: Annotated[bool, typer.Option(help="The policy is told what was read.")] = True,
) -> None:
    """Teach a player who remembers: a memory, imitation, then reward, chosen on known_validation. A run resumes."""
    from reference_agent.families.autoexplore.memory.questions import RecallTraining
    from reference_agent.families.autoexplore.memory.run import train_player
    from reference_agent.run.config import PRECISIONS
    from reference_agent.run.progress import ProgressLines

    if judge is not None and not model:
        raise UsageError("--judge says how a model judges: add --model, or leave --judge out")
    if precision is not None and not model:
        raise UsageError("--precision is a model's: add --model, or leave --precision out")
    judged = require_choice("judge", judge or LEARNED, JUDGES)
    read_with = require_choice("precision", precision or "auto", PRECISIONS)
    asked = questions_about(repositories)
    lessons = RecallTraining(
        *(model, questions, epochs, updates),
        curriculum=curriculum,
        negatives=negatives,
        reflections=reflections,
        judge=judged,
        precision=read_with,
    )
    tell = ProgressLines(partial(typer.echo, err=True)).step
    found = train_player(out, asked, lessons, tell, seeds=seeds, device=device)
    table = Table("stage", "validation, greedy, %", "sampled, %")
    for each in found:
        table.add_row(each.name, f"{100 * each.greedy:.1f}", f"{100 * each.sampled:.1f}")
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    play = f"recall:{out}@{model}" if model else f"recall:{out}"
    typer.echo(f"Play with it: natlang evaluate --agent {play} --out {out}/evaluation --protocol ...")


def show_held_out(measured: Sequence[RecallAccuracy]) -> None:
    table = Table("wording", "questions", "first, %", "three, %", "eight, %", "right part, %")
    for each in measured:
        shares = (each.first, each.three, each.eight, each.part)
        table.add_row(each.wording, f"{each.questions:,}", *(f"{100 * share:.1f}" for share in shares))
    Console(width=None if sys.stdout.isatty() else 140).print(table)
