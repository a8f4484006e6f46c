"""The columns of the tables. Pages, CSV, JSON, LaTeX, Markdown and the commands all read this list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from leaderboard.schema import Track
from leaderboard.standings.rows import Row

Output = Literal["download", "board", "paper", "entry", "command"]
_THIN_SPACE, _MINUS, _DASH = "\u202f", "\u2212", "\u2013"
_ASCII = str.maketrans({_THIN_SPACE: None, _MINUS: "-", _DASH: "-"})


def percent(share: float) -> str:
    """Return a share in percent, with one decimal place and without the sign."""
    return f"{100 * share:.1f}"


def count(value: int) -> str:
    """Return a whole number with thin spaces between the thousands."""
    return f"{value:,}".replace(",", _THIN_SPACE)


def decimal(value: float | None) -> str:
    """Return a number with two decimal places and a true minus sign, or a dash for None."""
    return _DASH if value is None else f"{value:.2f}".replace("-", _MINUS)


@dataclass(frozen=True)
class Column:
    """A fact of a row, and where it is shown."""

    name: str  # its key in CSV and JSON
    value: Callable[[Row], Any]  # returns the fact of a row, as a JSON value
    format: Callable[[Any], str] = str  # returns the value as text
    # The outputs that show it: `download` is CSV and JSON, `paper` is LaTeX and Markdown.
    on: tuple[Output, ...] = ("download",)
    head: str = ""  # its head on a board's page and in a paper
    unit: str = ""  # the unit of its text, such as `%`
    note: str = ""  # small text beside its head on a board's page
    label: str = ""  # its label on an entry's page
    words: str = ""  # what a command prints of it, with `{}` for the text
    numeric: bool = True  # whether a board's page sorts it by number

    @property
    def title(self) -> str:
        return f"{self.head}, {self.unit}" if self.unit else self.head

    def text(self, row: Row) -> str:
        return self.format(self.value(row))

    def ascii(self, row: Row) -> str:
        """Return the cell of a row as ASCII text, for papers and terminals."""
        return self.text(row).translate(_ASCII)


def columns_of(output: Output) -> list[Column]:
    return [column for column in COLUMNS if output in column.on]


def in_words(row: Row) -> str:
    """Return what commands print of a verified entry: success, its interval and the number of episodes."""
    return "".join(column.words.format(column.ascii(row)) for column in columns_of("command"))


def _result(name: str) -> Callable[[Row], Any]:
    return attrgetter(f"entry.result.{name}")


def _submission(name: str) -> Callable[[Row], Any]:
    return attrgetter(f"entry.submission.{name}")


def _track(name: str) -> Callable[[Row], Any]:
    return lambda row: getattr(row.entry.submission.track, name, None)


def _of_one_seed(value: Callable[[Row], Any]) -> Callable[[Row], Any]:
    """Return None for a row of several seeds, which differ in this fact."""
    return lambda row: None if row.members else value(row)


def _provenance(name: str) -> Callable[[Row], Any]:
    return _of_one_seed(lambda row: getattr(row.entry.submission.run.provenance, name, None))


def _name_and_seeds(row: Row) -> str:
    name = row.entry.submission.name
    return f"{name} ({len(row.members)} seeds)" if row.members else name


def _interval(row: Row) -> str:
    return f"{percent(row.entry.result.low)} to {percent(row.entry.result.high)}"


_ALL: tuple[Output, ...] = ("download", "board", "paper", "entry")

# The cells of `position`, `entry`, `success_rate`, `plays` and `tier` have markup: it is in templates/cells.html.j2.
COLUMNS: tuple[Column, ...] = (
    Column("protocol", _submission("protocol")),
    Column("name", _submission("name")),
    Column("agent", _name_and_seeds, on=("paper",), head="Agent"),
    Column("seeds", lambda row: len(row.recordings)),
    Column("series", lambda row: row.series),
    Column("group", lambda row: row.group),
    Column("position", lambda row: row.rank or row.group, on=("board", "paper"), head="Rank"),
    Column("entry", _submission("name"), on=("board",), head="Agent", numeric=False),
    Column("rank", lambda row: row.rank),
    Column("tied", lambda row: row.tied),
    Column("p_above", lambda row: row.p_above),
    Column("reason", lambda row: row.reason),
    Column(
        "success_rate",
        _result("success_rate"),
        percent,
        (*_ALL, "command"),
        head="Success",
        unit="%",
        note="95% interval",
        label="Success",
        words="success {}%",
    ),
    Column("interval", _interval, on=("paper",), head="95% interval"),
    Column("low", _result("low"), percent, ("download", "command"), words=" (95% interval {}%"),
    Column("high", _result("high"), percent, ("download", "command"), words=" to {}%)"),
    Column("mean_return", _result("mean_return"), decimal, _ALL, head="Return", note="mean", label="Mean return"),
    Column("mean_steps", _result("mean_steps"), decimal, _ALL, head="Steps", note="mean", label="Mean steps"),
    Column(
        "mean_regret",
        _result("mean_regret"),
        decimal,
        ("download", "board", "entry"),
        head="Regret",
        note="mean",
        label="Mean regret",
    ),
    Column(
        "invalid_rate",
        _result("invalid_rate"),
        percent,
        ("download", "board", "entry"),
        head="Not listed",
        unit="%",
        note="of actions",
        label="Actions not listed",
    ),
    Column("plays", lambda row: row.sampling, on=("board",), head="Runs", note="draws or fixed"),
    Column(
        "episodes",
        lambda row: len(row.entry.result.outcomes),
        count,
        ("download", "board", "entry", "command"),
        head="Episodes",
        label="Episodes",
        words=", {} episodes replayed",
    ),
    Column("runs", _submission("run.runs")),
    Column("sampling", lambda row: row.sampling),
    Column("tokens", _submission("run.tokens"), count, ("download", "board"), head="Tokens", note="as stated"),
    Column("tier", lambda row: row.tier, on=("board",), head="Tier", numeric=False),
    Column("seconds", _submission("run.seconds")),
    Column("hardware", _submission("run.hardware")),
    Column("versions", _submission("run.versions")),
    Column("model", _submission("model")),
    Column("parameters", _submission("parameters")),
    *(Column(name, _track(name)) for name in Track.model_fields if name != "curve"),
    Column("description", _submission("description")),
    Column("authors", lambda row: list(row.entry.submission.authors)),
    Column("contact", _submission("contact")),
    Column("link", _submission("link")),
    Column("date", _submission("date")),
    Column("disclosure", _submission("disclosure")),
    Column("command", _of_one_seed(lambda row: row.command)),
    Column("commit", _provenance("commit")),
    Column("checkpoint", _provenance("checkpoint")),
    Column("rerun", lambda row: row.rerun),
    Column("audited", lambda row: row.audited),
    Column("replayed", _result("date")),
    Column("package", _result("package")),
    Column("trajectories_sha256", _of_one_seed(_submission("trajectories_sha256"))),
    Column("protocol_digest", _submission("protocol_digest")),
)
