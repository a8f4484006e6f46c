"""A policy head: the logit of each goal is a learned sum of what memory, the judges and the way say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from natlang_envs.errors import UsageError
from reference_agent.memory.plan import FileGoal, PlanWeights, RecallSituation, choose, goals

CANDIDATES = 8  # places in memory that features tell apart
_HIDDEN = 32
_PLANNED = 2.0  # the logit of the plan's goal beside others, before anything is learned
FEATURES = (
    *("planned", "names", "left", "read", "place", "behind", "share", "later part"),
    *("steps", "back", "parts", "seen", "words", "lift", "margin of words", "margin of lift", "margin of belief"),
)
_OF_READING = ("back", "words", "lift", "margin of words", "margin of lift", "margin of belief")


def features(situation: RecallSituation, listed: Sequence[FileGoal], settings: PlanWeights) -> Tensor:
    """Return what is known of goals [goals, FEATURES], each number of the order of one."""
    beliefs = torch.tensor([each.belief for each in situation.candidates], dtype=torch.float64)
    shares = torch.softmax(beliefs, 0).tolist()
    top = float(beliefs.max()) if len(beliefs) else 0.0
    best = {
        path: (max(each.words for each in judged), max(each.lift for each in judged))
        for path, judged in situation.judgements.items()
    }
    belief_of = {each.path: each.belief for each in situation.candidates}
    planned = choose(situation, settings)
    rows: list[list[float]] = []
    for goal in listed:
        each = goal.candidate
        seen = each.path in best
        words, lift = best.get(each.path, (0.0, 0.0))
        others = [path for path in best if path != each.path]
        names = float(goal.verb == "id")
        margins = [0.0, 0.0, 0.0]
        if seen and others:
            margins[0] = words - max(best[path][0] for path in others)
            margins[1] = lift - max(best[path][1] for path in others)
            margins[2] = each.belief - max(belief_of.get(path, 0.0) for path in others)
        rows.append(
            [
                *(
                    float(goal == planned and not names),
                    names,
                    situation.left / 15,
                    len(best) / 4,
                    min(each.rank, CANDIDATES) / CANDIDATES,
                ),
                *((each.belief - top) / 4, shares[each.rank], float(each.part > 1), goal.steps / 8, goal.back / 8),
                *(goal.parts / 2, float(seen), words, lift / 4, 4 * margins[0], margins[1] / 2, margins[2] / 4),
            ]
        )
    return torch.tensor(rows, dtype=torch.float32).reshape(len(listed), len(FEATURES))


class GoalPolicy(nn.Module):
    """Gives each goal a logit: a small network of one hidden layer, and a sum beside it.

    With `reflects` it is told what was read, as its reflections say; without, it knows its memory and its way.
    """

    def __init__(self, reflects: bool = True) -> None:
        super().__init__()
        told = [float(reflects or name not in _OF_READING) for name in FEATURES]
        self.told: Tensor
        self.register_buffer("told", torch.tensor(told))
        self.hidden = nn.Linear(len(FEATURES), _HIDDEN)
        self.out = nn.Linear(_HIDDEN, 1)
        self.straight = nn.Linear(len(FEATURES), 1, bias=False)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.straight.weight)
        with torch.no_grad():
            self.straight.weight[0, FEATURES.index("planned")] = _PLANNED

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits [...] of goals [..., FEATURES]."""
        inputs = inputs * self.told
        return (self.out(torch.tanh(self.hidden(inputs))) + self.straight(inputs))[..., 0]

    def listed(self, situation: RecallSituation, settings: PlanWeights) -> tuple[list[FileGoal], Tensor]:
        found = goals(situation, settings)
        return found, self(features(situation, found, settings))

    @property
    def reflects(self) -> bool:
        return bool(self.told.all())

    @torch.no_grad()
    def choose(
        self, situation: RecallSituation, settings: PlanWeights, rng: np.random.Generator | None = None
    ) -> FileGoal | None:
        """Return the likeliest goal, or with `rng` one that is sampled; None where there is none."""
        found, logits = self.listed(situation, settings)
        if not found or rng is None:
            return found[int(logits.argmax())] if found else None
        return found[int(rng.choice(len(found), p=logits.double().softmax(0).numpy()))]


def policy_of(content: bytes, path: Path) -> GoalPolicy:
    """Return the policy of a file's content; `path` is named where it holds none."""
    policy = GoalPolicy()
    try:
        weights: Mapping[str, Tensor] = load(content)
        policy.load_state_dict(dict(weights))
    except (SafetensorError, RuntimeError):
        raise UsageError(f"{path} holds no policy: name a folder of `reflect-rl recall`") from None
    if not all(bool(each.isfinite().all()) for each in weights.values()):
        raise UsageError(f"{path} has weights that are not finite: train again")
    return policy.eval()
