"""Regular expressions as `grep` reads them; the time of a search grows with the length of a line alone.

Python's `re` backtracks, and a short expression can keep it busy for years. Here an automaton follows all branches at
once; its states are sets of places in the expression, made when they are first reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

MAX_PLACES = 2_000  # of one expression, after repetitions are written out
_MAX_STATES = 2_000  # that are kept
_MAX_DEPTH = 50  # groups in groups
_PLACES_A_LOOK = 20_000  # between two looks at the clock
_CLASSES: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha,
    "digit": lambda character: "0" <= character <= "9",
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "blank": lambda character: character in " \t",
    "punct": lambda character: character.isprintable() and not character.isalnum() and not character.isspace(),
    "xdigit": lambda character: character in "0123456789abcdefABCDEF",
    "cntrl": lambda character: ord(character) < 32 or ord(character) == 127,
    "print": str.isprintable,
    "graph": lambda character: character.isprintable() and character != " ",
}
_START, _END, _WORD, _OTHER = range(4)  # what stands beside a place
# What holds between two characters.
_ASSERTIONS: dict[str, Callable[[int, int], bool]] = {
    "^": lambda before, after: before == _START,
    "$": lambda before, after: after == _END,
    "b": lambda before, after: (before == _WORD) != (after == _WORD),
    "B": lambda before, after: (before == _WORD) == (after == _WORD),
    "<": lambda before, after: before != _WORD and after == _WORD,
    ">": lambda before, after: before == _WORD and after != _WORD,
    "not after a word": lambda before, after: before != _WORD,
    "not before a word": lambda before, after: after != _WORD,
}
Syntax = Literal["basic", "extended", "perl", "fixed"]
Fits = Callable[[str], bool]


class ExpressionError(ValueError):
    """An expression is not understood; the message says why."""


class _Node(NamedTuple):
    """A part of an expression."""

    # A character that fits, an assertion, parts in a row, one of the parts, or the part `least` to `most` times.
    kind: Literal["one", "at", "all", "any", "repeat"]
    parts: tuple[_Node, ...] = ()
    fits: Fits | None = None
    text: str = ""  # the character, or the name of the assertion
    least: int = 0
    most: int | None = None  # None: without end


def _one(fits: Fits, text: str = "") -> _Node:
    """Return the part that one character fits; `text` is that character if it is the only one."""
    return _Node("one", fits=fits, text=text)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_SHORT: dict[str, Fits] = {"w": _is_word, "s": _CLASSES["space"], "d": _CLASSES["digit"]}


class _ExpressionReader:
    def __init__(self, text: str, kind: Syntax, ignore_case: bool) -> None:
        self._text = text
        self._basic = kind == "basic"
        self._perl = kind == "perl"
        self._fixed = kind == "fixed"
        self._ignore_case = ignore_case
        self._at = 0
        self._depth = 0

    def read(self) -> _Node:
        if self._fixed:
            return _Node("all", tuple(map(self._plain, self._text)))
        whole = self._alternatives()
        if self._at < len(self._text):
            raise ExpressionError("Unmatched ) or \\)")
        return whole

    def _sign(self) -> str:
        """Return the operator here, without its backslash in a basic expression; "" for a plain character."""
        here = self._text[self._at : self._at + 2]
        if not here:
            return ""
        if here[0] == "\\":
            return here[1:] if self._basic and here[1:] and here[1:] in "(){}|+?" else ""
        return here[0] if here[0] in ("*.[^$" if self._basic else "*.[^$(){}|+?") else ""

    def _take(self, sign: str) -> None:
        self._at += 2 if self._basic and sign in "(){}|+?" else 1

    def _alternatives(self) -> _Node:
        branches = [self._branch()]
        while self._sign() == "|":
            self._take("|")
            branches.append(self._branch())
        return branches[0] if len(branches) == 1 else _Node("any", tuple(branches))

    def _branch(self) -> _Node:
        parts: list[_Node] = []
        while self._at < len(self._text) and self._sign() not in ("|", ")"):
            sign = self._sign()
            if sign == "*" and (not parts or (self._basic and parts[-1].text == "^")):
                parts.append(self._plain("*"))  # nothing that it could repeat
                self._at += 1
            else:
                parts.append(self._atom(sign, first=not parts))
            self._repeats(parts)
        return _Node("all", tuple(parts))

    def _repeats(self, parts: list[_Node]) -> None:
        while (sign := self._sign()) in ("*", "+", "?", "{") and sign:
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign) or self._bounds()
            if bounds is None or (parts[-1].kind == "at" and self._basic):
                return
            if sign != "{":
                self._take(sign)
            parts[-1] = _Node("repeat", (parts[-1],), least=bounds[0], most=bounds[1])

    def _bounds(self) -> tuple[int, int | None] | None:
        closing = self._text.find("\\}" if self._basic else "}", self._at)
        begin = self._at + (2 if self._basic else 1)
        least, comma, most = self._text[begin:closing].partition(",")
        given = (least or "0") + (most or "0")
        if closing < 0 or not (least or comma) or not (given.isascii() and given.isdigit()):
            return None
        if len(given) > 8:
            raise ExpressionError("Regular expression too big")
        self._at = closing + (2 if self._basic else 1)
        return int(least or 0), (int(most) if most else None) if comma else int(least)

    def _atom(self, sign: str, *, first: bool) -> _Node:
        if sign == "(":
            return self._group()
        if sign == "[":
            return self._set()
        character = self._text[self._at]
        self._at += 1
        if sign == ".":
            return _one(lambda _: True)
        if sign and sign in "^$" and (not self._basic or self._is_anchor(sign, first)):
            return _Node("at", text=sign)
        if character == "\\":
            return self._escaped()
        return self._plain(character)

    def _is_anchor(self, sign: str, first: bool) -> bool:
        """Return whether `^` or `$` of a basic expression stands where it is no plain character."""
        return first if sign == "^" else self._text[self._at : self._at + 2] in ("", "\\)", "\\|")

    def _group(self) -> _Node:
        self._take("(")
        if self._perl and self._text.startswith("?", self._at):
            if not self._text.startswith("?:", self._at):
                raise ExpressionError("groups that begin with (? are not supported here, but for (?:")
            self._at += 2
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ExpressionError("Regular expression too big")
        inner = self._alternatives()
        self._depth -= 1
        if self._sign() != ")":
            raise ExpressionError("Unmatched ( or \\(")
        self._take(")")
        return inner

    def _escaped(self) -> _Node:
        if self._at == len(self._text):
            raise ExpressionError("Trailing backslash")
        letter = self._text[self._at]
        self._at += 1
        if letter in "bB<>":
            return _Node("at", text=letter)
        if letter in "wWsS" or (letter in "dD" and self._perl):
            return _one(lambda character: _SHORT[letter.lower()](character) == letter.islower())
        if letter == "t" and self._perl:
            return self._plain("\t")
        if letter.isalnum():
            raise ExpressionError(f"\\{letter} is not supported here" + ": write [0-9]" * (letter == "d"))
        return self._plain(letter)

    def _plain(self, given: str) -> _Node:
        if self._ignore_case and given.lower() != given.upper():
            return _one(lambda character: character.lower() == given.lower())
        return _one(lambda character: character == given, text=given)

    def _set(self) -> _Node:
        negated = self._text.startswith("^", self._at + 1)
        begin = at = self._at + 1 + negated
        ranges: list[tuple[str, str]] = []
        classes: list[Fits] = []
        while at == begin or not self._text.startswith("]", at):
            if at >= len(self._text):
                raise ExpressionError("Unmatched [, [^, [:, [., or [=")
            end = self._text.find(":]", at)
            if self._text.startswith("[:", at) and end > 0:
                name = self._text[at + 2 : end]
                if name not in _CLASSES:
                    raise ExpressionError("Invalid character class name")
                classes.append(_CLASSES[name])
                at = end + 2
            elif self._perl and self._text[at] == "\\" and self._text[at + 1 : at + 2] in ("w", "s", "d"):
                classes.append(_SHORT[self._text[at + 1]])
                at += 2
            else:
                at += self._perl and self._text[at] == "\\" and at + 1 < len(self._text)
                first = last = self._text[at]
                if self._text[at + 1 : at + 2] == "-" and self._text[at + 2 : at + 3] not in ("", "]"):
                    at += 2
                    last = self._text[at]
                    if last < first:
                        raise ExpressionError("Invalid range end")
                ranges.append((first, last))
                at += 1
        self._at = at + 1

        def holds(character: str) -> bool:
            return any(low <= character <= high for low, high in ranges) or any(fits(character) for fits in classes)

        def fits(character: str) -> bool:
            forms = {character, character.lower(), character.upper()} if self._ignore_case else {character}
            return any(len(each) == 1 and holds(each) for each in forms) != negated

        return _one(fits)


class _State:
    """Places that are reached in an expression, and where a further character leads."""

    def __init__(self, places: frozenset[int], before: int) -> None:
        self.places, self.before = places, before
        self.moves: dict[str, _State | None] = {}  # None: all of the expression is found


class Expression:
    """A compiled expression; several lines are alternatives.

    A match must be a whole word (`bound` is `w`), the whole line (`x`), or anything.
    """

    def __init__(
        self, pattern: str, *, kind: Syntax = "basic", ignore_case: bool = False, bound: Literal["", "w", "x"] = ""
    ) -> None:
        branches = tuple(_ExpressionReader(line, kind, ignore_case).read() for line in pattern.split("\n"))
        whole = branches[0] if len(branches) == 1 else _Node("any", branches)
        ends = {"": (), "x": ("^", "$"), "w": ("not after a word", "not before a word")}[bound]
        self.needed = _needed(whole)
        if ends:
            whole = _Node("all", (_Node("at", text=ends[0]), whole, _Node("at", text=ends[1])))
        self._fits: list[list[tuple[Fits, int]]] = []
        self._free: list[list[tuple[str, int]]] = []  # the assertion, or "", under which a place leads to another
        first = self._place()
        self._last = self._add(whole, first)
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._start = _State(frozenset({first}), _START)

    def found_in(self, line: str, check_time: Callable[[], None]) -> bool:
        """Return whether the expression matches within a line; `check_time` is called from time to time."""
        if self.needed not in line:
            return False
        state, since = self._start, 0
        for character in line:
            try:
                after = state.moves[character]
            except KeyError:
                after = self._move(state, character)
                since += len(state.places) + 10
                if since > _PLACES_A_LOOK:
                    since = 0
                    check_time()
            if after is None:
                return True
            state = after
        return self._last in self._reached(state, _END)

    def _place(self) -> int:
        if len(self._fits) >= MAX_PLACES:
            raise ExpressionError("Regular expression too big")
        self._fits.append([])
        self._free.append([])
        return len(self._fits) - 1

    def _add(self, node: _Node, start: int) -> int:
        """Add the places of a part that begins at `start`; return the one at its end."""
        if node.kind == "all":
            for part in node.parts:
                start = self._add(part, start)
            return start
        end = self._place()
        if node.kind == "one" and node.fits is not None:
            self._fits[start].append((node.fits, end))
        elif node.kind == "at":
            self._free[start].append((node.text, end))
        elif node.kind == "any":
            for part in node.parts:
                inner = self._place()
                self._free[start].append(("", inner))
                self._free[self._add(part, inner)].append(("", end))
        else:
            self._repeat(node, start, end)
        return end

    def _repeat(self, node: _Node, start: int, end: int) -> None:
        (part,) = node.parts
        for _ in range(node.least):
            start = self._add(part, start)
        again = self._place()
        self._free[start].append(("", again))
        if node.most is None:
            self._free[self._add(part, again)].append(("", again))
        for _ in range((node.most or 0) - node.least):
            self._free[again].append(("", end))
            again = self._add(part, again)
        self._free[again].append(("", end))

    def _reached(self, state: _State, after: int) -> set[int]:
        """Return all places that are reached before a character, assertions included."""
        reached: set[int] = set()
        waiting = [*state.places, *self._start.places]
        while waiting:
            place = waiting.pop()
            if place not in reached:
                reached.add(place)
                waiting += [
                    next_ for name, next_ in self._free[place] if not name or _ASSERTIONS[name](state.before, after)
                ]
        return reached

    def _move(self, state: _State, character: str) -> _State | None:
        kind = _WORD if _is_word(character) else _OTHER
        reached = self._reached(state, kind)
        after: _State | None = None
        if self._last not in reached:
            places = frozenset(end for place in reached for fits, end in self._fits[place] if fits(character))
            if len(self._states) >= _MAX_STATES:
                self._states.clear()
                self._start.moves.clear()
            after = self._states.setdefault((places, kind), _State(places, kind))
        state.moves[character] = after
        return after


def _needed(node: _Node) -> str:
    """Return a string that every match contains, the longest that is found without searching."""
    runs = [""]
    for part in _flat(node):
        if part.kind == "one" and part.text:
            runs[-1] += part.text
        elif part.kind != "at":
            runs.append("")
    return max(runs, key=len)


def _flat(node: _Node) -> Iterator[_Node]:
    if node.kind != "all":
        yield node
        return
    for part in node.parts:
        yield from _flat(part)
