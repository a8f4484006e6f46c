"""Listed commands in a text: one that all of it names, those that it mentions, and the one that a sentence states."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_MOST_LAYERS = 14  # of what stands around a command
_MOST_MENTIONS = 300  # of one command in one text
_AROUND = 200  # characters of a sentence before and after a mention
_NO_WIDTH = {
    each: None
    for start, end in ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2069), (0xFEFF, 0xFEFF), (0xAD, 0xAD))
    for each in range(start, end + 1)
} | {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}
_WORDS_BEFORE = (
    r"(?:(?:i|we)(?:'ll|'d|'m)?(?: (?:am|will|would|shall|must|should|choose|chose|pick|select|decide|want to|need to"
    r"|have to|going|like|to|now|therefore|then|go with))*|let(?:'s| me| us)|please|so|ok(?:ay)?|sure|therefore|thus"
    r"|hence|now|next|to|choose|select|pick|execute|perform|do|run|take (?:the )?action|go with|type|enter|use|the"
    r"|action|command|option|choice|label|number|answer|first)"
)
# What may stand around a command: each leaves what is within.
_PEELED = tuple(
    re.compile(each, re.DOTALL | re.IGNORECASE)
    for each in (
        r"([`*_\"'$|])(?P<inner>.+)\1|\((?P<round>.+)\)|\[(?P<square>.+)\]|\{(?P<curly>.+)\}|<(?P<angle>[^<>]+)>",
        r"\u00ab(?P<inner>.+)\u00bb|\u300c(?P<corner>.+)\u300d|\\(?:boxed|text\w*|math\w*)\s*\{(?P<boxed>.+)\}",
        r"(?P<inner>.*[^.\s])\s*[.]|(?P<dots>.*[^.]\.\.)\.|(?P<ended>.*\S)\s*[!,;:\u3002\uff01]"
        r"|(?P<closed>[^{]*[^{,\s])[,\s]*\}|(?P<before>.+?)\s+[^\w\s\x00-\x7f]+",
        r"(?:[-*+>=\u2022\u2192\u279c\u276f\u00bb#$]+|\d{1,3}[.):]|\(\w{1,2}\)|\[\w{1,2}\]|[A-Za-z][.)]"
        r"|(?![\u274c\u2716-\u2718\u26d4\U0001f6ab])[^\w\s\x00-\x7f]+)\s+(?P<inner>.+)",
        rf"{_WORDS_BEFORE}\s*[:,#]?\s+(?P<inner>.+)|#(?P<number>\w+)",
    )
)
_PAIR = re.compile(r"[(\[]?(\w{1,3})(?:[)\]]|\s*[.):\]-])\s*(\S.*)", re.DOTALL)
_NOTE = re.compile(r"(.+?)\s+\(([^()\s]{1,2}|[^()]*\s[^()]*)\)[.!]?", re.DOTALL)
_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*[\[(](.*)[\])]", re.DOTALL)
# What may follow a command in its own sentence.
_THEN = re.compile(
    r"[`*\"')\]]*\s*(?:[,;]?\s*(?:and )?(?:then|afterwards|followed by|after (?:that|which)|next)\b|->|\u2192|=>|&&)"
)
_TAIL = re.compile(
    r"[`*_\"')\]]*(?:[.!]?\Z|[.!;]\s|\s*\([^()]*\s[^()]*\)[.!]?(?:\s|\Z)"
    r"|\s*(?:[-\u2013\u2014]{1,3}\s+(?!.*\.\w{1,5}\s*\Z)(?:\S+\s+){2}\S|(?:#|//)\s+\S)"
    r"|,?\s+(?:because|since|so|as(?= (?:it|this|that|the|i|my)\b)|in order|towards?|which|for|until|again"
    r"|now|first|instead of|rather than|not)\b)"
)
_REASON = re.compile(r"[`*_\"')\]}]*,?\s+(?:because|since|so that|as(?! well)|in order|which)\b")
_TO = re.compile(r"[`*_\"')\]]*\s+(?:to|and)\b")
_AGAINST = re.compile(  # a command after these words, in the same clause, is not one that is given
    r"n['\u2019]t\b|\b(?:not|never|no longer|cannot|avoid|without|except|unless|before|if|whether|when"
    r"|while|once|after (?!\w+ing\b|that\b)|eventually|later|someday|could|might|may|can|consider(?:ed|ing)?"
    r"|tried|trying|tempt\w*|previous(?:ly)?|last|earlier|already|was"
    r"|were|had|did|done|example|e\.g|i\.e|such as|like|options?|either|neither|nor|wrong|bad|worse|worst|blocked"
    r"|impossible|illegal|invalid|unwise|refuse[ds]?|stop|why|over|available|possible|alternative(?:ly)?|hypothetical\w*"
    r"|suppose|someone|they|he|she|you|asked|told|said|says|see|saw|observation|forbidden|excluded?|reject\w*"
    r"|rul\w+ out|skip|fail\w*|mistakes?)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:wait|actually|on second thought|scratch that|correction|never ?mind|instead(?! of)"
    r"|i take (?:it|that) back)\b|\bno,",
    re.IGNORECASE,
)
_IS_ABOUT = re.compile(
    r"[`*\"')\]]*\s+(?:is|was|would|could|might|leads|won't|does|did|has|cannot|can't|fail\w*|looks|seems)\b",
    re.IGNORECASE,
)
_IN_PLACE_OF = re.compile(r"\b(?:instead of|rather than|than|over)\W*\Z", re.IGNORECASE)
_JOINS = re.compile(r"(?:\A|\b(?:or|and|then)|[,;/>&])\s*\Z")  # before a command of one word, which may be a plain word
_NEW_CLAUSE = re.compile(r"\b(?:but|so|therefore|hence|thus|however|instead(?! of)|rather(?! than))\b,?", re.IGNORECASE)
_LATER = re.compile(r"\b(?:then|after\w*|later|finally|next|second\w*|third|eventually|subsequently)\b", re.IGNORECASE)
_MEANT = re.compile(
    r"(?:(?:\A\W*|\b(?:i|we)\b)\s*(?:(?:'ll|'d|'m|will|would|shall|must|should|have to|need to|going to|am|now"
    r"|therefore|just|like to|choose(?: to)?|chose(?: to)?|pick(?:ed)?|select(?:ed)?|take|go(?:ing)? with|went with"
    r"|decided?(?: to| on)?|do|execute|perform|proceed to|want to)\s*)+|\blet(?:'s| me| us)(?: now)?"
    r"|(?:\A|\b(?:now|so|therefore|thus|hence|that|this),?)\s*i|\b(?:it is|it's|is) best to"
    r"|\b(?:action|move|step|choice|command|answer|option|decision|thing to do)\b[^.!?\n,;]{0,40}\b(?:is|be)(?: to)?)"
    r"\s*:?\s*[`*_\"'(\[]*\Z",
    re.IGNORECASE,
)
_IS_BEST = re.compile(
    r"[`*\"')\]]*\s+(?:it is|is (?:the|my) (?:\w+ )?(?:action|move|choice|step|answer|command|option)"
    r"|is (?:best|right))\b"
)
_LABEL_SAID = re.compile(
    r"\b(?:answer|choice|option|action|label|choose|pick|select|go with)\b(?: (?:is|will be|option|label|action|number"
    r"|choice))*[: ]+[*`\"'(\[]*([A-Za-z]{1,2}|\d{1,3})[)\]*`\"']*(?=[.!,;]|\s+(?:because|since|as)\b|\s*\Z)",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[.!?][\"')\]*`]*\s|\n")


class NamedCommands(NamedTuple):
    """Listed commands that a text gives: none, one, or several with equal right, and how many come after it."""

    commands: frozenset[str] = frozenset()
    left_over: int = 0


class Mention(NamedTuple):
    """A place of a text where listed commands are named, several where they differ in their letters' case alone."""

    start: int
    end: int
    commands: frozenset[str]


