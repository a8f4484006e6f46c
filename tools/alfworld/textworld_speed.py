"""TextWorld's engine with its repeated work done once, for comparing thousands of steps with it.

It caches results of pure functions: parsed templates, parsed conditions, and the last translations of a problem.
The state, the actions that apply, the goal and the texts derived from them are the engine's own at every step;
`tests/natlang_envs/alfworld/test_textworld_backend.py` compares the engine with and without this.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from natlang_envs.alfworld.textworld.backend import process_state_kept

_SHALLOW = ("variables", "mapping")  # what `copy_context` copies deeply; nobody changes what these hold


@contextmanager
def faster(translations: int = 2) -> Generator[None]:
    """Cache the pure functions of TextWorld's engine inside the context, and the last `translations` of problems."""
    with process_state_kept():  # to import them draws random numbers
        texts, logic = import_module("textworld.envs.pddl.textgen"), import_module("textworld.logic")
        planner = import_module("fast_downward")
    parse, translate = texts._parse_and_convert, planner.pddl2sas

    @cache
    def parse_once(text: str, rule: str) -> Any:
        return parse(text, rule_name=rule)

    # The second translation, optimised, serves to plan, and no plan is asked for.
    translate_once = lru_cache(maxsize=translations)(translate)

    def parsed(text: str, rule_name: str, **_: Any) -> Any:
        return deepcopy(parse_once(text, rule_name))  # symbols are given a context when they are derived

    def copy_context(context: dict[str, Any]) -> dict[str, Any]:
        return {**context, **{name: dict(context[name]) for name in _SHALLOW}}

    def translated(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:
        return translate_once(domain, problem)

    query = logic.Rule.parse_conjunctive_query
    patches: list[tuple[Any, str, Callable[..., Any]]] = [
        (texts, "_parse_and_convert", parsed),
        (texts, "copy_context", copy_context),
        (logic.Rule, "parse_conjunctive_query", cache(query)),
        (planner, "pddl2sas", translated),
    ]
    originals: list[tuple[Any, str, Any]] = [(owner, name, vars(owner)[name]) for owner, name, _ in patches]
    for owner, name, patch in patches:
        setattr(owner, name, patch)
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
