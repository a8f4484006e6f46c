"""The grammar that the wordings share: verbs and their forms, and what a plain statement looks like."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

with Path(__file__).with_name("words.toml").open("rb") as _file:
    WORDS = {name: frozenset(words.split()) for name, words in tomllib.load(_file).items()}


def third(verb: str) -> str:
    """Return the third person of a verb."""
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"


BASES = WORDS["verbs"]
BASE_OF = {third(verb): verb for verb in sorted(BASES)}
BASE, THIRDS = "|".join(sorted(BASES)), "|".join(sorted(BASE_OF))
AUX = "is|are|was|were|can|cannot|could|will|must|should|may|might|has|have|does|do"
NOT_AFTER_VERB = re.compile(
    rf"({AUX}|of|that|which|for|in|on|and|or|only|by|between|than|mode|types?|names?|objects?)\b", re.I
)
SUBJECT = re.compile(rf"((?:[\w'-]+ ){{0,5}}[\w'-]+) ({AUX}) (not )?(.+)", re.I)
VERBISH = re.compile(
    rf"\b({AUX}|that|which|who|if|when|whether|to|as|where|because|and|or|but|unless|until|while|by|not|only|"
    rf"{THIRDS})\b",
    re.I,
)


def verb_of(s: str) -> tuple[str, str]:
    """Return the verb that a sentence begins with and what follows it, or two empty texts where it begins otherwise.

    "Process names are between brackets" and "Calls return it" begin with nouns that look like verbs.
    """
    word, _, rest = s.partition(" ")
    verb = word if word in BASES else BASE_OF.get(word, "")
    following = rest.split(" ")
    if (
        not verb
        or not rest
        or NOT_AFTER_VERB.match(rest)
        or (following[0] in BASES and following[0] not in WORDS["also_nouns"])
    ):
        return "", ""
    finite = re.search(rf"\b({AUX})\b", rest)
    if finite and not re.search(
        r"\b(that|which|if|when|whether|where|who|what|how|whose|as|until|because)\b|,", rest[: finite.start()]
    ):
        return "", ""
    second = following[1] if len(following) > 1 else ""
    if (following[0] in BASE_OF and second in ("the", "a", "an", "whether")) or (
        second in BASES and second not in WORDS["also_nouns"]
    ):
        return "", ""
    return verb, rest


def capital(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
