"""p(s), an input of Algorithm 1: composed by `history`, or by a function of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from natlang_envs.errors import UsageError, reason
from natlang_envs.make_env import importing_here
from natlang_envs.prompt import History, PathStep, check_history, state_prompt

# A function of task, path, observation and commands that returns p(s).
StateFunction = Callable[[str, Sequence[PathStep], str, Sequence[str]], str]
Shown = History | StateFunction
_DEFAULT = 1  # of `history`


def shown_by(history: History, state: StateFunction | None) -> Shown:
    """Return what composes p(s). Raises `UsageError` unless it is one of both, and can be."""
    if state is None:
        check_history(history)
        return history
    if not callable(state):
        raise UsageError(f"state is {state!r:.100}: give a function of task, path, observation and commands")
    if history != _DEFAULT:
        raise UsageError("history has no effect beside state, which composes p(s): leave one of them out")
    return state


def compose(
    shown: Shown,
    task: str,
    path: Sequence[PathStep],
    observation: str,
    commands: Sequence[str],
    budget: int | None = None,
    length: Callable[[str], int] = len,
) -> str:
    """Return p(s), cut to a budget as `state_prompt` cuts it; a function's own is never cut."""
    if not callable(shown):
        return state_prompt(task, path, observation, history=shown, budget=budget, length=length)
    try:
        text: object = shown(task, tuple(path), observation, tuple(commands))
    except Exception as error:
        raise UsageError(f"the function of p(s) failed ({type(error).__name__}: {reason(error)}): mend it") from error
    if not isinstance(text, str) or not text:
        raise UsageError(f"the function of p(s) returned {text!r:.100}: return a text")
    if budget is not None and (long := length(text)) > budget:
        raise UsageError(f"the function of p(s) returned {long} tokens, and the model has room for {budget}: say less")
    return text


def path_of(state: StateFunction) -> str:
    """Return `module:name` of a function. Raises `UsageError` if nobody could import it by that."""
    module, name = getattr(state, "__module__", None), getattr(state, "__qualname__", "<")
    if module in (None, "__main__") or "<" in name or "." in name:
        raise UsageError(f"p(s) is composed by {state!r:.80}: put it into a module as a function, to save the players")
    return f"{module}:{name}"


def load_state(path: str) -> StateFunction:
    """Return the function at `module:name`, also of the current folder. Raises `UsageError` if there is none."""
    module, _, name = path.partition(":")
    try:
        with importing_here():
            found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"state is {path!r}: give module:function ({reason(error)})") from None
    return shown_by(_DEFAULT, found)  # type: ignore[return-value]
