"""`NatLangEnv`, the base class of every environment."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import TimeLimit

from natlang_envs.errors import (
    MADE_WITH,
    NoPlanError,
    UsageError,
    check_arguments,
    check_count,
    check_hooks,
    check_options,
    check_task_id,
)
from natlang_envs.spaces import CommandText, UnicodeText, escape_surrogates
from natlang_envs.specs import with_horizon
from natlang_envs.tasks import Tasks
from natlang_envs.why import LONGEST, Feedback, Why, check_explaining, why_of

if TYPE_CHECKING:
    from natlang_envs.answers import FreeCommands

MAX_COMMAND_LENGTH = 4_096


_TEXTS = {str}


def _wrong(env: object, hook: str, given: object, wanted: str) -> UsageError:
    return UsageError(f"{type(env).__name__}.{hook} gave {given!r:.100}: give {wanted}")


class Outcome(NamedTuple):
    """The result of one command: feedback, reward, end and success."""

    feedback: str
    reward: float
    terminated: bool = False
    success: bool = False


class Snapshot(NamedTuple):
    """A state without random numbers: immutable, picklable, JSON-serialisable.

    `state` holds JSON values only. A snapshot that went through JSON (and so became a list) restores just as well.
    """

    family: str
    task_id: str
    steps: int
    ended: bool
    success: bool
    observation: str
    feedback: str
    state: tuple[Any, ...]
    why: Why | None = None


def strip_unless_listed(command: str, listed: Sequence[str]) -> str:
    """Strip a command as `str.strip` does, unless it is listed with white space."""
    stripped = command.strip()
    return command if len(stripped) == len(command) or command in listed else stripped


class NatLangEnv(gymnasium.Env[str, str]):
    """A Gymnasium environment whose observations and actions are plain strings.

    A subclass names its `family`, describes itself in a docstring with Gymnasium's headings, and writes the game once,
    in the hooks below: begin, act, observe, commands, state, task. This class and the default vector form
    (`natlang_envs.episodes`) are both made of these hooks. They keep the promises: actions are checked and cleaned,
    steps are counted against the horizon, infos are complete, tasks are addressable, states are restorable.

    Every info holds `admissible_commands` (tuple of str, in a documented order, at the last step too), `success`
    (bool), `task_id`, `task` (what is asked, in words) and `feedback` (what the last action showed, without the parts
    of the observation that only restate the situation; empty after reset). With `explain=True` it also holds `why`: a
    `natlang_envs.why.Why` where the last command did nothing, or ended the game as lost, and else None.

    Args:
        tasks: The tasks that `reset` samples from and accepts.
        horizon: The largest number of steps; counted here, so it is part of a snapshot.
        render_mode: One of `metadata["render_modes"]` or None.
        max_observation: The largest number of characters of an observation.
        max_commands: The largest number of admissible commands at any step.
        fallback_commands: What the action space samples from before the first reset.
        explain: Whether infos say why a command did nothing; only where the environment has `_explain`.
        feedback: `"explained"` adds the reason to the observation and to `info["feedback"]`.

    Raises:
        UsageError: The horizon or the render mode is not one the environment has, or `explain` or `feedback` is none.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # pyright: ignore[reportIncompatibleVariableOverride]
    family: str = ""
    reward_scale: float = 1.0  # the largest size of a reward; `wrappers.ScaleReward` divides by it
    every_task_can_be_won: bool = True  # otherwise the oracle's plan for some ends without success
    _spec: EnvSpec | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse an unknown argument by name, and a class without its hooks, which `gymnasium.make` would let pass."""
        check_arguments(cls, kwargs, MADE_WITH)
        check_hooks(cls, "NatLangEnv")
        return super().__new__(cls)

    def __init__(
        self,
        *,
        tasks: Tasks,
        horizon: int,
        render_mode: str | None,
        max_observation: int,
        max_commands: int,
        fallback_commands: tuple[str, ...],
        explain: bool = False,
        feedback: Feedback = "plain",
    ) -> None:
        self.gives_reason, self._shows_reason = check_explaining(explain, feedback)
        if self.gives_reason and type(self)._explain is NatLangEnv._explain:
            raise UsageError(f"{type(self).__name__} does not say why: leave out explain and feedback")
        if render_mode not in (None, *(modes := self.metadata["render_modes"])):
            raise UsageError(f"unknown render_mode {render_mode!r}: choose one of {', '.join([*modes, 'None'])}")
        self.tasks = tasks
        self.horizon = check_count("horizon", horizon)
        self.render_mode = render_mode
        self.max_commands = max_commands
        self.observation_space: UnicodeText = UnicodeText(max_observation + LONGEST * self._shows_reason)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.action_space: CommandText = CommandText(MAX_COMMAND_LENGTH, fallback_commands)  # pyright: ignore[reportIncompatibleVariableOverride]
        self._task_id: str | None = None
        self._steps = 0
        self._ended = True
        self._success = False
        self._observation = ""
        self._feedback = ""
        self._why: Why | None = None
        self.__checked: tuple[str, ...] | None = None
        self._limits: tuple[TimeLimit[Any, Any], ...] = ()

    # What a subclass writes. One object plays one episode at a time, and the default vector form plays N episodes with
    # N shallow copies: a hook keeps what belongs to the episode in attributes that it assigns, never in shared lists.

    @abstractmethod
    def _begin(self, task_id: str) -> str:
        """Go to the start of a task and return the first observation."""

    @abstractmethod
    def _act(self, command: str) -> Outcome:
        """Apply a command; text that is no command gets an answer in words, never an exception.

        `steps_left` is already the number of steps after this one.
        """

    def _explain(self, command: str, outcome: Outcome) -> Why | None:
        """Return why a command did nothing, or ended the game as lost; it may be asked right after the command alone.

        Only environments with this hook take the arguments `explain` and `feedback`.
        """
        raise NotImplementedError

    @abstractmethod
    def _observe(self, outcome: Outcome) -> str:
        """Return the observation after `outcome`."""

    @abstractmethod
    def _admissible_commands(self) -> tuple[str, ...]:
        """Return the commands that are understood now, in the documented order."""

    @abstractmethod
    def _get_state(self) -> tuple[Any, ...]:
        """Return the state without the task, as JSON values, for `_set_state`."""

    @abstractmethod
    def _set_state(self, state: tuple[Any, ...]) -> None:
        """Return to a state of the current task."""

    @property
    @abstractmethod
    def task(self) -> str:
        """The task in words."""

    def oracle(self) -> list[str]:
        """Return the exact shortest plan from here, found with full knowledge; empty once the episode ended.

        Raises:
            NotImplementedError: The environment has none; see `reference`.
        """
        raise NoPlanError(f"{type(self).__name__} has no exact oracle: use reference()")

    def reference(self) -> list[str]:
        """Return a good plan from here, by default the oracle's. Raises `NotImplementedError` where there is none."""
        try:
            return self.oracle()
        except NotImplementedError:
            raise NoPlanError(f"{type(self).__name__} has no plan: write its oracle() or reference()") from None

    def safe_commands(self) -> tuple[str, ...]:
        """Return the admissible commands that do not end the game as illegal (privileged knowledge)."""
        return self._admissible_commands()

    @property
    def free_commands(self) -> FreeCommands | None:
        """The grammar of commands that are understood but not listed; None where there are none."""
        return None

    def recorded_actions(self) -> list[str] | None:
        """Return the actions that a recording keeps of a finished episode.

        Played from the task's start they end it alike. None, the default: the player's own actions do that.
        """
        return None

    @classmethod
    def task_kinds(cls, task_id: str, **arguments: Any) -> dict[str, str]:
        """Return the kinds of a task, for scores by kind, such as `{"Depth": "2"}`; none by default.

        Args:
            task_id: The task. Needs neither repositories nor games.
            arguments: Those that the environment is made with.
        """
        del task_id, arguments
        return {}

    def render(self) -> Any:
        """Return the situation as a player would be shown it, as text in the mode `"ansi"`; otherwise None."""
        if self.render_mode != "ansi" or self._task_id is None:
            return None
        listed = "; ".join(self._admissible_commands())
        return f"{self.task}\n\n{self._observation}\n\n{self.steps_left} steps are left. Commands: {listed}"

    # What a user calls.

    @property
    def spec(self) -> EnvSpec | None:
        """The spec that `gymnasium.make` used; `max_episode_steps` is the horizon."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._spec = None if spec is None else with_horizon(spec, self.horizon)

    @property
    def steps_left(self) -> int:
        """The number of steps until the horizon."""
        return self.horizon - self._steps

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seeds `np_random`, as in Gymnasium.
            options: `{"task_id": …}` begins that task; without it one is sampled. There are no other options.

        Returns:
            The first observation and the info.

        Raises:
            UsageError: An option is unknown, or the task does not exist, or it belongs to another split.
        """
        task_id = check_options(options, ("task_id",), type(self)).get("task_id")
        if task_id is not None:
            check_task_id(task_id)
        super().reset(seed=seed)
        if task_id is None:
            task_id = self.tasks.draw(self.np_random.random)
        else:
            self.tasks.check(task_id)
        self._task_id = task_id
        self._steps = 0
        self._ended = False
        self._success = False
        self._feedback, self._why = "", None
        self._observation = self._begin(task_id)
        if type(self._observation) is not str:
            raise _wrong(self, "_begin", self._observation, "a str")
        return self._observation, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Apply one command.

        Args:
            action: A command. White space around it is removed as `str.strip` does; any other text is answered in words
                by the environment's own rule.

        Returns:
            Observation, reward, terminated, truncated (at the horizon), info.

        Raises:
            TypeError: The action is not a string.
            ResetNeeded: The episode has not begun or has ended.
        """
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"an action is a str such as {self.action_space.commands[0]!r}, not {action!r}")
        if self._ended:
            why = "before the first reset" if self._task_id is None else "after the episode ended"
            raise ResetNeeded(f"step() was called {why}: call reset()")
        if action.strip() is not action:  # in no case does `strip_unless_listed` need this: it is for speed
            action = strip_unless_listed(action, self._admissible_commands())
        self._steps += 1
        command = action if action.isascii() else escape_surrogates(action)
        outcome = self._act(command)
        if self.gives_reason:
            outcome = self._with_why(command, outcome)
        try:
            self._feedback, reward, terminated, self._success = outcome
        except (TypeError, ValueError):
            raise _wrong(self, "_act", outcome, "Outcome(feedback, reward, terminated, success)") from None
        if type(reward) is not float and not isinstance(reward, Real):
            raise _wrong(self, "_act", reward, "a number as the reward")
        if type(self._feedback) is not str:
            raise _wrong(self, "_act", self._feedback, "a str as the feedback")
        truncated = not terminated and self._steps >= self.horizon
        self._ended = terminated or truncated
        self._observation = observation = self._observe(outcome)
        if type(observation) is not str:
            raise _wrong(self, "_observe", observation, "a str")
        return observation, reward, terminated, truncated, self._info()

    def _with_why(self, command: str, outcome: Outcome) -> Outcome:
        """Set `_why`, and return the outcome; with `feedback="explained"`, the reason is part of its feedback."""
        self._why = self._explain(command, outcome)
        if self._why is None or not self._shows_reason:
            return outcome
        reason = self._why.words if outcome.terminated else self._why.sentence
        return outcome._replace(feedback=f"{outcome.feedback} {reason}")

    def snapshot(self) -> Snapshot:
        """Return the present state; `restore` returns to it, also in another process.

        Raises:
            ResetNeeded: No episode has begun.
            UsageError: The hook `_get_state` gave no tuple.
        """
        if self._task_id is None:
            raise ResetNeeded("snapshot() was called before the first reset: call reset()")
        state = cast("Any", self._get_state())
        if not isinstance(state, tuple | list):
            raise UsageError(f"{type(self).__name__}._get_state gave {state!r:.100}: give a tuple of JSON values")
        return Snapshot(
            self.family,
            self._task_id,
            self._steps,
            self._ended,
            self._success,
            self._observation,
            self._feedback,
            tuple(cast("Sequence[Any]", state)),
            self._why,
        )

    def restore(self, snapshot: Snapshot | list[Any]) -> tuple[str, dict[str, Any]]:
        """Return to a snapshot; the random numbers go on from where they are.

        Args:
            snapshot: From `snapshot`, of any environment with the same id and arguments.

        Returns:
            The observation and the info as they were when the snapshot was taken.

        Raises:
            UsageError: This is no snapshot, or it is of another family of environments, or of another split's task.
        """
        parts: Any = snapshot  # `why` may be missing: it has a default
        try:
            saved = Snapshot(*parts)
        except TypeError:
            raise UsageError(f"a snapshot has {len(Snapshot._fields)} parts: take one with snapshot()") from None
        if saved.family != self.family:
            raise UsageError(f"this snapshot is of {saved.family!r}: restore it there, not in {self.family!r}")
        self.tasks.check(saved.task_id)
        self._task_id = saved.task_id
        self._begin(saved.task_id)
        self._set_state(tuple(saved.state))
        self._steps, self._ended, self._success = saved.steps, saved.ended, saved.success
        self._observation, self._feedback, self._why = saved.observation, saved.feedback, why_of(saved.why)
        for limit in self._limits:
            limit.set_wrapper_attr("_elapsed_steps", saved.steps)
        return self._observation, self._info()

    def count_with(self, limits: Iterable[TimeLimit[Any, Any]]) -> None:
        """Make `restore` set the step counts of these wrappers too; `unwrap` calls it."""
        self._limits = tuple(limits) or self._limits

    def _listed(self) -> tuple[str, ...]:
        """Return the admissible commands, of which a hook may give a list, and never more than were promised."""
        given = cast("Any", self._admissible_commands())
        if self.__checked is not None and given is self.__checked:  # for speed
            return self.__checked
        if not issubclass(type(given), (tuple, list)) or not {*map(type, given)} <= _TEXTS:
            raise _wrong(self, "_admissible_commands", given, "a tuple of str")
        commands: tuple[str, ...] = tuple(given)
        if len(commands) > self.max_commands:
            found = f"lists {len(commands)} commands, and its max_commands is {self.max_commands}"
            raise UsageError(f"{type(self).__name__} {found}: make it with as many as there may be")
        self.__checked = commands
        return commands

    def _info(self) -> dict[str, Any]:
        self.action_space.commands = commands = self._listed()
        info: dict[str, Any] = {
            "admissible_commands": commands,
            "success": self._success,
            "task_id": self._task_id,
            "task": self.task,
            "feedback": self._feedback,
        }
        if self.gives_reason:
            info["why"] = self._why
        return info


def unwrap(env: gymnasium.Env[Any, Any]) -> NatLangEnv:
    """Return the `NatLangEnv` inside wrappers; its `restore` also sets a `TimeLimit`'s count.

    Raises:
        UsageError: There is none.
    """
    inner = cast("object", env.unwrapped)
    if not isinstance(inner, NatLangEnv):
        raise UsageError(f"{env} is not an environment of natlang_envs")
    limits: list[TimeLimit[Any, Any]] = []
    while isinstance(env, gymnasium.Wrapper):
        limits += [env] if isinstance(env, TimeLimit) else []
        env = env.env
    inner.count_with(limits)
    return inner
