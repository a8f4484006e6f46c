"""Teaches the judge: first by imitation of a teacher that sees the answers, then by the reward of its own games."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from natlang_judges.searcher.games import Games, Questions
from natlang_judges.searcher.judge import MOST, NAME, READ, SEARCH, Judge, Options, draw, drawn
from natlang_judges.searcher.walking import Marks, WalkGames, WalkQuestions

_BATCH = 64  # questions
_DOUBT = 0.003  # what doubt about the kind of step is worth, where a game won is worth 1

AnyQuestions = Questions | WalkQuestions
AnyGames = Games | WalkGames
Report = Callable[[int, int, float], None]


class Settings(NamedTuple):
    """How the judge learns.

    Attributes:
        epochs: Passes over the questions in imitation.
        updates: Updates by reward.
        samples: Games of a question in an update; each is compared with the others.
        imitation_rate: Learning rate, at its peak.
        reward_rate: Learning rate at the start; it falls to 0.
        negatives: Whether imitation also meets what the judge itself chooses, wrong files and folders included.
    """

    epochs: int = 5
    updates: int = 80
    samples: int = 4
    imitation_rate: float = 3e-3
    reward_rate: float = 1e-3
    negatives: bool = True


def _chance(options: Options, kind: Tensor, item: Tensor) -> Tensor:
    """Return the logarithms of the chances of steps."""
    found = options.kind.gather(1, kind[:, None])[:, 0]
    for number, chances in enumerate(options.items):
        of_item = chances.gather(1, item[:, None].clamp_max(chances.shape[1] - 1))[:, 0]
        found = found + torch.where(kind == number, of_item, torch.zeros_like(of_item))
    return found


@torch.no_grad()
def play(judge: Judge, questions: AnyQuestions, generator: torch.Generator | None = None) -> Tensor:
    """Return which games are won, greedily or with drawn steps."""
    judge.eval()
    won: list[Tensor] = []
    for rows in torch.arange(len(questions.hard)).split(4 * _BATCH):
        games = questions.games(rows)
        for _ in range(MOST):
            state = games.state()
            if games.over.all():
                break
            games.act(*draw(judge(games.known, state), generator))
        won.append(games.won)
    return torch.cat(won)


def shares(judge: Judge, questions: AnyQuestions, sampled: bool) -> tuple[float, ...]:
    """Return the shares of games won, of natural questions and, where there are any, of hard ones."""
    won = play(judge, questions, torch.Generator().manual_seed(0) if sampled else None).float()
    return tuple(won[questions.hard == hard].mean().item() for hard in (False, True) if (questions.hard == hard).any())


def _loss(chances: Tensor, right: Tensor) -> Tensor:
    """Return how unlikely the right items are together in each row, 0 where there are none."""
    found = torch.logsumexp(chances.masked_fill(~right, -1e9), -1)
    return torch.where(right.any(-1), -found, torch.zeros_like(found))


def demonstrated(taught: tuple[Tensor, Marks], may: Marks) -> tuple[Tensor, Tensor]:
    """Return the steps of the teacher: the right page or word, the right file, and its name once it is read."""
    kind, right = taught
    kind = torch.where((kind == READ) & ~(right[READ] & may[READ]).any(1), NAME, kind)
    items = [(those & each).int().argmax(1) for those, each in zip(right, may, strict=True)]
    return kind, torch.stack(items, 1).gather(1, kind[:, None])[:, 0]


def _imitation(judge: Judge, games: AnyGames, negatives: bool, generator: torch.Generator) -> Tensor:
    """Return the loss in games as the teacher plays them.

    With `negatives`, what is played is the judge's own choice of files and folders, so that it learns from the lists
    and texts that it will meet; without, the shortest way to a right file, which is read and named.
    """
    losses: list[Tensor] = []
    for _ in range(MOST):
        state = games.state()
        if games.over.all():
            break
        options = judge(games.known, state)
        kind, right = games.teach(options.may)
        if options.where is None:
            told = (kind == SEARCH, kind == READ, kind != SEARCH)
            loss = -options.kind.gather(1, kind[:, None])[:, 0]
        else:  # which kind of step comes next follows from where the answer may be
            told = (kind < 0, kind >= 0, kind >= 0)
            loss = _loss(options.where, torch.cat([right[NAME], right[SEARCH]], 1))
        for chances, those, may, now in zip(options.items, right, options.may, told, strict=True):
            loss = loss + _loss(chances, those & may & now[:, None])
        if negatives and options.where is not None:
            kind, item = draw(options, generator)
        else:
            step, item = demonstrated((kind, right), options.may)
            if negatives:
                item = torch.where(kind == SEARCH, item, drawn(options.items[READ].detach(), generator))
            else:
                kind = step
        losses.append(loss.masked_fill(games.over, 0))
        games.act(kind, item)
    return torch.stack(losses).sum(0).mean()


def _by_reward(judge: Judge, games: AnyGames, samples: int, generator: torch.Generator) -> Tensor:
    """Return the loss of games that the judge plays itself: each is compared with the others of its question (RLOO)."""
    said, doubt = torch.zeros(len(games.over)), torch.zeros(len(games.over))
    for _ in range(MOST):
        state = games.state()
        if games.over.all():
            break
        options = judge(games.known, state)
        kind, item = draw(options, generator)
        said = said + _chance(options, kind, item).masked_fill(games.over, 0)
        doubt = doubt - (options.kind.exp() * options.kind.clamp_min(-50)).sum(1).masked_fill(games.over, 0)
        games.act(kind, item)
    groups = games.won.float().reshape(-1, samples)
    others = (groups.sum(1, keepdim=True) - groups) / (samples - 1)
    return -((groups - others).reshape(-1) * said).mean() - _DOUBT * doubt.mean()


def imitate(
    judge: Judge, train: AnyQuestions, validation: AnyQuestions, settings: Settings, seed: int, report: Report
) -> None:
    """Teach by imitation."""
    steps = settings.epochs * -(-len(train.hard) // _BATCH)
    optimizer = torch.optim.AdamW(judge.parameters(), weight_decay=3e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.imitation_rate, total_steps=max(1, steps))
    generator = torch.Generator().manual_seed(seed)
    passes = [torch.randperm(len(train.hard), generator=generator) for _ in range(settings.epochs)]
    order = torch.cat(passes).split(_BATCH) if passes else ()

    def update(step: int) -> Tensor:
        judge.train()
        return _imitation(judge, train.games(order[step]), settings.negatives, generator)

    _learn(judge, optimizer, schedule, len(order), update, validation, report, choosing=False)


def reinforce(
    judge: Judge, train: AnyQuestions, validation: AnyQuestions, settings: Settings, seed: int, report: Report
) -> None:
    """Teach by reward, without dropout; keep what wins most validation games, greedily and sampled."""
    optimizer = torch.optim.AdamW(judge.parameters(), settings.reward_rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=settings.updates)
    generator = torch.Generator().manual_seed(seed)

    def update(_: int) -> Tensor:
        judge.eval()
        rows = torch.randint(len(train.hard), (_BATCH,), generator=generator).repeat_interleave(settings.samples)
        return _by_reward(judge, train.games(rows), settings.samples, generator)

    _learn(judge, optimizer, schedule, settings.updates, update, validation, report, choosing=True)


def _learn(
    judge: Judge,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    steps: int,
    update: Callable[[int], Tensor],
    validation: AnyQuestions,
    report: Report,
    choosing: bool,
) -> None:
    """Take steps; where `choosing`, keep the weights of those looked at that win most validation games."""
    best, kept = -1.0, {}
    for step in range(steps + 1):
        if step == steps or (choosing and step % 40 == 0):
            each = [*shares(judge, validation, False), *shares(judge, validation, True)]
            value = sum(each) / len(each)
            report(step, steps, value)
            if value >= best:
                best, kept = value, {name: value.clone() for name, value in judge.state_dict().items()}
        if step < steps:
            optimizer.zero_grad()
            update(step).backward()
            torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    judge.load_state_dict(kept)
