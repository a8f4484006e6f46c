"""Games as they are written down: a `game.tw-pddl` of the alfworld package.

Such a file carries the rules (a PDDL domain) and the texts (a grammar) that it is to be played with. Our engine knows
two pairs of them and plays no others: a file is recognised by what both say, whatever its comments and spaces are.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from natlang_envs.alfworld.engine.grammar import GRAMMARS
from natlang_envs.errors import UsageError

# The first 16 digits of the SHA-256 of the domain and of the texts, each as `_domain_says` and `_texts_say` have it.
_KNOWN_DOMAINS = {"3396929f4cc3693c": "json_2.1.1", "3c0b24a49f36292e": "0.4.2"}
_KNOWN_TEXTS = {"14fca86ccff0824f": "json_2.1.1", "0c80a2e61d295ce8": "0.4.2"}
_TASK = re.compile(r'"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*("(?:[^"\\]|\\.)*")')
_BLOCK = re.compile(r'"""(.*?)"""', re.DOTALL)
_LIVE = re.compile(r"[#{}\[\]|]")  # what a sentence cannot hold: TextWorld would take it for a rule


class GameText(NamedTuple):
    """A game as it is written down.

    Attributes:
        problem: The problem in PDDL, of ALFWorld's domain.
        task: The whole sentence, such as "Your task is to: put a hot apple in fridge.".
        grammar: One of `GRAMMARS`.
    """

    problem: str
    task: str
    grammar: str


def read_game_file(path: Path | str) -> GameText:
    """Read a `game.tw-pddl`.

    Raises:
        UsageError: The file is missing or truncated, has rules or texts other than ALFWorld's, or says that the game
            cannot be won.
    """
    try:
        content = cast("object", json.loads(Path(path).read_text("utf-8")))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): give the path of a game.tw-pddl") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is truncated or no game.tw-pddl: download or export it again") from None
    fields: dict[str, Any] = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    problem, domain, texts = (fields.get(key) for key in ("pddl_problem", "pddl_domain", "grammar"))
    if not (isinstance(problem, str) and isinstance(domain, str) and isinstance(texts, str)):
        raise UsageError(f"{path} has no pddl_problem, pddl_domain and grammar: give the path of a game.tw-pddl")
    if fields.get("solvable") is False:
        raise UsageError(f"{path} says that its game cannot be solved: choose another")
    try:
        return GameText(problem, *recognise(domain, texts))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def recognise(domain: str, texts: str) -> tuple[str, str]:
    """Return the task's sentence and the name of the grammar of a game.

    Args:
        domain: The rules, in PDDL.
        texts: The texts, as in the alfworld package's `alfred.twl2`, with the task's sentence.

    Raises:
        UsageError: They are neither of the two pairs that the engine knows.
    """
    found = _TASK.search(texts)
    if found is None:
        raise UsageError("its grammar states no task, so it is not ALFWorld's: give a game of ALFWorld")
    try:
        task = cast("str", json.loads(found.group(1)))
    except ValueError:
        raise UsageError("its grammar is not ALFWorld's: the task's sentence is no JSON string") from None
    if _LIVE.search(task):
        raise UsageError(f"its task {task!a} holds signs that a grammar reads as rules: write it in plain words")
    grammar = _grammar_of(texts[: found.start(1)] + '""' + texts[found.end(1) :])
    if grammar is None:
        raise UsageError(f"its grammar is not ALFWorld's: give a game of one of {', '.join(GRAMMARS)}")
    if _domain_of(domain) != grammar:
        raise UsageError(f"its domain is not ALFWorld's of {grammar}: download or export the game again")
    return task, grammar


# Games of a source have one domain and one grammar, so each is looked at once.
@lru_cache(maxsize=8)
def _domain_of(domain: str) -> str | None:
    rules = re.sub(r";[^\n]*", "", domain).lower()
    return _KNOWN_DOMAINS.get(_digest(re.sub(r"\s*([()])\s*", r"\1", " ".join(rules.split()))))


@lru_cache(maxsize=8)
def _grammar_of(texts: str) -> str | None:
    try:
        blocks = [json.loads(block) for block in _BLOCK.findall(texts)]
    except ValueError:
        return None
    frame = " ".join(_BLOCK.sub('""', texts).split())
    return _KNOWN_TEXTS.get(_digest(json.dumps([frame, blocks], sort_keys=True)))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
