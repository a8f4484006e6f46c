"""The algorithms of line 34: what each makes of a batch, and that all of them resume exactly."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from natlang_envs import unwrap
from natlang_envs.errors import UsageError
from reference_agent.algorithms import GROUP, Algorithm, AlgorithmSettings, methods
from reference_agent.algorithms.methods import compared, credit, grpo, leave_one_out, rloo
from reference_agent.algorithms.policy_gradient import (
    Learner,
    Transition,
    Update,
    advantages,
    choices,
    with_reference,
)
from reference_agent.checkpoint import PREFIX, Checkpoints, Iterations, newest
from reference_agent.curriculum import Stage, StageTasks, passed
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import PolicyAnswers, PolicyDecision, Reflector, decide
from reference_agent.rlft import Row
from reference_agent.rlft import reinforce as fine_tune_by_reward
from reference_agent.rollout import Episode
from reference_agent.run.bounds import at_least
from reference_agent.run.config import Config, RLConfig
from reference_agent.run.config_file import dump_config, load_config, parse_config
from tests.reference_agent.conftest import quick_config
from tests.support.slow import slow_unless

STATE = "Actions:\n"
COMMANDS = ("move north", "move south")


def learner_of(model: LanguageModel, rate: float = 1e-2, **settings: object) -> Learner:
    policy = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=rate)
    own = {"algorithm": settings.pop("algorithm", "ppo"), "options": settings.pop("options", {})}
    config = RLConfig(**{**own, "entropy": 0.0, **settings})  # type: ignore[arg-type]
    return Learner(policy, optimizer, config, np.random.default_rng(0))


def sampled(learner: Learner, count: int, good: str = COMMANDS[1]) -> list[Episode]:
    """Sample episodes of one step, of which one command is rewarded."""
    states = [f"Street {index}\n{STATE}" for index in range(count)]
    decisions = decide(learner.policy, None, states, [COMMANDS] * count, learner.rng)
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
    far = learner_of(model, minibatch=16, options={"epochs": 6, "target_kl": 0.0, "clip": 10.0})
    near = learner_of(model, minibatch=16, options={"epochs": 6, "target_kl": 1e-3, "clip": 10.0})
    results = []
    for learner in (far, near):
        episodes = sampled(learner, 48)
        before = chance(learner.policy, episodes)
        results.append(methods.ppo(learner, episodes))
        assert chance(learner.policy, episodes) > before
    assert results[0].updates == 18
    assert results[1].updates is not None
    assert 1 < results[1].updates < 18
    assert results[0].kl is not None
    assert results[0].kl > 0


def test_ppos_first_update_is_reinforces_and_clipping_ends_the_pull(model: LanguageModel) -> None:
    one, other = learner_of(model, options={"epochs": 1}), learner_of(model)
    episodes = sampled(one, 48)
    methods.ppo(one, episodes)
    methods.reinforce(other, episodes)
    for a, b in zip(one.policy.model.parameters(), other.policy.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    # Long training on one batch runs away without clipping, and with it stays near the policy that sampled.
    loose = learner_of(model, options={"epochs": 40, "target_kl": 0.0, "clip": 1e6})
    tight = learner_of(model, options={"epochs": 40, "target_kl": 0.0, "clip": 0.05})
    assert methods.ppo(tight, episodes).kl < methods.ppo(loose, episodes).kl  # type: ignore[operator]


@pytest.mark.parametrize("algorithm", ["reinforce", "ppo"])
def test_micro_batches_add_up_to_the_minibatch(model: LanguageModel, algorithm: str) -> None:
    update: Callable[..., Update] = {"reinforce": methods.reinforce, "ppo": methods.ppo}[algorithm]
    whole, parts = (learner_of(model, microbatch=size, options={"epochs": 1}, entropy=0.1) for size in (0, 5))
    episodes = sampled(whole, 24)
    episodes += episodes[:6]  # met again
    assert update(whole, episodes)[:3] == pytest.approx(update(parts, episodes)[:3], rel=1e-3, abs=1e-5)
    for a, b in zip(whole.policy.model.parameters(), parts.policy.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_what_is_asked_twice_is_computed_once_and_means_the_same(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, asked = learner_of(model), 0
    compute = LanguageModel.choice_logits_and_states

    def counted(self: LanguageModel, prompts: list[str], labels: list[tuple[str, ...]]) -> object:
        nonlocal asked
        asked += len(prompts)
        return compute(self, prompts, labels)

    monkeypatch.setattr(LanguageModel, "choice_logits_and_states", counted)
    known: PolicyAnswers = {}
    for _ in range(2):
        decisions = decide(learner.policy, None, [STATE] * 40, [COMMANDS] * 40, learner.rng, known=known)
        assert {tuple(each.labels) for each in decisions} == {tuple(decisions[0].labels)}
        assert {each.chosen for each in decisions} == {0, 1}, "each draws its own choice"
    assert asked == 1, "the second time the answer was known"
    rows = advantages([Episode([each], [float(each.chosen)], True) for each in decisions], learner.config)
    together = choices(learner, rows)
    assert asked == 2
    singly = [choices(learner, [row]) for row in rows]
    torch.testing.assert_close(together.chosen, torch.cat([each.chosen for each in singly]))
    torch.testing.assert_close(together.entropy, torch.stack([each.entropy for each in singly]).mean())


def episode(*steps: tuple[str, float], chosen: int = 0) -> Episode:
    """Return an episode of (state, reward) steps."""
    prompt = "Actions:\nA. move north\nB. move south\nChoice:\n"
    return Episode(
        [PolicyDecision(state, prompt, ["A", "B"], chosen, None, -0.7) for state, _ in steps], [r for _, r in steps]
    )


def placed(rows: list[Transition]) -> list[float]:
    return [value for row in rows for value in (row.step, row.advantage)]


def approximately(rows: list[tuple[int, float]]) -> object:
    return pytest.approx([value for row in rows for value in row])


def test_leave_one_out_compares_the_episodes_of_a_task_and_skips_equal_ones(model: LanguageModel) -> None:
    good, bad, middle = episode(("s", 9.0)), episode(("s", 0.0)), episode(("s", 1.0), ("t", 2.0))
    rows = leave_one_out([good, bad, middle, bad, bad, bad], 3, 1.0)
    assert placed(rows) == approximately([(1, -1.5), (0, 7.5), (0, -6.0), (0, -1.5)])
    learner = learner_of(model, algorithm="rloo", options={"group": 3})
    assert rloo(learner, [good, bad, middle, bad, bad, bad]).skipped == pytest.approx(3 / 7)
    before = copy.deepcopy(learner.policy.model.state_dict())
    rloo(learner, [bad] * 6)
    assert all(torch.equal(before[name], value) for name, value in learner.policy.model.state_dict().items())


def test_grpo_measures_returns_by_the_spread_of_their_group(model: LanguageModel) -> None:
    good, bad, long = episode(("s", 9.0)), episode(("s", 1.0)), episode(("s", 1.0), ("t", 4.0))
    assert placed(compared([good, bad, bad, bad], 2)) == approximately([(0, 1.0), (0, -1.0)])
    assert placed(compared([good, bad, long, bad], 4)) == approximately(
        [(1, 1 / 11**0.5), (0, 5 / 11**0.5), (0, -3 / 11**0.5), (0, 1 / 11**0.5), (0, -3 / 11**0.5)]
    )
    learner = learner_of(model, algorithm="grpo", options={"group": 2})
    assert grpo(learner, [good, bad, bad, bad]).skipped == 0.5
    assert grpo(learner, [bad] * 4) == Update(updates=0, skipped=1.0), "no loss, no entropy: none was computed"


def test_the_distance_to_the_policy_before_rl_holds_it_back(model: LanguageModel) -> None:
    chances, distances = {}, {}
    for weight in (1e-9, 10.0):
        options = {"epochs": 6, "target_kl": 0.0, "clip": 10.0, "reference_kl": weight}
        learner = learner_of(model, 1e-3, minibatch=16, options=options)
        before = [each.detach().clone() for each in learner.policy.parameters()]
        learner = learner._replace(reference=before)
        episodes = sampled(learner, 48)
        result = methods.ppo(learner, episodes)
        moved = [not torch.equal(*pair) for pair in zip(before, learner.policy.parameters(), strict=True)]
        assert any(moved)  # the reference's own weights are another copy, and in place again
        chances[weight], distances[weight] = chance(learner.policy, episodes), result.reference_kl
        # The policy before RL is the one that sampled here.
        rows = with_reference(learner, advantages(episodes, learner.config))
        assert [each.reference for each in rows] == pytest.approx(
            [each.decision.log_probability for each in rows], rel=1e-4
        )
    assert 0 < 10 * distances[10.0] < distances[1e-9]
    assert chances[10.0] < chances[1e-9]


def test_gigpo_adds_the_credit_among_repeated_states_to_the_episodes() -> None:
    # Both begin alike in a; one goes on rightly from b, the other wrongly.
    right, wrong = episode(("a", -1.0), ("b", 10.0)), episode(("a", -1.0), ("b", -10.0))
    rows = credit([right, wrong], RLConfig("gigpo", {"group": 2}, reward_scale=1.0))
    assert placed(rows) == approximately([(1, 20.0), (1, -20.0), (0, 20.0), (0, -20.0)])
    # A state met once has the episode's credit alone; one met twice in an episode is compared with itself.
    lone, loop = episode(("a", 4.0)), episode(("c", -2.0), ("c", 2.0))
    rows = credit([lone, loop], RLConfig("gigpo", {"group": 2}, reward_scale=1.0))
    assert placed(rows) == approximately([(1, -1.0), (0, 2.0), (0, -3.0)])


def test_the_critic_learns_what_states_are_worth_and_its_advantages_are_generalised(model: LanguageModel) -> None:
    learner = learner_of(model, options={"critic": True, "target_kl": 0.0}, reward_scale=1.0)
    critic = methods.make_critic(learner.policy)
    optimizer = torch.optim.AdamW([*learner.policy.model.parameters(), *critic.parameters()], lr=3e-3)
    learner = learner._replace(critic=critic, optimizer=optimizer)
    rows = methods.judged(learner, [episode(("a", 1.0), ("b", 4.0)), episode(("a", 2.0))])
    assert [row.advantage for row in rows] == pytest.approx([1 + methods.GAE * 4, 4.0, 2.0])
    torch.nn.init.constant_(critic.bias, 3.0)
    rows = methods.judged(learner, [episode(("a", 1.0), ("b", 4.0))])
    assert [row.advantage for row in rows] == pytest.approx([(1 + 3 - 3) + methods.GAE * (4 - 3), 4 - 3])
    assert [row.target for row in rows] == pytest.approx([4 + methods.GAE, 4.0])
    torch.nn.init.zeros_(critic.bias)
    for _ in range(12):
        methods.ppo(learner, [episode(("a", 2.0))] * 8)
    assert choices(learner, [Transition(0, episode(("a", 2.0)).decisions[0], 0.0)]).values.item() == pytest.approx(
        2.0, abs=0.5
    )  # type: ignore[union-attr]


PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
DROPOFF = "NatLang/DangerousTaxi-Dropoff-v0"
EVERY = {
    "reinforce": (),
    "rloo": ("rl.algorithm='rloo'", "rl.rloo.group=2"),
    "ppo": ("rl.algorithm='ppo'", "rl.ppo.target_kl=0.0", "rl.ppo.epochs=2"),
    "critic": ("rl.algorithm='ppo'", "rl.ppo.critic=true", "rl.ppo.epochs=2"),
    "gigpo": ("rl.algorithm='gigpo'", "rl.gigpo.group=2"),
    "grpo": ("rl.algorithm='grpo'", "rl.grpo.group=2", "rl.grpo.reference_kl=0.1", "rl.grpo.epochs=2"),
    "dropout": ("rl.algorithm='ppo'", "rl.dropout='always'", "rl.dropout_rate=0.3"),
}


class CrashedError(Exception):
    """Training was killed."""


def fine_tune(
    policy: LanguageModel, reflector: Reflector | None, config: Config, folder: Path, report: Callable[[Row], None]
) -> list[Row]:
    """Do the RL of a run's settings."""
    rest = {"history": config.history, "seed": config.seed, "folder": folder, "report": report}
    return fine_tune_by_reward(policy, reflector, config.stages, config.rl, **rest)  # type: ignore[arg-type]


