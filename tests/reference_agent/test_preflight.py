"""What is wrong with a run shows before it takes its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from natlang_envs.errors import UsageError
from reference_agent.models.language_model import LanguageModel
from reference_agent.paper.experiments import PRESETS, TARGETS, make_plan
from reference_agent.run.command import app
from reference_agent.run.config_file import load_config
from reference_agent.run.pipeline import train
from tests.reference_agent.conftest import WORDS, quick_config
from tests.reference_agent.test_training import silent

PICKUP, ALFWORLD = "NatLang/DangerousTaxi-Pickup-v0", "NatLang/ALFWorld-TomatoMicrowave-v0"
WRONG = {
    "curriculum=[{env='NatLang/DangerousTaxi-Picup-v0'}]": "unknown environment 'NatLang/DangerousTaxi-Picup-v0'",
    "collect.env='NatLang/Taxi-v0'": "unknown environment 'NatLang/Taxi-v0'",
    "env_kwargs={colour='red'}": "unknown argument 'colour': choose one of",
    f"curriculum=[{{env='{PICKUP}'}}, {{env='{PICKUP}', env_kwargs={{depth=2}}}}]": "unknown argument 'depth'",
}


@pytest.mark.parametrize("command", ["train", "collect"])
@pytest.mark.parametrize("setting", WRONG)
def test_an_environment_that_cannot_be_made_does_not_take_the_folder(command: str, setting: str, out: Path) -> None:
    stage = [] if "curriculum" in setting else ["--set", f"curriculum=[{{env='{PICKUP}'}}]"]
    result = CliRunner().invoke(app, [command, "--out", str(out), "--set", setting, *stage])
    assert isinstance(result.exception, UsageError)
    assert WRONG[setting] in str(result.exception)
    assert not out.exists()


def test_a_split_among_the_arguments_is_the_one_that_counts(out: Path) -> None:
    with pytest.raises(UsageError, match="unknown split 'nowhere'"):
        train(quick_config("env_kwargs={split='nowhere'}"), out, silent)


def test_a_model_with_too_few_labels_does_not_take_the_folder(out: Path, tmp_path: Path) -> None:
    model = LanguageModel.tiny(quick_config().model, ["a word"], WORDS, 0)
    model.save(tmp_path / "small")
    few = load_config(None, [f"model.name='{tmp_path / 'small'}'", f"curriculum=[{{env='{ALFWORLD}'}}]"])
    with pytest.raises(UsageError, match=rf"^128 commands need .* this tokenizer has {len(model.labels)}:"):
        train(few, out, silent)
    assert not out.exists()


def test_a_run_that_is_whole_needs_no_environment(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = quick_config(stages=(1,))
    policy = train(config, out, silent)
    monkeypatch.setattr("reference_agent.run.pipeline.check_environments", None)
    assert train(config, out, silent) == policy


LATER = {
    "model.device='cuda'": '^model.device = "cuda", but torch finds none',
    "rl.validate_every=9": "^rl.validate_every has no effect in stages of at most 1 iterations",
    "rl.dropout='updates'": "^rl.dropout has no effect on a model without dropout",
    "model={lora_rank=2, lora_targets='nowhere'}": "^model.lora_targets = 'nowhere' fits no layer",
    "model={lora_rank=2, lora_targets='lm_head'}": "^model.lora_targets names the head",
    "rl.reflector_endpoint='localhost'": "^rl.reflector_endpoint is 'localhost': give an address such as",
}


@pytest.mark.parametrize("setting", LATER)
@pytest.mark.parametrize("pretrained", [False, True])
def test_what_only_rl_or_an_adapter_needs_does_not_take_the_folder_either(
    setting: str, pretrained: bool, out: Path, model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    settings = ["sft_reflector.steps=0", "sft_policy.steps=0", "rl.batch=2", setting]
    if pretrained:
        model.save(tmp_path / "base")
        settings.append(f"model.name='{tmp_path / 'base'}'")
    with pytest.raises(UsageError, match=LATER[setting]):
        train(load_config(None, [*settings, f"curriculum=[{{env='{PICKUP}', iterations=1}}]"]), out, silent)
    assert not out.exists()


def test_validation_in_an_environment_without_that_split_does_not_take_the_folder(out: Path) -> None:
    stage = f"curriculum=[{{env='{PICKUP}', iterations=2, env_kwargs={{split='validation'}}}}]"
    with pytest.raises(UsageError, match="learns from 'validation' itself"):
        train(load_config(None, [stage, "rl.validate_every=1"]), out, silent)
    assert not out.exists()


def test_settings_of_an_algorithm_are_for_the_cells_that_train_with_it(tmp_path: Path) -> None:
    target, preset, setting = TARGETS["algorithms"], PRESETS["quick"], "rl.ppo.epochs=2"
    cells = make_plan(target, preset, tmp_path, ["taxi-pickup"], [setting]).cells
    ppo, best = (next(each.config for each in cells if each.method == method) for method in ("ppo", "best"))
    assert ppo is not None
    assert best is not None
    assert ppo.rl.options.epochs == 2
    assert best.rl.options.baseline == "step"
    with pytest.raises(UsageError, match=r"rl\.ppo has settings of an algorithm that no cell here trains with"):
        make_plan(target, preset, tmp_path, ["taxi-pickup"], [setting], methods=["best"])
