"""An answer as tokens: words by their stems, numbers with their units, names as they are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from natlang_envs.repository.words import stem

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBER_WORDS: Final = {
    **{word: Decimal(10 * value) for value, word in enumerate(_TENS.split())},
    **{word: Decimal(value) for value, word in enumerate(_SMALL.split())},
    "half": Decimal("0.5"),
}
_MULTIPLES: Final = {"hundred": Decimal(100), "thousand": Decimal(1_000), "million": Decimal(1_000_000)}
# The first name of a row is that of the dimension's unit; each name has the number of those units in one.
_UNITS: Final = {
    "s": "ns=1e-9 nanosecond=1e-9 us=1e-6 µs=1e-6 μs=1e-6 microsecond=1e-6 ms=0.001 millisecond=0.001 s=1 sec=1 "
    "second=1 min=60 minute=60 h=3600 hr=3600 hour=3600 day=86400 week=604800",
    "month": "month=1 year=12",
    "byte": "byte=1 kb=1000 kilobyte=1000 mb=1e6 megabyte=1e6 gb=1e9 gigabyte=1e9 kib=1024 kibibyte=1024 "
    "mib=1048576 mebibyte=1048576 gib=1073741824 gibibyte=1073741824",
    "%": "%=1 percent=1",
    "eur": "eur=1 €=1 euro=1",
    "usd": "usd=1 $=1 dollar=1",
    "gbp": "gbp=1 £=1 pound=1",
    "cent": "cent=1 ct=1",
    "penny": "penny=1 pence=1",
    "g": "mg=0.001 milligram=0.001 g=1 gram=1 kg=1000 kilogram=1000 kilo=1000 tonne=1e6",
    "mm": "mm=1 millimetre=1 millimeter=1 cm=10 centimetre=10 centimeter=10 m=1000 metre=1000 meter=1000 km=1e6 "
    "kilometre=1e6 kilometer=1e6",
    "ml": "ml=1 millilitre=1 milliliter=1 litre=1000 liter=1000",
    "°c": "°c=1 celsius=1",
    "degree": "degree=1 deg=1 °=1",
    "hz": "hz=1 khz=1000 mhz=1e6",
    "px": "px=1 pixel=1",
    "pt": "pt=1",
    "dpi": "dpi=1",
}
_SCALES: Final = {
    name: (dimension, Decimal(size))
    for dimension, row in _UNITS.items()
    for name, size in (each.split("=") for each in row.split())
}
_QUOTES = "\"'`\u00b4\u201c\u201d\u2018\u2019\u00ab\u00bb"
_CHUNK = re.compile(rf"[^\s{_QUOTES}(){{}}\[\]<>,;:!?|=*&/]+|[,;:!?]")
_NUMBER = re.compile(r"([$€£])?([-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d{1,2})?)(%|[a-zµμ°€]+)?", re.ASCII)
_GROUPED = re.compile(r"(?<![\d.,_])[1-9]\d{0,2}(?:[,_]\d{3})+(?!\d)")
_CLOCK = re.compile(r"(?<![\d:])0?(\d{1,2}):(\d{2})(?![\d:])")
_A_UNIT = frozenset(("minute", "hour", "day", "week", "month", "year"))  # "a week" is one week
_ARTICLES = frozenset(("a", "an", "the"))
_PAUSES = frozenset(",;:!?.")


class Token(NamedTuple):
    """A word, name or number of an answer."""

    text: str  # what is compared: the stem of a word, a name in lower case, a number in its dimension's unit
    clause: int  # counts the commas and the like before it
    unit: str | None = None  # of a number its dimension, "" for a bare one; None for anything else
    # Whether it is an atom by itself: a number, or a name such as `max_age` or `ValueError`. The "one" of "the newest
    # one", "a week" and "half" are numbers that are none.
    named: bool = False


@lru_cache(maxsize=4_096)
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text; articles and characters that cannot be seen are left out."""
    found: list[Token] = []
    clause = 0
    whole = Decimal(0)  # what the last number has in hundreds and more: 100 of "a hundred and twenty-eight"
    pieces = list(_pieces(text))
    for number, (piece, quoted) in enumerate(pieces):
        if piece in _PAUSES:
            clause += 1
            continue
        word = piece.casefold()
        value, unit = _value(word)
        before = found[-1] if found else None
        after, then = ([each.casefold() for each, _ in pieces[number + 1 : number + 3]] + ["", ""])[:2]
        joins = before is not None and before.unit == "" and before.clause == clause  # a number, with no comma between
        counted = joins and whole > 0 and Decimal(found[-1].text) == whole
        if word in ("a", "an") and after in _A_UNIT and not (before and before.unit == ""):  # not "half an hour"
            found.append(Token("1", clause, "", False))
        elif word == "and" and counted and after in _NUMBER_WORDS and then not in _MULTIPLES:
            continue  # not "one hundred and two hundred"
        elif value is not None:
            tens = _NUMBER_WORDS.get(pieces[number - 1][0].casefold(), Decimal(0)) if joins else Decimal(0)
            if word in _NUMBER_WORDS and (counted or (tens >= 20 and 0 < value < 10)):
                value += Decimal(found.pop().text)  # twenty five
            else:
                whole = Decimal(0)
            weak = word == "half" or (word == "one" and not _scale(after) and after not in _MULTIPLES)
            found.append(Token(_plain(value, word), clause, unit, not weak))
        elif word in _MULTIPLES:
            times = Decimal(found.pop().text if joins else 1)
            more = whole if joins and whole < times else Decimal(0)
            whole = more + (times - more) * _MULTIPLES[word]
            found.append(Token(_plain(whole, ""), clause, "", True))
        elif before and joins and (scale := _scale(word)) and word not in "$€£":
            found[-1] = before._replace(text=_plain(Decimal(before.text) * scale[1], ""), unit=scale[0])
        elif word not in _ARTICLES or quoted:
            named = _is_name(piece)
            found.append(Token(word if named else root(word), clause, None, named))
    return tuple(found)