def tuned(model: LanguageModel, config: Config, folder: Path, crash_at: int = 0) -> tuple[LanguageModel, list[Row]]:
    """Fine-tune a copy of a model by reward alone; raise at the report of iteration `crash_at`."""
    policy = copy.deepcopy(model)
    policy.model.eval()

    def report(row: Row) -> None:
        if row["iteration"] == crash_at:
            raise CrashedError

    return policy, fine_tune(policy, None, config, folder, report)


def equal(one: LanguageModel, other: LanguageModel) -> bool:
    a, b = one.model.state_dict(), other.model.state_dict()
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("name", slow_unless(lambda number: number % 2 == 1, EVERY))
def test_four_iterations_are_two_and_two_more(name: str, model: LanguageModel, out: Path) -> None:
    config = quick_config("rl.checkpoint_every=2", *EVERY[name], stages=(4,))
    whole, curve = tuned(model, config, out / "whole")
    with pytest.raises(CrashedError):
        tuned(model, config, out / "parts", crash_at=3)
    parts, resumed = tuned(model, config, out / "parts")
    assert equal(whole, parts)
    assert curve == resumed
    assert not equal(whole, model)


def test_dropout_matters_only_where_it_is_on(model: LanguageModel, out: Path) -> None:
    ends = {}
    for where in ("off", "updates", "always"):
        rate = 0.0 if where == "off" else 0.3
        settings = ("rl.algorithm='ppo'", "rl.ppo.epochs=2", f"rl.dropout_rate={rate}", f"rl.dropout='{where}'")
        config = quick_config(*settings, stages=(1,))
        state = torch.get_rng_state()
        policy, curve = tuned(model, config, out / where)
        assert torch.equal(torch.get_rng_state(), state), "the global generator is left alone"
        assert not policy.model.training
        ends[where] = curve[-1]
    assert ends["off"]["success"] == ends["updates"]["success"]
    assert ends["off"]["kl"] < ends["updates"]["kl"], "dropped updates see another policy than the one that sampled"


