"""More or less of a recipe: whole vessels, whole eggs, and what the scale can show."""

from collections.abc import Mapping
from dataclasses import dataclass

from recipes.book import Ingredient, Recipe
from recipes.quantities import TENTHS, Amount, on_scale

EGG_TENTHS = 500
# Salt, spice and vanilla grow with the batch only up to this many; then somebody tastes.
TASTED_ABOVE = 2
SPARE_PERCENT = 4


@dataclass(frozen=True)
class Weighed:
    """An ingredient as it is weighed; eggs have their number."""

    name: str
    amount: Amount
    eggs: int = 0


@dataclass(frozen=True)
class Plan:
    """So many vessels in so many loads of the oven, and the portions that come out."""

    vessels: int
    loads: tuple[int, ...]
    portions: int


def vessels_for(recipe: Recipe, portions: int, spare_percent: int = SPARE_PERCENT) -> int:
    """Return the vessels that make at least so many portions, a few to spare; none for none."""
    if portions < 0:
        raise ValueError(f"{portions} portions")
    wanted = -(-portions * (100 + spare_percent) // 100)
    return -(-wanted * recipe.vessels // recipe.portions)


def loads(vessels: int, oven: int) -> tuple[int, ...]:
    """Share vessels among loads of an oven as evenly as possible, the fuller ones first."""
    if oven < 1:
        raise ValueError("an oven without room")
    if vessels == 0:
        return ()
    count = -(-vessels // oven)
    least, more = divmod(vessels, count)
    return (least + 1,) * more + (least,) * (count - more)


def plan(recipe: Recipe, portions: int, oven: int) -> Plan:
    """Return what to bake for so many portions."""
    vessels = vessels_for(recipe, portions)
    return Plan(vessels, loads(vessels, oven), vessels * recipe.portions // recipe.vessels)


def weigh(recipe: Recipe, vessels: int) -> list[Weighed]:
    """Return the weighing list for so many vessels, the heaviest first and equals as written."""
    if vessels < 1:
        raise ValueError(f"{vessels} {recipe.vessel}s of {recipe.name}")
    found = [_weighed(each, vessels, recipe.vessels) for each in recipe.ingredients]
    return sorted(found, key=lambda each: -each.amount.tenths)


def _weighed(ingredient: Ingredient, vessels: int, written: int) -> Weighed:
    amount = ingredient.amount
    if ingredient.mark == "eggs":
        eggs = max(1, (2 * amount.tenths * vessels + EGG_TENTHS * written) // (2 * EGG_TENTHS * written))
        return Weighed(ingredient.name, Amount(eggs * EGG_TENTHS, "g"), eggs)
    if ingredient.mark == "to taste":
        vessels = min(vessels, TASTED_ABOVE * written)
    return Weighed(ingredient.name, on_scale(amount.times(vessels, written)))


def shopping(lists: Mapping[str, list[Weighed]]) -> dict[str, Amount]:
    """Add the weighing lists of a day up, by ingredient in order of the alphabet."""
    sums: dict[str, Amount] = {}
    for weighed in lists.values():
        for each in weighed:
            sums[each.name] = sums[each.name] + each.amount if each.name in sums else each.amount
    return dict(sorted(sums.items()))


def enough(sums: Mapping[str, Amount], stock: Mapping[str, Amount]) -> dict[str, Amount]:
    """Return what is missing from the stock, rounded up to whole grams."""
    missing = {}
    for name, amount in sums.items():
        here = stock[name].tenths if name in stock else 0
        if amount.tenths > here:
            short = amount.tenths - here
            missing[name] = Amount(-(-short // TENTHS) * TENTHS, amount.unit)
    return missing