def root(word: str) -> str:
    """Return what forms of a word have in common: of "skips", "skipped" and "skip", or of "copies" and "copy"."""
    found = stem(word)
    if len(word) < 4 or found == "not":  # "notes" denies nothing
        return word
    found = found[:-1] if found[-1] == found[-2] and found[-1] not in "aeiou" else found
    return f"{found[:-1]}i" if found.endswith("y") else found


def words_in(text: str) -> list[str]:
    """Return the words, numbers and names of a text as they are written, in its order."""
    return [piece for piece, _ in _pieces(text) if piece not in _PAUSES]


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield words, names and pauses, and whether a quotation mark of code stands before each."""
    seen = unicodedata.normalize("NFKC", text.replace("\u00b2", "^2").replace("\u00b3", "^3"))
    seen = "".join(each for each in seen if unicodedata.category(each) != "Cf")
    seen = _GROUPED.sub(lambda match: re.sub("[,_]", "", match.group()), seen)
    seen = seen.replace("per cent", "percent").replace("\u2212", "-")
    seen = re.sub(r"#(?=\d)", " ", _CLOCK.sub(r"\1h\2", seen))
    seen = re.sub(r"[\u2010-\u2015]", "-", re.sub(r"(?<=\w)['\u2019](t|s)\b", lambda match: match[1].strip("s"), seen))
    for match in _CHUNK.finditer(seen):
        quoted = seen[match.start() - 1 : match.start()] == "`"
        chunk = match.group()
        bare = chunk.rstrip(".\u2026-~^").lstrip("~@#^\u00b1\u2264\u2265\u2248" + "+" * (not chunk[1:2].isdigit()))
        bare = re.sub(r"^\$(?=[A-Za-z_])|(?<=\d)(\++|x)$|(?<=[A-Z]{2})s$|^v(?=\d+\.)", "", bare)
        yield from ((each, quoted) for each in _parted(bare) if each)
        if chunk.endswith(".") and bare:
            yield ".", False


def _parted(chunk: str) -> list[str]:
    """Return the words that hyphens join; a name, an option and a date stay whole."""
    parts = chunk.split("-")
    words = all(each.isalpha() for each in parts[1:]) and (
        parts[0].isalpha() or _value(parts[0].lower())[0] is not None
    )
    numbers = len(parts) == 2 and all(_value(each.lower())[0] is not None for each in parts)
    return parts if len(parts) > 1 and (words or numbers) else [chunk]


def _value(word: str) -> tuple[Decimal | None, str]:
    if word in _NUMBER_WORDS:
        return _NUMBER_WORDS[word], ""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None, ""
    money, digits, unit = match.groups()
    if unit == "k":
        return Decimal(digits) * 1_000, ""
    scale = _scale(money or unit or "")
    if scale is None:
        return (None, "") if unit or money else (Decimal(digits), "")
    return Decimal(digits) * scale[1], scale[0]


def _scale(word: str) -> tuple[str, Decimal] | None:
    return _SCALES.get(word) or (_SCALES.get(word.removesuffix("s")) if len(word) > 2 else None)


def _plain(value: Decimal, word: str) -> str:
    """Return a number without noughts at its end; a bare 3.10 keeps it, since it may be a version."""
    if re.fullmatch(r"\d+\.\d*[1-9]\d*0+", word, re.ASCII):
        return word
    return f"{value.normalize():f}"


def _is_name(piece: str) -> bool:
    inner = piece[1:]
    return (
        any(each.isdigit() or each == "_" for each in piece)
        or any(each in ".\\@+#%~^" for each in inner)
        or piece[0] in "-."
        or any(each.isupper() for each in inner)
        or not (piece.isascii() or piece.isalpha())
        or _mixed(piece)
    )


def _mixed(piece: str) -> bool:
    """Return whether letters of several scripts stand in one word, as where they are to be taken for others."""
    letters = [each for each in piece if each.isalpha()]
    return len({unicodedata.name(each, "?").split()[0] for each in letters}) > 1