def test_a_stage_ends_early_where_it_succeeds_and_the_next_goes_on(model: LanguageModel, out: Path) -> None:
    easy = Stage(PICKUP, iterations=4, advance_at=0.001, advance_after=2, longest_plan=2)
    stages = (easy, Stage(DROPOFF, iterations=1))
    # A policy that draws evenly meets some successes on plans of two steps within 48 games of 30 steps.
    config = replace(quick_config("rl.batch=48"), curriculum=stages)
    _, curve = tuned(model, config, out / "easy")
    assert [(row["stage"], row["iteration"]) for row in curve] == [(0, 1), (0, 2), (1, 1)]
    _, again = tuned(model, config, out / "easy")
    assert again == curve, "a finished run stays as it is"
    hard = replace(config, curriculum=(replace(easy, advance_at=1.0, iterations=3), stages[1]))
    _, curve = tuned(model, hard, out / "hard")
    assert [row["stage"] for row in curve] == [0, 0, 0, 1]


def test_passing_looks_at_the_last_batches_of_its_own_stage() -> None:
    stage = Stage(PICKUP, advance_at=0.5, advance_after=2)
    curve = [{"stage": 0.0, "success": 1.0}, {"stage": 1.0, "success": 0.4}]
    assert not passed(stage, 1, curve)
    assert not passed(stage, 1, [*curve, {"stage": 1.0, "success": 0.5}])
    assert passed(stage, 1, [*curve, {"stage": 1.0, "success": 0.5}, {"stage": 1.0, "success": 0.5}])
    assert not passed(replace(stage, advance_at=0.0), 1, curve * 5)


