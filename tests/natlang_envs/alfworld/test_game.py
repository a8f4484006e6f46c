from __future__ import annotations

import json
import lzma
import random
import re
import sys
import tracemalloc
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from natlang_envs.alfworld.engine.game import GRAMMARS, GameText, bits, parse_game, read_game_file
from natlang_envs.alfworld.engine.game_file import recognise
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.engine.grammar import BY_NAME
from natlang_envs.alfworld.engine.world import World
from natlang_envs.errors import UsageError
from tests.support.alfworld_real import needs_official, needs_textworld
from tests.support.alfworld_samples import official_folder
from tests.support.kitchen import GOALS, RECEPTACLES, THINGS, kitchen


def without(text: GameText, pattern: str, put: str = "") -> GameText:
    problem, times = re.subn(pattern, put, text.problem)
    assert times
    return text._replace(problem=problem)


def test_facts_are_those_of_the_problem() -> None:
    game = parse_game(kitchen("clean"))
    assert [each.name for each in game.receptacles] == [
        *("cabinet 2", "cabinet 1", "countertop 2", "countertop 1", "fridge 1", "microwave 1", "shelf 1"),
        "sinkbasin 1",
    ]
    assert {each.type for each in game.receptacles if each.openable} == {"cabinet", "fridge", "microwave"}
    assert len(game.things) == len(THINGS)
    assert len({each.location for each in game.receptacles}) == len({place for _, place in RECEPTACLES.values()})
    names = {each.name: number for number, each in enumerate(game.things)}
    assert set(bits(game.toggleable)) == {names["desklamp 1"], names["desklamp 2"]}
    assert set(bits(game.cool)) == {names["apple 1"]}
    counter = next(number for number, each in enumerate(game.receptacles) if each.name == "countertop 2")
    inside = {game.things[thing].name for thing in bits(game.contents[counter])}
    assert inside == {"apple 2", "knife 1", "butterknife 1", "desklamp 2"}
    assert ("microwave", "knife") not in game.can_contain
    assert ("microwave", "mug") in game.can_contain
    assert game.inside[names["plate 1"]] == 1 << names["fork 1"] | 1 << names["spoon 1"]


def test_the_six_goals_are_told_apart() -> None:
    goals = [parse_game(kitchen(goal)).goal for goal in ("place", "look", "clean", "heat", "cool", "two")]
    assert [goal.task_type for goal in goals] == list(TASK_TYPES)
    assert [goal.object_type for goal in goals] == ["mug", "apple", "apple", "bread", "apple", "apple"]
    assert [goal.receptacle_type for goal in goals] == [
        "cabinet",
        "",
        "countertop",
        "countertop",
        "shelf",
        "countertop",
    ]
    assert [goal.toggle_type for goal in goals] == ["", "desklamp", "", "", "", ""]
    assert [goal.count for goal in goals] == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("goal", GOALS)
def test_comments_case_and_spaces_of_a_problem_do_not_matter(goal: str) -> None:
    text = kitchen(goal)
    spread = text.problem.replace("(exists", "( exists").replace("\n", " ; a comment (with\n\t").upper()
    other = parse_game(text._replace(problem=spread.replace("; A COMMENT (WITH", "; a comment (with")))
    game = parse_game(text)
    assert (other.goal, other.receptacles, other.things, other.contents) == (
        *(game.goal, game.receptacles, game.things, game.contents),
    )


