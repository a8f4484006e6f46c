"""The tiny Llama: sizes, and how its weights begin."""

from __future__ import annotations

from typing import Any

from transformers import LlamaConfig, LlamaForCausalLM

from reference_agent.run.config import ModelConfig

INITIALIZER_RANGE = 0.08
_SHARP = 10.0  # biases that make a head attend to one position: all others score about 12 lower


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
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
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
