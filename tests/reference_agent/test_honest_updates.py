"""What an update learns from: differences that are real, numbers that are finite, weights that can move."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import reduce
from itertools import permutations
from operator import add
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from reference_agent import RLConfig, SFTConfig, Stage, fine_tune_reflector, play, reinforce
from reference_agent.algorithms import methods
from reference_agent.algorithms.methods import compared, grpo, leave_one_out, rloo
from reference_agent.algorithms.policy_gradient import Learner, Update, centred, choices, differ, scaled
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import SayCanPolicy, WritingPolicy
from reference_agent.players import decide
from reference_agent.rollout import Episode
from reference_agent.run import pipeline
from reference_agent.run.config import ModelConfig, PolicySFTConfig
from reference_agent.sft import choice_accuracy, fine_tune_policy
from tests.reference_agent.conftest import quick_config
from tests.reference_agent.test_algorithms import episode, learner_of
from tests.support.corridor import Corridor

SHAPED = [episode(*(("s", reward) for reward in order)) for order in permutations((0.1, 0.2, 0.3))]
finite = st.floats(-1e3, 1e3, allow_nan=False).map(lambda value: round(value, 3))


def here() -> Corridor:
    """Return the environment of the training tasks."""
    return Corridor("train")


def weights_of(model: LanguageModel) -> torch.Tensor:
    return torch.cat([each.detach().flatten() for each in model.parameters()]).clone()


@given(st.lists(finite, min_size=1, max_size=12), st.integers(2, 5), st.integers(0, 100))
def test_the_same_rewards_in_another_order_are_the_same_return(rewards: list[float], count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = [episode(*(("s", each) for each in rng.permutation(rewards).tolist())) for _ in range(count)]
    assert not differ(group)
    assert compared(group, count) == leave_one_out(group, count, 1.0) == []


@given(finite, st.floats(1e-2, 10), st.sampled_from([1e-9, 1.0, 1e9]))
def test_returns_that_differ_are_compared_at_any_scale(reward: float, more: float, scale: float) -> None:
    group = [episode(("s", reward * scale)), episode(("s", (reward + more) * scale))]
    assert [row.advantage for row in compared(group, 2)] == pytest.approx([-1, 1])


@pytest.mark.parametrize("update", [grpo, rloo])
def test_shaped_rewards_that_come_to_the_same_move_no_weight(
    update: Callable[[Learner, list[Episode]], Update], model: LanguageModel
) -> None:
    # From Python 3.12 on, `sum` rounds once.
    assert len({reduce(add, each.rewards) for each in SHAPED}) > 1, "their sums differ by rounding"
    learner = learner_of(model, algorithm=update.__name__, options={"group": len(SHAPED)})
    before = weights_of(learner.policy)
    assert update(learner, SHAPED) == Update(updates=0, skipped=1.0)
    assert torch.equal(before, weights_of(learner.policy))


def test_a_curve_leaves_out_what_was_not_computed(model: LanguageModel) -> None:
    class Even(Corridor):
        def _act(self, command: str) -> Outcome:
            return super()._act(command)._replace(reward=0.0)

    settings = RLConfig("grpo", {"group": 4}, batch=4)
    (row,) = reinforce(model.copy(), None, Stage(lambda: Even("train"), 1), settings)
    assert row["skipped"] == 1.0
    assert not {"loss", "entropy", "gradient_norm"} & row.keys()


def critical(model: LanguageModel, **settings: object) -> Learner:
    options = {"critic": True, "epochs": settings.pop("epochs", 4)}
    learner = learner_of(model, options=options, **settings)
    critic = methods.make_critic(learner.policy)
    return learner._replace(critic=critic, optimizer=learner.policy.optimizer(1e-3, 0.0, critic.parameters()))


def test_a_fresh_critics_advantages_are_centred(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    learner = critical(model)
    monkeypatch.setattr(methods, "several_passes", lambda _, rows: seen.extend(row.advantage for row in rows))
    methods.ppo(learner, [episode(("s", 20.0)), episode(("t", 20.1)), episode(("u", 20.1))])
    wanted = np.array([20.0, 20.1, 20.1])
    assert seen == pytest.approx(((wanted - wanted.mean()) / wanted.std()).tolist(), rel=1e-3)
    seen.clear()
    methods.ppo(learner, [episode(("s", 20.0))])
    assert seen == [20.0], "one decision has nothing to be compared with"


def test_the_critics_gradient_is_clipped_and_in_the_norm(model: LanguageModel) -> None:
    learner = critical(model, max_norm=1.0, epochs=1, minibatch=100)
    episodes = [episode(("s", 1000.0)), episode(("t", -500.0))]
    plain = critical(copy.deepcopy(model))
    assert plain.critic is not None
    rows = methods.judged(plain, episodes)
    mean = float(np.mean([row.advantage for row in rows]))
    rows = scaled([row._replace(advantage=row.advantage - mean) for row in rows])
    now = choices(plain, rows)
    chances = (now.chosen - torch.tensor([row.decision.log_probability for row in rows])).exp()
    weights, targets = (torch.tensor([getattr(row, name) for row in rows]) for name in ("advantage", "target"))
    gain = torch.minimum(chances * weights, chances.clamp(0.8, 1.2) * weights).mean()
    assert now.values is not None
    (0.5 * (now.values - targets).square().mean() - gain).backward()
    moved = [*plain.policy.parameters(), *plain.critic.parameters()]
    gradients = [each.grad for each in moved if each.grad is not None]
    whole = float(torch.cat([each.flatten() for each in gradients]).norm())
    assert whole > 100
    assert methods.ppo(learner, episodes).gradient_norm == pytest.approx(whole, rel=1e-4)
    assert learner.critic is not None
    cut = [
        each.grad.flatten()
        for each in (*learner.policy.parameters(), *learner.critic.parameters())
        if each.grad is not None
    ]
    assert float(torch.cat(cut).norm()) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("algorithm", ["reinforce", "ppo", "rloo", "grpo", "gigpo"])
def test_a_reward_that_is_no_number_is_named_with_its_task(algorithm: str, reward: float, model: LanguageModel) -> None:
    class Wild(Corridor):
        def _act(self, command: str) -> Outcome:
            return super()._act(command)._replace(reward=reward)

    stage = Stage(lambda: Wild("train"), 1)
    words = (
        r"^the environment's reward for '(go|light).*' in task 'room-\d/room-\d' is -?(nan|inf): mend the environment$"
    )
    before = weights_of(model)
    group = {"group": 2} if algorithm in ("rloo", "grpo", "gigpo") else {}
    with pytest.raises(UsageError, match=words):
        reinforce(model, None, stage, RLConfig(algorithm, group, batch=4))
    with pytest.raises(UsageError, match=words):
        play(lambda: Wild("train"), model, episodes=2)
    assert torch.equal(before, weights_of(model))


def test_one_episode_has_no_mean_of_others() -> None:
    for algorithm in ("reinforce", "ppo"):
        with pytest.raises(UsageError, match=r"^rl\.batch 1 leaves the baseline 'step' nothing to compare: raise"):
            RLConfig(algorithm=algorithm, batch=1)
    RLConfig(batch=1, options={"baseline": "none"})
    RLConfig("ppo", {"critic": True}, batch=1)


def test_weights_of_few_bits_or_frozen_ones_are_not_trained(model: LanguageModel, examples: list[Example]) -> None:
    coarse = model.copy()
    coarse.model.to(torch.bfloat16)
    frozen = model.copy()
    frozen.freeze()
    base = model.copy()
    adapter = base.with_adapter("policy", ModelConfig(lora_rank=2))
    few = SFTConfig(steps=1, batch=2)
    for player, words in (
        (coarse, "weights in bfloat16 are too coarse to train: load the model in fp32, or train a LoRA adapter"),
        (frozen, "this model is frozen, as a reflector in RL or the base of adapters: train a model loaded anew"),
        (base, "this model is frozen"),
    ):
        for train in (
            lambda of: fine_tune_reflector(of, examples, few),
            lambda of: fine_tune_policy(of, examples, PolicySFTConfig(steps=1, batch=2)),
            lambda of: reinforce(of, None, Stage(here, 1), RLConfig(batch=4)),
        ):
            with pytest.raises(UsageError, match=words):
                train(player)
    coarse.with_adapter("policy", ModelConfig(lora_rank=2)).optimizer(1e-3)
    before = weights_of(adapter)
    fine_tune_policy(adapter, examples, PolicySFTConfig(steps=2, batch=2))
    assert not torch.equal(before, weights_of(adapter))
    adapter.freeze()
    with pytest.raises(UsageError, match="this model is frozen"):
        adapter.optimizer(1e-3)


@pytest.mark.parametrize("most", [4, 32])
def test_a_written_command_is_scored_by_the_tokens_that_were_sampled(
    most: int, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference_agent.players._LONGEST_COMMAND", most)
    policy = WritingPolicy(model.copy())
    with torch.no_grad():  # texts end now and then, and go on else
        policy.model.get_output_embeddings().weight.mul_(3.0)
    states = [f"Street {number}" for number in range(32)]
    decisions = decide(policy, None, states, [()] * 32, np.random.default_rng(0))
    other = cut = 0
    for each in decisions:
        start, written = policy.encode(each.prompt), each.written
        assert written
        ended = written[-1] == policy.end
        cut += not ended
        assert ended or len(written) == most
        assert policy.tokenizer.decode(written, skip_special_tokens=True).strip() == each.labels[0]
        other += (*policy.encode(each.labels[0]), policy.end) != written
        logits = policy.model(torch.tensor([[*start, *written]])).logits[0, len(start) - 1 : -1].double()
        told = torch.log_softmax(logits, dim=1).gather(1, torch.tensor(written)[:, None]).sum()
        assert each.log_probability == pytest.approx(told.item(), rel=1e-4)
    assert other, "some are other tokens than their text's"
    assert cut
    learner = Learner(policy, policy.optimizer(1e-3), RLConfig(algorithm="ppo"), np.random.default_rng(0))
    rows = centred([Episode([each], [float(at)]) for at, each in enumerate(decisions)], learner.config)
    again = choices(learner, rows).chosen
    torch.testing.assert_close(
        again, torch.tensor([row.decision.log_probability for row in rows]), rtol=1e-4, atol=1e-4
    )
    result = methods.ppo(learner, [Episode([each], [float(at)]) for at, each in enumerate(decisions)])
    assert result.entropy is None, "of all texts, it is not known"


def test_settings_that_a_head_cannot_have_are_refused_in_the_library_too(
    model: LanguageModel, examples: list[Example]
) -> None:
    writing = WritingPolicy(model.copy())
    with pytest.raises(UsageError, match="smoothing has no effect with the head 'text'"):
        fine_tune_policy(writing, examples, PolicySFTConfig(steps=1, smoothing=0.1))
    with pytest.raises(UsageError, match=r"rl\.entropy has no effect on a policy that writes"):
        reinforce(writing, None, Stage(here, 1), RLConfig(batch=4, entropy=0.1))


@pytest.mark.parametrize("head", ["labels", "saycan"])
def test_a_fine_tuned_policys_accuracy_stands_beside_that_of_chance(
    model: LanguageModel, examples: list[Example], head: str
) -> None:
    policy = model.copy() if head == "labels" else SayCanPolicy(model.copy())
    if head == "saycan":
        fine_tune_policy(policy, examples, PolicySFTConfig(steps=10, batch=4, learning_rate=1e-2), reflect=False)
    accuracy, chance, asked = choice_accuracy(policy, examples, reflect=False, most=10)
    shown = [each for each in examples if each.shown]
    shown = shown[:: -(-len(shown) // 10)]
    played = decide(policy, None, [each.state for each in shown], [each.commands for each in shown], None)
    right = [each.action == taken.command(each.commands) for each, taken in zip(shown, played, strict=True)]
    assert (accuracy, asked) == (sum(right) / len(right), len(right))
    actions = [each.action for each in shown]
    assert chance == max(map(actions.count, actions)) / len(actions) > 1 / 6, "the taxi lists six commands"


def test_a_policy_at_chance_after_its_fine_tuning_is_said(out: Path, caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    blind = ("reflect=false", "sft_policy.doubt=0", "sft_policy.steps=1", "sft_policy.learning_rate=1e-9")
    config = quick_config(*blind)
    pipeline.train(config, out, lambda stage, *_: told.append(stage))
    assert [each for each in dict.fromkeys(told) if each != "collect"][-4:] == ["policy", "accuracy", "chance", "rl"]
    (said,) = [each for each in caplog.messages if "chooses the taught command" in each]
    assert said.endswith("or set head = 'saycan', by which a pretrained model follows a reflection")
