"""Writing many texts at once gives what transformers' own `generate` gives for each alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel, MistralConfig, MistralForCausalLM

import reference_agent.models.language_model as module
from reference_agent.data_set import Example
from reference_agent.models import generation
from reference_agent.models.generation import Ngrams, like_length, window, write, write_speculatively
from reference_agent.models.language_model import LanguageModel
from tests.reference_agent.test_model import prompts_of


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_of_like_length_hold_everything_once_and_little_padding(lengths: list[int], budget: int) -> None:
    batches = like_length(lengths, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget
    taken = [lengths[index] for batch in batches for index in batch]
    assert taken == sorted(lengths)


@pytest.mark.parametrize("budget", [1, 60, 10_000])
def test_what_is_written_is_what_generate_writes_one_by_one(model: LanguageModel, budget: int) -> None:
    rng = np.random.default_rng(0)
    size = model.model.config.vocab_size
    prompts = [rng.integers(1, size, count).tolist() for count in (3, 41, 17, 3, 1, 29, 41, 8)]

    def alone(prompt: list[int], end: int) -> list[int]:
        ids = torch.tensor([prompt])
        most = {"max_new_tokens": 12, "do_sample": False}
        written = model.model.generate(
            ids, attention_mask=torch.ones_like(ids), eos_token_id=end, pad_token_id=end, **most
        )[0, len(prompt) :].tolist()
        return written[: written.index(end)] if end in written else written

    texts = write(model.model, prompts, model.end, 12, budget)
    assert texts == [alone(each, model.end) for each in prompts]
    # Now the token that most texts hold ends them, each at its own place, so that rows fall out on the way.
    end = max(range(size), key=lambda token: sum(token in text for text in texts))
    shorter = write(model.model, prompts, end, 12, budget)
    assert shorter == [alone(each, end) for each in prompts]
    assert len({len(each) for each in shorter}) > 1
    assert write(model.model, prompts, end, 0, budget) == [[] for _ in prompts]


@pytest.mark.parametrize("budget", [60, 10_000])
def test_speculative_decoding_writes_the_same_in_fewer_passes(
    model: LanguageModel, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    size = model.model.config.vocab_size
    widths: list[int] = []

    def counted(backbone: Any, cache: Any, ids: list[list[int]], *rest: Any) -> torch.Tensor:
        widths.append(len(ids[0]))
        return check(backbone, cache, ids, *rest)

    check = generation._verify
    monkeypatch.setattr(generation, "_verify", counted)
    for count in (1, 3, 9, 30):
        prompts = [rng.integers(1, size, int(length)).tolist() for length in rng.integers(1, 41, count)]
        told = write(model.model, prompts, model.end, 24, budget)
        # The token that most texts hold ends them, each at its own place, in the middle of drafts too.
        common = max(range(size), key=lambda token: sum(token in text for text in told))
        for end, most in ((model.end, 24), (common, 24), (model.end, 1), (model.end, 0), (common, 7)):
            wanted = write(model.model, prompts, end, most, budget)
            wrong = [rng.permutation(text).tolist() for text in told]
            for like in ([], told, wrong):
                widths.clear()
                assert write_speculatively(model.model, prompts, end, most, budget, like) == wanted
                assert len(widths) <= max(map(len, wanted)), "never more passes than tokens"
                if like is told and count == 1 and (end, most) == (model.end, 24):
                    assert len(widths) < 8, "what is known is checked, not written"
                    assert max(widths) == 1 + generation._DRAFT_LENGTH


def test_drafts_do_not_reach_behind_the_context() -> None:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=40, n_embd=32, n_layer=2, n_head=2, n_positions=32, initializer_range=0.4)
    model = GPT2LMHeadModel(config).eval()
    rng = np.random.default_rng(1)
    prompts = [rng.integers(1, 40, count).tolist() for count in (20, 12, 20)]
    told = write(model, prompts, 0, 12, 10_000)
    assert max(map(len, told)) == 12, "up to the last place there is"
    assert write_speculatively(model, prompts, 0, 12, 10_000, told) == told


def test_what_followed_an_ngram_last_is_its_continuation() -> None:
    seen = Ngrams([[1, 2, 3, 4, 5]])
    assert seen.continuation([2, 3], 8) == [4, 5]
    assert seen.continuation([2, 3], 1) == [4]
    assert seen.continuation([4, 5], 8) == []
    text = [7, 2, 3]
    seen.add(text, 0)
    assert seen.continuation([2, 3], 8) == [4, 5], "nothing follows there yet"
    text.append(9)
    seen.add(text, 3)
    assert seen.continuation([2, 3], 8) == [9]


def test_windows_that_slide_do_not_mix_up_prompts() -> None:
    config = MistralConfig(
        vocab_size=60,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        sliding_window=6,
        initializer_range=0.5,
    )
    torch.manual_seed(0)
    mistral = MistralForCausalLM(config).eval()
    rng = np.random.default_rng(0)
    prompts = [rng.integers(1, 60, count).tolist() for count in (14, 3, 9, 5)]
    assert window(config) == 6, "a draft is verified with all that was read in sight"
    texts = write(mistral, prompts, 0, 10, 10_000)
    assert texts == [write(mistral, [each], 0, 10, 10_000)[0] for each in prompts]
    for prompt, text in zip(prompts, texts, strict=True):
        so_far = prompt
        for token in text:
            with torch.no_grad():
                assert mistral(torch.tensor([so_far])).logits[0, -1].argmax() == token
            so_far = [*so_far, token]


def test_choices_in_batches_of_like_length_are_choices(
    model: LanguageModel, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, labels = prompts_of(model, examples[:20])
    labels[3] = labels[3][:2]
    with torch.no_grad():
        whole = model.choice_logits(prompts, labels)
        said = model.completion_loss(prompts[:3], ["It goes.", "Go on.", "No."])
        monkeypatch.setattr(model, "_large", True)
        torch.testing.assert_close(model.completion_loss(prompts[:3], ["It goes.", "Go on.", "No."]), said)
        monkeypatch.setattr(module, "_CPU_TOKENS", 3 * model.count(prompts[0]))
        torch.testing.assert_close(model.choice_logits(prompts, labels), whole, rtol=1e-4, atol=1e-5)
    assert model.choice_logits(prompts, labels).requires_grad  # with gradient, the caller cuts batches
