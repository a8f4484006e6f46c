"""`natlang data keys`: keys for the answers of one's own labels, proposed, accepted in the terminal and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from natlang_envs.autoexplore.answering.key_checks import key_problems, proposed_key, with_form
from natlang_envs.autoexplore.answering.keys import AnswerKey, read_keys, write_keys
from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.autoexplore.dataset.own_labels import read_own_labels
from natlang_envs.cli.support import printable
from natlang_envs.repository.tree import open_repository

_ASK = "Enter accepts, - leaves it out, q ends; or write atoms as word|other word; second atom"


def keys_command(
    labels: Annotated[Path, typer.Option(help="Your own labels (JSONL).")],
    repo: Annotated[Path, typer.Option(help="The folder that they are about.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The file of keys; those in it are kept.")],
    accept: Annotated[bool, typer.Option("--accept", help="Accept each proposal that passes, unasked.")] = False,
) -> None:
    """Make keys for the answers of your own labels: what an answer has to say to be right."""
    repository = open_repository(repo)
    given = read_own_labels(labels, repository)
    keys = read_keys(out, [each.id for each in given]) if out.exists() else {}
    console = Console(highlight=False, soft_wrap=True)
    for label in given:
        if label.id in keys:
            continue
        proposal = proposed_key(label)
        if accept:
            key = proposal if proposal and not [*key_problems(label, proposal)] else None
        else:
            try:
                key = _asked(console, label, proposal)
            except (EOFError, typer.Abort):
                break
        if key is not None:
            keys[label.id] = with_form(label, key, repository.path)
            write_keys(out, keys.values())  # after each one: nothing that was decided is lost
    if not keys:
        typer.echo("No key was made: an answer needs a number or a name that its question does not say.")
        raise typer.Exit(1)
    kept = sum(label.id in keys for label in given)
    listed = sum(label.id in keys and keys[label.id].listed for label in given)
    typer.echo(f"{kept} of {len(given)} labels have keys, in {out}; the listed form has {listed} of them.")


def _asked(console: Console, label: Label, proposal: AnswerKey | None) -> AnswerKey | None:
    """Return the key that the user accepts or writes; None where the label is left out.

    Raises:
        EOFError: The user ends.
    """
    console.print(Text(f"\n{printable(label.question)}", "bold"))
    console.print(Text(f"Answer: {printable(label.answer)}"))
    shown = "" if proposal is None else "; ".join("|".join(each) for each in proposal.atoms)
    console.print(Text(f"Proposed: {printable(shown) or 'nothing'}", "dim"))
    while True:
        said = str(typer.prompt(_ASK, default="", show_default=False)).strip()
        if said == "q":
            raise EOFError
        if said == "-" or not (said or proposal):
            return None
        atoms = [tuple(word.strip() for word in each.split("|") if word.strip()) for each in said.split(";")]
        key = AnswerKey(label.id, tuple(each for each in atoms if each)) if said else proposal
        if key is None or not key.atoms:
            continue
        problems = [*key_problems(label, key)]
        if not problems:
            return key
        console.print(Text(f"Refused: {printable(problems[0])}", "red"))