def union(several: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*several)


def folded(text: str) -> str:
    """Return a text as it is compared: without case, width and direction of characters."""
    return " ".join(unicodedata.normalize("NFKC", text.translate(_NO_WIDTH)).casefold().split())


class ListedCommands:
    def __init__(self, commands: Sequence[str], labels: Sequence[str], exact: bool) -> None:
        self.all = frozenset(commands)
        words: defaultdict[str, set[str]] = defaultdict(set)
        joined: defaultdict[str, set[str]] = defaultdict(set)
        tags: defaultdict[str, set[str]] = defaultdict(set)
        for command in commands:
            words[folded(command)].add(command)
            for key in {folded(command).replace(" ", "_"), _joined(command)}:
                joined[key].add(command)
        for label, command in zip(labels, commands, strict=True) if labels else ():
            tags[label].add(command)
        for label in () if exact else tuple(tags):
            if label.casefold() not in tags and [each.casefold() for each in labels].count(label.casefold()) == 1:
                tags[label.casefold()] = tags[label.casefold()] | tags[label]
        self._words = {key: frozenset(found) for key, found in words.items() if key}
        self._joined = {key: frozenset(found) for key, found in joined.items()}
        self._labels = {key: frozenset(found) for key, found in tags.items()}
        self._longest_first = sorted(self._words, key=len, reverse=True)
        self._limit = max(map(len, commands), default=0) + 200

    def exactly(self, text: str) -> frozenset[str]:
        text = text.strip()
        found = frozenset((text,)) if text in self.all else self._words.get(folded(text), frozenset[str]())
        if not found and text and " " not in text:
            found = self._joined.get(folded(text)) or self._joined.get(_joined(text), found)
        pair = _PAIR.fullmatch(text) if self._labels and not found else None
        if pair is not None and pair[1] in self._labels:
            other = self.named(pair[2]).commands
            found = other and other | self._labels[pair[1]]
        return found | self._labels.get(text, frozenset())

    def named(self, text: str) -> NamedCommands:
        """Return the commands that all of a text names, whatever stands around them."""
        for layer in layers(text) if len(text) <= self._limit else ():
            if found := self.exactly(layer):
                return NamedCommands(found)
            note = _NOTE.fullmatch(layer)
            if note is not None and (found := self.exactly(note[1].strip("`*_\"' "))):
                return NamedCommands(found | self.exactly(note[2]) | self.meant_beside(note[2]))
            call = _CALL.fullmatch(layer)
            if call is not None:
                inner = call[2].strip("'\"")
                if found := self.exactly(inner) | self.exactly(f"{call[1].replace('_', ' ')} {inner}".strip()):
                    return NamedCommands(found)
        return NamedCommands()

    def field(self, text: str) -> NamedCommands:
        """Return the commands that the text after a label gives: all of it, its beginning, or a sentence in it."""
        found = self.named(text)
        return found if found.commands else self.beginning(text) if self.beginning(text).commands else self.stated(text)

    def beginning(self, text: str) -> NamedCommands:
        """Return the command that a text begins with, and how many it says are to follow."""
        text = folded(text[: 2 * self._limit])
        for _ in range(4):
            opened = text[: len(text) - len(text.lstrip("`*_\"'([{<- "))]
            text = text[len(opened) :]
            for key in self._longest_first:
                if text.startswith(key):
                    after = text[len(key) :]
                    then = _THEN.match(after)
                    is_cut = any(quote in opened and quote not in after[:3] for quote in "`\"'")
                    if is_cut or (key.endswith(".") and not key.endswith("..") and after[:1] == "."):
                        return NamedCommands()
                    if then is None and not _TAIL.match(after) and not (" " in key and _TO.match(after)):
                        return NamedCommands()
                    sentence = after[: ends.end() if (ends := _SENTENCE_ENDS.search(after)) else len(after)]
                    others = self.mentions(sentence)
                    if (back := self.taken_back(after)) and not back <= self._words[key]:
                        return NamedCommands(self._words[key] | back)
                    if then is not None:
                        return NamedCommands(self._words[key], len(others))
                    beside = frozenset[str]() if _REASON.match(after) else self.meant_beside(sentence)
                    return NamedCommands(self._words[key] | beside)
            inner = _PEELED[4].fullmatch(text) or _PEELED[3].fullmatch(text)
            if inner is None:
                return NamedCommands()
            text = _within(inner)
        return NamedCommands()

    def taken_back(self, after: str) -> frozenset[str]:
        return self.meant_beside(after) if _TAKEN_BACK.search(after) else frozenset()

    def meant_beside(self, text: str) -> frozenset[str]:
        """Return the commands that a part of a sentence mentions and does not reject."""
        found = [(each, text[: each.start]) for each in self.mentions(text)]
        return union(
            each.commands
            for each, before in found
            if not is_rejected(before) and (" " in text[each.start : each.end] or _JOINS.search(before))
        )

    def mentions(self, text: str) -> list[Mention]:
        """Return where commands stand in a text as whole words, in order; of those that overlap the longest."""
        small = next((each for each in (text.casefold(), text.lower()) if len(each) == len(text)), text)
        found: list[Mention] = []
        taken = bytearray(len(small))
        for key in self._longest_first:
            at = -1
            for _ in range(_MOST_MENTIONS):
                at = small.find(key, at + 1)
                if at < 0:
                    break
                end = at + len(key)
                if _is_whole(small, at, end) and not any(taken[at:end]):
                    taken[at:end] = b"\1" * len(key)
                    found.append(Mention(at, end, self._words[key]))
                at = end - 1
        return sorted(found, key=lambda each: each.start)

    def stated(self, text: str) -> NamedCommands:
        """Return the command that a sentence of a text says is taken; of those merely named, none."""
        mentions = self.mentions(text)
        meant: list[tuple[int, Mention, bool]] = []  # the sentence's beginning, the mention, whether it is for later
        plain: list[tuple[int, Mention]] = []
        against: list[Mention] = []
        for each in mentions:
            window = text[max(0, each.start - _AROUND) : each.start]
            ends = [found.end() for found in _SENTENCE_ENDS.finditer(window)]
            before = window[ends[-1] if ends else 0 :]
            begin = each.start - len(before)
            after = text[each.end : each.end + _AROUND]
            clause = before[max((found.end() for found in _NEW_CLAUSE.finditer(before)), default=0) :]
            multiple = any(" " in command for command in each.commands)
            follows = _TAIL.match(after) or (multiple and _TO.match(after) and " and" not in after[:6])
            if is_rejected(clause) or after.lstrip("`*\"')")[:1] == "?":
                against.append(each)
            elif (_MEANT.search(clause) and follows) or (_IS_BEST.match(after) and len(clause.split()) < 4):
                meant.append((begin, each, _LATER.search(before) is not None))
            elif _IS_ABOUT.match(after):
                against.append(each)
            else:
                plain.append((begin, each))
        for found in _LABEL_SAID.finditer(text) if self._labels else ():
            before = text[max(0, found.start() - _AROUND) : found.start()]
            if found[1] in self._labels and not is_rejected(_SENTENCE_ENDS.split(before)[-1]):
                each = Mention(found.start(1), found.end(1), self._labels[found[1]])
                meant.append((found.start(), each, False))
        commands = frozenset(command for _, each, _ in meant for command in each.commands)
        if len(commands) != 1:
            return NamedCommands(commands)
        begin, last, later = meant[-1]
        for start, each in plain:
            in_the_way = (
                (start >= begin and not _REASON.match(text[last.end :]))
                or start > last.end
                or later
                or re.search(r"\bfirst\b", text[start : each.start], re.IGNORECASE)
            )
            if not each.commands <= commands and in_the_way:
                return NamedCommands(commands | each.commands)
        if any(each.commands <= commands and each.start > last.start for each in against):
            return NamedCommands()
        return NamedCommands(commands)


def layers(text: str) -> Iterator[str]:
    """Yield a text, and what is within it when one thing after the other is taken away that stands around a command."""
    for _ in range(_MOST_LAYERS):
        text = text.strip()
        yield text
        tried = _PEELED if len(text) < 2_000 else ()
        peeled = next((match for each in tried if (match := each.fullmatch(text))), None)
        if peeled is None:
            return
        text = _within(peeled)


def _within(peeled: re.Match[str]) -> str:
    return next(each for each in peeled.groupdict().values() if each is not None)


def _joined(text: str) -> str:
    return re.sub(r"[\s_-]+", "", folded(text))


def _is_whole(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 2]
    return not (before.isalnum() or (before and before in "_/.-")) and not (
        after[:1].isalnum() or after[:1] == "_" or (after[:1] in ("/", ".", "-") and after[1:].isalnum())
    )


def is_rejected(before: str) -> bool:
    """Return whether what stands before a command says that it is not given."""
    return _AGAINST.search(before) is not None or _IN_PLACE_OF.search(before) is not None
