"""The schema of `submission.json`: who played, with what, and the digest of the recording. It holds no score."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from natlang_envs.errors import UsageError
from natlang_envs.files import DoubledKeyError, keys_once, read_plain

T = TypeVar("T")

SUBMISSIONS = Path("leaderboard") / "submissions"  # where the entries are, seen from a checkout
CHECKPOINTS = SUBMISSIONS.parent / "checkpoints"  # published players
SUBMISSION_FILE = "submission.json"
SCHEMA_VERSION = 2
MAX_SUBMISSION_BYTES = 64 * 1024
MADE = ": an entry is made by `natlang-leaderboard pack`"
_MAX_LINE = 500
_BEGAN = date(2026, 11, 21)
REFERENCE_LINES = ("random-legal", "oracle", "reference")  # built-in agents that see more than a player
_LEARNED = ("imitation", "rl")

# Characters that turn the direction of the text after them: a name could read as another one on the page.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

# Controls, and characters that nobody sees: zero-width ones, tags, private and unassigned ones; and blank letters.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_BLANK = frozenset("\u115f\u1160\u3164\uffa0")


def _plain(text: str) -> str:
    for character in text:
        if character in _TURNING or unicodedata.category(character) in _UNSEEN or character in _BLANK:
            raise ValueError(f"must be text without control characters, not with U+{ord(character):04X}")
    if "xxx" in "".join("x" if unicodedata.category(each) in ("Mn", "Me") else " " for each in text):
        raise ValueError("must be text without piles of marks on one letter")
    return text


def _web_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("must be a web address that begins with http:// or https://")
    if not text.isascii() or any(character in ' "<>\\^`{|}' for character in text):
        raise ValueError("must be a web address in plain ASCII: percent-encode other characters")
    return text


# Names of devices, which no folder can have on Windows, whatever follows a dot.
_DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))])


def _portable(name: str) -> str:
    if name.split(".")[0] in _DEVICES:
        raise ValueError("must be a name that a folder can have on every system")
    return name


def today() -> date:
    """Return the day in UTC, by which rounds open and close."""
    return datetime.now(UTC).date()


def _of_the_calendar(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError("must be a day of the calendar, YYYY-MM-DD") from None
    if not _BEGAN <= day <= today() + timedelta(days=1):
        raise ValueError(f"must be a day from {_BEGAN}, when this project began, to today")
    return text


Day = Annotated[str, Field(pattern=r"^20\d\d-[01]\d-[0-3]\d$"), AfterValidator(_of_the_calendar)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$"), AfterValidator(_portable)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Line = Annotated[str, Field(max_length=300), AfterValidator(_plain)]
Link = Annotated[Line, AfterValidator(_web_address)]
Text = Annotated[str, Field(max_length=4_000), AfterValidator(lambda text: "\n".join(map(_plain, text.split("\n"))))]
Count = Annotated[int, Field(ge=0, le=10**15)]
Weights = Annotated[int, Field(ge=1, le=10**14)]  # a hundred times what the largest models have


class Strict(BaseModel):
    """A record whose types are not converted, which refuses unknown keys, and which does not change."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class ProvenanceFacts(Strict):
    """Where the agent came from: see `natlang_envs.evaluation.runs.Provenance`."""

    origin: Line = ""
    agent: Line = ""
    command: Line = ""
    commit: Line = ""
    checkpoint: Line = ""


