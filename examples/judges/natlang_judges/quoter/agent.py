"""The quoter as an agent: `natlang evaluate --agent quoter:FILE`; `quoter-sample:FILE` samples its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, PathStep
from natlang_envs.repository.hits import read_list
from natlang_envs.repository.texts import EXIT, read_question, steps_left
from natlang_judges.judges import JudgeKind
from natlang_judges.quoter.evidence import (
    MOST_PICKS,
    PASSAGE,
    WORD,
    numbered_lines,
    passage_features,
    passages_of,
    without_numbers,
    word_features,
)
from natlang_judges.searcher.agent import SearcherAgent
from natlang_judges.searcher.network import SearcherNetwork

_PARTS = 3  # of a file that are read, one after the other, to quote from it
_KEPT, _LONGEST = 8, 15  # steps that are kept for the answer, and those of a game that the searcher knows


class QuoterNetwork(nn.Module):
    """Scores passages to quote and words to pick, beside a searcher that finds the file."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.searcher = SearcherNetwork()
        self.passages = nn.Sequential(nn.Linear(PASSAGE, width), nn.GELU(), nn.Linear(width, 1))
        self.words = nn.Sequential(nn.Linear(WORD, width), nn.GELU(), nn.Linear(width, 1))

    def of_passages(self, features: Tensor) -> Tensor:
        """Return the logarithm of the probability of each passage of a part, the last one perhaps to read on."""
        return torch.log_softmax(self.passages(features)[..., 0], -1)

    def of_words(self, features: Tensor) -> Tensor:
        """Return the logarithm of the probability of each word to be picked, the last one perhaps `done`."""
        return torch.log_softmax(self.words(features)[..., 0], -1)


def _of_shape(weights: Mapping[str, Tensor]) -> QuoterNetwork:
    return QuoterNetwork(weights["words.0.weight"].shape[0])


QUOTER = JudgeKind("quoter", "quote", _of_shape)


class QuoterAgent:
    """Searches and reads as the searcher does; where that would name a file, quotes it and picks the answer.

    Args:
        weights: A file of `reflect-rl quote`, or what `reflect-rl publish` made of it.
        sampling: Sample each step; else the most probable one is taken.
    """

    def __init__(self, weights: Path, sampling: bool = False) -> None:
        self.sampling = sampling
        self.network = QUOTER.read(weights)
        self._searcher = SearcherAgent(self.network.searcher, sampling)

    def __call__(self, view: AgentInput) -> str:
        scored = self.scores(view)
        commands, scores = list(scored), torch.tensor(list(scored.values()))
        if not self.sampling:
            return commands[int(scores.argmax())]
        generator = torch.Generator().manual_seed(int(view.rng.integers(1 << 31)))
        return commands[int(torch.multinomial(scores, 1, generator=generator))]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        return [self.scores(view).get(each, 0.0) for each in view.admissible_commands]

    @torch.no_grad()
    def scores(self, view: AgentInput) -> dict[str, float]:
        """Return the chance of each command that may be given."""
        commands = view.admissible_commands
        picks = [each.removeprefix("pick ") for each in commands if each.startswith("pick ")]
        if picks:
            return self._pick(view, picks)
        starts = [int(each.removeprefix("quote ")) for each in commands if each.startswith("quote ")]
        opened = "back" in commands
        if not opened and not any(each.startswith("search ") for each in commands) and "# Hits" not in view.observation:
            raise UsageError("agent 'quoter' needs NatLang/AutoExplore-Answer-v0 with form='listed' and search=True")
        step = self._search(view, opened)
        here = view.path[-1].action.removeprefix("cat ") if opened and view.path else ""
        if opened and starts and step == f"id {here}":
            return self._quote(view, here, starts)
        if opened:
            return {"back": 1.0}
        wanted = step.replace("id ", "cat ", 1) if step.startswith("id ") else step
        searches = [each for each in view.path if each.action in commands and each.action.startswith("search ")]
        listing = [each.action for each in searches if wanted[4:] in read_list(each.feedback)]
        return {next((each for each in (wanted, *listing) if each in commands), EXIT): 1.0}

    def _search(self, view: AgentInput, opened: bool) -> str:
        """Return the searcher's step in a game of its own kind: without line numbers, with `id` of what it has read."""
        path = [_as_searched(step) for step in view.path if step.action.startswith(("search ", "cat "))]
        lists = [step for step in path if step.action.startswith("search ")]
        listed = list(read_list(lists[-1].feedback)) if lists else []
        read = [step.action.removeprefix("cat ") for step in path if step.action.startswith("cat ")]
        may = [] if opened else [each for each in view.admissible_commands if each.startswith("search ")]
        may += [f"{verb} {each}" for each in listed for verb in ("cat", "id")]
        may += [f"id {each}" for each in read if each not in listed]
        left = steps_left(view.observation, "quoter")
        spent = min(_LONGEST - len(path), max(1, left - _KEPT + opened))
        shown = view.observation.replace(f"# Steps left\n{left}", f"# Steps left\n{max(1, spent)}")
        return self._searcher(replace(view, path=tuple(path), observation=shown, admissible_commands=tuple(may)))

    def _quote(self, view: AgentInput, path: str, starts: list[int]) -> dict[str, float]:
        """Quote a passage of the part that is open, or go on to the part whose best passage fits best."""
        question, again = read_question(view.task), f"cat {path}"
        shown = [step.feedback for step in view.path if step.action == again]
        lines = numbered_lines(shown[-1])
        texts = passages_of(lines, starts)
        more = again in view.admissible_commands and len(shown) < _PARTS and "this is the end" not in shown[-1][-200:]
        features = passage_features(question, texts, more)
        best = float(self.network.passages(features[: len(texts)]).max())
        if again in view.admissible_commands and steps_left(view.observation, "quoter") > _KEPT - 2:
            for earlier in shown[:-1]:
                before = numbered_lines(earlier)
                found = passage_features(question, [text for text in before.values() if text.strip()], False)
                if before.keys() != lines.keys() and len(found) and float(self.network.passages(found).max()) > best:
                    return {again: 1.0}
        chances = self.network.of_passages(features).exp().tolist()
        return dict(zip([*(f"quote {each}" for each in starts), again], chances, strict=False))

    def _pick(self, view: AgentInput, picks: list[str]) -> dict[str, float]:
        done = [step.action.removeprefix("pick ") for step in view.path if step.action.startswith("pick ")]
        if len(done) >= MOST_PICKS or (done and steps_left(view.observation, "quoter") <= 1):
            return {"done": 1.0}
        text = next(step.feedback for step in reversed(view.path) if step.action.startswith("quote ")).partition("\n")[
            2
        ]
        chances = self.network.of_words(word_features(read_question(view.task), text, picks, done)).exp().tolist()
        return dict(zip([*(f"pick {each}" for each in picks), "done"], chances, strict=False))


def _as_searched(step: PathStep) -> PathStep:
    return step._replace(feedback=without_numbers(step.feedback)) if step.action.startswith("cat ") else step


load, load_sampling = QUOTER.loaders(QuoterAgent)