def test_the_order_of_the_facts_does_not_matter() -> None:
    text = kitchen("two")
    head, rest = text.problem.split("(:init\n")
    init, goal = rest.split("\n)\n(:goal")
    rows = init.split("\n")
    random.Random(0).shuffle(rows)
    shuffled = f"{head}(:init\n" + "\n".join([*rows, rows[0]]) + f"\n)\n(:goal{goal}"
    ours, other = World(parse_game(text)), World(parse_game(text._replace(problem=shuffled)))
    assert (ours.intro(), ours.commands, ours.state()) == (other.intro(), other.commands, other.state())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (kitchen()._replace(problem=""), "truncated"),
        (kitchen()._replace(problem=kitchen().problem[:2_000]), "truncated"),
        (kitchen()._replace(problem=kitchen().problem[:-3]), "truncated"),
        (without(kitchen(), r"\(:goal[\s\S]*", ")"), "truncated"),
        (without(kitchen(), r"\(:domain alfred\)", "(:domain blocks)"), "not of ALFWorld's domain"),
        (without(kitchen(), r"\(openable Fridge_bar_1\)", "(on a b)"), "not of ALFWorld's domain"),
        (without(kitchen(), r"\(openable Fridge_bar_1\)", "(openable a b)"), "not of ALFWorld's domain"),
        (without(kitchen(), r"\(openable Fridge_bar_1\)", "(holds agent1 Apple_bar_1)"), "not of ALFWorld's domain"),
        (without(kitchen(), r"\(atLocation agent1 \w+\)"), "0 places to start"),
        (without(kitchen(), r"\(atLocation", "(atLocation agent1 loc_bar_3) (atLocation"), "2 places to start"),
        (
            without(kitchen(), r"\(openable F", "(receptacleAtLocation Fridge_bar_1 loc_bar_2) (openable F"),
            "two locations",
        ),
        (without(kitchen(), r"objectType \?o MugType", "isSliced ?o"), "none of the six task types"),
        (without(kitchen("two"), r"\(not \(= \?o1 \?o2\)\)"), "none of the six task types"),
        (without(kitchen(), r"\?o MugType", "?o TomatoType"), "cannot be solved.*asks for 1 tomato"),
        (without(kitchen(), r"\(pickupable Mug_bar_1\)"), "cannot be solved.*asks for 1 mug to take, and has 0"),
        (without(kitchen(), r"\(inReceptacle Mug_bar_1 \w+\)"), "cannot be solved.*asks for 1 mug"),
        (
            without(kitchen("two"), r"\(pickupable Apple_bar_1\)"),
            "cannot be solved.*asks for 2 apple to take, and has 1",
        ),
        (without(kitchen("clean"), r"\(cleanable Apple_bar_\d\)"), "cannot be solved.*asks for 1 apple"),
        (without(kitchen(), r"\(canContain CabinetType MugType\)"), "cannot be solved.*no cabinet that takes a mug"),
        (without(kitchen(), r"\?r CabinetType", "?r SafeType"), "cannot be solved.*no safe"),
        (without(kitchen("heat"), r"Type Microwave_bar_1 \w+", "Type Microwave_bar_1 SafeType"), "has no microwave"),
        (without(kitchen("look"), r"\(toggleable \w+\)"), "cannot be solved.*has no desklamp to turn on"),
        (kitchen()._replace(grammar="0.5"), "unknown grammar '0.5'"),
    ],
)
def test_bad_games_are_refused_in_one_line(text: GameText, said: str) -> None:
    with pytest.raises(UsageError, match=rf"^[^\n]*{said}[^\n]*$"):
        parse_game(text)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("", "truncated or no game.tw-pddl"),
        ('{"pddl_problem": "(define', "truncated or no game.tw-pddl"),
        ("[" * 100_000, "truncated or no game.tw-pddl"),
        ("[]", "has no pddl_problem, pddl_domain and grammar"),
        ('{"pddl_problem": "x", "pddl_domain": 3, "grammar": "y"}', "has no pddl_problem, pddl_domain and grammar"),
        ('{"pddl_problem": "x", "pddl_domain": "x", "grammar": "y", "solvable": false}', "cannot be solved"),
        ('{"pddl_problem": "x", "pddl_domain": "x", "grammar": "y"}', "states no task"),
        (
            json.dumps({"pddl_problem": "", "pddl_domain": "", "grammar": '"task": [{"rhs": "Sing."}]'}),
            "not ALFWorld's",
        ),
        (json.dumps({"pddl_problem": "", "pddl_domain": "", "grammar": '"task": [{"rhs": "a\\q"}]'}), "not ALFWorld's"),
        (json.dumps({"pddl_problem": "", "pddl_domain": "", "grammar": '"task": [{"rhs": "{x}"}]'}), "plain words"),
    ],
)
def test_bad_files_are_refused_in_one_line(content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=rf"^[^\n]*game\.tw-pddl[^\n]*{said}[^\n]*$"):
        read_game_file(path)


def test_a_folder_and_a_binary_file_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "binary"):
        with pytest.raises(UsageError, match=r"^[^\n]+$"):
            read_game_file(path)


