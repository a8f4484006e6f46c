"""The tokenizer's side of a player: lengths of texts, labels of actions, the policy's prompt. It needs no weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoConfig

from natlang_envs.enumeration import Choice, enumerate_actions
from natlang_envs.errors import UsageError
from natlang_envs.prompt import policy_prompt
from reference_agent.models.backbone import load_tokenizer
from reference_agent.models.tokenizer import check_labels, label_tokens


def context_length(config: Any) -> int:
    """Return the largest number of tokens that a model reads, by its transformers config."""
    return int(getattr(config, "n_positions", None) or config.max_position_embeddings)


class PromptReader:
    """A tokenizer, and the context length of its model.

    Attributes:
        tokenizer: The tokenizer.
        positions: The largest number of tokens in a prompt.
        labels: The choice labels that are single tokens after a newline.
    """

    def __init__(self, tokenizer: Any, positions: int) -> None:
        self.tokenizer = tokenizer
        self.positions = positions
        self._ids: dict[str, tuple[int, ...]] = {}
        self._label_ids = label_tokens(tokenizer)
        self.labels = tuple(self._label_ids)

    @classmethod
    def of(cls, path: str | Path, head: str = "labels") -> PromptReader:
        """Return the reader of a model by hub id or folder, whose weights are not loaded.

        Raises:
            UsageError: There is no such model.
        """
        tokenizer = load_tokenizer(path)
        reader = PromptReader if head == "labels" else TextReader
        return reader(tokenizer, context_length(AutoConfig.from_pretrained(path)))

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text; texts repeat a lot in training, so they are remembered."""
        ids = self._ids.get(text)
        if ids is None:
            ids = tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])
            if len(self._ids) > 200_000:
                self._ids.clear()
            self._ids[text] = ids
        return ids

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))

    def labels_for(self, commands: int) -> tuple[str, ...]:
        """Return the labels to draw from for so many commands: just as many, so that a small model meets each often.

        Raises:
            UsageError: There are no commands, or the tokenizer has fewer single-token labels.
        """
        if not commands:
            raise UsageError("the environment lists no commands to choose from: set head = 'text'")
        check_labels(commands, len(self.labels))
        return self.labels[:commands]

    def list_actions(self, commands: Sequence[str], rng: np.random.Generator | None) -> list[Choice]:
        """Return each command with its label; without `rng` labels are in order. See `labels_for` for errors."""
        return enumerate_actions(commands, self.labels_for(len(commands)), rng)

    def answer_tokens(self, labels: Sequence[str]) -> int:
        """Return how many tokens a choice among listed labels takes beside its prompt: one is written."""
        return 1

    def ask(self, state: str, reflection: str | None, choices: Sequence[Choice]) -> str:
        """Return the prompt that the policy completes with one of the choices' labels."""
        return policy_prompt(state, reflection, choices)


def text_prompt(state: str, reflection: str | None) -> str:
    """Return the prompt that an action's text completes: p(s) and the reflection, if there is one."""
    said = [] if reflection is None else [f"Reflection: {reflection}"]
    return "\n".join([state, *said, "Action:", ""])


class TextReader(PromptReader):
    """A reader for a policy that scores the actions' texts: they are their own labels, and the prompt lists none."""

    def list_actions(self, commands: Sequence[str], rng: np.random.Generator | None) -> list[Choice]:
        """Return each command as its own label: nothing is drawn."""
        return [Choice(command, command) for command in commands]

    def answer_tokens(self, labels: Sequence[str]) -> int:
        """Return how many tokens a choice takes beside its prompt: all actions are read."""
        return sum(map(self.count, labels))

    def ask(self, state: str, reflection: str | None, choices: Sequence[Choice]) -> str:
        """Return p(s) and the reflection, then the place for the action."""
        return text_prompt(state, reflection)
