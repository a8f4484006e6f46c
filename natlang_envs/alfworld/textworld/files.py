"""Game files as TextWorld reads them: a problem together with ALFWorld's domain and texts, in any known grammar.

The domain and the texts are the installed alfworld package's own. Those of other releases differ from them in a few
places only, so they are made from them; tests compare the outcome with official files.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from natlang_envs.alfworld.engine.game_file import GameText
from natlang_envs.alfworld.engine.grammar import BY_NAME
from natlang_envs.errors import UsageError, require_choice

MISSING = (
    "{} cannot be imported: run `pip install 'natlang-envs[alfworld]'` "
    "(to export games, `pip install --no-deps alfworld==0.4.2` is enough)"
)
UNKNOWN_TASK = '"Your task is to: UNKNOWN GOAL."'  # what the texts say where a game's own sentence goes
_HELP_ACTION = ("\n(:action help\n", "\n)\n")
_HELP_TEXTS = ("\naction help {\n", "\n}\n")
_HELP_INLINE = '\naction help {{\n    template :: "help";\n    feedback :: "\n{}";\n}}'  # as `alfworld-download` has it


class GrammarFiles(NamedTuple):
    """The parts that all games of a grammar share: the PDDL domain, and the texts with `UNKNOWN_TASK`."""

    domain: str
    texts: str


def rules(grammar: str) -> GrammarFiles:
    wanted = BY_NAME[require_choice("grammar", grammar, BY_NAME)]
    domain, texts = _package_files()
    if "sink" in wanted.cleaners:
        domain = _replace(domain, ";(receptacleType ?r SinkType)", "(receptacleType ?r SinkType)")
    if not wanted.help:
        domain = _cut(domain, *_HELP_ACTION)
    if wanted.names_location or grammar == "json_2.1.2":
        texts = _cut(texts, *_HELP_TEXTS)
    if grammar == "json_2.1.2":
        texts += _HELP_INLINE.format(wanted.help)
    if wanted.names_location:
        texts = _replace(texts, "You arrive at {r.name}.", "You arrive at {lend.name}.")
        texts = _replace(texts, "You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}.")
        texts = _replace(texts, '"move {o} to {r}"', '"put {o} in/on {r}"', times=2)
    return GrammarFiles(domain, texts)


def game_file(text: GameText) -> dict[str, str | bool]:
    """Return the content of a `game.tw-pddl`, in JSON types."""
    domain, texts = rules(text.grammar)
    return {
        "pddl_domain": domain,
        "grammar": _replace(texts, UNKNOWN_TASK, f'"{text.task}"'),
        "pddl_problem": text.problem,
        "solvable": True,
    }


@lru_cache(maxsize=1)
def _package_files() -> tuple[str, str]:
    spec = find_spec("alfworld")  # not imported: that would set $ALFWORLD_DATA and make its folder
    if spec is None or spec.origin is None:
        raise UsageError(MISSING.format("alfworld"))
    folder = Path(spec.origin).parent / "data"
    try:
        return (folder / "alfred.pddl").read_text("utf-8"), (folder / "alfred.twl2").read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read: run `pip install --force-reinstall alfworld`") from None


def _replace(text: str, old: str, new: str, times: int = 1) -> str:
    if text.count(old) != times:
        raise UsageError(f"the installed alfworld package does not say {old} as 0.4.2 does: install alfworld==0.4.2")
    return text.replace(old, new)


def _cut(text: str, begin: str, end: str) -> str:
    start = text.find(begin)
    stop = text.find(end, start)
    if min(start, stop) < 0:
        raise UsageError(f"the installed alfworld package has no {begin.strip()}: install alfworld==0.4.2")
    return text[:start] + text[stop + len(end) :]
