"""Trains quoters: by imitation of short ways to right answers, then by the reward of their own answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor

from natlang_envs.autoexplore.answering.env import AutoExploreAnswerEnv
from natlang_envs.autoexplore.answering.episode import LONGEST, AnswerEpisode
from natlang_envs.autoexplore.answering.passages import Passage, passages, picks_of, words_for
from natlang_envs.autoexplore.answering.plan import answer_plan
from natlang_envs.autoexplore.answering.score import Citation
from natlang_envs.autoexplore.dataset.labels import WORDINGS
from natlang_envs.autoexplore.tasks import LABELLED, ExploreSplit
from natlang_judges import learning
from natlang_judges.learning import Report, RewardSettings, SeedReport, TrainedJudge, take_step
from natlang_judges.quoter.agent import QUOTER, QuoterNetwork
from natlang_judges.quoter.evidence import MOST_PICKS, passage_features, word_features
from natlang_judges.searcher.network import SEARCHER

_BATCH, _EVERY = 32, 40


@dataclass(frozen=True, kw_only=True)
class QuoterSettings(RewardSettings):
    """How a quoter learns."""

    epochs: int = 15  # passes over the questions in imitation
    updates: int = 240
    imitation_rate: float = 3e-3
    samples: int = 8


class Part(NamedTuple):
    """A part of the right file: the features of its passages, and which of them are right to quote, or to read on."""

    features: Tensor
    right: Tensor


class Question:
    """A question in the listed form, at the file that answers it."""

    def __init__(self, episode: AnswerEpisode, plan: Sequence[str]) -> None:
        self.question = episode.goal.question
        self.episode = episode
        quotes = [int(each.removeprefix("quote ")) for each in plan if each.startswith("quote ")]
        for command in plan[: plan.index(f"quote {quotes[0]}")]:
            episode.act(command, last=False)
        assert episode.opened is not None
        self.opened, navigation = episode.opened, episode.inner.navigation
        path, last = self.opened.path, self.opened.part
        self.found = passages(navigation, path, last)
        self.parts: list[Part] = []
        for part in range(max(0, last - 2), last + 1):
            here = passages(navigation, path, part)
            more = last > part or navigation.parts(path) > part + 1
            features = passage_features(self.question, [each.text for each in here], more)
            right = torch.zeros(len(features), dtype=torch.bool)
            if part < last:
                right[-1] = True
            for at, each in enumerate(here):
                right[at] = part == last and (each.line == quotes[0] or self._answers(episode, path, each))
            if len(features):
                self.parts.append(Part(features, right))
        self.picks = [each.removeprefix("pick ") for each in plan if each.startswith("pick ")]
        self.quoted = next(each for each in self.found if each.line == quotes[0])

    @staticmethod
    def _answers(episode: AnswerEpisode, path: str, passage: Passage) -> bool:
        """Return whether a passage proves the answer and has words for each atom."""
        words = picks_of(passage)
        said = all(any(words_for(each, words) for each in variants) for variants in episode.key.atoms)
        return said and episode.scored("", [Citation(path, passage.line)]).cited

    def picking(self) -> list[tuple[Tensor, Tensor]]:
        """Return the features of each choice of a word on the way to the right answer, and which choices are right."""
        words = picks_of(self.quoted)
        wanted = [each for each in self.picks if each in words]
        steps: list[tuple[Tensor, Tensor]] = []
        for count in range(len(wanted) + 1):
            left = [each for each in words if each not in wanted[:count]]
            features = word_features(self.question, self.quoted.text, left, wanted[:count])
            right = torch.zeros(len(features), dtype=torch.bool)
            right[left.index(wanted[count]) if count < len(wanted) else -1] = True
            steps.append((features, right))
        return steps


def load_questions(split: str, dataset: str = LABELLED) -> list[Question]:
    found: list[Question] = []
    for wording in WORDINGS if dataset == LABELLED else ("natural",):
        env = AutoExploreAnswerEnv("listed", dataset=dataset, split=cast("ExploreSplit", split), wording=wording)
        for task_id in env.tasks.ids():
            env.reset(options={"task_id": task_id})
            plan = answer_plan(env.episode, LONGEST)
            if plan and sum(each.startswith("quote ") for each in plan) == 1:
                found.append(Question(env.episode, plan))
    return found


def play(network: QuoterNetwork, asked: Question, generator: torch.Generator | None) -> tuple[Tensor, bool]:
    """Quote and pick from the part that has the evidence; return the log-probability, and whether that is right."""
    features = asked.parts[-1].features[: len(asked.found)]
    scores = network.of_passages(features)
    chosen = _chosen(scores, generator)
    total, passage = scores[chosen], asked.found[chosen]
    words = picks_of(passage)
    picked: list[str] = []
    while len(picked) < MOST_PICKS:
        left = [each for each in words if each not in picked]
        scores = network.of_words(word_features(asked.question, passage.text, left, picked))
        at = _chosen(scores, generator)
        total = total + scores[at]
        if at == len(left):
            break
        picked.append(left[at])
    cited = Citation(asked.opened.path, passage.line)
    return total, asked.episode.scored(" ".join(picked), [cited]).success


def _chosen(scores: Tensor, generator: torch.Generator | None) -> int:
    if generator is None:
        return int(scores.argmax())
    return int(torch.multinomial(scores.detach().exp(), 1, generator=generator))


@torch.no_grad()
def shares(network: QuoterNetwork, questions: Sequence[Question]) -> dict[str, float]:
    """Return the shares of right answers where the right part is open, greedily and sampled."""
    generator = torch.Generator().manual_seed(0)
    ways = {"greedy": None, "sampled": generator}
    return {how: sum(play(network, each, way)[1] for each in questions) / len(questions) for how, way in ways.items()}


def imitate(network: QuoterNetwork, train: Sequence[Question], settings: QuoterSettings, seed: int) -> None:
    picks = [step for each in train for step in each.picking()]
    parts = [part for each in train for part in each.parts]
    optimizer = torch.optim.AdamW(
        [*network.passages.parameters(), *network.words.parameters()], settings.imitation_rate, weight_decay=1e-2
    )
    choose = random.Random(seed)
    network.train()
    for _ in range(settings.epochs):
        for scored, steps in ((network.of_passages, parts), (network.of_words, picks)):
            order = choose.sample(steps, len(steps))
            for start in range(0, len(order), _BATCH):
                losses = [-scored(features)[right].logsumexp(0) for features, right in order[start : start + _BATCH]]
                take_step(network, optimizer, torch.stack(losses).mean())


def reinforce(
    network: QuoterNetwork,
    train: Sequence[Question],
    validation: Sequence[Question],
    settings: QuoterSettings,
    seed: int,
    report: Report,
) -> None:
    """Train by reward; keep the weights that answer most validation questions, greedily and sampled."""
    parameters = [*network.passages.parameters(), *network.words.parameters()]
    optimizer, schedule = learning.reward_optimizer(parameters, settings, settings.updates)
    generator, choose = torch.Generator().manual_seed(seed), random.Random(seed)
    best, kept = -1.0, network.state_dict()
    for update in range(settings.updates + 1):
        if update % _EVERY == 0 or update == settings.updates:
            found = shares(network, validation)
            value = sum(found.values()) / len(found)
            report(update, settings.updates, value)
            if value >= best:
                best, kept = value, {name: weights.clone() for name, weights in network.state_dict().items()}
        if update < settings.updates:
            games = [
                play(network, each, generator)
                for each in choose.choices(train, k=_BATCH)
                for _ in range(settings.samples)
            ]
            won = torch.tensor([right for _, right in games], dtype=torch.float32)
            gains = learning.advantages(won.reshape(-1, settings.samples)).reshape(-1)
            take_step(network, optimizer, -(gains * torch.stack([total for total, _ in games])).mean())
            schedule.step()
    network.load_state_dict(kept)


def train_quoters(
    out: Path, searcher: Path, seeds: int, settings: QuoterSettings, report: SeedReport, dataset: str = LABELLED
) -> list[TrainedJudge]:
    """Train a quoter for each seed by imitation, then by reward; `searcher` has the weights that find files."""
    train, validation = (load_questions(split, dataset) for split in ("train", "validation"))

    def imitation(folder: Path, seed: int, report: Report) -> QuoterNetwork:
        network = QuoterNetwork()
        network.searcher.load_state_dict(SEARCHER.read(searcher).state_dict())
        imitate(network, train, settings, seed)
        network.eval()
        report(settings.epochs, settings.epochs, shares(network, validation)["greedy"])
        return network

    def reward(folder: Path, seed: int, report: Report) -> QuoterNetwork:
        network = QUOTER.read(folder / "imitation.safetensors")
        reinforce(network, train, validation, settings, seed, report)
        return network

    about = {"dataset": dataset, "searcher": str(searcher), **asdict(settings)}
    stages = {"imitation": imitation, "reward": reward}
    return learning.train_seeds(out, seeds, about, QUOTER, stages, lambda network: shares(network, validation), report)
