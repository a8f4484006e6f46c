"""A small tokenizer for the tiny model, made from sample prompts of an environment.

A few words that carry the information stay tokens of their own (with the space before them); the phrases between them
become one token each. That keeps a prompt short, which is what a step on a CPU costs. Bytes are the fallback, so any
text can be encoded. It does not know what the words mean, and a hub model brings its own tokenizer instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END = "<|end|>"


def make_tokenizer(texts: Sequence[str], words: Sequence[str], vocabulary: int = 1_024) -> PreTrainedTokenizerFast:
    """Train a tokenizer.

    Args:
        texts: Sample prompts.
        words: Words that are to be single tokens; digits and the labels of enumerated actions are so anyway.
        vocabulary: The largest number of tokens.
    """
    kept = "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
    pattern = rf"(?<=\n)[A-Z](?=\. )| ?\b(?:{kept})\b| ?\d"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    each_word = [f"{space}{word}" for word in [*words, *"0123456789"] for space in ("", " ")]
    tokenizer.train_from_iterator([*texts, *each_word * len(texts)], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)
