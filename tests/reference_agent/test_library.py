"""The public functions: each step of Algorithm 1 by itself, with environments, models and teachers of one's own."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import reference_agent
from examples.train_guessing_game import HalvingEnv
from examples.train_guessing_game import teacher as halving
from natlang_envs.errors import UsageError
from natlang_envs.prompt import reflection_prompt
from reference_agent import (
    CollectConfig,
    Lesson,
    ModelConfig,
    Moment,
    PolicySFTConfig,
    RLConfig,
    SFTConfig,
    Stage,
    WritingPolicy,
    collect,
    fine_tune_policy,
    fine_tune_reflector,
    load_model,
    play,
    reinforce,
    success_rate,
)
from reference_agent.algorithms import load_algorithm
from reference_agent.algorithms.methods import reinforce as update
from reference_agent.algorithms.policy_gradient import Learner, centred
from reference_agent.collection import cut_to_context, gather
from reference_agent.families import own, prompts
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import with_head
from reference_agent.players import PolicyDecision, Reflector
from reference_agent.rollout import Episode
from reference_agent.run.config import Config, TeacherConfig
from reference_agent.run.config_file import parse_config
from reference_agent.teachers import choose
from reference_agent.teachers.chat import described, load_prompts
from reference_agent.teachers.choose import make_teacher
from tests.support.corridor import Corridor

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
FEW = CollectConfig(trajectories=4, policy_trajectories=4, negatives=2)
walk_on = partial(Corridor, "train")


def guide(moment: Moment) -> tuple[str, str]:
    """Walk to the lamp: a teacher that is a plain function."""
    action = moment.env.oracle()[0]
    return f"So I {action}.", action


def test_every_public_name_is_there_and_documented() -> None:
    for name in reference_agent.__all__:
        assert getattr(reference_agent, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'anything'"):
        _ = reference_agent.anything


def test_each_step_works_alone_and_again_where_it_was_done(tmp_path: Path) -> None:
    steps: list[int] = []
    for _ in range(2):
        examples = collect(walk_on, guide, FEW, folder=tmp_path)
        assert {each.negative for each in examples} == {False, True}
        base = load_model()

        def told(step: int, *_: float) -> None:
            steps.append(step)

        sft = {"steps": 2, "batch": 4}
        reflector = fine_tune_reflector(base.copy(), examples, SFTConfig(**sft), 0, told, tmp_path / "reflector")
        policy = fine_tune_policy(base.copy(), examples, PolicySFTConfig(**sft), 0, told, tmp_path / "policy")
        assert len(steps) == 4, "the second time there was nothing left to do"
        reflector.max_tokens = 8
        settings = RLConfig(batch=4)
        stage = Stage(walk_on, iterations=2)
        curve = reinforce(policy, reflector, stage, settings, folder=tmp_path / "rl")
        assert [row["iteration"] for row in curve] == [1, 2]
        assert "reflections_cut" in curve[0]
    played = play(Corridor, policy, reflector, episodes=5)
    assert 0 <= success_rate(played) <= 1
    assert [each.rewards for each in played] == [
        each.rewards for each in play(Corridor, policy, reflector, episodes=5)
    ], "the same seed plays the same"


@pytest.mark.parametrize(
    ("teacher", "words"),
    [
        (lambda moment: "hm", r"the teacher returned 'hm' on task .* return a reflection"),
        (lambda moment: ("Well.", 3), "return a reflection"),
        (
            lambda moment: ("So I dance.", "dance"),
            "the teacher chose 'dance' on task .* which is not listed: choose one",
        ),
        (lambda moment: 1 / 0, r"the teacher failed on task .* \(ZeroDivisionError: .*: mend the teacher"),
    ],
)
def test_a_teacher_that_errs_is_named_in_one_line(teacher: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        collect(walk_on, teacher, FEW)
    assert "\n" not in str(caught.value)


class Silent(HalvingEnv):
    """The example's environment, without a list of commands."""

    def _admissible_commands(self) -> tuple[str, ...]:
        return ()


def test_where_no_command_is_listed_a_policy_that_chooses_is_refused() -> None:
    base = load_model("tiny")
    for model in (base, with_head(base.copy(), Config(head="saycan"))):
        with pytest.raises(UsageError, match="lists no commands to choose from: set head = 'text'"):
            play(Silent, model)


