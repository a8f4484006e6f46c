"""Turns a sentence of a file into a question by rules of grammar, or refuses it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

from reference_agent.search.weak.clauses import of_clause
from reference_agent.search.weak.grammar import (
    AUX,
    BASE,
    BASE_OF,
    BASES,
    NOT_AFTER_VERB,
    SUBJECT,
    THIRDS,
    VERBISH,
    WORDS,
    capital,
    third,
    verb_of,
)
from reference_agent.search.weak.sentences import SHORTEST, Sentence

RAW = 0.15  # share of the sentences that stay statements, as someone types them into a search box
_LEAST_WORDS = 4  # words of a question that say something
_LONGEST = 230  # characters of a question

_BAD = re.compile(
    r"\b(TODO|FIXME|XXX|HACK|noqa|pylint|pragma|pyright|copyright|licen[sc]ed?|all rights|SPDX|warranty|foo|bar|baz|"
    r"spam|eggs|lorem|kwargs|args|argv|self|cls|todo|arXiv|et al|doi|ISBN|Auto-?generated|backport|cherry-pick|blah|"
    r"e\.g|i\.e|vs|nbsp|thanks|pull request|PR|eslint|istanbul|semver|codespell)\b|[{}<>=|\\^~@$%_\[\]&…]|\w\(|"
    r"\b[a-zA-Z]\w*\.\w|\w/\w+/|https?:|::|->|\.\.|[^\x20-\x7e\u00c0-\u017f]|(^|\s)-{1,2}\w|\b[a-z]+[A-Z]\w*|"
    r"\b\w+\d+\w*\d\w*\b|\"[^\"]*$|^[^(]*\)|\([^)]*$|(?<=\s)[+*/](?=\s)|;|\?.|, (do not|don't|not|but|non-|no) |"
    r"[.!] |`",
)
_POINTING = re.compile(  # at something that the question does not hold
    r"\b(this|these|those|above|below|following|follows|previous(ly)?|aforementioned|latter|former|here|herein|"
    r"mentioned|"
    r"earlier|same (as|thing)|said|respectively|see|likewise|instead|otherwise|et cetera|etc|next section|"
    r"another|other one|"
    r"such (a|an|that|things?|cases?)|too|again|anyway|still|though|however|therefore|thus|hence|done|I|my|I'm|"
    r"I've|let's|"
    r"lets|sorry|sure|actually|obviously|unfortunately|maybe|perhaps|probably|chapter|section|tutorial|page|example|"
    r"for instance|hopefully|of course|that (happens|case|is|means|way|point|time|moment)|at the moment|as of|it will|"
    r"the test|there (is|are)|right now|"
    r"in general)\b",
    re.I,
)
_OWN = re.compile(  # a file's or a class's word for itself
    r"this (is )?(?:an? |the )?((?:[\w-]+ )?(?:function|method|class|module|script|command|file|package|helper|"
    r"decorator|mixin|test|example|program|tool|exception|error))",
    re.I,
)
_PRONOUN = re.compile(
    r"^\W*(\w+\W+){0,3}(it|they|them|he|she|its|their|that's|it's|one|ones|both|neither|either)\b", re.I
)
_OPENING = re.compile(
    r"^(?:Note that|Note:|Notice that|Also,?|However,|Please note that|Furthermore,|In addition,|Additionally,|"
    r"Moreover,|"
    r"Similarly,|Currently,|Internally,|In general,|Generally,|Typically,|Normally,|Usually,|Basically,|Simply|Now|"
    r"Optionally,?|Finally,|First,|Second,|Next,|Then,?|Again,|Thus,|Therefore,|Hence,|So,?|But|And|Warning:|Bug ?fix:|"
    r"Feature:|Bug:|Fix:|Helper:|Utility:|Internal:|Deprecated:) +"
)


_GIVING = {"return", "get", "yield", "obtain", "retrieve", "fetch", "give", "compute", "calculate", "find", "determine"}
_PRESENT = {
    "added": "add", "fixed": "fix", "removed": "remove", "changed": "change", "improved": "improve", "made": "make",
    "deprecated": "deprecate", "dropped": "drop", "renamed": "rename", "replaced": "replace", "allowed": "allow",
    "introduced": "introduce", "prevented": "prevent", "corrected": "correct", "enabled": "enable", "avoided": "avoid",
    "disabled": "disable", "restored": "restore", "implemented": "implement", "ensured": "ensure", "moved": "move",
    "updated": "update", "reduced": "reduce", "simplified": "simplify", "refactored": "refactor", "bumped": "bump",
}  # fmt: skip
_PAST = {form: past for past, base in _PRESENT.items() for form in (past, base, third(base))}
_NO_SUBJECT = re.compile(r"(this|these|those|that|it|they|here|there|such|he|i|let|see)\b")
_CLASSY = re.compile(
    r"(?:an? |the |main |simple |basic )*(?:[\w-]+ ){0,3}(class|mixin|decorator|exception|context manager|"
    r"wrapper|interface|"
    r"handler|error|warning|command|extension|plugin|middleware|widget|hook|backend|adapter|transform|layer|"
    r"fixture|helper|"
    r"iterator|generator|factory|strategy|protocol|callback|serializer|parser|view|field|signal|filter|node|"
    r"role|directive) "
    r"(that|which|to|for|used|raised|representing|when|with|containing|implementing|of) ",
    re.I,
)
_TOOLS = re.compile(
    r"(?:common |various |some |the |basic |internal |useful |misc(?:ellaneous)? |helper |utility )*(utilities|"
    r"utils|helpers|"
    r"functions|tools|routines|classes|constants|methods|primitives|support code|definitions|implementations|"
    r"algorithms|"
    r"mixins|commands|bindings) (for|to|that|of|which) ",
    re.I,
)
_YOU = [
    (r"\byou are\b", "I am"), (r"\byou're\b", "I am"), (r"\byou've\b", "I have"), (r"\byou'd\b", "I would"),
    (r"\byou'll\b", "I will"), (r"\byourself\b", "myself"), (r"\byours\b", "mine"), (r"\byour\b", "my"),
    (r"\bwe are\b", "I am"), (r"\bwe're\b", "I am"), (r"\bwe've\b", "I have"), (r"\bourselves\b", "myself"),
    (r"\bour\b", "my"), (r"\bus\b", "me"), (r"\bwe\b", "I"),
    (r"\b(to|for|with|lets?|allows?|help|helps|gives?|tells?|from|enables?|requires?|forces?|by|of) you\b", r"\1 me"),
    (r"\byou\b", "I"),
]  # fmt: skip


def question_of(sentence: Sentence, project: str) -> str | None:
    """Return a question that the sentence's file answers, or None where the rules find no good one.

    The choice among several wordings depends on the sentence and the project's name alone.

    Args:
        sentence: The sentence.
        project: What its project is called.
    """
    text = _OPENING.sub("", sentence.text)
    text = _OPENING.sub("", text)
    text = re.sub(r"\b(also|please|just|simply|easily) ", "", text)
    text = text[:1].upper() + text[1:] if sentence.text[:1].isupper() else text
    own = _OWN.match(text) if sentence.first else None
    if (
        _BAD.search(text)
        or _POINTING.search(text, own.end() if own else 0)
        or _PRONOUN.search(text)
        or re.match(r"(what|how|why|where|who|is|are|do|does|can|has|have)\b", text, re.I)
    ):
        return None
    if sentence.source != "page" and re.search(r"\b(we|us|our)\b", text, re.I):
        return None
    if text.endswith(
        (" a", " the", " of", " to", " by", " e.g", " as", " with", " in", " or", " and", " that", " is", "?")
    ):
        return None
    draw = _Draw(f"{project}/{sentence.path}/{sentence.text}")
    statement = _lower(text)
    forms = list(_forms(sentence, statement, project))
    if not forms:
        return None
    question = draw.one(forms)
    order = sentence.source == "comment" and verb_of(statement)[0]  # as "update the copy" in the middle of code
    if draw.number() < RAW and len(text.split()) <= 25 and not order and not own:
        question = capital(statement)
    question = " ".join(_as_asked(question).split())
    return question if _is_good(question) else None


class _Draw:
    """Choices that follow from a text, the same on every machine."""

    def __init__(self, text: str) -> None:
        self._state = hashlib.sha256(text.encode()).digest()

    def number(self) -> float:
        """Return a number from 0 to 1, another one at each call."""
        self._state = hashlib.sha256(self._state).digest()
        return int.from_bytes(self._state[:6], "big") / (1 << 48)

    def one(self, choices: Sequence[str]) -> str:
        """Return one of some texts."""
        return choices[int(self.number() * len(choices))]


def _forms(sentence: Sentence, s: str, project: str) -> Iterator[str]:
    """Yield the wordings that fit a sentence: those of the first rule that finds any."""
    if sentence.source == "changes":
        yield from _of_change(s)
        return
    described = sentence.source in ("docstring", "test") and sentence.first
    if described and (found := list(_of_this(s))):
        yield from found
        return
    if _NO_SUBJECT.match(s):
        return
    rules: list[Callable[[], Iterator[str]]] = [lambda: _of_check(s, sentence.source)]
    if described:
        rules.append(lambda: _of_truth(s))
    if sentence.source == "page":
        rules.append(lambda: _of_page_action(s))
    else:
        rules.append(lambda: _of_action(s, project, described))
    if described:
        rules.append(lambda: _of_noun(s))
    rules.append(lambda: of_clause(s))
    for rule in rules:
        found = list(rule())
        if found:
            yield from found
            return


def _of_this(s: str) -> Iterator[str]:
    """This class keeps the keys: which class keeps the keys?"""
    found = re.fullmatch(rf"{_OWN.pattern} (that |which |to |for )?(.+)", s)
    if not found:
        return
    is_, noun, link, tail = found.groups()
    noun = noun.split()[-1]
    verb, _, rest = tail.partition(" ")
    if link in ("to ", "for "):
        yield f"Which {noun} is there {link}{tail}?"
        yield f"Where is the {noun} {link}{tail}?"
    elif verb in BASE_OF or verb in ("is", "has", "contains", "does"):
        yield f"Which {noun} {tail}?"
        if verb in BASE_OF and not re.search(rf"\band ({THIRDS})\b", rest):
            yield f"How do I {BASE_OF[verb]} {rest}?"
            yield f"What is used to {BASE_OF[verb]} {rest}?"
    elif is_:
        yield f"Where is the {noun} {link or ''}{tail}?"


def _of_check(s: str, source: str) -> Iterator[str]:
    """Make sure that the key is there: where is it checked that the key is there?"""
    if re.match(r"tests? (for|of) ", s) and source == "test":
        yield f"Where are the tests {s.split(' ', 1)[1]}?"
        yield f"Which tests are there {s.split(' ', 1)[1]}?"
        return
    found = re.match(
        r"(make sure|makes sure|assert|ensure|verify|check|test|confirm|asserts|ensures|verifies|checks|tests|"
        r"confirms|tests? to make"
        r" sure|tests? to ensure|tests? to verify) (?:of |for )?(that|if|whether)? ?(.+)",
        s,
    )
    if not found:
        return
    start, link, rest = found.groups()
    base = BASE_OF.get(start, start).replace("makes", "make")
    link = "that" if link == "that" else "whether"
    if source == "page":
        if found[2]:
            yield f"How do I {base} {link} {rest}?"
    elif found[2] and source == "test":
        yield f"Where is it tested {link} {rest}?"
        yield f"Which test checks {link} {rest}?"
    elif found[2]:
        yield f"Where is it checked {link} {rest}?"
        yield f"What makes sure that {rest}?" if link == "that" else f"How is it decided whether {rest}?"
    elif source == "test" and not re.search(rf"\b({AUX})\b", rest):
        yield f"Which test is there to {base} {rest}?"
    elif source != "test" and verb_of(s)[0]:
        yield f"What {third(base)} {rest}?" if " " not in base else f"What {base.replace('make', 'makes')} {rest}?"
        yield f"Where is the code to {base} {rest}?"


def _of_truth(s: str) -> Iterator[str]:
    """Return True if the key is there: how can I find out whether the key is there?"""
    found = re.match(
        r"(?:returns?|indicates?|determines?|tells?|decides?|whether|is|true|boolean indicating|gets?|checks?|"
        r"flag indicating) ?"
        r"(?:true )?(?:if|whether|when|iff) (.+)",
        s,
        re.I,
    ) or re.match(r"whether (?:or not )?(.+)", s)
    if found:
        tail = re.sub(
            r",? (and |or |else |otherwise )*(false|none)( otherwise| if not| else)?$", "", found[1], flags=re.I
        )
        yield f"How can I find out whether {tail}?"
        yield f"What tells whether {tail}?"
        yield f"Where is it decided whether {tail}?"


def _of_page_action(s: str) -> Iterator[str]:
    """Use a lock to guard the file: how do I guard the file?"""
    verb, rest = verb_of(s)
    if not verb or s.split()[0] != verb:
        return
    use = re.match(r"(?:use|call|run|see|pass|set|consider) (?:the )?.+? (?:to|in order to) (\w+) (.+)", s)
    if use and use[1] in BASES:
        yield f"How do I {use[1]} {use[2]}?"
        yield f"What do I use to {use[1]} {use[2]}?"
    elif verb not in ("use", "see", "call", "consider"):
        head = re.split(r",? (?:by|using|with|via|when|if|so that|because) ", rest)[0]
        yield f"How do I {verb} {head}?"
        yield f"How can I {verb} {head}?"


def _of_change(s: str) -> Iterator[str]:
    """Fixed a crash in the parser: which release fixed a crash in the parser?"""
    word, _, rest = s.partition(" ")
    past = _PAST.get(word)
    if past and rest and not NOT_AFTER_VERB.match(rest):
        yield f"Which release {past} {rest}?"
        yield f"Which version {past} {rest}?"
        if past in _PRESENT:
            yield f"When did the project {_PRESENT[past]} {rest}?"
            yield f"In which release did they {_PRESENT[past]} {rest}?"
        return
    found = SUBJECT.fullmatch(s)
    if found and not VERBISH.search(found[1]) and not _NO_SUBJECT.match(s):
        now = re.sub(r"\bnow ", "", s)
        yield f"Since which version is it the case that {now}?" if now != s else f"Which release notes say that {s}?"
        if found[2] in ("is", "are", "can") and not found[3] and now != s:
            yield f"Since when {found[2]} {found[1]} {found[4].removeprefix('now ')}?"


def _of_action(s: str, project: str, described: bool) -> Iterator[str]:
    """Read the settings from a file: how does the project read the settings from a file?"""
    verb, rest = verb_of(s)
    if not verb or verb in ("test", "expect", "assert", "note", "see", "try", "time", "point"):
        return
    rest = re.sub(r",? (?:and )?(returns?|returning) (it|them|the result|the results)$", "", rest)
    lets = re.match(r"(?:the |a )?(?:user|users|you|one|people|caller|callers|developers?) (?:to )?(\w+) (.+)", rest)
    if verb in ("allow", "let", "enable"):
        if lets and lets[1] in BASES:
            yield f"What lets me {lets[1]} {lets[2]}?"
            yield f"How can I {lets[1]} {lets[2]}?"
        return
    if s.split()[0] != verb:
        if re.search(rf"(\band|\bor|\bthen|,) (\w+ly )?({THIRDS}) ", rest):
            yield f"What {s}?"
            yield f"Which code {s}?"
            return
    elif re.search(rf"(\band|\bthen|,) (\w+ly )?({THIRDS}) ", rest):
        yield f"What {third(verb)} {rest}?"
        yield f"Which code {third(verb)} {rest}?"
        return
    elif re.search(rf"(\band|\bor|\bthen|,) (\w+ly )?({BASE}) ", rest):
        yield f"How does {project} {verb} {rest}?"
        yield f"Where does {project} {verb} {rest}?"
        yield f"What is used to {verb} {rest}?"
        return
    yield f"What {third(verb)} {rest}?"
    yield f"Which code {third(verb)} {rest}?"
    if verb in _GIVING:
        yield f"How do I get {rest}?" if verb in ("return", "get", "yield", "give") else f"How do I {verb} {rest}?"
        yield f"Where do I get {rest}?" if verb in ("return", "get", "yield", "give") else f"Where can I {verb} {rest}?"
    elif verb not in ("use", "call", "list", "index", "order", "take", "represent", "contain", "hold", "store"):
        yield f"How does {project} {verb} {rest}?"
        yield f"Where does {project} {verb} {rest}?"
        if described:
            yield f"How do I {verb} {rest}?"
            yield f"I want to {verb} {rest}: where is the code for it?"


def _of_noun(s: str) -> Iterator[str]:
    """A cache that forgets old keys: is there a cache that forgets old keys?"""
    found = re.match(
        r"(raised|called|used|invoked|emitted|thrown|triggered|sent|fired) (when|if|to|by|for|after|before|"
        r"whenever|in) ",
        s,
    )
    if found:
        yield f"What is {s}?"
        return
    found = _CLASSY.match(s)
    if found and not re.search(rf"\b({AUX})\b", found[0]):
        bare = re.sub(r"^(an?|the) ", "", s)
        if found[2] == "raised":
            yield f"Which {found[1]} is {s[found.start(2) :]}?"
        else:
            yield f"Is there {s}?" if re.match(r"an? ", s) else f"Where is the {bare}?"
            yield f"Where is the {bare}?"
            if found[2] in ("that", "which"):
                yield f"Which {found[1]} {s[found.end() :]}?"
            elif found[2] in ("to", "for"):
                yield f"Which {found[1]} is there {s[found.start(2) :]}?"
        return
    if _TOOLS.match(s):
        yield f"Where are the {re.sub('^the ', '', s)}?"
        yield f"Which module has {s}?"
        return
    if re.match(r"(an?|the) ", s):
        head = re.split(
            r"\b(?:that|which|for|to|of|used|representing|containing|with|whose|from|in|on|where|who)\b|,", s
        )[0]
        if (
            1 < len(head.split()) <= 6
            and not re.search(rf"\b({AUX})\b", head)
            and not VERBISH.search(head)
            and not head.rstrip().endswith("ed")
        ):
            finite = re.search(rf"\b({AUX})\b", s)
            if not finite or re.search(r"\b(that|which|whose|where|who|when|if)\b", s[: finite.start()]):
                yield f"Is there {s}?" if s.startswith("a") else f"Where is {s}?"
                yield f"Where is {re.sub('^an? ', 'the ', s)} defined?" if len(s.split()) < 12 else f"What is {s}?"


def _lower(text: str) -> str:
    word = text.split()[0]
    plain = word.strip(",'\"").split("'")[0].split("-")[0]
    return text if plain == "I" or plain[1:] != plain[1:].lower() or not plain.isalpha() else text[0].lower() + text[1:]


def _as_asked(text: str) -> str:
    for pattern, better in _YOU:
        text = re.sub(pattern, better, text, flags=re.I)
    return re.sub(r"\bdoes (\w+) (\w+) (\w+) and (return|raise)s ", r"does \1 \2 \3 and \4 ", text)


def _is_good(question: str) -> bool:
    body = question.rstrip("?")
    words = re.findall(r"[\w'-]+", body.lower())
    telling = {word for word in words if word not in WORDS["common"] and len(word) > 2}
    if len(words) < SHORTEST:
        return False
    if len(telling) < _LEAST_WORDS or len(question) > _LONGEST:
        return False
    names = sum(bool(re.search(r"[a-z][A-Z]|\d|^[A-Z]{2,}", word)) for word in re.findall(r"[\w-]+", body))
    shown = re.findall(r"[\"']\w", body)
    return names <= 2 and len(shown) <= 2 and not re.search(r"\b(\w+) \1\b", body)
