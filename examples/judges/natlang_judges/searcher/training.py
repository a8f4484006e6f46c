"""Trains searchers: first by imitation of a teacher that sees the answers, then by the reward of their own games."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import OneCycleLR

from natlang_envs.autoexplore.tasks import LABELLED
from natlang_judges import learning
from natlang_judges.learning import Report, RewardSettings, SeedReport, TrainedJudge, take_step
from natlang_judges.searcher.games import Games, Questions
from natlang_judges.searcher.network import (
    MOST,
    NAME,
    READ,
    SEARCH,
    SEARCHER,
    ByKind,
    SearcherNetwork,
    StepScores,
    WalkerNetwork,
    choose,
    choose_step,
)
from natlang_judges.searcher.questions import load_questions, load_walks
from natlang_judges.searcher.walking import WalkGames, WalkQuestions

_BATCH = 64  # questions
_ENTROPY = 0.003  # weight of the entropy of the kind of step, where a game won is worth 1
_EVERY = 40  # updates by reward between two looks at the validation games

AnyQuestions = Questions | WalkQuestions
AnyGames = Games | WalkGames


@dataclass(frozen=True, kw_only=True)
class SearcherSettings(RewardSettings):
    epochs: int = 5  # passes over the questions in imitation
    updates: int = 80
    imitation_rate: float = 3e-3  # learning rate at its peak
    negatives: bool = True  # imitation also meets what the network itself chooses, wrong files and folders included


def train_searchers(
    out: Path,
    seeds: int,
    settings: SearcherSettings,
    report: SeedReport,
    dataset: str = LABELLED,
    depth: int | None = None,
    start: Path | None = None,
) -> list[TrainedJudge]:
    """Train a searcher for each seed by imitation, then by reward; see `learning.train_seeds`.

    It searches for words, or with a `depth` walks through folders to files of depth 1 or 2, or 0 for any. `start` is a
    folder of searchers of another depth, whose weights after reward each seed begins with.
    """
    train, validation = (
        load_questions(split, dataset) if depth is None else load_walks(split, dataset, depth or None)
        for split in ("train", "validation")
    )

    def imitation(folder: Path, seed: int, report: Report) -> SearcherNetwork:
        network = SearcherNetwork() if depth is None else WalkerNetwork()
        if start is not None:
            network.load_state_dict(SEARCHER.read(start / folder.name / "reward.safetensors").state_dict())
        imitate(network, train, settings, seed)
        report(settings.epochs, settings.epochs, validated(network, validation))
        return network

    def reward(folder: Path, seed: int, report: Report) -> SearcherNetwork:
        network = SEARCHER.read(folder / "imitation.safetensors")
        reinforce(network, train, validation, settings, seed, report)
        return network

    about = {"dataset": dataset, "depth": depth, "start": start and str(start), **asdict(settings)}
    stages, measure = {"imitation": imitation, "reward": reward}, partial(shares, questions=validation)
    return learning.train_seeds(out, seeds, about, SEARCHER, stages, measure, report)


def steps(network: SearcherNetwork, games: AnyGames) -> Iterator[StepScores]:
    """Yield the network's scores at each step until all games are over; who iterates takes the steps."""
    for _ in range(MOST):
        known, state = games.observe()
        if games.over.all():
            break
        yield network(known, state)


@torch.no_grad()
def play(network: SearcherNetwork, questions: AnyQuestions, generator: torch.Generator | None = None) -> Tensor:
    """Return which games are won, sampled by the generator, or greedily without one."""
    network.eval()
    won: list[Tensor] = []
    for rows in torch.arange(len(questions.hard)).split(4 * _BATCH):
        games = questions.games(rows)
        for scores in steps(network, games):
            games.act(*choose_step(scores, generator))
        won.append(games.won)
    return torch.cat(won)


def shares(network: SearcherNetwork, questions: AnyQuestions) -> dict[str, float]:
    """Return the shares of games won greedily and sampled, for each wording that there is."""
    found: dict[str, float] = {}
    for how, generator in (("greedy", None), ("sampled", torch.Generator().manual_seed(0))):
        won = play(network, questions, generator).float()
        for wording, of in (("natural", ~questions.hard), ("hard", questions.hard)):
            if of.any():
                found[f"{wording} {how}"] = won[of].mean().item()
    return found


def validated(network: SearcherNetwork, validation: AnyQuestions) -> float:
    found = shares(network, validation)
    return sum(found.values()) / len(found)


