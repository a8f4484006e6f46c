"""A complete environment in one file: guess a hidden number. `docs/new_environment.md` explains it."""

from __future__ import annotations

from typing import Any, ClassVar

from natlang_envs import NatLangEnv, Registration, register
from natlang_envs.env import Outcome
from natlang_envs.tasks import Split, TaskList


class GuessNumberEnv(NatLangEnv):
    """Find a hidden number; after each guess you are told whether it is higher or lower.

    ## Description
    A number between 1 and `highest` is hidden. The first observation is the same for every number.

    ## Observation Space
    `UnicodeText`: the answer to the last guess, and how many guesses are left.

    ## Action Space
    `CommandText`: `guess 1` to `guess 20`, in this order.

    ## Rewards
    -1 for each guess, +10 for the right one.

    ## Starting State
    A task `up-to-20/NUMBER`, drawn from the split.

    ## Episode End
    Termination: the number was guessed. Truncation: after `horizon` guesses.

    ## Arguments
    - `highest`: 20.
    - `split`: `"train"`, `"validation"`, `"test"` or `"all"`, by number.
    - `horizon`: 6 guesses.
    - `render_mode`: None.

    ## Version History
    - v0: initial version.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    family = "guess-number"
    reward_scale = 10.0

    def __init__(
        self, highest: int = 20, split: Split = "all", horizon: int = 6, render_mode: str | None = None
    ) -> None:
        self._commands = tuple(f"guess {number}" for number in range(1, highest + 1))
        super().__init__(
            tasks=TaskList(self.family, [f"up-to-{highest}/{n}" for n in range(1, highest + 1)], split),
            horizon=horizon,
            render_mode=render_mode,
            max_observation=120,
            max_commands=highest,
            fallback_commands=self._commands,
        )

    @property
    def task(self) -> str:
        return f"Find the hidden number between 1 and {len(self._commands)}."

    def _begin(self, task_id: str) -> str:
        self._number = int(task_id.rpartition("/")[2])
        return f"{self.task} You have {self.horizon} guesses."

    def _act(self, command: str) -> Outcome:
        if command not in self._commands:
            return Outcome("That is no guess.", -1.0)
        guess = int(command.removeprefix("guess "))
        if guess == self._number:
            return Outcome(f"Yes, it is {guess}.", 10.0, terminated=True, success=True)
        return Outcome(f"It is {'higher' if self._number > guess else 'lower'} than {guess}.", -1.0)

    def _observe(self, outcome: Outcome) -> str:
        return f"{outcome.feedback} Guesses left: {self.steps_left}."

    def _admissible_commands(self) -> tuple[str, ...]:
        return self._commands

    def _get_state(self) -> tuple[Any, ...]:
        return ()  # the number is the task's, and the base class keeps steps and observation

    def _set_state(self, state: tuple[Any, ...]) -> None:
        pass

    def oracle(self) -> list[str]:
        return [] if self._ended else [f"guess {self._number}"]


register(Registration("Example/GuessNumber-v0", f"{__name__}:GuessNumberEnv", "Guess a hidden number."))
