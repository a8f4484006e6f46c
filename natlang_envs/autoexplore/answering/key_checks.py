"""What must hold for a key: its label's own answer is right, and what everybody could say is not."""

from __future__ import annotations

from collections.abc import Iterator

from natlang_envs.autoexplore.answering.keys import AnswerKey
from natlang_envs.autoexplore.answering.score import score_words
from natlang_envs.autoexplore.dataset.labels import Label


def key_problems(label: Label, key: AnswerKey) -> Iterator[str]:
    """Yield what is wrong with a label's key, without the files."""
    asked = f"{label.question} {label.natural}"
    own = score_words(key, label.answer, asked, (label.repository, *label.targets))
    if own.problem or own.recall < 1:
        missing = [each for each in key.atoms if score_words(AnswerKey(key.id, (each,)), label.answer).recall < 1]
        yield f"the label's own answer is wrong: {own.problem or f'it lacks {missing}'}"
    for wording in filter(None, (label.question, label.natural)):
        if score_words(key, wording).recall == 1:
            yield f"the question itself says every atom: {wording}"
    for constant in ("Yes.", "No."):
        if score_words(key, constant).recall == 1:
            yield f"{constant!r} says every atom"
    if "natural" in key.wordings and "hard" not in key.wordings and not label.natural:
        yield "the label has no natural wording"
