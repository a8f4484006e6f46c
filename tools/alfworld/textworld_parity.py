"""The native engine against the real TextWorld, on official and made games: every text, command and `won`.

`python -m tools.alfworld.textworld_parity record FOLDER` plays what FOLDER does not hold yet with the real engine,
which takes seconds a game and the extra `alfworld`; it can be stopped and started again, and run in shards. `… compare
FOLDER` holds our engine against all of it in a minute, and writes the report.
"""

from __future__ import annotations

import gc
import hashlib
import platform
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.table import Table

import natlang_envs.alfworld
from natlang_envs.alfworld.engine.game import GRAMMARS, parse_game
from natlang_envs.alfworld.engine.game_file import GameText
from natlang_envs.alfworld.games import official
from natlang_envs.alfworld.games.generated_tasks import GeneratedTasks
from natlang_envs.alfworld.games.official import data_folder
from natlang_envs.alfworld.games.realistic import RealisticTasks
from natlang_envs.alfworld.games.splits import OfficialSplit
from natlang_envs.alfworld.games.synthetic_rooms import MixedTasks
from natlang_envs.alfworld.textworld.backend import TextWorldWorld
from natlang_envs.alfworld.textworld.export import game_of
from natlang_envs.alfworld.textworld.files import MISSING
from natlang_envs.cli.support import run_app
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.runs import hardware
from natlang_envs.files import write_whole
from natlang_envs.tasks import hash_fraction
from tools.alfworld.parity_recordings import (
    WALK,
    EngineDifference,
    EngineRecording,
    differences,
    play,
    read_recording,
    replay,
    write_recording,
)
from tools.alfworld.textworld_speed import faster

TRAIN_GAMES, MADE_GAMES = 500, 100
_SPLITS: tuple[OfficialSplit, ...] = ("valid_seen", "valid_unseen", "train")
_PACKAGES = ("textworld", "alfworld", "fast-downward-textworld")
_UNSPED = "unsped"  # the folder of games played without the speed-up, beside the others
_SHOWN = 20  # differences that a report spells out

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


class GameInGrammar(NamedTuple):
    name: str
    grammar: str

    @property
    def split(self) -> str:
        """The official list the game is from, or the source of a made one."""
        source, split, *_ = self.name.split("/")
        return split if source == official.PREFIX else source

    def path(self, folder: Path) -> Path:
        return folder / self.grammar / f"{self.name.replace('/', '__')}.json.gz"

    def text(self, data: Path) -> GameText:
        if self.name.startswith(official.PREFIX):
            return official.official_text(data, self.name)._replace(grammar=self.grammar)
        return game_of(self.name, self.grammar)


def games(
    folder: Path, train: int = TRAIN_GAMES, made: int = MADE_GAMES, grammars: Sequence[str] = GRAMMARS
) -> tuple[GameInGrammar, ...]:
    """Return the official games in each grammar, then `made` generated, mixed and realistic ones in one grammar each.

    Of the official training games there are `train`, which their names alone choose; of the other lists all.
    """
    names = {split: official.official_ids(folder, split) for split in _SPLITS}
    names["train"] = tuple(sorted(names["train"], key=hash_fraction)[:train])
    listed = [GameInGrammar(name, grammar) for split in _SPLITS for name in names[split] for grammar in grammars]
    random = Random(made)
    for tasks in (GeneratedTasks("all"), MixedTasks("all"), RealisticTasks("all")):
        listed += [GameInGrammar(tasks.draw(random.random), grammars[number % len(grammars)]) for number in range(made)]
    return tuple(listed)


def versions() -> dict[str, str]:
    try:
        return {name: version(name) for name in _PACKAGES} | {"walk": str(WALK)}
    except PackageNotFoundError as error:
        raise UsageError(MISSING.format(error.name)) from None


