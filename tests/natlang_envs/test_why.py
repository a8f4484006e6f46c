"""Why a command does nothing: on request, from a closed set, and never by another observation."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs import NatLangEnv, UsageError, unwrap
from natlang_envs.dangerous_taxi.causes import why as why_of_taxi
from natlang_envs.dangerous_taxi.city import load_city
from natlang_envs.dangerous_taxi.words import COMMANDS
from natlang_envs.why import CAUSES, LONGEST, Misspelt, Why, why_of
from tests.support.corridor import Corridor

WORDS = ("", "go", "to", "take", "put", "in/on", "apple", "fridge", "1", "2", "cd", "cat", "id", "../", "move", "up")
CAUSES_OF = {
    "move": ("edge", "wall"),
    "pick": ("nobody there", "in the taxi"),
    "drop": ("nobody in the taxi", "not the destination"),
}
TAXI, EXPLORE, HOUSE = "NatLang/DangerousTaxi-v0", "NatLang/AutoExplore-v0", "NatLang/ALFWorld-v0"
MISTAKES = (
    "",
    "wait",
    "go north",
    "pickup",
    "open README.md",
    "cat readme.md",
    "cd nowhere",
    "take apple 1",
    "go to fridge",
)


def make(env_id: str, **kwargs: Any) -> NatLangEnv:
    more = {"dataset": "embedded"} if env_id == EXPLORE else {}
    return unwrap(gymnasium.make(env_id, **more, **kwargs))


@pytest.mark.parametrize("env_id", [TAXI, EXPLORE, HOUSE])
def test_nothing_but_the_info_s_reason_differs_where_reasons_are_asked_for(env_id: str) -> None:
    plain, explaining = make(env_id), make(env_id, explain=True)
    chance, reasons = random.Random(env_id), 0
    for seed in range(12):
        observation, info = plain.reset(seed=seed)
        assert explaining.reset(seed=seed) == (observation, {**info, "why": None})
        ended = False
        while not ended:
            listed = info["admissible_commands"]
            command = chance.choice(MISTAKES) if chance.random() < 0.3 else chance.choice(listed)
            *step, info = plain.step(command)
            *same, explained = explaining.step(command)
            reason = explained.pop("why")
            assert (same, explained) == (step, info)
            assert reason is None or (type(reason) is Why and reason.cause in CAUSES)
            assert reason is not None or command in listed
            assert reason is None or command not in listed or step[2]  # what is listed may yet lose the game
            reasons += reason is not None
            ended = step[2] or step[3]
    assert reasons > 5


@pytest.mark.parametrize("env_id", [TAXI, EXPLORE, HOUSE])
def test_an_explained_observation_is_the_plain_one_with_the_reason_behind_the_answer(env_id: str) -> None:
    plain, explained = make(env_id), make(env_id, feedback="explained")
    assert explained.observation_space.max_length == plain.observation_space.max_length + LONGEST
    for command in MISTAKES:
        plain.reset(seed=3)
        explained.reset(seed=3)
        said = plain.step(command)
        told = explained.step(command)
        reason = told[4]["why"]
        words = reason.words if told[2] else reason.sentence
        assert told[4]["feedback"] == f"{said[4]['feedback']} {words}"
        assert told[0] == said[0].replace(said[4]["feedback"], told[4]["feedback"])
        assert told[1:4] == said[1:4]
        listed = told[4]["admissible_commands"]
        right = explained.step(listed[0]) if not told[2] else None
        assert right is None or right[4]["why"] is None


def test_wrong_values_are_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown feedback 'explaind': choose one of explained"):
        make(TAXI, feedback="explaind")
    with pytest.raises(UsageError, match="explain must be True or False, not 'yes'"):
        make(HOUSE, explain="yes")
    with pytest.raises(UsageError, match="feedback must be one of plain, explained, not None"):
        make(EXPLORE, feedback=None)
    with pytest.raises(UsageError, match="unknown argument 'explan': choose one of explain"):
        make(TAXI, explan=True)
    with pytest.raises(UsageError, match="unknown feedback 'explaned'"):
        gymnasium.make_vec(TAXI, 2, vectorization_mode="vector_entry_point", feedback="explaned")


def test_an_environment_of_one_s_own_that_says_no_reasons_is_refused_where_they_are_asked_for() -> None:
    class Silent(Corridor):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__()
            NatLangEnv.__init__(
                self,
                tasks=self.tasks,
                horizon=9,
                render_mode=None,
                max_observation=99,
                max_commands=3,
                fallback_commands=("look",),
                **kwargs,
            )

    Silent()
    with pytest.raises(UsageError, match="Silent does not say why: leave out explain and feedback"):
        Silent(explain=True)


def test_a_snapshot_keeps_the_reason_and_one_of_an_earlier_version_has_none() -> None:
    env = make(HOUSE, explain=True)
    env.reset(seed=1)
    info = env.step("go to nowhere 1")[4]
    saved = env.snapshot()
    env.step("look")
    assert env.restore(json.loads(json.dumps(saved)))[1] == info
    assert env.restore(list(saved[:8]))[1] == {**info, "why": None}
    with pytest.raises(UsageError, match="a snapshot has 9 parts"):
        env.restore(list(saved[:7]))


@pytest.mark.parametrize("name", ["classic", "map-0042"])
def test_a_command_of_the_taxi_has_a_reason_where_the_rules_call_it_illegal(name: str) -> None:
    city = load_city(name)
    for state, command in product(range(len(city.transitions)), COMMANDS):
        reason = why_of_taxi(city, state, command)
        legal = city.transitions[state][COMMANDS.index(command)] >= 0
        assert (reason is None) is legal
        if reason:
            row, column, passenger, destination = city.decode(state)
            way = command.split()[1]
            ends = {
                "north": row == 0,
                "south": row == city.rows - 1,
                "west": not column,
                "east": column == city.columns - 1,
            }
            wall = {"west": (row, column - 1) in city.walls, "east": (row, column) in city.walls}
            aboard, at_landmark = passenger == len(city.landmarks), (row, column) in city.landmarks
            there = at_landmark and city.landmarks.index((row, column))
            holds = {
                "edge": ends.get(way, False),
                "wall": wall.get(way, False) and not ends.get(way, False),
                "nobody there": not aboard and not (at_landmark and there == passenger),
                "in the taxi": aboard,
                "nobody in the taxi": not aboard,
                "not the destination": aboard and not (at_landmark and there == destination),
            }
            assert holds[reason.cause]
            assert reason.cause in CAUSES_OF[command.split()[0]]


@pytest.mark.parametrize(
    ("text", "cause", "meant"),
    [
        ("go north", "other verb", "move north"),
        ("North", "other grammar", "move north"),
        ("move norht", "spelling", "move north"),
        ("Move North.", "spelling", "move north"),
        ("move to the north", "other grammar", "move north"),
        ("drop passenger off", "other grammar", "drop off passenger"),
        ("pickup", "other verb", "pick up passenger"),
        ("move", "incomplete", ""),
        ("move north, then east", "several at once", "move north"),
        ("look", "no such verb", ""),
        ("", "no command", ""),
    ],
)
def test_another_text_has_the_taxi_s_command_that_it_means_where_that_was_legal(
    text: str, cause: str, meant: str
) -> None:
    city = load_city("classic")
    legal = 0
    for state, after in enumerate(city.transitions):
        reason = why_of_taxi(city, state, text)
        assert reason is not None
        allowed = bool(meant) and after[COMMANDS.index(meant)] >= 0
        assert reason[:3:2] == (cause, meant if allowed else "")
        legal += allowed
    assert bool(legal) is bool(meant)


def explore(*commands: str) -> tuple[NatLangEnv, Why | None]:
    env = make(EXPLORE, explain=True)
    info = env.reset(options={"task_id": next(iter(env.tasks.ids()))})[1]
    for command in commands:
        info = env.step(command.format(*info["admissible_commands"]))[4]
    return env, info["why"]


def test_a_command_in_a_repository_has_a_reason_and_what_works_in_its_place() -> None:
    env, _ = explore()
    listed = env.reset(seed=0)[1]["admissible_commands"]
    folder = next(each for each in listed if each.startswith("cd "))[3:]
    file = next(each for each in listed if each.startswith("cat "))[4:]
    cases = {
        f"open {file}": ("other verb", f"cat {file}"),
        f"open {folder}": ("other verb", f"cd {folder}"),
        f"cat {folder}": ("wrong thing", f"cd {folder}"),
        f"cd {file}": ("not a place", f"cat {file}"),
        f"cd {folder}/": ("spelling", f"cd {folder}"),
        f"cat ./{file}": ("spelling", f"cat {file}"),
        f"cat '{file.upper()}'": ("spelling", f"cat {file}"),
        f"cat {file[:-1]}": ("spelling", f"cat {file}"),
        f"cat {folder}/some.py": ("elsewhere", f"cd {folder}"),
        "cat some/where.py": ("elsewhere", ""),
        "cat nothing_of_this_name.txt": ("not there", ""),
        "cd ..": ("already there", ""),
        "next page": ("already there", ""),
        "quit": ("other verb", "exit"),
        "cd": ("incomplete", ""),
        "ls -la": ("no such verb", ""),
        "": ("no command", ""),
    }
    for command, expected in cases.items():
        env.reset(seed=0)
        reason = env.step(command)[4]["why"]
        assert (reason.cause, reason.instead) == expected, command
        if reason.instead:
            assert (env.step(reason.instead)[4]["why"] or reason).cause in (reason.cause, "left")
    env.reset(seed=0)
    env.step(f"cd {folder}")
    inside = [each for each in env.step("..")[4]["admissible_commands"] if each.startswith("cat ")]
    assert env.step(f"cat {folder}/{inside[0][4:]}")[4]["why"][:3:2] == ("spelling", inside[0])


def test_a_lost_search_says_how_it_was_lost() -> None:
    env, reason = explore("exit")
    assert reason is not None
    assert reason.cause == "left"
    info = env.reset(seed=0)[1]
    safe = env.safe_commands()
    wrong = next(each for each in info["admissible_commands"] if each.startswith("id ") and each not in safe)
    assert env.step(wrong)[4]["why"].cause == "wrong answer"
    env.reset(seed=0)
    for command in env.oracle():
        info = env.step(command)[4]
    assert info["success"]
    assert info["why"] is None


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_has_a_reason_of_the_set_in_any_family(text: str) -> None:
    for env in ENVS:
        listed = env.reset(seed=5)[1]["admissible_commands"]
        reason = env.step(text)[4]["why"]
        assert (reason is None) is (text.strip() in listed) or env.family == "taxi" or reason.cause in CAUSES
        if reason:
            assert len(reason.sentence) < LONGEST
            assert why_of(json.loads(json.dumps(reason))) == reason


ENVS = [make(each, explain=True) for each in (TAXI, EXPLORE, HOUSE)]


def test_a_word_is_found_by_one_slip_and_by_no_two() -> None:
    known = Misspelt(["drawer", "shelf", "cup"])
    slips = {
        "drawer": "drawer",
        "drwer": "drawer",
        "draweer": "drawer",
        "drawre": "drawer",
        "drawir": "drawer",
        "cpu": "cup",
    }
    for word in ("darwre", "cu", "selfie", "x" * 100_000, ""):
        slips[word] = None  # pyright: ignore[reportArgumentType]
    assert {word: known.meant(word) for word in slips} == slips