def test_a_stage_narrows_its_tasks() -> None:
    tasks = StageTasks(Stage(DROPOFF, longest_plan=8, env_kwargs={"split": "train", "map": "generated"}))
    env = unwrap(gymnasium.make(DROPOFF, split="train", map="generated"))
    rng = np.random.default_rng(0)
    for _ in range(5):
        env.reset(options={"task_id": tasks.draw(rng)})
        assert len(env.oracle()) <= 8
    with pytest.raises(UsageError, match="has a plan of at most 1 steps"):
        StageTasks(Stage(DROPOFF, longest_plan=1)).draw(rng)


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(model: LanguageModel, out: Path) -> None:
    config = quick_config(stages=(4,))
    with pytest.raises(CrashedError):
        tuned(model, config, out, crash_at=2)
    good = newest(out)
    assert good is not None
    # The folder is another run's for `inputs.json`, which is not what this test is about.
    for name in ("inputs.json", "left.json"):
        (out / name).unlink()
    wild = quick_config("rl.learning_rate=1e30", stages=(4,))
    with pytest.raises(UsageError, match=rf"in iteration [34] of stage 0: lower rl\.learning_rate.*{PREFIX}0-"):
        tuned(model, wild, out)
    kept = newest(out)
    assert kept is not None
    assert all(value.isfinite().all() for value in load_file(kept / "model.safetensors").values())


