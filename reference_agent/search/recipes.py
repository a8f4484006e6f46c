"""What policies of a searcher there are: the rows of AutoExplore in `reflect-rl reproduce --preset searcher`.

Names alone, without torch, so that a plan of the rows is made at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple

PLANNER = "searcher"  # the row without a policy: a planner over the searcher's judgements
UPDATES = 60  # of RL
BEFORE = {"depth1": "", "depth2": "depth1", "any": "depth2"}  # the curriculum: whose policy a kind's starts from


@dataclass(frozen=True)
class Recipe:
    """How a policy of a searcher is trained.

    Attributes:
        kind: Where answers lie: `depth1`, `depth2` or `any`.
        reflects: Whether the policy reads the reflector's sentence and nothing else.
        negatives: Whether the teacher's games hold wrong steps, from which it goes on.
        curriculum: Whether it starts from the policy of the kind before.
        games: How many games of the teacher it imitates, lost ones too; None for three won ones or fewer a question.
        slips: The chance that the teacher does something else than what it thinks best.
    """

    kind: str
    reflects: bool = True
    negatives: bool = True
    curriculum: bool = True
    games: int | None = None
    slips: float = 0.0

    @property
    def before(self) -> Recipe | None:
        """The recipe of the policy that it starts from; None where it starts anew."""
        kind = BEFORE[self.kind] if self.curriculum else ""
        return replace(self, kind=kind) if kind else None

    def name(self, seed: int) -> str:
        """Return the name of its files, without an ending."""
        form = "reflect" if self.reflects else "policy"
        alone = bool(BEFORE[self.kind]) and not self.curriculum
        without = "-no-negatives" * (not self.negatives) + "-no-curriculum" * alone
        taught = f"-{self.games}-games" * (self.games is not None) + f"-slips-{self.slips}" * (self.slips > 0)
        return f"{form}-{self.kind}-{seed}{without}{taught}"


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        kind: Where answers lie, as in `Recipe`.
        recipe: What is trained; None for the planner over the searcher.
        updates: Of RL, after imitation.
        steps: Updates of each of the searcher's judges, where they are not the usual ones.
    """

    kind: str
    recipe: Recipe | None
    updates: int
    steps: int | None = None


_ROWS: dict[str, tuple[bool, dict[str, Any]]] = {
    "no-reflection-sft": (False, {"reflects": False}),
    "no-reflection": (True, {"reflects": False}),
    "no-reflection-no-curriculum": (True, {"reflects": False, "curriculum": False}),
    "sft-only": (False, {}),
    "no-negatives": (True, {"negatives": False}),
    "no-curriculum": (True, {"curriculum": False}),
    "best": (True, {}),
}
SLIPS = 0.2  # of the steps of a teacher that slips
# The rows of what reward adds to imitation: NAME-GAMES-sft and NAME-GAMES.
_TAUGHT: dict[str, dict[str, Any]] = {
    "exact": {},
    "slips": {"slips": SLIPS},
    "silent": {"slips": SLIPS, "reflects": False},
}


def kind_of(task: str) -> str | None:
    """Return where the answers of a task such as `autoexplore-depth1-natural` lie; None where it is no AutoExplore."""
    family, _, rest = task.partition("-")
    kind = rest.partition("-")[0]
    return kind if kind in BEFORE and family == "autoexplore" else None


def row_of(task: str, method: str, share: float = 1.0, steps: int | None = None) -> Row | None:
    """Return the row of a task and a method; None where there is no such row.

    Args:
        task: Such as `autoexplore-depth1`.
        method: Such as `best`.
        share: Of the usual updates of RL.
        steps: As in `Row`.
    """
    kind = kind_of(task)
    if kind is None:
        return None
    if method == PLANNER:
        return Row(kind, None, 0, steps)
    name, _, games = method.removesuffix("-sft").partition("-")
    if name in _TAUGHT and games.isdecimal():
        rl = not method.endswith("-sft")
        settings = {"negatives": False, "curriculum": not BEFORE[kind], "games": int(games), **_TAUGHT[name]}
    elif method in _ROWS:
        rl, settings = _ROWS[method]
    else:
        return None
    recipe = Recipe(kind, **settings)
    if not (recipe.curriculum or BEFORE[kind]):
        return None
    return Row(kind, recipe, ceil(UPDATES * share) if rl else 0, steps)
