"""Whether an answer in words is right, by its label's key, and whether a citation supports it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, NamedTuple

from natlang_envs.autoexplore.answering.facts import Token, root, tokens_of
from natlang_envs.autoexplore.answering.keys import AnswerKey, shipped_keys
from natlang_envs.autoexplore.dataset.catalogue import repository_folder
from natlang_envs.autoexplore.dataset.checks import text_of
from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import Repository, open_repository

MOST_WORDS, MOST_CITATIONS, MOST_FURTHER, NEAR = 40, 3, 2, 2
_SCOPE = 3  # words after a negation that it may deny
_NEGATIONS = (
    "not never cannot without neither nor arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt neednt "
    "shouldnt wasnt werent wont wouldnt"
)
_DENIES: Final = frozenset(_NEGATIONS.split())
_TURNS: Final = frozenset(("but", "only", "unles", "if", "when", "until", "except", "so", "because", "than"))
_VERSION: Final = re.compile(r"\d+(?:\.\d+){2,}\w*", re.ASCII)
_ENDINGS = "later newer above higher greater more up earlier older below less fewer whichever whatever similar so"
_OR_SO: Final = frozenset(map(root, _ENDINGS.split()))
_AUXILIARIES: Final = frozenset(
    ("is", "are", "was", "were", "can", "do", "does", "did", "will", "may", "must", "should")
)
_HEDGES: Final = ("maybe", "perhaps", "possibly", "probably", "presumably", "unsure", "not sure", "i guess", "i think")


class Citation(NamedTuple):
    """A line of a file, from 1."""

    path: str
    line: int


@dataclass(frozen=True)
class AnswerScore:
    """What an answer is worth.

    Attributes:
        recall: The share of the key's atoms that it says.
        cited: Whether a citation supports it.
        problem: What is wrong with its words, "" where nothing is.
    """

    recall: float
    cited: bool
    problem: str = ""

    @property
    def success(self) -> bool:
        return self.recall == 1 and self.cited and not self.problem


Lines = Callable[[str], Sequence[str]]  # of a file of the label's repository


def score_answer(
    label: Label,
    text: str,
    citations: Iterable[tuple[str, int]],
    key: AnswerKey | None = None,
    lines: Lines | None = None,
) -> AnswerScore:
    """Return what an answer to a label's question is worth.

    It succeeds if it says every atom of the key in one of its variants, contradicts none, names at most two further
    numbers or names, has at most 40 words, and cites a line within two lines of the evidence, or a line of a target
    that holds all atoms. A contradiction is another number of the same unit, another version, a phrase of `never`, the
    opposite yes or no, or both of them. Words that hedge, and a choice beside an atom ("X or Y"), are refused.

    Args:
        label: Whose question is answered.
        text: The answer.
        citations: At most three lines, as `(path, line)`, from 1.
        key: What is right; that of the dataset by default.
        lines: Returns the lines of a file; those of the fetched repository by default.

    Raises:
        UsageError: The label has no key, or its repository is not here.

    ```python
    score_answer(label, "30 seconds", [("docs/config.rst", 12)]).success
    ```
    """
    if key is None:
        key = shipped_keys().get(label.id)
        if key is None:
            raise UsageError(f"label {label.id} has no key: give one as key=, or ask a label that has one")
    score = score_words(key, text, label)
    given = [Citation(*each) for each in citations]
    if len(given) > MOST_CITATIONS:
        return replace(score, problem=score.problem or f"it has {len(given)} citations, not at most {MOST_CITATIONS}")
    return replace(score, cited=_supported(label, key, given, lines or partial(fetched_lines, label.repository)))


@lru_cache(maxsize=1_024)
def fetched_lines(repository: str, path: str) -> tuple[str, ...]:
    """Return the lines of a file of a fetched repository."""
    return file_lines(open_repository(repository_folder(repository)), path)


@lru_cache(maxsize=1_024)
def file_lines(repository: Repository, path: str) -> tuple[str, ...]:
    """Return the lines of a file; none where there is no such file."""
    return tuple(text_of(repository, path).split("\n")) if repository.kind(path) == "file" else ()


def _supported(label: Label, key: AnswerKey, citations: Sequence[Citation], lines: Lines) -> bool:
    for path, line in citations:
        text = lines(path) if path in label.targets else ()
        if line in proving_lines(label, path, text):
            return True
        if 0 < line <= len(text) and says_all(key, text[line - 1]):
            return True
    return False


def proving_lines(label: Label, path: str, lines: Sequence[str]) -> set[int]:
    """Return the lines of a file, from 1, that are within two lines of a label's evidence."""
    whole = "\n".join(lines)
    found: set[int] = set()
    for each in label.evidence:
        start = whole.find(each.text) if each.path == path and each.text else -1
        if start >= 0:
            first = whole.count("\n", 0, start) + 1
            last = first + each.text.rstrip("\n").count("\n")
            found.update(range(max(1, first - NEAR), min(last + NEAR, len(lines)) + 1))
    return found