@app.command()
def record(
    folder: Annotated[Path, typer.Argument(help="Where recordings are kept; what is there already is not done again.")],
    shard: Annotated[str, typer.Option(help="K/N: only every N-th game, from the K-th (the first is 0).")] = "0/1",
    train: Annotated[int, typer.Option(min=0, help="Games of the training list.")] = TRAIN_GAMES,
    made: Annotated[int, typer.Option(min=0, help="Games of each other source.")] = MADE_GAMES,
    grammar: Annotated[list[str], typer.Option(help="Only in these grammars.")] = list(GRAMMARS),  # noqa: B006
) -> None:
    """Play the games with the real TextWorld."""
    data = data_folder()
    first, step = _shard(shard)
    mine, now = games(data, train, made, grammar)[first::step], versions()
    gc.disable()  # the translator makes millions of objects and no cycles
    for number, played in enumerate(mine, 1):
        path = played.path(folder)
        if (done := read_recording(path)) is not None and done.versions == now:
            continue
        text = played.text(data)
        begun = time.perf_counter()
        with faster():
            steps = play(TextWorldWorld(text), text, played.name)
        recording = EngineRecording(played.name, played.grammar, now, round(time.perf_counter() - begun, 2), steps)
        write_recording(path, recording)
        found = list(differences(recording, parse_game(text)))
        print(f"{number} of {len(mine)}: {played.grammar} {played.name}: {len(found)} differences", flush=True)
        for difference in found[:3]:
            print(f"  {describe(difference)}", flush=True)
        gc.collect()


@app.command()
def unsped(
    folder: Annotated[Path, typer.Argument(help="What `record` filled.")],
    count: Annotated[int, typer.Option(min=1, help="How many games.")] = 20,
) -> int:
    """Play some recorded games again with TextWorld as it is, not sped up; exit code 1 where a step differs."""
    data, now = data_folder(), versions()
    recorded = [played for played in games(data) if played.path(folder).is_file()]
    recorded.sort(key=lambda played: hash_fraction(f"unsped/{played.name}/{played.grammar}"))
    differ = 0
    for played in recorded[:count]:
        first, path = read_recording(played.path(folder)), played.path(folder / _UNSPED)
        again = read_recording(path)
        if first is not None and (again is None or again.versions != now):
            text = played.text(data)
            begun = time.perf_counter()
            steps = replay(TextWorldWorld(text), first.steps)
            again = EngineRecording(played.name, played.grammar, now, round(time.perf_counter() - begun, 2), steps)
            write_recording(path, again)
        same = _same_steps(first, again)
        differ += not same
        print(f"{played.grammar} {played.name}: {'the same' if same else 'DIFFERENT'}", flush=True)
    return int(differ > 0)


@app.command()
def compare(
    folder: Annotated[Path, typer.Argument(help="What `record` filled.")],
    report: Annotated[Path | None, typer.Option(help="A Markdown file to write the tables to.")] = None,
    train: Annotated[int, typer.Option(min=0, help="Games of the training list.")] = TRAIN_GAMES,
    made: Annotated[int, typer.Option(min=0, help="Games of each other source.")] = MADE_GAMES,
    grammar: Annotated[list[str], typer.Option(help="Only in these grammars.")] = list(GRAMMARS),  # noqa: B006
) -> int:
    """Compare our engine with all recordings; exit code 1 where anything differs or is not recorded."""
    data = data_folder()
    tally = Tally()
    begun = time.perf_counter()
    for played in games(data, train, made, grammar):
        recording = read_recording(played.path(folder))
        if recording is None:
            tally.missing += 1
            continue
        text = played.text(data)
        tally.add(played, recording, list(differences(recording, parse_game(text))))
        again = read_recording(played.path(folder / _UNSPED))
        if again is not None:
            tally.unsped["the same" if _same_steps(again, recording) else "different"] += 1
    lines = [*tally.lines(), f"Comparing took {time.perf_counter() - begun:.0f} s."]
    print("\n".join(lines))
    if report is not None:
        write_whole(report, "\n".join([*_heading(tally), *lines, ""]).encode())
    return int(not tally.clean)


