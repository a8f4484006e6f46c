"""The environment DangerousTaxi: Gymnasium's Taxi as texts."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from natlang_envs.dangerous_taxi.causes import why
from natlang_envs.dangerous_taxi.city import CLASSIC, ILLEGAL, PICK_UP, City, load_city
from natlang_envs.dangerous_taxi.render import render_ansi, render_rgb
from natlang_envs.dangerous_taxi.tasks import FAMILY, MapKind, TaxiTasks, parse_task_id
from natlang_envs.dangerous_taxi.words import (
    COMMAND_INDEX,
    COMMANDS,
    DONE,
    MAX_OBSERVATION,
    REFUSED,
    TASKS,
    descriptions,
    unknown_command,
)
from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.errors import require_choice
from natlang_envs.tasks import Split
from natlang_envs.why import Feedback, Why

Stage = Literal["pickup", "dropoff", "delivery"]

STEP_REWARD = -1.0
ILLEGAL_REWARD = -10.0
GOAL_REWARD = 20.0

REFUSALS = tuple(Outcome(answer, ILLEGAL_REWARD, terminated=True) for answer in REFUSED)


def outcomes(stage: Stage) -> tuple[Outcome, ...]:
    """Return the outcomes of the six commands in a stage of the curriculum, when they are legal."""
    moves = tuple(Outcome(answer, STEP_REWARD) for answer in DONE[:PICK_UP])
    reward, ends = STEP_REWARD if stage == "delivery" else GOAL_REWARD, stage == "pickup"
    pick_up = Outcome(DONE[PICK_UP], reward, terminated=ends, success=ends)
    return (*moves, pick_up, Outcome(DONE[-1], GOAL_REWARD, terminated=True, success=True))


class DangerousTaxiEnv(NatLangEnv):
    """Drive a taxi by words; one illegal command ends the game.

    ## Description
    Gymnasium's Taxi (Dietterich, 2000), described in words and made dangerous as in section 5 of the Reflect-RL paper:
    the first command that Taxi would punish or ignore ends the game. Nothing can be corrected, so the player has to
    read the map before every move.

    ## Observation Space
    `UnicodeText(2000)`: the size of the grid, the four landmarks, every wall, the taxi, the passenger and the
    destination. No two states share a text. After termination, the answer to the last command is the first line.

    ## Action Space
    `CommandText`: `move south`, `move north`, `move east`, `move west`, `pick up passenger`, `drop off passenger`. All
    six are always admissible, in this order; to know the safe ones is the task.

    ## Rewards
    - -1 a step, or in its place:
    - -10 for an illegal command: a move into a wall or off the map, a pickup where nobody waits, a drop-off elsewhere
      than at the destination or with an empty taxi, and any other text;
    - +20 for the pickup (stages `pickup` and `dropoff`) and +20 for the delivery.

    ## Starting State
    A task `city/row.column/from-to`, sampled from the split. The classic map has 300 starts (25 cells, 4 places for the
    passenger, 3 destinations). On generated maps a city is sampled, then a start whose shortest plan fits the horizon.

    ## Episode End
    Termination: the passenger got in (stage `pickup`), was delivered, or the command was illegal. Truncation: after
    `horizon` steps.

    ## Information
    As of every `NatLangEnv`.

    ## Arguments
    - `stage`: `"pickup"` ends with the pickup, `"dropoff"` pays the pickup and the delivery, `"delivery"` the delivery
      only. The ids set it.
    - `map`: `"classic"` (Gymnasium's) or `"generated"` (5 to 9 rows and columns; the city's number decides walls and
      landmarks). A held-out start on the classic map still crosses trained states; only unseen cities test
      generalisation.
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`, by start (classic) or by city (generated).
    - `horizon` (15 for the pickup, else 30), `explain`, `feedback`: as of every `NatLangEnv`.
    - `render_mode`: `"ansi"`, `"rgb_array"` or None.

    ## Version History
    - v0: initial version.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # pyright: ignore[reportIncompatibleVariableOverride]
    family = FAMILY
    reward_scale = GOAL_REWARD

    def __init__(
        self,
        stage: Stage = "delivery",
        map: MapKind = "classic",
        split: Split = "all",
        horizon: int = 30,
        render_mode: str | None = None,
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        require_choice("stage", stage, TASKS)
        super().__init__(
            tasks=TaxiTasks(map, split),
            horizon=horizon,
            render_mode=render_mode,
            max_observation=MAX_OBSERVATION,
            max_commands=len(COMMANDS),
            fallback_commands=COMMANDS,
            explain=explain,
            feedback=feedback,
        )
        self.stage: Stage = stage
        self._outcomes = outcomes(stage)
        self.enter(load_city(CLASSIC), 0)

    @property
    def task(self) -> str:
        return TASKS[self.stage]

    def enter(self, city: City, state: int) -> None:
        """Go to a state of a city; what a player has done so far stays."""
        self.city = city
        self.state = state
        self._texts = descriptions(city)
        self._transitions = city.transitions

    def _begin(self, task_id: str) -> str:
        self.enter(*parse_task_id(task_id))
        return self._texts[self.state]

    def _act(self, command: str) -> Outcome:
        index = COMMAND_INDEX.get(command)
        if index is None:
            return Outcome(unknown_command(command), ILLEGAL_REWARD, terminated=True)
        state = self._transitions[self.state][index]
        if state == ILLEGAL:
            return REFUSALS[index]
        self.state = state
        return self._outcomes[index]

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        return why(self.city, self.state, command) if outcome.terminated and not outcome.success else None

    def _observe(self, outcome: Outcome) -> str:
        text = self._texts[self.state]
        return f"{outcome.feedback}\n{text}" if outcome.terminated else text

    def _admissible_commands(self) -> tuple[str, ...]:
        return COMMANDS

    def safe_commands(self) -> tuple[str, ...]:
        after = zip(COMMANDS, self._transitions[self.state], strict=True)
        return tuple(command for command, state in after if state != ILLEGAL)

    def oracle(self) -> list[str]:
        """Return the shortest plan to this stage's goal, by distances over the whole state space."""
        plan: list[str] = []
        if self._ended:
            return plan
        distance = self.city.to_pickup if self.stage == "pickup" else self.city.to_delivery
        state = self.state
        for left in range(distance[state] - 1, 0, -1):
            after = zip(COMMANDS, self._transitions[state], strict=True)
            command, state = next(each for each in after if each[1] != ILLEGAL and distance[each[1]] == left)
            plan.append(command)
        return [*plan, COMMANDS[PICK_UP if self.stage == "pickup" else -1]]

    def _get_state(self) -> tuple[Any, ...]:
        return (self.state,)

    def _set_state(self, state: tuple[Any, ...]) -> None:
        (self.state,) = state

    def render(self) -> str | NDArray[np.uint8] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the city as text or as a uint8 picture of shape (height, width, 3), by `render_mode`."""
        if self.render_mode == "ansi":
            return render_ansi(self.city, self.state)
        return render_rgb(self.city, self.state) if self.render_mode == "rgb_array" else None