def score_words(key: AnswerKey, text: str, label: Label) -> AnswerScore:
    """Return what the words of an answer are worth, without citations.

    What the question says, and the names of the repository and the targets, count neither for nor against it.
    """
    tokens, own = tokens_of(text), tokens_of(label.answer)
    missing = _missing(key, tokens, own)
    recall = 1 - len(missing) / len(key.atoms)
    count = len(text.split())
    if count > MOST_WORDS:
        return AnswerScore(recall, False, f"it has {count} words, not at most {MOST_WORDS}")
    given = _said_by((label.question, label.natural, label.repository, *label.targets))
    return AnswerScore(recall, False, _contradiction(key, tokens, label, given) or _further(key, tokens, given))


def _contradiction(key: AnswerKey, tokens: tuple[Token, ...], label: Label, given: set[str]) -> str:
    polarities = list(_polarities(tokens))
    if {"yes", "no"} <= set(polarities) or (key.says and polarities and polarities[0] != key.says):
        return f"it says {' and '.join(dict.fromkeys(polarities))}"
    sources = tokens_of("\n".join((label.answer, *(each.text for each in label.evidence))))
    for each in _HEDGES:
        if _found(tokens_of(each), tokens) and not _found(tokens_of(each), sources):
            return f"it hedges: {each}"
    spared = [span for each in key.variants for span in _found(tokens_of(each), tokens)]
    if choice := _choice(key, tokens, spared, {each.text for each in sources} | given):
        return f"it leaves a choice: {choice}"
    for phrase in key.never:
        wanted = tokens_of(phrase)
        for span in _found(wanted, tokens):
            inside = any(each.start <= span.start and span.stop <= each.stop for each in spared)
            if not inside and not _is_denied(wanted, tokens, span):
                return f"it says {phrase!r}"
    allowed = given | _said_by(key.also)
    return _other_version(key, tokens, allowed) or _other_number(key, tokens, allowed)


def _choice(key: AnswerKey, tokens: tuple[Token, ...], spared: Sequence[range], known: set[str]) -> str:
    """Return an `or` or `both` beside an atom, unless a known text has it, or what it offers is right, too."""
    right = _OR_SO | _said_by((*key.also, *key.variants))
    for span in spared:
        for at in range(max(0, span.start - 2), min(span.stop + 2, len(tokens))):
            word = tokens[at].text
            if at in span or word in known or word not in ("or", "both") or (word == "both" and at >= span.stop):
                continue
            other = slice(at + 1, at + 5) if at >= span.stop else slice(max(0, at - 3), at)
            other = slice(span.stop, span.stop + 5) if word == "both" else other
            if not {each.text for each in tokens[other]} & right:
                return word
    return ""


def _other_number(key: AnswerKey, tokens: tuple[Token, ...], allowed: set[str]) -> str:
    """Return what is wrong where a number has the unit of one in the key, and in a phrase the same neighbour."""
    known = [tokens_of(each) for each in key.variants]
    numbers = {
        (each.unit, "" if each.unit or len(variant) == 1 else _beside(variant, at)[-1])
        for variant in known
        for at, each in enumerate(variant)
        if each.named and each.unit is not None
    }
    allowed = allowed | _said_by(key.variants)
    for at, token in enumerate(tokens):
        is_other = token.unit is not None and token.named and token.text not in allowed
        if (
            is_other
            and not _is_denied((token,), tokens, range(at, at + 1))
            and numbers & {(token.unit, each) for each in ("", *_beside(tokens, at))}
        ):
            return f"it says {token.text} {token.unit}".rstrip()
    return ""


def _beside(tokens: tuple[Token, ...], at: int) -> list[str]:
    """Return the words before and after a token, marked by where they stand."""
    before = [f"{tokens[at - 1].text} _"] if at else []
    return [*before, *(f"_ {each.text}" for each in tokens[at + 1 : at + 2])]


