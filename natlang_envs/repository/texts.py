"""The texts of AutoExplore: folders, files, questions and answers in words."""

from __future__ import annotations

import re
from functools import lru_cache

from natlang_envs.errors import UsageError, check_count
from natlang_envs.spaces import escape_surrogates

PAGE_SLOTS = 36  # a folder takes one, its `cd`; a file two, its `cat` and `id`
UP, NEXT, PREVIOUS, EXIT = "cd ..", "next page", "previous page", "exit"
HERE, UNDO, TEST, SUBMIT = "cd .", "undo", "test", "submit"  # where files are edited
MAX_COMMANDS = PAGE_SLOTS + 4
MAX_QUESTION = 2_000
FILE_BUDGET = 2_000
_MAX_NAME = 4 * 255  # a name has at most 255 bytes, and each may be shown as `\xNN`
_MAX_PATH = 4 * 4_096
_SENTENCES = 2_000  # more than the headings and sentences around names and contents
_QUOTED = 80
_SNIFFED = 8_192  # bytes in which a NUL makes a file binary

RIGHT = "Yes, {} answers the question."
WRONG = "No, {} does not answer the question. The search is over."
LEFT = "You left without naming a file. The search is over."
LAST_STEP = "That was the last step. The search is over."
_STEPS_LEFT = re.compile(r"^# Steps left\n(\d+)$", re.MULTILINE)


def check_budget(file_budget: int) -> int:
    """Return the largest number of characters of a file that `cat` shows."""
    return check_count("file_budget", file_budget)


def max_observation(file_budget: int) -> int:
    return MAX_QUESTION + 2 * _MAX_PATH + PAGE_SLOTS * (_MAX_NAME + 1) + file_budget + _SENTENCES


@lru_cache(maxsize=256)
def task_text(question: str) -> str:
    return f"Find a file that answers this question, and name it with the command id: {question}"


def observation(task: str, place: str, steps_left: int, result: str) -> str:
    """Return a whole observation; `place` is from `describe_place`, `result` what the last command showed."""
    return f"# Task\n{task}\n{place}\n# Steps left\n{steps_left}\n# Last result\n{result or '(no command yet)'}"


def read_question(task: str) -> str:
    return task.partition(": ")[2] or task


def steps_left(observation: str, agent: str) -> int:
    """Return how many commands may still be given, as an observation tells."""
    found = _STEPS_LEFT.search(observation)
    if found is None:
        raise UsageError(f"agent {agent!r} walks through folders: give it an AutoExplore environment")
    return int(found[1])


def describe_place(folder: str, folders: tuple[str, ...], files: tuple[str, ...], page: int, pages: int) -> str:
    """Return a page of a folder in words; two pages of a repository never read alike."""
    lines = ["# Current folder", folder or "."]
    if pages > 1:
        lines += ["# Page", f"{page + 1} of {pages}"]
    lines += ["# Folders here", *(folders or ("(none)",)), "# Files here", *(files or ("(none)",))]
    return "\n".join(lines)


def entered(folder: str) -> str:
    return f"You are in the folder {folder} now." if folder else "You are in the top folder now."


def turned(page: int, pages: int) -> str:
    return f"You see page {page + 1} of {pages} of this folder now."


def contents(name: str, head: bytes, size: int, budget: int, number: int = 0) -> str:
    """Return the answer to a `cat`: a long file is shown in parts, and the first one again after the last.

    `head` are its first bytes, `bytes_shown(budget * (number + 1))` of them or all; it was shown `number` times
    before.
    """
    if not size:
        return f"{name} is empty."
    if is_binary(head):
        return f"{name} is a binary file of {size:,} bytes and is not shown."
    text = head.decode("utf-8", "backslashreplace")
    if len(text) <= budget and len(head) == size:
        return f"{name} reads:\n{text}"
    parts = -(-len(text) // budget)
    start = number % parts * budget
    shown = text[start : start + budget]
    end = start + len(shown)
    is_last = end == len(text) and len(head) == size
    begins = f"{name} {'goes on' if start else 'begins'}:"
    place = f"characters {start + 1:,} to {end:,} of a file of {size:,} bytes"
    follows = (
        "this is the end, the same command shows the beginning" if is_last else "the same command shows the next part"
    )
    return f"{begins}\n{shown}\n[{place}; {follows}]"


def is_binary(head: bytes) -> bool:
    """Return whether a file that begins with `head` is not shown."""
    return b"\0" in head[:_SNIFFED]


def parts_of_text(content: bytes, budget: int) -> int:
    if is_binary(content):
        return 1
    return max(1, -(-len(content.decode("utf-8", "backslashreplace")) // budget))


def bytes_shown(budget: int) -> int:
    return max(_SNIFFED, 4 * (budget + 1))


def unknown_command(command: str) -> str:
    shown = command if len(command) <= _QUOTED else command[:_QUOTED] + "…"
    return f"{shown!a} is not one of the listed commands: nothing was done."


def clean_question(question: str) -> str:
    """Return a question as one line of valid Unicode."""
    if not isinstance(question, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"question must be a str, not {question!r}")
    line = escape_surrogates(" ".join(question.split()))
    if not line:
        raise UsageError("question is empty: ask something that a file of the repository answers")
    if len(line) > MAX_QUESTION:
        raise UsageError(f"question has {len(line):,} characters: use at most {MAX_QUESTION:,}")
    return line
