"""The algorithms of line 34: what each makes of a batch, and that all of them resume exactly."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from reference_agent import ppo, reinforce
from reference_agent.config import RLConfig
from reference_agent.model import LanguageModel
from reference_agent.pipeline import train
from reference_agent.players import decide
from reference_agent.policy_gradient import Learner, Update, advantages, choices
from reference_agent.rollout import Episode
from tests.reference_agent.conftest import quick_config
from tests.reference_agent.test_training import same, silent

STATE = "Actions:\n"
COMMANDS = ("move north", "move south")


def learner_of(model: LanguageModel, rate: float = 1e-2, **settings: object) -> Learner:
    policy = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=rate)
    config = RLConfig(**{"entropy": 0.0, **settings})  # type: ignore[arg-type]
    return Learner(policy, optimizer, config, np.random.default_rng(0))


def sampled(learner: Learner, count: int, good: str = COMMANDS[1]) -> list[Episode]:
    """Sample episodes of one step, of which one command is rewarded."""
    decisions = decide(learner.policy, None, [STATE] * count, [COMMANDS] * count, learner.rng)
    return [
        Episode([each], [20.0 if COMMANDS[each.chosen] == good else -10.0], COMMANDS[each.chosen] == good)
        for each in decisions
    ]


def chance(policy: LanguageModel, episodes: list[Episode], command: str = COMMANDS[1]) -> float:
    """Return the mean probability of a command in the prompts of the episodes."""
    decisions = [each.decisions[0] for each in episodes]
    with torch.no_grad():
        logits = policy.choice_logits([each.prompt for each in decisions], [each.labels for each in decisions])
    return float(torch.softmax(logits, dim=1)[:, COMMANDS.index(command)].mean())


def test_the_probability_at_sampling_is_what_the_model_gives_again(model: LanguageModel) -> None:
    learner = learner_of(model)
    rows = advantages(sampled(learner, 24), learner.config)
    again = choices(learner, rows).chosen
    torch.testing.assert_close(again, torch.tensor([row.decision.log_probability for row in rows]))
    greedy = decide(learner.policy, None, [STATE], [COMMANDS], None)
    assert greedy[0].log_probability == 0.0


def test_ppo_makes_what_was_rewarded_likelier_and_stops_where_the_policies_part(model: LanguageModel) -> None:
    far = learner_of(model, minibatch=16, epochs=6, target_kl=0.0, ratio=10.0)
    near = learner_of(model, minibatch=16, epochs=6, target_kl=1e-3, ratio=10.0)
    results = []
    for learner in (far, near):
        episodes = sampled(learner, 48)
        before = chance(learner.policy, episodes)
        results.append(ppo.update(learner, episodes))
        assert chance(learner.policy, episodes) > before
    assert results[0].updates == 18
    assert results[1].updates is not None
    assert 1 < results[1].updates < 18
    assert results[0].kl is not None
    assert results[0].kl > 0


def test_ppos_first_update_is_reinforces_and_clipping_ends_the_pull(model: LanguageModel) -> None:
    one, other = learner_of(model, epochs=1), learner_of(model)
    episodes = sampled(one, 48)
    ppo.update(one, episodes)
    reinforce.update(other, episodes)
    for a, b in zip(one.policy.model.parameters(), other.policy.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    # Long training on one batch runs away without clipping, and with it stays near the policy that sampled.
    loose = learner_of(model, epochs=40, target_kl=0.0, ratio=1e6)
    tight = learner_of(model, epochs=40, target_kl=0.0, ratio=0.05)
    assert ppo.update(tight, episodes).kl < ppo.update(loose, episodes).kl  # type: ignore[operator]


def test_decisions_that_were_certain_are_left_out_and_count_in_the_mean(model: LanguageModel) -> None:
    learner = learner_of(model, skip=0.98, epochs=1)
    episodes = sampled(learner, 8)
    certain = [Episode([each.decisions[0]._replace(log_probability=-0.001)], [20.0], True) for each in episodes]
    everything = learner_of(model, epochs=1)
    result, plain = ppo.update(learner, episodes + certain), ppo.update(everything, episodes + certain)
    assert result.skipped == 0.5
    assert plain.skipped == 0.0
    nothing = ppo.update(learner, certain)
    assert (nothing.updates, nothing.skipped) == (0, 1.0)


@pytest.mark.parametrize("algorithm", ["reinforce", "ppo"])
def test_micro_batches_add_up_to_the_minibatch(model: LanguageModel, algorithm: str) -> None:
    update: Callable[..., Update] = {"reinforce": reinforce.update, "ppo": ppo.update}[algorithm]
    whole, parts = (learner_of(model, microbatch=size, epochs=1, entropy=0.1) for size in (0, 5))
    episodes = sampled(whole, 24)
    assert update(whole, episodes)[:3] == pytest.approx(update(parts, episodes)[:3], rel=1e-3, abs=1e-5)
    for a, b in zip(whole.policy.model.parameters(), parts.policy.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("settings", [("rl.algorithm='reinforce'",), ("rl.algorithm='ppo'", "rl.target_kl=0.0")])
def test_four_iterations_are_two_and_two_more(settings: tuple[str, ...], out: Path) -> None:
    whole = out.with_name("whole")
    train(quick_config(*settings, stages=(4,)), whole, silent)

    class CrashedError(Exception):
        pass

    def crash(stage: str, step: int, *_: object) -> None:
        if stage == "rl" and step == 3:
            raise CrashedError

    with pytest.raises(CrashedError):
        train(quick_config(*settings, "rl.checkpoint_every=2", stages=(4,)), out, crash)
    shutil.copy(whole / "settings.json", out / "settings.json")
    train(quick_config(*settings, stages=(4,)), out, silent)
    assert same(whole / "policy", out / "policy")
    curves = [json.loads((each / "curve.json").read_text()) for each in (whole, out)]
    assert curves[0] == curves[1]
    assert not same(out / "policy", out / "policy-sft")
