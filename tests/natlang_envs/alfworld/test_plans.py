"""The reference plan: it wins from any state, is hardly ever longer than need be, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from natlang_envs.alfworld.engine.game import GRAMMARS, parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.plans import reference
from tests.support.alfworld_samples import games, wander
from tests.support.alfworld_shortest_plans import Search, shortest
from tests.support.kitchen import GOALS, kitchen
from tests.support.slow import slow_unless


def start(goal: str, commands: Iterable[str] = (), grammar: str = GRAMMARS[0]) -> World:
    world = World(parse_game(kitchen(goal, grammar)))
    for command in commands:
        assert command in world.commands
        world.step(command)
    return world


def follow(world: World) -> list[str]:
    """Check that the plan wins with its last command and not before, then return to where it began."""
    before = world.state()
    plan = reference(world)
    assert world.state() == before
    for command in plan:
        assert not world.won
        assert command in world.commands
        world.step(command)
    assert world.won
    world.set_state(before)
    return plan


def is_stuck(world: World) -> bool:
    """Whether what is held fits nowhere and is not what is wanted, by trying to put it down everywhere."""
    game, held, before = world.game, world.held, world.state()
    if held is None or game.things[held].type == game.goal.object_type:
        return False
    rooms: set[str] = set()
    for receptacle in game.receptacles:
        world.step(f"go to {receptacle.name}")
        world.step(f"open {receptacle.name}")
        rooms.update(command for command in world.commands if command.startswith(("put ", "move ")))
    world.set_state(before)
    return not rooms


def test_plans_win_from_anywhere() -> None:
    stuck = 0
    for number, game in enumerate(games()):
        world = World(game)
        follow(world)
        for _ in wander(world, 30, number):
            pass
        if is_stuck(world):
            stuck += 1
            assert reference(world) == []
        else:
            follow(world)
    assert len(games()) >= 500
    assert stuck < len(games()) / 20


# Each goal in one grammar of four.
@pytest.mark.parametrize(
    ("goal", "grammar"), slow_unless(lambda number: number % 4 == number // 4 % 4, product(GOALS, GRAMMARS))
)
def test_plans_are_short(goal: str, grammar: str) -> None:
    for seed in range(12):
        world = start(goal, grammar=grammar)
        for _ in wander(world, 4 * seed, seed):
            pass
        plan = follow(world)
        assert shortest(world, len(plan)) == len(plan)
        assert shortest(world, len(plan) - 1) is None


def test_the_search_leaves_out_no_plan() -> None:
    # What it takes for the fewest commands that are left is never more than a plan really takes.
    worlds = [start(goal) for goal in GOALS for _ in range(20)] + [World(game) for game in games()[::10]]
    for number, world in enumerate(worlds):
        for _ in wander(world, number % 20, number):
            pass
        plan, search = reference(world), Search(world)
        for left in range(len(plan), 0, -1):
            assert search.at_least() <= left
            world.step(plan[-left])
        assert search.at_least() == 0 or not plan


def won_within(world: World, steps: int) -> bool:
    """Search with every command there is, and nothing left out."""
    known, layer = {world.state()}, [world.state()]
    for _ in range(steps):
        following: list[tuple[Any, ...]] = []
        for state in layer:
            world.set_state(state)
            for command in world.commands:
                world.set_state(state)
                world.step(command)
                if world.won:
                    return True
                if world.state() not in known:
                    known.add(world.state())
                    following.append(world.state())
        layer = following
    return False


@pytest.mark.parametrize("goal", GOALS)
def test_no_command_at_all_leads_to_a_shorter_plan(goal: str) -> None:
    short = 0
    for seed in range(8):
        world = start(goal)
        for _ in wander(world, 3 * seed, seed):
            pass
        before, plan = world.state(), reference(world)
        if len(plan) <= 5:
            short += 1
            assert not won_within(world, len(plan) - 1)
            world.set_state(before)
            assert won_within(world, len(plan))
    assert short


def test_what_was_heated_and_then_cooled_is_heated_again() -> None:
    world = start("heat", ["go to countertop 1", "take bread 1 from countertop 1", "go to microwave 1"])
    world.step("heat bread 1 with microwave 1")
    assert len(follow(world)) == 2
    for command in ("go to fridge 1", "cool bread 1 with fridge 1"):
        world.step(command)
    assert follow(world)[:2] == ["go to microwave 1", "heat bread 1 with microwave 1"]


def test_what_still_lies_where_it_is_wanted_need_not_be_put_there() -> None:
    # The bread is in a cabinet and on the counter: taken out of the one, it still lies on the other.
    world = start("heat", ["go to cabinet 1", "open cabinet 1", "take bread 1 from cabinet 1"])
    assert follow(world) == ["go to microwave 1", "heat bread 1 with microwave 1"]


def test_a_lamp_that_is_on_already_is_not_used_again() -> None:
    world = start("look", ["go to countertop 2", "use desklamp 2"])
    assert follow(world) == ["take apple 2 from countertop 2"]
    world.step("go to fridge 1")
    assert not any(command.startswith("use ") for command in follow(world))


def test_a_lamp_in_hand_is_put_down_first() -> None:
    world = start("look", ["go to shelf 1", "take desklamp 2 from shelf 1", "go to countertop 1"])
    plan = follow(world)
    assert shortest(world, len(plan)) == len(plan)
    world = start("look", ["go to shelf 1", "take desklamp 2 from shelf 1"])
    world.step("put desklamp 2 in/on sinkbasin 1")
    assert follow(world) == ["take apple 2 from countertop 2", "use desklamp 2"]


def knife_fits_only(*kinds: str) -> World:
    """A world in which the knife, which fits into these receptacles alone, is in hand."""
    text = kitchen("place")
    lines = text.problem.splitlines()
    kept = (line for line in lines if " KnifeType)" not in line or "canContain" not in line)
    problem = "\n".join(kept).replace(
        "(:init", "(:init" + "".join(f"(canContain {kind}Type KnifeType)" for kind in kinds)
    )
    world = World(parse_game(text._replace(problem=problem)))
    for command in ("go to countertop 2", "take knife 1 from countertop 2"):
        assert command in world.commands
        world.step(command)
    return world


def test_a_held_thing_is_put_behind_a_door_where_nothing_else_takes_it() -> None:
    assert follow(knife_fits_only("Fridge", "Shelf"))[0] == "put knife 1 in/on shelf 1"
    world = knife_fits_only("Fridge")
    plan = follow(world)
    assert plan[:3] == ["go to fridge 1", "open fridge 1", "put knife 1 in/on fridge 1"]
    assert shortest(world, len(plan)) == len(plan)


def test_a_second_thing_is_brought_to_the_first() -> None:
    # Apple 2 lies on counter 2; apple 1, from the fridge, is put on either.
    fetch = ["go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "go to countertop 1"]
    assert follow(start("two", fetch)) == ["go to countertop 2", "put apple 1 in/on countertop 2"]
    plan = follow(start("two", [*fetch, "put apple 1 in/on countertop 1"]))
    assert plan == ["take apple 1 from countertop 1", "go to countertop 2", "put apple 1 in/on countertop 2"]


def test_nothing_is_planned_where_nothing_can_be_won_or_is_left_to_do() -> None:
    world = knife_fits_only()
    assert is_stuck(world)
    assert reference(world) == []
    assert shortest(world, 12) is None
    won = start("place")
    for command in reference(won):
        won.step(command)
    assert won.won
    assert reference(won) == []
