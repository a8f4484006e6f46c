"""Agents: any callable from what a player sees to an action; and the built-in ones.

A function `def agent(given: AgentInput) -> str` is an agent, and so is `def agent(prompt: str) -> str`. An agent that
decides for many episodes at a time (a model that batches) has a method `act(inputs)` instead. `--agent` takes the name
of a built-in agent, `module:function`, or `name:argument` of the entry-point group `natlang_envs.agents`, whose
functions are called with the argument and return an agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from natlang_envs.answers import FreeCommands
from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, check_count, require_choice, require_type
from natlang_envs.evaluation.model_requests import Requests
from natlang_envs.installed import entry_points
from natlang_envs.make_env import importing_here
from natlang_envs.prompt import History, PathStep, state_prompt
from natlang_envs.registration import registration_of

ENTRY_POINTS = "natlang_envs.agents"


@dataclass(frozen=True)
class AgentInput:
    """What an agent sees before a step.

    Attributes:
        task: What is asked, in words.
        path: The steps so far.
        observation: The current observation.
        admissible_commands: The commands that are understood now.
        rng: Random numbers of this episode; an agent that samples from them alone can be evaluated again, exactly.
        env: The environment itself, for agents with `privileged = True` (oracles); None for all others.
        free: The grammar of commands that are understood but not listed; None where there are none.
        requests: What this episode has asked of a model, for agents that keep it there.
    """

    task: str
    path: tuple[PathStep, ...]
    observation: str
    admissible_commands: tuple[str, ...]
    rng: np.random.Generator
    env: NatLangEnv | None = None
    free: FreeCommands | None = None
    requests: Requests = field(default_factory=Requests, compare=False)

    def prompt(self, history: History = "full") -> str:
        """Return p(s)."""
        return state_prompt(self.task, self.path, self.observation, history=history)


@dataclass(frozen=True)
class Decision:
    """An action, the reflection before it, and the tokens of both."""

    action: str
    reflection: str | None = None
    tokens: int = 0

    def __post_init__(self) -> None:
        require_type(self.action, str, "no action: give the command, a str")
        if self.reflection is not None:
            require_type(self.reflection, str, "no reflection: give a str, or None")
        check_count("tokens", self.tokens, 0)


@runtime_checkable
class BatchAgent(Protocol):
    """An agent that decides for several episodes at a time."""

    def act(self, inputs: Sequence[AgentInput], /) -> Sequence[str | Decision]: ...


@runtime_checkable
class HasChances(Protocol):
    """An agent that can say how likely it was to choose each listed command; an audit then compares these."""

    def chances(self, given: AgentInput, reflection: str | None, /) -> Sequence[float]: ...


Agent = Callable[[AgentInput], str | Decision] | BatchAgent


def decide(agent: Agent, inputs: Sequence[AgentInput]) -> list[Decision]:
    answers = agent.act(inputs) if isinstance(agent, BatchAgent) else [agent(given) for given in inputs]
    if len(answers) != len(inputs):
        raise UsageError(f"the agent answered {len(inputs)} views with {len(answers)} decisions: answer each")
    decisions = [Decision(each) if isinstance(each, str) else each for each in answers]
    for each in decisions:
        if not isinstance(each, Decision):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"an agent answers with a str or a Decision, not {each!r:.100}")
    return decisions


def settings_of(agent: Agent) -> dict[str, str] | None:
    return getattr(agent, "model_settings", None)


def check_agent(agent: object) -> None:
    if isinstance(agent, type) or not (callable(agent) or isinstance(agent, BatchAgent)):
        remedy = "give a function of one AgentInput, an object with a method act(inputs), or load_agent(name)"
        raise UsageError(f"{agent!r:.100} is no agent: {remedy}")


def name_of(agent: Agent) -> str:
    kind: object = agent if hasattr(agent, "__qualname__") else type(agent)
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}"


def is_privileged(agent: Agent) -> bool:
    return bool(getattr(agent, "privileged", False))


def is_sampling(agent: Agent) -> bool:
    """Return whether an agent says that it samples, and so plays every run of a protocol."""
    return bool(getattr(agent, "sampling", False))


class RandomAgent:
    """Samples one of the admissible commands, uniformly."""

    sampling = True

    def __call__(self, given: AgentInput) -> str:
        commands = self._commands(given)
        return commands[int(given.rng.integers(len(commands)))]

    def _commands(self, given: AgentInput) -> tuple[str, ...]:
        return given.admissible_commands


class RandomLegalAgent(RandomAgent):
    """Samples among the commands that do not end the game as illegal, which the environment tells it."""

    privileged = True

    def _commands(self, given: AgentInput) -> tuple[str, ...]:
        return cast("NatLangEnv", given.env).safe_commands()


class OracleAgent:
    """Follows the environment's own plan, made with full knowledge: the upper bound, where the plan is exact."""

    privileged = True

    def __call__(self, given: AgentInput) -> str:
        return cast("NatLangEnv", given.env).reference()[0]


def _from(module: str, name: str) -> Callable[[], Agent]:
    """Return a factory of an agent that imports the environment's package when it is called."""
    return lambda: cast("Agent", getattr(import_module(module), name)())


