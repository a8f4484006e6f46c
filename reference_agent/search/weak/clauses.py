"""Turns a statement with a finite verb into questions by rules of grammar."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from reference_agent.search.weak.grammar import AUX, BASE_OF, BASES, SUBJECT, VERBISH, capital

_NO_PLAIN_SUBJECT = re.compile(
    r"(you|we|they|i|in|on|at|for|with|from|as|all|after|before|while|since|both|many|most|some|several|few|no|not|by|"
    r"although|though|even|however|once|until|despite|due|during|only|like|unlike|depending|given|because|using|"
    r"when|if|"
    r"where|whether|and|or|except|assuming|of|to|via|per|than|one|two|three|another|other|others|people|"
    r"everyone|anyone|"
    r"none|nothing|something|it's|that's|don't|never|always|either|neither|within|without|under|over)\b"
)


def of_clause(s: str) -> Iterator[str]:
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
    if found and found[1] in BASES:
        yield f"How do I {found[1]} {found[2]}?"
        yield f"How can I {found[1]} {found[2]}?"
        return
    found = re.match(r"(if|when|whenever|once|unless) (.+?), (.+)", s)
    if found and len(found[2].split()) >= 5 and re.search(rf"\b({AUX}|\w+s|\w+ed|(?:you|we) \w+)\b", found[2]):
        yield f"{_what_if(found[3])} {found[1]} {found[2]}?"
    elif found and found[3].split(" ")[0] not in BASES:
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
        if found[1] in BASES and found[1] != "use":
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
    if found and not VERBISH.search(found[1]):
        yield f"What is used {found[2]} {found[3]}?"
        yield f"What can be used {found[2]} {found[3]}?"
        return
    found = re.match(
        r"(.+?) (?:allows?|lets?|enables?|makes? it possible for|makes? it easy for) (?:you|users?|the user|"
        r"developers?|one|us) "
        r"(?:to )?(\w+) (.+)",
        s,
    )
    if found and found[2] in BASES and not re.search(rf"\b({AUX})\b", found[1]):
        yield f"What lets me {found[2]} {found[3]}?"
        yield f"How can I {found[2]} {found[3]}?"


def _of_reason(s: str) -> Iterator[str]:
    """The file is read twice because it changes: why is it that the file is read twice?"""
    found = re.match(r"([^,]+?),? because (.+)", s)
    if found and len(found[1].split()) >= 5:
        last = found[1].split()[-1]
        if found[1].split()[0] not in BASES and last not in ("not", "only", "mainly", "simply", "be", "is"):
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
    if found and not VERBISH.search(found[1]):
        yield f"What is {found[2]}?"
        yield f"What is called {found[2]}?"
        return
    found = re.match(
        r"((?:[\w'-]+ ){1,5}?)(?:always |automatically |only |usually |internally |normally )?(\w+s) (.+)", s
    )
    if (
        found
        and found[2] in BASE_OF
        and len(found[3].split()) >= 4
        and not VERBISH.search(found[1])
        and not _NO_PLAIN_SUBJECT.match(s)
        and not found[1].strip().endswith(("ly", "the", " a", " of", " all", " each", " two", " three", " several"))
        and not re.match(rf"({AUX}|of|and|or|for|in|with|from|to|at|on)\b", found[3])
        and not re.match(rf"(\w+ ){{0,3}}({AUX})\b", found[3])
    ):
        yield f"What {found[2]} {found[3]}?"
        yield f"Which part {found[2]} {found[3]}?"
        yield f"What is it that {found[2]} {found[3]}?"
        return
    found = SUBJECT.fullmatch(s)
    if not found or VERBISH.search(found[1]) or _NO_PLAIN_SUBJECT.match(s) or re.search(r"\w+(ing|ly)$", found[1]):
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
        yield f"{capital(aux)} {subject} {tail}?"
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
