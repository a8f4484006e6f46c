"""Games for learning: the teacher's, seen with the student's eyes, and the student's own, drawn by its policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from natlang_envs.autoexplore.repository.texts import EXIT
from reference_agent.search.belief import Belief, Rates, Search, believe
from reference_agent.search.games import Played, play
from reference_agent.search.judge import Row
from reference_agent.search.listings import Question
from reference_agent.search.planner import Plan, choose
from reference_agent.search.policy import Policy, Trace, command_features, imitate, reinforce
from reference_agent.search.recipes import UPDATES, Recipe
from reference_agent.search.teacher import BESIDE_STUDENT, Noise, NoisyRates

Inputs = Callable[[Search, Belief, Sequence[str]], Row]
REWARD_SCALE = 15.0
_NEGATIVES = 0.35  # of the teacher's steps; chosen on validation
_LEAST_STEPS = 300  # of imitation; chosen on validation, for what is best before RL


def holds_of(depths: Sequence[int] | None) -> Callable[[str], float]:
    """Return where answers of some depths can lie, as an environment's description states it: 1 there, 0 elsewhere."""
    if depths is None:
        return lambda path: 1.0
    deepest, held = max(depths), frozenset(depths)

    def holds(path: str) -> float:
        if path.endswith("/"):
            return float(path.rstrip("/").count("/") + 1 <= deepest)
        return float(path.count("/") in held)

    return holds


class Exercise(NamedTuple):
    """A question with the student's ratings for it."""

    question: Question
    rates: Rates


@dataclass(frozen=True)
class PracticeConfig:
    """How a policy learns.

    Attributes:
        demonstrations: Games of the teacher for each question; those that it loses are left out.
        games: Games of the teacher in all, in place of that, about questions that are drawn; those that it loses count.
        slips: The chance that the teacher does something else than what it thinks best, drawn among the listed
            commands. Unlike a negative this is imitated, as a slip of a person's would be.
        negatives: The chance that a step of the teacher's is replaced by a wrong one, drawn among the listed commands
            (section 3.2 of the paper). The wrong step is not imitated; how the teacher goes on from there is.
        epochs: Passes over them.
        least_steps: Steps of imitation at least, in further passes where games are few.
        rate: The learning rate of imitation.
        updates: Steps of REINFORCE.
        questions: Questions of an update.
        group: Games of each question.
        rl_rate: The learning rate of REINFORCE.
        entropy: The weight of an entropy bonus.
        step_cost: What a step costs in RL; 1 is the environment's own reward, by which it pays to give up early.
    """

    demonstrations: int = 3
    games: int | None = None
    slips: float = 0.0
    negatives: float = 0.0
    epochs: int = 12
    least_steps: int = 0
    rate: float = 3e-3
    updates: int = UPDATES
    questions: int = 12
    group: int = 4
    rl_rate: float = 3e-3
    entropy: float = 0.003
    step_cost: float = 0.1


def config_of(recipe: Recipe) -> PracticeConfig:
    """Return how a policy learns: where answers lie deep, a cost of steps would teach it to give up."""
    negatives = _NEGATIVES if recipe.negatives else 0.0
    least = _LEAST_STEPS if recipe.games is not None else 0
    config = PracticeConfig(games=recipe.games, slips=recipe.slips, negatives=negatives, least_steps=least)
    return config if recipe.kind == "depth1" else replace(config, step_cost=0.0, rl_rate=2e-3)


def demonstrate(
    exercise: Exercise,
    holds: Callable[[str], float],
    plan: Plan,
    noise: Noise,
    seed: int,
    inputs: Inputs,
    negatives: float = 0.0,
    slips: float = 0.0,
) -> Trace:
    """Play one game of the teacher; return it with the student's inputs."""
    rates = NoisyRates(exercise.question, np.random.default_rng(seed), noise, exercise.rates)
    errors = np.random.default_rng((seed, 1))  # apart from the noise, which is the same with and without them
    rows: list[Row] = []
    chosen: list[int] = []

    def act(search: Search, commands: tuple[str, ...]) -> str:
        command = choose(search, believe(search, rates, holds), plan).command
        if negatives and errors.random() < negatives:
            # Naming and leaving end the game, so nothing could be learned from them.
            wrong = [each for each in commands if each not in (command, EXIT) and not each.startswith("id ")]
            if wrong:
                return wrong[int(errors.integers(len(wrong)))]
        if slips and errors.random() < slips:
            others = [each for each in commands if each != command]
            command = others[int(errors.integers(len(others)))]
        rows.append(inputs(search, believe(search, exercise.rates, holds), commands))
        chosen.append(commands.index(command))
        return command

    played = play(exercise.question, act)
    return Trace(rows, chosen, [played.reward], played.success)


def perform(
    exercise: Exercise,
    holds: Callable[[str], float],
    policy: Policy,
    rng: np.random.Generator | None,
    inputs: Inputs,
    step_cost: float = 1.0,
) -> tuple[Trace, Played]:
    """Play one game of a policy, drawing by `rng` or taking the best command."""
    rows: list[Row] = []
    chosen: list[int] = []

    def act(search: Search, commands: tuple[str, ...]) -> str:
        row = inputs(search, believe(search, exercise.rates, holds), commands)
        logits = policy.logits(row)
        if rng is not None:
            logits = logits + rng.gumbel(size=len(logits))
        rows.append(row)
        chosen.append(int(logits.argmax()))
        return commands[chosen[-1]]

    played = play(exercise.question, act)
    spared = (1 - step_cost) * (len(rows) - 1)
    return Trace(rows, chosen, [played.reward + spared], played.success), played


def warm_start(
    policy: Policy,
    exercises: Sequence[Exercise],
    holds: Callable[[str], float],
    plan: Plan,
    config: PracticeConfig,
    seed: int,
    inputs: Inputs = command_features,
) -> int:
    """Let a policy imitate the teacher; return how many games it saw."""
    torch.manual_seed(seed)
    if config.games is None:
        turns = [(index, turn) for index in range(len(exercises)) for turn in range(config.demonstrations)]
    else:
        order = np.random.default_rng((seed, 2)).permutation(len(exercises))
        turns = [(int(order[game % len(order)]), game // len(order)) for game in range(config.games)]
    made = (
        demonstrate(
            exercises[index],
            holds,
            plan,
            BESIDE_STUDENT,
            seed * 1_000_003 + index * 101 + turn,
            inputs,
            config.negatives,
            config.slips,
        )
        for index, turn in turns
    )
    traces = [each for each in made if each.success or config.games is not None]
    imitate(policy, traces, config.epochs, config.rate, seed, config.least_steps)
    return len(traces)


def by_reward(
    policy: Policy,
    exercises: Sequence[Exercise],
    holds: Callable[[str], float],
    config: PracticeConfig,
    seed: int,
    inputs: Inputs = command_features,
) -> Iterator[tuple[int, float]]:
    """Train a policy on what its own games earn; yield the update and the share of games that were won in it."""
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.rl_rate)
    for update in range(config.updates):
        optimizer.param_groups[0]["lr"] = config.rl_rate * (1 - update / config.updates)
        groups: list[list[Trace]] = []
        for index in rng.choice(len(exercises), min(config.questions, len(exercises)), replace=False):
            drawn = (
                perform(exercises[index], holds, policy, rng, inputs, config.step_cost) for _ in range(config.group)
            )
            groups.append([trace for trace, _ in drawn])
        reinforce(policy, optimizer, groups, REWARD_SCALE, config.entropy)
        yield update + 1, float(np.mean([trace.success for group in groups for trace in group]))
