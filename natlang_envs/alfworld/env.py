"""The environment ALFWorld: household tasks in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from natlang_envs.alfworld.backends import FIRST_COMMANDS, AnyWorld, Backend, make_world, native_twin, room_and_task
from natlang_envs.alfworld.causes import why
from natlang_envs.alfworld.difficulty import Difficulty
from natlang_envs.alfworld.engine.goals import TASK_TYPES, Goal
from natlang_envs.alfworld.engine.grammar import NOTHING_HAPPENS
from natlang_envs.alfworld.games.generated_tasks import Goals
from natlang_envs.alfworld.games.size_limits import MAX_COMMANDS, MAX_OBSERVATION
from natlang_envs.alfworld.games.splits import AlfredSplit
from natlang_envs.alfworld.plans import reference
from natlang_envs.alfworld.tasks import FAMILY, Source, make_tasks
from natlang_envs.env import NatLangEnv, Outcome
from natlang_envs.errors import require_choice
from natlang_envs.why import Feedback, Why


class ALFWorldEnv(NatLangEnv):
    """Do a household task in a room described in words.

    ## Description
    ALFWorld (Shridhar et al., 2021), as in section 5 and appendix C.2 of the Reflect-RL paper: find things, clean,
    heat or cool them, and bring them somewhere, or look at them under a lamp. An engine of our own plays the games
    exactly as TextWorld with the alfworld package's wrappers does; it needs neither package, and no download.

    ## Observation Space
    `UnicodeText`: the engine's own text and nothing else. The first one lists the receptacles of the room and states
    the task; every other one is the answer to the last command alone, `Nothing happens.` to what is not understood. A
    prompt with the room, the task and the previous path is composed by `natlang_envs.prompt`.

    ## Action Space
    `CommandText`: what TextWorld lists as admissible, sorted as TextWorld sorts it. There are never more than 128; a
    game that could list more is refused.

    ## Rewards
    1 when the task is done, 0 for every other step. `natlang_envs.alfworld.subgoals.SubgoalReward` pays parts of it on
    the way.

    ## Starting State
    The middle of the room of a task sampled from the split: `generated/seen|unseen/TASK_TYPE/FLOOR_PLAN/NUMBER`,
    `realistic/TASK_TYPE/GOAL/FLOOR_PLAN/NUMBER`, `mixed/TASK_TYPE/FLOOR_PLAN/NUMBER` or
    `official/SPLIT/TASK/TRIAL`, or for your own game `own/` and a number that depends on its content alone, and for a
    folder of games `folder/` and the path in it.

    ## Episode End
    Termination: the task is done. Truncation: after `horizon` steps.

    ## Information
    `admissible_commands`, `success`, `task_id`, `task`, `feedback`: see `NatLangEnv`. `task` is the room and the task's
    sentence from the first observation, because no later one repeats them.

    ## Arguments
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`. Train and validation are in the same rooms, with other
      games; test is in four rooms of its own: floor plans 10, 219, 308 and 424. With `source="official"` alone,
      validation is also called `"valid_seen"` or `"eval_in_distribution"`, test `"valid_unseen"` or
      `"eval_out_of_distribution"`, and there is `"valid_train"`.
    - `task_types`: a list of `"pick_and_place_simple"`, `"look_at_obj_in_light"`, `"pick_clean_then_place_in_recep"`,
      `"pick_heat_then_place_in_recep"`, `"pick_cool_then_place_in_recep"`, `"pick_two_obj_and_place"`, or of their
      numbers from 1 to 6 in this order, as the alfworld package has them; None for all.
    - `goal`: only games for this object and this receptacle or lamp, for example `"Tomato-Microwave"`.
    - `source`: `"generated"` and `"mixed"` need no download; `"official"` reads the games that `alfworld-download` put
      into `$ALFWORLD_DATA`. `"realistic"`, without a download too, has what official games have: things in two
      receptacles or in each other, cold ones, and rooms with habits of their own. It alone has the split
      `"validation_unseen"`: eight rooms that its train and validation do not have.
      `"mixed"` is for training: every game has a room of its own, mixed from the seen ones.
    - `grammar`: `"json_2.1.1"`, the words of the paper's time (`put tomato 1 in/on microwave 1`); `"0.4.2"`, those of
      the alfworld package of that version (`move tomato 1 to microwave 1`); `"json_2.1.2"`, what its
      `alfworld-download` fetches; or `"0.3.5"`. None is what the game's file says, for generated games `"json_2.1.1"`.
      Results in one do not compare with results in another.
    - `folder`: with `source="folder"`, where games lie, each in a `game.tw-pddl` as `alfworld-generate` writes it.
    - `human_goals`: ask in a sentence that a person wrote for the game, as its `traj_data.json` has it; only for
      official games and those of a folder. The task id decides which sentence.
    - `goals`: with `source="realistic"`, `"official"`: pairs of an object and a receptacle that the official training
      games ask for; `"new"`: all others that can be done; or `"all"`.
    - `difficulty`: only games in these ranges, such as `{"distractors": (0, 20), "search_depth": (1, 3), "plan_length":
      (1, 8)}`: things beside what is sought, receptacles that a search looks into, steps of the reference plan.
    - `game`: the path of a `game.tw-pddl` of your own, which is then the only task.
    - `backend`: `"native"`, or `"textworld"`, which plays the same games with the real packages (extra `alfworld`).
    - `explain`: True for `info["why"]`, why nothing happened; `feedback`: `"explained"` shows it to the
      player, too, which is an ablation.
    - `horizon`: 50 steps.
    - `render_mode`: `"ansi"` or None.

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
            fallback_commands=FIRST_COMMANDS,
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
        """What wins the game, as its rules state it, whatever words its sentence has."""
        return self._tasks.game(self._task_id or "").goal

    @property
    def world(self) -> AnyWorld:
        """The state of the game (privileged knowledge)."""
        return self._world

    def _begin(self, task_id: str) -> str:
        self._world = make_world(self._backend, self._tasks, task_id)
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
        return why(native_twin(self._world, self._tasks, self._task_id or ""), command)

    def _observe(self, outcome: Outcome) -> str:
        return outcome.feedback

    def _admissible_commands(self) -> tuple[str, ...]:
        return self._world.commands

    def reference(self) -> list[str]:
        """Return a good plan from here, made with full knowledge; it does not claim to be the shortest."""
        return [] if self._ended else reference(native_twin(self._world, self._tasks, self._task_id or ""))

    def _get_state(self) -> tuple[Any, ...]:
        return self._world.state()

    def _set_state(self, state: tuple[Any, ...]) -> None:
        self._world.set_state(state)
