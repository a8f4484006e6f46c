"""The environment ALFWorld: household tasks in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from natlang_envs.alfworld.causes import why
from natlang_envs.alfworld.difficulty import Difficulty
from natlang_envs.alfworld.engine.goals import TASK_TYPES, Goal
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS, room_and_task
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.generated_tasks import Goals
from natlang_envs.alfworld.games.size_limits import MAX_COMMANDS, MAX_OBSERVATION
from natlang_envs.alfworld.games.splits import AlfredSplit
from natlang_envs.alfworld.plans import reference
from natlang_envs.alfworld.tasks import FAMILY, Source, make_tasks
from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.errors import require_choice
from natlang_envs.why import Feedback, Why

if TYPE_CHECKING:
    from natlang_envs.alfworld.textworld.backend import TextWorldWorld

Backend = Literal["native", "textworld"]
AnyWorld: TypeAlias = "World | TextWorldWorld"


class ALFWorldEnv(NatLangEnv):
    """Do a household task in a room described in words.

    ## Description
    ALFWorld (Shridhar et al., 2021), as in section 5 and appendix C.2 of the Reflect-RL paper: find things, clean, heat
    or cool them, and bring them somewhere, or look at them under a lamp. An engine of our own plays exactly as
    TextWorld with the alfworld package does, without either and without a download.

    ## Observation Space
    `UnicodeText`: the text of the engine alone. The first observation lists the receptacles of the room and states the
    task. Each later one is the answer to the last command, `Nothing happens.` to what it does not understand.
    `natlang_envs.prompt` composes a prompt with the room, the task and the previous path.

    ## Action Space
    `CommandText`: what TextWorld lists as admissible, sorted as TextWorld sorts it. A game that could list more than
    128 commands is refused.

    ## Rewards
    1 when the task is done, else 0. `natlang_envs.alfworld.subgoals.SubgoalReward` pays for subgoals.

    ## Starting State
    The middle of the room of a task sampled from the split. Its id is
    `generated/seen|unseen/TASK_TYPE/FLOOR_PLAN/NUMBER`, `realistic/TASK_TYPE/GOAL/FLOOR_PLAN/NUMBER`,
    `mixed/TASK_TYPE/FLOOR_PLAN/NUMBER`, `official/SPLIT/TASK/TRIAL`, `folder/` and a path in the folder of games, or,
    for your own game, `own/` and a number that depends on its content.

    ## Episode End
    Termination: the task is done. Truncation: after `horizon` steps.

    ## Information
    As of every `NatLangEnv`. `task` is the room and the task's sentence, which only the first observation shows.

    ## Arguments
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`. Train and validation have the same rooms and other games.
      Test has four rooms of its own: floor plans 10, 219, 308 and 424. `source="official"` also knows `"valid_train"`,
      and the package's names: `"valid_seen"` or `"eval_in_distribution"` for validation, `"valid_unseen"` or
      `"eval_out_of_distribution"` for test.
    - `task_types`: a list of `"pick_and_place_simple"`, `"look_at_obj_in_light"`, `"pick_clean_then_place_in_recep"`,
      `"pick_heat_then_place_in_recep"`, `"pick_cool_then_place_in_recep"`, `"pick_two_obj_and_place"`, or of their
      numbers 1 to 6 in this order, as in the alfworld package; None for all.
    - `goal`: only games for this object and this receptacle or lamp, for example `"Tomato-Microwave"`.
    - `source`: `"generated"`, `"realistic"` and `"mixed"` need no download. `"realistic"` games have what official
      games have, and the split `"validation_unseen"`. `"mixed"` is for training: each game has a room of its own.
      `"official"` reads the games that `alfworld-download` put into `$ALFWORLD_DATA`, and `"folder"` those of `folder`.
    - `grammar`: `"json_2.1.1"`, the words of the paper (`put tomato 1 in/on microwave 1`); `"0.4.2"`, those of that
      alfworld package (`move tomato 1 to microwave 1`); `"json_2.1.2"`, what its `alfworld-download` fetches; or
      `"0.3.5"`. None follows the game's file, for generated games `"json_2.1.1"`. Results in two grammars do not
      compare.
    - `folder`: with `source="folder"`, a folder of `game.tw-pddl` files as `alfworld-generate` writes them.
    - `human_goals`: asks in a sentence that a person wrote, from the game's `traj_data.json`; the task id decides
      which. Only for official games and those of a folder.
    - `goals`: with `source="realistic"`: `"official"`, the pairs of an object and a receptacle that the official
      training games ask for; `"new"`, all other pairs that can be done; or `"all"`.
    - `difficulty`: only games in these ranges, such as `{"distractors": (0, 20), "search_depth": (1, 3), "plan_length":
      (1, 8)}`: other things within reach, receptacles that a search opens, steps of the reference plan.
    - `game`: the path of one `game.tw-pddl`, which is then the only task.
    - `backend`: `"native"`, or `"textworld"`, which plays the same games with the real packages (extra `alfworld`).
    - `horizon` (50), `explain`, `feedback` (an ablation), `render_mode` (`"ansi"` or None): as of every `NatLangEnv`.

    ## Version History
    - v0: initial version.
    """

    family = FAMILY

    def __init__(
        self,
        split: AlfredSplit = "all",
        task_types: Sequence[str | int] | None = None,
        goal: str | None = None,
        source: Source = "generated",
        grammar: str | None = None,
        game: str | None = None,
        backend: Backend = "native",
        horizon: int = 50,
        render_mode: str | None = None,
        folder: str | None = None,
        human_goals: bool = False,
        goals: Goals = "official",
        difficulty: Difficulty | None = None,
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        self._tasks = make_tasks(split, task_types, goal, source, grammar, game, folder, human_goals, goals, difficulty)
        require_choice("backend", backend, get_args(Backend))
        self._backend: Backend = backend
        super().__init__(
            tasks=self._tasks,
            horizon=horizon,
            render_mode=render_mode,
            max_observation=MAX_OBSERVATION,
            max_commands=MAX_COMMANDS,
            fallback_commands=("inventory", "look"),  # every game understands them
            explain=explain,
            feedback=feedback,
        )
        self._world: AnyWorld
        self._task = ""

    @classmethod
    def task_kinds(cls, task_id: str, **arguments: Any) -> dict[str, str]:
        """Return the type of a task, of those whose id begins with the names of a source and a split and their type."""
        name = "".join(task_id.split("/")[2:3]).partition("-")[0]
        return {"Task type": name} if name in TASK_TYPES else {}

    @property
    def task(self) -> str:
        """The room and what is asked."""
        return self._task

    @property
    def goal(self) -> Goal:
        """The goal in the rules of the game, whatever its sentence."""
        return self._tasks.game(self._task_id or "").goal

    @property
    def world(self) -> AnyWorld:
        """The state of the game (privileged knowledge)."""
        return self._world

    def _begin(self, task_id: str) -> str:
        if self._backend == "native":
            self._world = World(self._tasks.game(task_id))
        else:
            # Imported here: nothing else in the package needs TextWorld.
            from natlang_envs.alfworld.textworld.backend import TextWorldWorld

            self._world = TextWorldWorld(self._tasks.text(task_id))
        intro = self._world.intro()
        self._task = room_and_task(intro)
        return intro

    def _act(self, command: str) -> Outcome:
        feedback = self._world.step(command)
        if self._world.won:
            return Outcome(feedback, 1.0, True, True)
        # In half the time of its constructor.
        return tuple.__new__(Outcome, (feedback, 0.0, False, False))  # pyright: ignore[reportUnknownMemberType]

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        if outcome.feedback != NOTHING_HAPPENS:
            return None
        return why(self._native_world(), command)

    def _observe(self, outcome: Outcome) -> str:
        return outcome.feedback

    def _admissible_commands(self) -> tuple[str, ...]:
        return self._world.commands

    def reference(self) -> list[str]:
        """Return a good plan from here, made with full knowledge; it does not claim to be the shortest."""
        return [] if self._ended else reference(self._native_world())

    def _native_world(self) -> World:
        """Return a world of our own engine in the same state, for plans and causes."""
        if isinstance(self._world, World):
            return self._world
        world = World(self._tasks.game(self._task_id or ""))
        for command in self._world.state():  # a state of TextWorld is the commands that led to it
            world.step(command)
        return world

    def _get_state(self) -> tuple[Any, ...]:
        return self._world.state()

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self._world.set_state(state)
