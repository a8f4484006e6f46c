"""Prompts: the state as text, p(s), and labels for commands, α(A(s)).

The first are of the paper's section 4.1 and appendix E, the second of its section 4.3.

A prompt holds the task, the previous path (each action with what it showed) and the current observation. The task is
never dropped; when a budget is short, the oldest steps of the path go first, then the end of the observation. Nothing
is repeated: where the observation is only the answer to the last action (ALFWorld), the path omits it, and a first
observation that ends with the task omits the task.

With `history="commands"` a prompt is short and lists all commands (the paper's appendix B.2): the task once, every
command, which parts of which files were read, the answer to the last command where the observation does not hold it,
and the observation. A prompt begins as the one before it did, up to the new command. Of a file's part that would make
it longer than about 1,000 tokens (tables of numbers) the end is cut.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import product
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Literal, NamedTuple

import numpy as np

from natlang_envs.errors import UsageError, is_count

NAMED = ("full", "none", "commands")
History = Literal["full", "none", "commands"] | int
CUT = " … [cut]"
DONE = "Commands so far:"
CHAT_ROLE = (
    "You act in an environment of texts. Answer with one of the listed actions, word for word, and nothing else."
)

_LETTERS = ascii_uppercase + ascii_lowercase
# 52 letters are single tokens in the vocabularies of GPT-2 and SmolLM2; of the pairs, an agent keeps those that are.
LABELS: tuple[str, ...] = (*_LETTERS, *("".join(pair) for pair in product(ascii_uppercase, ascii_lowercase)))
# How a repository's answers begin and end (`natlang_envs.repository.texts`): in a folder, or with a part of a file.
_ENTERED = re.compile(r"You are in the (?:top folder|folder (.+)) now\.$")
_READ = re.compile(r"(.+) (reads|begins|goes on):\n")
_END_READ = "; this is the end, the same command shows the beginning]"
_PLACE = re.compile(r"\n\[characters [^\n]*\]$")
_PIECE = re.compile(r" ?[^\W\d_]{1,6}|\d| ?[^\w\s]{1,2}|_|\s+")  # about as many as tokens of SmolLM2
# Of a prompt of commands: 97% of AutoExplore's have fewer; those with tables of numbers have up to twice as many.
_PIECES = 960
_QUOTED = re.compile(r'[;\n]|^["…]|^$')  # commands that would not stand apart from others


@cache
def prompt_texts(package: str) -> dict[str, Any]:
    """Return the texts of prompts that a package has in its `prompts.toml`."""
    return tomllib.loads(resources.files(package).joinpath("prompts.toml").read_text(encoding="utf-8"))


class PathStep(NamedTuple):
    """One step of the path: the action, and its `info["feedback"]`."""

    action: str
    feedback: str


class Choice(NamedTuple):
    """A label and its command."""

    label: str
    command: str


def check_history(history: object) -> None:
    """Raise `UsageError` unless `history` is a name that p(s) knows or a number of steps."""
    if history not in NAMED and not is_count(history, 0):
        raise UsageError(f"history must be 'full', 'none', 'commands' or a number of steps, not {history!r}")


def state_prompt(
    task: str,
    path: Sequence[PathStep],
    observation: str,
    *,
    history: History = "full",
    budget: int | None = None,
    length: Callable[[str], int] = len,
) -> str:
    """Compose p(s).

    Args:
        task: What is asked, `info["task"]`.
        path: The steps taken so far, oldest first.
        observation: The current observation.
        history: `"full"`, the number of newest steps to keep, `"none"`, or `"commands"`: all actions, what the
            last one showed, and the files read. With `"none"` a wrong move and a right one look alike, so negative
            examples need at least the last step.
        budget: The largest length of the prompt; None for no bound.
        length: Measures a text; characters by default, a tokenizer's count for models.

    Raises:
        UsageError: `history` is none of these, or the budget does not even hold the task.
    """
    check_history(history)
    kept = len(path) if history in ("full", "commands") else 0 if history == "none" else min(history, len(path))

    repeated = bool(path) and path[-1].feedback == observation
    if not path and task:
        observation = observation.removesuffix(task).rstrip() or observation
    if history == "commands":
        observation = observation.removeprefix(f"# Task\n{task}\n")
    read = _files_read(path) if history == "commands" else []
    answer = [f"Last result: {path[-1].feedback}"] if path and path[-1].feedback not in observation else []

    def compose(steps: int, text: str) -> str:
        if history == "commands":
            return "\n".join([f"Task: {task}", *_done(path, read, steps), *answer[:steps], f"Observation: {text}"])
        newest = path[len(path) - steps :]
        lines = [f"- {step.action}: {step.feedback}" for step in newest]
        if repeated and lines:
            lines[-1] = f"- {newest[-1].action}"
        head = "Previous path:" if lines else "Previous path: none."
        return "\n".join([f"Task: {task}", head, *lines, f"Observation: {text}"])

    prompt = compose(kept, observation)
    if read and read[-1][0] == len(path) - 1 and (extra := len(_PIECE.findall(prompt)) - _PIECES) > 0:
        observation = _less(observation, extra)
        prompt = compose(kept, observation)
    if budget is None:
        return prompt
    while kept and length(prompt) > budget:
        kept -= 1
        prompt = compose(kept, observation)
    if length(prompt) <= budget:
        return prompt
    if length(compose(0, CUT)) > budget:
        raise UsageError(f"a prompt of {budget} does not hold the task: allow at least {length(compose(0, CUT))}")
    low, high = 0, len(observation)
    while low < high:
        middle = (low + high + 1) // 2
        if length(compose(0, observation[:middle] + CUT)) <= budget:
            low = middle
        else:
            high = middle - 1
    return compose(0, observation[:low] + CUT)


def _done(path: Sequence[PathStep], read: Sequence[tuple[int, str, str]], steps: int) -> list[str]:
    """Return the newest commands in a line, and the files that they read in another."""
    newest = [_apart(step.action) for step in path[len(path) - steps :]]
    left_out = ["…"] if steps < len(path) else []
    shown = {name: part for number, name, part in read if number >= len(path) - steps}
    files = [f"{name} ({part})" for name, part in shown.items()]
    done = " ".join([DONE, *filter(None, ["; ".join([*left_out, *newest])])])
    return [done, *(["Read so far: " + "; ".join(files)] if files else [])]


def _apart(command: str) -> str:
    """Return a command as it stands, or between quotes if it could be taken for several or for none."""
    if not _QUOTED.search(command):
        return command
    return '"' + command.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _files_read(path: Sequence[PathStep]) -> list[tuple[int, str, str]]:
    """Return number, file and parts read until then, for each step that read a file; parts come in a cycle."""
    folder, parts, found = "", dict[str, int](), list[tuple[int, str, str]]()
    for number, (_, feedback) in enumerate(path):
        if entered := _ENTERED.match(feedback):
            folder = f"{entered[1]}/" if entered[1] else ""
        elif shown := _READ.match(feedback):
            name = folder + shown[1]
            if shown[2] == "reads" or feedback.endswith(_END_READ):
                parts[name] = 0  # the whole
            elif parts.get(name) != 0:
                parts[name] = 1 if shown[2] == "begins" else parts.get(name, 0) + 1
            count = parts[name]
            found.append((number, name, "whole" if not count else f"parts 1 to {count}" if count > 1 else "part 1"))
    return found


def _less(observation: str, pieces: int) -> str:
    """Cut `pieces` pieces of the file's text from the end of an observation."""
    place = _PLACE.search(observation)
    head = observation[: place.start() if place else None]
    starts = [piece.start() for piece in _PIECE.finditer(head)]
    return f"{head[: starts[-pieces]]}{CUT}{place[0] if place else ''}"