def test_a_loss_that_is_not_finite_before_the_first_checkpoint_leaves_the_warm_start(
    model: LanguageModel, out: Path
) -> None:
    wild = quick_config("rl.learning_rate=1e30", "rl.checkpoint_every=1000", stages=(4,))
    with pytest.raises(UsageError, match=r"with another --out; there is no checkpoint yet, and the warm start stays$"):
        tuned(model, wild, out)
    assert newest(out) is None


def test_a_reflector_that_moves_in_training_is_found_out(model: LanguageModel, out: Path) -> None:
    reflector = Reflector(copy.deepcopy(model), 6)

    def report(row: Row) -> None:
        if row["iteration"] == 1:
            reflector.model.parameters()[-1].data.view(-1)[0] += 1e-6

    with pytest.raises(UsageError, match="the reflector's weights moved during RL fine-tuning: this is a bug"):
        fine_tune(copy.deepcopy(model), reflector, quick_config(stages=(2,)), out, report)


def test_the_newest_checkpoint_is_that_of_the_largest_numbers(model: LanguageModel, out: Path) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    for stage, iteration in ((8, 40), (9, 5), (9, 40), (10, 1), (10, 20), (11, 1)):
        at = Iterations(stage, iteration, [], {}, [])
        Checkpoints(out, model).save(at, optimizer)
        assert newest(out) == out / at.name
    assert sorted(each.name for each in out.iterdir()) == ["iteration-10-000020", "iteration-11-000001"]


