"""A run's folder says by what it was made, and how both fine-tunings went."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers

from natlang_envs import __version__
from natlang_envs.errors import UsageError
from reference_agent.curriculum import Stage
from reference_agent.data_set import CARD, Example, describe, read_card, read_examples
from reference_agent.models.language_model import LanguageModel
from reference_agent.rlft import reinforce
from reference_agent.run.config import PolicySFTConfig, RLConfig, SFTConfig
from reference_agent.run.pipeline import train
from reference_agent.sft import fine_tune_policy, fine_tune_reflector
from tests.reference_agent.conftest import quick_config
from tests.support.corridor import Corridor


def rows(folder: Path) -> list[dict[str, float]]:
    return json.loads((folder / "curve.json").read_text())


def test_the_folder_says_versions_processes_and_device(trained: Path) -> None:
    (session,) = json.loads((trained / "made_by.json").read_text())["sessions"]
    assert session["natlang-envs"] == __version__
    assert (session["torch"], session["transformers"]) == (torch.__version__, transformers.__version__)
    assert (session["processes"], session["device"]) == (1, "cpu")
    for stage in ("reflector", "policy-sft"):
        assert json.loads((trained / stage / "made_by.json").read_text())["sessions"] == [session]


def test_both_fine_tunings_leave_their_curves_with_validation(trained: Path) -> None:
    config = quick_config()
    for stage, steps in (("reflector", config.sft_reflector.steps), ("policy-sft", config.sft_policy.steps)):
        before, *curve = rows(trained / stage)
        assert set(before) == {"step", "validation"}
        assert [row["step"] for row in curve] == list(range(1, steps + 1))
        assert all(row["loss"] > 0 and row["gradient_norm"] > 0 for row in curve)
        assert "validation" in curve[-1]
    learned, unseen = (
        {each.task_id for each in read_examples(trained / "data" / f"{name}.jsonl")}
        for name in ("examples", "validation")
    )
    assert len(unseen) == 5
    assert not learned & unseen
    assert f"of validation tasks: {len(read_examples(trained / 'data' / 'validation.jsonl'))}, of 5 trajectories" in (
        describe(read_card(trained / "data" / CARD))
    )


def test_without_validation_tasks_a_run_trains_and_says_why_it_has_none(out: Path) -> None:
    train(quick_config("split=validation", stages=(0,)), out, lambda *_: None)
    assert "none: NatLang/DangerousTaxi-Pickup-v0 learns from 'validation' itself" in describe(
        read_card(out / "data" / CARD)
    )
    assert all("validation" not in row for row in rows(out / "reflector"))


def test_validation_changes_no_bit_of_a_fine_tuning_and_needs_a_folder(
    model: LanguageModel, examples: list[Example], tmp_path: Path
) -> None:
    few, prints = examples[:9], list[list[str]]()
    for number, unseen in enumerate(([], examples[20:40])):
        players = [model.copy(), model.copy()]
        at, policy = tmp_path / str(number), PolicySFTConfig(3, batch=4, doubt=0.5, smoothing=0.1)
        fine_tune_reflector(players[0], few, SFTConfig(3, batch=4), folder=at / "r", validation=unseen)
        fine_tune_policy(players[1], few, policy, folder=at / "p", validation=unseen)
        prints.append([each.fingerprint() for each in players])
    assert prints[0] == prints[1]
    for name in ("r", "p"):
        plain, told = (rows(tmp_path / number / name) for number in ("0", "1"))
        assert [{key: row[key] for key in row if key != "validation"} for row in told[1:]] == plain
        scores = [row["validation"] for row in told]
        assert len(scores) == 4
        assert len(set(scores)) == 4
    with pytest.raises(UsageError, match=r"written into curve\.json of the folder: give one"):
        fine_tune_reflector(model.copy(), few, SFTConfig(3, batch=4), validation=examples)


def test_a_run_of_two_processes_is_not_resumed_by_one(out_trained: Path) -> None:
    note = out_trained / "made_by.json"
    note.write_text(note.read_text().replace('"processes": 1', '"processes": 2'))
    train(quick_config(), out_trained, lambda *_: None)  # it has ended: nothing is trained
    shutil.rmtree(out_trained / "policy")
    with pytest.raises(
        UsageError, match="was begun by 2 processes, and 1 would make other weights: start 2, or choose"
    ):
        train(quick_config(), out_trained, lambda *_: None)


def test_a_folder_of_a_function_says_it_too_and_every_other_maker(
    model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_on(count: str) -> None:
        monkeypatch.setattr("reference_agent.run.fingerprint.processes.count", lambda: int(count))
        reinforce(model.copy(), None, Stage(Corridor, 1), RLConfig(batch=4), folder=tmp_path, allow_test=True)

    go_on("1")
    (session,) = json.loads((tmp_path / "made_by.json").read_text())["sessions"]
    (tmp_path / "made_by.json").write_text(json.dumps({"sessions": [{**session, "torch": "1.0"}]}))
    go_on("1")
    assert [each["torch"] for each in json.loads((tmp_path / "made_by.json").read_text())["sessions"]] == [
        "1.0",
        torch.__version__,
    ]
    with pytest.raises(UsageError, match="begun by 1 process, and 2 would"):
        go_on("2")
    (tmp_path / "made_by.json").write_text('{"sessions": [1]}')
    with pytest.raises(UsageError, match=r"made_by\.json is damaged \(it holds no sessions\): choose another folder"):
        go_on("1")
