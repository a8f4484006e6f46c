"""Realistic games: they can be won, have what official games have, and are played as TextWorld plays them."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import Any

import pytest

from natlang_envs.alfworld.difficulty import Difficulty, measure
from natlang_envs.alfworld.engine.game import GRAMMARS, Game, parse_game
from natlang_envs.alfworld.engine.goals import COOL, TASK_TYPES
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.alfworld.games.floor_plans import floor_plans, room
from natlang_envs.alfworld.games.realistic import EXAMPLE, RealisticTasks, realistic_game
from natlang_envs.alfworld.games.splits import HELD_OUT_PLANS, UNSEEN_PLANS
from natlang_envs.conformance import CHECKS, Case, Check, NotApplicable
from natlang_envs.errors import UsageError
from tests.support.alfworld_real import needs_textworld
from tests.support.alfworld_samples import win_by_the_plan
from tests.support.slow import slow_unless
from tools.alfworld.parity_recordings import EngineRecording, differences, play
from tools.alfworld.textworld_speed import faster


@cache
def tasks() -> RealisticTasks:
    return RealisticTasks("all", goals="all")


def draw(tasks: RealisticTasks, count: int, seed: int = 0) -> list[str]:
    uniform = random.Random(seed).random
    return [tasks.draw(uniform) for _ in range(count)]


def fields(game: Game) -> dict[str, Any]:
    """Every attribute of a game that says what is in it."""
    left_out = {"actions_cache", "lists", "places"}
    return {name: getattr(game, name) for name in Game.__dataclass_fields__ if name not in left_out}


@pytest.fixture(scope="module")
def drawn() -> list[str]:
    return draw(tasks(), 60)


@pytest.mark.xdist_group("realistic games")  # one process draws them, which takes a second
@pytest.mark.parametrize("number", range(60))
def test_a_game_can_be_won_and_is_played_as_it_is_written_down(drawn: list[str], number: int) -> None:
    task_id = drawn[number]
    tasks().check(task_id)
    game = tasks().game(task_id)
    assert game.goal.task_type == task_id.split("/")[1]
    win_by_the_plan(World(game))
    assert fields(parse_game(tasks().text(task_id))) == fields(game)


def test_games_stay_as_they_were_released(golden) -> None:
    texts = ((task_id, tasks().text(task_id)) for task_id in draw(tasks(), 40, seed=1))
    digests = ((task_id, sha256(f"{text.task}\n{text.problem}".encode()).hexdigest()) for task_id, text in texts)
    golden("alfworld_realistic_games.txt", "".join(f"{task_id} {digest}\n" for task_id, digest in digests))


def test_games_have_what_official_games_have() -> None:
    games = [tasks().game(task_id) for task_id in draw(RealisticTasks("train"), 300)]
    doubled = sum(any(one & two for n, one in enumerate(g.contents) for two in g.contents[:n]) for g in games)
    # Officially 37% of the training games, 17% and 8%.
    assert 0.27 < doubled / len(games) < 0.47
    assert 0.10 < sum(any(game.inside) for game in games) / len(games) < 0.25
    assert 0.04 < sum(game.cool > 0 for game in games) / len(games) < 0.14
    assert all(not game.cool for game in games if game.goal.task_type == COOL)


def test_the_splits_share_no_room_that_is_held_out() -> None:
    rooms = {
        split: {int(each.split("/")[3]) for each in draw(RealisticTasks(split), 400)}
        for split in ("train", "validation", "validation_unseen", "test")
    }
    assert rooms["validation_unseen"] == set(HELD_OUT_PLANS)
    assert rooms["test"] == set(UNSEEN_PLANS)
    assert not (rooms["train"] | rooms["validation"]) & {*HELD_OUT_PLANS, *UNSEEN_PLANS}
    assert [room(number).kind for number in HELD_OUT_PLANS].count("kitchen") == 2
    for split in rooms:
        tasks = RealisticTasks(split)
        for task_id in (*draw(tasks, 20), *islice(tasks.ids(), 20)):
            tasks.check(task_id)
            for other in rooms.keys() - {split}:
                with pytest.raises(UsageError, match="is in the split"):
                    RealisticTasks(other).check(task_id)


def test_new_goals_are_none_of_the_official_training_games() -> None:
    tasks, known = RealisticTasks("train", goals="new"), floor_plans().aims
    for task_id in draw(tasks, 100):
        task_type, goal = task_id.split("/")[1:3]
        assert goal not in {f"{aim.object_type}-{aim.target_type}" for aim, _ in known[task_type]}
        with pytest.raises(UsageError, match="pass goals='all'"):
            RealisticTasks("train").check(task_id)


@pytest.mark.parametrize(
    ("task_id", "words"),
    [
        ("realistic/nothing", "reads like"),
        (EXAMPLE.replace("Apple", "Sofa"), "floor plan 12 has no such task"),
        (EXAMPLE.replace("/12/", "/999/"), "there is no floor plan 999"),
        (EXAMPLE.replace("000345", "345"), "reads like"),
        (EXAMPLE.replace("pick_heat", "pick_fry"), "unknown task type"),
    ],
)
def test_an_id_that_is_none_is_named_in_one_line(task_id: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        tasks().check(task_id)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "difficulty",
    [
        {"distractors": (0, 25)},
        {"search_depth": (1, 2)},
        {"distractors": (30, 99), "plan_length": (7, 20)},
    ],
)
def test_games_are_as_difficult_as_asked(difficulty: Difficulty) -> None:
    env = ALFWorldEnv("train", source="realistic", difficulty=difficulty)
    for seed in range(5):
        info = env.reset(seed=seed)[1]
        found = measure(tasks().game(info["task_id"]))._asdict()
        assert all(low <= found[name] <= high for name, (low, high) in difficulty.items())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"difficulty": {"height": (1, 2)}}, "unknown difficulty 'height'"),
        ({"difficulty": {"plan_length": (3, 1)}}, "a lowest and a highest number"),
        ({"goals": "odd"}, "unknown goals 'odd'"),
        ({"source": "generated", "goals": "new"}, "only realistic games have goals='new'"),
        ({"source": "generated", "split": "validation_unseen"}, "only the realistic games"),
        ({"goal": "Apple-Moon"}, "OBJECT-RECEPTACLE"),
    ],
)
def test_wrong_arguments_are_named_in_one_line(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        ALFWorldEnv(**{"source": "realistic", **changed})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_environment_keeps_the_contract(check: Check) -> None:
    with suppress(NotApplicable):
        check(Case("NatLang/ALFWorld-v0", {"source": "realistic"}))


@needs_textworld
@pytest.mark.parametrize(("number", "task_type"), slow_unless(lambda number: number == 2, enumerate(TASK_TYPES)))
def test_a_game_is_played_as_textworld_plays_it(number: int, task_type: str) -> None:
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld

    name = next(
        each
        for each in draw(RealisticTasks("all", (task_type,)), 300)
        if any(tasks().game(each).inside) or tasks().game(each).cool or number in (1, 4)
    )
    text = realistic_game(name).text(GRAMMARS[number % len(GRAMMARS)])
    with faster():
        recording = EngineRecording(name, text.grammar, {}, 0.0, play(TextWorldWorld(text), text, name))
    assert list(differences(recording, parse_game(text))) == []
    assert recording.plan_won
