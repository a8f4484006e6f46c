"""An expert without privileged knowledge: it sees what an agent sees, and knows where things usually are.

It searches the receptacles that are most worth their steps first, remembers what it saw, and does what the task's
sentence asks. It never reads the `World`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from natlang_envs.alfworld.engine.goals import PLACE, TREATMENTS, Goal
from natlang_envs.alfworld.engine.grammar import BY_NAME, NOTHING_HAPPENS, TASK_PREFIX
from natlang_envs.alfworld.observation_memory import ObservationMemory, read_goal, type_of
from natlang_envs.alfworld.usual_locations import UsualLocations, usual_locations
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput

Kind = Literal["find", "take", "drop", "clean", "heat", "cool", "place", "look"]

# What a treatment is done with; the one that comes first in the room is used.
_APPLIANCES = {"clean": ("sinkbasin", "sink"), "heat": ("microwave",), "cool": ("fridge",)}
# Those with a door in nearly every room: unseen ones are taken to be closed, which costs a step.
_WITH_DOORS = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})
# How much a glimpse of the lamp is worth while the object is searched: the lamp has to be found too, but later.
_LAMP_SHARE = 0.3
_UNUSUAL = 5  # steps that it takes, on average, to find out that a thing does not fit where it is never found
_ATTEMPTS = 20  # subgoals that are tried before any admissible command will do


class Subgoal(NamedTuple):
    """The expert's next aim, in the terms of the task."""

    kind: Kind  # "drop" puts down what is in the way, "place" brings to where the task wants it, "look" uses the lamp
    object_type: str  # of the object, or of the lamp that is looked for
    receptacle: str = ""  # where it is done; empty if that is not known
    object: str = ""  # the object, or, for "look", the lamp; empty if that is not known


