from __future__ import annotations

import json
import random
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natlang_envs.alfworld.engine import world as engine
from natlang_envs.alfworld.engine.game import GRAMMARS, bits, parse_game
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS, listing
from natlang_envs.alfworld.engine.world import World
from natlang_envs.errors import UsageError
from tests.support.alfworld_real import needs_textworld
from tests.support.alfworld_samples import games
from tests.support.kitchen import GOALS, kitchen
from tests.support.slow import slow_unless

KITCHENS = {(goal, grammar): parse_game(kitchen(goal, grammar)) for goal in GOALS for grammar in GRAMMARS}
ODDITIES = (
    "",
    " ",
    "xyzzy",
    "look at me",
    "go to",
    "go to loc 1",
    "put",
    "examine agent1",
    "use desklamp 3",
    "help me",
)
moves = st.lists(st.integers(0, 10**6), max_size=60)

# A play of the kitchen in the grammar of the paper's time; the real engine says the same, see
# `test_the_kitchen_is_played_as_by_the_real_engine`.
GOLDEN = [
    ("look", "You are in the middle of a room. Looking quickly around you, you see nothing."),
    ("examine window 1", NOTHING_HAPPENS),
    ("inventory", "You are not carrying anything."),
    ("go to microwave 1", "You arrive at loc 2. The microwave 1 is closed."),
    ("take mug 1 from microwave 1", NOTHING_HAPPENS),
    ("open microwave 1", "You open the microwave 1. The microwave 1 is open. In it, you see a mug 1."),
    ("take mug 1 from microwave 1", "You pick up the mug 1 from the microwave 1."),
    ("inventory", "You are carrying: a mug 1."),
    ("look", "You are facing the microwave 1. Next to it, you see nothing."),
    ("examine mug 1", "There's nothing special about mug 1."),
    ("heat mug 1 with microwave 1", "You heat the mug 1 using the microwave 1."),
    ("examine mug 1", "This is a hot mug 1."),
    ("close microwave 1", "You close the microwave 1."),
    ("heat mug 1 with microwave 1", "You heat the mug 1 using the microwave 1."),
    ("put mug 1 in/on microwave 1", NOTHING_HAPPENS),
    (
        "go to countertop 2",
        "You arrive at loc 5. On the countertop 2, you see a apple 2, a butterknife 1, a desklamp 2, and a knife 1.",
    ),
    (
        "look",
        "You are facing the countertop 2, shelf 1, and sinkbasin 1. Next to it, you see nothing.",
    ),
    ("clean mug 1 with sinkbasin 1", "You clean the mug 1 using the sinkbasin 1."),
    ("examine mug 1", "This is a hot and clean mug 1."),
    ("put mug 1 in/on sinkbasin 1", "You put the mug 1 in/on the sinkbasin 1."),
    ("examine sinkbasin 1", "On the sinkbasin 1, you see a mug 1."),
    ("take butterknife 1 from shelf 1", "You pick up the butterknife 1 from the shelf 1."),
    (
        "examine countertop 2",
        "On the countertop 2, you see a apple 2, a butterknife 1, a desklamp 2, and a knife 1.",
    ),
    ("slice apple 2 with butterknife 1", "You sliced the apple 2 with the butterknife 1."),
    ("take apple 2 from countertop 2", NOTHING_HAPPENS),
    ("put butterknife 1 in/on sinkbasin 1", "You put the butterknife 1 in/on the sinkbasin 1."),
    (
        "look",
        "You are facing the countertop 2, shelf 1, and sinkbasin 1. Next to it, you see a butterknife 1.",
    ),
    ("take apple 2 from countertop 2", "You pick up the apple 2 from the countertop 2."),
    ("examine apple 2", "This is a sliced apple 2."),
    ("go to fridge 1", "You arrive at loc 3. The fridge 1 is closed."),
    ("cool apple 2 with fridge 1", "You cool the apple 2 using the fridge 1."),
    ("examine apple 2", "This is a cool sliced apple 2."),
    ("open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1."),
    ("put apple 2 in/on fridge 1", "You put the apple 2 in/on the fridge 1."),
    ("take apple 1 from fridge 1", "You pick up the apple 1 from the fridge 1."),
    ("examine apple 1", "This is a cold apple 1."),
    ("put apple 1 in/on fridge 1", "You put the apple 1 in/on the fridge 1."),
    (
        "go to countertop 1",
        "You arrive at loc 4. On the countertop 1, you see a bread 1, a fork 1, a plate 1, and a spoon 1.",
    ),
    ("take plate 1 from countertop 1", "You pick up the plate 1 from the countertop 1."),
    ("examine plate 1", "This is a normal plate 1. In it, you see a fork 1, and a spoon 1."),
    ("go to shelf 1", "You arrive at loc 5. On the shelf 1, you see a desklamp 2."),
    ("use desklamp 2", "You turn on the desklamp 2."),
    ("use desklamp 2", "You turn on the desklamp 2."),
    ("put plate 1 in/on shelf 1", "You put the plate 1 in/on the shelf 1."),
    ("take desklamp 2 from shelf 1", "You pick up the desklamp 2 from the shelf 1."),
    ("examine desklamp 2", "This desklamp 2 is on."),
]


