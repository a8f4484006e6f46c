"""Teaches a policy head by the paper's two stages: imitation of a teacher who reads in vain, then reward.

A game is played over kept numbers: what memory brings to mind, and what is said of each part that may be read. It takes
a millisecond: goals are played whole, as `RecallAgent` does, and no text is read again. The reflector is frozen: it
says what is remembered and was read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.files import json_line, write_whole
from natlang_envs.repository.navigation import navigation_of
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.walk import PagePosition, Walk, WalkHistory
from reference_agent.families.autoexplore.memory.questions import RecallTraining
from reference_agent.memory.judging import Judgement, Scale, ShownPart, shown_text
from reference_agent.memory.names import NameMemory
from reference_agent.memory.plan import Candidate, FileGoal, PlanWeights, RecallSituation, choose, goals, located
from reference_agent.memory.policy import GoalPolicy, features

Report = Callable[[int, int, float], None]
SETTINGS = PlanWeights()
_REMEMBERED_STATES = 100_000  # some 400 MB


class Kept(NamedTuple):
    """A question, and all that a game about it may show."""

    label: str  # the question's id
    depth: int  # folders to enter for the nearest target
    right: tuple[bool, ...]  # whether each candidate answers
    candidates: tuple[Candidate, ...]  # what memory brings to mind
    walk: Walk  # where a game begins; it knows the ways to the candidates
    judgements: tuple[tuple[Judgement, ...], ...]  # what is said of the parts of each candidate, from the first


def kept_games(
    memory: NameMemory, labels: Sequence[Label], folders: Mapping[str, Path], scale: Scale
) -> Iterator[Kept]:
    """Yield the games about questions in their natural wording."""
    for label in labels:
        candidates, walk, readings = remembered_parts(memory, label, folders)
        scale.prepare([reading for each in readings for reading in each])
        judgements = tuple(tuple(map(scale, each)) for each in readings)
        right = tuple(each.path in label.targets for each in candidates)
        yield Kept(label.id, label.depth, right, tuple(candidates), walk, judgements)


def remembered_parts(
    memory: NameMemory, label: Label, folders: Mapping[str, Path]
) -> tuple[list[Candidate], Walk, list[list[ShownPart]]]:
    """Return what a question in its natural wording brings to mind, where a game begins, and what may be read."""
    names = [each.name for each in memory.known]
    number, question, walk = names.index(label.repository), label.asked("natural"), Walk()
    recalled = memory.recall(number, question, SETTINGS.files)
    candidates, _ = located(recalled, memory.known[number].files, WalkHistory(walk, {}, {}))
    shows = navigation_of(open_repository(folders[label.repository]), FILE_BUDGET)
    readings = [
        [
            ShownPart(question, each.path, part, shown_text(shows.text(each.path, part - 1)))
            for part in range(1, _parts(each, shows.parts(each.path)) + 1)
        ]
        for each in candidates
    ]
    return candidates, walk, readings


def write_games(path: Path, games: Sequence[Kept]) -> None:
    rows = [[each.label, each.depth, each.right, each.candidates, each.judgements] for each in games]
    write_whole(path, json_line(rows))


def read_games(path: Path, memory: NameMemory) -> list[Kept]:
    names = [each.name for each in memory.known]
    walks = {each.name: Walk() for each in memory.known}
    for name, walk in walks.items():
        located([], memory.known[names.index(name)].files, WalkHistory(walk, {}, {}))
    return [
        Kept(
            label,
            depth,
            tuple(right),
            tuple(
                Candidate(path, rank, part, belief, PagePosition(tuple(folder), page))
                for path, rank, part, belief, (folder, page) in candidates
            ),
            walks[label.partition("/")[0]],
            tuple(tuple(Judgement(*each) for each in parts) for parts in judgements),
        )
        for label, depth, right, candidates, judgements in json.loads(path.read_bytes())
    ]


def _parts(candidate: Candidate, parts: int) -> int:
    """Return the parts of a file that a game may read: on to the believed one where the plan reads on."""
    deep = candidate.part <= SETTINGS.deepest and candidate.rank < SETTINGS.trusted
    return min(parts, candidate.part if deep else 1)


class PlayedGame(NamedTuple):
    """A game to its end: whether it was won, the steps, and whether a right file was read."""

    won: bool
    steps: int
    read: bool


def play(game: Kept, choose: Callable[[RecallSituation], FileGoal | None]) -> PlayedGame:
    """Play a game, a goal at a time, as `RecallAgent` does."""
    walk, left = copy(game.walk), HORIZON
    shown: dict[str, Sequence[Judgement]] = {}
    at = {each.path: number for number, each in enumerate(game.candidates)}
    while True:
        goal = choose(RecallSituation(walk, left, game.candidates, shown))
        read = any(game.right[at[path]] for path in shown)
        if goal is None:
            return PlayedGame(False, HORIZON - left + 1, read)
        left -= goal.steps
        number = at[goal.candidate.path]
        if goal.verb == "id":
            return PlayedGame(game.right[number], HORIZON - left, read)
        walk.here = goal.candidate.listed
        parts = len(shown.get(goal.candidate.path, ())) + goal.parts
        judgements = game.judgements[number]
        shown = {
            **shown,
            goal.candidate.path: judgements[:parts] if parts <= len(judgements) else [*judgements] * parts,
        }


class GoalChoice(NamedTuple):
    """Goals as features [goals, FEATURES], and the number of the chosen one."""

    inputs: Tensor
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
        reads = [each for each in known if each.verb == "cat" and each.candidate.path not in situation.judgements]
        names = [each for each in known if each.verb == "id" and each.candidate.path in situation.judgements]
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
            inputs, listed = _padded([decisions[at].inputs for at in batch.tolist()])
            logits = policy(inputs).masked_fill(~listed, -torch.inf)
            wanted = torch.tensor([decisions[at].chosen for at in batch.tolist()])
            loss = torch.nn.functional.cross_entropy(logits, wanted)
            optimizer.zero_grad()
            loss.backward()  # pyright: ignore[reportUnknownMemberType]
            optimizer.step()
    with torch.no_grad():
        right = sum(int(policy(each.inputs).argmax()) == each.chosen for each in decisions)
    return right / max(1, len(decisions))


def _padded(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return features of different numbers of goals as one tensor, and which goals are there."""
    inputs = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
    sizes = torch.tensor([len(each) for each in rows])
    return inputs, torch.arange(inputs.shape[1]) < sizes[:, None]