class Expert:
    """Plays a game from observations and admissible commands alone.

    In turn: `choose(observation, commands)`. For a path that another player took: `observe` each of its steps, then
    `choose` with the last observation; what is chosen depends on the path alone, not on what was chosen before. An
    observation may be given twice, but "Nothing happens." in `choose` is taken for the answer to what was chosen last.

    Args:
        first_observation: The text at the start of the game, with the list of receptacles and the task's sentence.
        places: Where things usually lie; None takes the table that comes with the package.
        goal: What wins; None reads it from the task's sentence, which must be one of ALFWorld's own then.

    Attributes:
        subgoal: What the last chosen command serves; None before the first.

    Raises:
        UsageError: The text lists no receptacle, or states none of ALFWorld's tasks.
    """

    def __init__(self, first_observation: str, places: UsualLocations | None = None, goal: Goal | None = None) -> None:
        self.goal = read_goal(first_observation) if goal is None else goal
        self.memory = ObservationMemory(first_observation)
        self.subgoal: Subgoal | None = None
        self._places = usual_locations() if places is None else places
        self._kinds = {name: type_of(name) for name in self.memory.receptacles}
        # The game would be won at its start if the object were where it has to go.
        elsewhere = {name: kind for name, kind in self._kinds.items() if kind != self.goal.receptacle_type}
        searched = elsewhere if self.goal.task_type == PLACE and elsewhere else self._kinds
        self._shares = {self.goal.object_type: self._places.shares(self.goal.object_type, searched)}
        if self.goal.toggle_type:
            self._shares[self.goal.toggle_type] = self._places.shares(self.goal.toggle_type, self._kinds)
        self._chosen: str | None = None
        self._refused: set[str] = set()
        self._unfit: set[str] = set()  # receptacles here that what is held does not fit into
        self._commands: frozenset[str] = frozenset()
        self._here: frozenset[str] = frozenset()

    def observe(self, command: str, observation: str) -> None:
        """Observe one step, also one of another player."""
        if observation.strip() == NOTHING_HAPPENS:
            self._refused.add(command)
        else:
            self._refused.clear()
            self.memory.read(observation)
        self._chosen = None

    def choose(self, observation: str, commands: Iterable[str]) -> str:
        """Return the next command.

        Args:
            observation: The observation that the agent has now.
            commands: The admissible commands; without any, "look" is returned.
        """
        if self._chosen is not None:
            self.observe(self._chosen, observation)
        else:
            self.memory.read(observation)
        offered = frozenset(commands)
        self._commands = offered - self._refused
        self._here = frozenset(name for name in self.memory.receptacles if f"go to {name}" not in offered)
        held = self.memory.held or ""
        self._unfit = {name for name in self._here if f"open {name}" not in offered and not self._put(held, name)}
        for _ in range(_ATTEMPTS):
            self.subgoal = self._next()
            command = self._towards(self.subgoal)
            if command in self._commands:
                break
            self._give_up(self.subgoal)
        else:
            command = min(self._commands, default="look")
        self._chosen = command
        return command

    def search_order(self, wanted: str) -> list[str]:
        """Return the receptacles as a search for a type would take them, had none been looked into yet."""
        steps = {name: 1 + (kind in _WITH_DOORS) for name, kind in self._kinds.items()}
        return sorted(self.memory.receptacles, key=lambda name: -self._chance(wanted, name) / steps[name])

    # What to do next.

    def _next(self) -> Subgoal:
        goal, held = self.goal, self.memory.held
        if held is None:
            return self._fetch()
        if type_of(held) != goal.object_type:
            return self._drop(held)
        if goal.toggle_type:
            return self._look()
        treatment = self._treatment(held)
        if treatment:
            appliances = self._of_types(_APPLIANCES[treatment])
            return Subgoal(treatment, goal.object_type, self._nearest(appliances), held)
        targets = [name for name in self._of_types((goal.receptacle_type,)) if name not in self._unfit]
        if goal.count > 1:
            most = max((self.memory.count(goal.object_type, name) for name in targets), default=0)
            targets = [name for name in targets if self.memory.count(goal.object_type, name) == most]
        return Subgoal("place", goal.object_type, self._nearest(targets), held)

    def _fetch(self) -> Subgoal:
        """Take an object of the task's type, or search one."""
        wanted, memory = self.goal.object_type, self.memory
        found = memory.found(wanted)
        if self.goal.count > 1:  # what lies where the second one has to go, stays there
            targets = self._of_types((self.goal.receptacle_type,))
            goal = max(targets, key=lambda name: memory.count(wanted, name), default="")
            found = [each for each in found if each.receptacle != goal]
        if not found:
            return self._search(wanted)
        best = min(found, key=lambda each: self._steps_to(each.receptacle) + 2 * bool(self._treatment(each.thing)))
        return Subgoal("take", wanted, best.receptacle, best.thing)

    def _look(self) -> Subgoal:
        lamp_type = self.goal.toggle_type
        here = [command for command in self._commands if command.startswith(f"use {lamp_type} ")]
        if here:
            return Subgoal("look", lamp_type, "", min(here).removeprefix("use "))
        found = self.memory.found(lamp_type)
        if not found:
            return self._search(lamp_type)
        best = min(found, key=lambda each: self._steps_to(each.receptacle))
        return Subgoal("look", lamp_type, best.receptacle, best.thing)

    def _search(self, wanted: str) -> Subgoal:
        """Look where the chance to find the type is greatest for the steps it takes."""
        memory = self.memory
        unseen = [name for name in memory.receptacles if name not in memory.seen]
        if not unseen:  # it must be somewhere: look everywhere again
            return Subgoal("find", wanted, next(iter(memory.seen)))
        # Its contents may be in sight already, and to look again takes a step too.
        steps = {name: max(1, self._steps_to(name)) for name in unseen}
        return Subgoal("find", wanted, max(unseen, key=lambda name: self._chance(wanted, name) / steps[name]))

    def _chance(self, wanted: str, receptacle: str) -> float:
        chance = self._shares[wanted].get(receptacle, 0.0)
        lamp = self.goal.toggle_type
        if lamp and wanted != lamp and not self.memory.found(lamp):
            chance += _LAMP_SHARE * self._shares[lamp][receptacle]
        return chance

    def _drop(self, held: str) -> Subgoal:
        """Put down what is in the way, if possible where the next thing is done."""
        fitting = [name for name in self.memory.receptacles if name not in self._unfit]
        next_place = self._fetch().receptacle

        def steps(name: str) -> float:
            saved = self._steps_to(name) if name == next_place else 0
            if self._put(held, name) is not None:
                return -1
            unusual = self._places.weight(type_of(held), type_of(name)) == 0
            # It was not put down there before: it may not fit.
            passed = name in self.memory.carried_past
            return self._steps_to(name) - saved + _UNUSUAL * (unusual + passed)

        return Subgoal("drop", type_of(held), min(fitting, key=steps, default=""), held)

    # How it is done.

    def _towards(self, subgoal: Subgoal) -> str:
        """Return the command that serves a subgoal; it may not be admissible."""
        kind, _, place, thing = subgoal
        if place and place not in self._here:
            return f"go to {place}"
        if kind == "look":
            return f"use {thing}"
        if kind in _APPLIANCES:
            return f"{kind} {thing} with {place}"
        if (command := f"open {place}") in self._commands:
            return command
        if kind == "find":
            return f"examine {place}"
        if kind == "take":
            return f"take {thing} from {place}"
        return self._put(thing, place) or ""

    def _give_up(self, subgoal: Subgoal) -> None:
        """Record that a subgoal is impossible, so that the next one is another."""
        kind, _, place, thing = subgoal
        if kind == "find":
            self.memory.seen[place] = None
        elif kind in ("take", "look"):
            self.memory.forget(thing, place)
        elif kind in ("drop", "place"):
            self._unfit.add(place)

    def _put(self, thing: str, place: str) -> str | None:
        """Return the admissible command, of either grammar, that puts a thing there; None if there is none."""
        commands = (grammar.put.format(thing, place) for grammar in BY_NAME.values())
        return next((command for command in commands if command in self._commands), None)

    # What is where.

    def _of_types(self, types: tuple[str, ...]) -> list[str]:
        return [name for name, kind in self._kinds.items() if kind in types]

    def _nearest(self, places: list[str]) -> str:
        return min(places, key=self._steps_to, default="")

    def _steps_to(self, place: str) -> int:
        """Return the steps until things can be taken from a receptacle, or put there."""
        memory = self.memory
        door = place in memory.closed or (
            place not in memory.seen and place not in memory.opened and type_of(place) in _WITH_DOORS
        )
        return (place not in self._here) + door

    def _treatment(self, thing: str) -> Kind | None:
        """Return the treatment that an object still needs before it is brought."""
        treatment = TREATMENTS.get(self.goal.task_type)
        return None if treatment in self.memory.states.get(thing, ()) else treatment


class ExpertAgent:
    """The expert as an agent for evaluation.

    It rebuilds its memory from the path at each step, so that episodes can be played in any order. It reads the goal
    from the task's sentence, so it does not play games whose sentences people wrote.
    """

    def __call__(self, view: AgentInput) -> str:
        try:
            expert = Expert(view.task)
        except UsageError as error:
            if TASK_PREFIX in view.task:
                raise UsageError(f"{error}; the expert agent plays without human_goals") from None
            raise UsageError("this agent does household tasks: give it an ALFWorld environment") from None
        for step in view.path:
            expert.observe(step.action, step.feedback)
        return expert.choose(view.observation, view.admissible_commands)
