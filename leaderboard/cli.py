"""The `natlang-leaderboard` command: make an entry, verify entries, build the site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaderboard.audit import audit
from leaderboard.changes import check_changes
from leaderboard.pack import pack, read_curve
from leaderboard.players import fetch_players, player_names
from leaderboard.rounds import ROUNDS_FILE, commit, next_month, note_beacon, read_commitment
from leaderboard.schema import SUBMISSIONS
from leaderboard.site import build
from leaderboard.site.episodes import episode_text
from leaderboard.standings import replay_all
from leaderboard.standings.badges import BADGES_FILE, note_badge
from leaderboard.standings.columns import in_words
from leaderboard.standings.rows import Row
from leaderboard.verify import MissingDataError, Verified, verify
from natlang_envs.cli.support import printable, progress_bar, run_app
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole

_NAME = "natlang-leaderboard"
_SITE = Path("site")

app = typer.Typer(
    help="Leaderboard entries: make them from runs, verify them by replay, build the site.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command("pack")
def pack_command(
    run: Annotated[Path, typer.Argument(help="A folder that natlang evaluate wrote.")],
    name: Annotated[str, typer.Option(help="The agent's name on the leaderboard: lower-case letters, digits, - . _")],
    description: Annotated[str, typer.Option(help="One line for people.")] = "",
    author: Annotated[list[str] | None, typer.Option(help="An author; may be given several times.")] = None,
    contact: Annotated[str | None, typer.Option(help="How to reach the authors.")] = None,
    link: Annotated[str | None, typer.Option(help="A page about the agent, http or https.")] = None,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="The agent does the same each time.")] = False,
    reference: Annotated[bool, typer.Option("--reference", help="Show it without a rank, as a reference.")] = False,
    disclosure: Annotated[str, typer.Option(help="What it was trained on, and whether the tasks are in it.")] = "",
    model: Annotated[str | None, typer.Option(help="The language model's name.")] = None,
    parameters: Annotated[int | None, typer.Option(min=1, help="The number of the model's parameters.")] = None,
    weights: Annotated[str | None, typer.Option(help="The model's weights: open, closed or none.")] = None,
    method: Annotated[str | None, typer.Option(help="untuned, imitation, rl, search or hand-written.")] = None,
    reflection: Annotated[bool | None, typer.Option(help="Whether it speaks before it acts.")] = None,
    teacher: Annotated[str | None, typer.Option(help="Who it learned from.")] = None,
    training_episodes: Annotated[int | None, typer.Option(min=0, help="Episodes it was trained on.")] = None,
    training_minutes: Annotated[float | None, typer.Option(min=0, help="Minutes its training took.")] = None,
    curve: Annotated[Path | None, typer.Option(help="Its curve.json, as `reflect-rl train` writes it.")] = None,
    protocol: Annotated[Path | None, typer.Option(help="The file of your own protocol, which is kept beside.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of all entries.")] = SUBMISSIONS,
) -> None:
    """Verify a run by replay and write it as an entry."""
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
        reference=reference,
        protocol_file=protocol,
        track={
            "weights": weights,
            "method": method,
            "reflection": reflection,
            "teacher": teacher,
            "training_episodes": training_episodes,
            "training_minutes": training_minutes,
            "curve": curve and read_curve(curve),
        },
    )
    typer.echo(printable(str(entry)))


@app.command("verify")
def verify_command(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of entries.")],
) -> None:
    """Replay entries and print what they earned; all are checked, and one that does not hold makes the exit code 2."""
    broken = False
    for folder in folders:
        try:
            entry = verify(folder)
        except UsageError as error:
            typer.echo(f"{_NAME}: {error}", err=True)
            broken = True
            continue
        typer.echo(_in_words(entry))
    if broken:
        raise typer.Exit(2)


@app.command("show")
def show_command(
    folder: Annotated[Path, typer.Argument(help="The folder of an entry.")],
    number: Annotated[int, typer.Argument(help="The episode, from 1, in the order of the recording.")],
) -> None:
    """Print a recorded episode step by step: observations, listed commands, reflections and actions."""
    typer.echo(printable(episode_text(folder, number)))


def _in_words(entry: Verified) -> str:
    return f"{entry.submission.name} on {entry.protocol.name}: {in_words(Row(entry))}"


@app.command("ledger")
def ledger_command(
    folders: Annotated[list[Path] | None, typer.Argument(metavar="[DIR]...", help="Entries; by default all.")] = None,
    submissions: Annotated[Path, typer.Option(help="The folder of all entries.")] = SUBMISSIONS,
) -> None:
    """Replay entries and note the results in the ledger, from which the site is built where nothing can be replayed."""
    broken = False
    for name, found in replay_all(submissions, folders or ()):
        if isinstance(found, MissingDataError):
            typer.echo(printable(f"{name}: not replayed: {found}"))
        elif isinstance(found, UsageError):
            typer.echo(f"{_NAME}: {found}", err=True)
            broken = True
        else:
            typer.echo(_in_words(found))
    if broken:
        raise typer.Exit(2)


@app.command("check-changes")
def check_changes_command(
    base: Annotated[str, typer.Argument(help="The commit that a pull request starts from, for example origin/main.")],
    submitter: Annotated[str, typer.Option(help="The login of who proposes the entries.")] = "",
    report: Annotated[Path | None, typer.Option(help="Also write the report to this file, as Markdown.")] = None,
) -> None:
    """Verify the entries that differ from a commit; refuse changes of the files that belong to maintainers."""
    checked = check_changes(base, submitter=submitter)
    typer.echo(printable(checked.markdown))
    if report is not None:
        write_whole(report, f"{checked.markdown}\n".encode())
    if not checked.holds:
        raise typer.Exit(2)


@app.command("audit")
def audit_command(
    folder: Annotated[Path, typer.Argument(help="The folder of an entry.")],
    agent: Annotated[str, typer.Option(help="Its agent, as natlang evaluate --agent takes it.")],
    beacon: Annotated[str, typer.Option(help="A public text fixed after the entry, such as a later commit's digest.")],
    files: Annotated[Path | None, typer.Option(help="A folder with all that the agent needs.")] = None,
    network: Annotated[bool, typer.Option("--network", help="Let it use the network, to ask its endpoint.")] = False,
    variable: Annotated[list[str] | None, typer.Option(help="An environment variable to show to it.")] = None,
    patience: Annotated[float, typer.Option(min=1, help="Seconds for one answer, of up to 64 games.")] = 300.0,
    gpu: Annotated[bool, typer.Option("--gpu", help="Show it this machine's NVIDIA GPUs.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes for one of our players, by default 2.")] = None,
    note: Annotated[bool, typer.Option("--note", help="Note the badge in badges.json if it passes.")] = False,
) -> None:
    """Run an entry's agent again in a process of its own, on episodes that the beacon selects; failure exits with 2."""
    bars = progress_bar()
    bar = bars.add_task("episodes", total=None)

    def show(done: int, total: int) -> None:
        bars.start()  # an audit that is refused has no bar
        bars.update(bar, completed=done, total=total)

    try:
        found = audit(
            folder,
            agent,
            beacon,
            jobs=jobs,
            progress=show,
            files=files,
            network=network,
            variables=variable or (),
            gpu=gpu,
            patience=patience,
        )
    finally:
        if bars.live.is_started:
            bars.stop()
    typer.echo(printable(found.summary))
    if found.problem:
        typer.echo(printable(f"{_NAME}: {folder} does not pass: {found.problem}"), err=True)
        raise typer.Exit(2)
    if note:
        badges = folder.absolute().parents[found.entry.count("/") + 1] / BADGES_FILE
        note_badge(badges, "audited", {found.entry: found.recording})
        typer.echo(printable(f"{badges} says that {found.entry} was audited"))


