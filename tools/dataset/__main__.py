"""Commands for who maintains the labelled dataset: `python -m tools.dataset`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natlang_envs.autoexplore.dataset.blind_review import sample, write_readings
from natlang_envs.autoexplore.dataset.card import card
from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.checks import duplicate_problems
from natlang_envs.autoexplore.dataset.labels import WORDINGS, json_lines, read_lines
from natlang_envs.autoexplore.dataset.report import all_parts
from natlang_envs.autoexplore.dataset.shipped import digest, load_labels, read_shipped, withheld
from natlang_envs.cli.support import run_app
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from tools.dataset.drafts import draft_hints, draft_problems, label_of_draft, read_draft, text_in, to_judge

app = typer.Typer(help="Maintain the labelled dataset.", pretty_exceptions_enable=False)
Out = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]


@app.command("card")
def card_command(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The file; by default the dataset's own.")] = None,
) -> None:
    """Write the dataset card, with counts and measurements filled in."""
    path = data_folder() / "README.md" if out is None else out
    write_whole(path, card(all_parts(load_labels), digest()).encode())
    typer.echo(str(path))


@app.command("sample")
def sample_command(out: Out) -> None:
    """Write a tenth of the questions, without their answers, for a second, blind reading."""
    if out.exists():
        raise UsageError(f"{out} exists: choose another file, it may hold readings")
    chosen = sample(label for labels in all_parts(load_labels).values() for label in labels)
    write_readings(out, chosen)
    typer.echo(f"{len(chosen)} questions are in {out}: write the path of a file into each line's file.")


@app.command("drafts")
def drafts_command(
    drafts: Annotated[Path, typer.Argument(help="Drafts, one a line.")],
    out: Out,
    others: Annotated[list[Path] | None, typer.Option("--beside", help="Further labels that none may repeat.")] = None,
) -> None:
    """Turn drafts into labels, and tell of each what is wrong and what is to be judged; written once nothing is."""
    made = [label_of_draft(draft) for _, draft in read_lines(drafts, read_draft)]
    known = [label for labels in all_parts(load_labels).values() for label in labels]
    known += [label for path in others or () for label in read_shipped(path)]
    found: dict[int, list[str]] = {}
    for wording in WORDINGS:
        for at, problem in duplicate_problems([label.asked(wording) for label in (*known, *made)]):
            found.setdefault(at - len(known), []).append(problem)
    wrong = 0
    for number, label in enumerate(made):
        problems = [*draft_problems(label), *found.get(number, ())]
        lines = [*(f"WRONG {each}" for each in problems), *(f"look: {each}" for each in draft_hints(label))]
        if any("has no reason" in each for each in problems):
            lines += [f"{what} {path}: {text}" for path, what, text in to_judge(label)]
        if lines:
            typer.echo("\n  ".join((f"{number + 1} {label.id} {label.natural}", *lines)))
        wrong += bool(problems)
    if wrong:
        raise UsageError(f"{wrong} of {len(made)} drafts are not finished: nothing was written")
    write_whole(out, json_lines(withheld(label, text_in(label)) for label in made))
    typer.echo(f"{len(made)} labels are in {out}.")


if __name__ == "__main__":
    run_app(app, "python -m tools.dataset")