class Tally:
    """The counts of a comparison."""

    def __init__(self) -> None:
        self.missing = 0
        self.unsped: Counter[str] = Counter()
        self._rows: dict[tuple[str, str], Counter[str]] = {}
        self._verbs: Counter[str] = Counter()
        self._versions: Counter[str] = Counter()
        self._found: list[tuple[GameInGrammar, EngineDifference]] = []
        self._seconds = 0.0

    @property
    def equal(self) -> bool:
        """Whether nothing of what was there differed, and every plan won."""
        lost = any(row["games"] != row["plans won"] for row in self._rows.values())
        return bool(self._rows) and not (self._found or lost or self.unsped["different"])

    @property
    def clean(self) -> bool:
        """Whether everything was there, and equal."""
        return self.equal and not self.missing

    def add(self, played: GameInGrammar, recording: EngineRecording, found: Sequence[EngineDifference]) -> None:
        self._rows.setdefault((played.grammar, played.split), Counter()).update(
            {
                "games": 1,
                "steps": len(recording.steps) - 1,
                "commands": sum(len(step.commands) for step in recording.steps),
                "plans won": recording.plan_won,
                "differences": len(found),
            }
        )
        understood = {command for step in recording.steps for command in step.commands}
        self._verbs.update(
            step.command.split()[0] if step.command.strip() in understood else "(not understood)"
            for step in recording.steps[1:]
        )
        self._versions[", ".join(f"{name} {number}" for name, number in recording.versions.items())] += 1
        self._found += [(played, difference) for difference in found]
        self._seconds += recording.seconds

    def conclusion(self) -> str:
        """Return what a comparison found, in a sentence or two."""
        total: Counter[str] = sum(self._rows.values(), Counter[str]())
        result = "The native engine equals TextWorld" if self.equal else "THE NATIVE ENGINE DOES NOT EQUAL TEXTWORLD"
        if not self._rows:
            result = "Nothing was compared"
        elif self.missing and self.equal:
            result += f" in what was compared ({self.missing:,} games are not recorded)"
        return (
            f"**{result}: {total['differences']:,} differences in {total['steps']:,} steps of {total['games']:,} "
            f"games**, in every text, {total['commands']:,} listed commands and every `won`."
        )

    def lines(self) -> Iterator[str]:
        """Yield the tables and what differs, in Markdown."""
        counted = ("games", "steps", "commands", "plans won", "differences")
        total: Counter[str] = sum(self._rows.values(), Counter[str]())
        table = Table("grammar", "list", *counted, box=box.MARKDOWN)
        for (grammar, split), row in [*sorted(self._rows.items()), (("all", "all"), total)]:
            table.add_row(grammar, split, *(f"{row[name]:,}" for name in counted))
        yield from _rendered(table)
        yield f"{self.missing} games are not recorded.\n"
        for played, difference in self._found[:_SHOWN]:
            yield f"- {played.grammar} {played.name}: {describe(difference)}"
        if self.unsped:
            yield "What TextWorld did again, not sped up, in some of the games, step by step: "
            yield ", ".join(f"{words} in {count}" for words, count in self.unsped.items()) + ".\n"
        verbs = Table("first word of the command", "times", box=box.MARKDOWN)
        for verb, times in self._verbs.most_common():
            verbs.add_row(verb, f"{times:,}")
        yield from _rendered(verbs)
        for words, count in self._versions.items():
            yield f"{count:,} recordings were played by {words}."
        yield f"Recording took {self._seconds / 60:.0f} minutes by the clock, of one process."


def _same_steps(one: EngineRecording | None, other: EngineRecording | None) -> bool:
    return one is not None and other is not None and one.steps == other.steps


def describe(difference: EngineDifference) -> str:
    step, command, what, expected, got = difference
    return f"step {step}, {command!r}: {what}: expected {expected!r}, got {got!r}"


def _rendered(table: Table) -> Iterator[str]:
    console = Console(width=140, force_terminal=False)
    with console.capture() as capture:
        console.print(table)
    yield from (line.rstrip() for line in capture.get().splitlines())


def _heading(tally: Tally) -> Iterator[str]:
    """Yield the beginning of a report: what ran, and where."""
    files = sorted(Path(natlang_envs.alfworld.__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    yield "# ALFWorld: the native engine against TextWorld\n"
    yield f"{tally.conclusion()}\n"
    yield "Each game has 60 random steps and then the reference plan. The random steps are rarely `go to`, and one in"
    yield "ten is nonsense or written oddly. After every step the text, the list of admissible commands with its order,"
    yield "and `won` are compared. Every seventh step is taken by an engine restored from the state before it.\n"
    yield "`make test-full` records what is not recorded yet and compares. Its two commands are"
    yield "`python -m tools.alfworld.textworld_parity record FOLDER` and `… compare FOLDER --report FILE`.\n"
    yield f"{date.today()}, Python {platform.python_version()}, {hardware()}; natlang_envs/alfworld {digest}.\n"


def _shard(text: str) -> tuple[int, int]:
    first, slash, step = text.partition("/")
    if not (slash and first.isdecimal() and step.isdecimal() and int(first) < int(step)):
        raise UsageError(f"--shard {text!a} is not of the form K/N with K below N, such as 0/2")
    return int(first), int(step)


if __name__ == "__main__":
    run_app(app, "python -m tools.alfworld.textworld_parity")
