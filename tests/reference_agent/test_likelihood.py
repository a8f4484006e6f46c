"""A search by what makes the question likely: what it knows, where it goes, and that it repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.tasks import RepositoryTasks
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, evaluate, load_protocol
from natlang_envs.evaluation.agents import Decision
from natlang_envs.evaluation.protocols import Episode
from natlang_envs.prompt import PathStep
from natlang_envs.repository.walk import PagePosition, WalkMemory
from natlang_envs.repository.words import question_words, words_of
from reference_agent.baselines.likelihood import LikelihoodAgent, load
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import ModelConfig
from tests.support.folders import write

TINY = ModelConfig(layers=1, width=32, inner=64, heads=2, positions=4096)
MANY = {f"note-{number:02d}.txt": "nothing" for number in range(40)}


@pytest.fixture(scope="module")
def reader() -> LanguageModel:
    """A model that has learned nothing, with room for a file's beginning."""
    return LanguageModel.tiny(TINY, ["A question that the file answers:"], ["file", "question"], 0)


@pytest.fixture
def by_words(reader: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> LikelihoodAgent:
    """An agent whose model makes a question the likelier, the more of its words stand before it."""

    def shared(prompts: Sequence[str], labels: Sequence[Sequence[str]]) -> Tensor:
        found = [
            len(set(words_of(prompt)) & set(question_words(question)))
            for prompt, (question,) in zip(prompts, labels, strict=True)
        ]
        return torch.tensor(found)[:, None] * 8.0 - 400.0

    agent = LikelihoodAgent(reader)
    monkeypatch.setattr(agent._model, "choice_logits", shared)
    return agent


def play(agent: LikelihoodAgent, env: AutoExploreEnv) -> Iterator[tuple[Decision, bool]]:
    observation, info = env.reset(seed=0)
    path: list[PathStep] = []
    terminated, rng = False, np.random.default_rng(0)
    while not terminated:
        view = AgentInput(info["task"], tuple(path), observation, info["admissible_commands"], rng)
        (decision,) = agent.act([view])
        assert decision.action in info["admissible_commands"]
        observation, _, terminated, _, info = env.step(decision.action)
        path.append(PathStep(decision.action, info["feedback"]))
        yield decision, info["success"]


def test_it_goes_where_names_promise_and_names_what_it_read(by_words: LikelihoodAgent, tmp_path: Path) -> None:
    files = {
        "README.md": "All about boats and harbours.",
        "boats/anchor.txt": "An anchor holds. Chains are of iron.",
        "boats/sail.txt": "Sails are made of hemp, and each is sewn by hand.",
        "cars/engine.txt": "Engines are made of iron.",
    }
    repository = str(write(tmp_path, files))
    env = AutoExploreEnv(repository=repository, question="Which sails of boats are sewn?", target="boats/sail.txt")
    played = list(play(by_words, env))
    actions = [decision.action for decision, _ in played]
    assert actions[:2] == ["cd boats", "cat sail.txt"]
    assert actions[-1] == "id sail.txt"
    assert played[-1][1]
    assert "boats/sail.txt makes the question likeliest" in str(played[-1][0].reflection)
    assert str(played[0][0].reflection).startswith("The file may be in boats/: 9")
    assert played[0][0].tokens > 0


def test_it_turns_pages_and_is_back_in_time(by_words: LikelihoodAgent, tmp_path: Path) -> None:
    files = MANY | {"zebra.txt": "A zebra has stripes.", "note-00.txt": "A zebra."}
    repository = str(write(tmp_path, files))
    env = AutoExploreEnv(repository=repository, question="Has a zebra stripes?", target="zebra.txt", horizon=6)
    played = list(play(by_words, env))
    actions = [decision.action for decision, _ in played]
    assert played[-1][1], actions
    assert "next page" in actions
    assert len(actions) <= 6
    # Nothing promises here: it reads on, and is back for the best in time.
    env = AutoExploreEnv(repository=repository, question="Which mineral?", target="zebra.txt", horizon=6)
    *_, (last, _) = play(by_words, env)
    assert last.action.startswith("id note-")


def test_one_step_is_enough_for_a_guess_and_an_empty_folder_is_left(by_words: LikelihoodAgent, tmp_path: Path) -> None:
    repository = str(write(tmp_path, {"a.txt": "", "boats.txt": "", "deep/down.txt": ""}))
    env = AutoExploreEnv(repository=repository, question="Boats?", target="boats.txt", horizon=1)
    assert [decision.action for decision, _ in play(by_words, env)] == ["id boats.txt"]
    folder = str(write(tmp_path / "folders", {"deep/down.txt": ""}))
    env = AutoExploreEnv(repository=folder, question="Boats?", target="deep/down.txt", horizon=1)
    assert [decision.action for decision, _ in play(by_words, env)] == ["exit"]


def test_it_may_begin_in_the_middle_of_a_game(by_words: LikelihoodAgent, tmp_path: Path) -> None:
    repository = str(write(tmp_path, {"boats/sail.txt": "Sails of boats.", "boats/oar.txt": "Oars."}))
    env = AutoExploreEnv(repository=repository, question="Which sails of boats?", target="boats/sail.txt")
    env.reset(seed=0)
    observation, _, _, _, info = env.step("cd boats")
    path = (PathStep("cd boats", info["feedback"]),)
    view = AgentInput(info["task"], path, observation, info["admissible_commands"], np.random.default_rng(0))
    assert by_words.act([view])[0].action == "cat sail.txt"


def test_a_memory_keeps_games_of_one_question_apart_and_forgets_one_that_begins_again() -> None:
    memory, (one, other) = WalkMemory(), (np.random.default_rng(0) for _ in range(2))
    inside = [PathStep("cd boats", "")]
    for game, names in ((one, ("cd boats",)), (other, ("cd ships",)), (one, ("cd boats",))):
        memory.see(game, [], names)
    assert memory.see(one, inside, ("cat oar.txt",)).listed[PagePosition()] == ("cd boats",)
    memory.see(one, [], ("cd boats",))
    seen = memory.see(one, [*inside, PathStep("cd ..", "")], ("cd boats",))
    assert PagePosition(("boats",)) not in seen.listed


def test_a_model_plays_the_same_in_any_batch(reader: LanguageModel) -> None:
    ids = tuple(RepositoryTasks("all", 1).ids())[:5]
    protocol = replace(
        load_protocol("autoexplore-depth1/v1"),
        kwargs={"dataset": "embedded", "split": "all"},
        episodes=tuple(Episode(task_id, seed) for seed, task_id in enumerate(ids)),
    )
    first, again = (evaluate(LikelihoodAgent(reader), protocol, batch=batch)[1] for batch in (5, 2))
    assert [each.actions for each in first] == [each.actions for each in again]
    assert all(each.actions[-1].startswith("id ") for each in first)
    agent = LikelihoodAgent(reader)
    once, twice = (evaluate(agent, protocol)[1] for _ in range(2))
    assert [each.actions for each in once] == [each.actions for each in twice], "no episode remembers another"


def test_what_it_does_not_play_is_said(reader: LanguageModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="agent 'likelihood' walks through folders"):
        evaluate(LikelihoodAgent(reader), "dangerous-taxi-pickup/v1")
    with pytest.raises(UsageError, match="write --agent likelihood:MODEL"):
        load("")
    reader.save(tmp_path / "model")
    assert isinstance(load(str(tmp_path / "model")), LikelihoodAgent)