@needs_official
def test_official_files_are_recognised_whatever_they_are_called(tmp_path: Path) -> None:
    folder = official_folder()
    assert folder is not None
    files = sorted(folder.rglob("game.tw-pddl"))
    for number, file in enumerate(files[:6]):
        text = read_game_file(file)
        assert text.grammar == "json_2.1.1"
        assert text.task.startswith("Your task is to: ")
        World(parse_game(text))
        content: dict[str, Any] = json.loads(file.read_text("utf-8"))
        copy = tmp_path / f"{number}.json"
        sentence = text.task.replace("Your task is to: ", "Your task is to: kindly ")
        copy.write_text(json.dumps({**content, "grammar": content["grammar"].replace(text.task, sentence)}), "utf-8")
        assert read_game_file(copy) == text._replace(task=sentence)
        for key, old, new in (
            ("grammar", "You open the", "You pull the"),
            ("grammar", "examine {r}", "read {r}"),
            ("pddl_domain", "(openable ?r)", "(opened ?r)"),
        ):
            assert old in content[key]
            copy.write_text(json.dumps({**content, key: content[key].replace(old, new)}), "utf-8")
            with pytest.raises(UsageError, match=r"^[^\n]*its (grammar|domain) is not ALFWorld's[^\n]*$"):
                read_game_file(copy)


RELEASE_2_1_2 = Path(__file__).with_name("release_2.1.2.json.xz")  # one game as alfworld 0.4.2 downloads it


def release_2_1_2() -> dict[str, Any]:
    return json.loads(lzma.decompress(RELEASE_2_1_2.read_bytes()))


def test_the_download_of_alfworld_0_4_2_is_recognised_and_can_be_won(tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_text(json.dumps(release_2_1_2()), "utf-8")
    env = gymnasium.make("NatLang/ALFWorld-v0", game=str(path))
    _, info = env.reset()
    assert "help" in info["admissible_commands"]
    assert env.step("help")[0].startswith("Available commands:")
    for command in release_2_1_2()["walkthrough"]:
        info = env.step(command)[4]
    assert info["success"]


CLAUSES = ("(receptacleType ?r SinkType)", "(:action help")


@pytest.mark.parametrize(("sinks", "helps"), list(product([True, False], repeat=2)))
def test_rules_and_texts_are_recognised_independently(sinks: bool, helps: bool) -> None:
    content = release_2_1_2()
    domain: str = content["pddl_domain"]
    if not sinks:
        domain = domain.replace(CLAUSES[0], f";{CLAUSES[0]}")
    if not helps:
        start = domain.index(CLAUSES[1])
        domain = domain[:start] + ")"
    task, grammar = recognise(domain, content["grammar"])
    assert task == "Your task is to: examine the alarmclock with the desklamp."
    assert BY_NAME[grammar].help == (BY_NAME["0.4.2"].help if helps else None)
    assert ("sink" in BY_NAME[grammar].cleaners) == sinks


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(receptacleType ?r FridgeType)", "(or (receptacleType ?r SinkType) (receptacleType ?r FridgeType))"),
        ("(isSliced ?co)", "(isClean ?co)"),
        ("(heatable ?o)", "(cleanable ?o)"),
    ],
)
def test_a_domain_that_differs_elsewhere_is_another_game(old: str, new: str, tmp_path: Path) -> None:
    content = release_2_1_2()
    assert old in content["pddl_domain"]
    path = tmp_path / "game.tw-pddl"
    path.write_text(json.dumps({**content, "pddl_domain": content["pddl_domain"].replace(old, new)}), "utf-8")
    with pytest.raises(UsageError, match="its domain is not ALFWorld's"):
        gymnasium.make("NatLang/ALFWorld-v0", game=str(path))


@needs_textworld
def test_both_grammars_are_recognised_by_what_they_say(tmp_path: Path) -> None:
    from natlang_envs.alfworld.textworld.files import game_file, rules

    for grammar in GRAMMARS:
        text = kitchen("heat", grammar)
        path = tmp_path / "game"
        path.write_text(json.dumps(game_file(text)), "utf-8")
        assert read_game_file(path) == text
    old, new = (rules(grammar) for grammar in GRAMMARS[:2])
    assert recognise(old.domain, new.texts)[1] == "json_2.1.2 without help"
    with pytest.raises(UsageError, match=r"^its domain has `help`, which its grammar has no words for[^\n]*$"):
        recognise(new.domain, old.texts)


def test_a_hundred_games_share_what_is_equal() -> None:
    texts = [kitchen(goal, grammar) for goal in GOALS for grammar in GRAMMARS]
    for text in texts:
        parse_game(text)
    tracemalloc.start()
    kept = [parse_game(texts[number % len(texts)]) for number in range(100)]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len({id(game.can_contain) for game in kept}) == 1
    assert sys.intern("cabinet 2") is kept[0].receptacles[0].name is kept[99].receptacles[0].name
    assert taken < 3_000_000
