"""Turns a sentence of a file into a question by rules of grammar, or refuses it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from reference_agent.search.weak_sentences import SHORTEST, Sentence

RAW = 0.15  # share of the sentences that stay statements, as someone types them into a search box
_LEAST_WORDS = 4  # words of a question that say something

_BAD = re.compile(
    r"\b(TODO|FIXME|XXX|HACK|noqa|pylint|pragma|mypy|pyright|copyright|licen[sc]ed?|all rights|SPDX|warranty|foo|bar|baz|"
    r"spam|eggs|lorem|kwargs|args|argv|self|cls|todo|arXiv|et al|doi|ISBN|Auto-?generated|backport|cherry-pick|blah|"
    r"e\.g|i\.e|vs|nbsp|thanks|pull request|PR|commit|merge|eslint|istanbul)\b|[{}<>=|\\^~@$%_\[\]&…]|\w\(|"
    r"\b[a-zA-Z]\w*\.\w|\w/\w+/|https?:|::|->|\.\.|[^\x20-\x7e\u00c0-\u017f]|(^|\s)-{1,2}\w|\b[a-z]+[A-Z]\w*|\b\w+\d+\w*\d\w*\b|"
    r"\"[^\"]*$|^[^(]*\)|\([^)]*$|(?<=\s)[+*/](?=\s)|;|\?.",
)
_POINTING = re.compile(  # at something that the question does not hold
    r"\b(this|these|those|above|below|following|follows|previous(ly)?|aforementioned|latter|former|here|herein|mentioned|"
    r"earlier|same (as|thing)|said|respectively|see|likewise|instead|otherwise|et cetera|etc|former|next section|"
    r"another|other one|such (a|an|that|things?|cases?)|too|again|anyway|still|though|however|therefore|thus|hence|done|I|my|"
    r"I'm|I've|let's|lets|sorry|sure|actually|obviously|unfortunately|maybe|perhaps|probably|chapter|section|tutorial|page|"
    r"for example|for instance|example|hopefully|of course|that way|at the moment|as of|it will|the test)\b",
    re.I,
)
_PRONOUN = re.compile(r"^\W*(\w+\W+){0,3}(it|they|them|he|she|its|their|that's|it's|one|ones|both|neither|either)\b", re.I)
_OPENING = re.compile(r"^(?:Note that|Note:|Notice that|Also,?|However,|Please note that|Furthermore,|In addition,|Additionally,|"
    r"Moreover,|Similarly,|Currently,|Internally,|In general,|Generally,|Typically,|Normally,|Usually,|Basically,|Simply|Now|"
    r"Optionally,?|Finally,|First,|Second,|Next,|Then,?|Again,|Thus,|Therefore,|Hence,|So,?|But|And|Warning:|Bug ?fix:|"
    r"Feature:|Bug:|Fix:|Helper:|Utility:|Internal:|Deprecated:) +")
_COMMON = frozenset(
    "a about after all an and any are as at available based be been before being but by call called can case code could "
    "create data default different do does each every file files first for from function get given has have help how i if "
    "in into is it its just kind make may me method more must my need new no not object of on one only or other out over "
    "set should some something than that the their them there they thing to true false two type up use used user uses "
    "using value values want way were what when where whether which while who why will with within without work works "
    "you your add added fix fixed which version return returns support class module check name names".split()
)

_BASE = (
    "accept access acquire activate adapt add adjust aggregate align allocate allow analyze annotate append apply arrange "
    "assemble assert assign attach authenticate await bind block broadcast build bump cache calculate call cancel "
    "capture cast change check choose clean clear clip clone close coerce collapse collect combine compare compile "
    "complete compose compress compute concatenate configure confirm connect construct consume contain continue control convert "
    "convolve copy correct count cover create crop cut debug decide decode decompress decorate decrypt define delay delegate delete "
    "deprecate derive describe deserialize destroy detach detect determine disable disconnect discover discard dispatch display "
    "divide download draw drop dump duplicate edit emit emulate enable encode encrypt enforce ensure enter enumerate erase escape establish "
    "estimate evaluate examine exclude execute exercise expand expect explain export expose extend extract factor fail fetch fill filter find "
    "finish fire fit fix flatten flush fold force format forward free freeze gather generate get give grab group "
    "guarantee guess guide handle hide highlight hold hook identify ignore implement import improve include increase "
    "index indicate infer inform inherit initialize inject insert inspect install instantiate instruct integrate interpolate interpret "
    "intersect introduce invalidate invert invoke issue iterate join keep kill launch learn limit link list listen load locate "
    "lock log look lookup make manage map mark mask match measure merge migrate mimic minimize mock modify monitor move "
    "multiply mutate normalize notify obtain offer omit open optimize order organize output override pack pad paint parse "
    "partition pass paste patch perform permit pick place plot point populate post prefetch prepare prepend preserve press prevent "
    "print probe process produce project prompt propagate protect provide prune publish pull purge push put query queue quote "
    "raise randomize read rebuild receive recognize reconstruct record recover redirect reduce refactor refer refresh register reject "
    "release reload relocate remove rename render reopen reorder repeat replace replicate report represent request require resample "
    "reserve reset reshape resize resolve respond restart restore restrict resume retain retrieve retry return reuse "
    "reverse revert rewrite roll rotate round route run sample sanitize save scale scan schedule search select send "
    "separate serialize serve set setup shift show shrink shuffle shut signal simplify simulate skip slice smooth solve sort "
    "specify split squeeze stack start stop store stream strip submit subscribe substitute subtract suggest sum supply support "
    "suppress suspend swap switch synchronize synthesize tag take tell terminate test throw time toggle tokenize track "
    "train transfer transform translate traverse treat trigger trim truncate try tune turn unlock unpack unregister unwrap "
    "update upgrade upload use validate verify visit visualize wait walk warn watch wrap write yield"
).split()


def _third(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"


_BASES = frozenset(_BASE)
_BASE_OF = {_third(verb): verb for verb in _BASE} | {"quits": "quit"}
_GIVING = {"return", "get", "yield", "obtain", "retrieve", "fetch", "give", "compute", "calculate", "find", "determine"}
_PAST = {
    "added": "added", "fixed": "fixed", "removed": "removed", "changed": "changed", "improved": "improved",
    "deprecated": "deprecated", "dropped": "dropped", "renamed": "renamed", "introduced": "introduced",
    "replaced": "replaced", "allowed": "allowed", "made": "made", "prevented": "prevented", "corrected": "corrected",
    "enabled": "enabled", "disabled": "disabled", "restored": "restored", "implemented": "implemented",
    "add": "added", "fix": "fixed", "remove": "removed", "change": "changed", "improve": "improved",
    "deprecate": "deprecated", "drop": "dropped", "rename": "renamed", "replace": "replaced", "allow": "allowed",
    "make": "made", "prevent": "prevented", "correct": "corrected", "enable": "enabled", "restore": "restored",
    "avoid": "avoided", "ensure": "ensured", "adds": "added", "fixes": "fixed", "removes": "removed", "speed": "sped",
}  # fmt: skip
_AUX = "is|are|was|were|can|cannot|could|will|must|should|may|might|has|have|does|do"
_SUBJECT = re.compile(rf"((?:[\w'-]+ ){{0,5}}[\w'-]+) ({_AUX}) (not )?(.+)", re.I)
_VERBISH = re.compile(
    rf"\b({_AUX}|that|which|who|if|when|whether|to|as|where|because|and|or|but|unless|until|while|by|not|only|{{}})\b".replace("{}", "|".join(_BASE_OF)),
    re.I,
)
_CLASSY = re.compile(
    r"(?:an? |the |main |simple |basic )*(?:[\w-]+ ){0,3}(class|mixin|decorator|exception|context manager|wrapper|interface|handler|"
    r"error|warning|command|extension|plugin|middleware|widget|hook|backend|adapter|transform|layer|fixture|helper|iterator|"
    r"generator|factory|strategy|strategies|protocol|callback|serializer|parser|view|field|signal|filter|node|role|directive) "
    r"(that|which|to|for|used|raised|representing|when|with|containing|implementing|of) ",
    re.I,
)
_TOOLS = re.compile(
    r"(?:common |various |some |the |basic |internal |useful |misc(?:ellaneous)? |helper |utility )*"
    r"(utilities|utils|helpers|functions|tools|routines|classes|constants|methods|primitives|support code|definitions|"
    r"implementations?|helper functions|utility functions|support|code|algorithms|mixins|commands|bindings) (for|to|that|of|which) ",
    re.I,
)
_YOU = [
    (r"\byou are\b", "I am"), (r"\byou're\b", "I am"), (r"\byou've\b", "I have"), (r"\byou'd\b", "I would"),
    (r"\byou'll\b", "I will"), (r"\byourself\b", "myself"), (r"\byours\b", "mine"), (r"\byour\b", "my"),
    (r"\bwe are\b", "I am"), (r"\bwe're\b", "I am"), (r"\bwe've\b", "I have"), (r"\bourselves\b", "myself"),
    (r"\bour\b", "my"), (r"\bus\b", "me"), (r"\bwe\b", "I"),
    (r"\b(to|for|with|lets?|allows?|allow|help|helps|gives?|tells?|from|enables?|requires?|forces?|by|of) you\b", r"\1 me"),
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
    if _BAD.search(text) or _POINTING.search(text) or _PRONOUN.search(text) or re.match(r"what|how|why|where|who|is|are|do|does|can", text, re.I):
        return None
    if sentence.source != "page" and re.search(r"\b(we|us|our)\b", text, re.I):
        return None
    if text.endswith((" a", " the", " of", " to", " by", " e.g", " as", " with", " in", " or", " and", " that", " is", "?")):
        return None
    draw = _Draw(f"{project}/{sentence.path}/{sentence.text}")
    statement = _lower(text)
    forms = list(_forms(sentence, text, statement, project, draw))
    if not forms:
        return None
    question = draw.one(forms)
    if draw.number() < RAW and len(text.split()) <= 25 and not re.match(r"(which|what) ", statement):
        question = _capital(statement)
    question = " ".join(_as_asked(question).split())
    return question if _is_good(question, sentence) else None


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


def _forms(sentence: Sentence, text: str, s: str, project: str, draw: _Draw) -> Iterator[str]:
    described = sentence.source in ("docstring", "test") and sentence.first
    word, _, rest = s.partition(" ")
    if sentence.source == "changes":
        yield from _of_change(word, rest, s)
        return
    if described:
        found = re.match(
            r"this (is )?(an? |the )?((?:[\w-]+ )?(?:function|method|class|module|script|command|file|package|helper|decorator|mixin|"
            r"test|example|program|tool)) (that |which |to |for )?(.+)", s,
        )  # fmt: skip
        if found:
            noun = found[3].split()[-1]
            verb, _, tail = found[5].partition(" ")
            if found[4] in ("to ", "for "):
                yield f"Which {noun} is there {found[4]}{found[5]}?"
            elif verb in _BASE_OF or verb in ("is", "has", "contains", "does"):
                yield f"Which {noun} {found[5]}?"
                if verb in _BASE_OF:
                    yield f"How do I {_BASE_OF[verb]} {tail}?"
            elif found[1]:
                yield f"Where is the {noun} {found[4] or ''}{found[5]}?"
            return
    if re.match(r"(this|these|those|that|it|they|here|there|such|he|we|i|let|see)\b", s):
        return
    verb = word if word in _BASES else _BASE_OF.get(word)
    if word in ("assert", "asserts") or s.startswith(("make sure ", "ensure ", "verify ", "check ", "test ", "tests ", "checks ", "ensures ", "verifies ")):
        found = re.match(r"(?:make sure|\w+) (?:of |for )?(that|if|whether)? ?(.+)", s)
        if found and found[1]:
            link = "that" if found[1] == "that" else "whether"
            if sentence.source == "test":
                yield f"Where is it tested {link} {found[2]}?"
                yield f"Which test makes sure {link} {found[2]}?"
            else:
                yield f"Where is it checked {link} {found[2]}?"
                yield f"What makes sure that {found[2]}?" if link == "that" else f"What decides whether {found[2]}?"
        elif sentence.source == "page":
            yield f"How do I {s}?"
        elif found and sentence.source == "test":
            yield f"Where are the tests of {found[2]}?" if word.startswith("test") else f"Which test is there to {s}?"
        elif verb and rest:
            yield f"What {_third(verb)} {rest}?"
        return
    if described and re.match(r"tests? (for|of|the|that) ", s):
        yield f"Where are the {s}?" if word == "tests" else f"Which {s}?"
        return
    found = re.match(r"(?:returns?|indicates?|determines?|tells?|decides?|whether|is|true|boolean indicating) ?(?:true )?(if|whether|when) (.+)", s)
    if found and described:
        tail = re.sub(r",? (and |or |else |otherwise )*(false|none)( otherwise| if not| else)?$", "", found[2])
        yield f"How can I find out whether {tail}?"
        yield f"What tells whether {tail}?"
        yield f"Where is it decided whether {tail}?"
        return
    if verb and rest and not re.match(rf"({_AUX}|of|that|which|for|in|on)\b", rest) and sentence.source != "page":
        yield from _of_action(verb, rest, project, described)
        return
    if verb and sentence.source == "page" and word in _BASES and not re.match(rf"({_AUX}|of|that|which|for|in|on)\b", rest):
        head = re.split(r",? (?:by|using|with|via|when|if|so that|because) ", rest)[0] if verb != "use" else rest
        use = re.match(r"(?:use|call|run|see) (?:the )?.+? (?:to|for) (.+)", s)
        if use and re.match(r"\w+", use[1]) and use[1].split()[0] in _BASES:
            yield f"How do I {use[1]}?"
            yield f"What do I use to {use[1]}?"
        elif verb != "use":
            yield f"How do I {verb} {head}?"
        return
    yield from _of_noun(s, described)
    yield from _of_clause(text, s)


def _of_change(word: str, rest: str, s: str) -> Iterator[str]:
    past = _PAST.get(word)
    if past and rest:
        trouble = re.match(r"(?:an? |some |the )?(?:rare |potential |possible )?(bug|issue|problem|regression|error|crash|race condition)s? (?:where|in which|when|that|with|causing) (.+)", rest)
        if past == "fixed" and trouble:
            yield f"In which release was the {trouble[1]} fixed {'where' if trouble[1] != 'crash' else 'when'} {trouble[2]}?" if re.search(rf"\b({_AUX}|\w+ed)\b", trouble[2]) else f"Which release {past} {rest}?"
        yield f"Which release {past} {rest}?"
        yield f"Which version {past} {rest}?"
        yield f"When did someone {_present(past)} {rest}?" if _present(past) else f"Which version {past} {rest}?"
    elif _SUBJECT.fullmatch(s) and not _VERBISH.search(_SUBJECT.fullmatch(s)[1]):  # type: ignore[index]
        yield f"Since which version is it so that {s}?" if " now " in f" {s} " else f"Which release notes say that {s}?"


def _present(past: str) -> str:
    return {"added": "add", "fixed": "fix", "removed": "remove", "changed": "change", "improved": "improve"}.get(past, "")


def _of_action(verb: str, rest: str, project: str, described: bool) -> Iterator[str]:
    rest = re.sub(r",? (and )?(returns?|returning) (it|them|the result)$", "", rest)
    name = project
    joined = re.search(rf"\b(and|or|then) (\w+ly )?({'|'.join(_BASE)}) ", rest)
    if verb in ("test", "expect", "assert", "note", "see", "try", "list", "time", "order", "index", "point", "output", "use", "allow", "let"):
        if verb in ("allow", "let") and (found := re.match(r"(?:the )?(?:user|users|you|one|us|people) to (.+)", rest)):
            yield f"What lets me {found[1]}?"
            yield f"How can I {found[1]}?"
        elif verb in ("list", "index", "order", "allow", "let", "use"):
            yield f"What {_third(verb)} {rest}?"
        return
    if joined:
        yield f"How does {name} {verb} {rest}?"
        yield f"Where does {name} {verb} {rest}?"
        yield f"What is used to {verb} {rest}?"
        return
    if verb in _GIVING:
        yield f"How do I get {rest}?" if verb in ("return", "get", "yield", "give") else f"How do I {verb} {rest}?"
        yield f"What {_third(verb)} {rest}?"
        yield f"Which code {_third(verb)} {rest}?"
        yield f"Where can I find what {_third(verb)} {rest}?"
    else:
        yield f"What {_third(verb)} {rest}?"
        yield f"How does {name} {verb} {rest}?"
        yield f"Which code {_third(verb)} {rest}?"
        yield f"Where does {name} {verb} {rest}?"
        if described:
            yield f"How do I {verb} {rest}?"
            yield f"How can I {verb} {rest}?"
            yield f"I want to {verb} {rest}: where is the code for it?"


def _of_noun(s: str, described: bool) -> Iterator[str]:
    if not described:
        return
    found = _CLASSY.match(s)
    if found and not re.search(rf"\b({_AUX})\b", found[0]):
        noun = found[1]
        if found[2] == "raised":
            yield f"Which {noun} is {s[found.start(2):]}?"
        else:
            bare = re.sub(r"^(an?|the) ", "", s)
            article = re.match(r"(an?|the) ", s)
            yield f"Is there {article[0] if article else 'some '}{bare}?" if article else f"Where is the {bare}?"
            yield f"Where is the {bare}?"
            if found[2] in ("that", "which"):
                yield f"Which {noun} {s[found.end():]}?"
        return
    if _TOOLS.match(s):
        yield f"Where are the {re.sub('^the ', '', s)}?" if re.match(r".*?s (for|to|that|of|which) ", s) else f"Which file holds the {re.sub('^the ', '', s)}?"
        yield f"Which module has {s}?"
        return
    found = re.match(r"(raised|called|used|invoked|emitted|thrown|triggered|sent|fired) (when|if|to|by|for|after|before|whenever|in) (.+)", s)
    if found:
        yield f"What is {s}?"
        return
    if re.match(r"(an?|the) ", s):
        head = re.split(r"\b(?:that|which|for|to|of|used|representing|containing|with|whose|from|in|on|where|who)\b|,", s)[0]
        if 1 < len(head.split()) <= 6 and not re.search(rf"\b({_AUX})\b", head) and not _VERBISH.search(head):
            yield f"Is there {s}?" if s.startswith("a") else f"Where is {s}?"
            yield f"Where is {s} implemented?" if len(s.split()) < 12 else f"What is {s}?"


def _of_clause(text: str, s: str) -> Iterator[str]:
    found = re.match(r"(?:if|when) (?:you|we) (?:want|wish|need|would like|prefer|have|intend|plan) to (.+?), .+", s)
    if found:
        yield f"How can I {found[1]}?"
        yield f"What do I do to {found[1]}?"
        return
    found = re.match(r"(if|when|whenever|once|unless) (.+?), (.+)", s)
    if found:
        if len(found[2].split()) >= 5:
            yield f"{_what_if(found[3])} {found[1]} {found[2]}?"
        else:
            yield f"Where does it say that {found[1]} {found[2]}, {found[3]}?"
        return
    found = re.match(r"(?:in order )?to (\w+) (.+?), .+", s)
    if found and found[1] in _BASES:
        yield f"How do I {found[1]} {found[2]}?"
        yield f"How can I {found[1]} {found[2]}?"
        return
    found = re.match(r"(?:you|we|users|one) (?:can|may|could|might want to|will need to|need to|should|must|have to) (?:now |optionally |then |either |always |use .+? to )?(\w+) (.+)", s)
    if found:
        if found[1] in _BASES and found[1] != "use":
            head = re.split(r",? (?:by|using|with|via|through|like|which|so that|because|in order) ", found[2])[0]
            yield f"How can I {found[1]} {head}?"
            yield f"How do I {found[1]} {found[2]}?" if head == found[2] else f"What is the way to {found[1]} {head}?"
        return
    found = re.match(r"use (?:the )?.+? (?:to|when you want to) (\w+) (.+)", s)
    if found and found[1] in _BASES:
        yield f"How do I {found[1]} {found[2]}?"
        return
    found = re.match(r"(.+?) (?:is|are|can be) (?:often |also |usually |typically |commonly )?(?:used|useful|needed|meant|designed|intended) (to|for|when|if) (.+)", s)
    if found and not _VERBISH.search(found[1]):
        yield f"What is used {found[2]} {found[3]}?"
        yield f"What can be used {found[2]} {found[3]}?"
        return
    found = re.match(r"(.+?) (?:allows?|lets?|enables?) (?:you|users?|the user|developers?|one|us) (?:to )?(\w+) (.+)", s)
    if found and found[2] in _BASES and not re.search(rf"\b({_AUX})\b", found[1]):
        yield f"What lets me {found[2]} {found[3]}?"
        yield f"How can I {found[2]} {found[3]}?"
        return
    found = re.match(r"(.+?),? because (.+)", s)
    if found and len(found[1].split()) >= 4 and not re.match(r"(not|only|mainly|probably)", found[1].split()[-1]):
        if not re.search(r",", found[1]) and (found[1].split()[0] not in _BASES):
            yield f"Why is it that {found[1]}?"
            yield f"What is the reason that {found[1]}?"
        return
    found = re.match(r"(.+?),? so that (.+)", s)
    if found and len(found[2].split()) >= 5:
        yield f"What is done so that {found[2]}?"
        yield f"Which code makes sure that {found[2]}?"
        return
    found = re.match(r"by default, (.+)", s)
    if found:
        yield f"Is it the default that {found[1]}?"
        return
    found = re.match(r"(?:an? |the )([\w'-]+(?: [\w'-]+){0,3}) is (an? .+? (?:that|which|for|of|used|where|to) .+)", s)
    if found and not _VERBISH.search(found[1]):
        yield f"What is {found[2]}?"
        yield f"What is called {found[2]}?"
        return
    found = re.match(r"((?:[\w'-]+ ){1,5}?)(?:always |automatically |only |usually |internally |normally )?(\w+s) (.+)", s)
    if found and found[2] in _BASE_OF and len(found[3].split()) >= 4 and not _VERBISH.search(found[1]) and not re.match(r"(you|we|they|i|in|on|at|for|with|from|as|all|after|before|while|since|both|many|most|some|several|few|no|not|by)\b", s):
        if not found[1].strip().endswith(("ly", "the", "a", "of", "all", "each")):
            yield f"What {found[2]} {found[3]}?"
            yield f"Which part {found[2]} {found[3]}?"
            yield f"What is it that {found[2]} {found[3]}?"
            return
    found = _SUBJECT.fullmatch(s)
    if found and not _VERBISH.search(found[1]) and not re.match(r"you\b", s):
        subject, aux, negation, tail = found.groups()
        negation = negation or ""
        if aux == "cannot":
            aux, negation = "can", "not "
        if aux in ("is", "are", "was", "were", "can", "will", "must", "should", "may", "could", "might") or (
            aux in ("has", "have") and re.match(r"\w+ed\b|been\b|to be\b", tail)
        ):
            yield f"Where is it ensured that {s}?" if aux == "must" else f"Where does it say that {s}?"
            if negation:
                yield f"Why {aux} {subject} {negation}{tail}?"
            elif aux in ("is", "are", "was", "were", "must", "should", "can"):
                yield f"{_capital(aux)} {subject} {tail}?"
                if aux in ("is", "was", "must", "can", "should") and len(tail.split()) >= 6 and not re.match(r"(the|a|an|not|to|that|no|in)\b", tail):
                    yield f"What {aux} {tail}?"
                    yield f"What {aux} {tail}?"
                else:
                    yield f"Which text explains that {s}?"
                if re.match(r"(?:only |always |automatically )?\w+ed\b", tail):
                    yield f"When {aux} {subject} {tail}?" if " when " not in tail and " if " not in tail else f"Which code makes sure that {s}?"


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


def _is_good(question: str, sentence: Sentence) -> bool:
    body = question.rstrip("?")
    words = re.findall(r"[\w'-]+", body.lower())
    telling = {word for word in words if word not in _COMMON and len(word) > 2}
    if len(words) < SHORTEST:
        return False
    if len(telling) < _LEAST_WORDS or len(question) > 230:
        return False
    names = sum(bool(re.search(r"[a-z][A-Z]|\d|^[A-Z]{2,}", word)) for word in re.findall(r"[\w-]+", body))
    shown = re.findall(r"[\"']\w", body)
    return names <= 2 and len(shown) <= 2 and not re.search(r"\b(\w+) \1\b", body)