def reflection_prompt(state: str) -> str:
    """Return the reflector's prompt: p(s), and the place for its reflection."""
    return f"{state}\nReflection: "


def policy_prompt(state: str, reflection: str | None, choices: Sequence[Choice]) -> str:
    """Return the policy's prompt for one label: p(s), α(A(s)) and any reflection.

    The reflection comes last: small models need its decision next to the label.
    """
    lines = [state, "Actions:"]
    lines += [f"{choice.label}. {choice.command}" for choice in choices]
    if reflection is not None:
        lines.append(f"Reflection: {reflection}")
    return "\n".join([*lines, "Choice:", ""])


class Screen:
    """What follows a command in a model's context: the answer, and A(s).

    Args:
        observation: The first observation, which the model has read.
        info: Its info.
        changes_only: Whether of an observation only those sentences (those sections, where it has headings) are shown
            that the one before did not have, and A(s) only where it changed. Feedback is always shown.
    """

    def __init__(self, observation: str, info: Mapping[str, Any], changes_only: bool = False) -> None:
        self.observation = observation
        self._listed: str = listed(info["admissible_commands"])
        self._changes_only = changes_only

    def after(self, observation: str, info: Mapping[str, Any], ended: bool = False) -> str:
        """Return the text after a command; without A(s) if the game `ended`."""
        feedback, commands, text = info["feedback"], listed(info["admissible_commands"]), observation
        if self._changes_only:
            text = _changes(self.observation, observation, feedback)
        if feedback not in text:
            text = f"{feedback}\n{text}".rstrip()
        same = self._changes_only and commands == self._listed
        self.observation, self._listed = observation, commands
        return text if ended or same else f"{text}\n{commands}"


