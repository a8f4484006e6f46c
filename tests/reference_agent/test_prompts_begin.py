"""Prompts begin as the tokenizer begins a text: with a beginning-of-sequence for Llama, with nothing for SmolLM2."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from natlang_envs.files import cache_folder
from natlang_envs.prompt import PathStep, reflection_prompt
from reference_agent.baselines.agents import zero_shot_agent
from reference_agent.baselines.likelihood import LikelihoodAgent
from reference_agent.data_set import Example
from reference_agent.models.backbone import load_tokenizer
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import SayCanPolicy, WritingPolicy
from reference_agent.models.tokenizer import PromptReader, beginning
from reference_agent.players import Speaker, decide, fitting_state
from reference_agent.run.config import ModelConfig
from reference_agent.tiny.making import tiny_folder
from tests.reference_agent.test_architectures import TEMPLATE

PROMPT, LABELS = "Actions:\nA. one\nB. two\nChoice:\n", ("A", "B")
SHIPPED_SMOLLM2 = cache_folder() / "models" / "smollm2"  # the user's, before a test takes another cache


@pytest.fixture(scope="module")
def llama(model: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Llama whose tokenizer puts <s> before every text."""
    inner = copy.deepcopy(model.tokenizer.backend_tokenizer)
    inner.add_special_tokens(["<s>"])
    begin = inner.token_to_id("<s>")
    inner.post_processor = TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", begin)])
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token=model.tokenizer.eos_token
    )
    tokenizer.chat_template = "{{ bos_token }}" + TEMPLATE
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = LlamaConfig(
        **sizes, vocab_size=len(tokenizer), max_position_embeddings=256, initializer_range=0.3, eos_token_id=model.end
    )
    folder = tmp_path_factory.mktemp("llama")
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_both_players_and_all_heads_read_what_transformers_would(llama: Path) -> None:
    player = LanguageModel.load(llama)
    ids = player.tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    assert ids[0, 0] == player.tokenizer.bos_token_id
    assert player.encode_prompt(PROMPT) == tuple(ids[0].tolist())
    assert player.count_prompt(PROMPT) == ids.shape[1]
    with torch.no_grad():
        logits = player.model(ids).logits[0, -1]
        wanted = logits[[player._label_ids[label] for label in LABELS]]
        torch.testing.assert_close(player.choice_logits([PROMPT], [LABELS])[0], wanted, rtol=1e-4, atol=1e-5)
        answer = (*player.encode("one"), player.end)
        whole = player.model(torch.cat([ids, torch.tensor([answer])], dim=1)).logits[0, ids.shape[1] - 1 : -1]
        told = torch.log_softmax(whole, dim=1).gather(1, torch.tensor(answer)[:, None])
        loss = player.completion_loss([PROMPT], ["one"])
        score = SayCanPolicy(player).choice_logits([PROMPT], [["one"]])[0, 0]
    torch.testing.assert_close(loss, -told.mean(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(score, told.sum(), rtol=1e-4, atol=1e-4)
    plain = player.model.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=player.end)
    assert player.write([PROMPT], 8) == [
        player.tokenizer.decode(plain[0, ids.shape[1] :], skip_special_tokens=True).strip()
    ]
    (drawn,) = decide(WritingPolicy(player), None, ["A street."], [()], np.random.default_rng(0))
    written, begun = drawn.written, player.encode_prompt(drawn.prompt)
    assert written
    with torch.no_grad():
        each = torch.log_softmax(player.model(torch.tensor([[*begun, *written]])).logits[0, len(begun) - 1 : -1], dim=1)
    assert drawn.log_probability == pytest.approx(each.gather(1, torch.tensor(written)[:, None]).sum().item(), rel=1e-4)


def test_untuned_models_are_asked_likewise(llama: Path) -> None:
    zero, likelihood = zero_shot_agent(llama), LikelihoodAgent(LanguageModel.load(llama))
    begin = zero._policy.tokenizer.bos_token_id
    for reader in (zero._policy, likelihood._model):
        assert reader.encode_prompt(PROMPT)[:2] == (begin, *reader.encode(PROMPT)[:1])


def test_a_chat_template_brings_its_own_beginning(llama: Path) -> None:
    chat = LanguageModel.load(llama, ModelConfig(chat=True))
    begin = chat.tokenizer.bos_token_id
    assert chat.encode_prompt(chat.ask_reflection("Task: drive.")).count(begin) == 1


def test_what_is_put_before_a_prompt_counts_where_it_is_cut_to_the_context(llama: Path) -> None:
    reader = PromptReader.of(llama)
    path = [PathStep("move", f"You moved {number} streets.") for number in range(100)]
    for more in range(12):
        task = "Drive" + " on" * more
        state = fitting_state(reader, Speaker(reader, 16), task, path, "A street.", ("move", "stop"), "full")
        choices = reader.list_actions(("move", "stop"), None)
        assert reader.count_prompt(reader.ask_reflection(state)) + 16 <= reader.positions
        assert reader.count_prompt(reader.ask(state, None, choices)) + 16 <= reader.positions


def test_what_begins_with_nothing_stays_as_it_is(model: LanguageModel, examples: list[Example]) -> None:
    readers: list[PromptReader] = [model, PromptReader.of(tiny_folder())]
    if SHIPPED_SMOLLM2.exists():
        readers.append(PromptReader.of(SHIPPED_SMOLLM2))
    for reader in readers:
        assert beginning(reader.tokenizer) == ()
        for each in examples:
            assert reader.encode_prompt(each.state) is reader.encode(each.state)
    assert beginning(load_tokenizer(tiny_folder())) == ()


def test_remembered_prompts_are_bounded_by_bytes(model: LanguageModel) -> None:
    reader = PromptReader(model.tokenizer, 512)
    reader._known.limit = 100_000
    texts = [f"Street {number}. " * 40 for number in range(60)]
    told = [reader.encode(text) for text in texts]
    assert 0 < reader._known.size <= 100_000
    assert reader._known.size >= sum(36 * len(ids) for ids in reader._known.ids.values())
    assert list(reader._known.ids) == texts[-len(reader._known.ids) :], "the last ones are kept"
    assert [reader.encode(text) for text in texts] == told
    assert reader.encode("A long one. " * 20_000) == reader.encode("A long one. " * 20_000)
    assert reader._known.size <= 100_000


def test_no_prompt_of_a_pretrained_model_ends_in_a_space(llama: Path, model: LanguageModel) -> None:
    inner = copy.deepcopy(model.tokenizer.backend_tokenizer)
    readers = [PromptReader(PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>"), 256)]
    if SHIPPED_SMOLLM2.exists():
        readers.append(PromptReader.of(SHIPPED_SMOLLM2))
    for reader in readers:
        asked, said = reader.ask_reflection("A street."), reader.space + "The way is north."
        assert asked + said == reflection_prompt("A street.") + "The way is north."
        assert not asked.endswith(" ")
    if SHIPPED_SMOLLM2.exists():
        assert readers[1].encode(asked) + readers[1].encode(said) == readers[1].encode(asked + said)
    assert not PromptReader.of(llama, chat=True).ask_reflection("A street.").endswith(" ")
    assert model.ask_reflection("A street.").endswith(" "), "what the tiny models on the board have learned to read"