@pytest.mark.slow
def test_where_no_command_is_listed_the_policy_writes_it() -> None:
    base = load_model("tiny")
    examples = collect(Silent, halving, CollectConfig(trajectories=4, policy_trajectories=4))
    assert {each.commands for each in examples} == {()}
    reflector = fine_tune_reflector(base.copy(), examples, SFTConfig(100, batch=8))
    policy = fine_tune_policy(WritingPolicy(base.copy()), examples, PolicySFTConfig(20, batch=8))
    small = {"batch": 48, "minibatch": 24, "learning_rate": 1e-4}  # rare texts that fail pull hard
    settings = RLConfig("grpo", {"group": 8, "reference_kl": 0.05}, **small)  # type: ignore[arg-type]
    won = [row["success"] for row in reinforce(policy, reflector, Stage(Silent, 12), settings)]
    assert sum(won[-3:]) > sum(won[:3]) + 0.3


def test_a_teacher_that_hangs_is_named_in_one_line_and_a_slow_one_is_waited_for() -> None:
    def hang(moment: Moment) -> tuple[str, str]:
        time.sleep(20)
        return guide(moment)

    begun = time.monotonic()
    with pytest.raises(UsageError, match=r"no answer in 0\.2 seconds on task .* after 0 steps: .* collect\.timeout"):
        collect(walk_on, hang, replace(FEW, timeout=0.2))
    assert time.monotonic() - begun < 5
    assert collect(walk_on, guide, replace(FEW, timeout=20.0)) == collect(walk_on, guide, replace(FEW, timeout=0.0))


def test_a_teacher_that_slips_says_the_right_thing_and_does_another() -> None:
    env, rng = Corridor(), np.random.default_rng(0)
    env.reset(seed=0)
    for wrong in (1.0, -0.1, "often"):
        with pytest.raises(UsageError, match=r"teacher\.slips is .*: give a number of at least 0 and below 1"):
            make_teacher(env, rng, TeacherConfig(options={"slips": wrong}))
    curriculum = [{"env": PICKUP}]
    many = {"trajectories": 40, "policy_trajectories": 40, "failures": True}
    config = parse_config({"curriculum": curriculum, "collect": many, "teacher": {"slips": 0.2}})
    examples = gather(config).examples
    right = [each.action in each.reflection for each in examples]
    assert np.mean(right) == pytest.approx(0.8, abs=0.06)
    assert all(each.action in each.commands for each in examples)


def test_the_generic_teacher_follows_any_plan_in_phrases_of_ones_own(tmp_path: Path) -> None:
    examples = collect(walk_on, "oracle", FEW)
    assert all(each.reflection.count(each.action) == 1 for each in examples if not each.negative)
    phrases = tmp_path / "mine.toml"
    phrases.write_text('do = ["Let me {action}!"]\nregret = ["Oh no, {last}."]\n')
    env = Corridor()
    teacher = make_teacher(env, np.random.default_rng(0), TeacherConfig("generic", {"phrases_file": str(phrases)}))
    examples = collect(walk_on, teacher, FEW)
    assert all(f"Let me {each.action}!" in each.reflection for each in examples)
    assert all(each.reflection.startswith("Oh no, ") for each in examples if each.negative)
    phrases.write_text("do = []\n")
    with pytest.raises(UsageError, match="needs a list of sentences named 'do'"):
        make_teacher(env, np.random.default_rng(0), TeacherConfig("generic", {"phrases_file": str(phrases)}))


class Planless(Corridor):
    """A corridor of which nobody has a plan."""

    def oracle(self) -> list[str]:
        raise NotImplementedError


def test_an_environment_without_a_plan_takes_a_function_and_names_what_is_missing_else() -> None:
    def walk(moment: Moment) -> Lesson:
        room, lamp = (int(word.strip(".")) for word in moment.observation.split() if word.strip(".").isdigit())
        action = "light the lamp" if room == lamp else "go east" if room < lamp else "go west"
        return Lesson(f"So I {action}.", action)

    examples = collect(partial(Planless, "train"), walk, FEW)
    assert any(each.negative for each in examples), "every action but the teacher's counts as a mistake"
    with pytest.raises(UsageError, match=r"Planless has no oracle\(\) or reference\(\): write a teacher function"):
        collect(partial(Planless, "train"), "oracle", FEW)


def make_shy(env: object, rng: np.random.Generator, loud: bool = False) -> Any:
    """Return a teacher of another package."""
    return guide if loud else lambda moment: (None, guide(moment)[1])


