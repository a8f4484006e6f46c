"""Untrained models of the presets' architectures at a tiny size: each is a player, trained and played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    FalconConfig,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MptConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.prompt import PathStep
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import SayCanPolicy
from reference_agent.models.tokenizer import PromptReader, text_prompt
from reference_agent.paper.experiments import PRESETS
from reference_agent.players import Speaker, fitting_state
from reference_agent.run.config import ModelConfig
from reference_agent.run.config_file import EXPERIMENTS, load_config
from reference_agent.run.pipeline import train
from reference_agent.run.stages import stage_key
from tests.reference_agent.conftest import quick_config
from tests.reference_agent.test_backbone import silent

TEMPLATE = (
    "{% for turn in messages %}<user>{{ turn.content }}</user>{% endfor %}{{ '<me>\\n' if add_generation_prompt }}"
)
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,  # groups of heads share keys, as in all of them but GPT-2
    "intermediate_size": 48,
    "max_position_embeddings": 512,
    "initializer_range": 0.3,
}
KINDS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "smollm2": (LlamaConfig, SIZES | {"tie_word_embeddings": True}),
    "llama-3.2": (
        LlamaConfig,
        SIZES
        | {
            "tie_word_embeddings": True,
            "head_dim": 16,
            "rope_parameters": {
                **{"rope_type": "llama3", "rope_theta": 500_000.0, "factor": 32.0, "low_freq_factor": 1.0},
                **{"high_freq_factor": 4.0, "original_max_position_embeddings": 256},
            },
        },
    ),
    "qwen2.5": (Qwen2Config, SIZES | {"tie_word_embeddings": True}),
    "qwen3": (Qwen3Config, SIZES | {"tie_word_embeddings": False, "head_dim": 16}),
    "gpt2": (GPT2Config, {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512, "initializer_range": 0.3}),
}


@pytest.fixture
def backbone(request: pytest.FixtureRequest, model: LanguageModel, tmp_path: Path) -> Path:
    """A folder with an untrained model of an architecture, whose tokenizer has no pad token."""
    kind, sizes = KINDS[request.param]
    ends = {"bos_token_id": model.end, "eos_token_id": model.end}
    torch.manual_seed(0)
    folder = tmp_path / "backbone"
    AutoModelForCausalLM.from_config(kind(**sizes, **ends, vocab_size=len(model.tokenizer))).save_pretrained(folder)
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=model.tokenizer.backend_tokenizer, eos_token=model.tokenizer.eos_token
    )
    assert tokenizer.pad_token_id is None
    if request.param != "gpt2":
        tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("backbone", "chat"),
    [
        pytest.param(kind, str(kind != "gpt2").lower(), marks=() if kind in ("gpt2", "qwen3") else pytest.mark.slow)
        for kind in KINDS
    ],
    indirect=["backbone"],
)
def test_each_architecture_is_trained_and_played(backbone: Path, out: Path, chat: str) -> None:
    lora = ("model.lora_rank=2", "model.lora_targets='default'", "players='adapters'", f"model.chat={chat}")
    two = ("sft_reflector.steps=2", "sft_policy.steps=2", "collect.trajectories=2", "rl.learning_rate=1e-2")
    train(quick_config(f"model.name='{backbone}'", *lora, *two, stages=(2,)), out, silent)
    assert len(evaluate(load_agent(f"reflect-rl:{out}"), "dangerous-taxi-pickup/v1", episodes=6)[1]) == 6


@pytest.mark.parametrize("backbone", KINDS, indirect=True)
@pytest.mark.parametrize("large", [False, True])
def test_each_architecture_writes_and_chooses_as_transformers_computes_it(
    backbone: Path, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = LanguageModel.load(backbone)
    monkeypatch.setattr(player, "_large", large)  # which decodes speculatively
    prompts = ["The taxi is at row 1.\nActions:\nA. move\nB. stop\nChoice:\n", "A street, a taxi. Choice:\n"]
    for prompt, written in zip(prompts, player.write(prompts, 16), strict=True):
        ids = torch.tensor([player.encode(prompt)], device=player.model.device)
        plain = player.model.generate(ids, max_new_tokens=16, do_sample=False, pad_token_id=player.end)
        expected = player.tokenizer.decode(plain[0, ids.shape[1] :], skip_special_tokens=True).strip()
        assert written == expected
        with torch.no_grad():
            whole = player.model(ids).logits[0, -1].cpu()
            chosen = player.choice_logits([prompt], [("A", "B")])[0]
        wanted = whole[[player._label_ids["A"], player._label_ids["B"]]]
        np.testing.assert_allclose(chosen.numpy(), wanted.numpy(), atol=1e-4)


@pytest.mark.parametrize("backbone", ["qwen3"], indirect=True)
def test_both_players_of_an_instruct_model_are_asked_in_its_chat_template(backbone: Path) -> None:
    plain, chat = (LanguageModel.load(backbone, ModelConfig(name=str(backbone), chat=each)) for each in (False, True))
    choices = plain.list_actions(["move", "stop"], None)
    for asked, framed in (
        (plain.ask_reflection("Task: drive."), chat.ask_reflection("Task: drive.")),
        (plain.ask("Task: drive.", "I move.", choices), chat.ask("Task: drive.", "I move.", choices)),
        (text_prompt("Task: drive.", None), SayCanPolicy(chat).ask("Task: drive.", None, ())),
    ):
        assert framed.startswith("<user>")
        assert framed.endswith(f"{asked.rstrip()}</user><me>\n")
    assert chat.with_adapter("policy", ModelConfig(lora_rank=2)).chat, "an adapter's player is asked in the same way"
    reader = PromptReader.of(backbone, chat=True)
    path = [PathStep("move", f"You moved {number} streets.") for number in range(200)]
    state = fitting_state(chat, Speaker(reader, 16), "Drive.", path, "A street.", ("move", "stop"), "full")
    assert reader.count(reader.ask_reflection(state)) + 16 <= reader.positions, "the template counts too"


@pytest.mark.parametrize("backbone", ["llama-3.2"], indirect=True)
def test_chat_templates_of_all_kinds(backbone: Path) -> None:
    tokenizer: Any = LanguageModel.load(backbone).tokenizer
    for template, behind in (
        (
            "{{ date_string }} {{ messages[0].content }}[/INST]",
            "[/INST]\n",
        ),  # Llama's date; Mistral ends without newline
        ("{{ messages[0].content }}{{ '<think></think>\n' if enable_thinking is false }}", "<think></think>\n"),
    ):
        tokenizer.chat_template = template
        asked = PromptReader(tokenizer, 512, chat=True).ask_reflection("Task: drive.")
        assert asked.endswith(behind)
        assert asked.startswith("26 Jul 2024 " if "date" in template else "Task")
    for template, says in (
        ("{{ 'Hello' }}", "does not show what a user says"),
        ("{{ raise_exception('no') }}", "fails"),
    ):
        tokenizer.chat_template = template
        with pytest.raises(UsageError, match=says):
            PromptReader(tokenizer, 512, chat=True)


def test_data_that_are_cut_for_a_chat_template_are_not_those_without() -> None:
    plain, chat = (quick_config("model.name='smollm2'", f"model.chat={each}") for each in ("false", "true"))
    assert stage_key(plain, "data") != stage_key(chat, "data")


@pytest.mark.parametrize("backbone", ["gpt2"], indirect=True)
def test_a_model_without_a_chat_template_is_refused_before_anything_is_collected(backbone: Path, out: Path) -> None:
    with pytest.raises(UsageError, match="no chat template: set"):
        train(quick_config(f"model.name='{backbone}'", "model.lora_rank=2", "model.chat=true"), out, silent)
    assert not (out / "data").exists()
    with pytest.raises(UsageError, match="the tiny model has no chat template"):
        train(quick_config("model.chat=true"), out, silent)


def test_every_preset_of_a_model_goes_with_every_task() -> None:
    files = [path for path in sorted((EXPERIMENTS / "presets").glob("*.toml")) if path.stem != "shipped"]
    assert {path.stem for path in files} <= PRESETS.keys()
    for path in files:
        config = load_config(Path("taxi-pickup/best"), over=path)
        assert config.model.lora_rank
        assert config.curriculum == load_config(Path("taxi-pickup/best")).curriculum


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (BloomConfig(hidden_size=32, n_layer=2, n_head=4), r"\(bloom\) does not read by positions, a mask and a cache"),
        (MptConfig(d_model=32, n_layers=2, n_heads=4, max_seq_len=128), r"\(mpt\) does not read"),
        (MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=4), r"\(mamba\) does not read"),
        (
            FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True),
            r"\(falcon\) does not read",
        ),
    ],
)
def test_a_model_that_players_would_compute_otherwise_is_refused_in_a_line(
    settings: Any, words: str, model: LanguageModel, tmp_path: Path
) -> None:
    settings.vocab_size = len(model.tokenizer)
    settings.initializer_range = 0.3
    torch.manual_seed(0)
    backbone = AutoModelForCausalLM.from_config(settings)
    with pytest.raises(UsageError, match=f"{words}.*: use another model, such as a Llama, Qwen or GPT-2$"):
        LanguageModel.of(backbone, model.tokenizer)
    backbone.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UsageError, match="use another model"):
        LanguageModel.load(tmp_path)
    if settings.model_type != "falcon":
        with pytest.raises(UsageError, match=f"of type '{settings.model_type}' names no context length"):
            PromptReader.of(tmp_path)
