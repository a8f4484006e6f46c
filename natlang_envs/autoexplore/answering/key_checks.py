"""What must hold for a key: its label's own answer is right, and what everybody could say is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from natlang_envs.autoexplore.answering.episode import LONGEST, AnswerEpisode
from natlang_envs.autoexplore.answering.facts import tokens_of, words_in
from natlang_envs.autoexplore.answering.keys import AnswerKey
from natlang_envs.autoexplore.answering.plan import answer_plan
from natlang_envs.autoexplore.answering.score import score_words
from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.autoexplore.episode import ExploreEpisode
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.repository.texts import FILE_BUDGET


def key_problems(label: Label, key: AnswerKey) -> Iterator[str]:
    """Yield what is wrong with a label's key, without the files."""
    own = score_words(key, label.answer, label)
    if own.problem or own.recall < 1:
        missing = [
            each for each in key.atoms if score_words(AnswerKey(key.id, (each,)), label.answer, label).recall < 1
        ]
        yield f"the label's own answer is wrong: {own.problem or f'it lacks {missing}'}"
    for wording in dict.fromkeys(label.asked(each) for each in key.wordings):
        if score_words(key, wording, label).recall == 1:
            yield f"the question itself says every atom: {wording}"
    for constant in ("Yes.", "No."):
        if score_words(key, constant, label).recall == 1:
            yield f"{constant!r} says every atom"
    if "natural" in key.wordings and "hard" not in key.wordings and not label.natural:
        yield "the label has no natural wording"


def proposed_key(label: Label) -> AnswerKey | None:
    """Return a key of the numbers and names that a label's answer says beyond the question; None where it has none.

    Whoever accepts it decides whether these are the facts that are asked for.
    """
    asked = {each.text for text in (label.question, label.natural) for each in tokens_of(text)}
    words = words_in(label.answer)
    atoms: list[tuple[str, ...]] = []
    for number, word in enumerate(words):
        measured = f"{word} {words[number + 1]}" if number + 1 < len(words) else ""
        (one, *_), both = tokens_of(word) or (None,), tokens_of(measured)
        if one is None or not one.named or one.text in asked:
            continue
        atoms.append((measured, word) if one.unit == "" and len(both) == 1 else (word,))
    return AnswerKey(label.id, tuple(dict.fromkeys(atoms))) if atoms else None


def with_form(label: Label, key: AnswerKey, repository: Path) -> AnswerKey:
    """Return a key that says whether the listed form can give the answer, in the wordings that it is asked in."""
    task = ExploreTask(label.id, repository, label.asked(key.wordings[0]), label.targets, label)
    episode = AnswerEpisode(ExploreEpisode(task, FILE_BUDGET), label, key, "listed")
    return replace(key, listed=bool(answer_plan(episode, LONGEST)))