def bold(learner: object, episodes: object) -> str:
    """Update nothing: an algorithm of another package."""
    return "nothing"


def test_other_packages_register_teachers_and_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "tests.reference_agent.test_library"
    registered = {
        "natlang_envs.teachers": EntryPoints([EntryPoint("corridor", f"{here}:make_shy", "natlang_envs.teachers")]),
        "natlang_envs.algorithms": EntryPoints([EntryPoint("bold", f"{here}:bold", "natlang_envs.algorithms")]),
    }

    def entry_points(group: str, **named: str) -> EntryPoints:
        return registered[group].select(**named)

    monkeypatch.setattr("reference_agent.teachers.choose.entry_points", entry_points)
    monkeypatch.setattr("reference_agent.algorithms.entry_points", entry_points)
    env = Corridor()
    rng = np.random.default_rng(0)
    assert make_teacher(env, rng, TeacherConfig("oracle", {"loud": True})) is guide, "its family's oracle"
    assert collect(walk_on, "corridor", FEW) == [], "it never says anything"
    with pytest.raises(UsageError, match="the teacher 'corridor' has no option 'shy': its options are loud"):
        make_teacher(env, rng, TeacherConfig("corridor", {"shy": True}))
    assert RLConfig(algorithm="bold").algorithm == "bold"
    assert load_algorithm("bold").update(None, None) == "nothing"
    with pytest.raises(UsageError, match=r"unknown rl\.algorithm 'dpo': choose one of"):
        RLConfig(algorithm="dpo")


def test_a_chat_model_is_told_what_the_class_docstring_says() -> None:
    assert described(Corridor()) == "Walk to the lamp and light it."
    assert "Walk to the lamp and light it." in load_prompts(Corridor()).system
    taxi = choose.import_module("natlang_envs.dangerous_taxi.env").DangerousTaxiEnv
    told = described(taxi.__new__(taxi))
    assert "+20" in told
    assert "##" not in told