def play(world: World, numbers: list[int]) -> list[str]:
    """Play the commands that these numbers choose, every seventh one nonsense."""
    return [
        world.step(
            ODDITIES[number % len(ODDITIES)] if number % 7 == 0 else world.commands[number % len(world.commands)]
        )
        for number in numbers
    ]


def test_a_game_is_told_as_it_is_written_here() -> None:
    world = World(KITCHENS["place", "json_2.1.1"])
    assert world.intro() == (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see "
        "a cabinet 2, a cabinet 1, a countertop 2, a countertop 1, a fridge 1, a microwave 1, a shelf 1, and "
        "a sinkbasin 1.\n\nYour task is to: do what place asks."
    )
    for command, answer in GOLDEN:
        assert (command, world.step(command)) == (command, answer)


def test_commands_are_sorted_and_those_of_the_place() -> None:
    world = World(KITCHENS["place", "json_2.1.1"])
    ways = [f"go to {name}" for name in ("cabinet 1", "cabinet 2", "countertop 1", "countertop 2", "fridge 1")]
    ways += ["go to microwave 1", "go to shelf 1", "go to sinkbasin 1"]
    assert world.commands == (*ways, "inventory", "look")
    world.step("go to cabinet 1")
    assert world.commands == (
        *("examine cabinet 1", "examine cabinet 2", *ways[2:], "inventory", "look"),
        *("open cabinet 1", "open cabinet 2", "use desklamp 1"),
    )
    world.step("go to shelf 1")
    world.step("take knife 1 from countertop 2")
    assert world.commands == (
        *("clean knife 1 with sinkbasin 1", "examine countertop 2", "examine knife 1", "examine shelf 1"),
        *("examine sinkbasin 1", *(way for way in ways if way[6:] not in ("countertop 2", "shelf 1", "sinkbasin 1"))),
        *("inventory", "look", "put knife 1 in/on countertop 2", "put knife 1 in/on shelf 1"),
        *("put knife 1 in/on sinkbasin 1", "slice apple 2 with knife 1", "use desklamp 2"),
    )
    world.step("go to microwave 1")
    world.step("open microwave 1")
    assert not any(command.startswith("put") for command in world.commands)  # no knife fits in


def test_the_newer_grammar_moves_things_and_has_a_help() -> None:
    world = World(KITCHENS["place", "0.4.2"])
    assert "help" in world.commands
    assert world.step("go to fridge 1") == "You arrive at fridge 1. The fridge 1 is closed."
    world.step("open fridge 1")
    world.step("take apple 1 from fridge 1")
    assert world.step("put apple 1 in/on fridge 1") == NOTHING_HAPPENS
    assert world.step("move apple 1 to fridge 1") == "You move the apple 1 to the fridge 1."
    lines = world.step("help").split("\n")
    assert lines[0] == "Available commands:"
    assert lines[1] == "  look:                             look around your current location"
    assert lines[7] == "  move (object) to (receptacle):  place an object in or on a receptacle"
    assert (len(lines), lines[-1]) == (15, "")
    assert World(KITCHENS["place", "json_2.1.1"]).step("help") == NOTHING_HAPPENS


