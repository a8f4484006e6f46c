"""Whether an answer in words is right, by its label's key, and whether a citation supports it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from natlang_envs.autoexplore.answering.facts import Token, tokens_of
from natlang_envs.autoexplore.answering.keys import AnswerKey, shipped_keys
from natlang_envs.autoexplore.dataset.catalogue import repository_folder
from natlang_envs.autoexplore.dataset.checks import text_of
from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import open_repository

MOST_WORDS, MOST_CITATIONS, MOST_FURTHER, NEAR = 40, 3, 2, 2
_SCOPE = 3  # words after a negation that it may deny
_NEGATIONS = (
    "not never cannot without neither nor arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt neednt "
    "shouldnt wasnt werent wont wouldnt"
)
_DENIES: Final = frozenset(_NEGATIONS.split())
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
    that holds all atoms. A contradiction is another number of the same unit, a phrase of `never`, the opposite yes or
    no, or both of them. Words that hedge are refused.

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
    score = score_words(key, text, f"{label.question} {label.natural}", (label.repository, *label.targets))
    given = [Citation(*each) for each in citations]
    if len(given) > MOST_CITATIONS:
        return replace(score, problem=score.problem or f"it has {len(given)} citations, not at most {MOST_CITATIONS}")
    return replace(score, cited=_supported(label, key, given, lines or fetched_lines(label.repository)))


def fetched_lines(repository: str) -> Lines:
    """Return what reads the lines of a file of a fetched repository."""
    return lambda path: _lines(repository, path)


@lru_cache(maxsize=1_024)
def _lines(repository: str, path: str) -> tuple[str, ...]:
    opened = open_repository(repository_folder(repository))
    return tuple(text_of(opened, path).split("\n")) if opened.kind(path) == "file" else ()


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


def score_words(key: AnswerKey, text: str, question: str = "", names: Sequence[str] = ()) -> AnswerScore:
    """Return what the words of an answer are worth, without citations; `names` are those that it may name, too."""
    tokens = tokens_of(text)
    missing = _missing(key, tokens)
    recall = 1 - len(missing) / len(key.atoms)
    count = len(text.split())
    if count > MOST_WORDS:
        return AnswerScore(recall, False, f"it has {count} words, not at most {MOST_WORDS}")
    return AnswerScore(
        recall, False, _contradiction(key, text, tokens, question) or _further(key, tokens, question, names)
    )


def _contradiction(key: AnswerKey, text: str, tokens: tuple[Token, ...], question: str) -> str:
    said = list(_polarities(tokens, text))
    if {"yes", "no"} <= set(said) or (key.says and said and said[0] != key.says):
        return f"it says {' and '.join(dict.fromkeys(said))}"
    hedged = [each for each in _HEDGES if _found(tokens_of(each), tokens)]
    if hedged:
        return f"it hedges: {hedged[0]}"
    spared = _spans(key.atoms, tokens)
    for phrase in key.never:
        said = tokens_of(phrase)
        if any(not set(span) <= spared and not _is_denied(said, tokens, span.start) for span in _found(said, tokens)):
            return f"it says {phrase!r}"
    known = [each for variants in key.atoms for variant in variants for each in tokens_of(variant)]
    units = {each.unit for each in known if each.unit is not None}
    allowed = {each.text for each in known} | _allowed((question, *key.also))
    for token in tokens:
        if token.unit is not None and token.unit in units and token.text not in allowed:
            return f"it says {token.text} {token.unit}".rstrip()
    return ""


def _further(key: AnswerKey, tokens: tuple[Token, ...], question: str, names: Sequence[str]) -> str:
    spared = _spans((*key.atoms, key.also), tokens)
    allowed = _allowed((question, *names))
    further = {each.text for number, each in enumerate(tokens) if each.named and number not in spared} - allowed
    if len(further) <= MOST_FURTHER:
        return ""
    return f"it names more than {MOST_FURTHER} things that nobody asked for: {', '.join(sorted(further))}"


def _allowed(texts: Iterable[str]) -> set[str]:
    return {each.text for text in texts for each in tokens_of(text)}


def _polarities(tokens: tuple[Token, ...], text: str) -> Iterator[str]:
    """Yield each yes and no that answers: it stands alone in a clause or begins the answer, not as in "no limit"."""
    for number, token in enumerate(tokens):
        if token.text in ("yes", "no"):
            after = tokens[number + 1] if number + 1 < len(tokens) else None
            if after is None or after.clause != token.clause or after.text in ("yes", "no", "and", "or"):
                yield token.text


def says_all(key: AnswerKey, text: str) -> bool:
    """Return whether a text says every atom of a key."""
    return not _missing(key, tokens_of(text))


def _missing(key: AnswerKey, tokens: tuple[Token, ...]) -> list[tuple[str, ...]]:
    return [each for each in key.atoms if not any(_affirmed(tokens_of(variant), tokens) for variant in each)]


def _affirmed(variant: tuple[Token, ...], tokens: tuple[Token, ...]) -> bool:
    return any(not _is_denied(variant, tokens, span.start) for span in _found(variant, tokens))


def _is_denied(variant: tuple[Token, ...], tokens: tuple[Token, ...], start: int) -> bool:
    """Return whether a negation stands before a phrase, in its clause and near, that is not its own."""
    if any(each.text in _DENIES for each in variant):
        return False
    if start and tokens[start - 1].text == "no" and tokens[start - 1].clause == tokens[start].clause:
        return True
    for each in reversed(tokens[max(0, start - _SCOPE) : start]):
        if each.clause != tokens[start].clause or each.text in ("but", "only"):
            return False
        if each.text in _DENIES:
            return True
    return False


def _found(phrase: tuple[Token, ...], tokens: tuple[Token, ...]) -> list[range]:
    """Return where a phrase stands, word by word."""
    size = len(phrase)
    return [
        range(start, start + size)
        for start in range(len(tokens) - size + 1 if size else 0)
        if all(_meets(wanted, tokens[start + number]) for number, wanted in enumerate(phrase))
    ]


def _meets(wanted: Token, said: Token) -> bool:
    if wanted.text == said.text:
        return (wanted.unit or "") == (said.unit or "")
    # A name may stand with where it belongs: `Session.max_age` says `max_age`.
    return wanted.unit is None and said.named and said.text.endswith(f".{wanted.text}")


def _spans(phrases: Iterable[Iterable[str]], tokens: tuple[Token, ...]) -> set[int]:
    return {
        place for variants in phrases for each in variants for span in _found(tokens_of(each), tokens) for place in span
    }
