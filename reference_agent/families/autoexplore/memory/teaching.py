"""Teaches a policy head by the paper's two stages: imitation of a teacher who reads in vain, then reward.

Games are those of `games`, a millisecond each. The reflector is frozen: it tells what is remembered and was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from natlang_envs.autoexplore.episode import HORIZON
from reference_agent.families.autoexplore.memory.games import Kept, PlayedGame, play
from reference_agent.memory.plan import FileGoal, PlanWeights, RecallSituation, choose, goals
from reference_agent.memory.policy import GoalPolicy, features

Report = Callable[[int, int, float], None]


class RecallTraining(NamedTuple):
    """How long and how fast a policy learns.

    Attributes:
        epochs: Passes over the teacher's decisions; 0 leaves imitation out.
        updates: Updates by reward; 0 leaves reward out.
        questions: Questions of an update.
        samples: Games of each question in an update; their mean is the baseline.
        rate: Of Adam in imitation; a third of it by reward.
        step: What a step costs, of the environment's 1. At 1 the policy names its first file at once, since six steps
            of reading cost more than they win; boards count games won.
        entropy: What the entropy of a choice is worth, in rewards.
        curriculum: By reward, begin with targets at most one folder deep, then two.
        negatives: The teacher reads in vain before it reads a right file.
    """

    epochs: int = 6
    updates: int = 120
    questions: int = 64
    samples: int = 8
    rate: float = 3e-3
    step: float = 0.05
    entropy: float = 0.01
    curriculum: bool = True
    negatives: bool = True


class GoalChoice(NamedTuple):
    """Goals as features [goals, FEATURES], and the number of the chosen one."""

    told: Tensor
    chosen: int


def teach(game: Kept, settings: PlanWeights, negatives: bool) -> list[GoalChoice]:
    """Return what a teacher who knows the right files does: it reads all that the plan reads, and names a right one.

    Without negatives it reads a right file alone. Where the steps lead to no right file, there is no lesson.
    """
    right = {each.path for each, is_right in zip(game.candidates, game.right, strict=True) if is_right}
    taken: list[GoalChoice] = []

    def teacher(situation: RecallSituation) -> FileGoal | None:
        found = goals(situation, settings)
        known = [each for each in found if each.candidate.path in right]
        reads = [each for each in known if each.verb == "cat" and each.candidate.path not in situation.told]
        names = [each for each in known if each.verb == "id" and each.candidate.path in situation.told]
        best = choose(situation, settings)
        if not negatives and (reads or names):
            best = (names or reads)[0]
        elif best is not None and best.verb == "id" and names:
            best = names[0]
        if best is not None:
            taken.append(GoalChoice(features(situation, found, settings), found.index(best)))
        return best

    return taken if play(game, teacher).won else []


def imitate(
    policy: GoalPolicy, games: Sequence[Kept], settings: PlanWeights, lessons: RecallTraining, seed: int
) -> float:
    """Fine-tune on the teacher's decisions; return the share of them that the policy then takes."""
    decisions = [each for game in games for each in teach(game, settings, lessons.negatives)]
    optimizer = torch.optim.Adam(policy.parameters(), lr=lessons.rate)
    chance = torch.Generator().manual_seed(seed)
    for _ in range(lessons.epochs):
        for batch in torch.randperm(len(decisions), generator=chance).split(128):
            told, listed = _padded([decisions[at].told for at in batch.tolist()])
            logits = policy(told).masked_fill(~listed, -torch.inf)
            wanted = torch.tensor([decisions[at].chosen for at in batch.tolist()])
            loss = torch.nn.functional.cross_entropy(logits, wanted)
            optimizer.zero_grad()
            loss.backward()  # pyright: ignore[reportUnknownMemberType]
            optimizer.step()
    with torch.no_grad():
        right = sum(int(policy(each.told).argmax()) == each.chosen for each in decisions)
    return right / max(1, len(decisions))


