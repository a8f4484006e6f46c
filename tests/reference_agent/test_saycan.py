"""Choice by the probability of each action's text."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

import reference_agent.models.generation as module
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from reference_agent.algorithms.methods import reinforce as update
from reference_agent.algorithms.policy_gradient import Learner
from reference_agent.data_set import Example
from reference_agent.models import saycan
from reference_agent.models.language_model import GeneratedText, LanguageModel
from reference_agent.models.saycan import SayCanPolicy, with_head
from reference_agent.players import Reflector, decide
from reference_agent.rollout import Episode
from reference_agent.run.config import Config, PolicySFTConfig, RLConfig
from reference_agent.run.pipeline import train
from reference_agent.sft import fine_tune_policy
from tests.reference_agent.conftest import quick_config

ACTIONS = [
    ["move south", "pick up the passenger now", "x", "go to Red"],
    ["drop off passenger", "north"],
    ["move east"],
    ["move west", "move west again", "move north"],
]


def prompts_of(policy: LanguageModel, examples: list[Example]) -> list[str]:
    # Two of one trajectory, whose beginnings are the same, and two of others.
    chosen = [examples[0], examples[4], examples[20], examples[-1]]
    return [policy.ask(each.state, each.reflection, ()) for each in chosen]


@torch.no_grad()
def plainly(model: LanguageModel, prompt: str, action: str, ends: bool = False) -> float:
    """Return the log-probability of an action, computed in a prompt of its own over the whole vocabulary."""
    start, ids = model.encode(prompt), (*model.encode(action), *([model.end] if ends else []))
    logits = model.model(torch.tensor([[*start, *ids]])).logits[0]
    told = torch.log_softmax(logits, dim=1)
    return sum(float(told[len(start) - 1 + at, token]) for at, token in enumerate(ids))


def saying(reflection: str) -> Reflector:
    """Return a reflector that says this of everything."""
    reflector = Reflector.__new__(Reflector)
    reflector.sampled, reflector.reflect = False, lambda states, draws=None: [reflection] * len(states)  # type: ignore[method-assign]
    return reflector


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("sharing", [1, 4])
@torch.no_grad()
def test_scores_are_those_of_each_action_in_its_own_prompt(
    model: LanguageModel, examples: list[Example], monkeypatch: pytest.MonkeyPatch, ends: bool, sharing: int
) -> None:
    monkeypatch.setattr(module, "_SHARING", sharing)
    policy = SayCanPolicy(model, ends)
    prompts = prompts_of(policy, examples)
    scores = policy.choice_logits(prompts, ACTIONS)
    assert scores.shape == (4, 4)
    for row, (prompt, listed) in enumerate(zip(prompts, ACTIONS, strict=True)):
        for column, action in enumerate(listed):
            assert scores[row, column].item() == pytest.approx(plainly(model, prompt, action, ends), abs=1e-5)
        assert torch.isinf(scores[row, len(listed) :]).all()
    assert torch.softmax(scores, dim=1).sum(dim=1).tolist() == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("never", [0.0, 8.0, 50.0])
@pytest.mark.parametrize("sharing", [1, 4])
@torch.no_grad()
def test_of_many_actions_only_those_that_may_be_drawn_are_read_to_the_end(
    model: LanguageModel, examples: list[Example], monkeypatch: pytest.MonkeyPatch, never: float, sharing: int
) -> None:
    monkeypatch.setattr(module, "_SHARING", sharing)
    policy = SayCanPolicy(model)
    prompts = prompts_of(policy, examples)
    whole, states = policy.choice_logits_and_states(prompts, ACTIONS)
    for name, value in {"_MANY": 1, "_PART": 5, "_BEGINNINGS": (1, 2, sys.maxsize), "_NEVER": never}.items():
        monkeypatch.setattr(saycan, name, value)
    scores, behind = policy.choice_logits_and_states(prompts, ACTIONS)
    assert torch.allclose(states, behind, atol=1e-5)
    read = scores >= scores.amax(1, keepdim=True) - never
    assert torch.allclose(scores[read], whole[read], atol=1e-4)
    assert bool((scores >= whole - 1e-4).all())  # how an action begins is at least as probable as the action
    assert scores.argmax(1).tolist() == whole.argmax(1).tolist()
    assert bool(read.sum() < torch.isfinite(whole).sum()) is (never < 50)


def test_gradients_flow_as_they_do_through_the_plain_form(model: LanguageModel, examples: list[Example]) -> None:
    policy = SayCanPolicy(model, ends=False)
    prompt = prompts_of(policy, examples)[0]

    def gradient(chosen: torch.Tensor) -> torch.Tensor:
        model.model.zero_grad()
        chosen.backward()
        return torch.cat([weight.grad.flatten() for weight in model.model.parameters()])

    ours = gradient(torch.log_softmax(policy.choice_logits([prompt], ACTIONS[:1]), dim=1)[0, 1])
    start, scores = model.encode(prompt), []
    for action in ACTIONS[0]:
        ids = model.encode(action)
        told = torch.log_softmax(model.model(torch.tensor([[*start, *ids]])).logits[0, len(start) - 1 : -1], dim=1)
        scores.append(told.gather(1, torch.tensor(ids)[:, None]).sum())
    theirs = gradient(torch.log_softmax(torch.stack(scores), dim=0)[1])
    assert theirs.norm() > 0
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-6)


def test_both_players_decide_on_a_listed_action(model: LanguageModel, examples: list[Example]) -> None:
    policy = SayCanPolicy(model)
    states, commands = [each.state for each in examples[:3]], [each.commands for each in examples[:3]]
    reflector = Reflector(copy.deepcopy(model), 4)
    greedy = decide(policy, reflector, states, commands, None)
    for state, listed, each in zip(states, commands, greedy, strict=True):
        assert each.labels == list(listed)
        assert each.prompt == f"{state}\nReflection: {each.reflection}\nAction:\n"
        assert each.chosen == max(range(len(listed)), key=lambda at: plainly(model, each.prompt, listed[at], True))
    drawn = {
        decide(policy, None, states[:1], commands[:1], np.random.default_rng(seed))[0].chosen for seed in range(40)
    }
    assert len(drawn) > 1


def test_demonstrations_and_rewards_move_it(model: LanguageModel, examples: list[Example]) -> None:
    policy = with_head(copy.deepcopy(model), Config(head="saycan"))
    each = examples[0]
    lesson = [each]

    def likelihood(action: str) -> float:
        with torch.no_grad():
            scores = policy.choice_logits([policy.ask(each.state, each.reflection, ())], [each.commands])
        return torch.softmax(scores, dim=1)[0, each.commands.index(action)].item()

    before = likelihood(each.action)
    losses: list[float] = []
    fine_tune_policy(policy, lesson, PolicySFTConfig(steps=40, batch=2), 0, lambda _, loss, __: losses.append(loss))
    assert losses[-1] < losses[0]
    assert likelihood(each.action) > before + 0.1

    other = next(command for command in each.commands if command != each.action)
    decisions = [
        decision
        for seed in range(60)
        for decision in decide(policy, None, [each.state], [each.commands], np.random.default_rng(seed))
    ]
    episodes = [
        Episode([decision], [20.0 if decision.labels[decision.chosen] == other else -10.0]) for decision in decisions
    ]
    assert {len(episode.rewards) for episode in episodes} == {1}
    assert any(episode.rewards[0] > 0 for episode in episodes)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-2)

    def without_reflection() -> float:
        with torch.no_grad():
            scores = policy.choice_logits([policy.ask(each.state, None, ())], [each.commands])
        return torch.softmax(scores, dim=1)[0, each.commands.index(other)].item()

    before = without_reflection()
    for _ in range(3):
        update(Learner(policy, optimizer, RLConfig(entropy=0.0), np.random.default_rng(0)), episodes)
    assert without_reflection() > before + 0.05


def test_a_run_trains_resumes_and_evaluates_by_a_line_of_its_config(out: Path) -> None:
    config = quick_config("head='saycan'", "sft_policy.smoothing=0.0", stages=(2,))
    train(config, out, lambda *_: None)
    assert json.loads((out / "settings.json").read_text())["head"] == "saycan"
    train(config, out, lambda *_: None)
    agent = load_agent(f"reflect-rl:{out}")
    result, played = evaluate(agent, "dangerous-taxi-pickup/v1", episodes=20)
    assert len(played) == 20
    assert result.tokens
    assert [each.actions for each in played] == [
        each.actions
        for each in evaluate(load_agent(f"reflect-rl:{out}"), "dangerous-taxi-pickup/v1", episodes=20, batch=9)[1]
    ]


def test_a_policy_that_writes_learns_from_demonstrations_and_from_reward(
    model: LanguageModel, examples: list[Example]
) -> None:
    policy = with_head(copy.deepcopy(model), Config(head="text"))
    each = examples[0]
    fine_tune_policy(policy, [each], PolicySFTConfig(steps=150, batch=2, learning_rate=3e-3), 0, lambda *_: None)
    (greedy,) = decide(policy, saying(each.reflection), [each.state], [each.commands], None)
    assert greedy.command(each.commands) == each.action
    rewarded = "go home"  # listed nowhere

    def likelihood() -> float:
        with torch.no_grad():
            return float(policy.choice_logits([policy.ask(each.state, None, ())], [[rewarded]]))

    (asked,) = decide(policy, None, [each.state], [each.commands], np.random.default_rng(0))
    assert asked.log_probability == pytest.approx(plainly(policy, asked.prompt, asked.labels[0], ends=True), rel=1e-4)
    episodes = [
        Episode([asked._replace(labels=[text], log_probability=0.0, written=None)], [reward])
        for text, reward in ((rewarded, 20.0), (each.action, -10.0))
    ]
    before = likelihood()
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-2)
    update(Learner(policy, optimizer, RLConfig(), np.random.default_rng(0)), episodes)
    assert likelihood() > before + 1


def test_what_is_written_is_played_whether_or_not_it_is_listed(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = quick_config("head='text'", "rl.entropy=0.0", "rl.algorithm='grpo'", "rl.grpo.group=2", stages=(2,))
    train(config, out, lambda *_: None)
    agent = load_agent(f"reflect-rl-sample:{out}")
    _, played = evaluate(agent, "dangerous-taxi-pickup/v1", episodes=20)
    monkeypatch.setattr(
        LanguageModel, "complete", lambda self, prompts, *_: [GeneratedText("fly", False)] * len(prompts)
    )
    _, flown = evaluate(load_agent(f"reflect-rl:{out}"), "dangerous-taxi-pickup/v1", episodes=20)
    assert {each.actions for each in flown} == {("fly",)}
    assert {each.actions for each in played} != {("fly",)}


def test_bad_input_is_named(model: LanguageModel) -> None:
    with pytest.raises(UsageError, match="head"):
        Config(head="say-can")
    policy = SayCanPolicy(model)
    with pytest.raises(UsageError, match="an action without text"):
        policy.choice_logits(["Action:\n"], [["look", ""]])
    with pytest.raises(UsageError, match="does not fit the model's 512"):
        policy.choice_logits(["Action:\n"], [["look", "north " * 600]])


def test_texts_are_not_scored_in_sight_of_more_than_the_model_sees(model: LanguageModel) -> None:
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    torch.manual_seed(0)
    mistral = MistralForCausalLM(
        MistralConfig(**sizes, num_key_value_heads=1, vocab_size=len(model.tokenizer), sliding_window=16)
    )
    policy = SayCanPolicy(LanguageModel.of(mistral, model.tokenizer))
    fits = "At 1.\nAction:\n"
    with torch.no_grad():
        score = policy.choice_logits([fits], [["1 2"]])[0, 0].item()
    assert score == pytest.approx(plainly(policy, fits, "1 2", ends=True), abs=1e-4)
    with pytest.raises(
        UsageError, match=r"the model sees 16 tokens back, and scoring texts shows it all \d+: lower `hi"
    ):
        policy.choice_logits(["1 2 3 4 5 6 7 8 9 10\nAction:\n"], [["1 2"]])
