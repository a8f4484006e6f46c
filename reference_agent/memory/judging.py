"""Judges of a shown text: how well it answers a question, by words or by a language model.

A judge is asked for a number; only the order of the numbers of one question matters.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import fsum, sqrt
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from natlang_envs.repository.words import content_words, question_words
from reference_agent.memory.names import words_asked
from reference_agent.run.config import settled_precision

WINDOW = 1_000  # characters of a shown text that a language model reads: those around most of the question's words
Rarity = Callable[[str], float]
T = TypeVar("T")


class ShownPart(NamedTuple):
    """A part of a file that was shown, for a question."""

    question: str
    path: str
    part: int  # from 1
    text: str


class Judgement(NamedTuple):
    """What is said of a shown text: its share of the question's words, and what a model says, 0 without one."""

    words: float
    lift: float = 0.0  # the lift, or the logits of `EvidenceJudge`


class ModelJudge(Protocol):
    """A judge that reads with a language model."""

    def __call__(self, reading: ShownPart) -> float: ...

    def many(self, readings: Sequence[ShownPart]) -> list[float]: ...


def shown_text(feedback: str) -> str:
    _, _, text = feedback.partition("\n")
    if text.endswith("]") and (at := text.rfind("\n[characters ")) >= 0:
        return text[:at]
    return text


def window_of(question: str, text: str, size: int = WINDOW) -> str:
    """Return the lines of a text, up to so many characters, that hold most of a question's words; the first if equal.

    A word counts the less the more lines hold it.
    """
    if len(text) <= size:
        return text
    wanted = set(question_words(question))
    lines = text.split("\n")
    held = [wanted.intersection(content_words(line)) for line in lines]
    worth = {word: 1 / sum(word in each for each in held) for word in set[str]().union(*held)}
    best, begin, end = -1.0, 0, 0
    for first in range(len(lines)):
        last, length = first, 0
        found = set[str]()
        while last < len(lines) and (last == first or length + len(lines[last]) < size):
            length += len(lines[last]) + 1
            found |= held[last]
            last += 1
        weight = fsum(worth[word] for word in found) + 0.1 * len(found)  # the same in any order of the set
        if weight > best:
            best, begin, end = weight, first, last
        if last == len(lines):
            break
    return "\n".join(lines[begin:end])[:size]


class WordJudge:
    """Judges by words alone: the share of a question's words, by their rarity, that a text or its path holds."""

    def __init__(self, rarity: Rarity) -> None:
        self._rarity = rarity

    def __call__(self, reading: ShownPart) -> float:
        wanted = {word: self._rarity(word) for word in words_asked(reading.question)}
        near = set(words_asked(window_of(reading.question, reading.text)))
        whole = set(words_asked(f"{reading.path}\n{reading.text}"))
        total = sum(wanted.values()) or 1.0
        return sum(rare * ((word in near) + (word in whole)) / 2 for word, rare in wanted.items()) / total


class Reader(ABC, Generic[T]):
    """Reads texts with a language model, each once.

    `model` is a name or folder of a causal language model; `table`, a file of what was computed before (JSON lines), to
    which new rows are added; `device` and `precision` are as in `ModelConfig`.
    """

    _field = ""  # what a row of the table calls the value

    def __init__(self, model: str, table: Path | None = None, device: str = "cpu", precision: str = "auto") -> None:
        self.name, precision = model, settled_precision(precision, device)
        self._settings = (device, precision)
        self._table = table
        kept = read_table(table, f"{model} {precision}", self._field, self._decoded) if table else {}
        self._known: dict[str, T] = kept

    def many(self, readings: Sequence[ShownPart]) -> list[T]:
        """Return the values of readings; new ones are computed together."""
        keys = [_key(each) for each in readings]
        new = {key: each for key, each in zip(keys, readings, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._compute(list(new.values())), strict=True))
            if self._table is not None:
                model = f"{self.name} {self._settings[1]}"
                rows = [
                    {"key": key, "model": model, self._field: self._encoded(self._known[key])}
                    | {**each._asdict(), "text": len(each.text)}
                    for key, each in new.items()
                ]
                with self._table.open("a", encoding="utf-8") as file:
                    file.write("".join(json.dumps(row) + "\n" for row in rows))
        return [self._known[key] for key in keys]

    @abstractmethod
    def _compute(self, readings: Sequence[ShownPart]) -> list[T]:
        """Return the values of readings that are new."""

    @staticmethod
    def _encoded(value: T) -> Any:
        return value

    @staticmethod
    def _decoded(value: Any) -> T:
        return value

    @cached_property
    def model(self) -> Any:
        from reference_agent.models.language_model import LanguageModel
        from reference_agent.models.named import model_source
        from reference_agent.models.saycan import SayCanPolicy
        from reference_agent.run.config import ModelConfig

        device, precision = self._settings
        config = ModelConfig(device=device, precision=precision)
        model = SayCanPolicy(LanguageModel.load(model_source(self.name), config), ends=False)
        model.model.eval()
        return model