def _ordered(curve: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    if any(before[0] >= after[0] for before, after in pairwise(curve)):
        raise ValueError("must have more episodes at each point than at the one before")
    return curve


# Episodes of training, and the success rate at that time.
Curve = Annotated[
    tuple[tuple[Count, Annotated[float, Field(ge=0, le=1)]], ...],
    Field(min_length=2, max_length=200),
    AfterValidator(_ordered),
]


class Track(Strict):
    """The kind of agent, as its submitter states it; `curve` is its success over training episodes."""

    weights: Literal["open", "closed", "none"] | None = None
    method: Literal["untuned", "imitation", "rl", "search", "hand-written"] | None = None
    reflection: bool | None = None
    teacher: Line | None = None
    training_episodes: Count | None = None
    training_minutes: Annotated[float, Field(ge=0, le=10**9)] | None = None
    curve: Curve | None = None


class RunFacts(Strict):
    """What the runner noted: see `natlang_envs.evaluation.runs.Run`. The submitter states it; no score depends on it.

    `sampling`, `privileged` and `provenance` are of schema version 2.
    """

    agent: Line
    runs: Annotated[int, Field(ge=1, le=1_000)]
    versions: Annotated[dict[Line, Line], Field(max_length=50)]
    hardware: Line
    tokens: Count
    seconds: Annotated[float, Field(gt=0, le=10**9)]
    sampling: bool | None = None
    privileged: bool | None = None
    provenance: ProvenanceFacts | None = None
    settings: Annotated[dict[Line, Line], Field(max_length=20)] | None = None
    answers: Annotated[dict[Line, Count], Field(max_length=100)] | None = None
    bill: Annotated[dict[Line, Count], Field(max_length=10)] | None = None


class Submission(Strict):
    schema_version: Literal[1, 2] = SCHEMA_VERSION
    protocol: Line
    protocol_digest: Digest  # the digest of the protocol when the run was made
    name: Name  # the agent's name on the leaderboard, and the name of the entry's folder
    description: Line = ""
    authors: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    contact: Line | None = None
    link: Link | None = None
    deterministic: bool = False  # whether the agent does the same each time; it then plays each episode once
    disclosure: Text = ""  # what the agent was trained on, and how the protocol's tasks may have got into it
    model: Line | None = None
    parameters: Weights | None = None  # the number of the model's parameters
    run: RunFacts
    trajectories_sha256: Digest
    # Whether it is a reference line, shown without a rank; of schema version 2, as the fields after it.
    reference: bool = False
    track: Track | None = None
    date: Day | None = None  # the day it was packed, `YYYY-MM-DD`
    commitment: Digest | None = None  # in a live round, the digest that was committed before it

    @model_validator(mode="after")
    def _complete(self) -> Self:
        stated = (self.run.sampling, self.run.privileged, self.run.provenance, self.commitment)
        if self.schema_version == 1 and (any(each is not None for each in stated) or self.reference):
            raise ValueError("schema version 1 has no sampling, privileged, provenance, commitment and reference")
        if self.schema_version == 2 and (self.run.sampling is None or self.run.privileged is None):
            raise ValueError("run.sampling and run.privileged are missing: evaluate again")
        if self.run.privileged and not self.reference:
            raise ValueError("an agent that saw the environment itself can only be a reference line")
        if self._method == "hand-written" and self._has_weights:
            raise ValueError("track.method hand-written is of agents without weights: leave model and parameters out")
        return self

    @property
    def is_reference(self) -> bool:
        """Whether it is a reference line. Schema version 1 does not say so; the built-in players' entries are."""
        if self.schema_version == 1:
            return self.name == self.run.agent in REFERENCE_LINES
        return self.reference

    @property
    def samples(self) -> bool:
        """Whether the agent samples its commands; schema version 1 states only whether it is deterministic."""
        return not self.deterministic if self.run.sampling is None else self.run.sampling

    @property
    def checkpoint(self) -> str:
        """The SHA-256 of the weights that played, or an empty text."""
        return self.run.provenance.checkpoint if self.run.provenance is not None else ""

    @property
    def is_hand_written(self) -> bool:
        """Whether nothing in it can have learned: it states no model, no weights and no checkpoint."""
        return self._method not in _LEARNED and not self._has_weights

    @property
    def _method(self) -> str | None:
        return self.track.method if self.track is not None else None

    @property
    def _has_weights(self) -> bool:
        made = self.run.provenance
        named = made is not None and bool(made.checkpoint or made.origin == "entry point")
        stated = self.track is not None and self.track.weights in ("open", "closed")
        return named or stated or bool(self.model or self.parameters)

    def to_json(self) -> str:
        unasked = {name for name in ("settings", "answers", "bill") if getattr(self.run, name) is None}
        unsaid: dict[str, Any] = {"run": unasked, **({"commitment": True} if self.commitment is None else {})}
        return self.model_dump_json(indent=2, exclude=unsaid) + "\n"


def make_submission(content: dict[str, Any]) -> Submission:
    try:
        return Submission.model_validate(content)
    except ValidationError as error:
        raise UsageError(explained(error)) from None


def read_submission(path: Path) -> Submission:
    return read_as(path, TypeAdapter(Submission), MAX_SUBMISSION_BYTES)


def read_as(path: Path, kind: TypeAdapter[T], limit: int, missing: T | None = None) -> T:
    """Return the checked content of a JSON file, or `missing`, if given, where there is no file."""
    if missing is not None and not path.exists():
        return missing
    content = read_plain(path, limit, MADE)
    try:
        json.loads(content, object_pairs_hook=keys_once)
    except DoubledKeyError as error:
        raise UsageError(one_line(f"{path}: {error}: delete one")) from None
    except (ValueError, RecursionError):  # no JSON: refused below
        pass
    try:
        return kind.validate_json(content)
    except ValidationError as error:
        raise UsageError(one_line(f"{path}: {explained(error)}")) from None


def look(name: str) -> str:
    """Return one text for all names that are easily taken for each other."""
    for alike, letter in (("rn", "m"), ("vv", "w"), ("cl", "d")):
        name = name.replace(alike, letter)
    return name.translate(str.maketrans("01i5_.", "olls--"))


def one_line(text: str) -> str:
    """Return a message that quotes other people's text as one line of bounded length, without control characters."""
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[: 2 * _MAX_LINE])
    return shown if len(shown) <= _MAX_LINE else shown[:_MAX_LINE] + "…"


@contextmanager
def naming(folder: Path) -> Generator[None]:
    """Begin the message of a `UsageError` with the folder that it is about, once."""
    try:
        yield
    except UsageError as error:
        raise type(error)(one_line(f"{folder}: {str(error).removeprefix(f'{folder}/')}")) from None


_INPUT_SAYS_NOTHING = ("missing", "extra_forbidden", "json_invalid")
_REMEDIES = {
    "name": "write up to 64 lower-case letters, digits, '-', '.' and '_', first and last a letter or digit",
    "schema_version": f"this program reads schema version 1 to {SCHEMA_VERSION}; pack the run again with it",
}


def explained(error: ValidationError) -> str:
    """Return the first malformed place of a file, what is wrong there, and how many more there are."""
    problems = error.errors(include_url=False, include_input=True)
    first = problems[0]
    where = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] in _INPUT_SAYS_NOTHING else f" (given: {first['input']!r:.60})"
    remedy = f": {_REMEDIES[where]}" if where in _REMEDIES else ""
    more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
    return one_line(f"{where + ': ' if where else ''}{message}{given}{remedy}{more}")