def test_settings_that_cannot_be_are_named() -> None:
    for setting, words in {
        "rl.algorithm='dpo'": r"unknown rl\.algorithm 'dpo': choose one of ppo, reinforce",
        "rl.dropout_rate=2": "give a number from 0 to 1",
        "rl.reinforce.baseline='median'": "unknown rl.reinforce.baseline 'median'",
        "rl.dropout='maybe'": "rl.dropout",
        "curriculum=[{env_kwargs={horizon=3}}]": "'horizon' is in env_kwargs and in a stage's",
    }.items():
        with pytest.raises(UsageError, match=words):
            load_config(None, [setting, "env_kwargs={horizon=5}"])
    for setting, words in {
        "rl.ppo.reference_kl=-1": "rl.ppo.reference_kl is -1.0: give 0 or more",
        "rl.ppo.epochs=0": "rl.ppo.epochs is 0: give 1 or more",
    }.items():
        with pytest.raises(UsageError, match=words):
            load_config(None, ["rl.algorithm='ppo'", setting])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["rl.critic=true"], r"unknown config key 'rl\.critic': choose one of rl\.ppo\.critic$"),
        (["rl.group=2"], r"'rl\.group': choose one of rl\.rloo\.group, rl\.grpo\.group, rl\.gigpo\.group$"),
        (["rl.clip=0.3"], r"'rl\.clip': choose one of rl\.ppo\.clip, rl\.grpo\.clip, rl\.gigpo\.clip$"),
        (["rl.ratio=0.3"], r"'rl\.ratio': choose one of rl\.ppo\.clip, rl\.grpo\.clip, rl\.gigpo\.clip$"),
        (["sft_policy.clip=0.3", "rl.algorithm='ppo'"], r"'sft_policy\.clip': choose one of rl\.ppo\.clip"),
        (["rl.ppo.epochs=2"], r"^rl\.ppo has settings of another algorithm: set rl\.algorithm='ppo', or leave it out$"),
        (["rl.algorithm='ppo'", "rl.ppo.group=2"], r"'rl\.ppo\.group': choose one of rl\.rloo\.group"),
        (["rl.options={}"], r"unknown config key 'rl\.options'"),
    ],
)
def test_a_setting_that_the_algorithm_does_not_read_is_refused_with_where_it_belongs(
    settings: list[str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        load_config(None, settings)


def test_a_change_of_algorithm_drops_the_table_of_the_one_before(tmp_path: Path) -> None:
    critic = Path("taxi-pickup/ppo-critic")
    assert load_config(critic).rl.options.critic
    changed = load_config(critic, ["rl.algorithm='grpo'", "rl.grpo.group=3"]).rl
    assert (changed.algorithm, changed.group, changed.batch, changed.minibatch) == ("grpo", 3, 96, 256)
    assert load_config(critic, ["rl.ppo.critic=false", "rl.algorithm='ppo'"]).rl.options.epochs == 4
    assert load_config(critic, ["rl.rloo.group=3", "rl.ppo.epochs=2"], for_many=True).rl.options.epochs == 2
    with pytest.raises(UsageError, match=r"unknown setting 'rl\.grpo\.critic'"):
        RLConfig("grpo", {"critic": True})


@dataclass(frozen=True)
class Louder(AlgorithmSettings):
    """Settings of an algorithm that is defined in this file."""

    volume: int = at_least(1, 3)
    group: int = at_least(2, 2)


heard: list[tuple[int, int]] = []


def shout(learner: Learner, episodes: list[Episode]) -> Update:
    """Note what there is to learn from, and learn nothing."""
    heard.append((learner.config.options.volume, len(episodes)))
    return Update(updates=0)


SHOUT = Algorithm(shout, Louder, compares=True)


def test_an_algorithm_of_one_file_is_chosen_by_its_name(
    model: LanguageModel, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoints([EntryPoint("shout", f"{__name__}:SHOUT", GROUP)])
    monkeypatch.setattr("reference_agent.algorithms.entry_points", lambda group, **named: entry.select(**named))
    chosen = ("rl.algorithm='shout'", "rl.shout.volume=5", "rl.shout.group=3")
    config = quick_config(*chosen, stages=(2,))
    assert parse_config(json.loads(dump_config(config))) == config
    _, curve = tuned(model, config, out)
    assert (heard, [row["updates"] for row in curve]) == ([(5, 6)] * 2, [0, 0])
    for setting, words in {
        "rl.shout.volume=0": r"rl\.shout\.volume is 0: give 1 or more",
        "rl.shout.group=4": r"rl\.shout\.group 4 does not divide rl\.batch 6",
        "rl.volume=2": r"'rl\.volume': choose one of rl\.shout\.volume$",
    }.items():
        with pytest.raises(UsageError, match=words):
            quick_config(*chosen, setting)