def listed(commands: Sequence[str]) -> str:
    """Return A(s) as one line."""
    return "Actions: " + "; ".join(commands)


def _changes(before: str, now: str, feedback: str) -> str:
    """Return the parts of an observation that are not parts of the one before, and the feedback where it stands."""
    ends = re.compile(r"(?<=\n)(?=# )" if now.startswith("# ") else r"(?<=\. )|(?<=\n)")
    known = {each.strip() for each in ends.split(before)}

    def new(parts: Sequence[str]) -> str:
        return "".join(each for each in parts if each.strip() not in known)

    if not feedback or feedback not in now:
        return new(ends.split(now)).strip()
    head, _, tail = now.rpartition(feedback)
    *whole, begun = ends.split(head)
    return f"{new(whole)}{begun}{feedback}{new(ends.split(tail)).rstrip()}"


def chat_messages(state: str, commands: Sequence[str], role: str = CHAT_ROLE) -> list[dict[str, str]]:
    """Return a chat model's messages: its role, then p(s) with the listed commands."""
    content = "\n".join([state, "Actions:", *(f"- {command}" for command in commands)])
    return [{"role": "system", "content": role}, {"role": "user", "content": content}]


def enumerate_actions(
    commands: Sequence[str], labels: Sequence[str] = LABELS, rng: np.random.Generator | None = None
) -> list[Choice]:
    """Label the commands.

    Args:
        commands: The admissible commands, in the environment's order, which is kept.
        labels: Distinct labels to choose from, single tokens of the tokenizer in use.
        rng: Shuffles the labels (for training); without it commands get them in order.

    Returns:
        One `Choice` a command.

    Raises:
        UsageError: There are fewer labels than commands, or a label twice.
    """
    if len(set(labels)) != len(labels):
        raise UsageError("the labels must be distinct: one of them is given twice")
    if len(labels) < len(commands):
        raise UsageError(f"{len(commands)} commands need as many labels, but {len(labels)} are given: pass more labels")
    order = range(len(commands)) if rng is None else rng.permutation(len(labels))[: len(commands)].tolist()
    return [Choice(labels[position], command) for position, command in zip(order, commands, strict=True)]
