"""Why nothing happens in a game of ALFWorld: every cause, what is proposed works, and nothing hidden is told."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import gymnasium
import pytest

from natlang_envs import unwrap
from natlang_envs.alfworld.causes import seen_here, why
from natlang_envs.alfworld.compat import AlfredTWEnv
from natlang_envs.alfworld.engine.game import bits, parse_game
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.generator import generate
from natlang_envs.errors import UsageError
from tests.support.alfworld_failing_commands import failing_commands, measure
from tests.support.alfworld_real import needs_textworld
from tests.support.alfworld_samples import games, wander
from tests.support.compat_games import config

KITCHEN = "generated/unseen/pick_heat_then_place_in_recep/10/007"
NO_VERB = "no command"  # the kind of mistakes that are of no verb of the game


def test_proposals_work_remedies_remove_the_cause_and_few_commands_are_left_without_a_cause() -> None:
    found = measure((World(game) for game in games()[::17]), seed=1, steps=15)
    assert found.wrong == []
    assert found.share_named(NO_VERB) >= 0.99
    assert found.proposals.total() > 2_000
    assert found.remedies.total() > 1_000
    assert min(found.remedies[each] for each in ("hands full", "not held", "elsewhere", "closed")) > 30
    assert set(found.causes[NO_VERB]) <= {"no such verb", "no such thing"}


def otherwise_hidden(world: World, rng: random.Random) -> World:
    """Return a game that looks the same, where all that is not seen lies elsewhere and has other numbers.

    What a listed command names counts as seen: who holds a knife may slice what lies behind a closed door.
    """
    game, here, listed = world.game, world.game.at[world.location], [f"{each} " for each in world.commands]
    seen = seen_here(world) | (0 if world.held is None else 1 << world.held)
    seen |= sum(1 << at for at, thing in enumerate(game.things) if any(f" {thing.name} " in each for each in listed))
    things = tuple(
        each if seen >> at & 1 else each._replace(name=f"{each.name.rpartition(' ')[0]} {at + 50}")
        for at, each in enumerate(game.things)
    )
    other = World(replace(game, things=things, actions_cache={}, lists={}))
    contents = [inside & seen for inside in world.contents]
    away = [each for each in range(len(contents)) if each not in here]
    for thing in bits(game.lying() & ~seen):
        contents[rng.choice(away)] |= 1 << thing
    other.set_state([*world.state()[:8], contents, *world.state()[9:]])
    return other


def test_a_reason_tells_nothing_of_what_the_player_has_not_seen() -> None:
    rng, told = random.Random(4), 0
    for game in games()[3::60]:
        world = World(game)
        for _ in wander(world, 25, seed=2):
            other = otherwise_hidden(world, rng)
            for _, command in failing_commands(world, rng):
                if not other.understands(command):
                    assert why(other, command) == why(world, command), command
                    told += 1
    assert told > 1_500


CASES = {
    "Go to fridge 1": ("spelling", "go to fridge 1"),
    "go to fridg 1": ("spelling", "go to fridge 1"),
    "go to counter top 1": ("spelling", "go to countertop 1"),
    "go to refrigerator 1": ("spelling", "go to fridge 1"),
    "go to fridge": ("number missing", "go to fridge 1"),
    "walk to the fridge 1": ("other verb", "go to fridge 1"),
    "go to fridge 1 and then open fridge 1": ("several at once", "go to fridge 1"),
    "go to fridge 7": ("no such thing", ""),
    "go to oven 1": ("no such thing", ""),
    "go to safe 1": ("no such thing", ""),
    "examine safe 1": ("no such thing", ""),
    "examine apple 1": ("not held", ""),
    "go to apple 1": ("not a place", ""),
    "dance": ("no such verb", ""),
    "": ("no command", "look"),
    "take": ("incomplete", ""),
    "open countertop 1": ("no door", ""),
    "open fridge 1": ("elsewhere", ""),
    "take apple 1 from fridge 1": ("elsewhere", ""),
    "heat apple 1 with microwave 1": ("not held", ""),
    "use microwave 1": ("wrong thing", ""),
}


@pytest.mark.parametrize("command", CASES)
def test_the_causes_at_the_start_of_a_game(command: str) -> None:
    world = World(parse_game(generate(KITCHEN)))
    reason = why(world, command)
    assert reason is not None
    assert (reason.cause, reason.instead) == CASES[command]
    assert reason.remedy == (("go to fridge 1",) if reason.cause == "elsewhere" else ())


@pytest.mark.parametrize("grammar", ["json_2.1.1", "json_2.1.2"])
def test_the_causes_in_the_course_of_a_game(grammar: str) -> None:
    world = World(parse_game(generate(KITCHEN)._replace(grammar=grammar)))
    put, other = world.game.grammar.put, "move {} to {}" if "in/on" in world.game.grammar.put else "put {} in/on {}"

    def cause(command: str) -> tuple[str, str, tuple[str, ...]]:
        reason = why(world, command)
        assert reason is not None
        return reason.cause, reason.instead, reason.remedy

    world.step("go to fridge 1")
    assert cause("go to fridge 1") == ("already there", "examine fridge 1", ())
    assert cause("close fridge 1") == ("already closed", "examine fridge 1", ())
    assert cause("take egg 1 from fridge 1") == ("closed", "", ("open fridge 1",))
    world.step("open fridge 1")
    assert cause("open fridge 1") == ("already open", "examine fridge 1", ())
    assert cause("take laptop 1 from fridge 1") == ("not there", "", ())
    first = next(each for each in world.commands if each.startswith("take "))
    thing = first.split(" from ")[0][5:]
    assert cause(f"take {thing}") == ("incomplete", first, ())
    assert cause(put.format(thing, "fridge 1")) == ("already there", "", ())
    assert cause(f"examine {thing}") == ("not held", "", (first,))
    assert cause(first.replace("take", "grab")) == ("other verb", first, ())
    assert cause(first.replace(" from ", " out of ")) == ("other grammar", first, ())
    more = next(each for each in world.commands if each.startswith("take ") and each != first)
    world.step(first)
    assert cause(first) == ("already held", "", ())
    assert cause(more) == ("hands full", "", (put.format(thing, "fridge 1"),))
    assert cause(other.format(thing, "fridge 1")) == ("other grammar", put.format(thing, "fridge 1"), ())
    assert cause(f"heat {thing} with fridge 1")[0] in ("wrong appliance", "wrong thing")
    assert cause(f"use {thing}") == ("wrong thing", "", ())
    assert cause(put.format(thing, "coffeemachine 1")) == ("does not belong", "", ())
    stoves = [each.name for each in world.game.receptacles if each.type == "stoveburner"]
    world.step(f"go to {stoves[0]}")
    beside = [world.game.receptacles[each].name for each in world.game.at[world.location]]
    if len(beside) > 1:
        assert cause(f"go to {beside[1]}") == ("same place as", f"examine {beside[1]}", ())


def test_slicing_asks_for_a_knife_in_hand_and_something_beside_it() -> None:
    for game in games():
        for number in bits(game.knives & game.lying()):
            world, knife = World(game), game.things[number].name
            place = next(at for at, inside in enumerate(game.contents) if inside >> number & 1)
            where = game.receptacles[place].name
            for command in (f"go to {where}", f"open {where}", f"take {knife} from {where}"):
                world.step(command)
            assert world.held == number
            reasons = {
                command: why(world, command)
                for command in (f"slice apple 9 with {knife}", f"slice {knife} with {knife}")
            }
            assert [each and each.cause for each in reasons.values()] == ["not there", "wrong thing"]
            world.step(next(each for each in world.commands if each.startswith(("put ", "move "))))
            reason = why(world, f"slice apple 9 with {knife}")
            assert reason is not None
            assert reason.cause == "not held"
            return
    raise AssertionError("no game has a knife")


@pytest.mark.filterwarnings("ignore:.*official games")
def test_the_adapter_s_infos_have_reasons_where_the_config_or_an_argument_asks_for_them(generated_games: None) -> None:
    def played(*commands: str, explain: bool | None = None, **values: Any) -> tuple[str, dict[str, list[Any]]]:
        batch = AlfredTWEnv(config(**values), "eval_in_distribution", explain=explain).init_env(1)
        batch.reset()
        for command in commands:
            (observation,), _, _, infos = batch.step([command])
        return observation, infos

    said, infos = played("go to nowhere 1")
    assert said == NOTHING_HAPPENS
    assert "why" not in infos
    for asked in ({"explain": True}, {"env__explain": True}, {"env__explain": True, "explain": True}):
        said, infos = played("go to nowhere 1", **asked)
        assert said == NOTHING_HAPPENS
        assert infos["why"][0].cause == "no such thing"
        assert played("go to nowhere 1", "look", **asked)[1]["why"] == [None]
    said, infos = played("go to nowhere 1", env__feedback="explained")
    assert said == f"{NOTHING_HAPPENS} {infos['why'][0].sentence}"
    with pytest.raises(UsageError, match=r"explain is False and env\.explain is True"):
        played("look", explain=False, env__explain=True)
    with pytest.raises(UsageError, match="unknown feedback 'explaned': choose one of explained"):
        played("look", env__feedback="explaned")


@pytest.mark.slow
@needs_textworld
def test_the_reasons_are_the_same_with_the_real_textworld() -> None:
    commands = [
        "open fridge 1",
        "go to fridge 1",
        "close fridge 1",
        "open fridge 1",
        "take spoon 1 from fridge 1",
        "dance",
    ]
    reasons: list[list[Any]] = []
    for backend in ("native", "textworld"):
        env = unwrap(gymnasium.make("NatLang/ALFWorld-v0", backend=backend, explain=True))
        env.reset(options={"task_id": KITCHEN})
        reasons.append([env.step(command)[4]["why"] for command in commands])
    assert reasons[0] == reasons[1]
    assert [each and each.cause for each in reasons[0]][:4] == ["elsewhere", None, "already closed", None]
