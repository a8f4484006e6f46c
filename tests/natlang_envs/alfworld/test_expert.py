"""The expert: it wins from what an agent is shown, from any point of an episode, and says what it is about."""

from __future__ import annotations

import random
from itertools import groupby

import numpy as np
import pytest

from natlang_envs.alfworld.engine.game import GRAMMARS, Game, parse_game
from natlang_envs.alfworld.engine.goals import CLEAN, COOL, HEAT, LOOK, PLACE, TASK_TYPES, TWO, Goal
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.expert import Expert, ExpertAgent
from natlang_envs.alfworld.games.floor_plans import TaskAim
from natlang_envs.alfworld.games.generator import sentence
from natlang_envs.alfworld.observation_memory import ObservationMemory, read_goal
from natlang_envs.alfworld.usual_locations import UsualLocations, usual_locations
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.prompt import PathStep
from tests.support.alfworld_samples import games, wander
from tests.support.kitchen import GOALS, kitchen

HORIZON = 50
ROOM = "You are in the middle of a room. Looking quickly around you, you see {}.\n\nYour task is to: {}"
SENTENCES = {
    "place": "put a mug in cabinet.",
    "look": "examine the apple with the desklamp.",
    "clean": "put a clean apple in countertop.",
    "heat": "heat some bread and put it in countertop.",
    "cool": "put a cool apple in shelf.",
    "two": "find two apple and put them in countertop.",
}


def play(world: World, expert: Expert, observation: str, steps: int = HORIZON) -> list[str]:
    """Let the expert play to the end, or for so many steps."""
    path: list[str] = []
    while not world.won and len(path) < steps:
        command = expert.choose(observation, world.commands)
        assert command in world.commands
        observation = world.step(command)
        path.append(command)
    return path


def kitchen_world(goal: str, grammar: str) -> World:
    return World(parse_game(kitchen(goal, grammar)._replace(task=f"Your task is to: {SENTENCES[goal]}")))


@pytest.mark.parametrize("variant", [0, 1])
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_goals_are_read_from_their_sentences(task_type: str, variant: int) -> None:
    goal = read_goal("A room.\n\n" + sentence(TaskAim(task_type, "SoapBar", "DeskLamp"), variant))
    target = {"toggle_type": "desklamp"} if task_type == LOOK else {"receptacle_type": "desklamp"}
    assert goal == Goal(task_type, "soapbar", **target)


def test_goals_of_all_games_are_read() -> None:
    for game in games():
        assert read_goal(World(game).intro()) == game.goal


@pytest.mark.parametrize("text", ["", "Your task is to: dance.", "Your task is to: put a mug.", "put a mug in desk."])
def test_other_tasks_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="give ") as raised:
        read_goal(text)
    assert "\n" not in str(raised.value)


def test_a_text_without_a_room_is_refused() -> None:
    with pytest.raises(UsageError, match="no receptacle"):
        Expert("Your task is to: put a mug in desk.")


def test_the_memory_holds_what_was_said() -> None:
    memory = ObservationMemory(ROOM.format("a cabinet 1, a desk 1, and a fridge 1", "put a mug in desk."))
    assert memory.receptacles == ("cabinet 1", "desk 1", "fridge 1")
    memory.read("You arrive at loc 3. The fridge 1 is closed.")
    assert memory.closed == {"fridge 1"}
    memory.read("You open the fridge 1. The fridge 1 is open. In it, you see a egg 2, and a mug 1.")
    assert (memory.closed, memory.opened, memory.contents["fridge 1"]) == (set(), {"fridge 1"}, ["egg 2", "mug 1"])
    for _ in range(2):  # what is told twice changes nothing
        memory.read("You pick up the mug 1 from the fridge 1.")
        assert (memory.held, memory.contents["fridge 1"]) == ("mug 1", ["egg 2"])
    memory.read("You heat the mug 1 using the microwave 1.")
    assert memory.states == {"mug 1": {"heat"}}
    memory.read("You clean the mug 1 using the sinkbasin 1.")
    memory.read("You cool the mug 1 using the fridge 1.")
    assert memory.states == {"mug 1": {"cool", "clean"}}
    memory.read("You move the mug 1 to the desk 1.")
    assert (memory.held, memory.contents["desk 1"]) == (None, ["mug 1"])
    assert "desk 1" not in memory.seen
    memory.read("You are carrying: a egg 2.")
    assert memory.held == "egg 2"
    memory.read("You are not carrying anything.")
    assert memory.held is None
    memory.read("You are in the middle of a room. Looking quickly around you, you see nothing.")
    memory.read("You close the fridge 1.")
    assert memory.closed == {"fridge 1"}
    assert memory.count("mug", "desk 1") == 1


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("goal", GOALS)
def test_the_expert_does_every_task(goal: str, grammar: str) -> None:
    world = kitchen_world(goal, grammar)
    intro = world.intro()
    assert len(play(world, Expert(intro), intro)) <= 15
    assert world.won


