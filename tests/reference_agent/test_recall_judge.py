"""The judge of texts that a player who remembers is taught."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from natlang_envs import UsageError
from natlang_envs.autoexplore import AutoExploreEnv
from natlang_envs.autoexplore.dataset.made_questions import made_labels
from natlang_envs.repository.tree import open_repository
from reference_agent.data_set import Example
from reference_agent.families.autoexplore.memory.judge import JudgeLesson, teach_judge
from reference_agent.families.autoexplore.memory.questions import JUDGES, OF_LIFT, RecallTraining
from reference_agent.families.autoexplore.memory.run import LIFTS, STATES
from reference_agent.families.autoexplore.memory.teaching import play, read_games
from reference_agent.memory.evidence import EvidenceWeights, StateReader
from reference_agent.memory.judging import ShownPart
from reference_agent.memory.player import ABOUT, JUDGE, MEMORY, POLICY, load, publish, remembering
from reference_agent.memory.policy import policy_of
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.command import app
from reference_agent.run.config import ModelConfig, settled_precision
from tests.reference_agent.conftest import WORDS
from tests.reference_agent.test_recall import canal, played, taught

__all__ = ["canal"]
QUICK = RecallTraining(epochs=2, updates=2, batch=4, samples=2)


@pytest.fixture
def model(examples: list[Example]) -> LanguageModel:
    """An untrained tiny model that reads a page."""
    texts = [each.state for each in examples]
    return LanguageModel.tiny(ModelConfig(width=16, layers=2, heads=2, positions=2_000), texts, WORDS, 0)


def lesson(chance: torch.Generator, answers: torch.Tensor) -> JudgeLesson:
    """Return a question with three files of two parts each, one of which has the answer in its second part."""
    states = torch.randn(6, 8, generator=chance)
    states[3] += 4 * answers
    return JudgeLesson(states, torch.tensor([0, 0, 1, 1, 2, 2]), torch.zeros(3), torch.tensor([False, True, False]))


def test_it_learns_what_answers_have_in_common_from_their_best_part() -> None:
    chance = torch.Generator().manual_seed(0)
    answers = torch.eye(8)[2]
    weights = teach_judge([lesson(chance, answers) for _ in range(60)])
    assert int(np.abs(weights.of_state).argmax()) == 2
    held = [lesson(chance, answers) for _ in range(50)]
    right = sum(int((each.states.numpy() @ weights.of_state).argmax()) == 3 for each in held)
    assert right >= 45
    again = teach_judge([lesson(torch.Generator().manual_seed(1), answers) for _ in range(9)])
    assert (
        again.of_state == teach_judge([lesson(torch.Generator().manual_seed(1), answers) for _ in range(9)]).of_state
    ).all()
    with pytest.raises(UsageError, match="nothing that a judge could learn"):
        teach_judge([])


def test_a_judge_file_is_read_back_and_another_file_is_none(tmp_path: Path) -> None:
    weights = EvidenceWeights(np.arange(4, dtype=np.float32), 0.25)
    read = EvidenceWeights.read(weights.write(), tmp_path)
    assert (read.of_state == weights.of_state).all()
    assert read.plan == weights.plan
    broken = EvidenceWeights(np.array([np.nan], np.float32), 0.25).write()
    for content in (b"", b"{}", broken):
        with pytest.raises(UsageError, match="holds no weights of a judge"):
            EvidenceWeights.read(content, tmp_path)


def test_a_state_is_that_of_the_text_before_the_question_and_kept(tmp_path: Path, model: LanguageModel) -> None:
    model.save(tmp_path / "tiny")
    table = tmp_path / "states.jsonl"
    readings = [ShownPart("Why so?", "a.md", 1, text) for text in ("Because.", "Nothing.")]
    one, other = StateReader(str(tmp_path / "tiny"), table, precision="fp32").many(readings)
    assert (one != other).any()
    kept = StateReader(str(tmp_path / "tiny"), table, precision="fp32")
    assert (kept.many(readings)[1] == other).all()
    assert "model" not in vars(kept), "what is kept is not computed again"
    table.write_text(json.dumps({**json.loads(table.read_text().split("\n")[0]), "state": "?"}) + "\n")
    with pytest.raises(UsageError, match="line 1 is no state"):
        StateReader(str(tmp_path / "tiny"), table, precision="fp32")


@pytest.mark.parametrize(("has_amx", "precision"), [(False, "fp32"), (True, "bf16")])
def test_texts_are_read_in_the_faster_precision_of_the_processor(
    tmp_path: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch, has_amx: bool, precision: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: has_amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    model.save(tmp_path / "tiny")
    reader = StateReader(str(tmp_path / "tiny"), tmp_path / "states.jsonl")
    reader.many([ShownPart("Why so?", "a.md", 1, "Because.")])
    assert json.loads((tmp_path / "states.jsonl").read_text())["model"].endswith(f" {precision}")


def test_a_player_with_a_judge_plays_as_in_the_games_that_it_learned_from(
    canal: Path, tmp_path: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save(tmp_path / "tiny")
    name, run = str(tmp_path / "tiny"), tmp_path / "run"
    taught(run, canal, QUICK._replace(model=name))
    assert (run / STATES).exists()
    assert not (run / LIFTS).exists()
    agent = load(f"{run}@{name}")
    labels = {label.id: label for label in made_labels(open_repository(canal))}
    policy = policy_of((run / POLICY).read_bytes(), run)
    for game in read_games(run / "games-validation.json", agent.memory)[:3]:
        label = labels[game.label]
        kept = play(game, lambda situation: policy.choose(situation, agent.settings))
        env = AutoExploreEnv(repository=str(canal), question=label.question, target=label.targets)
        actions, said, won = played(env, agent)
        assert (kept.won, kept.steps) == (won, len(actions)), said
    publish(run, tmp_path / "player.json")
    assert load(f"{tmp_path / 'player.json'}@{name}").settings == agent.settings
    plan = CliRunner().invoke(app, ["publish", str(run / JUDGE), str(tmp_path / "plan.json")])
    assert f"--agent recall:{tmp_path / 'plan.json'}" in plan.output.replace("\n", "")
    assert load(f"{tmp_path / 'plan.json'}@{name}").policy is None
    about = json.loads((run / ABOUT).read_text())
    for number, (given, precision) in enumerate((({"model": name}, "bf16"), (about, settled_precision("auto", "cpu")))):
        (run / ABOUT).write_text(json.dumps(given))
        publish(run / JUDGE, tmp_path / f"{number}.json")
        monkeypatch.setenv("NATLANG_LIFTS", str(tmp_path / f"{number}.jsonl"))
        load(f"{tmp_path / str(number)}.json@{name}").scale.prepare([ShownPart("Why so?", "a.md", 1, "Because.")])
        assert json.loads((tmp_path / f"{number}.jsonl").read_text())["model"] == f"{name} {precision}"
    (run / JUDGE).write_bytes(b"")
    with pytest.raises(UsageError, match="holds no weights of a judge"):
        load(f"{run}@{name}")
    (run / ABOUT).unlink()
    for path in (run, run / JUDGE):
        with pytest.raises(UsageError, match=f"{run} holds no player: run `reflect-rl recall --out {run}` to its end"):
            load(f"{path}@{name}")


def test_a_run_goes_on_in_its_precision_on_another_processor(canal: Path, tmp_path: Path, model: LanguageModel) -> None:
    model.save(tmp_path / "tiny")
    lessons = QUICK._replace(model=str(tmp_path / "tiny"), updates=0)
    here = settled_precision("auto", "cpu")
    other = {"fp32": "bf16", "bf16": "fp32"}[here]
    run = tmp_path / "run"
    taught(run, canal, lessons._replace(precision=other))
    assert json.loads((run / ABOUT).read_text())["precision"] == other
    assert json.loads((run / STATES).read_text().split("\n")[0])["model"].endswith(f" {other}")
    with pytest.raises(UsageError, match=f"precision.*{other}.*{here}"):
        taught(run, canal, lessons)
    (run / ABOUT).unlink()
    taught(run, canal, lessons._replace(precision=other))
    assert json.loads((run / ABOUT).read_text())["precision"] == other
    alone = remembering(run / MEMORY, lessons.model, tmp_path / "lifts.jsonl", precision=other)
    alone.scale.prepare([ShownPart("Why so?", "a.md", 1, "Because.")])
    assert json.loads((tmp_path / "lifts.jsonl").read_text())["model"].endswith(f" {other}")


def test_a_precision_without_a_model_and_an_unknown_one_are_refused(tmp_path: Path) -> None:
    for more, said in (("fp32",), "add --model"), (("fp64", "--model", "smollm2"), "unknown precision 'fp64'"):
        done = CliRunner().invoke(app, ["recall", "--out", str(tmp_path / "run"), "--precision", *more])
        assert isinstance(done.exception, UsageError)
        assert said in str(done.exception)


def test_a_run_whose_judge_was_lost_teaches_it_again(canal: Path, tmp_path: Path, model: LanguageModel) -> None:
    model.save(tmp_path / "tiny")
    lessons = QUICK._replace(model=str(tmp_path / "tiny"))
    taught(tmp_path / "run", canal, lessons)
    before = (tmp_path / "run" / JUDGE).read_bytes()
    (tmp_path / "run" / JUDGE).unlink()
    taught(tmp_path / "run", canal, lessons)
    assert (tmp_path / "run" / JUDGE).read_bytes() == before


@pytest.mark.parametrize("judge", JUDGES)
def test_a_model_that_is_not_there_is_refused_before_anything_is_made(canal: Path, tmp_path: Path, judge: str) -> None:
    with pytest.raises(UsageError, match=r"there is no folder '\./nothing'"):
        taught(tmp_path / "run", canal, QUICK._replace(model="./nothing", judge=judge))
    assert not list(tmp_path.rglob("*.safetensors"))


def test_the_lift_can_judge_instead_and_needs_a_model(canal: Path, tmp_path: Path, model: LanguageModel) -> None:
    model.save(tmp_path / "tiny")
    name = str(tmp_path / "tiny")
    taught(tmp_path / "run", canal, QUICK._replace(model=name, judge=OF_LIFT))
    assert not (tmp_path / "run" / JUDGE).exists()
    assert load(f"{tmp_path / 'run'}@{name}").settings.words == 1.0
    for arguments, words in (
        (["--judge", "lift"], "add --model"),
        (["--judge", "lifts", "--model", name], "choose one of lift, learned"),
    ):
        refused = CliRunner().invoke(app, ["recall", "--out", str(tmp_path / "none"), *arguments])
        assert isinstance(refused.exception, UsageError)
        assert words in str(refused.exception)
