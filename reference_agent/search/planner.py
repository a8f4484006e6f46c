"""The planner of the learned searcher: look where the most chance can be checked for the fewest steps, then name.

It keeps enough steps to walk back to the best file it has read, and stops early once that file is convincing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from natlang_envs.autoexplore.repository.texts import EXIT
from natlang_envs.autoexplore.search import Place
from reference_agent.search.belief import Belief, Search, Thing


@dataclass(frozen=True)
class Plan:
    """How the planner weighs things; chosen by games on training repositories.

    Attributes:
        convincing: The chance of a read file at which it is named.
        deeper: What chance is worth for each level that is to be entered before its files can be read.
        inside: Steps that looking into a folder is reckoned to take for each such level, beyond entering it.
        deepest: The number of folders above the deepest answers, which the environment states; None if it does not.
        group: The most unread files of one place that are reckoned together.
    """

    convincing: float = 0.7
    deeper: float = 0.7
    inside: float = 1.0
    deepest: int | None = None
    group: int = 4


class Choice(NamedTuple):
    """What to do next, and what it aims at.

    Attributes:
        command: The next command.
        goal: `read`, `enter`, `turn`, `name` or `leave`.
        thing: What it aims at.
        chance: The chance of that.
    """

    command: str
    goal: str
    thing: Thing | None
    chance: float


def choose(search: Search, belief: Belief, plan: Plan) -> Choice:
    """Return the next command."""
    walk, here, left = search.walk, search.walk.here, search.left
    nameable = belief.read | {thing: chance for thing, chance in belief.things.items() if thing.kind == "file"}
    within = {thing: chance for thing, chance in nameable.items() if walk.steps(here, thing.listed) + 1 <= left}
    best = max(within, key=within.__getitem__, default=None)
    surest = max(belief.read, key=belief.read.__getitem__, default=None)
    if surest is not None and best == surest and belief.read[surest] >= plan.convincing:
        return Choice(walk.towards(surest.listed, _name(surest)), "name", surest, belief.read[surest])
    aim = _worthwhile(search, belief, plan, surest)
    if aim is not None:
        goal = {"file": "read", "folder": "enter", "page": "turn"}[aim.kind]
        return Choice(walk.towards(aim.listed, aim.command), goal, aim, belief.things[aim])
    if best is None:
        return Choice(EXIT, "leave", None, 0.0)
    return Choice(walk.towards(best.listed, _name(best)), "name", best, within[best])


def _name(thing: Thing) -> str:
    return thing.command.replace("cat ", "id ", 1)


def _worthwhile(search: Search, belief: Belief, plan: Plan, surest: Thing | None) -> Thing | None:
    """Return what to look at next, or None where nothing can be looked at in time."""
    walk, here, left = search.walk, search.walk.here, search.left
    places: dict[Place, list[tuple[float, Thing]]] = {}
    worth: list[tuple[float, Thing]] = []
    for thing, chance in belief.things.items():
        if chance <= 0:
            continue
        way = walk.steps(here, thing.listed)
        back = 1  # the file itself may be named where it is listed
        if surest is not None and chance < belief.read[surest]:
            back = walk.steps(thing.listed, surest.listed) + 1
        if thing.kind == "file":
            if way + 1 + back <= left:
                places.setdefault(thing.listed, []).append((chance, thing))
        elif way + 2 + back + (thing.kind == "folder" and surest is not None) <= left:
            levels = 1
            if plan.deepest is not None and thing.kind == "folder":
                levels = max(plan.deepest - thing.path.rstrip("/").count("/"), 1)
            worth.append((plan.deeper**levels * chance / (way + 1 + plan.inside * levels), thing))
    for place, files in places.items():
        files.sort(key=lambda pair: -pair[0])
        way, mass = walk.steps(here, place), 0.0
        rates: list[float] = []
        for count, (chance, _) in enumerate(files[: plan.group], start=1):
            mass += chance
            rates.append(mass / (way + count))
        worth.append((max(rates), files[0][1]))
    return max(worth, key=lambda pair: pair[0])[1] if worth else None