def demonstrated(taught: tuple[Tensor, ByKind], may: ByKind) -> tuple[Tensor, Tensor]:
    """Return the steps of the teacher: the right page or word, the right file, and its name once it is read."""
    kind, right = taught
    kind = torch.where((kind == READ) & ~(right[READ] & may[READ]).any(1), NAME, kind)
    items = [(those & each).int().argmax(1) for those, each in zip(right, may, strict=True)]
    return kind, torch.stack(items, 1).gather(1, kind[:, None])[:, 0]


def _not_right(scores: Tensor, right: Tensor) -> Tensor:
    """Return the negative log-probability of the right items together in each row, 0 where there are none."""
    found = torch.logsumexp(scores.masked_fill(~right, -1e9), -1)
    return torch.where(right.any(-1), -found, torch.zeros_like(found))


def _imitation(network: SearcherNetwork, games: AnyGames, negatives: bool, generator: torch.Generator) -> Tensor:
    """Return the loss in games as the teacher plays them.

    With `negatives`, the network itself chooses the files and folders, so that it learns from the lists and texts that
    it will meet. Without, the shortest way to a right file is played.
    """
    losses: list[Tensor] = []
    for scores in steps(network, games):
        kind, right = games.teach(scores.may)
        if scores.where is None:
            learned = (kind == SEARCH, kind == READ, kind != SEARCH)
            loss = -scores.kind.gather(1, kind[:, None])[:, 0]
        else:  # which kind of step comes next follows from where the answer may be
            learned = (kind < 0, kind >= 0, kind >= 0)
            loss = _not_right(scores.where, torch.cat([right[NAME], right[SEARCH]], 1))
        for of, those, may, now in zip(scores.items, right, scores.may, learned, strict=True):
            loss = loss + _not_right(of, those & may & now[:, None])
        if negatives and scores.where is not None:
            kind, item = choose_step(scores, generator)
        else:
            step, item = demonstrated((kind, right), scores.may)
            if negatives:
                item = torch.where(kind == SEARCH, item, choose(scores.items[READ].detach(), generator))
            else:
                kind = step
        losses.append(loss.masked_fill(games.over, 0))
        games.act(kind, item)
    return torch.stack(losses).sum(0).mean()


def imitate(network: SearcherNetwork, train: AnyQuestions, settings: SearcherSettings, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    passes = [torch.randperm(len(train.hard), generator=generator) for _ in range(settings.epochs)]
    batches = torch.cat(passes).split(_BATCH) if passes else ()
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=3e-2)
    total = settings.epochs * -(-len(train.hard) // _BATCH)
    schedule = OneCycleLR(optimizer, settings.imitation_rate, total_steps=max(1, total))
    network.train()
    for rows in batches:
        take_step(network, optimizer, _imitation(network, train.games(rows), settings.negatives, generator))
        schedule.step()


def _by_reward(network: SearcherNetwork, games: AnyGames, samples: int, generator: torch.Generator) -> Tensor:
    """Return the loss of games that the network plays itself."""
    taken, entropy = torch.zeros(len(games.over)), torch.zeros(len(games.over))
    for scores in steps(network, games):
        kind, item = choose_step(scores, generator)
        chosen = scores.kind.gather(1, kind[:, None])[:, 0]
        for number, of in enumerate(scores.items):
            of_item = of.gather(1, item[:, None].clamp_max(of.shape[1] - 1))[:, 0]
            chosen = chosen + torch.where(kind == number, of_item, 0.0)
        taken = taken + chosen.masked_fill(games.over, 0)
        entropy = entropy - (scores.kind.exp() * scores.kind.clamp_min(-50)).sum(1).masked_fill(games.over, 0)
        games.act(kind, item)
    gains = learning.advantages(games.won.float().reshape(-1, samples)).reshape(-1)
    return -(gains * taken).mean() - _ENTROPY * entropy.mean()


def reinforce(
    network: SearcherNetwork,
    train: AnyQuestions,
    validation: AnyQuestions,
    settings: SearcherSettings,
    seed: int,
    report: Report,
) -> None:
    """Train by reward, without dropout; keep the weights that win most validation games, greedily and sampled."""
    optimizer, schedule = learning.reward_optimizer(network.parameters(), settings, settings.updates)
    generator = torch.Generator().manual_seed(seed)
    best, kept = -1.0, dict[str, Any]()
    for update in range(settings.updates + 1):
        if update % _EVERY == 0 or update == settings.updates:
            value = validated(network, validation)
            report(update, settings.updates, value)
            if value >= best:
                best, kept = value, {name: weights.clone() for name, weights in network.state_dict().items()}
        if update < settings.updates:
            network.eval()
            rows = torch.randint(len(train.hard), (_BATCH,), generator=generator).repeat_interleave(settings.samples)
            take_step(network, optimizer, _by_reward(network, train.games(rows), settings.samples, generator))
            schedule.step()
    network.load_state_dict(kept)