# The first four play every environment. `reference` is the oracle by the name that is true where no plan is known to be
# exact. The others play the environments of one package and refuse others.
BUILT_IN: dict[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "random-legal": RandomLegalAgent,
    "oracle": OracleAgent,
    "reference": OracleAgent,
    "bm25": _from("natlang_envs.autoexplore.baselines", "Bm25Agent"),
    "depth-first": _from("natlang_envs.autoexplore.baselines", "DepthFirstAgent"),
    "first-hit": _from("natlang_envs.autoexplore.searching.agents", "FirstHitAgent"),
    "first-hit-reader": _from("natlang_envs.autoexplore.searching.agents", "FirstHitReaderAgent"),
    "best-line": _from("natlang_envs.autoexplore.answering.agents", "BestLineAgent"),
    "nothing": _from("natlang_envs.change.listed_edits.agents", "NothingAgent"),
    "random-edit": _from("natlang_envs.change.listed_edits.agents", "RandomEditAgent"),
    "spectrum": _from("natlang_envs.change.listed_edits.agents", "SpectrumAgent"),
    "expert": _from("natlang_envs.alfworld.expert", "ExpertAgent"),
}


def baseline_names(env_id: str) -> tuple[str, ...]:
    """Return the agents that the leaderboard plays on the boards of an environment."""
    known = registration_of(env_id)
    return known.baselines if known else ("random", "random-legal", "oracle")


def agent_names() -> list[str]:
    return [*BUILT_IN, *sorted({each.name for each in entry_points(group=ENTRY_POINTS)})]


def load_agent(name: str) -> Agent:
    """Return an agent by `name`, `name:argument` or `module:function`.

    Raises:
        UsageError: There is no such agent, or it refuses its argument.
    """
    return find_agent(name)[0]


def find_agent(name: str) -> tuple[Agent, str]:
    """Return an agent, and whether it is `built-in`, of an `entry point` or a `function` of a module."""
    require_type(name, str, "no agent's name: write name, name:argument or module:function")
    kind, _, argument = name.partition(":")
    if kind in BUILT_IN:
        if argument:
            raise UsageError(f"agent {kind!r} takes no argument: write --agent {kind}")
        return BUILT_IN[kind](), "built-in"
    found = {each.name: each for each in entry_points(group=ENTRY_POINTS)}
    if kind not in found and argument and not kind.endswith(".py") and all(map(str.isidentifier, kind.split("."))):
        return _of_module(kind, argument), "function"
    module = kind.removesuffix(".py")
    if kind not in found and Path(module.replace(".", "/") + ".py").is_file():
        raise UsageError(f"agent {name!r} names a file of this folder: write --agent {module}:{argument or 'FUNCTION'}")
    _check_example(kind)
    require_choice("agent", kind, agent_names())
    try:
        factory = cast("Callable[[str], Agent]", found[kind].load())
    except ImportError as error:
        remedy = "install what it needs, for example pip install 'natlang-envs[agent]'"
        raise UsageError(f"agent {kind!r} cannot be imported ({error}): {remedy}") from None
    return factory(argument), "entry point"


def _check_example(kind: str) -> None:
    if kind not in agent_names() and kind.removesuffix("-sample") in ("searcher", "mender"):
        raise UsageError(f"agent {kind!r} comes with an example: pip install -e examples/judges") from None


def _of_module(module: str, name: str) -> Agent:
    try:
        with importing_here():
            found: object = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):  # neither the module nor a package around it
            missing = f"there is no module {error.name!r} in this folder, and none is installed"
            raise UsageError(f"module {module!r} imports {error.name!r}, and {missing}") from None
        _check_example(module)
        raise UsageError(
            f"there is no agent {module!r}, and no module {error.name!r} in this folder: choose one of "
            f"{', '.join(agent_names())}, or write --agent module:function"
        ) from None
    except AttributeError:
        raise UsageError(f"module {module!r} has no {name!r}: write --agent {module}:FUNCTION") from None
    except SyntaxError as error:
        raise UsageError(f"{error.filename}, line {error.lineno}: {error.msg}: mend the agent's file") from None
    if isinstance(found, type):
        found = found()
    if isinstance(found, BatchAgent):
        return found
    if not callable(found):
        raise UsageError(f"{module}:{name} is no agent: it must be a function or have a method act(inputs)")
    function = cast("Callable[[Any], str | Decision]", found)
    if not _takes_one(function):
        raise UsageError(f"{module}:{name} is no agent: it must take one argument, the prompt or an AgentInput")
    return _TextAgent(function) if _takes_text(function) else function


def _takes_one(function: Callable[..., object]) -> bool:
    try:
        signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # a compiled function, which does not say what it takes
        pass
    return True


def _takes_text(function: Callable[[Any], object]) -> bool:
    try:
        first = next(iter(signature(function).parameters.values()))
    except (TypeError, ValueError, StopIteration):
        return False
    return first.annotation in (str, "str") or (first.annotation is first.empty and first.name in ("prompt", "text"))


class _TextAgent:
    """Shows a function the whole prompt as text."""

    def __init__(self, function: Callable[[str], str | Decision]) -> None:
        self._function = function
        self.sampling = bool(getattr(function, "sampling", False))
        self.__qualname__ = getattr(function, "__qualname__", "agent")

    def __call__(self, given: AgentInput) -> str | Decision:
        commands = "\n".join(f"- {each}" for each in given.admissible_commands)
        return self._function(f"{given.prompt()}\nCommands:\n{commands}\n")