def test_spaces_around_a_command_do_not_matter_and_nothing_else_is_forgiven() -> None:
    world = World(KITCHENS["place", "json_2.1.1"])
    assert world.step("\t go to fridge 1 \n").startswith("You arrive")
    for text in ("Open fridge 1", "open  fridge 1", "open fridge 1.", "open the fridge 1", "go to fridge 1", *ODDITIES):
        before = world.state()
        assert world.step(text) == NOTHING_HAPPENS
        assert world.state() == before


def test_what_lies_in_two_receptacles_is_taken_out_of_one() -> None:
    world = World(KITCHENS["place", "json_2.1.1"])
    for command in ("go to countertop 1", "take bread 1 from countertop 1", "go to cabinet 1", "open cabinet 1"):
        world.step(command)
    answer = world.step("examine cabinet 1")
    assert answer == "The cabinet 1 is open. In it, you see a bread 1."
    assert world.step("put bread 1 in/on cabinet 1").startswith("You put")
    assert world.step("look") == "You are facing the cabinet 2, and cabinet 1. Next to it, you see nothing."


WINS = {
    "place": (
        *("go to microwave 1", "open microwave 1", "take mug 1 from microwave 1", "go to cabinet 1"),
        *("open cabinet 1", "put mug 1 in/on cabinet 1"),
    ),
    "look": ("go to shelf 1", "use desklamp 2", "take apple 2 from countertop 2"),
    "clean": (
        *("go to shelf 1", "take apple 2 from countertop 2", "clean apple 2 with sinkbasin 1"),
        "put apple 2 in/on countertop 2",
    ),
    "heat": (
        *("go to countertop 1", "take bread 1 from countertop 1", "go to microwave 1"),
        *("heat bread 1 with microwave 1", "go to countertop 2", "put bread 1 in/on countertop 2"),
    ),
    "cool": (
        *("go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "go to shelf 1"),
        "put apple 1 in/on shelf 1",
    ),
    "two": (
        *("go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "go to countertop 2"),
        "put apple 1 in/on countertop 2",
    ),
}


@pytest.mark.parametrize("goal", WINS)
def test_a_game_is_won_with_its_last_command_and_can_be_lost_again(goal: str) -> None:
    world = World(KITCHENS[goal, "json_2.1.1"])
    *before, last = WINS[goal]
    for command in before:
        assert world.step(command) != NOTHING_HAPPENS
        assert not world.won
    world.step(last)
    assert world.won
    saved = json.loads(json.dumps(world.state()))
    world.step("look")
    assert world.won
    undo = (
        "go to fridge 1" if goal == "look" else next(c for c in world.commands if last.split()[1] in c and "take" in c)
    )
    world.step(undo)
    assert not world.won
    world.set_state(saved)
    assert world.won


def test_a_start_at_a_receptacle_is_told_as_such() -> None:
    world = World(parse_game(kitchen("place", "0.4.2", start="loc_bar_3")))
    room = world.intro().split("\n\n")[1]
    assert room == "You are facing the fridge 1. Next to it, you see nothing."
    assert "open fridge 1" in world.commands
    assert "go to fridge 1" not in world.commands


@pytest.mark.parametrize("kind", KITCHENS)
@given(first=moves, then=moves)
@settings(max_examples=15, deadline=None)
def test_a_state_restores_all_there_is(kind: tuple[str, str], first: list[int], then: list[int]) -> None:
    world = World(KITCHENS[kind])
    play(world, first)
    state = world.state()
    here = (world.commands, world.won)
    answers = play(world, then)
    end = (world.commands, world.won, world.state())
    for other in (world, World(KITCHENS[kind]), World(parse_game(kitchen(*kind)))):
        other.set_state(json.loads(json.dumps(state)))
        assert (other.commands, other.won, other.state()) == (*here, state)
        assert play(other, then) == answers
        assert (other.commands, other.won, other.state()) == end


@given(first=moves)
@settings(max_examples=30, deadline=None)
def test_every_command_is_answered_and_no_other_text_is(first: list[int]) -> None:
    world = World(KITCHENS["two", "0.4.2"])
    play(world, first)
    state, commands = world.state(), world.commands
    assert list(commands) == sorted(set(commands))
    everything = {command for game in games()[:2] for command in World(game).commands} | set(ODDITIES)
    for command in (*commands, *everything):
        world.set_state(state)
        assert (world.step(command) == NOTHING_HAPPENS) == (command not in commands)


def test_what_is_kept_of_situations_is_bounded_over_all_games_and_does_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "_VIEWS_KEPT", 60)
    monkeypatch.setattr(engine, "_KEPT", deque())
    games = [parse_game(kitchen("two", "0.4.2")) for _ in range(2)]
    worlds, rng = [World(game) for game in games], random.Random(0)
    for step in range(3_000):
        world = worlds[step % 2]
        command = rng.choice(world.commands)
        if rng.random() < 0.02:
            fresh = World(parse_game(kitchen("two", "0.4.2")))
            fresh.set_state(world.state())
            assert fresh.commands == world.commands
            assert fresh.step(command) == world.step(command)
            assert fresh.state() == world.state()
        else:
            world.step(command)
        assert sum(len(game.actions_cache) for game in games) <= 60
        assert all(len(game.lists) <= 256 for game in games)
    assert sum(len(game.actions_cache) for game in games) > 40, "what is kept is used"


@pytest.mark.parametrize("state", [(), ("look",), ("go to fridge 1",) * 11, (0, None, *[0] * 6, [], [], [])])
def test_a_state_of_something_else_is_refused_and_changes_nothing(state: tuple[object, ...]) -> None:
    world = World(KITCHENS["place", "json_2.1.1"])
    before = world.state()
    with pytest.raises(UsageError, match=r"^this is no state of this ALFWorld game: [^\n]+$"):
        world.set_state(state)
    for place, wrong in ((0, 99), (0, -1), (1, 99), (2, -1), (2, 1 << 8), (3, 1 << 50), (8, [-1] * 8), (10, "x" * 8)):
        with pytest.raises(UsageError, match="no state of this"):
            world.set_state((*before[:place], wrong, *before[place + 1 :]))
    assert world.state() == before


def test_lists_in_words() -> None:
    assert [listing(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        *("nothing", "a", "a, and b", "a, b, and c"),
    ]
    assert list(bits(0b1011000)) == [3, 4, 6]


def test_real_rooms_can_be_wandered_through_in_both_grammars() -> None:
    for number, game in enumerate(games()[::17]):
        world, rng = World(game), random.Random(number)
        assert world.intro().endswith(game.task)
        for _ in range(30):
            assert world.step(rng.choice(world.commands)) != NOTHING_HAPPENS
        other = World(game)
        other.set_state(world.state())
        assert (other.commands, other.won) == (world.commands, world.won)


# Every second goal, in one grammar of three.
@needs_textworld
@pytest.mark.parametrize(
    ("goal", "grammar"),
    slow_unless(lambda n: n % 3 == n // 3 % 3 and n % 2 == 0, KITCHENS),
    ids=str,
)
def test_the_kitchen_is_played_as_by_the_real_engine(goal: str, grammar: str) -> None:
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld
    from tools.alfworld.textworld_speed import faster

    rng = random.Random(f"{goal} {grammar}")
    with faster():
        ours, real = World(KITCHENS[goal, grammar]), TextWorldWorld(kitchen(goal, grammar))
        assert ours.intro() == real.intro()
        script = [command for command, _ in GOLDEN] if (goal, grammar) == ("place", "json_2.1.1") else []
        for number in range(max(60, len(script))):
            kinds = sorted({command.split()[0] for command in ours.commands})
            chosen = rng.choice(kinds)
            command = rng.choice([each for each in ours.commands if each.split()[0] == chosen])
            if rng.random() < 0.1:
                command = rng.choice((*ODDITIES, f" {command}\n", command.upper(), f"{command}."))
            if number < len(script):
                command = script[number]
            assert (command, ours.step(command)) == (command, real.step(command))
            assert (ours.commands, ours.won) == (real.commands, real.won)