def test_prompts_of_ones_own_take_the_place_of_a_chat_models(tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text('system = "S"\nreflect = "R"\nnegative = "N"\nhint = ""\nchoose = "C"\n')
    assert load_prompts(Corridor(), str(file)).system == "S"
    file.write_text('system = "S"\n')
    with pytest.raises(UsageError, match=r"holds no prompts .*: write the texts system, reflect, neg"):
        load_prompts(Corridor(), str(file))


# Faults of earlier versions.


def test_equal_returns_without_a_baseline_are_not_divided_by_nothing(model: LanguageModel) -> None:
    decisions = [
        PolicyDecision("s", "Actions:\nA. one\nB. two\nChoice:\n", ["A", "B"], each % 2, None) for each in range(8)
    ]
    episodes = [Episode([each], [1.0], True) for each in decisions]
    settings = RLConfig(options={"baseline": "none"})
    assert {row.advantage for row in centred(episodes, settings)} == {1.0}
    policy = model.copy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
    assert abs(update(Learner(policy, optimizer, settings, np.random.default_rng(0)), episodes).loss) < 10
    varied = [Episode([each], [float(number)], True) for number, each in enumerate(decisions)]
    assert {row.advantage for row in centred(varied, settings)} == set(range(8)), "as they are"
    assert np.std([row.advantage for row in centred(varied, RLConfig())]) == pytest.approx(1, rel=1e-4)


def test_the_labels_of_a_model_in_16_bits_are_told_apart_in_32() -> None:
    model = load_model(config=ModelConfig(precision="bf16", device="cpu"))
    prompts, labels = ["A street.\nChoice:\n"], [model.labels]
    with torch.no_grad():
        logits, state = model.choice_logits_and_states(prompts, labels)
    head = model.model.get_output_embeddings().weight.double()
    exact = head[[model._label_ids[label] for label in model.labels]] @ state[0].double()
    assert (logits[0].double() - exact).abs().max() < 1e-4
    assert len(set(logits[0].tolist())) == len(model.labels)


def test_defaults_handicap_nobody_and_name_no_task() -> None:
    config = Config()
    assert (config.sft_policy.smoothing, config.sft_policy.doubt, config.rl.entropy) == (0.0, 0.0, 0.0)
    assert (config.rl.reward_scale, config.model.device, config.curriculum) == (1.0, "auto", ())


def test_collection_cuts_prompts_to_the_context_as_play_does() -> None:
    base = load_model()
    base.positions = 200
    config = parse_config(
        {
            "curriculum": [{"env": "NatLang/AutoExplore-v0"}],
            "env_kwargs": {"dataset": "embedded"},
            "split": "all",
            "allow_test": True,
            "history": 15,
            "collect": {"trajectories": 4, "policy_trajectories": 4},
        }
    )
    whole = gather(config).examples
    assert max(base.count(reflection_prompt(each.state)) for each in whole) > 2 * base.positions
    wide = [each for each in whole if len(each.commands) > len(base.labels)]
    assert not wide
    base.positions = 900
    examples = gather(config, fit=cut_to_context(base, 24, 15)).examples
    assert len(examples) == len(whole)
    for each in examples:
        prompt = base.ask(each.state, None, base.list_actions(each.commands, None))
        assert base.count(prompt) + 24 <= base.positions
    assert any(" … [cut]" in each.state or cut.state != each.state for each, cut in zip(examples, whole, strict=True))


def test_a_reflection_that_is_cut_is_counted_and_said(model: LanguageModel, caplog: pytest.LogCaptureFixture) -> None:
    reflector = Reflector(model.copy(), 3)
    reflector.reflect(["one", "two"])
    reflector.reflect(["one", "three"])
    assert (reflector.written, reflector.cut) == (3, 3)
    assert caplog.messages == ["a reflection was cut at 3 tokens: raise max_tokens (reflection_tokens in a config)"]


def test_a_policy_that_is_sure_before_rl_is_said_to_have_nothing_to_compare(
    model: LanguageModel, caplog: pytest.LogCaptureFixture
) -> None:
    policy = model.copy()
    settings = RLConfig(batch=4, minibatch=64)
    reinforce(policy, None, Stage("NatLang/DangerousTaxi-Pickup-v0", iterations=1), settings, seed=0)
    assert caplog.messages == []
    with torch.no_grad():
        for weights in policy.model.get_output_embeddings().parameters():
            weights *= 1_000
    reinforce(policy, None, Stage("NatLang/DangerousTaxi-Pickup-v0", iterations=1), settings, seed=0)
    assert [each[:27] for each in caplog.messages] == ["the policy's entropy is 0.0"]


def test_sampled_reflections_follow_the_models_probabilities_and_the_generator(model: LanguageModel) -> None:
    reflector = Reflector(model.copy(), 4, sampled=True)
    states = ["one"] * 20

    def drawn(seed: int) -> list[str]:
        return reflector.reflect(states, [np.random.default_rng([seed, each]) for each in range(20)])

    assert drawn(0) == drawn(0) != drawn(1)
    assert len(set(drawn(0))) > 5, "each is drawn for itself"
    assert not reflector.cache
    assert len(set(reflector.reflect(states))) == 1, "greedy without generators"
    one = Reflector(model.copy(), 1, sampled=True)
    ids = torch.tensor([model.encode(reflection_prompt("one"))])
    chances = torch.softmax(model.model(ids).logits[0, -1], dim=0)
    said = one.model.complete([reflection_prompt("one")] * 400, 1, [np.random.default_rng(0)] * 400)
    likely = int(chances.argmax())
    text = model.tokenizer.decode([likely], skip_special_tokens=True).strip()
    share = sum(each.text == text for each in said) / 400
    same = [at for at in range(len(chances)) if model.tokenizer.decode([at], skip_special_tokens=True).strip() == text]
    assert share == pytest.approx(float(chances[same].sum()), abs=0.09)


def test_a_model_of_ones_own_needs_an_end_and_gets_its_padding() -> None:
    base = load_model()
    tokenizer = base.tokenizer
    tokenizer.pad_token = None
    own = LanguageModel.of(base.model, tokenizer)
    assert own.tokenizer.pad_token_id == own.end
    tokenizer.eos_token = None
    with pytest.raises(UsageError, match="has no token that ends a text: set its eos_token"):
        LanguageModel.of(base.model, tokenizer)
    many = len(own.labels) + 1
    with pytest.raises(UsageError, match=f"^{many} commands need as many single-token labels, .* has {many - 1}:"):
        own.list_actions([f"command {number}" for number in range(many)], None)


@pytest.mark.parametrize("family", ["halving", "my.family", "../alfworld", ""])
def test_a_family_without_a_wing_has_nothing_of_its_own(family: str) -> None:
    assert [own(family, name) for name in ("lessons", "samples", "words")] == [None] * 3
    assert prompts(family) is None
