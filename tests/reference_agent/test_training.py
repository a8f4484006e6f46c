"""Fine-tuning by reward, checkpoints, exact resume, and the command."""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from reference_agent import checkpoint, sft
from reference_agent.__main__ import main
from reference_agent.algorithms.methods import reinforce as update
from reference_agent.algorithms.policy_gradient import Learner, advantages, rewards_to_go
from reference_agent.checkpoint import newest
from reference_agent.data_set import Example
from reference_agent.families.alfworld import warmup as alfworld_warmup
from reference_agent.families.dangerous_taxi import warmup as taxi_warmup
from reference_agent.models.language_model import LanguageModel
from reference_agent.paper.tables import read_curve
from reference_agent.players import PolicyDecision
from reference_agent.rollout import Episode
from reference_agent.run.agent import load_sampling, trained_agent
from reference_agent.run.config import Config, PolicySFTConfig, RLConfig, SFTConfig
from reference_agent.run.config_file import load_config
from reference_agent.run.pipeline import train
from reference_agent.tiny import making as base
from reference_agent.tiny import warmup
from tests.reference_agent.conftest import QUICK, quick_config

PROTOCOL = "dangerous-taxi-pickup/v1"


def silent(*_: object) -> None:
    """Report nothing."""


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(first: Path, second: Path) -> bool:
    a, b = weights(first), weights(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_rewards_to_go() -> None:
    assert rewards_to_go([-1.0, -1.0, 20.0], 20.0).tolist() == pytest.approx([0.9, 0.95, 1.0])


def test_the_steps_of_a_batch_are_taken_last_to_first_and_the_baseline_is_the_mean_of_a_step() -> None:
    steps = [PolicyDecision(f"state {step}", f"prompt {step}", ["A", "B"], 0, None) for step in range(3)]
    episodes = [Episode(steps, [-1.0, -1.0, 20.0], True), Episode(steps[:1], [-10.0], False)]
    rows = advantages(episodes, RLConfig(reward_scale=1.0, options={"baseline": "step"}))
    assert [row.step for row in rows] == [2, 1, 0, 0]
    assert [row.advantage for row in rows] == pytest.approx([0.0, 0.0, 14.0, -14.0])
    plain = advantages(episodes, RLConfig(reward_scale=1.0, options={"baseline": "none"}))
    assert [row.advantage for row in plain] == pytest.approx([20.0, 19.0, 18.0, -10.0])


def test_an_update_makes_what_was_rewarded_likelier(model, examples) -> None:  # type: ignore[no-untyped-def]
    policy = copy.deepcopy(model)
    prompt, labels = "Actions:\nA. one\nB. two\nChoice:\n", ["A", "B"]
    good, bad = PolicyDecision("s", prompt, labels, 1, None), PolicyDecision("s", prompt, labels, 0, None)
    episodes = [Episode([good], [20.0], True), Episode([bad], [-10.0], False)] * 4
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-2)
    before = torch.softmax(policy.choice_logits([prompt], [labels]), dim=1)[0, 1].item()
    for _ in range(3):
        update(Learner(policy, optimizer, RLConfig(entropy=0.0), np.random.default_rng(0)), episodes)
    assert torch.softmax(policy.choice_logits([prompt], [labels]), dim=1)[0, 1].item() > before + 0.05


def test_a_warm_start_that_is_not_finite_stops_and_leaves_no_player(out: Path) -> None:
    words = r"in step \d of 4 of a supervised fine-tuning: lower its learning_rate and train with another --out"
    with pytest.raises(UsageError, match=words):
        train(quick_config("sft_reflector.learning_rate=1e30"), out, silent)
    assert not (out / "reflector").exists()
    with pytest.raises(UsageError, match=r"in the warm-up: lower warmup\.learning_rate and train with another --out"):
        train(quick_config("warmup.learning_rate=1e30"), out.with_name("other"), silent)


