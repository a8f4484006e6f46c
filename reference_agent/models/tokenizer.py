"""The tokenizer's side of a player, which needs no weights: lengths of texts, labels of actions, prompts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from sys import getsizeof
from typing import Any

import numpy as np
from transformers.models.auto.configuration_auto import AutoConfig

from natlang_envs.errors import UsageError
from natlang_envs.prompt import LABELS, Choice, enumerate_actions, policy_prompt, reflection_prompt
from reference_agent.models.backbone import OTHER, load_tokenizer
from reference_agent.tiny.untrained import END

CHAT_ROLE = (
    "You act in an environment of texts. Answer with the letter of the best of the listed actions, and nothing else."
)
_HERE = "<prompt>"  # where the prompt stands in a chat template
_ANY = "a"  # text
_NUMBER, _ENTRY = 28, 100  # bytes of a token beside its tuple, and of an entry of a dictionary
_log = logging.getLogger(__name__)


def label_tokens(tokenizer: Any) -> dict[str, int]:
    """Return the labels of enumerated actions that are single tokens after a newline, with these."""
    texts = ["\n", *(f"\n{label}" for label in LABELS)]
    newline, *encoded = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return {label: ids[-1] for label, ids in zip(LABELS, encoded, strict=True) if ids and ids[:-1] == newline}


def check_labels(commands: int, labels: int) -> None:
    """Raise `UsageError` if a tokenizer has fewer labels than there are commands."""
    if commands > labels:
        raise UsageError(
            f"{commands} commands need as many single-token labels, this tokenizer has {labels}: "
            "use another model, page the commands, or set head = 'saycan', which needs none"
        )


def context_length(config: Any) -> int:
    """Return the largest number of tokens that a model reads, by its transformers config."""
    text = config.get_text_config()
    length = getattr(text, "n_positions", None) or getattr(text, "max_position_embeddings", None)
    if not length:
        raise UsageError(f"a model of type {config.model_type!r} names no context length, which players need: {OTHER}")
    return int(length)


def beginning(tokenizer: Any) -> tuple[int, ...]:
    """Return the tokens that a tokenizer puts before a text unasked, such as Llama's beginning-of-sequence."""
    whole, text = tokenizer(_ANY)["input_ids"], tokenizer(_ANY, add_special_tokens=False)["input_ids"]
    places = (at for at in range(len(whole)) if whole[at : at + len(text)] == text)
    return tuple(whole[: next(places, 0)])


class Remembered:
    """Texts with their tokens: the last ones, of `limit` bytes at most."""

    def __init__(self, limit: int = 2**28) -> None:
        self.limit, self.size = limit, 0
        self.ids: dict[str, tuple[int, ...]] = {}

    def put(self, text: str, ids: tuple[int, ...]) -> None:
        """Remember a new text, and forget the oldest ones for it."""

        def weight(text: str, ids: tuple[int, ...]) -> int:
            return getsizeof(text) + getsizeof(ids) + _NUMBER * len(ids) + _ENTRY

        self.ids[text] = ids
        self.size += weight(text, ids)
        while self.size > self.limit:
            oldest = next(iter(self.ids))
            self.size -= weight(oldest, self.ids.pop(oldest))


class PromptReader:
    """A tokenizer, its model's context length `positions`, and the `labels` that are single tokens after a newline.

    With `chat` prompts are a user's turn in the tokenizer's chat template, behind which the model's own turn begins.
    Without, they begin with what the tokenizer itself puts before a text.

    `space` stands before a reflection. A pretrained model's words bring their own, so that none ends the prompt; the
    tiny models have learned to read it there.
    """

    def __init__(self, tokenizer: Any, positions: int, chat: bool = False) -> None:
        self.tokenizer, self.positions, self.chat = tokenizer, positions, chat
        self._around = _turn(tokenizer) if chat else None
        self._begin_ids = () if chat else beginning(tokenizer)
        self.space = "" if chat or tokenizer.eos_token == END else " "
        self._known = Remembered()
        self._label_ids = label_tokens(tokenizer)
        self.labels = tuple(self._label_ids)

    @classmethod
    def of(cls, path: str | Path, head: str = "labels", chat: bool = False) -> PromptReader:
        """Return the reader of a model by hub id or folder without loading it. Raises `UsageError` if there is none."""
        tokenizer = load_tokenizer(path)
        reader = PromptReader if head == "labels" else TextReader
        return reader(tokenizer, context_length(AutoConfig.from_pretrained(path)), chat)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text; texts repeat a lot in training, so they are remembered."""
        ids = self._known.ids.get(text)
        if ids is None:
            ids = tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])
            self._known.put(text, ids)
        return ids

    def encode_prompt(self, prompt: str) -> tuple[int, ...]:
        """Return the tokens of a prompt: its text's, behind those that the tokenizer puts before any text."""
        return (*self._begin_ids, *self.encode(prompt)) if self._begin_ids else self.encode(prompt)

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def count_prompt(self, prompt: str) -> int:
        return len(self._begin_ids) + self.count(prompt)

    def labels_for(self, commands: int) -> tuple[str, ...]:
        """Return the labels to draw from for so many commands: just as many, so that a small model meets each often."""
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
        role = f"{CHAT_ROLE}\n\n" if self.chat else ""
        return self._in_turn(role + policy_prompt(state, reflection, choices))

    def ask_reflection(self, state: str) -> str:
        """Return the prompt that the reflector completes with what it thinks of p(s)."""
        return self._in_turn(reflection_prompt(state)).removesuffix(self.space)

    def _in_turn(self, prompt: str) -> str:
        return prompt.rstrip().join(self._around) if self._around else prompt


def _turn(tokenizer: Any) -> tuple[str, str]:
    """Return what stands before and behind a user's turn, up to where the model's own turn begins."""
    if not tokenizer.chat_template:
        raise UsageError("the model's tokenizer has no chat template: set model.chat = false, or leave -chat out")
    turn = [{"role": "user", "content": _HERE}]
    # Llama's templates tell the date, which must not change from run to run; Qwen3's own turn would begin by thinking.
    fixed = {"date_string": "26 Jul 2024", "enable_thinking": False}
    try:
        whole = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, **fixed)
    except Exception as error:  # whatever a template raises
        why = " ".join(str(error).split())
        raise UsageError(f"the chat template fails ({why}): set model.chat = false, or leave -chat out") from None
    before, *behind = whole.split(_HERE)
    if len(behind) != 1:
        raise UsageError("the chat template does not show what a user says: set model.chat = false, or leave -chat out")
    return before, behind[0] if behind[0].endswith("\n") else f"{behind[0]}\n"  # labels are tokens after a newline


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
        return self._in_turn(text_prompt(state, reflection))


class Origin:
    """What a small model has learned to read: the commands of one environment, called `name`."""

    def __init__(self, name: str, commands: Iterable[str]) -> None:
        self._name, self._commands, self._told = name, frozenset(commands), False

    def check(self, commands: Iterable[str]) -> None:
        """Warn once if commands are not the environment's."""
        other = next((each for each in commands if each not in self._commands), None)
        if other is not None and not self._told:
            self._told = True
            _log.warning(
                "this model has learned to read %s alone, not commands like %r: tiny_for(env) makes one that reads an "
                "environment in minutes; load_model('smollm2') or another pretrained model reads any",
                *(self._name, other),
            )
