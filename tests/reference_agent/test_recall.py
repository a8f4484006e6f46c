"""The player who remembers: its plan under the rules, its judges, and how it is taught."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from leaderboard.agent_files import copy_agent_files
from natlang_envs.autoexplore.dataset.made_questions import made_labels
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.searching.env import AutoExploreSearchEnv
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.evaluation.runs import digest_of, provenance
from natlang_envs.prompt import PathStep
from natlang_envs.repository.navigation import navigation_of
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.walk import PagePosition, Walk, WalkHistory
from reference_agent.families.autoexplore.memory.learning import count, remember
from reference_agent.families.autoexplore.memory.questions import RecallQuestions, RecallTraining
from reference_agent.families.autoexplore.memory.run import (
    StageScore,
    claim_cell,
    train_cell,
    train_player,
)
from reference_agent.families.autoexplore.memory.teaching import (
    PlayedGame,
    play,
    read_games,
    reward_of,
    teach,
)
from reference_agent.memory.exploring import LOOKED_AT, NameHopes, around
from reference_agent.memory.judging import (
    Judgement,
    LiftJudge,
    Scale,
    ShownPart,
    WordJudge,
    read_table,
    shown_text,
    window_of,
)
from reference_agent.memory.names import Known, NameMemory
from reference_agent.memory.plan import PlanWeights
from reference_agent.memory.player import MEMORY, POLICY, RecallAgent, load, load_sampling
from reference_agent.memory.policy import policy_of
from reference_agent.models.language_model import LanguageModel
from reference_agent.paper.tables import read_curve
from reference_agent.run.command import app

FILLER = "Boats wait in the basin until the keeper calls them by their number.\n" * 40


@pytest.fixture(scope="module")
def canal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("known") / "canal"
    (root / "docs" / "ponds").mkdir(parents=True)
    (root / "README.md").write_text("# The canal\n\nEverything about locks and ponds of this canal.\n")
    (root / "docs" / "locks.md").write_text("# Locks\n\n" + FILLER + "The wheel of the gate is greased with tallow.\n")
    (root / "docs" / "ponds" / "upper.md").write_text("# Upper pond\n\nIt is dredged in March of every second year.\n")
    for number in range(60):
        (root / "docs" / f"z-boat{number:02}.md").write_text(
            f"The boat of number {number} is called after bird {number}.\n"
        )
    (root / "photo.jpg").write_bytes(b"\0\1" * 40)
    return root


@pytest.fixture(scope="module")
def memory(canal: Path) -> NameMemory:
    return remember(count({"canal": canal}), [], {"canal": canal}, "questions")


def agent_of(memory: NameMemory) -> RecallAgent:
    return RecallAgent(memory, Scale(WordJudge(memory.rarity)))


def played(env: gymnasium.Env[str, str], agent: RecallAgent, seed: int = 0) -> tuple[list[str], list[str], bool]:
    """Return the commands of a game, what was said, and whether it was won."""
    observation, info = env.reset(seed=0)
    path: list[PathStep] = []
    said: list[str] = []
    rng = np.random.default_rng(seed)
    while True:
        given = AgentInput(info["task"], tuple(path), observation, tuple(info["admissible_commands"]), rng)
        (decision,) = agent.act([given])
        assert decision.action in info["admissible_commands"]
        said.append(decision.reflection or "")
        observation, _, over, _, info = env.step(decision.action)
        path.append(PathStep(decision.action, info["feedback"]))
        if over:
            return [step.action for step in path], said, info["success"]


def asking(folder: Path, question: str, target: str) -> AutoExploreEnv:
    return AutoExploreEnv(repository=str(folder), question=question, target=target)


def test_it_reads_on_to_the_part_that_it_believes_in_and_comes_back_to_name_the_best(canal: Path, memory: NameMemory):
    env = asking(canal, "What is the wheel of the gate greased with?", "docs/locks.md")
    actions, said, won = played(env, agent_of(memory))
    assert won
    assert actions.count("cat locks.md") == 2
    assert actions[-1] == "id locks.md"
    assert "I remember part 2 of docs/locks.md" in said[0]
    assert "docs/locks.md looks best: it holds 96% of the question." in said[-1]


@pytest.mark.parametrize("seed", range(8))
def test_every_command_is_listed_and_the_way_back_is_always_left(canal: Path, memory: NameMemory, seed: int):
    label = made_labels(open_repository(canal))[seed * 7]
    env = asking(canal, label.question, label.targets[0])
    actions, said, _ = played(env, agent_of(memory))
    assert len(actions) <= 15
    assert actions[-1].startswith("id ")
    assert played(env, agent_of(memory))[:2] == (actions, said)


def test_games_side_by_side_are_those_alone(canal: Path, memory: NameMemory):
    agent = agent_of(memory)
    asked = [("When is it dredged?", "docs/ponds/upper.md"), ("Which bird is boat 7 called after?", "docs/z-boat07.md")]
    envs = [asking(canal, *each) for each in asked]
    starts = [env.reset(seed=0) for env in envs]
    views = [
        AgentInput(info["task"], (), shown, tuple(info["admissible_commands"]), np.random.default_rng(0))
        for shown, info in starts
    ]
    assert [each.action for each in agent.act(views)] == [played(env, agent_of(memory))[0][0] for env in envs]


def test_what_is_gone_since_it_was_learned_is_said_and_the_game_goes_on(memory: NameMemory, tmp_path: Path):
    changed = tmp_path / "canal"
    (changed / "docs").mkdir(parents=True)
    (changed / "README.md").write_text("# The canal\n\nThe pond is dredged in March now.\n")
    (changed / "docs" / "new.md").write_text("New.\n")
    env = asking(changed, "When is the pond dredged?", "README.md")
    actions, said, won = played(env, agent_of(memory))
    assert won, actions
    assert any("of what I remember is not here" in each for each in said)


def test_in_a_repository_that_it_does_not_know_it_looks_around(memory: NameMemory, tmp_path: Path):
    (tmp_path / "kites").mkdir()
    (tmp_path / "kites" / "tails.txt").write_text("A tail has nine bows.\n")
    (tmp_path / "prices.txt").write_text("A kite costs ten coins.\n")
    env = asking(tmp_path, "How many bows have the tails of kites?", "kites/tails.txt")
    _, said, won = played(env, agent_of(memory))
    assert won
    assert "I do not know this repository" in said[0]


def test_the_names_of_folders_lead_it(memory: NameMemory, tmp_path: Path):
    for name in ("boats", "locks", "mills"):
        (tmp_path / name).mkdir()
        for number in range(8):
            (tmp_path / name / f"{number}.txt").write_text(f"Text {number} about {name}.\n")
    (tmp_path / "locks" / "3.txt").write_text("Nobody greases this gate.\n")
    env = asking(tmp_path, "Who greases the gate of the locks?", "locks/3.txt")
    actions, said, won = played(env, agent_of(memory))
    assert won, actions
    assert actions[0] == "cd locks"
    assert said[0] == "I do not know this repository. I look into locks."


def test_a_word_of_a_name_tells_what_files_of_that_name_are_asked_about(memory: NameMemory):
    assert memory.told("boat", "bird") == 0, "all such files, but most files are"
    assert memory.told("docs", "tallow") == 0 == memory.told("nothing", "bird")
    lively = NameMemory(
        [Known("r", tuple(f"{kind}/{number}.md" for kind in "ab" for number in range(9)), (1,) * 18)],
        ["moon"],
        np.array([0, 9]),
        np.arange(9, dtype=np.uint16),
        np.ones(9, np.uint8),
        "questions",
    )
    assert lively.told("a", "moon") > 0.4 > 0 == lively.told("b", "moon")


@given(st.data())
def test_hopes_of_what_is_listed_together_add_up_to_that_of_its_folder(memory: NameMemory, data: st.DataObject):
    names = data.draw(st.lists(st.text("abcdefgh_.", min_size=1), min_size=1, max_size=9, unique=True))
    top = [f"{data.draw(st.sampled_from(('cd', 'cat')))} {name}" for name in names if name != ".."] + ["cat z", "exit"]
    inside = [each for each in top if each.startswith("cd ")][:1]
    listed = {PagePosition(): (*top, "next page")}
    listed |= {PagePosition((each[3:],)): ("cd ..", "cat a", "cd b") for each in inside}
    files, unopened = around(NameHopes(memory, data.draw(st.text())), WalkHistory(Walk(), listed, {}))
    assert sum(math.exp(each.belief) for each in files) + sum(
        math.exp(each.hope) for each in unopened
    ) == pytest.approx(1)
    assert len(files) + len(unopened) == len(top) + len(inside)


def test_it_searches_reads_and_names_within_the_steps(memory: NameMemory, canal: Path):
    for question, target in (
        ("What is the wheel of the gate greased with?", "docs/locks.md"),
        ("In which month is the upper pond dredged?", "docs/ponds/upper.md"),
    ):
        env = AutoExploreSearchEnv(repository=str(canal), question=question, target=target)
        actions, said, won = played(env, agent_of(memory))
        assert won, actions
        assert [each.partition(" ")[0] for each in actions[:4]] == ["search", "search", "search", "cat"]
        assert len(actions) <= 15
        assert said[0].startswith("I search for ")
        assert "looks best" in said[-1]


def test_a_question_that_no_file_holds_a_word_of_ends_in_time(memory: NameMemory, canal: Path):
    env = AutoExploreSearchEnv(repository=str(canal), question="Qqq zzz?", target="README.md")
    actions, _, won = played(env, agent_of(memory))
    assert not won
    assert actions[-1] == "exit"


def test_where_nothing_is_remembered_a_model_judges_the_best_by_words_alone(
    memory: NameMemory, canal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []

    def lifts(self: LiftJudge, readings: list[ShownPart]) -> list[float]:
        asked.extend(each.path for each in readings)
        return [9.0 * (each.path == "docs/z-boat02.md") for each in readings]

    monkeypatch.setattr(LiftJudge, "_compute", lifts)
    agent = RecallAgent(memory, Scale(WordJudge(memory.rarity), LiftJudge("smollm2")), PlanWeights(lift=0.4))
    env = AutoExploreSearchEnv(repository=str(canal), question="Which bird is boat called after?", target="README.md")
    actions, _, _ = played(env, agent)
    assert len([each for each in actions if each.startswith("cat ")]) > LOOKED_AT == len(asked)


def test_the_text_of_a_part_is_what_stands_between_the_lines_of_cat(canal: Path):
    shows = navigation_of(open_repository(canal), FILE_BUDGET)
    whole = (canal / "docs" / "locks.md").read_text()
    assert "".join(shown_text(shows.text("docs/locks.md", part)) for part in range(2)) == whole
    assert shown_text(shows.text("README.md")) == (canal / "README.md").read_text()


@given(st.text(max_size=40), st.text(max_size=400), st.integers(1, 100))
def test_a_window_is_a_part_of_the_text(question: str, text: str, size: int):
    window = window_of(question, text, size)
    assert window in text
    assert len(window) <= max(size, len(text) if len(text) <= size else size)


def test_a_window_holds_the_lines_that_speak_of_the_question():
    text = FILLER + "The gate is greased with tallow.\n" + FILLER
    assert "tallow" in window_of("What is the gate greased with?", text, 100)


def test_a_window_does_not_depend_on_the_seed_of_hashing():
    script = (
        "import random; from reference_agent.memory.judging import window_of\n"
        "draw = random.Random(0)\n"
        "words = [''.join(draw.choices('abcdefghij', k=5)) for _ in range(60)]\n"
        "for _ in range(100):\n"
        "    text = '\\n'.join(' '.join(draw.choices(words, k=9)) for _ in range(60))\n"
        "    print(window_of(' '.join(draw.sample(words, 12)), text))"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second


def test_lifts_are_kept_and_a_line_that_was_cut_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = tmp_path / "lifts.jsonl"
    monkeypatch.setattr(LiftJudge, "_compute", lambda self, readings: [float(len(each.path)) for each in readings])
    readings = [ShownPart("Why?", path, 1, "Because.") for path in ("a.md", "bb.md")]
    assert LiftJudge("smollm2", table, precision="bf16").many(readings) == [4.0, 5.0]
    whole = table.read_bytes()
    table.write_bytes(whole[:-5])
    assert len(read_table(table, "smollm2 bf16", "lift", float)) == 1
    assert LiftJudge("smollm2", table, precision="bf16").many(readings) == [4.0, 5.0]
    assert table.read_bytes() == whole
    with pytest.raises(UsageError, match="is of smollm2 bf16, not of other bf16: choose another table"):
        LiftJudge("other", table, precision="bf16")
    table.write_text("{}\n")
    with pytest.raises(UsageError, match="line 1 is no lift"):
        LiftJudge("smollm2", table, precision="bf16")


def test_a_model_judges_by_how_much_likelier_a_text_makes_the_question(tmp_path: Path, model: LanguageModel):
    model.save(tmp_path / "tiny")
    judge = LiftJudge(str(tmp_path / "tiny"), tmp_path / "lifts.jsonl", precision="fp32")
    readings = [ShownPart("Why so?", "a.md", 1, text) for text in ("Because.", "Nothing.")]
    assert judge.many(readings) == pytest.approx([judge(each) for each in readings], abs=1e-3)
    assert len(json.loads((tmp_path / "lifts.jsonl").read_text().splitlines()[0])["key"]) == 16


def test_a_text_is_weighed_once():
    weighed: list[ShownPart] = []
    scale = Scale(lambda reading: float(len(weighed.append(reading) or weighed)))  # type: ignore[arg-type]
    reading = ShownPart("Why so?", "a.md", 1, "Because.")
    assert scale(reading) == scale(reading) == Judgement(1.0)
    assert weighed == [reading]


def test_what_the_agent_cannot_load_is_one_line(tmp_path: Path, memory: NameMemory):
    for nothing in ("", "@smollm2"):
        with pytest.raises(UsageError, match="write --agent recall:FILE"):
            load(nothing)
    with pytest.raises(UsageError, match="holds no memory of names"):
        load(str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="holds no player: run `reflect-rl recall"):
        load(str(tmp_path))
    memory.write(tmp_path / "names.safetensors")
    memory.write(tmp_path / "mine@home.safetensors")
    for name in ("names", "mine@home"):
        assert load(str(tmp_path / f"{name}.safetensors")).memory.known == memory.known


def taught(out: Path, canal: Path, lessons: RecallTraining) -> list[StageScore]:
    """Teach a player on questions that rules made."""
    labels = made_labels(open_repository(canal))[::3]
    told = [each for at, each in enumerate(labels) if at % 3]
    questions = RecallQuestions({"canal": canal}, told, labels[::3])
    return train_player(out, questions, lessons._replace(questions=20), lambda *told: None)


def test_a_player_is_taught_and_a_run_that_was_stopped_resumes_to_the_same_bytes(canal: Path, tmp_path: Path):
    lessons = RecallTraining(epochs=2, updates=4, batch=4, samples=2)
    stages = taught(tmp_path / "one", canal, lessons)
    assert [each.name for each in stages] == ["plan", "sft, seed 0", "rl, seed 0"]
    assert stages[0].greedy > 0.5
    files = sorted(each.name for each in (tmp_path / "one").iterdir() if each.suffix == ".safetensors")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    for name in (*(name for name in files if "policy" in name or "fold3" in name), "games-fold2.json"):
        (tmp_path / "two" / name).unlink()
    assert taught(tmp_path / "two", canal, lessons) == stages
    assert all((tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes() for name in files)
    with pytest.raises(UsageError, match="holds what was made from other inputs"):
        taught(tmp_path / "two", canal, lessons._replace(curriculum=False))


def test_its_policy_plays_as_in_the_games_that_it_learned_from(canal: Path, tmp_path: Path):
    taught(tmp_path, canal, RecallTraining(epochs=2, updates=2, batch=4, samples=2))
    agent = load(str(tmp_path))
    games = read_games(tmp_path / "games-validation.json", agent.memory)
    labels = {label.id: label for label in made_labels(open_repository(canal))}
    policy = policy_of((tmp_path / POLICY).read_bytes(), tmp_path)
    for game in games:
        label = labels[game.label]
        kept = play(game, lambda situation: policy.choose(situation, PlanWeights()))
        env = AutoExploreEnv(repository=str(canal), question=label.question, target=label.targets)
        actions, said, won = played(env, agent)
        assert (kept.won, kept.steps) == (won, len(actions)), said
    for source, name in (
        (tmp_path, "taught"),
        (tmp_path / MEMORY, "plain"),
        (tmp_path / "policy-sft-0.safetensors", "imitation"),
    ):
        result = CliRunner().invoke(app, ["publish", str(source), str(tmp_path / f"{name}.json")])
        assert f"--agent recall:{tmp_path / name}.json" in result.output.replace("\n", ""), result.output
        shown = load(str(tmp_path / f"{name}.json"))
        assert shown.memory.known == agent.memory.known
        assert (shown.policy is None) == (name == "plain")
    player = tmp_path / "imitation.json"
    of_words, of_model = (provenance("entry point", f"recall:{player}{model}").checkpoint for model in ("", "@smollm2"))
    assert of_words == of_model == digest_of(player)
    (tmp_path / "audit").mkdir()
    assert copy_agent_files(f"recall:{player}@smollm2", tmp_path / "audit").spec == "recall:imitation.json@smollm2"
    with pytest.raises(UsageError, match="learned with no model: write --agent recall:"):
        load(f"{tmp_path}@smollm2")


def test_a_policy_of_a_run_plays_alone_sampled_and_without_reflections(canal: Path, tmp_path: Path):
    lessons = RecallTraining(epochs=2, updates=2, batch=4, samples=2, reflections=False)
    taught(tmp_path, canal, lessons)
    path = tmp_path / "policy-sft-0.safetensors"
    env = asking(canal, "What is the wheel of the gate greased with?", "docs/locks.md")
    assert played(env, load(str(path)))[1][0] == "", "what it does not know it does not say"
    agent = load_sampling(str(path))
    games = {tuple(played(env, agent, seed)[0]) for seed in range(20)}
    assert len(games) > 1
    assert games == {tuple(played(env, agent, seed)[0]) for seed in range(20)}, "by the episode's generator alone"
    with pytest.raises(UsageError, match="has no policy whose goals could be sampled: write --agent recall:"):
        load_sampling(str(tmp_path / MEMORY))


def test_a_cell_of_a_table_shares_games_and_has_a_curve(canal: Path, tmp_path: Path):
    labels = made_labels(open_repository(canal))[::3]
    questions = RecallQuestions({"canal": canal}, [each for at, each in enumerate(labels) if at % 3], labels[::3])
    lessons = RecallTraining(questions=20, epochs=2, updates=3, batch=4, samples=2)
    for seed in range(2):
        claim_cell(tmp_path / str(seed), lessons, seed)
        train_cell(tmp_path / str(seed), tmp_path / "shared", questions, lessons, seed, lambda *told: None)
        assert [row["episodes"] for row in read_curve(tmp_path / str(seed))] == [8, 16, 24]
        assert load(str(tmp_path / str(seed))).policy is not None
    with pytest.raises(UsageError, match="holds what was made from other inputs"):
        claim_cell(tmp_path / "1", lessons._replace(updates=4), 1)


def test_a_teacher_reads_in_vain_and_names_a_right_file(canal: Path, tmp_path: Path):
    taught(tmp_path, canal, RecallTraining(epochs=1, updates=0))
    games = read_games(tmp_path / "games-fold0.json", NameMemory.read(tmp_path / "memory-fold0.safetensors"))
    vain, direct = (sum(len(teach(game, PlanWeights(), negatives)) for game in games) for negatives in (True, False))
    assert vain > direct > 0
    assert reward_of(PlayedGame(True, 4, True), 1.0) == 15 - 3
