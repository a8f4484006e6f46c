"""The model's two sides: choosing among the listed labels, and completing text."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import reference_agent.models.generation as module
import reference_agent.players as players
from natlang_envs.errors import UsageError
from natlang_envs.prompt import PathStep, enumerate_actions, policy_prompt, reflection_prompt, state_prompt
from reference_agent import (
    PolicySFTConfig,
    SFTConfig,
    Stage,
    collect,
    fine_tune_policy,
    fine_tune_reflector,
    load_model,
)
from reference_agent import play as play_games
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import Reflector, decide, fitting_state
from reference_agent.run.config import CollectConfig, ModelConfig
from tests.reference_agent.conftest import WORDS, quick_config
from tests.support.corridor import Corridor


def prompts_of(model: LanguageModel, examples: list[Example]) -> tuple[list[str], list[list[str]]]:
    listed = [enumerate_actions(each.commands, model.labels_for(len(each.commands))) for each in examples]
    prompts = [
        policy_prompt(each.state, each.reflection, choices) for each, choices in zip(examples, listed, strict=True)
    ]
    return prompts, [[choice.label for choice in choices] for choices in listed]


def test_choice_logits_are_the_rows_of_the_head_at_the_last_position(
    model: LanguageModel, examples: list[Example]
) -> None:
    prompts, labels = prompts_of(model, examples[:3])
    with torch.no_grad():
        logits = model.choice_logits(prompts, labels)
        for row, (prompt, listed) in enumerate(zip(prompts, labels, strict=True)):
            full = model.model(torch.tensor([model.encode(prompt)])).logits[0, -1]
            expected = torch.stack([full[model.encode(f"\n{label}")[-1]] for label in listed])
            torch.testing.assert_close(logits[row], expected, rtol=1e-4, atol=1e-5)


def test_labels_that_are_not_listed_have_no_probability(model: LanguageModel, examples: list[Example]) -> None:
    prompts, labels = prompts_of(model, examples[:2])
    with torch.no_grad():
        logits = model.choice_logits(prompts, [labels[0][:2], labels[1]])
    assert torch.isinf(logits[0, 2:]).all()
    assert torch.isfinite(logits[1]).all()
    assert torch.softmax(logits, dim=1)[0, :2].sum().item() == pytest.approx(1.0)


@pytest.mark.parametrize("side", ["choice", "completion"])
def test_a_shared_prefix_changes_neither_values_nor_gradients(
    model: LanguageModel, examples: list[Example], side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = (examples * 4)[:48]
    prompts, labels = prompts_of(model, batch)
    results: list[tuple[torch.Tensor, torch.Tensor]] = []
    for sharing in (2, 10**9):
        monkeypatch.setattr(module, "_SHARING", sharing)
        model.model.zero_grad()
        if side == "choice":
            value = torch.log_softmax(model.choice_logits(prompts, labels), dim=1)[:, 0].mean()
        else:
            value = model.completion_loss(
                [reflection_prompt(each.state) for each in batch], [each.reflection for each in batch]
            )
        value.backward()
        gradient = torch.cat([weight.grad.flatten() for weight in model.model.parameters()])
        results.append((value.detach(), gradient))
    torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-6)


def test_the_loss_is_on_the_completion_only(model: LanguageModel) -> None:
    loss = model.completion_loss(["one prompt "], ["and its end"])
    ids = [*model.encode("one prompt "), *model.encode("and its end"), model.end]
    logits = model.model(torch.tensor([ids])).logits[0]
    start = len(model.encode("one prompt "))
    expected = torch.nn.functional.cross_entropy(logits[start - 1 : -1], torch.tensor(ids[start:]))
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


def test_writing_a_batch_is_writing_one_by_one(model: LanguageModel, examples: list[Example]) -> None:
    states = [reflection_prompt(each.state) for each in examples[:6]]
    assert model.write(states, 8) == [model.write([state], 8)[0] for state in states]


def test_a_model_reads_back_as_it_was_written(model: LanguageModel, examples: list[Example], tmp_path: Path) -> None:
    model.save(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    again = LanguageModel.load(tmp_path, ModelConfig(device="cpu"))  # where the other is
    prompts, labels = prompts_of(model, examples[:2])
    assert torch.equal(again.choice_logits(prompts, labels), model.choice_logits(prompts, labels))
    assert again.labels == model.labels


def test_any_text_can_be_encoded_and_decoded(model: LanguageModel) -> None:
    for text in ("naïve 北京 🚕", "A. move south\nB. ", "Zebra", ""):
        assert model.tokenizer.decode(list(model.encode(text))) == text


def test_the_same_config_makes_the_same_weights(model: LanguageModel, examples: list[Example]) -> None:
    texts = [each.state for each in examples]
    first, second = (LanguageModel.tiny(quick_config().model, texts, WORDS, 3) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True))


def test_a_path_too_long_for_the_model_loses_its_oldest_steps_and_never_the_task(model: LanguageModel) -> None:
    path = [PathStep(f"move {number}", "The taxi moves on. " * 4) for number in range(60)]
    commands = [f"move {name}" for name in WORDS]
    choices = enumerate_actions(commands, model.labels_for(len(commands)))
    for reflector in (Reflector(copy.deepcopy(model), 40), None):
        said = "no " * 8 if reflector else None
        short = fitting_state(model, reflector, "Find the exit.", path[:1], "You see it.", commands, "full")
        assert short == state_prompt("Find the exit.", path[:1], "You see it."), "what fits is left alone"
        for history in ("full", 60):
            state = fitting_state(model, reflector, "Find the exit.", path, "You see it.", commands, history)
            assert state.startswith("Task: Find the exit.\n")
            assert "move 59" in state
            assert "move 0:" not in state
            assert 300 < model.count(policy_prompt(state, said, choices)) <= model.positions
            decide(model, reflector, [state], [tuple(commands)], None)
    with pytest.raises(UsageError, match="does not hold the task"):
        fitting_state(model, None, "Find the exit. " * 400, [], "You see it.", commands, "full")


def test_a_reflector_remembers_its_last_answers(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "REMEMBERED", 2)
    reflector = Reflector(copy.deepcopy(model), 4)
    said = reflector.reflect(["a", "b", "c"])
    assert len(said) == 3
    assert list(reflector.cache) == ["b", "c"]
    assert reflector.reflect(["d", "c", "a"])[1:] == [said[2], said[0]], "what was forgotten is said again"


def test_bad_input_is_named(model: LanguageModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no causal language model"):
        LanguageModel.load(tmp_path / "nothing")
    with pytest.raises(UsageError, match="need as many single-token labels"):
        model.labels_for(1_000)
    with pytest.raises(UsageError, match=r"does not fit the model's 512: lower `history` or raise model\.positions$"):
        model.completion_loss(["north " * 600], ["x"])
    pretrained = LanguageModel(model.model, copy.deepcopy(model.tokenizer))
    pretrained.tokenizer.eos_token = "A"
    with pytest.raises(UsageError, match=r"does not fit the model's 512: lower `history`$"):
        pretrained.completion_loss(["north " * 600], ["x"])


def test_a_mimetic_model_looks_at_equal_words_before_it_has_learned_anything(examples: list[Example]) -> None:
    prompts, _ = prompts_of(LanguageModel.tiny(quick_config().model, ["word"], WORDS, 0), examples[:1])
    seen: list[float] = []
    for mimetic in ("false", "true"):
        model = LanguageModel.tiny(quick_config(f"model.mimetic={mimetic}").model, prompts, WORDS, 0)
        model.model.set_attn_implementation("eager")
        between = list(model.encode(" the taxi waits at"))
        words = [model.encode(f" {word}")[0] for word in WORDS]
        ids = torch.tensor([[*between[:2], word, *between, word] for word in words])
        with torch.no_grad():
            attention = model.model(ids, output_attentions=True).attentions[0]  # [B, heads, T, T]
        seen.append(float(attention[:, 1:, -1, 2].mean()))
    plain, mimetic = seen
    assert mimetic > 1.2 * plain
    assert attention[:, 0].diagonal(-1, 1, 2)[:, 1:].min() > 0.99  # a head of the first layer sees the token before
    layer = model.model.model.layers[0].self_attn
    assert torch.equal(layer.k_proj.weight, layer.q_proj.weight)
    assert torch.equal(layer.o_proj.weight, layer.v_proj.weight.T)


def here() -> Corridor:
    """Return an environment that the tiny model was not made for."""
    return Corridor("train")


@pytest.mark.parametrize("through", ["reflector", "policy", "play"])
def test_the_tiny_model_says_once_where_it_was_not_made_to_read(
    through: str, caplog: pytest.LogCaptureFixture, examples: list[Example]
) -> None:
    base = load_model("tiny")
    fine_tune_reflector(base.copy(), examples, SFTConfig(1, batch=1))
    play_games(
        Stage("NatLang/DangerousTaxi-Dropoff-v0", env_kwargs={"split": "train", "map": "generated"}), base, episodes=2
    )
    assert not caplog.messages, "Taxi's commands it knows"
    elsewhere = collect(here, "oracle", CollectConfig(trajectories=2, policy_trajectories=2))
    for _ in range(2):
        if through == "reflector":
            fine_tune_reflector(base.copy(), elsewhere, SFTConfig(1, batch=1))
        elif through == "policy":
            fine_tune_policy(base.copy(), elsewhere, PolicySFTConfig(1, batch=1))
        else:
            play_games(here, base.copy(), episodes=2)
    (said,) = caplog.messages
    assert re.match(
        r"this model has learned to read DangerousTaxi alone, not commands like '\w+ .*': tiny_for\(env\) makes", said
    )


def test_games_are_played_without_dropout_and_the_model_is_left_as_it_was(model: LanguageModel) -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 512, "initializer_range": 0.5}
    fresh = GPT2LMHeadModel(GPT2Config(vocab_size=len(model.tokenizer), **sizes, resid_pdrop=0.5, embd_pdrop=0.5))
    assert fresh.training
    policy = LanguageModel.of(fresh, model.tokenizer)
    assert not fresh.training, "as from_pretrained gives it"
    fresh.train()
    first, second = (play_games(here, policy, episodes=8, greedy=True) for _ in range(2))
    assert [each.decisions for each in first] == [each.decisions for each in second]
    assert fresh.training
