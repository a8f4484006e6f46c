"""Turns a sentence of a file into a question by rules of grammar, or refuses it."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reference_agent.search.weak_sentences import SHORTEST, Sentence

RAW = 0.15  # share of the sentences that stay statements, as someone types them into a search box
_LEAST_WORDS = 4  # words of a question that say something
_LONGEST = 230  # characters of a question

WORDS = Path(__file__).with_name("weak_words.toml")

with WORDS.open("rb") as _file:
    _WORDS = {name: frozenset(words.split()) for name, words in tomllib.load(_file).items()}

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


def _third(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"


_BASES = _WORDS["verbs"]
_BASE_OF = {_third(verb): verb for verb in sorted(_BASES)}
_BASE, _THIRDS = "|".join(sorted(_BASES)), "|".join(sorted(_BASE_OF))
_GIVING = {"return", "get", "yield", "obtain", "retrieve", "fetch", "give", "compute", "calculate", "find", "determine"}
_PRESENT = {
    "added": "add", "fixed": "fix", "removed": "remove", "changed": "change", "improved": "improve", "made": "make",
    "deprecated": "deprecate", "dropped": "drop", "renamed": "rename", "replaced": "replace", "allowed": "allow",
    "introduced": "introduce", "prevented": "prevent", "corrected": "correct", "enabled": "enable", "avoided": "avoid",
    "disabled": "disable", "restored": "restore", "implemented": "implement", "ensured": "ensure", "moved": "move",
    "updated": "update", "reduced": "reduce", "simplified": "simplify", "refactored": "refactor", "bumped": "bump",
}  # fmt: skip
_PAST = {form: past for past, base in _PRESENT.items() for form in (past, base, _third(base))}
_AUX = "is|are|was|were|can|cannot|could|will|must|should|may|might|has|have|does|do"
_NO_SUBJECT = re.compile(r"(this|these|those|that|it|they|here|there|such|he|i|let|see)\b")
_NOT_AFTER_VERB = re.compile(
    rf"({_AUX}|of|that|which|for|in|on|and|or|only|by|between|than|mode|types?|names?|objects?)\b", re.I
)
_NO_PLAIN_SUBJECT = re.compile(
    r"(you|we|they|i|in|on|at|for|with|from|as|all|after|before|while|since|both|many|most|some|several|few|no|not|by|"
    r"although|though|even|however|once|until|despite|due|during|only|like|unlike|depending|given|because|using|"
    r"when|if|"
    r"where|whether|and|or|except|assuming|of|to|via|per|than|one|two|three|another|other|others|people|"
    r"everyone|anyone|"
    r"none|nothing|something|it's|that's|don't|never|always|either|neither|within|without|under|over)\b"
)
_SUBJECT = re.compile(rf"((?:[\w'-]+ ){{0,5}}[\w'-]+) ({_AUX}) (not )?(.+)", re.I)
_VERBISH = re.compile(
    rf"\b({_AUX}|that|which|who|if|when|whether|to|as|where|because|and|or|but|unless|until|while|by|not|only|"
    rf"{_THIRDS})\b",
    re.I,
)
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
    order = sentence.source == "comment" and _verb_of(statement)[0]  # as "update the copy" in the middle of code
    if draw.number() < RAW and len(text.split()) <= 25 and not order and not own:
        question = _capital(statement)
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
    rules.append(lambda: _of_clause(s))
    for rule in rules:
        found = list(rule())
        if found:
            yield from found
            return


def _verb_of(s: str) -> tuple[str, str]:
    """Return the verb that a sentence begins with and what follows it, or two empty texts where it begins otherwise.

    "Process names are between brackets" and "Calls return it" begin with nouns that look like verbs.
    """
    word, _, rest = s.partition(" ")
    verb = word if word in _BASES else _BASE_OF.get(word, "")
    following = rest.split(" ")
    if (
        not verb
        or not rest
        or _NOT_AFTER_VERB.match(rest)
        or (following[0] in _BASES and following[0] not in _WORDS["also_nouns"])
    ):
        return "", ""
    finite = re.search(rf"\b({_AUX})\b", rest)
    if finite and not re.search(
        r"\b(that|which|if|when|whether|where|who|what|how|whose|as|until|because)\b|,", rest[: finite.start()]
    ):
        return "", ""
    second = following[1] if len(following) > 1 else ""
    if (following[0] in _BASE_OF and second in ("the", "a", "an", "whether")) or (
        second in _BASES and second not in _WORDS["also_nouns"]
    ):
        return "", ""
    return verb, rest


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
    elif verb in _BASE_OF or verb in ("is", "has", "contains", "does"):
        yield f"Which {noun} {tail}?"
        if verb in _BASE_OF and not re.search(rf"\band ({_THIRDS})\b", rest):
            yield f"How do I {_BASE_OF[verb]} {rest}?"
            yield f"What is used to {_BASE_OF[verb]} {rest}?"
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
    base = _BASE_OF.get(start, start).replace("makes", "make")
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
    elif source == "test" and not re.search(rf"\b({_AUX})\b", rest):
        yield f"Which test is there to {base} {rest}?"
    elif source != "test" and _verb_of(s)[0]:
        yield f"What {_third(base)} {rest}?" if " " not in base else f"What {base.replace('make', 'makes')} {rest}?"
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
    verb, rest = _verb_of(s)
    if not verb or s.split()[0] != verb:
        return
    use = re.match(r"(?:use|call|run|see|pass|set|consider) (?:the )?.+? (?:to|in order to) (\w+) (.+)", s)
    if use and use[1] in _BASES:
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
    if past and rest and not _NOT_AFTER_VERB.match(rest):
        yield f"Which release {past} {rest}?"
        yield f"Which version {past} {rest}?"
        if past in _PRESENT:
            yield f"When did the project {_PRESENT[past]} {rest}?"
            yield f"In which release did they {_PRESENT[past]} {rest}?"
        return
    found = _SUBJECT.fullmatch(s)
    if found and not _VERBISH.search(found[1]) and not _NO_SUBJECT.match(s):
        now = re.sub(r"\bnow ", "", s)
        yield f"Since which version is it the case that {now}?" if now != s else f"Which release notes say that {s}?"
        if found[2] in ("is", "are", "can") and not found[3] and now != s:
            yield f"Since when {found[2]} {found[1]} {found[4].removeprefix('now ')}?"


def _of_action(s: str, project: str, described: bool) -> Iterator[str]:
    """Read the settings from a file: how does the project read the settings from a file?"""
    verb, rest = _verb_of(s)
    if not verb or verb in ("test", "expect", "assert", "note", "see", "try", "time", "point"):
        return
    rest = re.sub(r",? (?:and )?(returns?|returning) (it|them|the result|the results)$", "", rest)
    lets = re.match(r"(?:the |a )?(?:user|users|you|one|people|caller|callers|developers?) (?:to )?(\w+) (.+)", rest)
    if verb in ("allow", "let", "enable"):
        if lets and lets[1] in _BASES:
            yield f"What lets me {lets[1]} {lets[2]}?"
            yield f"How can I {lets[1]} {lets[2]}?"
        return
    if s.split()[0] != verb:
        if re.search(rf"(\band|\bor|\bthen|,) (\w+ly )?({_THIRDS}) ", rest):
            yield f"What {s}?"
            yield f"Which code {s}?"
            return
    elif re.search(rf"(\band|\bthen|,) (\w+ly )?({_THIRDS}) ", rest):
        yield f"What {_third(verb)} {rest}?"
        yield f"Which code {_third(verb)} {rest}?"
        return
    elif re.search(rf"(\band|\bor|\bthen|,) (\w+ly )?({_BASE}) ", rest):
        yield f"How does {project} {verb} {rest}?"
        yield f"Where does {project} {verb} {rest}?"
        yield f"What is used to {verb} {rest}?"
        return
    yield f"What {_third(verb)} {rest}?"
    yield f"Which code {_third(verb)} {rest}?"
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
    if found and not re.search(rf"\b({_AUX})\b", found[0]):
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
            and not re.search(rf"\b({_AUX})\b", head)
            and not _VERBISH.search(head)
            and not head.rstrip().endswith("ed")
        ):
            finite = re.search(rf"\b({_AUX})\b", s)
            if not finite or re.search(r"\b(that|which|whose|where|who|when|if)\b", s[: finite.start()]):
                yield f"Is there {s}?" if s.startswith("a") else f"Where is {s}?"
                yield f"Where is {re.sub('^an? ', 'the ', s)} defined?" if len(s.split()) < 12 else f"What is {s}?"


def _of_clause(s: str) -> Iterator[str]:
    """Yield the wordings for statements with a finite verb, of which the first rule that fits decides."""
    for rule in (_of_condition, _of_ability, _of_reason, _of_subject):
        found = list(rule(s))
        if found:
            yield from found
            return


def _of_condition(s: str) -> Iterator[str]:
    """If the key is missing, it raises: what happens if the key is missing?"""
    found = re.match(r"(?:if|when) (?:you|we) (?:want|wish|need|would like|prefer|have|intend|plan) to (.+?), .+", s)
    if found:
        yield f"How can I {found[1]}?"
        yield f"What do I do to {found[1]}?"
        return
    found = re.match(r"(?:in order )?to (\w+) (.+?), .+", s)
    if found and found[1] in _BASES:
        yield f"How do I {found[1]} {found[2]}?"
        yield f"How can I {found[1]} {found[2]}?"
        return
    found = re.match(r"(if|when|whenever|once|unless) (.+?), (.+)", s)
    if found and len(found[2].split()) >= 5 and re.search(rf"\b({_AUX}|\w+s|\w+ed|(?:you|we) \w+)\b", found[2]):
        yield f"{_what_if(found[3])} {found[1]} {found[2]}?"
    elif found and found[3].split(" ")[0] not in _BASES:
        yield _said(f"{found[1]} {found[2]}, {found[3]}")
    found = re.match(r"by default, (.+)", s)
    if found:
        yield f"Is it the default that {found[1]}?"


def _of_ability(s: str) -> Iterator[str]:
    """You can sort the rows by a key: how can I sort the rows?"""
    found = re.match(
        r"(?:you|we|users|one) (?:can|may|could|might want to|will need to|need to|should|must|have to) "
        r"(?:now |optionally |then |either |always |use .+? to )?(\w+) (.+)",
        s,
    )
    if found:
        if found[1] in _BASES and found[1] != "use":
            head = re.split(r",? (?:by|using|with|via|through|like|which|so that|because|in order|but) ", found[2])[0]
            yield f"How can I {found[1]} {head}?"
            yield f"How do I {found[1]} {found[2]}?" if head == found[2] else f"What is the way to {found[1]} {head}?"
        return
    found = re.match(
        r"(.+?) (?:is|are|can be) (?:often |usually |typically |commonly |mainly )?(?:used|useful|needed|meant|"
        r"designed|intended) "
        r"(to|for|when|if) (.+)",
        s,
    )
    if found and not _VERBISH.search(found[1]):
        yield f"What is used {found[2]} {found[3]}?"
        yield f"What can be used {found[2]} {found[3]}?"
        return
    found = re.match(
        r"(.+?) (?:allows?|lets?|enables?|makes? it possible for|makes? it easy for) (?:you|users?|the user|"
        r"developers?|one|us) "
        r"(?:to )?(\w+) (.+)",
        s,
    )
    if found and found[2] in _BASES and not re.search(rf"\b({_AUX})\b", found[1]):
        yield f"What lets me {found[2]} {found[3]}?"
        yield f"How can I {found[2]} {found[3]}?"


def _of_reason(s: str) -> Iterator[str]:
    """The file is read twice because it changes: why is it that the file is read twice?"""
    found = re.match(r"([^,]+?),? because (.+)", s)
    if found and len(found[1].split()) >= 5:
        last = found[1].split()[-1]
        if found[1].split()[0] not in _BASES and last not in ("not", "only", "mainly", "simply", "be", "is"):
            yield f"Why is it that {found[1]}?"
            yield f"What is the reason that {found[1]}?"
        return
    found = re.match(r"(.+?),? so that (.+)", s)
    if found and len(found[2].split()) >= 5:
        yield f"What is done so that {found[2]}?"
        yield f"Which code makes sure that {found[2]}?"


def _of_subject(s: str) -> Iterator[str]:
    """Turn a plain statement into a question after its subject, or after whether and where it holds."""
    found = re.match(r"(?:an? |the )([\w'-]+(?: [\w'-]+){0,3}) is (an? .+? (?:that|which|for|of|used|where|to) .+)", s)
    if found and not _VERBISH.search(found[1]):
        yield f"What is {found[2]}?"
        yield f"What is called {found[2]}?"
        return
    found = re.match(
        r"((?:[\w'-]+ ){1,5}?)(?:always |automatically |only |usually |internally |normally )?(\w+s) (.+)", s
    )
    if (
        found
        and found[2] in _BASE_OF
        and len(found[3].split()) >= 4
        and not _VERBISH.search(found[1])
        and not _NO_PLAIN_SUBJECT.match(s)
        and not found[1].strip().endswith(("ly", "the", " a", " of", " all", " each", " two", " three", " several"))
        and not re.match(rf"({_AUX}|of|and|or|for|in|with|from|to|at|on)\b", found[3])
        and not re.match(rf"(\w+ ){{0,3}}({_AUX})\b", found[3])
    ):
        yield f"What {found[2]} {found[3]}?"
        yield f"Which part {found[2]} {found[3]}?"
        yield f"What is it that {found[2]} {found[3]}?"
        return
    found = _SUBJECT.fullmatch(s)
    if not found or _VERBISH.search(found[1]) or _NO_PLAIN_SUBJECT.match(s) or re.search(r"\w+(ing|ly)$", found[1]):
        return
    subject, aux, negation, tail = found.groups()
    if aux == "cannot":
        aux, negation = "can", "not "
    perfect = aux in ("has", "have") and re.match(r"\w+ed\b|been\b|to be\b", tail)
    if aux in ("do", "does", "has", "have") and not perfect:
        return
    if negation:
        yield f"Why {aux} {subject} not {tail}?"
        yield _said(s)
        return
    participle = re.match(
        r"(?:only |always |automatically |usually )?(\w+ed|set|made|kept|put|built|given|taken|sent)\b", tail
    )
    if (
        aux in ("is", "was", "must", "can", "should", "will")
        and len(tail.split()) >= 7
        and (participle or aux not in ("is", "was"))
    ):
        yield f"What {aux} {tail}?"
    elif (
        aux in ("is", "was", "are", "were") and participle and not re.search(r"\b(if|when|unless|after|before)\b", tail)
    ):
        yield f"When {aux} {subject} {tail}?"
        yield f"Where is it that {subject} {aux} {tail}?"
    if aux in ("is", "are", "was", "were", "must", "should", "can"):
        yield f"{_capital(aux)} {subject} {tail}?"
    yield _said(s)


def _said(s: str) -> str:
    """Return a question for the place of a statement; statements differ in the wording."""
    forms = ("Where does it say that", "Where is it written that", "Which file says that", "Where can I read that")
    forms += ("Is it true that", "Where do I learn that")
    return f"{forms[hashlib.sha256(s.encode()).digest()[0] % len(forms)]} {s}?"


def _what_if(main: str) -> str:
    """Return how to ask for what follows from a condition, from the main clause."""
    if re.match(r"(you|we) can\b", main):
        return "What can I do"
    return "What should I do" if re.match(r"(you|we) (should|must|need|have)\b|use\b", main) else "What happens"


def _lower(text: str) -> str:
    word = text.split()[0]
    plain = word.strip(",'\"").split("'")[0].split("-")[0]
    return text if plain == "I" or plain[1:] != plain[1:].lower() or not plain.isalpha() else text[0].lower() + text[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_asked(text: str) -> str:
    for pattern, better in _YOU:
        text = re.sub(pattern, better, text, flags=re.I)
    return re.sub(r"\bdoes (\w+) (\w+) (\w+) and (return|raise)s ", r"does \1 \2 \3 and \4 ", text)


def _is_good(question: str) -> bool:
    body = question.rstrip("?")
    words = re.findall(r"[\w'-]+", body.lower())
    telling = {word for word in words if word not in _WORDS["common"] and len(word) > 2}
    if len(words) < SHORTEST:
        return False
    if len(telling) < _LEAST_WORDS or len(question) > _LONGEST:
        return False
    names = sum(bool(re.search(r"[a-z][A-Z]|\d|^[A-Z]{2,}", word)) for word in re.findall(r"[\w-]+", body))
    shown = re.findall(r"[\"']\w", body)
    return names <= 2 and len(shown) <= 2 and not re.search(r"\b(\w+) \1\b", body)