def _other_version(key: AnswerKey, tokens: tuple[Token, ...], allowed: set[str]) -> str:
    known = _said_by(key.variants)
    if not any(_VERSION.fullmatch(each) for each in known):
        return ""
    other = [each.text for each in tokens if _VERSION.fullmatch(each.text) and each.text not in known | allowed]
    return f"it says {other[0]}" if other else ""


def _further(key: AnswerKey, tokens: tuple[Token, ...], given: set[str]) -> str:
    said = (span for each in (*key.variants, *key.also) for span in _found(tokens_of(each), tokens))
    spared = {place for span in said for place in span}
    given = given | {part for each in given for part in each.rsplit(".", 1)} | {"e.g", "i.e"}
    names = (each.text for number, each in enumerate(tokens) if each.named and number not in spared)
    further = {each for each in names if not {each, each.strip("."), root(each)} & given}
    if len(further) <= MOST_FURTHER:
        return ""
    return f"it names more than {MOST_FURTHER} things that nobody asked for: {', '.join(sorted(further))}"


def _said_by(texts: Iterable[str]) -> set[str]:
    return {each.text for text in texts for each in tokens_of(text)}


def _polarities(tokens: tuple[Token, ...]) -> Iterator[str]:
    """Yield each yes and no that answers: it stands alone in a clause or begins the answer, not as in "no limit"."""
    for number, token in enumerate(tokens):
        if token.text in ("yes", "no"):
            after = tokens[number + 1] if number + 1 < len(tokens) else None
            if after is None or after.clause != token.clause or after.text in ("yes", "no", "and", "or"):
                yield token.text


def says_all(key: AnswerKey, text: str) -> bool:
    return not _missing(key, tokens_of(text))


def _missing(key: AnswerKey, tokens: tuple[Token, ...], own: tuple[Token, ...] = ()) -> list[tuple[str, ...]]:
    """Return the atoms that some words do not say; what the label's `own` answer denies may be denied."""
    return [
        each
        for each in key.atoms
        if not any(_affirmed(tokens_of(variant), tokens) for variant in each)
        and not (_denied_in(each, own) and _denied_in(each, tokens))
    ]


def _denied_in(variants: Sequence[str], tokens: tuple[Token, ...]) -> bool:
    phrases = [tokens_of(each) for each in variants]
    return any(_found(each, tokens) for each in phrases) and not any(_affirmed(each, tokens) for each in phrases)


def _affirmed(variant: tuple[Token, ...], tokens: tuple[Token, ...]) -> bool:
    return any(not _is_denied(variant, tokens, span) for span in _found(variant, tokens))


def _is_denied(variant: tuple[Token, ...], tokens: tuple[Token, ...], span: range) -> bool:
    """Return whether a negation that is not its own stands before a phrase, in its clause and near, or right after."""
    if any(each.text in _DENIES for each in variant):
        return False
    clause, start = tokens[span.start].clause, span.start
    after = [each.text for each in tokens[span.stop : span.stop + 2] if each.clause == clause]
    if after and (after[0] in _DENIES - {"without"} or (after[0] in _AUXILIARIES and after[-1] in ("not", "never"))):
        return True
    if start and tokens[start - 1].text == "no" and tokens[start - 1].clause == clause:
        return True
    for each in reversed(tokens[max(0, start - _SCOPE) : start]):
        if each.clause != clause or each.text in _TURNS:
            return False
        if each.text in _DENIES:
            return True
    return False


def _found(phrase: tuple[Token, ...], tokens: tuple[Token, ...]) -> list[range]:
    """Return where a phrase stands, word by word, with no comma or the like that it has not itself."""
    size = len(phrase)
    return [
        range(start, start + size)
        for start in range(len(tokens) - size + 1 if size else 0)
        if all(
            _meets(wanted, tokens[start + number])
            and tokens[start + number].clause - tokens[start].clause == wanted.clause - phrase[0].clause
            for number, wanted in enumerate(phrase)
        )
    ]


def _meets(wanted: Token, said: Token) -> bool:
    if wanted.text == said.text:
        return (wanted.unit or "") == (said.unit or "")
    if wanted.unit is not None or said.unit is not None or not (wanted.named or said.named):
        return False
    # A name may stand with where it belongs: `Session.max_age` says `max_age`. Case and endings do not matter.
    last = said.text.rpartition(".")[2] or said.text
    return root(wanted.text) in (root(last), root(said.text)) or wanted.text == last