def draw(
    policy: GoalPolicy,
    game: Kept,
    settings: PlanWeights,
    chance: torch.Generator,
    met: dict[Hashable, tuple[list[FileGoal], Tensor]] | None = None,
    chances: dict[Hashable, Tensor] | None = None,
) -> tuple[list[GoalChoice], PlayedGame]:
    """Sample a game.

    `met` keeps goals and features for further games, `chances` what this policy makes of them.
    """
    taken: list[GoalChoice] = []
    met = {} if met is None else met
    chances = {} if chances is None else chances

    @torch.no_grad()
    def chooser(situation: RecallSituation) -> FileGoal | None:
        shown = tuple((path, len(judged)) for path, judged in situation.judgements.items())
        state = game.label, situation.walk.here, situation.left, shown
        if state not in met:
            found = goals(situation, settings)
            met[state] = found, features(situation, found, settings)
        found, inputs = met[state]
        if not found:
            return None
        if state not in chances:
            chances[state] = policy(inputs).softmax(0)
        chosen = int(torch.multinomial(chances[state], 1, generator=chance))
        taken.append(GoalChoice(inputs, chosen))
        return found[chosen]

    return taken, play(game, chooser)


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
    states: dict[Hashable, tuple[list[FileGoal], Tensor]] = {}
    for update in range(lessons.updates):
        chances: dict[Hashable, Tensor] = {}
        if len(states) > _REMEMBERED_STATES:
            states.clear()
        deepest = update * 4 // lessons.updates + 1 if lessons.curriculum else HORIZON
        met = [game for game in games if game.depth <= deepest or deepest > 2]
        asked = torch.randint(len(met), (lessons.batch,), generator=chance).tolist()
        rows: list[Tensor] = []
        chosen: list[int] = []
        advantages: list[float] = []
        won = 0
        for question in asked:
            drawn = [draw(policy, met[question], settings, chance, states, chances) for _ in range(lessons.samples)]
            rewards = torch.tensor([reward_of(played, lessons.step) for _, played in drawn]) / HORIZON
            won += sum(played.won for _, played in drawn)
            for (decisions, _), advantage in zip(drawn, (rewards - rewards.mean()).tolist(), strict=True):
                rows += [each.inputs for each in decisions]
                chosen += [each.chosen for each in decisions]
                advantages += [advantage] * len(decisions)
        inputs, listed = _padded(rows)
        logits = policy(inputs).masked_fill(~listed, -torch.inf).log_softmax(1)
        said = logits[torch.arange(len(chosen)), torch.tensor(chosen)]
        entropy = -(logits.exp() * logits.masked_fill(~listed, 0.0)).sum(1)
        games_drawn = lessons.batch * lessons.samples
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
