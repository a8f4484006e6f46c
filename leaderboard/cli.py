"""The `natlang-leaderboard` command: make an entry, verify entries, build the site."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.schema import SUBMISSIONS
from natlang_envs.cli_support import printable, run_app
from natlang_envs.errors import UsageError

_NAME = "natlang-leaderboard"
_SITE = Path("site")

app = typer.Typer(
    help="Leaderboard entries: make them from runs, verify them by replay, build the site.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def needs_the_extra() -> None:
    """Make leaderboard entries from runs, verify them by replay, build the site."""
    # The command is installed with the core too, so the commands below import what needs the extra.
    for package in ("pydantic", "jinja2"):
        if find_spec(package) is None:
            raise UsageError(f"{package} is not installed: pip install 'natlang-envs[leaderboard]'")


@app.command("pack")
def pack_command(
    run: Annotated[Path, typer.Argument(help="A folder that natlang evaluate wrote.")],
    name: Annotated[str, typer.Option(help="The agent's name on the leaderboard: lower-case letters, digits, - . _")],
    description: Annotated[str, typer.Option(help="One line for people.")] = "",
    author: Annotated[list[str] | None, typer.Option(help="An author; may be given several times.")] = None,
    contact: Annotated[str | None, typer.Option(help="How to reach the authors.")] = None,
    link: Annotated[str | None, typer.Option(help="A page about the agent, http or https.")] = None,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="The agent does the same each time.")] = False,
    disclosure: Annotated[
        str, typer.Option(help="What it was trained on, and how the protocol's tasks may have got into it.")
    ] = "",
    model: Annotated[str | None, typer.Option(help="The language model's name.")] = None,
    parameters: Annotated[int | None, typer.Option(min=0, help="The number of the model's parameters.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of all entries.")] = SUBMISSIONS,
) -> None:
    """Verify a run by replay and write it as an entry."""
    from leaderboard.pack import pack

    entry = pack(
        run,
        name=name,
        out=out,
        description=description,
        authors=tuple(author or ()),
        contact=contact,
        link=link,
        deterministic=deterministic,
        disclosure=disclosure,
        model=model,
        parameters=parameters,
    )
    typer.echo(printable(str(entry)))


@app.command("verify")
def verify_command(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of entries.")],
) -> None:
    """Replay entries and print what they earned; all are checked, and one that does not hold makes the exit code 2."""
    from leaderboard.verify import verify

    broken = False
    for folder in folders:
        try:
            entry = verify(folder)
        except UsageError as error:
            typer.echo(f"{_NAME}: {error}", err=True)
            broken = True
            continue
        score, (low, high) = entry.score, entry.score.interval
        typer.echo(
            f"{entry.submission.name} on {entry.protocol.name}: success {score.success_rate:.1%} "
            f"(95% interval {low:.1%} to {high:.1%}), {score.episodes} episodes replayed"
        )
    if broken:
        raise typer.Exit(2)


@app.command("build")
def build_command(
    submissions: Annotated[Path, typer.Option(help="The folder of all entries.")] = SUBMISSIONS,
    out: Annotated[Path, typer.Option(help="The folder for the site; a site that is there is replaced.")] = _SITE,
) -> None:
    """Verify all entries and write the static site."""
    from leaderboard.site import build

    typer.echo(printable(str(build(submissions, out))))


def main() -> None:
    """Run the command."""
    run_app(app, _NAME)


if __name__ == "__main__":
    main()
