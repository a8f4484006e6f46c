"""Games that the expert won, written as examples for a prompt.

The form is that of the ReAct paper (Yao et al., 2023): the room and the task, then after each `> ` what the player does
and below it the answer. Some actions are thoughts; their answer is "OK."
"""

from __future__ import annotations

from natlang_envs.alfworld.engine.game import Game
from natlang_envs.alfworld.engine.goals import LOOK, PLACE, TWO
from natlang_envs.alfworld.engine.grammar import room_and_task
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.expert import Expert, Subgoal
from natlang_envs.errors import UsageError

THOUGHT = "think: "
THOUGHT_ANSWER = "OK."
_LONGEST = 100  # commands
_PLANS = {
    PLACE: "First I find {a_thing} and take it. Then I put it in or on {place}.",
    TWO: "First I find {a_thing} and put it in or on {place}. Then I do the same with a second one.",
    LOOK: "First I find {a_thing} and take it. Then I find {lamp} and use it.",
}
_TREATED = "First I find {a_thing} and take it. Then I {verb} it, and put it in or on {place}."
_NEXT = {
    "find": "I look for {a_kind}. It may be in or on {receptacle}.",
    "take": "I know where {object} is. I take it from {receptacle}.",
    "drop": "I hold {object}, which I do not need now. I put it in or on {receptacle}.",
    **{verb: f"I have {{object}}. Next I {verb} it with {{receptacle}}." for verb in ("clean", "heat", "cool")},
    "place": "I have {object}, as the task wants it. Next I put it in or on {receptacle}.",
    "look": "I have what I should look at. Next I use {object}.",
}


def exemplar(game: Game, thoughts: bool = True) -> str:
    """Return a won game as an example for a prompt.

    Args:
        game: Its sentence may be any; the expert gets the goal itself.
        thoughts: Whether a thought precedes each change of aim.

    Raises:
        UsageError: The expert does not win the game.
    """
    world = World(game)
    observation = world.intro()
    expert = Expert(observation, goal=game.goal)
    lines = [room_and_task(observation).replace("\n\n", "\n")]
    aim: tuple[str, str] | None = None
    for _ in range(_LONGEST):
        command = expert.choose(observation, world.commands)
        subgoal = expert.subgoal
        if thoughts and subgoal and (subgoal.kind, subgoal.object) != aim:
            plan = f"{_plan(game)} " if aim is None else ""
            aim = (subgoal.kind, subgoal.object)
            lines += [f"> {THOUGHT}{plan}{_say(subgoal)}", THOUGHT_ANSWER]
        observation = world.step(command)
        lines += [f"> {command}", observation]
        if world.won:
            return "\n".join(lines)
    raise UsageError(f"the expert did not win this game in {_LONGEST} steps: take another game")


def _plan(game: Game) -> str:
    goal = game.goal
    verb = goal.task_type.split("_")[1]
    return _PLANS.get(goal.task_type, _TREATED).format(
        a_thing=f"a {goal.object_type}", place=f"a {goal.receptacle_type}", lamp=f"a {goal.toggle_type}", verb=verb
    )


def _say(subgoal: Subgoal) -> str:
    return _NEXT[subgoal.kind].format(
        a_kind=f"a {subgoal.object_type}", receptacle=subgoal.receptacle, object=subgoal.object
    )
