"""What a portion costs, by the prices that were valid on a day. Hundredths of a penny inside, pence outside."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import date

from recipes.book import Recipe
from recipes.quantities import TENTHS

HUNDREDTHS = 100
KILO_TENTHS = 1000 * TENTHS
VAT_PERCENT = 20
# The share of the net price that ingredients may cost.
WANTED_PERCENT = 32


def price_on(prices: Sequence[tuple[date, int]], day: date) -> int:
    """Return the price that is valid on a day: the last that began on it or before.

    Raises:
        LookupError: The first price is later.
    """
    place = bisect_right([first for first, _ in prices], day)
    if place == 0:
        raise LookupError(f"no price on {day}")
    return prices[place - 1][1]


def batch_cost(recipe: Recipe, prices: Mapping[str, Sequence[tuple[date, int]]], day: date) -> int:
    """Return the cost of a batch in hundredths of a penny; prices are pence a kilo, a litre, or a piece."""
    total = 0
    for ingredient in recipe.ingredients:
        each = price_on(prices[ingredient.name], day)
        whole = TENTHS if ingredient.amount.unit == "piece" else KILO_TENTHS
        total += (2 * ingredient.amount.tenths * each * HUNDREDTHS + whole) // (2 * whole)
    return total


def portion_pence(recipe: Recipe, cost: int) -> int:
    """Return the pence a portion, rounded up: a cost is never told too low."""
    return -(-cost // (recipe.portions * HUNDREDTHS))


def net_price(price_pence: int, taxed: bool) -> int:
    """Return a menu price without its VAT, half up."""
    if not taxed:
        return price_pence
    return (2 * price_pence * 100 + 100 + VAT_PERCENT) // (2 * (100 + VAT_PERCENT))


def cost_percent(portion: int, price_pence: int, taxed: bool) -> int:
    """Return what a portion costs in percent of its net price, half up."""
    net = net_price(price_pence, taxed)
    return (200 * portion + net) // (2 * net)


def too_dear(portion: int, price_pence: int, taxed: bool) -> bool:
    """Tell whether a dish needs a new price or another recipe."""
    return cost_percent(portion, price_pence, taxed) > WANTED_PERCENT


def least_price(portion: int, taxed: bool, ending: int = 10) -> int:
    """Return the lowest menu price, a multiple of ten pence, at which a portion is not too dear."""
    price = ending
    while too_dear(portion, price, taxed):
        price += ending
    return price
