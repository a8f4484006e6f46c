"""The settings of a player who remembers, as `reflect-rl recall` and `reflect-rl reproduce` train it."""

from __future__ import annotations

from typing import NamedTuple


class RecallTraining(NamedTuple):
    """From what, how long and how fast a policy learns.

    Attributes:
        model: A model whose lifts are looked at; empty for words alone.
        questions: Questions to learn from and to validate with, each at most so many; None for all.
        epochs: Passes over the teacher's decisions; 0 leaves imitation out.
        updates: Updates by reward; 0 leaves reward out.
        batch: Questions of an update.
        samples: Games of each question in an update; their mean is the baseline.
        rate: Of Adam in imitation; a third of it by reward.
        step: What a step costs, of the environment's 1. At 1 the policy names its first file at once, since six steps
            of reading cost more than they win; boards count games won.
        entropy: What the entropy of a choice is worth, in rewards.
        curriculum: By reward, begin with targets at most one folder deep, then two.
        negatives: The teacher reads in vain before it reads a right file.
        reflections: The policy is told what was read.
    """

    model: str = ""
    questions: int | None = None
    epochs: int = 6
    updates: int = 480
    batch: int = 64
    samples: int = 8
    rate: float = 3e-3
    step: float = 0.05
    entropy: float = 0.01
    curriculum: bool = True
    negatives: bool = True
    reflections: bool = True