def test_the_expert_wins_nearly_all_games() -> None:
    lost = 0
    for game in games():
        world = World(game)
        intro = world.intro()
        play(world, Expert(intro), intro)
        lost += not world.won
    assert lost <= 0.02 * len(games())


def stepped_in(game: Game, seed: int) -> tuple[World, Expert, str]:
    """Another player wanders first; the expert only watches."""
    world = World(game)
    observation = world.intro()
    expert = Expert(observation)
    for command, observation in wander(world, 25, seed):
        expert.observe(command, observation)
    return world, expert, observation


def test_the_expert_takes_over_anywhere() -> None:
    lost = stuck = tried = 0
    for seed, game in enumerate(games()[::3]):
        world, expert, observation = stepped_in(game, seed)
        play(world, expert, observation)
        tried += 1
        held = world.held
        if not world.won:
            kinds = {receptacle.type for receptacle in game.receptacles}
            fits = held is None or any((kind, game.things[held].type) in game.can_contain for kind in kinds)
            lost += fits
            stuck += not fits
    assert lost <= 0.05 * tried
    assert stuck < 0.1 * tried


def test_a_label_is_what_the_expert_would_do_itself() -> None:
    for seed, game in enumerate(games()[::25]):
        world = World(game)
        intro = observation = world.intro()
        playing, path = Expert(intro), list[tuple[str, str]]()
        rng = random.Random(seed)
        for _ in range(20):
            if world.won:
                break
            watching = Expert(intro)
            for command, answer in path:
                watching.observe(command, answer)
            chosen = watching.choose(observation, world.commands)
            assert playing.choose(observation, world.commands) == chosen
            assert watching.choose(observation, tuple(reversed(world.commands))) == chosen
            assert watching.subgoal == playing.subgoal
            # Now and then another player does something else.
            command = rng.choice(world.commands) if rng.random() < 0.3 else chosen
            observation = world.step(command)
            path.append((command, observation))
            playing.observe(command, observation)


def test_subgoals_tell_what_is_done() -> None:
    world = kitchen_world("heat", GRAMMARS[0])
    observation = world.intro()
    # Bread is only in the cabinet and on the counter: this player expects it in the fridge.
    expert = Expert(observation, UsualLocations({"Bread": {"Fridge": 3, "CounterTop": 1}}))
    kinds: list[str] = []
    while not world.won:
        observation = world.step(expert.choose(observation, world.commands))
        assert expert.subgoal is not None
        assert expert.subgoal.object_type == "bread"
        assert expert.subgoal.receptacle in expert.memory.receptacles
        assert (expert.subgoal.object == "bread 1") == (expert.subgoal.kind != "find")
        kinds.append(expert.subgoal.kind)
    assert [kind for kind, _ in groupby(kinds)] == ["find", "take", "heat", "place"]
    assert kinds[:2] == ["find", "find"]


def test_likely_places_are_searched_first() -> None:
    room = ROOM.format("a garbagecan 1, a shelf 1, and a sidetable 1", "put a mug in garbagecan.")
    commands = ("go to garbagecan 1", "go to shelf 1", "go to sidetable 1", "look")
    for likely in ("shelf", "sidetable"):
        expert = Expert(room, UsualLocations({"Mug": {"Shelf": 1, "SideTable": 1, "GarbageCan": 9, likely: 2}}))
        assert expert.choose(room, commands) == f"go to {likely} 1"
    # A closed door costs a step: what is likelier, but not twice as likely, comes later.
    room = room.replace("a shelf 1", "a drawer 1")
    commands = ("go to drawer 1", "go to garbagecan 1", "go to sidetable 1", "look")
    for drawer, first in ((1.5, "sidetable"), (2.5, "drawer")):
        expert = Expert(room, UsualLocations({"Mug": {"Drawer": drawer, "SideTable": 1}}))
        assert expert.choose(room, commands) == f"go to {first} 1"


