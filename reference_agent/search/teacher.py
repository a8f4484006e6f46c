"""A teacher that searches: the planner with noisy knowledge of the labels, so that it errs as a good searcher would.

It sees what a player sees. Its ratings alone come from the labels: what leads to a target is rated higher on average,
and noise drawn once a game is added, so the path also holds folders entered and files read in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reference_agent.search.belief import Belief, Rates, Search, Thing
from reference_agent.search.judge import Row
from reference_agent.search.listings import Question, leads
from reference_agent.search.planner import Choice


@dataclass(frozen=True)
class Noise:
    """How well the teacher judges, as differences of logits with normal noise of deviation 1 for each entry.

    Attributes:
        folder: How much higher a folder on the way is rated than one that is not.
        file: The same for a target among files.
        text: The same for the text of a target.
    """

    folder: float = 2.6
    file: float = 2.2
    text: float = 4.0


BESIDE_STUDENT = Noise(folder=1.9, file=1.6, text=3.0)  # what the labels add where the student's ratings count too


class NoisyRates:
    """Ratings for one game.

    Args:
        question: The question with its targets.
        rng: Draws the noise.
        noise: How well to judge.
        student: The student's ratings, to which the labels' are added; None for the labels' alone.
    """

    def __init__(
        self, question: Question, rng: np.random.Generator, noise: Noise, student: Rates | None = None
    ) -> None:
        self._question, self._rng, self._noise, self._student = question, rng, noise, student
        self._drawn: dict[str, float] = {}

    def _draw(self, what: str, right: bool, gap: float) -> float:
        """Return a log-likelihood ratio that is as sharp as the noise allows."""
        if what not in self._drawn:
            self._drawn[what] = float(self._rng.normal())
        seen = self._drawn[what] + gap * right
        return gap * seen - gap * gap / 2

    def entries(self, folder: str, entries: Sequence[str], children: dict[str, tuple[str, ...]]) -> Row:
        """Return a logit for each entry of a listing."""
        noise = self._noise
        told = np.array(
            [
                self._draw(each, leads(each, self._question.targets), noise.folder if each[-1] == "/" else noise.file)
                for each in entries
            ],
            np.float32,
        )
        return told if self._student is None else told + self._student.entries(folder, entries, children)

    def text(self, path: str, text: str) -> float:
        """Return what a text tells."""
        told = self._draw(f"text of {path}", path in self._question.targets, self._noise.text)
        return told if self._student is None else told + self._student.text(path, text)


def grade(odds: float) -> str:
    """Return in a word how well a text fits."""
    return "well" if odds > 1.5 else "in part" if odds > -1 else "poorly"


def _name(thing: Thing) -> str:
    return thing.path.rstrip("/").rpartition("/")[2] or "this folder"


def reflection(search: Search, belief: Belief, choice: Choice) -> str:
    """Return one to three sentences: what looks likely, how well the files fit that were read, what to do next."""
    likely = sorted(((chance, thing) for thing, chance in belief.things.items()), key=lambda pair: -pair[0])[:3]
    said: list[str] = []
    if choice.goal == "name" and choice.thing is not None and choice.thing.path in belief.odds:
        said.append(f"{_name(choice.thing)} fits {grade(belief.odds[choice.thing.path])} ({choice.chance:.0%}).")
    elif likely:
        words = ", ".join(f"{_name(thing)} ({chance:.0%})" for chance, thing in likely)
        said.append(f"The answer may be in {words}.")
        told = [
            f"{path.rpartition('/')[2]} fits {grade(belief.odds[path])}"
            for path in search.read_order[-2:]
            if path in belief.odds
        ]
        if told:
            said.append(f"Of what I read, {' and '.join(told)}.")
    said.append(f"Next: {choice.command}.")
    return " ".join(said)