def _padded(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return features of different numbers of goals as one tensor, and which goals are there."""
    told = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
    sizes = torch.tensor([len(each) for each in rows])
    return told, torch.arange(told.shape[1]) < sizes[:, None]


class Drawn(NamedTuple):
    """A game that was sampled: its decisions and its reward."""

    decisions: list[GoalChoice]
    reward: float


def draw(
    policy: GoalPolicy, game: Kept, settings: PlanWeights, chance: torch.Generator, cost: float = 1.0
) -> tuple[Drawn, PlayedGame]:
    taken: list[GoalChoice] = []

    @torch.no_grad()
    def chooser(situation: RecallSituation) -> FileGoal | None:
        found = goals(situation, settings)
        if not found:
            return None
        told = features(situation, found, settings)
        chosen = int(torch.multinomial(policy(told).softmax(0), 1, generator=chance))
        taken.append(GoalChoice(told, chosen))
        return found[chosen]

    played = play(game, chooser)
    return Drawn(taken, reward_of(played, cost)), played


def reward_of(played: PlayedGame, cost: float) -> float:
    """Return a game's return: what a step costs for each but the last, and 15 or -15 in place of that."""
    return (HORIZON if played.won else -HORIZON) - cost * (played.steps - 1)


def reinforce(
    policy: GoalPolicy,
    games: Sequence[Kept],
    validation: Sequence[Kept],
    settings: PlanWeights,
    lessons: RecallTraining,
    seed: int,
    report: Report = lambda step, steps, value: None,
) -> Iterator[float]:
    """Reinforce by reward, and yield the share of validation games won greedily after each tenth of the updates."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=lessons.rate / 3)
    chance = torch.Generator().manual_seed(seed)
    for update in range(lessons.updates):
        deepest = update * 4 // lessons.updates + 1 if lessons.curriculum else HORIZON
        met = [game for game in games if game.depth <= deepest or deepest > 2]
        questions = torch.randint(len(met), (lessons.questions,), generator=chance).tolist()
        rows: list[Tensor] = []
        chosen: list[int] = []
        advantages: list[float] = []
        won = 0
        for question in questions:
            drawn = [draw(policy, met[question], settings, chance, lessons.step) for _ in range(lessons.samples)]
            rewards = torch.tensor([each.reward for each, _ in drawn]) / HORIZON
            won += sum(played.won for _, played in drawn)
            for (each, _), advantage in zip(drawn, (rewards - rewards.mean()).tolist(), strict=True):
                rows += [decision.told for decision in each.decisions]
                chosen += [decision.chosen for decision in each.decisions]
                advantages += [advantage] * len(each.decisions)
        told, listed = _padded(rows)
        logits = policy(told).masked_fill(~listed, -torch.inf).log_softmax(1)
        said = logits[torch.arange(len(chosen)), torch.tensor(chosen)]
        entropy = -(logits.exp() * logits.masked_fill(~listed, 0.0)).sum(1)
        games_drawn = lessons.questions * lessons.samples
        loss = -(said * torch.tensor(advantages) + lessons.entropy * entropy).sum() / games_drawn
        optimizer.zero_grad()
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        report(update + 1, lessons.updates, won / games_drawn)
        if (update + 1) % max(1, lessons.updates // 10) == 0:
            yield share(policy, validation, settings)


def share(policy: GoalPolicy | None, games: Sequence[Kept], settings: PlanWeights, sampled: int | None = None) -> float:
    """Return the share of games that a policy wins, greedily or drawn by a seed; without one, that of the plan."""
    chance = None if sampled is None else torch.Generator().manual_seed(sampled)
    won = 0
    for game in games:
        if policy is not None and chance is not None:
            won += draw(policy, game, settings, chance)[1].won
        else:
            chooser = choose if policy is None else policy.choose
            won += play(game, partial(chooser, settings=settings)).won
    return won / max(1, len(games))
