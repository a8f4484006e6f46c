"""Tests of amounts and of reading recipes."""

import pytest

from recipes.book import BadRecipe, Ingredient, read
from recipes.quantities import Amount, BadAmount, on_scale, parse_amount, step_of

BANANA = """# Banana bread (FD-204)
makes 48 x 95 g in 4 tins
beside: nuts, sesame
keeps: 4 days wrapped
Bananas | 1,480 g
Plain flour | 1.1 kg
Eggs | 600 g | eggs
Oil | 48 cl

Cinnamon | 10.5 g | to taste
Cloves | 3
"""


@pytest.mark.parametrize(
    ("text", "tenths", "unit"),
    [
        ("1,480 g", 14_800, "g"),
        ("2.5kg", 25_000, "g"),
        ("30 cl", 3000, "ml"),
        ("1.5 l", 15_000, "ml"),
        ("250 ml", 2500, "ml"),
        ("4", 40, "piece"),
        (" 0.5 g ", 5, "g"),
    ],
)
def test_amounts_are_read(text: str, tenths: int, unit: str):
    assert parse_amount(text) == Amount(tenths, unit)


@pytest.mark.parametrize("text", ["", "g", "1,48 g", "2.55 kg", "3 oz", "-5 g", "1.480,0 g"])
def test_other_text_is_no_amount(text: str):
    with pytest.raises(BadAmount, match="is no amount"):
        parse_amount(text)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Amount(14_800, "g"), "1,480 g"),
        (Amount(105, "g"), "10.5 g"),
        (Amount(30, "piece"), "3"),
        (Amount(5, "ml"), "0.5 ml"),
    ],
)
def test_amounts_are_shown(amount: Amount, text: str):
    assert str(amount) == text
    assert parse_amount(text) == amount


def test_amounts_of_one_unit_add():
    assert Amount(5, "g") + Amount(7, "g") == Amount(12, "g")
    with pytest.raises(BadAmount, match="g and ml do not add"):
        Amount(5, "g") + Amount(7, "ml")


def test_multiples_go_to_the_nearest_tenth():
    assert Amount(105, "g").times(3, 4) == Amount(79, "g")
    assert Amount(10, "g").times(1, 4) == Amount(3, "g")
    assert Amount(10, "g").times(1, 3) == Amount(3, "g")
    assert Amount(10, "ml").times(5, 3) == Amount(17, "ml")


@pytest.mark.parametrize(
    ("tenths", "step"), [(1, 5), (99, 5), (100, 10), (999, 10), (1000, 50), (9999, 50), (10_000, 100)]
)
def test_steps_of_the_scales(tenths: int, step: int):
    assert step_of(tenths) == step


@pytest.mark.parametrize(
    ("tenths", "shown"),
    [
        (0, 0),
        (1, 5),
        (7, 5),
        (8, 10),
        (97, 95),
        (98, 100),
        (104, 100),
        (105, 110),
        (1024, 1000),
        (1025, 1050),
        (10_049, 10_000),
        (10_050, 10_100),
    ],
)
def test_what_the_scale_shows(tenths: int, shown: int):
    assert on_scale(Amount(tenths, "g")) == Amount(shown, "g")


@pytest.mark.parametrize(("tenths", "shown"), [(1, 10), (14, 10), (15, 20), (10_049, 10_050)])
def test_millilitres_and_pieces_are_whole(tenths: int, shown: int):
    assert on_scale(Amount(tenths, "ml")) == Amount(shown, "ml")
    assert on_scale(Amount(tenths, "piece")) == Amount(shown, "piece")


def test_a_recipe_is_read():
    recipe = read(BANANA)
    assert (recipe.name, recipe.sku, recipe.portions, recipe.portion) == (
        "Banana bread",
        "FD-204",
        48,
        Amount(950, "g"),
    )
    assert (recipe.vessels, recipe.vessel, recipe.keeps_days, recipe.kept) == (4, "tin", 4, "wrapped")
    assert recipe.beside == {"nuts", "sesame"}
    assert recipe.ingredients[2:5] == (
        Ingredient("Eggs", Amount(6000, "g"), "eggs"),
        Ingredient("Oil", Amount(4800, "ml")),
        Ingredient("Cinnamon", Amount(105, "g"), "to taste"),
    )
    assert len(recipe.ingredients) == 6


def test_pieces_have_no_weight():
    recipe = read(BANANA)
    assert recipe.total == 14_800 + 11_000 + 6000 + 4800 + 105
    assert recipe.yield_percent == 48 * 950 * 100 // 36_705 == 124


def test_what_need_not_be_said():
    recipe = read("# Chai (OT-301)\nmakes 20 x 30 ml\nkeeps: 2 weeks\nSyrup | 600 ml\n")
    assert (recipe.vessels, recipe.vessel, recipe.keeps_days, recipe.kept, recipe.beside) == (
        1,
        "tray",
        14,
        "",
        frozenset(),
    )
    assert recipe.portion == Amount(300, "ml")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("# Banana", "Banana", "line 1: a title"),
        ("(FD-204)", "(FD-24)", "line 1: a title"),
        ("makes 48 x 95 g in 4 tins", "makes some", "Banana bread: what does it make?"),
        ("makes 48", "makes 0", "Banana bread: what does it make?"),
        ("keeps: 4 days wrapped\n", "", "Banana bread: how long does it keep?"),
        ("keeps: 4 days", "keeps: long", "Banana bread: how long does it keep?"),
        ("Oil", "Eggs", "line 8: Eggs stands twice"),
        ("| to taste", "| some", "line 10: no mark 'some'"),
        ("| to taste", "| eggs | lost", "line 10: NAME"),
        ("Cloves | 3", "Cloves", "line 11: NAME"),
        ("Cloves | 3", "| 3", "line 11: NAME"),
        ("1,480 g", "1480 oz", "line 5: '1480 oz' is no amount"),
    ],
)
def test_what_is_wrong_is_said(old: str, new: str, why: str):
    assert old in BANANA
    with pytest.raises(BadRecipe, match=why):
        read(BANANA.replace(old, new))


def test_a_recipe_is_made_of_something():
    with pytest.raises(BadRecipe, match="Banana bread: made of nothing"):
        read("".join(line + "\n" for line in BANANA.splitlines()[:4]))
    with pytest.raises(BadRecipe, match="line 1"):
        read("\n")
