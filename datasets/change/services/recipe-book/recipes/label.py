"""The label on what we pack: name, ingredients by weight with allergens in capitals, date, weight."""

from collections.abc import Mapping
from datetime import date

from recipes.allergens import Goods, declared, register
from recipes.book import Recipe

WIDTH = 36
WATER_PERCENT = 5  # added water below this need not be named


def ingredients(recipe: Recipe, goods: Mapping[str, Goods]) -> str:
    """Return the list of ingredients: by weight, the heaviest first, allergens in capitals after their thing."""
    ordered = sorted(recipe.ingredients, key=lambda each: (-each.amount.tenths, each.name))
    parts = []
    for each in ordered:
        if each.name == "Water" and each.amount.tenths * 100 < recipe.total * WATER_PERCENT:
            continue
        found = sorted(goods[each.name].contains)
        parts.append(f"{each.name.lower()} ({', '.join(found).upper()})" if found else each.name.lower())
    return ", ".join(parts)


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """Break a text into lines; a word that is longer than a line has one of its own."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def label(recipe: Recipe, goods: Mapping[str, Goods], last: date, price_pence: int) -> list[str]:
    """Return the lines of a label."""
    _, possible = declared(register(recipe, goods))
    price = f"£{price_pence // 100}.{price_pence % 100:02}"
    lines = [recipe.name.upper().ljust(WIDTH - len(price)) + price]
    lines += wrapped(f"Ingredients: {ingredients(recipe, goods)}.")
    if possible:
        lines += wrapped(f"May contain {', '.join(possible)}.")
    verb = "Keep cold. Use by" if recipe.kept == "cold" else "Best before end of"
    return [*lines, f"{verb} {last:%d.%m.%Y}", f"{recipe.portion}"]
