"""The judge that answers in words: it learns, plays by listed commands, and is refused where it cannot play."""

from __future__ import annotations

from pathlib import Path

import pytest

from natlang_envs.autoexplore.answering.env import AutoExploreAnswerEnv
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_judges.learning import TrainedJudge
from natlang_judges.quoter.training import QuoterSettings, load_questions, shares, train_quoters
from natlang_judges.searcher.training import SearcherSettings, train_searchers

pytestmark = pytest.mark.xdist_group("searchers")
LONG, SHORT = QuoterSettings(epochs=60, updates=2, imitation_rate=1e-2), QuoterSettings(epochs=2, updates=1)


def silent(*_: object) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[TrainedJudge]:
    return quoters(tmp_path_factory.mktemp("quoter"), SearcherSettings(epochs=2, updates=1), SHORT)


def quoters(folder: Path, first: SearcherSettings, then: QuoterSettings) -> list[TrainedJudge]:
    searcher = train_searchers(folder / "searcher", 1, first, silent, "embedded")[-1].weights
    return train_quoters(folder / "quoter", searcher, 1, then, silent, "embedded")


def protocol(**kwargs: object) -> Protocol:
    given = {"dataset": "embedded", "split": "train", "form": "listed", "search": True, **kwargs}
    ids = AutoExploreAnswerEnv(**given).tasks.ids()  # type: ignore[arg-type]
    episodes = tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids))
    return Protocol("answers/v1", "NatLang/AutoExplore-Answer-v0", given, 20, 1, episodes, "Embedded questions.")


@pytest.mark.slow
def test_it_learns_to_answer_what_it_was_taught(tmp_path: Path) -> None:
    from natlang_judges.quoter.agent import QUOTER

    imitated, rewarded = quoters(tmp_path, SearcherSettings(epochs=20, updates=2, imitation_rate=2e-2), LONG)
    questions = load_questions("train", "embedded")
    assert shares(QUOTER.read(imitated.weights), questions)["greedy"] >= 0.5
    _, trajectories = evaluate(load_agent(f"quoter:{rewarded.weights}"), protocol())
    assert any(each.success for each in trajectories)


@pytest.mark.parametrize("name", ["quoter", "quoter-sample"])
def test_it_plays_listed_commands(trained: list[TrainedJudge], name: str) -> None:
    _, trajectories = evaluate(load_agent(f"{name}:{trained[1].weights}"), protocol())
    assert all(each.actions[-1] in ("done", "exit") or len(each.actions) == 20 for each in trajectories)


def test_another_form_is_refused(trained: list[TrainedJudge]) -> None:
    with pytest.raises(UsageError, match="agent 'quoter' needs NatLang/AutoExplore-Answer-v0"):
        evaluate(load_agent(f"quoter:{trained[1].weights}"), protocol(search=False))


def test_weights_of_another_kind_are_refused(trained: list[TrainedJudge], tmp_path: Path) -> None:
    (file := tmp_path / "other.safetensors").write_bytes(trained[0].weights.read_bytes()[:100])
    with pytest.raises(UsageError, match="holds no quoter"):
        load_agent(f"quoter:{file}")
