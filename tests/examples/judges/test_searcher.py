"""The judge that plays AutoExplore-Search: it learns, resumes, plays by the rules that it learned, refuses the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.tasks import RepositoryTasks
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, evaluate, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.prompt import PathStep
from natlang_judges.learning import TrainedJudge
from natlang_judges.searcher.agent import SearcherAgent
from natlang_judges.searcher.evidence import hinted
from natlang_judges.searcher.games import Questions
from natlang_judges.searcher.network import SearcherNetwork, WalkerNetwork, choose_step
from natlang_judges.searcher.questions import load_questions, load_walks
from natlang_judges.searcher.training import (
    SearcherSettings,
    demonstrated,
    play,
    shares,
    steps,
    train_searchers,
)
from reference_agent.run.command import app
from tests.support.folders import write

ID = "NatLang/AutoExplore-Search-v0"
SHORT = SearcherSettings(epochs=20, updates=2, imitation_rate=2e-2)
pytestmark = pytest.mark.xdist_group("searchers")  # one process trains them


def silent(*_: object) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def questions() -> Questions:
    return load_questions("train", "embedded")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[TrainedJudge]:
    return train_searchers(tmp_path_factory.mktemp("searcher"), 1, SHORT, silent, "embedded")


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> list[TrainedJudge]:
    return train_searchers(tmp_path_factory.mktemp("walker"), 1, SHORT, silent, "embedded", 0)


def weights_of(results: list[TrainedJudge]) -> list[bytes]:
    return [each.weights.read_bytes() for each in results]


def test_imitation_names_what_the_teacher_names_and_reads_before_it_does(
    trained: list[TrainedJudge], questions: Questions
) -> None:
    torch.manual_seed(0)
    network = load_searcher(trained[0]).network
    assert shares(SearcherNetwork(), questions)["natural sampled"] + 0.1 < shares(network, questions)["natural sampled"]
    games = questions.games(torch.arange(len(questions.hard)))
    for scores in steps(network, games):
        games.act(*choose_step(scores, None))
    assert games.read.sum(1).mean() >= 1


def load_searcher(result: TrainedJudge, sampling: bool = False) -> SearcherAgent:
    return SearcherAgent(result.weights, sampling)


def test_training_repeats_by_its_seed_and_goes_on_where_it_was_stopped(
    trained: list[TrainedJudge], tmp_path: Path
) -> None:
    for each in trained[:1]:  # stopped after the imitation
        (tmp_path / "seed0").mkdir()
        (tmp_path / "seed0" / each.weights.name).write_bytes(each.weights.read_bytes())
    resumed = train_searchers(tmp_path, 1, SHORT, silent, "embedded")
    assert weights_of(resumed) == weights_of(trained)
    again = train_searchers(tmp_path / "again", 1, SHORT, silent, "embedded")
    assert weights_of(again) == weights_of(trained)
    with pytest.raises(UsageError, match="holds what was made from other inputs"):
        train_searchers(tmp_path, 1, replace(SHORT, updates=11), silent, "embedded")


class Game:
    """A game of an environment, step by step, with random numbers of its own."""

    def __init__(self, env: NatLangEnv, task_id: str | None = None) -> None:
        self.env, self.over = env, False
        self.path: list[PathStep] = []
        self._rng = np.random.default_rng(0)
        self._observation, self.info = env.reset(options={"task_id": task_id} if task_id else None)

    def step(self, agent: SearcherAgent) -> None:
        listed = self.info["admissible_commands"]
        command = agent(AgentInput(self.info["task"], tuple(self.path), self._observation, listed, self._rng))
        assert command in listed
        self._observation, _, self.over, _, self.info = self.env.step(command)
        self.path.append(PathStep(command, self.info["feedback"]))

    @property
    def commands(self) -> list[str]:
        return [step.action for step in self.path]


def played(agent: SearcherAgent, split: str, env_id: str = ID) -> Iterator[tuple[NatLangEnv, list[str], bool]]:
    """Yield the environment, the commands and the success of each game of a split."""
    env: Any = gym.make(env_id, dataset="embedded", split=split)
    for task_id in sorted(RepositoryTasks(split, None, "embedded").ids()):
        game = Game(env, task_id)
        while not game.over:
            game.step(agent)
        yield env.unwrapped, game.commands, game.info["success"]


def test_the_agent_wins_the_games_that_training_said_it_would(trained: list[TrainedJudge]) -> None:
    agent = SearcherAgent(trained[-1].weights)
    won = [success for _, _, success in played(agent, "validation")]
    assert won == play(agent.network, load_questions("validation", "embedded")).tolist()
    assert trained[-1].won["natural greedy"] == sum(won) / len(won)


@pytest.mark.parametrize("split", [pytest.param("train", marks=pytest.mark.slow), "validation"])
def test_a_judge_that_walks_wins_the_games_that_training_said_it_would(walker: list[TrainedJudge], split: str) -> None:
    agent = load_searcher(walker[-1])
    assert agent.network.walks
    games = list(played(agent, split, "NatLang/AutoExplore-v0"))
    assert [success for _, _, success in games] == play(agent.network, load_walks(split, "embedded", None)).tolist()
    assert any(success for _, _, success in games)


def test_a_judge_that_walks_begins_from_one_of_another_depth(walker: list[TrainedJudge], tmp_path: Path) -> None:
    still = replace(SHORT, epochs=0, updates=0)
    deeper = train_searchers(tmp_path / "deeper", 1, still, silent, "embedded", 0, walker[0].weights.parents[1])
    assert weights_of(deeper)[0] == weights_of(walker)[-1]
    with pytest.raises(UsageError, match=r"holds no searcher"):
        train_searchers(tmp_path / "none", 1, still, silent, "embedded", 0, tmp_path / "missing")


def test_without_negatives_the_shortest_way_is_played(tmp_path: Path) -> None:
    questions = load_walks("train", "embedded", None)
    games = questions.games(torch.arange(len(questions.hard)))
    for scores in steps(WalkerNetwork(), games):
        games.act(*demonstrated(games.teach(scores.may), scores.may))
    assert games.won.all()
    assert games.read.sum(1).max() == 1


def test_words_of_paths_hint_at_words_that_such_files_have_more_often() -> None:
    assert hinted(("workflow", "zebra"), ".github/workflows/test.yml")[:2] == [True, False]


def test_games_of_one_question_in_two_repositories_are_kept_apart(walker: list[TrainedJudge], tmp_path: Path) -> None:
    def begun(name: str, files: dict[str, bytes | str]) -> Game:
        repository = str(write(tmp_path / name, files))
        return Game(AutoExploreEnv(repository=repository, question="Which sails of boats?", target=next(iter(files))))

    folders: list[dict[str, bytes | str]] = [
        {"boats/deep/sail.txt": "Sails of boats."},
        {"boats/other/oar.txt": "Oars."},
        {"boats/sails.md": ""},
    ]
    alone: list[Game] = []
    for number, files in enumerate(folders):
        alone.append(begun(f"alone{number}", files))
        agent = load_searcher(walker[0])
        while not alone[-1].over:
            alone[-1].step(agent)
    together = [begun(f"together{number}", files) for number, files in enumerate(folders)]
    agent = load_searcher(walker[0])
    while not all(game.over for game in together):
        for game in together:
            if not game.over:
                game.step(agent)
    assert [game.commands for game in together] == [game.commands for game in alone]


def test_sampling_repeats_by_the_numbers_of_an_episode(trained: list[TrainedJudge]) -> None:
    drawn = SearcherAgent(trained[-1].weights, sampling=True)
    first, again = ([commands for _, commands, _ in played(drawn, "validation")] for _ in range(2))
    assert first == again
    assert first != [commands for _, commands, _ in played(SearcherAgent(trained[-1].weights), "validation")]


def test_a_published_judge_plays_as_the_weights_that_it_was_made_of(
    trained: list[TrainedJudge], tmp_path: Path
) -> None:
    told = CliRunner().invoke(app, ["publish", str(trained[-1].weights), str(tmp_path / "judge.json")])
    assert f"--agent searcher:{tmp_path / 'judge.json'}" in told.output.replace("\n", "")
    agent = load_agent(f"searcher:{tmp_path / 'judge.json'}")
    assert isinstance(agent, SearcherAgent)
    plays = [
        [commands for _, commands, _ in played(each, "validation")] for each in (agent, load_searcher(trained[-1]))
    ]
    assert plays[0] == plays[1]
    with pytest.raises(UsageError, match="which is no file of a player"):
        load_agent(f"reflect-rl:{tmp_path / 'judge.json'}")


def test_what_an_agent_draws_has_the_chances_that_it_tells(trained: list[TrainedJudge]) -> None:
    agent = load_searcher(trained[-1], sampling=True)
    env: Any = gym.make(ID, dataset="embedded", split="validation")
    observation, info = env.reset(seed=0)
    path: list[PathStep] = []
    for command in (*info["admissible_commands"][:2], None):
        view = AgentInput(info["task"], tuple(path), observation, info["admissible_commands"], np.random.default_rng(0))
        told = dict(zip(view.admissible_commands, agent.chances(view, None), strict=True))
        assert sum(told.values()) == pytest.approx(1)
        drawn = Counter(agent(view) for _ in range(300))
        assert {each for each, chance in told.items() if chance > 0.05} <= set(drawn)
        for each, count in drawn.items():
            assert count / 300 == pytest.approx(told[each], abs=0.12)
        if command:
            observation, _, _, _, info = env.step(command)
            path.append(PathStep(command, info["feedback"]))


def test_bad_input_is_refused_in_a_line(
    trained: list[TrainedJudge], walker: list[TrainedJudge], tmp_path: Path
) -> None:
    for name in ("searcher", "searcher-sample"):
        with pytest.raises(UsageError, match=f"agent {name} needs weights: write --agent {name}:FILE"):
            load_agent(f"{name}:")
    (tmp_path / "other.safetensors").write_bytes(b"nothing")
    for path in (tmp_path / "missing", tmp_path / "other.safetensors", tmp_path):
        with pytest.raises(UsageError, match=r"holds no searcher: name a \.safetensors file of `reflect-rl search`"):
            load_agent(f"searcher:{path}")
    walking = Protocol("a/b", "NatLang/AutoExplore-v0", {}, 15, 1, (Episode("bike-workshop/01", 0),), "")
    with pytest.raises(UsageError, match="searches with these weights: give it NatLang/AutoExplore-Search-v0"):
        evaluate(load_agent(f"searcher:{trained[0].weights}"), walking)
    searching = replace(walking, env_id=ID)
    with pytest.raises(UsageError, match="walks with these weights: give it NatLang/AutoExplore-v0"):
        evaluate(load_agent(f"searcher:{walker[0].weights}"), searching)
