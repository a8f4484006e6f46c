"""Teaches a judge of texts from labels: of the files that memory brings to mind, which answer.

One softmax a question over its files, of what speaks for the best of their parts and of belief: the same numbers that
the plan compares when it names a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.errors import UsageError
from reference_agent.families.autoexplore.memory.teaching import remembered_parts
from reference_agent.memory.evidence import EvidenceWeights, StateReader
from reference_agent.memory.names import NameMemory

_DECAY = 1e-4  # of the squares of weights whose inputs have the spread of one over the root of their number
_BELIEF = 4.0  # units of belief that are of the order of one
_ITERATIONS = 80


class JudgeLesson(NamedTuple):
    """A question, and what may be read of the files that memory brings to mind."""

    states: Tensor  # [parts, width]
    file_of: Tensor  # the file of each part
    beliefs: Tensor  # [files]
    right: Tensor  # whether a file answers


def judge_lesson(
    memory: NameMemory, label: Label, folders: Mapping[str, Path], reader: StateReader
) -> JudgeLesson | None:
    """Return the lesson of a label; None where memory does not bring a right file to mind."""
    candidates, _, readings = remembered_parts(memory, label, folders)
    states = reader.many([reading for each in readings for reading in each])
    right = torch.tensor([each.path in label.targets for each in candidates])
    if not right.any():
        return None
    return JudgeLesson(
        torch.from_numpy(np.stack(states)).float(),
        torch.repeat_interleave(torch.tensor(list(map(len, readings)))),
        torch.tensor([each.belief for each in candidates]),
        right,
    )


def teach_judge(lessons: Sequence[JudgeLesson]) -> EvidenceWeights:
    """Return the weights that make right files likeliest; the same lessons make the same weights.

    Raises:
        UsageError: There is no lesson.
    """
    if not lessons:
        raise UsageError("memory brings no right file to mind: there is nothing that a judge could learn")
    whole = torch.cat([each.states for each in lessons])
    middle, spread = whole.mean(0), (whole.std(0) + 1e-6) * whole.shape[1] ** 0.5
    most = max(len(each.beliefs) for each in lessons)
    inputs = (whole - middle) / spread
    owner = torch.cat([each.file_of + number * most for number, each in enumerate(lessons)])
    there, right = torch.zeros(2, len(lessons), most, dtype=torch.bool)
    beliefs = torch.zeros(len(lessons), most)
    for number, each in enumerate(lessons):
        there[number, : len(each.right)] = True
        right[number, : len(each.right)] = each.right
        beliefs[number, : len(each.right)] = (each.beliefs - each.beliefs.max()) / _BELIEF
    of_state, of_belief = torch.zeros(whole.shape[1], requires_grad=True), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([of_state, of_belief], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        texts = torch.full((len(lessons) * most,), -1e9).scatter_reduce(0, owner, inputs @ of_state, "amax")
        logits = (texts.view(len(lessons), most) + of_belief * beliefs).masked_fill(~there, -1e9)
        likely = logits.log_softmax(1).masked_fill(~right, -1e9).logsumexp(1)
        found = -likely.mean() + _DECAY * (of_state**2).sum()
        found.backward()  # pyright: ignore[reportUnknownMemberType]
        return found

    optimizer.step(loss)  # pyright: ignore[reportUnknownMemberType]
    weights = (of_state / spread).detach().numpy().astype(np.float32)
    return EvidenceWeights(weights, round(float(of_belief.detach()) / _BELIEF, 4))