@pytest.mark.parametrize("last", [2, 4])
def test_weights_that_are_not_finite_are_in_no_checkpoint_and_in_no_player(
    last: int, model: LanguageModel, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    player, steps, descend = copy.deepcopy(model), list[float](), LanguageModel.descend

    def too_far(self: LanguageModel, *arguments: Any, **settings: Any) -> float:
        steps.append(descend(self, *arguments, **settings))
        if len(steps) == last:
            self.parameters()[0].data[0] = np.inf
        return steps[-1]

    monkeypatch.setattr(LanguageModel, "descend", too_far)
    with pytest.raises(UsageError, match=rf"weights are no longer finite in step {last} of 4 of a supervised"):
        sft.fine_tune_reflector(player, examples, SFTConfig(steps=4, batch=4), 0, silent, tmp_path)
    kept = newest(tmp_path)
    assert kept is not None
    assert all(value.isfinite().all() for value in weights(kept).values())


def test_training_makes_every_room_of_the_run_and_an_agent(out: Path) -> None:
    seen: set[str] = set()
    policy = train(quick_config("warmup.seed=9", stages=(2, 1)), out, lambda stage, *_: seen.add(stage))
    assert seen == {"labels", "directions", "collect", "reflector", "policy", "accuracy", "chance", "rl"}
    assert policy == out / "policy"
    curve = json.loads((out / "curve.json").read_text())
    assert [(row["stage"], row["iteration"]) for row in curve] == [(0, 1), (0, 2), (1, 1)]
    assert list((out / "rl" / "tensorboard").iterdir())
    assert not same(out / "policy", out / "policy-sft"), "reward moved the policy"
    agent = trained_agent(out)
    _, played = evaluate(agent, PROTOCOL, episodes=20)
    assert len(played) == 20
    assert all(isinstance(said, str) for each in played for said in each.reflections)
    assert [each.actions for each in played] == [
        each.actions for each in evaluate(load_agent(f"reflect-rl:{out}"), PROTOCOL, episodes=20, batch=9)[1]
    ]
    start = evaluate(load_agent(f"reflect-rl:{out}/policy-sft"), PROTOCOL, episodes=20)[1]
    assert len(start) == 20
    drawn = [evaluate(load_sampling(str(out)), PROTOCOL, episodes=20, batch=batch)[1] for batch in (64, 9)]
    assert [each.actions for each in drawn[0]] == [each.actions for each in drawn[1]], "each episode draws its own"
    assert [each.actions for each in drawn[0]] != [each.actions for each in played]
    after = evaluate(agent.sampled(), PROTOCOL, episodes=20)[1]  # with what the likeliest play remembers
    assert [each.actions for each in drawn[0]] == [each.actions for each in after]


def test_the_reflector_does_not_move_and_there_may_be_none(trained: Path, out_trained: Path) -> None:
    shutil.rmtree(out_trained / "policy")
    shutil.rmtree(out_trained / "rl")
    train(quick_config(), out_trained, silent)
    assert same(trained / "reflector", out_trained / "reflector")
    assert same(trained / "policy", out_trained / "policy"), "the same seed gives the same policy"
    without = out_trained.with_name("without")
    train(quick_config("reflect=false"), without, silent)
    assert not (without / "reflector").exists()
    _, played = evaluate(load_agent(f"reflect-rl:{without}"), PROTOCOL, episodes=20)
    assert all(said is None for each in played for said in each.reflections)


class CrashedError(Exception):
    pass


@pytest.mark.parametrize(
    "crashes",
    [
        pytest.param([("rl", 4)], id="once"),
        pytest.param([("reflector", 2), ("policy", 1), ("rl", 2)], id="elsewhere", marks=pytest.mark.slow),
    ],
)
def test_resuming_is_exact(crashes: list[tuple[str, int]], out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)  # a checkpoint a step
    config = quick_config(stages=(3, 2))
    whole = out.with_name("whole")
    train(config, whole, silent)
    for stage, step in crashes:
        folder = out.with_name(f"crash-{stage}-{step}")
        crash_and_resume(config, folder, stage, step)
        assert all(same(whole / player, folder / player) for player in ("reflector", "policy-sft", "policy"))
        assert sorted(each.name for each in folder.iterdir()) == sorted(each.name for each in whole.iterdir())
        curves = [json.loads((each / "curve.json").read_text()) for each in (whole, folder)]
        assert curves[0] == curves[1]


@pytest.mark.parametrize(
    ("experiment", "crashes"),
    [
        ("taxi-pickup-maps/best", [("labels", 2), ("walls", 4), ("directions", 2)]),
        pytest.param("alfworld/sft-only", [("lists", 14), ("repeating", 1), ("labels", 15)], marks=pytest.mark.slow),
    ],
)
def test_a_warm_up_that_crashed_goes_on_to_the_same_weights(
    experiment: str, crashes: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    # Low enough that prompts become harder within a few steps.
    monkeypatch.setattr(warmup, "_LEVEL_UP", 0.05)
    monkeypatch.setattr(alfworld_warmup, "_READ", 20.0)
    monkeypatch.setattr(base, "SAMPLED", 20)
    monkeypatch.setattr(taxi_warmup, "SAMPLED", 20)
    lessons = ("warmup.lookup_steps=16", "warmup.copy_steps=4", "warmup.steps=40", "warmup.levels=3")
    config = load_config(Path(experiment), [*(each for each in QUICK if not each.startswith("rl.")), *lessons])

    def made(cache: str, crash: tuple[str, int] | None = None) -> LanguageModel:
        monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / cache))

        def report(lesson: str, step: int, _: int, __: float) -> None:
            seen.append((lesson, step))
            if (lesson, step) == crash:
                raise CrashedError

        return base.base_model(config, report)

    seen: list[tuple[str, int]] = []
    whole = made("whole").model.state_dict()
    every = seen
    assert sum(lesson == "labels" for lesson, _ in every) == 36, "over by its levels, not by its steps"
    for crash in crashes:
        seen = []
        with pytest.raises(CrashedError):
            made("crashed", crash)
    seen = []
    resumed = made("crashed").model.state_dict()
    assert seen == every[every.index(crashes[-1]) :]
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert not list((tmp_path / "crashed").glob(".*.steps"))


