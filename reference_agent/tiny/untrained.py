"""The tiny Llama and its tokenizer before anything is learned: their sizes, and how the weights begin.

The tokenizer is a byte-level BPE, trained on sample prompts of an environment. The few words that carry information are
tokens of their own; the phrases between them become one token each. This keeps prompts, and so the cost of a step,
small. Bytes are the fallback, so any text can be encoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaForCausalLM
from transformers.tokenization_utils_fast import PreTrainedTokenizerFast  # pyright: ignore[reportMissingImports]

from natlang_envs.prompt import LABELS
from reference_agent.run.config import ModelConfig

END = "<|end|>"
INITIALIZER_RANGE = 0.08
_SHARP = 10.0  # biases that make a head attend to one position: all others score about 12 lower
_FEW = 26  # labels, the letters; where there are more commands, there are more words too
_FEW_WORDS = 100
_LETTERS = r"(?<=\n)[A-Z](?=\. )"
_PAIRS = r"(?<=\n)(?:[A-Z][a-z]?|[a-z])(?=\. |\z)"


def make_tokenizer(texts: Sequence[str], words: Sequence[str], labels: int = _FEW) -> PreTrainedTokenizerFast:
    """Train a tokenizer on sample prompts; `words` become single tokens, as digits and so many labels of actions do."""
    kept = "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
    few = labels <= _FEW
    pattern = Regex(rf"{_LETTERS if few else _PAIRS}| ?\b(?:{kept})\b| ?\d")
    tokenizer, split = Tokenizer(models.BPE()), pre_tokenizers.Split(pattern, behavior="isolated")
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, in_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1_024 if few and len(words) <= _FEW_WORDS else 4_096,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    each_word = [f"{space}{word}" for word in [*words, *"0123456789"] for space in ("", " ")]
    listed = [] if few else [f"\n{label}" for label in LABELS[:labels]]
    tokenizer.train_from_iterator([*texts, *[*each_word, *listed] * len(texts)], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)


def tiny_llama(config: ModelConfig, vocabulary: int, end: int) -> Any:
    """Return an untrained Llama of the config's sizes; torch's seed draws its weights."""
    # Rotary positions, because a path of another length moves all that follows: with GPT-2's learned positions a
    # model that compares coordinates at one place (100% right) is blind to them four tokens further on (0%).
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            max_position_embeddings=config.positions,
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.inner,
            # At the usual 0.02 so small a model stays at chance on reading the labels for hundreds of steps.
            initializer_range=INITIALIZER_RANGE,
            tie_word_embeddings=True,
            attention_bias=config.mimetic,
            **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), end),
        )
    )
    if config.mimetic:
        _start_mimetic(model)
    return model


def _start_mimetic(model: Any) -> None:
    """Initialise attention to find and copy equal tokens; one head attends to the previous token.

    Together they find what followed an equal token before anything is learned. The first layer's head finds its
    position by its biases alone: the angle that a position adds to the fastest of its rotary pairs.
    """
    for layer in model.model.layers:
        attention = layer.self_attn
        attention.k_proj.weight.data.copy_(attention.q_proj.weight.data)
        attention.o_proj.weight.data.copy_(attention.v_proj.weight.data.T)
    first = model.model.layers[0].self_attn
    angles = model.model.rotary_emb.inv_freq
    pairs, fastest = len(angles), len(angles) // 2
    for projection in (first.q_proj, first.k_proj):
        projection.weight.data[: 2 * pairs] = 0.0
    first.k_proj.bias.data[:fastest] = _SHARP
    first.q_proj.bias.data[:fastest] = _SHARP * angles[:fastest].cos()
    first.q_proj.bias.data[pairs : pairs + fastest] = -_SHARP * angles[:fastest].sin()
