"""Discount, what counts alike, the exact distance to the policy before RL, and validation on the way."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from natlang_envs.errors import UsageError
from reference_agent.algorithms import methods
from reference_agent.algorithms.methods import compared, leave_one_out
from reference_agent.algorithms.policy_gradient import (
    Transition,
    advantages,
    choices,
    distance,
    rewards_to_go,
    shared,
    with_reference,
)
from reference_agent.checkpoint import newest
from reference_agent.curriculum import Stage, improves_no_more
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import Reflector, decide
from reference_agent.rlft import reinforce
from reference_agent.rollout import Episode
from reference_agent.run.config import RLConfig, SFTConfig
from reference_agent.sft import fine_tune_reflector
from tests.reference_agent.test_algorithms import (
    COMMANDS,
    STATE,
    approximately,
    episode,
    learner_of,
    placed,
    sampled,
)
from tests.support.corridor import Corridor


def test_the_exact_distance_is_the_sum_over_the_list_and_pulls_as_it(model: LanguageModel) -> None:
    learner = learner_of(model, options={"reference_kl": 1.0, "exact_kl": True})
    before = [each.detach().clone() for each in learner.policy.parameters()]
    rows = advantages(sampled(learner, 6), learner.config)
    three = decide(
        learner.policy, None, [STATE], [(*COMMANDS, "wait")], learner.rng
    )  # a longer list beside shorter ones
    rows.append(Transition(0, three[0], 1.0))
    torch.manual_seed(0)
    with torch.no_grad():
        for each in learner.policy.parameters():
            each += 0.02 * torch.randn_like(each)
    rows = with_reference(learner._replace(reference=before), rows)

    def by_hand(policy: LanguageModel) -> torch.Tensor:
        asked = [row.decision for row in rows]
        lists = [policy.choice_logits([each.prompt], [each.labels])[0].log_softmax(0) for each in asked]
        terms = [(now.exp() * (now - torch.tensor(row.listed))).sum() for now, row in zip(lists, rows, strict=True)]
        return torch.stack(terms).mean()

    def gradient(loss: torch.Tensor) -> torch.Tensor:
        learner.policy.model.zero_grad()
        loss.backward()
        return torch.cat([each.grad.flatten() for each in learner.policy.parameters() if each.grad is not None])

    ours = distance(learner, choices(learner, rows), rows)
    assert ours.item() == pytest.approx(by_hand(learner.policy).item(), rel=1e-4)
    assert ours.item() > 1e-3
    torch.testing.assert_close(gradient(ours), gradient(by_hand(learner.policy)), rtol=1e-3, atol=1e-6)


def test_the_estimated_distance_and_its_gradient_are_the_exact_ones_in_expectation(model: LanguageModel) -> None:
    learner = learner_of(model, options={"reference_kl": 1.0})
    assert learner.config.options.exact_kl, "where commands are listed"
    options = replace(learner.config.options, exact_kl=False)
    estimated = learner._replace(config=replace(learner.config, options=options))
    policy = learner.policy

    def move() -> None:
        with torch.no_grad():
            for each in policy.parameters():
                each += 0.05 * torch.randn_like(each)

    def gradient(loss: torch.Tensor) -> torch.Tensor:
        policy.model.zero_grad()
        loss.backward()
        return torch.cat([each.grad.flatten() for each in policy.parameters() if each.grad is not None])

    torch.manual_seed(0)
    before = [each.detach().clone() for each in policy.parameters()]
    move()
    (asked,) = decide(policy, None, [STATE], [COMMANDS], learner.rng)
    with torch.no_grad():
        sampling = policy.choice_logits([asked.prompt], [asked.labels])[0].log_softmax(0)
    every = [
        Transition(0, asked._replace(chosen=at, log_probability=each), 0.0) for at, each in enumerate(sampling.tolist())
    ]
    for moved in (False, True):  # of the policy that sampled, and after an update
        if moved:
            move()
        told = with_reference(learner._replace(reference=before), every)
        terms = [distance(estimated, choices(estimated, [each]), [each]) for each in told]
        expected = sum((odds * term for odds, term in zip(sampling.exp(), terms, strict=True)), torch.zeros(()))
        exact = distance(learner, choices(learner, told[:1]), told[:1])
        assert expected.item() == pytest.approx(exact.item(), rel=1e-3)
        assert exact.item() > 1e-3
        torch.testing.assert_close(gradient(expected), gradient(exact), rtol=1e-3, atol=1e-6)


def test_a_discount_makes_late_rewards_count_less(model: LanguageModel) -> None:
    assert rewards_to_go([1.0, 2.0, 4.0], 2.0, 0.5).tolist() == [1.5, 2.0, 2.0]
    late, soon = episode(("s", 0.0), ("t", 0.0), ("u", 8.0)), episode(("s", 8.0))
    assert compared([late, soon], 2) == [], "the same return, undiscounted"
    assert placed(compared([late, soon], 2, 0.5)) == approximately([(2, -1.0), (1, -1.0), (0, -1.0), (0, 1.0)])
    assert placed(leave_one_out([late, soon], 2, 1.0, 0.5)) == approximately(
        [(2, -6.0), (1, -6.0), (0, -6.0), (0, 6.0)]
    )
    settings = RLConfig(options={"baseline": "none"}, discount=0.5)
    assert placed(advantages([late], settings)) == approximately([(2, 8.0), (1, 4.0), (0, 2.0)])
    learner = learner_of(model, options={"critic": True}, reward_scale=1.0, discount=0.5)
    learner = learner._replace(critic=methods.make_critic(learner.policy))
    torch.nn.init.constant_(learner.critic.bias, 3.0)  # type: ignore[union-attr,arg-type]
    rows = methods.judged(learner, [episode(("a", 1.0), ("b", 4.0))])
    assert [row.advantage for row in rows] == pytest.approx([(1 + 1.5 - 3) + 0.5 * methods.GAE * (4 - 3), 4 - 3])


def test_episodes_count_alike_whatever_their_length() -> None:
    long, short = episode(*[("s", 1.0)] * 6), episode(("s", 2.0), ("t", 2.0))
    config = RLConfig(normalise="episode", options={"baseline": "none"})
    rows = advantages([long, short], config)
    flat = [row._replace(advantage=1.0) for row in rows]
    weighted = shared([long, short], flat, config)
    of_long = {id(each) for each in long.decisions}
    shares = [sum(row.advantage for row in weighted if (id(row.decision) in of_long) is own) for own in (True, False)]
    assert shares == pytest.approx([4.0, 4.0]), "halves of the eight decisions"
    assert shared([long, short], flat, RLConfig()) == flat
    # An episode that was skipped leaves its share to the others.
    kept = [row for row in flat if id(row.decision) in of_long]
    assert [row.advantage for row in shared([long, short], kept, config)] == pytest.approx([1.0] * 6)
    # Of a written command every token counts.
    wordy = Episode([long.decisions[0]._replace(written=(1, 2, 3))], [1.0])
    rows = shared([wordy, short], [Transition(0, each, 1.0) for each in (*wordy.decisions, *short.decisions)], config)
    assert [row.advantage for row in rows] == pytest.approx([2.5 / 3, 1.25, 1.25])


def test_a_stage_ends_where_validations_improve_no_more() -> None:
    def ends(*scores: float | None, patience: int = 2) -> bool:
        told = [{} if score is None else {"validation": score} for score in scores]
        rows = [{"stage": 1.0, "iteration": float(at), **each} for at, each in enumerate(told, 1)]
        return improves_no_more(1, [{"stage": 0.0, "validation": 9.0}, *rows], patience)

    assert not ends(0.5, None, 0.4)
    assert ends(0.5, None, 0.4, None, 0.5), "twice in a row no better"
    assert not ends(0.5, 0.4, 0.6)
    assert not ends(0.5, 0.6, 0.5)
    assert not ends(*[0.5] * 9, patience=0)


def test_validation_changes_nothing_that_is_learned(model: LanguageModel, tmp_path: Path) -> None:
    pickup, curves, weights = "NatLang/DangerousTaxi-Pickup-v0", [], []
    for every in (0, 2):
        policy, reflector = model.copy(), Reflector(model.copy(), 4)
        settings = RLConfig(batch=4, validate_every=every, validate_episodes=3 if every else 100)
        curves.append(reinforce(policy, reflector, Stage(pickup, 4), settings, folder=tmp_path / str(every)))
        last = newest(tmp_path / str(every))
        assert last is not None
        policy.restore(last)
        weights.append(policy.fingerprint())
    assert weights[0] == weights[1]
    assert ["validation" in row for row in curves[1]] == [False, True, False, True]
    scores = [row.pop("validation") for row in curves[1] if row.pop("best", None) is not None]
    scores.append(curves[1][0].pop("validation_before"))
    assert set(scores) <= {0, 1 / 3, 2 / 3, 1}
    for plain, row in zip(*curves, strict=True):
        del plain["reflections"], row["reflections"]  # games of validation may have asked already
    assert curves[0] == curves[1]
    assert all(isinstance(value, float | int) for row in curves[0] for value in row.values()), "any logger takes rows"


@pytest.mark.parametrize("clip", [1.0, 1e-6])
def test_fine_tuning_tells_the_norm_of_its_gradient_before_it_is_cut(
    clip: float, model: LanguageModel, examples: list[Example]
) -> None:
    few, told = examples[:4], list[tuple[int, float, float]]()
    by_hand = model.copy()
    loss = by_hand.completion_loss(
        [by_hand.ask_reflection(each.state) for each in few], [by_hand.space + each.reflection for each in few]
    )
    loss.backward()
    norm = torch.cat([each.grad.flatten() for each in by_hand.parameters() if each.grad is not None]).norm()
    settings = SFTConfig(steps=1, batch=4, max_norm=clip)
    fine_tune_reflector(model.copy(), few, settings, report=lambda *each: told.append(each))
    assert told == [(1, pytest.approx(loss.item(), rel=1e-4), pytest.approx(norm.item(), rel=1e-3))]


def test_a_folder_of_another_discount_is_refused(model: LanguageModel, tmp_path: Path) -> None:
    policy, stage = model.copy(), Stage(partial(Corridor, "train"), 1)
    reinforce(policy, None, stage, RLConfig(batch=2), folder=tmp_path)
    with pytest.raises(UsageError, match=r"settings\.discount was 1\.0 and is now 0\.5"):
        reinforce(policy, None, stage, RLConfig(batch=2, discount=0.5), folder=tmp_path)