class LiftJudge(Reader[float]):
    """Judges by how much likelier a text makes a question: the lift, over the root of the question's tokens."""

    _field = "lift"

    def __init__(self, model: str, table: Path | None = None, device: str = "cpu", precision: str = "auto") -> None:
        super().__init__(model, table, device, precision)
        self._alone: dict[str, float] = {}  # the logarithm of a question's probability without a text

    def __call__(self, reading: ShownPart) -> float:
        """Return the lift over the root of the question's tokens; it does not depend on what else is asked."""
        return self.many([reading])[0]

    @staticmethod
    def _decoded(value: Any) -> float:
        return float(value)

    def _compute(self, readings: Sequence[ShownPart]) -> list[float]:
        import torch

        model = self.model
        asked = [f" {each.question}" for each in readings]
        with torch.no_grad():
            alone = [each for each in dict.fromkeys(asked) if each not in self._alone]
            if alone:
                logits = model.choice_logits(["A question:"] * len(alone), [[each] for each in alone])[:, 0]
                self._alone.update(zip(alone, logits.tolist(), strict=True))
            behind = model.choice_logits(list(map(prompt_of, readings)), [[each] for each in asked])[:, 0].tolist()
        return [
            round((after - self._alone[each]) / sqrt(model.count(each)), 4)
            for after, each in zip(behind, asked, strict=True)
        ]


class Scale:
    """Weighs a shown text by words, and by what a model says where there is a model."""

    def __init__(self, words: WordJudge, lift: ModelJudge | None = None) -> None:
        self._words, self._lift = words, lift
        self._known: dict[ShownPart, Judgement] = {}  # an agent weighs all that was shown again at each step

    def prepare(self, readings: Sequence[ShownPart]) -> None:
        """Judge readings by the model together; on a CPU that is no faster."""
        if self._lift is not None:
            self._lift.many(readings)

    def by_words(self, reading: ShownPart) -> Judgement:
        """Judge by words alone, which takes no time."""
        return Judgement(self._words(reading))

    def __call__(self, reading: ShownPart) -> Judgement:
        found = self._known.get(reading)
        if found is None:
            lift = self._lift(reading) if self._lift is not None else 0.0
            found = self._known[reading] = Judgement(self._words(reading), lift)
        return found


def prompt_of(reading: ShownPart) -> str:
    """Return what a language model reads before the question."""
    return f"{_begin(reading)}A question that this text answers:"


def _begin(reading: ShownPart) -> str:
    return f"File {reading.path}:\n{window_of(reading.question, reading.text)}\n\n"


def _key(reading: ShownPart) -> str:
    content = f"{reading.question}\n{_begin(reading)}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:16]


def read_table(path: Path, model: str, field: str, decoded: Callable[[Any], T]) -> dict[str, T]:
    """Return the values of a table by their keys; a last line that was cut off is removed."""
    found: dict[str, T] = {}
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else [""]
    if lines[-1]:
        write_whole(path, "".join(f"{line}\n" for line in lines[:-1]).encode())
    for number, line in enumerate(lines[:-1], 1):
        try:
            row = cast("Mapping[str, Any]", json.loads(line))
            of, found[str(row["key"])] = row["model"], decoded(row[field])
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{path}, line {number} is no {field}: remove the line, or choose another table") from None
        if of != model:
            raise UsageError(f"{path}, line {number} is of {of}, not of {model}: choose another table")
    return found