players_app = typer.Typer(help="The board's published players, which the repository's history holds.")
app.add_typer(players_app, name="players")


@players_app.command("list")
def players_list_command() -> None:
    """Print the names of the board's published players."""
    typer.echo("\n".join(player_names()))


@players_app.command("fetch")
def players_fetch_command(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Players; by default all.")] = None,
) -> None:
    """Bring the files of published players into the cache, from this clone's history or from its origin."""
    fetched = fetch_players(names or (), report=lambda name: typer.echo(name, err=True))
    size = sum(each.stat().st_size for each in fetched)
    typer.echo(f"{len(fetched)} files fetched, {size / 1e6:.1f} MB; the others were here")


@app.command("commit")
def commit_command(
    agent: Annotated[str, typer.Option(help="The agent, as natlang evaluate --agent takes it.")],
    board: Annotated[str, typer.Option(help="A live board, for example dangerous-taxi-pickup-cities/v1.")],
    name: Annotated[str, typer.Option(help="The agent's name on the leaderboard.")],
    month: Annotated[str | None, typer.Option(help="The round, YYYY-MM; by default the next month.")] = None,
    files: Annotated[Path | None, typer.Option(help="A folder with its weights, code and prompts.")] = None,
    decoding: Annotated[str, typer.Option(help="How it decodes and what it asks, if its files do not say.")] = "",
    submissions: Annotated[Path, typer.Option(help="The folder of all entries.")] = SUBMISSIONS,
) -> None:
    """Write down the digest of an agent before a live round, so that its entry counts."""
    path = commit(agent, board, month or next_month(), name, beside=submissions.parent, files=files, decoding=decoding)
    made = read_commitment(path)
    typer.echo(printable(f"{path} commits {name} to {made.protocol}, digest {made.digest}"))


@app.command("beacon")
def beacon_command(
    month: Annotated[str, typer.Argument(help="The round, YYYY-MM, which must have begun.")],
    beacon: Annotated[str, typer.Argument(help="The public text of its first day.")],
    submissions: Annotated[Path, typer.Option(help="The folder of all entries.")] = SUBMISSIONS,
) -> None:
    """Note the beacon of a live round, for maintainers: the tasks of all live boards are sampled from it."""
    path = submissions.parent / ROUNDS_FILE
    note_beacon(path, month, beacon)
    typer.echo(printable(f"{path} has the beacon of {month}"))


@app.command("build")
def build_command(
    submissions: Annotated[Path, typer.Option(help="The folder of all entries.")] = SUBMISSIONS,
    out: Annotated[Path, typer.Option(help="The folder for the site; a site that is there is replaced.")] = _SITE,
    replay: Annotated[bool, typer.Option("--replay", help="Replay what the ledger knows too.")] = False,
    references: Annotated[bool, typer.Option(help="Play the reference lines of boards that have none.")] = True,
    docs: Annotated[str, typer.Option(help="The address of the documentation, as the first page reaches it.")] = "",
    repository: Annotated[str, typer.Option(help="The repository's address; by default the checkout's.")] = "",
) -> None:
    """Write the static site from the ledger; entries that it does not know are replayed."""
    index = build(submissions, out, replay=replay, references=references, docs=docs, repository=repository)
    typer.echo(printable(str(index)))


def main() -> None:
    run_app(app, _NAME)


if __name__ == "__main__":
    main()
