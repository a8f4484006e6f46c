"""A small tokenizer for the tiny model, made from sample prompts of an environment.

A few words that carry the information stay tokens of their own (with the space before them); the phrases between them
become one token each. That keeps a prompt short, which is what a step on a CPU costs. Bytes are the fallback, so any
text can be encoded. It does not know what the words mean, and a hub model brings its own tokenizer instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from natlang_envs.enumeration import LABELS
from natlang_envs.errors import UsageError

END = "<|end|>"
_LETTERS = r"(?<=\n)[A-Z](?=\. )"
_PAIRS = r"(?<=\n)(?:[A-Z][a-z]?|[a-z])(?=\. |\z)"


class TokenizerSizes(NamedTuple):
    """How much a tokenizer holds.

    Attributes:
        vocabulary: The largest number of tokens.
        labels: How many labels of enumerated actions, in the order of `LABELS`, are single tokens.
    """

    vocabulary: int = 1_024
    labels: int = 26


FEW = TokenizerSizes()


def make_tokenizer(texts: Sequence[str], words: Sequence[str], sizes: TokenizerSizes = FEW) -> PreTrainedTokenizerFast:
    """Train a tokenizer.

    Args:
        texts: Sample prompts.
        words: Words that are to be single tokens; digits and the labels of enumerated actions are so anyway.
        sizes: How much it holds.
    """
    kept = "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
    few = sizes.labels <= 26
    pattern = rf"{_LETTERS if few else _PAIRS}| ?\b(?:{kept})\b| ?\d"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=sizes.vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    each_word = [f"{space}{word}" for word in [*words, *"0123456789"] for space in ("", " ")]
    listed = [] if few else [f"\n{label}" for label in LABELS[: sizes.labels]]
    tokenizer.train_from_iterator([*texts, *[*each_word, *listed] * len(texts)], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)


def label_tokens(tokenizer: Any) -> dict[str, int]:
    """Return the labels of enumerated actions that are single tokens after a newline, with these."""

    def encode(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    newline = encode("\n")
    encoded = {label: encode(f"\n{label}") for label in LABELS}
    return {label: ids[-1] for label, ids in encoded.items() if len(ids) == len(newline) + 1 and ids[:-1] == newline}


def check_labels(commands: int, labels: int) -> None:
    """Raise `UsageError` if a tokenizer has fewer labels than there are commands."""
    if commands > labels:
        raise UsageError(
            f"{commands} commands need as many single-token labels, this tokenizer has {labels}: "
            "use another model, or page the commands"
        )