def test_one_model_for_both_players_resumes_exactly_too(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    config = replace(quick_config(stages=(1,)), players="one")
    whole = out.with_name("whole")
    train(config, whole, silent)
    crash_and_resume(config, out, "reflector", 2)
    assert same(whole / "policy", out / "policy")


def test_another_run_goes_on_with_a_stage_that_a_crash_left_to_all(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    shared = out.with_name("stages")
    crash_and_resume(quick_config(stages=(1,)), out, "reflector", 2, out.with_name("another"), shared)
    assert not list(shared.glob(".*.steps"))


def test_dropout_depends_on_the_step_and_so_resumes_exactly(
    model: LanguageModel, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)

    def crash(step: int, *_: float) -> None:
        if step == 2:
            raise CrashedError

    def tuned(report: Callable[[int, float, float], None], folder: Path | None) -> dict[str, torch.Tensor]:
        player = copy.deepcopy(model)
        for module in player.model.modules():
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.3
        sft.fine_tune_policy(player, examples, PolicySFTConfig(steps=4, batch=8), 0, report, folder)
        return player.model.state_dict()

    whole = tuned(silent, None)
    with pytest.raises(CrashedError):
        tuned(crash, tmp_path)
    torch.rand(5)  # where torch's own generator stands does not matter
    resumed = tuned(silent, tmp_path)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def crash_and_resume(
    config: Config, folder: Path, stage: str, step: int, another: Path | None = None, shared: Path | None = None
) -> None:
    """Train, crash at a step of a stage, train on, maybe as another run, and see that the stage did not begin anew."""

    def crash(at: str, number: int, *_: object) -> None:
        if (at, number) == (stage, step):
            raise CrashedError

    with pytest.raises(CrashedError):
        train(config, folder, crash, shared)
    assert not (folder / "policy").exists()
    gone_on: list[int] = []
    train(config, another or folder, lambda at, number, *_: gone_on.append(number) if at == stage else None, shared)
    assert gone_on[0] > 1


def test_micro_batches_of_a_fine_tuning_add_up_to_the_batch(model: LanguageModel, examples: list[Example]) -> None:
    lists_of_many_lengths = [
        replace(each, commands=tuple(dict.fromkeys((each.action, *each.commands[: 1 + number % 5]))))
        for number, each in enumerate(examples)
    ]

    def gradient(size: int, reflector: bool) -> torch.Tensor:
        player = copy.deepcopy(model)
        settings: dict[str, Any] = {"steps": 1, "batch": 7, "microbatch": size, "max_norm": 1e9}
        if reflector:
            sft.fine_tune_reflector(player, examples, SFTConfig(**settings), 0, silent)
        else:
            config = PolicySFTConfig(**settings, smoothing=0.1, doubt=0.5)
            sft.fine_tune_policy(player, lists_of_many_lengths, config, 0, silent)
        return torch.cat([weight.grad.flatten() for weight in player.parameters() if weight.grad is not None])

    for reflector in (True, False):
        whole = gradient(0, reflector)
        for size in (1, 3):
            assert torch.allclose(gradient(size, reflector), whole, atol=1e-4)


def test_ctrl_c_saves_says_how_to_go_on_and_loses_nothing(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [part for each in [*QUICK, "rl.checkpoint_every=1000"] for part in ("--set", each)]
    stages = ["--set", "curriculum=[{env='NatLang/DangerousTaxi-Pickup-v0', iterations=400}]"]
    monkeypatch.setattr(sys, "argv", ["reflect-rl", "train", "--out", str(out), *settings, *stages])
    ended = threading.Event()

    def press() -> None:
        while not (out / "rl" / "tensorboard").exists():
            if ended.wait(0.1):
                return
        if not ended.wait(1.0):
            os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        with pytest.raises(SystemExit) as left:
            main()
    finally:
        ended.set()
        pressing.join()
    assert left.value.code == 130
    said = capsys.readouterr().out
    assert f"Go on with: reflect-rl train --out {out}" in "".join(said.splitlines())
    saved = newest(out / "rl")
    assert saved is not None
    progress = json.loads((saved / "progress.json").read_text())
    assert progress["step"] == len(progress["curve"]) >= 1


def test_bad_input_is_one_line_and_exit_code_2(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("seed = ")
    cases = {
        "unknown config key": ["train", "--out", str(out), "--set", "rl.batchsize=4"],
        "must be int": ["train", "--out", str(out), "--set", "rl.batch=many"],
        "sets nothing": ["train", "--out", str(out), "--set", "rl.batch"],
        "does not exist": ["train", "nowhere.toml", "--out", str(out)],
        "is not a TOML file": ["train", str(bad), "--out", str(out)],
        "holds no run": ["show", str(out)],
        "no learning curve": ["plot", str(out)],
    }
    for words, arguments in cases.items():
        monkeypatch.setattr(sys, "argv", ["reflect-rl", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert ended.value.code == 2, (words, said)
        assert words in said
        assert len(said.strip().splitlines()) == 1, said
    assert not out.exists()


def test_a_folder_of_another_run_is_refused_and_stays(out_trained: Path) -> None:
    out = out_trained
    before = (out / "settings.json").read_bytes()
    with pytest.raises(UsageError, match="holds a run with other settings"):
        train(quick_config("seed=1"), out, silent)
    assert (out / "settings.json").read_bytes() == before
    other = out.with_name("other")
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty and holds no run"):
        train(quick_config(), other, silent)


def test_a_checkpoint_of_another_model_and_a_damaged_one_are_refused(out_trained: Path) -> None:
    out = out_trained
    other = out.with_name("other")
    train(quick_config("model.width=48", "model.inner=96"), other, silent)
    for damage, message in (("other", "another model"), ("truncated", "is damaged"), ("progress", "is no checkpoint")):
        broken = out.with_name(f"broken-{damage}")
        shutil.copytree(out, broken)
        shutil.rmtree(broken / "policy")
        saved = sorted((broken / "rl").glob("iteration-*"))
        shutil.rmtree(saved[-1])  # the one before the end, so that training has something left to do
        if damage == "other":
            shutil.rmtree(saved[0])
            shutil.copytree(sorted((other / "rl").glob("iteration-*"))[0], saved[0])
        elif damage == "truncated":
            path = saved[0] / "optimizer.safetensors"
            path.write_bytes(path.read_bytes()[:100])
        else:
            (saved[0] / "progress.json").write_text("{")
        with pytest.raises(UsageError, match=message):
            train(quick_config(), broken, silent)


def test_a_damaged_curve_is_made_again_as_its_message_says(out_trained: Path) -> None:
    out = out_trained
    before = read_curve(out)
    for content in ("{", '{"a": 1}', '[{"episodes": 1}]', "3"):
        (out / "curve.json").write_text(content)
        again = f"delete it and {out / 'policy'}, and `reflect-rl train --out {out}` makes"
        with pytest.raises(UsageError, match=again):
            read_curve(out)
    (out / "curve.json").unlink()
    shutil.rmtree(out / "policy")
    train(quick_config(), out, silent)
    assert read_curve(out) == before


@pytest.mark.slow
def test_generated_maps_train_too(out: Path) -> None:
    train(quick_config("env_kwargs={map='generated'}", stages=(1,)), out, silent)
    _, played = evaluate(load_agent(f"reflect-rl:{out}"), "dangerous-taxi-pickup-cities/v1", episodes=3)
    assert len(played) == 3
    assert np.isfinite(sum(sum(each.rewards) for each in played))
