"""The recipe files.

    # Banana bread (FD-204)
    makes 48 x 95 g in 4 tins
    beside: walnut
    keeps: 4 days wrapped
    Plain flour | 1,120 g
    Eggs, whole | 600 g | eggs
    Vanilla | 9 g | to taste

The third column has marks: `eggs` (counted whole), `to taste` (not scaled above two batches), `lost` (boils away).
"""

import re
from dataclasses import dataclass

from recipes.quantities import Amount, BadAmount, parse_amount

MARKS = frozenset({"eggs", "to taste", "lost"})
_TITLE = re.compile(r"# (.+) \(([A-Z]{2}-\d{3})\)")
_MAKES = re.compile(r"makes (\d+) x (\d+) (g|ml)(?: in (\d+) (tins?|trays?|pots?))?")
_KEEPS = re.compile(r"keeps: (\d+) (days?|weeks?)(?: (\w+))?")


class BadRecipe(ValueError):
    """A file that is no recipe; the message names the line."""


@dataclass(frozen=True)
class Ingredient:
    """One line of a recipe."""

    name: str
    amount: Amount
    mark: str = ""


@dataclass(frozen=True)
class Recipe:
    """A recipe as written: what it makes, and from what."""

    name: str
    sku: str
    portions: int
    portion: Amount
    vessels: int
    vessel: str
    keeps_days: int
    kept: str
    beside: frozenset[str]
    ingredients: tuple[Ingredient, ...]

    @property
    def total(self) -> int:
        """What goes in, in tenths of a gram; pieces weigh nothing here, and a millilitre a gram."""
        return sum(each.amount.tenths for each in self.ingredients if each.amount.unit != "piece")

    @property
    def yield_percent(self) -> int:
        """What comes out as portions, in percent of what goes in, rounded down."""
        return self.portions * self.portion.tenths * 100 // self.total


def read(text: str) -> Recipe:
    """Read a recipe.

    Raises:
        BadRecipe: A line is missing, cannot be read or stands twice.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    title = _TITLE.fullmatch(lines[0][1]) if lines else None
    if title is None:
        raise BadRecipe("line 1: a title such as '# Porridge (FD-209)'")
    makes = keeps = None
    beside: frozenset[str] = frozenset()
    ingredients: dict[str, Ingredient] = {}
    for number, line in lines[1:]:
        if line.startswith("makes "):
            makes = _MAKES.fullmatch(line)
        elif line.startswith("keeps:"):
            keeps = _KEEPS.fullmatch(line)
        elif line.startswith("beside:"):
            beside = frozenset(part.strip() for part in line.removeprefix("beside:").split(",") if part.strip())
        else:
            ingredient = _ingredient(number, line)
            if ingredient.name in ingredients:
                raise BadRecipe(f"line {number}: {ingredient.name} stands twice")
            ingredients[ingredient.name] = ingredient
    if makes is None or int(makes[1]) == 0:
        raise BadRecipe(f"{title[1]}: what does it make?")
    if keeps is None:
        raise BadRecipe(f"{title[1]}: how long does it keep?")
    if not ingredients:
        raise BadRecipe(f"{title[1]}: made of nothing")
    days = int(keeps[1]) * (7 if keeps[2].startswith("week") else 1)
    portion = parse_amount(f"{makes[2]} {makes[3]}")
    vessel = (makes[5] or "tray").rstrip("s")
    return Recipe(
        title[1], title[2], int(makes[1]), portion, int(makes[4] or 1), vessel, days, keeps[3] or "", beside,
        tuple(ingredients.values()),
    )  # fmt: skip


def _ingredient(number: int, line: str) -> Ingredient:
    name, *fields = (part.strip() for part in line.split("|"))
    if not 1 <= len(fields) <= 2 or not name:
        raise BadRecipe(f"line {number}: NAME | AMOUNT | MARK")
    mark = fields[1] if len(fields) == 2 else ""
    if mark and mark not in MARKS:
        raise BadRecipe(f"line {number}: no mark {mark!r}")
    try:
        return Ingredient(name, parse_amount(fields[0]), mark)
    except BadAmount as error:
        raise BadRecipe(f"line {number}: {error}") from None
