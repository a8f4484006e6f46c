"""A line of a table, and a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leaderboard.standings.badges import Adjudication
from leaderboard.verify import Verified
from natlang_envs.evaluation.agents import BUILT_IN
from natlang_envs.evaluation.live import Round, find_round
from natlang_envs.evaluation.protocols import Protocol

SIZES = {"up-to-10M": 10**7, "up-to-1B": 10**9, "up-to-10B": 10**10, "larger": 10**19}
"""Size classes, by the largest number of weights."""


@dataclass(frozen=True)
class Row:
    entry: Verified
    # 1 and up among the learned or the hand-written rows; equal success rates share one. None without a rank.
    rank: int | None = None
    tied: bool = False  # whether a paired test on the same tasks cannot tell it from the ranked row above
    reference: bool = False
    reason: str = ""  # why it has no rank, or an empty string
    rerun: bool = False  # whether maintainers ran the agent themselves and got this recording
    audited: bool = False
    sampling: bool = False  # whether the agent samples its commands, after corrections
    notes: tuple[Adjudication, ...] = ()  # corrections of this row
    path: str = ""  # the entry's folder below all entries, `<protocol>/<name>`
    folder: Path = Path()
    # Of a row of several training seeds, the row of each; `path` and `folder` are no entry's.
    members: tuple[Row, ...] = ()
    series: str | None = None  # the name of the row that it is a member of
    p_above: float | None = None  # the p-value of a paired test against the row above in its group; None for the first

    @property
    def recordings(self) -> tuple[Row, ...]:
        return self.members or (self,)

    @property
    def tracks(self) -> tuple[str, ...]:
        """What kind of agent it is: hand-written, method, weights, whether it speaks, size class, as far as stated."""
        stated = self.entry.submission
        track = stated.track
        found = [self.kind] if self.kind == "hand-written" else []
        found += [] if track is None else [track.method, track.weights and f"{track.weights}-weights"]
        if track is not None and track.reflection is not None:
            found.append("reflects" if track.reflection else "silent")
        if stated.parameters:
            found.append(next(name for name, most in SIZES.items() if stated.parameters <= most))
        return tuple(dict.fromkeys(each for each in found if each))

    @property
    def kind(self) -> str:
        """`learned` or `hand-written`: each is ranked for itself."""
        return "learned" if self.learned else "hand-written"

    @property
    def learned(self) -> bool:
        """Whether it may have learned: it has weights or a model behind it; the others were written by hand."""
        return not self.entry.submission.is_hand_written

    @property
    def command(self) -> str:
        """What plays it again if the agent is built in, else the command as the runner noted it; or an empty text."""
        stated, noted = self.entry.submission, self.entry.submission.run.provenance
        if stated.run.agent in BUILT_IN and (noted is None or noted.origin == "built-in"):
            return f"natlang evaluate --agent {stated.run.agent} --protocol {stated.protocol} --out runs/{stated.name}"
        return noted.command if noted is not None else ""

    @property
    def tier(self) -> str:
        """`re-run`, `audited` or `replayed`: how far maintainers checked it."""
        return "re-run" if self.rerun else "audited" if self.audited else "replayed"

    @property
    def group(self) -> str:
        """`ranked`, `unranked` or `reference`."""
        return "reference" if self.reference else "unranked" if self.rank is None else "ranked"


@dataclass(frozen=True)
class Table:
    """The rows of one protocol: ranked learned, ranked hand-written, unranked, reference lines, each best first."""

    protocol: Protocol
    rows: tuple[Row, ...]
    # Entries that no ledger knows and that cannot be replayed on this machine, with what is missing.
    missing: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()  # broken entries and copies, with the problem of each

    @property
    def round(self) -> Round | None:
        return find_round(self.protocol.name)

    @property
    def development(self) -> str:
        """Why agents may know this board's answers; an empty text for tasks that no list holds."""
        return "" if self.round else self.protocol.development

    @property
    def entries(self) -> tuple[Row, ...]:
        """The rows with each series' members in its place: one for every entry."""
        return tuple(each for row in self.rows for each in row.recordings)
