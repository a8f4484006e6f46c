import gzip
import json
import shutil
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from natlang_envs.autoexplore.dataset.editions import load_labels
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.tasks import RepositoryTasks
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import load_protocol
from natlang_envs.evaluation.protocols import Episode
from reference_agent.cli import app
from reference_agent.paper.experiments import PRESETS, TARGETS, TASKS, make_plan
from reference_agent.paper.reproduce import reproduce
from reference_agent.search.listings import Question
from reference_agent.search.planner import Plan
from reference_agent.search.policy import Policy, command_features
from reference_agent.search.practice import Exercise, PracticeConfig, demonstrate, holds_of, warm_start
from reference_agent.search.recipes import Recipe, row_of
from reference_agent.search.reflect import Reflecting
from reference_agent.search.rows import WEAK, rows_of
from reference_agent.search.teacher import Noise, NoisyRates

from .test_search import tiny_encoder

COFFEE = "coffee-company"
DEPTH1 = ["autoexplore-depth1"]
TINY = replace(PRESETS["searcher"], seeds=(0,), iterations=0.02, sft_steps=2)


def silent(*_):
    pass


def coffee_questions(*_, **__):
    about = [each for each in load_labels("train", edition=2) if each.repository == COFFEE]
    depths = [min(target.count("/") for target in each.targets) for each in about]
    found = [each for wanted in (1, 2) for each, depth in zip(about, depths, strict=True) if depth == wanted]
    found = [*found[:3], *found[-3:]]
    return [
        Question(name, repository_folder(COFFEE), each.asked("hard"), each.targets)
        for name in (COFFEE, "another")
        for each in found
    ]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Questions about the one repository that is shipped, a tiny encoder, and a protocol of three games."""
    folder = repository_folder(COFFEE)
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    weak = tmp_path / "cache" / WEAK
    weak.parent.mkdir(parents=True)
    with gzip.open(weak, "wt") as file:
        file.write("")
    (weak.parent / "repositories.json").write_text(json.dumps({}))
    monkeypatch.setattr("reference_agent.search.train.labelled", coffee_questions)
    monkeypatch.setattr("reference_agent.search.train.encoder", tiny_encoder)
    monkeypatch.setattr("reference_agent.search.run.encoder", tiny_encoder)
    protocol = replace(
        load_protocol("autoexplore-depth1/paper"),
        kwargs={"dataset": "embedded", "split": "all"},
        episodes=tuple(Episode(task, seed) for seed, task in enumerate(tuple(RepositoryTasks("all", 1).ids())[:3])),
    )
    for place in ("paper.reproduce", "paper.tables"):
        monkeypatch.setattr(f"reference_agent.{place}.protocol_for", lambda *_: protocol)
    return folder


def test_rows_of_the_searcher_are_reproduced_and_a_killed_run_goes_on(small, tmp_path):
    target = replace(TARGETS["searcher"], methods=("no-reflection-sft", "sft-only", "no-curriculum", "best"))
    tasks = ["autoexplore-depth1", "autoexplore-depth2"]

    class KilledError(Exception):
        pass

    def kill(cell, stage, step, *_):
        if stage.startswith("reflect-depth1-0") and step:
            raise KilledError

    plan = make_plan(target, TINY, tmp_path / "out", tasks)
    with pytest.raises(KilledError):
        reproduce(plan, 1, kill, silent)
    judges = {file: file.stat().st_mtime_ns for file in (tmp_path / "out/searcher/training").glob("*.pt")}
    assert len(judges) == 2
    table = reproduce(plan, 1, silent, silent)
    assert {file: file.stat().st_mtime_ns for file in judges} == judges, "no judge is trained twice"
    rows = {(entry.task, entry.method, entry.drawn): entry for entry in table}
    assert rows["autoexplore-depth1", "searcher", False].episodes == 3
    assert rows["autoexplore-depth1", "best", True].seeds == (0,)
    assert rows["autoexplore-depth1", "no-curriculum", False].note == "the searcher has no row no-curriculum here"
    assert ("autoexplore-depth2", "no-curriculum", True) in rows
    page = (tmp_path / "out/searcher.md").read_text()
    assert "--preset searcher" in page
    assert "| learned searcher, a planner |" in page
    assert (tmp_path / "out/searcher-autoexplore-depth1.png").read_bytes().startswith(b"\x89PNG")
    curve = json.loads((tmp_path / "out/cells/autoexplore-depth1/best/seed-0/curve.json").read_text())
    assert [each["episodes"] for each in curve] == [48, 96]


def test_what_reward_adds_is_made_from_an_unpacked_searcher_without_its_training(small, tmp_path):
    run = tmp_path / "out" / "searcher"
    reproduce(make_plan(replace(TARGETS["searcher"], methods=()), TINY, tmp_path / "out", DEPTH1), 1, silent, silent)
    shutil.rmtree(run / "training")
    shutil.rmtree(run / "cache")
    (tmp_path / "cache" / WEAK).unlink()
    target = replace(TARGETS["gain-autoexplore"], methods=("slips-5-sft", "slips-5", "exact-5-sft", "exact-5"))
    rows_of.cache_clear()
    table = reproduce(make_plan(target, TINY, tmp_path / "out", DEPTH1), 1, silent, silent)
    assert {entry.method for entry in table if entry.seeds} == set(target.methods), "the planner is no row of it"
    page = (tmp_path / "out/gain-autoexplore.md").read_text()
    assert "| teacher slips, 5 demonstrations | sampled |" in page
    policies = [torch.load(run / f"{row_of(DEPTH1[0], name).recipe.name(0)}-sft.pt") for name in ("slips-5", "exact-5")]
    assert not torch.equal(*(each["layers.0.weight"] for each in policies))


def test_a_policy_that_is_there_is_not_trained_again(small, tmp_path):
    target = replace(TARGETS["searcher"], methods=("sft-only", "best"))
    one, two = tmp_path / "one", tmp_path / "two"
    for out, methods in ((one, ("sft-only",)), (one, ("best",)), (two, ("best",))):
        reproduce(make_plan(replace(target, methods=methods), TINY, out, ["autoexplore-depth1"]), 1, silent, silent)
    name = f"{Recipe('depth1').name(0)}.pt"
    first, second = (torch.load(out / "searcher" / name) for out in (one, two))
    assert all(torch.equal(first[key], second[key]) for key in first), "in pieces as at once"


def test_what_the_searcher_cannot_do_is_one_line(monkeypatch, tmp_path):
    def refused(*arguments):
        result = CliRunner().invoke(app, ["reproduce", "table2", "--preset", "searcher", *arguments])
        assert isinstance(result.exception, UsageError), result.output
        return str(result.exception)

    out = ["--out", str(tmp_path / "out")]
    assert "does not play taxi-pickup" in refused(*out)
    depth1 = ["--task", "autoexplore-depth1,autoexplore-depth2"]
    assert "no configs to change" in refused(*out, *depth1, "--set", "rl.batch=8")
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    assert "make it once with `reflect-rl data autoexplore`" in refused(*out, *depth1, "--jobs", "1")


def test_recipes_have_names_of_their_own_and_a_curriculum():
    assert row_of("taxi-pickup", "best") is None
    assert row_of("autoexplore-depth1", "no-curriculum") is None
    methods = *TARGETS["searcher"].methods, *TARGETS["gain-autoexplore"].methods
    rows = [row_of(task, method) for task in TASKS for method in methods]
    names = {row.recipe.name(0) for row in rows if row}
    assert len(names) == len({row.recipe for row in rows if row})
    natural = row_of("autoexplore-depth2-natural", "best")
    assert natural == row_of("autoexplore-depth2", "best"), "the wording changes what is played, not who plays"
    before = natural.recipe.before
    assert (before.kind, before.before) == ("depth1", None)


def an_exercise():
    question = coffee_questions()[0]
    return Exercise(question, NoisyRates(question, np.random.default_rng(0), Noise()))


def test_slips_of_the_teacher_are_imitated_and_lost_games_count(small):
    config = PracticeConfig(games=6, slips=0.9, epochs=1)
    seen = warm_start(Policy(), [an_exercise()] * 2, holds_of(None), Plan(), config, 0)
    assert seen == 6, "no game is left out"
    plan, noise = Plan(), Noise()
    reads = Reflecting(plan)
    games = [demonstrate(an_exercise(), holds_of(None), plan, noise, seed, reads, slips=0.9) for seed in range(9)]
    suggested = 14  # the place of "this is what the reflection suggests" among a command's numbers
    followed = [row[choice, suggested] for game in games for row, choice in zip(game.rows, game.chosen, strict=True)]
    assert np.mean(followed) < 0.3
    assert not all(game.success for game in games)


def test_wrong_steps_of_the_teacher_are_played_and_not_imitated(small):
    exercise = an_exercise()
    seen = []

    def inputs(search, belief, commands):
        seen.append((search.left, commands))
        return command_features(search, belief, commands)

    games = [demonstrate(exercise, holds_of(None), Plan(), Noise(), seed, inputs, 0.5) for seed in range(20)]
    assert any(game.success for game in games)
    lefts = [left for left, _ in seen]
    assert any(later < sooner - 1 for sooner, later in pairwise(lefts)), "some steps leave no row"
