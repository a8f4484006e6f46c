"""The fourteen allergens of the law, and what a recipe contains or may contain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from recipes.book import Recipe

ALLERGENS = (
    "celery", "crustaceans", "eggs", "fish", "gluten", "lupin", "milk", "molluscs", "mustard", "nuts", "peanuts",
    "sesame", "soya", "sulphites",
)  # fmt: skip
# Animal things that are no allergen, or not only.
ANIMAL = frozenset({"eggs", "fish", "milk", "crustaceans", "molluscs", "meat", "honey"})


class Answer(IntEnum):
    """What the register says; a higher answer beats a lower one."""

    NO = 0
    MAY_CONTAIN = 1
    CONTAINS = 2


@dataclass(frozen=True)
class Goods:
    """One thing that we buy: what it contains, what its maker says it may contain, and whether it is animal."""

    contains: frozenset[str] = frozenset()
    may_contain: frozenset[str] = frozenset()
    animal: frozenset[str] = frozenset()


class UnknownGoods(KeyError):
    """An ingredient that nobody has entered in the register: nothing may be said about the product."""


def register(recipe: Recipe, goods: Mapping[str, Goods]) -> dict[str, Answer]:
    """Return the product's line in the register.

    Raises:
        UnknownGoods: An ingredient is not known. "It should be fine" is a forbidden sentence.
    """
    line = dict.fromkeys(ALLERGENS, Answer.NO)
    for ingredient in recipe.ingredients:
        if ingredient.name not in goods:
            raise UnknownGoods(ingredient.name)
        known = goods[ingredient.name]
        for allergen in ALLERGENS:
            if allergen in known.contains:
                line[allergen] = max(line[allergen], Answer.CONTAINS)
            elif allergen in known.may_contain:
                line[allergen] = max(line[allergen], Answer.MAY_CONTAIN)
    for allergen in recipe.beside:
        if allergen not in ALLERGENS:
            raise UnknownGoods(allergen)
        line[allergen] = max(line[allergen], Answer.MAY_CONTAIN)
    return line


def declared(line: Mapping[str, Answer]) -> tuple[list[str], list[str]]:
    """Return what stands on the label: contained, and possibly contained."""
    contained = [name for name, answer in line.items() if answer is Answer.CONTAINS]
    possible = [name for name, answer in line.items() if answer is Answer.MAY_CONTAIN]
    return contained, possible


def safe_for(line: Mapping[str, Answer], avoided: Iterable[str], careful: bool = True) -> bool:
    """Tell whether a guest who avoids some allergens may have it; a careful one accepts no "may contain"."""
    most = Answer.NO if careful else Answer.MAY_CONTAIN
    for allergen in avoided:
        if allergen not in line:
            raise UnknownGoods(allergen)
        if line[allergen] > most:
            return False
    return True


def is_vegan(recipe: Recipe, goods: Mapping[str, Goods]) -> bool:
    """Tell whether nothing in it is of an animal."""
    return all(not (goods[each.name].animal | goods[each.name].contains) & ANIMAL for each in recipe.ingredients)


def changed(before: Mapping[str, Answer], after: Mapping[str, Answer]) -> list[str]:
    """Return what a change of a recipe changes for guests, the worse first; such a product is frozen until all know."""
    moves = [(after[name] - before[name], name) for name in ALLERGENS if after[name] != before[name]]
    worse = [f"now {_words(after[name])} {name}" for move, name in moves if move > 0]
    better = [f"no longer {_words(before[name])} {name}" for move, name in moves if move < 0]
    return worse + better


def _words(answer: Answer) -> str:
    return "contains" if answer is Answer.CONTAINS else "may contain"
