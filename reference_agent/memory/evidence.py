"""A judge that was taught: it reads what a language model makes of a question behind a text.

The model is frozen, and only its lower layers are run. The mean of their states over the question's tokens, times
learned weights, says how well the text answers: a number of logits, of which the order within a question matters.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from natlang_envs.errors import UsageError
from reference_agent.memory.judging import Reader, ShownPart, prompt_of
from reference_agent.memory.plan import PlanWeights

DEPTH = 0.6  # the share of the layers that is run
State = NDArray[np.float16]


class EvidenceWeights(NamedTuple):
    """What was learned: the worth of each number of a state, and of a unit of belief beside it."""

    of_state: NDArray[np.float32]  # [width]
    of_belief: float

    def write(self) -> bytes:
        return save({"of_state": self.of_state, "of_belief": np.array([self.of_belief], np.float32)})

    @classmethod
    def read(cls, content: bytes, path: Path) -> EvidenceWeights:
        """Return the weights of a file's content; `path` is named where it holds none."""
        try:
            found = load(content)
            of_state, (of_belief,) = found["of_state"], found["of_belief"]
            if of_state.ndim == 1 and np.isfinite(of_state).all() and np.isfinite(of_belief):
                return cls(of_state, float(of_belief))
        except (SafetensorError, KeyError, ValueError):
            pass
        raise UsageError(f"{path} holds no weights of a judge: train again with `reflect-rl recall`")

    @property
    def plan(self) -> PlanWeights:
        """What the plan weighs where this judge speaks for the texts: words count through the model alone."""
        return PlanWeights(words=0.0, lift=1.0, belief=self.of_belief)


class StateReader(Reader[State]):
    """Reads texts with the lower layers of a language model; arguments are those of `LiftJudge`."""

    _field = "state"

    def _compute(self, readings: Sequence[ShownPart]) -> list[State]:
        return [self._state(each) for each in readings]

    def _state(self, reading: ShownPart) -> State:
        import torch

        model, body = self.model, self._body
        question = model.encode(f" {reading.question}")
        whole = (*model.encode_prompt(prompt_of(reading)), *question)
        model._check_length([whole])
        with torch.no_grad():
            states = body(torch.tensor([whole], device=model.model.device), output_hidden_states=True, use_cache=False)
        state = states.hidden_states[self._depth][0, -len(question) :].float().mean(0)
        return state.cpu().numpy().astype(np.float16)

    @cached_property
    def _depth(self) -> int:
        return round(DEPTH * self.model.model.config.num_hidden_layers)

    @cached_property
    def _body(self) -> Any:
        """The model without its upper layers, where they stand in a list that can be cut."""
        import torch

        body, depth = self.model.model.base_model, self._depth
        if hasattr(body, "layers") and hasattr(body, "norm"):
            body.layers, body.norm = body.layers[:depth], torch.nn.Identity()
        return body

    @staticmethod
    def _encoded(value: State) -> str:
        return base64.b64encode(value.tobytes()).decode()

    @staticmethod
    def _decoded(value: Any) -> State:
        return np.frombuffer(base64.b64decode(value, validate=True), np.float16)


class EvidenceJudge:
    """Judges texts by learned weights of their states."""

    def __init__(self, reader: StateReader, weights: EvidenceWeights) -> None:
        self.reader, self._weights = reader, weights

    def __call__(self, reading: ShownPart) -> float:
        return self.many([reading])[0]

    def many(self, readings: Sequence[ShownPart]) -> list[float]:
        """Return what speaks for each text, in logits."""
        worth = self._weights.of_state.astype(np.float64)
        return [round(float((state * worth).sum()), 4) for state in self.reader.many(readings)]