def test_a_place_where_the_lamp_may_be_too_is_searched_first() -> None:
    """Until the lamp is found: between places as likely for the object, and between nearly as likely ones."""
    room = ROOM.format("a dresser 1, and a sidetable 1", "examine the mug with the desklamp.")
    commands = ("go to dresser 1", "go to sidetable 1", "look")
    for with_lamp, first in (("Dresser", "dresser"), ("SideTable", "sidetable")):
        for least in (1, 0.9, 0.1):
            mugs = {"Dresser": 1, "SideTable": 1, with_lamp: least}
            expert = Expert(room, UsualLocations({"Mug": mugs, "DeskLamp": {with_lamp: 1}}))
            assert (expert.choose(room, commands) == f"go to {first} 1") == (least > 0.5)
    seen = ROOM.format("a bed 1, a dresser 1, and a sidetable 1", "examine the mug with the desklamp.")
    expert = Expert(seen, UsualLocations({"Mug": {"SideTable": 1, "Dresser": 0.9}, "DeskLamp": {"Dresser": 1}}))
    expert.observe("go to bed 1", "On the bed 1, you see a desklamp 1.")
    assert expert.choose(seen, commands) == "go to sidetable 1"


def test_the_usual_locations_are_known_for_what_games_ask_for() -> None:
    places = usual_locations()
    for game in games():
        kinds = {receptacle.type for receptacle in game.receptacles}
        for thing in (game.goal.object_type, game.goal.toggle_type):
            assert not thing or any(places.weight(thing, kind) > 0 for kind in kinds)
    assert places.weight("egg", "fridge") > places.weight("egg", "cabinet")
    assert places.weight("unicorn", "fridge") == 0
    assert sum(places.shares("unicorn", {"fridge 1": "fridge", "sofa 1": "sofa"}).values()) == 1


def test_what_is_refused_is_not_tried_again_at_once() -> None:
    room = ROOM.format("a desk 1, a shelf 1, and a sidetable 1", "put a mug in desk.")
    commands = ("go to desk 1", "go to shelf 1", "go to sidetable 1", "look")
    expert = Expert(room)
    tried = [expert.choose(answer, commands) for answer in (room, *["Nothing happens."] * 4)]
    assert sorted(tried[:2]) == ["go to shelf 1", "go to sidetable 1"]
    assert set(tried) <= set(commands)
    assert Expert(room).choose(room, ()) == "look"


def test_a_wrong_belief_is_given_up() -> None:
    world = kitchen_world("clean", GRAMMARS[0])
    intro = world.intro()
    expert = Expert(intro)
    expert.observe("look", "On the shelf 1, you see a apple 7.")  # which is not true
    play(world, expert, intro)
    assert world.won


def test_what_is_in_the_way_is_put_down() -> None:
    world = kitchen_world("cool", GRAMMARS[0])
    observation = world.intro()
    expert = Expert(observation)
    for command in ("go to countertop 2", "take knife 1 from countertop 2", "go to microwave 1", "open microwave 1"):
        observation = world.step(command)
        expert.observe(command, observation)
    play(world, expert, observation)  # a knife does not fit into this microwave
    assert world.won


def test_the_agent_plays_as_the_expert_does() -> None:
    for game in games()[::50]:
        world, twin = World(game), World(game)
        observation = intro = world.intro()
        path: list[PathStep] = []
        while not world.won and len(path) < HORIZON:
            view = AgentInput(intro, tuple(path), observation, world.commands, np.random.default_rng(0))
            command = ExpertAgent()(view)
            observation = world.step(command)
            path.append(PathStep(command, observation))
        assert [step.action for step in path] == play(twin, Expert(intro), intro)
    with pytest.raises(UsageError, match="ALFWorld"):
        ExpertAgent()(AgentInput("Drive a taxi.", (), "A road.", ("north",), np.random.default_rng(0)))


def test_every_task_type_is_among_the_games() -> None:
    assert {game.goal.task_type for game in games()} == {PLACE, LOOK, CLEAN, HEAT, COOL, TWO}
