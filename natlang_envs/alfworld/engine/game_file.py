"""Game files: a `game.tw-pddl` of the alfworld package, read and recognised.

The file has the rules (a PDDL domain) and the texts (a grammar) of its game. Both are recognised by their content,
without comments and spaces: the rules by a digest without the two clauses that releases differ in, the texts by
comparison with the known ones.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from natlang_envs.alfworld.engine.grammar import GRAMMARS, NAMES
from natlang_envs.errors import UsageError

# The first 16 digits of SHA-256, as `_rules_of` and `_texts_of` compute them.
_RULES = "502d719a8f2b1d9a"
_TEXTS = {
    "14fca86ccff0824f": "old",
    "0c80a2e61d295ce8": "new",  # `help` refers to its text
    "41bbfbbc0d26559d": "new",  # `help` holds its text
}
_SINK = "(or(receptacletype ?r sinktype)(receptacletype ?r sinkbasintype))"  # a sink cleans things, as its basin does
_BASIN = "(or(receptacletype ?r sinkbasintype))"
_HELP = "(:action help :parameters(?a - agent):precondition():effect(and(checked ?a))))"  # the last action
_TASK = re.compile(r'"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*("(?:[^"\\]|\\.)*")')
_BLOCK = re.compile(r'"""(.*?)"""', re.DOTALL)
_LIVE = re.compile(r"[#{}\[\]|]")  # what a sentence cannot hold: TextWorld would take it for a rule


class GameText(NamedTuple):
    """The content of a game file.

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
    """Return the task's sentence and the name of the grammar of a game with this domain and these texts."""
    found = _TASK.search(texts)
    if found is None:
        raise UsageError("its grammar states no task, so it is not ALFWorld's: give a game of ALFWorld")
    try:
        task = cast("str", json.loads(found.group(1)))
    except ValueError:
        raise UsageError("its grammar is not ALFWorld's: the task's sentence is no JSON string") from None
    if _LIVE.search(task):
        raise UsageError(f"its task {task!a} holds signs that a grammar reads as rules: write it in plain words")
    words = _texts_of(texts[: found.start(1)] + '""' + texts[found.end(1) :])
    if words is None:
        raise UsageError(f"its grammar is not ALFWorld's: give a game of one of {', '.join(GRAMMARS)}")
    rules = _rules_of(domain)
    if rules is None:
        raise UsageError(f"its domain is not ALFWorld's: give a game of one of {', '.join(GRAMMARS)}")
    grammar = NAMES.get((words, *rules))
    if grammar is None:
        raise UsageError("its domain has `help`, which its grammar has no words for: download or export the game again")
    return task, grammar


# Games of a source have one domain and one grammar, so each is looked at once.
@lru_cache(maxsize=8)
def _rules_of(domain: str) -> tuple[bool, bool] | None:
    """Return whether a sink cleans, and whether there is `help`; None for rules of another game."""
    plain = re.sub(r"\s*([()])\s*", r"\1", " ".join(re.sub(r";[^\n]*", "", domain).lower().split()))
    sinks, helps = plain.count(_SINK), plain.count(_HELP)
    if max(sinks, helps) > 1 or _digest(plain.replace(_SINK, _BASIN).replace(_HELP, ")")) != _RULES:
        return None
    return bool(sinks), bool(helps)


@lru_cache(maxsize=8)
def _texts_of(texts: str) -> str | None:
    try:
        blocks = [json.loads(block) for block in _BLOCK.findall(texts)]
    except ValueError:
        return None
    frame = " ".join(_BLOCK.sub('""', texts).split())
    return _TEXTS.get(_digest(json.dumps([frame, blocks], sort_keys=True)))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
