"""Parses commands that are not in the game's words: verbs and names as people and language models write them."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from natlang_envs.alfworld.engine.game import Game
from natlang_envs.alfworld.games.floor_plans import floor_plans
from natlang_envs.why import Misspelt

_VERBS: Final[dict[str, str]] = {
    each: verb
    for verb, words in {
        "go": "go to; go; goto; walk to; walk; head to; navigate to; move to; approach; visit; return to; go back to",
        "take": "take; pick up; pick; grab; get; fetch; collect; retrieve; remove; lift",
        "put": "put; move; place; drop; put down; put back; set; set down; insert; lay; leave; store",
        "open": "open; unlock",
        "close": "close; shut",
        "examine": "examine; inspect; check; look at; look in; look into; look inside; look on; search; read; x; view",
        "use": "use; turn on; switch on; toggle; toggle on; activate; light",
        "heat": "heat; heat up; microwave; warm; warm up; cook",
        "cool": "cool; cool down; chill; refrigerate; freeze",
        "clean": "clean; wash; rinse; scrub; clean up",
        "slice": "slice; cut; chop",
        "look": "look; look around; l; observe",
        "inventory": "inventory; i; inv; check inventory; show inventory",
        "help": "help; h",
    }.items()
    for each in words.split("; ")
}
# The names that a kind goes by elsewhere, and the kinds that may be meant; the first that the room has counts.
_KINDS: Final[dict[str, str]] = {
    "refrigerator": "fridge",
    "sink": "sinkbasin",
    "bathtub": "bathtubbasin",
    "trashcan": "garbagecan",
    "trash": "garbagecan",
    "bin": "garbagecan",
    "counter": "countertop",
    "stove": "stoveburner",
    "burner": "stoveburner",
    "couch": "sofa",
    "nightstand": "sidetable",
    "coffeemaker": "coffeemachine",
    "table": "diningtable sidetable coffeetable desk",
    "closet": "cabinet",
    "phone": "cellphone",
    "remote": "remotecontrol",
    "tissues": "tissuebox",
    "lamp": "desklamp floorlamp",
    "light": "desklamp floorlamp",
    "soap": "soapbar soapbottle",
    "salt": "saltshaker",
    "pepper": "peppershaker",
}
_BETWEEN: Final = frozenset(
    (
        *("from", "in", "on", "in/on", "into", "onto", "inside", "to", "with"),
        *("using", "at", "under", "near", "next", "by", "of", "off", "out", "toward"),
    )
)
_FILLING: Final = frozenset(
    (
        *("the", "a", "an", "top", "up", "down", "back", "my", "this", "that"),
        *("number", "no.", "no", "#", "some", "it"),
    )
)
# The things of any room that `floor_plans` does not place.
_OTHERS: Final = frozenset(
    (
        *("baseballbat", "basketball", "boots", "desklamp", "dumbbell", "floorlamp", "footstool", "houseplant"),
        *("lightswitch", "mirror", "plunger", "scrubbrush", "showerglass", "sink", "television", "tennisracket"),
        "window",
    )
)
_QUOTES: Final = " \t\r\n.,!?;:'\"`*()[]<>"
_LEAD: Final = re.compile(r"^(?:>|action\s*\d*:|act:|command:|next action:|i will|i|you|let's|please|now|then)\s+")
_SEVERAL: Final = re.compile(r"\s*(?:[\r\n;]+|,? (?:and )?then |,? and (?=[a-z]+ ))\s*")
_NAME: Final = re.compile(r"(.*?)\s*[#(]*(\d*)\)*")


class Named(NamedTuple):
    """A name in a command."""

    kind: str  # in letters alone, such as "apple"; that of the game where it was recognised
    number: int | None
    corrected: bool  # whether the kind was written otherwise

    @property
    def words(self) -> str:
        """The name as games write it."""
        return self.kind if self.number is None else f"{self.kind} {self.number}"


class ParsedCommand(NamedTuple):
    """The parts of a command; `verb` is None if none was recognised."""

    verb: str | None
    first: Named | None
    second: Named | None
    verb_words: str
    plain: str  # the command in lower case, without signs around it and doubled spaces
    misspelt: bool  # the verb is


class Lexicon:
    """The names of a game: receptacles and things, by kind and number."""

    def __init__(self, game: Game) -> None:
        self.places = _by_kind([each.name for each in game.receptacles])
        self.things = _by_kind([each.name for each in game.things])

    @cached_property
    def kinds(self) -> set[str]:
        """The kinds of things and receptacles in any room, so that reasons do not reveal those of this one."""
        anywhere = {each.lower() for each in floor_plans().places} | _OTHERS | place_kinds()
        return anywhere | self.places.keys() | self.things.keys()

    @cached_property
    def _misspelt(self) -> Misspelt:
        return Misspelt(sorted(self.kinds))

    def named(self, words: list[str]) -> Named | None:
        """Return the name in some words of a command; None without one."""
        found = _NAME.fullmatch(" ".join(word for word in words if word not in _FILLING))
        assert found is not None
        kind = "".join(letter for letter in found[1] if letter.isalpha())
        number = int(found[2]) if found[2] and len(found[2]) < 6 else None
        if not kind:
            return None
        if kind in self.kinds:
            # As the game writes a name, but that there may be a blank too few or many.
            return Named(kind, number, " ".join(words) != (f"{kind} {number}" if found[2] else kind))
        others = [each for each in (*_KINDS.get(kind, "").split(), kind.removesuffix("s")) if each in self.kinds]
        here = [each for each in others if each in self.places or each in self.things]
        other = next(iter(here or others), self._misspelt.meant(kind))
        return Named(other or kind, number, True)


def read_command(command: str, lexicon: Lexicon) -> ParsedCommand:
    plain = " ".join(command.lower().split()).strip(_QUOTES)
    plain = _LEAD.sub("", plain).strip(_QUOTES) if " " in plain else plain
    words = plain.split(" ")
    misspelt = False
    for count in (3, 2, 1):
        verb_words = " ".join(words[:count])
        if verb_words in _VERBS and len(words) >= count:
            break
    else:
        found = _misspelt_verbs().meant(words[0])
        if found is None or found[0] not in words[0][:2]:  # to eat is not to heat
            return ParsedCommand(None, None, None, words[0], plain, False)
        verb_words, misspelt, count = found, True, 1
    verb, rest = _VERBS[verb_words], words[count:]
    while rest and rest[0] in _BETWEEN:
        rest = rest[1:]
    at = next((number for number, word in enumerate(rest) if word in _BETWEEN), len(rest))
    second = [word for word in rest[at:] if word not in _BETWEEN]
    return ParsedCommand(verb, lexicon.named(rest[:at]), lexicon.named(second), verb_words, plain, misspelt)


def first_of_several(command: str) -> str:
    """Return the first of several commands that stand in one text; nothing where there is but one."""
    parts = [each for each in _SEVERAL.split(command.strip(_QUOTES)) if each]
    return parts[0] if len(parts) > 1 else ""


def _by_kind(names: list[str]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for at, name in enumerate(names):
        kind, _, number = name.rpartition(" ")
        if number.isdecimal():
            found.setdefault(kind, {})[int(number)] = at
    return {kind: dict(sorted(numbers.items())) for kind, numbers in found.items()}


@lru_cache(maxsize=1)
def place_kinds() -> frozenset[str]:
    """Return the kinds of receptacles in any room, so that reasons do not reveal those of this one."""
    return frozenset({each.lower() for row in floor_plans().places.values() for each in row} | {"laundryhamper"})


@lru_cache(maxsize=1)
def _misspelt_verbs() -> Misspelt:
    return Misspelt(verb for verb in _VERBS if " " not in verb and len(verb) > 2)


@lru_cache(maxsize=512)
def lexicon_of(game: Game) -> Lexicon:
    return Lexicon(game)
