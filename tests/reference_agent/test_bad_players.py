"""What players cannot be made of: each is refused in one line that says what is wrong."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import reference_agent as rrl
from natlang_envs.errors import UsageError
from natlang_envs.prompt import LABELS
from reference_agent import LanguageModel, Players
from reference_agent.models.language_model import LanguageModel as Model
from reference_agent.run.stages import read_config

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
FEW = rrl.CollectConfig(trajectories=2, policy_trajectories=2)


def refused(call: Callable[[], object], told: str) -> None:
    """Check that a call is refused in one line that holds a pattern."""
    with pytest.raises(UsageError, match=told) as found:
        call()
    assert "\n" not in str(found.value)


def untrained(tokenizer: Any, positions: int = 512) -> Any:
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=positions, **sizes))


def test_a_model_without_a_tokenizer(tmp_path: Path) -> None:
    base = rrl.load_model()
    base.model.save_pretrained(tmp_path)
    refused(
        lambda: LanguageModel.of(base.model, None), "comes with None as its tokenizer: give the one of transformers"
    )
    for load in (rrl.load_model, Players.of):
        refused(lambda load=load: load(str(tmp_path)), f"{tmp_path} holds no tokenizer")


def test_a_context_shorter_than_a_prompt() -> None:
    tokenizer = rrl.load_model().tokenizer
    short = Players.of(LanguageModel.of(untrained(tokenizer, 64), tokenizer))
    fills = "the model reads 64 tokens, which 31 of commands and 48 of a reflection fill: take another model, or fewer"
    refused(lambda: short.collect(PICKUP, "oracle", FEW), fills)
    refused(lambda: short.play(PICKUP, split="validation", episodes=1), fills)
    examples = rrl.collect(PICKUP, "oracle", FEW)
    refused(lambda: short.fine_tune(examples, rrl.SFTConfig(1), rrl.PolicySFTConfig(1)), "does not fit the model's 64")


def test_labels_that_are_not_single_tokens() -> None:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    joined = [f"Ċ{label}" for label in LABELS[:52]]  # a line's end and its letter are one token
    vocabulary = {text: number for number, text in enumerate([*letters, *joined, "<|end|>"])}
    found = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ċ", each[1]) for each in joined]))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)  # pyright: ignore[reportAttributeAccessIssue]
    found.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=found, eos_token="<|end|>")
    players = Players.of(LanguageModel.of(untrained(tokenizer, 2048), tokenizer))
    told = "6 commands need as many single-token labels, this tokenizer has 0: use another model, page the commands, or"
    refused(lambda: players.collect(PICKUP, "oracle", FEW), told)
    refused(lambda: players.play(PICKUP, split="validation", episodes=1), told)


def test_weights_in_16_bits() -> None:
    base = rrl.load_model()
    coarse = Players.of(LanguageModel.of(copy.deepcopy(base.model).to(torch.bfloat16), base.tokenizer))
    examples = coarse.collect(PICKUP, "oracle", FEW)
    refused(lambda: coarse.fine_tune(examples, rrl.SFTConfig(1), rrl.PolicySFTConfig(1)), "bfloat16 are too coarse")
    refused(lambda: coarse.reinforce(rrl.Stage(PICKUP, 1), rrl.RLConfig(batch=2)), "bfloat16 are too coarse")


def test_an_adapter_on_another_device_than_its_base() -> None:
    base: Model = rrl.load_model()
    policy = base.with_adapter("policy", rrl.ModelConfig(lora_rank=2))
    base.model.to("meta")
    refused(lambda: rrl.play(PICKUP, policy, split="validation", episodes=1), "'policy' is on cpu and its base on meta")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    Players.of().save(folder / "whole")
    Players.of("tiny", rrl.ModelConfig(lora_rank=2)).save(folder / "adapters")
    return folder


def test_players_of_another_version(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept / "whole", tmp_path / "newer")
    settings = tmp_path / "newer" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "wisdom": 3}))
    refused(lambda: Players.load(tmp_path / "newer"), "is of another version of the agent, or was edited: .*'wisdom'")


def test_players_are_loaded_whatever_the_settings_of_their_training(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept / "whole", tmp_path / "trained")
    settings = tmp_path / "trained" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "rl": {"ratio": 0.3}}))
    loaded = Players.load(tmp_path / "trained")
    assert loaded.policy.fingerprint() == Players.load(kept / "whole").policy.fingerprint()
    refused(lambda: read_config(tmp_path / "trained"), r"was edited: unknown config key 'rl\.ratio'.*rl\.ppo\.clip")


def test_a_file_that_may_not_be_read_is_named(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(kept / "whole", tmp_path / "kept")
    (tmp_path / "kept/policy/model.safetensors").write_bytes(b"")
    refused(lambda: Players.load(tmp_path / "kept"), "policy holds no causal language model .*: make or fetch it again")
    monkeypatch.setattr(os, "access", lambda file, mode: mode != os.R_OK or Path(file).suffix != ".safetensors")
    refused(lambda: Players.load(tmp_path / "kept"), "policy/model.safetensors may not be read: .*chmod")


HALVES = [
    ("whole", "settings.json", "is damaged"),
    ("whole", "policy/model.safetensors", "policy holds no causal language model"),
    ("whole", "reflector/model.safetensors", "reflector holds no causal language model"),
    ("whole", "policy/tokenizer.json", "policy holds no tokenizer"),
    ("whole", "policy/config.json", "policy holds no"),
    ("adapters", "policy/adapter_model.safetensors", "policy is damaged or holds no adapter"),
    ("adapters", "policy/adapter_config.json", "policy is damaged or holds no adapter"),
    ("adapters", "base/model.safetensors", "base holds no causal language model"),
]


@pytest.mark.parametrize(("which", "name", "told"), HALVES)
def test_a_folder_half_written(which: str, name: str, told: str, kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept / which, tmp_path / "cut")
    file = tmp_path / "cut" / name
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    refused(lambda: Players.load(tmp_path / "cut"), told)
    file.unlink()
    refused(lambda: Players.load(tmp_path / "cut"), "holds no" if name == "settings.json" else told)


def test_players_of_another_kind(model: LanguageModel) -> None:
    policy, reflector, wrapped = model.copy(), rrl.Reflector(model.copy()), r"give Reflector\(model\), or None"
    stage, settings = rrl.Stage(PICKUP, 1), rrl.RLConfig(batch=2)
    play = partial(rrl.play, PICKUP, split="validation", episodes=1)
    for learn in (lambda *players: play(*players), lambda *players: rrl.reinforce(*players, stage, settings)):
        refused(lambda learn=learn: learn(policy, model), f"is no reflector: {wrapped}")
        refused(lambda learn=learn: learn(policy, "tiny"), f"^'tiny' is no reflector: {wrapped}")
        refused(lambda learn=learn: learn(reflector, reflector), "is no policy: give a model")
        refused(lambda learn=learn: learn("tiny", None), "^'tiny' is no policy: give a model")
    refused(lambda: rrl.Reflector("tiny"), "^'tiny' is no model: give one")  # type: ignore[arg-type]
    refused(lambda: rrl.Reflector(model.copy(), -3), "max_tokens must be a whole number of at least 1, not -3")
    refused(lambda: model.copy().with_adapter("policy", 3), "^3 is no setting of a model")  # type: ignore[arg-type]


def test_what_is_no_flag_allows_nothing(model: LanguageModel) -> None:
    """ "no" was taken for True: it let RL play the test split."""
    policy, stage = model.copy(), rrl.Stage(PICKUP, 1, env_kwargs={"split": "test"})
    no: Any = "no"
    refused(lambda: rrl.reinforce(policy, None, stage, allow_test=no), "^allow_test must be True or False, not 'no'")
    refused(lambda: rrl.collect(stage, settings=FEW, allow_test=no), "^allow_test must be True or False, not 'no'")
    refused(lambda: rrl.reinforce(policy, None, stage, one_model=no), "must be True or False|holds test tasks")
    refused(lambda: rrl.play(PICKUP, policy, split="test", greedy=no), "^greedy must be True or False, not 'no'")


def test_a_fine_tuning_of_another_kind(model: LanguageModel, examples: list[rrl.Example]) -> None:
    player, no = model.copy(), "no"
    options: dict[str, Any] = {"max_tokens": -5}
    refused(lambda: rrl.fine_tune_reflector(player, examples, **options), "max_tokens must be a whole number")
    refused(lambda: rrl.fine_tune_reflector("tiny", examples), "^'tiny' is no model")  # type: ignore[arg-type]
    refused(lambda: rrl.fine_tune_policy(player, examples, reflect=no), "^reflect must be True or False")  # type: ignore[arg-type]


def test_a_teacher_or_a_folder_that_is_none(tmp_path: Path) -> None:
    settings: Any = FEW
    refused(lambda: rrl.collect(PICKUP, settings), "is no teacher: give a function of a Moment")
    (tmp_path / "file").write_text("")
    refused(lambda: rrl.collect(PICKUP, settings=FEW, folder=tmp_path / "file"), "cannot hold a run")
