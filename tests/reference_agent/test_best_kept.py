"""The best weights on validation are what RL ends with, the warm start among the candidates."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from natlang_envs.evaluation import load_agent
from reference_agent import rlft
from reference_agent.__main__ import main
from reference_agent.checkpoint import newest
from reference_agent.curriculum import Stage
from reference_agent.models.language_model import LanguageModel
from reference_agent.paper.tables import read_curve
from reference_agent.rlft import reinforce
from reference_agent.run.config import RLConfig
from tests.reference_agent.conftest import QUICK
from tests.reference_agent.test_training import same
from tests.support.slow import slow_unless

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"


class MadeUp:
    """Validations that are made up, and the weights that each was of."""

    def __init__(self, policy: LanguageModel, scores: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
        self._policy, self._scores, self.weights = policy, iter(scores), list[str]()
        monkeypatch.setattr(rlft, "success_rate", self._rate)

    def _rate(self, _: object) -> float:
        self.weights.append(self._policy.fingerprint())
        return next(self._scores)


def learn(
    policy: LanguageModel,
    stages: Stage | list[Stage],
    folder: Path | None = None,
    report: Callable[[rlft.Row], None] = lambda _: None,
    every: int = 1,
    patience: int = 0,
) -> list[rlft.Row]:
    settings = RLConfig(batch=4, validate_every=every, validate_episodes=1, patience=patience, checkpoint_every=50)
    return reinforce(policy, None, stages, settings, folder=folder, report=report)


@pytest.mark.parametrize("kept", [False, True], ids=["memory", "folder"])
@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([0.67, 0.1, 0.1, 0.1], 0),  # of the note: the warm start was the best
        ([0.2, 0.9, 0.3, 0.2, 0.1], 1),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], 6),
        ([0.5, 0.5, 0.5, 0.4], 2),  # the last of equals
        ([0.3, 0.1, 0.4, 0.2, 0.6, 0.1, 0.1], 4),
    ],
)
def test_rl_ends_with_the_weights_that_were_best(
    scores: list[float], best: int, kept: bool, model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, folder = model.copy(), tmp_path / "rl" if kept else None
    told = MadeUp(policy, scores, monkeypatch)
    curve = learn(policy, Stage(PICKUP, 6), folder, patience=3)
    assert len(curve) == len(scores) - 1, "three in a row that are no better end it, the warm start's counted"
    assert policy.fingerprint() == told.weights[best]
    assert len(set(told.weights)) == len(scores)
    assert curve[-1]["best"] == best
    assert curve[0]["validation_before"] == scores[0]
    assert [row["validation"] for row in curve] == scores[1:]
    if folder:
        last = newest(folder)
        assert last is not None
        policy.restore(last)
        assert policy.fingerprint() == told.weights[-1], "the last stay beside"


def test_the_last_weights_are_validated_though_it_is_not_their_turn(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = model.copy()
    told = MadeUp(policy, [0.1, 0.2, 0.3], monkeypatch)
    curve = learn(policy, Stage(PICKUP, 3), every=2)
    assert [row.get("validation") for row in curve] == [None, 0.2, 0.3]
    assert policy.fingerprint() == told.weights[2]


def test_a_stage_begins_with_the_best_of_the_one_before(
    model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = [Stage(PICKUP, 2), Stage("NatLang/DangerousTaxi-Dropoff-v0", 2)]
    policy = model.copy()
    told = MadeUp(policy, [0.1, 0.8, 0.2, 0.5, 0.4, 0.3], monkeypatch)
    curve = learn(policy, stages, tmp_path)
    assert told.weights[3] == told.weights[1] == policy.fingerprint()
    assert [row["best"] for row in curve] == [1, 1, 0, 0]
    assert [row.get("validation_before") for row in curve] == [0.1, None, 0.5, None]
    monkeypatch.undo()
    again = model.copy()
    assert learn(again, stages, tmp_path) == curve, "the same call returns the result"
    assert again.fingerprint() == policy.fingerprint()


class CrashedError(Exception):
    pass


@pytest.mark.parametrize("stop", slow_unless(lambda number: number in (1, 3), [1, 2, 3, 4, 5]))
def test_it_resumes_to_the_same_best(
    stop: int, model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second stage begins with the weights that had 0.6, and ends with its own first.
    scores, stages = [0.5, 0.6, 0.4, 0.3, 0.6, 0.7, 0.1], [Stage(PICKUP, 3), Stage(PICKUP, 2)]
    whole = model.copy()
    told = MadeUp(whole, scores, monkeypatch)
    curve = learn(whole, stages)
    assert whole.fingerprint() == told.weights[5]
    policy, rows, rates = model.copy(), list[rlft.Row](), dict(zip(told.weights, scores, strict=True))
    monkeypatch.setattr(rlft, "success_rate", lambda _: rates[policy.fingerprint()])

    def crash(row: rlft.Row) -> None:
        rows.append(row)
        if len(rows) == stop:
            raise CrashedError

    with pytest.raises(CrashedError):
        learn(policy, stages, tmp_path, report=crash)
    policy = model.copy()  # as in another process
    assert learn(policy, stages, tmp_path) == curve
    assert policy.fingerprint() == whole.fingerprint()


def test_a_run_has_the_best_policy_and_the_last_beside_it(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = iter([0.5, 0.6, 0.4, 0.3])
    monkeypatch.setattr(rlft, "success_rate", lambda _: next(rates))
    stage = f"curriculum=[{{env='{PICKUP}', iterations=3}}]"
    settings = [*QUICK, stage, "rl.validate_every=1", "rl.validate_episodes=1"]
    flags = [part for each in settings for part in ("--set", each)]
    monkeypatch.setattr(sys, "argv", ["reflect-rl", "train", "--out", str(out), *flags])
    with pytest.raises(SystemExit):
        main()
    told = " ".join(capsys.readouterr().out.split())
    assert "the best of 4 validations, 60% after iteration 1 of stage 0; the last weights, 30%" in told
    assert [row["best"] for row in read_curve(out)] == [1, 1, 1]
    last = newest(out / "rl")
    assert last is not None
    assert same(out / "policy-last", last)
    assert not same(out / "policy-last", out / "policy")
    assert {each.name for each in (out / "policy-last").iterdir()} == {each.name for each in (out / "policy").iterdir()}
    load_agent(f"reflect-rl:{out}/policy-last")


def test_a_run_without_validation_says_that_it_has_the_last_policy(
    out_trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not (out_trained / "policy-last").exists()
    monkeypatch.setattr(sys, "argv", ["reflect-rl", "train", "--out", str(out_trained)])
    with pytest.raises(SystemExit):
        main()
    assert "the last weights: rl.validate_every is 0" in " ".join(capsys.readouterr().out.split())
