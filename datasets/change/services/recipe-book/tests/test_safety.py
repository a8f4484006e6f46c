"""Tests of allergens, shelf life and labels."""

from datetime import date, datetime

import pytest

from recipes.allergens import ALLERGENS, Answer, Goods, UnknownGoods, changed, declared, is_vegan, register, safe_for
from recipes.book import Recipe, read
from recipes.label import ingredients, label, wrapped
from recipes.shelf import dot, freeze, last_day, may_be_sold, thawed_until, turn, usable

CAKE = """# Lemon drizzle (FD-207)
makes 20 x 150 g in 1 tray
beside: nuts, eggs
keeps: 4 days cold
Butter | 620 g
Flour | 660 g
Eggs | 650 g | eggs
Water | 90 g
Lemon | 230 g
"""
OATCAKE = "# Oatcake (FD-205)\nmakes 4 x 100 g\nkeeps: 7 days\nOats | 300 g\nSyrup | 100 g\n"
GOODS = {
    "Butter": Goods(frozenset({"milk"}), animal=frozenset({"milk"})),
    "Flour": Goods(frozenset({"gluten"}), frozenset({"soya", "gluten"})),
    "Eggs": Goods(frozenset({"eggs"}), animal=frozenset({"eggs"})),
    "Water": Goods(),
    "Lemon": Goods(may_contain=frozenset({"sulphites"})),
    "Oats": Goods(may_contain=frozenset({"gluten", "milk"})),
    "Syrup": Goods(),
    "Honey": Goods(animal=frozenset({"honey"})),
}


def cake() -> Recipe:
    """Return a recipe with eggs, milk and gluten."""
    return read(CAKE)


def oatcake() -> Recipe:
    """Return a recipe without an animal ingredient."""
    return read(OATCAKE)


def test_the_register_knows_fourteen():
    line = register(cake(), GOODS)
    assert tuple(line) == ALLERGENS
    assert len(line) == 14


def test_contains_beats_may_contain():
    line = register(cake(), GOODS)
    assert declared(line) == (["eggs", "gluten", "milk"], ["nuts", "soya", "sulphites"])


def test_may_contain_from_the_maker():
    assert declared(register(oatcake(), GOODS)) == ([], ["gluten", "milk"])


def test_the_stronger_word_wins_in_any_order():
    goods = {**GOODS, "Syrup": Goods(frozenset({"gluten"}))}
    assert register(oatcake(), goods)["gluten"] is Answer.CONTAINS
    goods = {"Oats": Goods(frozenset({"gluten"})), "Syrup": Goods(may_contain=frozenset({"gluten"}))}
    assert register(oatcake(), goods)["gluten"] is Answer.CONTAINS


def test_of_unknown_goods_nothing_is_said():
    with pytest.raises(UnknownGoods, match="Syrup"):
        register(oatcake(), {"Oats": GOODS["Oats"]})
    odd = read("# Oatcake (FD-205)\nmakes 4 x 100 g\nbeside: walnuts\nkeeps: 7 days\nOats | 300 g\n")
    with pytest.raises(UnknownGoods, match="walnuts"):
        register(odd, GOODS)


def test_who_is_careful_accepts_no_may_contain():
    line = register(oatcake(), GOODS)
    assert not safe_for(line, ["gluten"])
    assert safe_for(line, ["gluten"], careful=False)
    assert safe_for(line, ["nuts", "eggs"])
    assert safe_for(line, [])


def test_what_is_contained_is_safe_for_nobody_who_avoids_it():
    line = register(cake(), GOODS)
    assert not safe_for(line, ["celery", "milk"], careful=False)
    with pytest.raises(UnknownGoods, match="walnuts"):
        safe_for(line, ["walnuts"])


def test_vegan_is_about_ingredients_only():
    assert is_vegan(oatcake(), GOODS)
    assert not is_vegan(cake(), GOODS)
    honey = read("# Oatcake (FD-205)\nmakes 4 x 100 g\nkeeps: 7 days\nOats | 300 g\nHoney | 100 g\n")
    assert not is_vegan(honey, GOODS)
    assert not is_vegan(oatcake(), {**GOODS, "Oats": Goods(frozenset({"milk"}))})


def test_changes_the_worse_first():
    before = register(oatcake(), GOODS)
    after = {**before, "gluten": Answer.CONTAINS, "milk": Answer.NO, "nuts": Answer.MAY_CONTAIN}
    assert changed(before, after) == ["now contains gluten", "now may contain nuts", "no longer may contain milk"]
    assert changed(after, before) == ["now may contain milk", "no longer contains gluten", "no longer may contain nuts"]
    assert changed(before, before) == []


def test_day_one_is_the_day_of_making():
    assert last_day(date(2026, 1, 14), 1) == date(2026, 1, 14)
    assert last_day(date(2026, 1, 30), 4) == date(2026, 2, 2)


def test_the_makers_date_wins_if_it_is_earlier():
    made = date(2026, 1, 14)
    assert last_day(made, 4, date(2026, 1, 16)) == date(2026, 1, 16)
    assert last_day(made, 4, date(2026, 1, 18)) == date(2026, 1, 17)


def test_a_dot():
    assert str(dot(cake(), date(2026, 1, 14), " lv ")) == "FD-207 Sat 17.01. LV"
    assert dot(cake(), date(2026, 1, 14), "abc", date(2026, 1, 15)).last == date(2026, 1, 15)


@pytest.mark.parametrize("initials", ["", "L", "LVXX", "L1", "  "])
def test_without_initials_it_is_no_dot(initials: str):
    with pytest.raises(ValueError, match="initials"):
        dot(cake(), date(2026, 1, 14), initials)


@pytest.mark.parametrize(
    ("now", "sold"),
    [
        (datetime(2026, 1, 13, 23, 0), True),
        (datetime(2026, 1, 14, 17, 59, 59), True),
        (datetime(2026, 1, 14, 18, 0), False),
        (datetime(2026, 1, 15, 8, 0), False),
    ],
)
def test_on_the_last_day_until_six(now: datetime, sold: bool):
    assert may_be_sold(date(2026, 1, 14), now) is sold


def test_freezing():
    made = date(2026, 1, 14)
    assert freeze("FD-212", made, made) == date(2026, 3, 11)
    for day, before in ((date(2026, 1, 15), False), (made, True), (date(2026, 1, 13), False)):
        with pytest.raises(ValueError, match="on the day made, once"):
            freeze("FD-212", made, day, before)
    with pytest.raises(ValueError, match="FD-207 is never frozen"):
        freeze("FD-207", made, made)


def test_thawing():
    assert thawed_until(datetime(2026, 3, 11, 9, 30), date(2026, 3, 11)) == datetime(2026, 3, 12, 9, 30)
    with pytest.raises(ValueError, match="frozen until 2026-03-11"):
        thawed_until(datetime(2026, 3, 12, 0, 0), date(2026, 3, 11))


def test_use_by_means_stop():
    printed = date(2026, 1, 14)
    assert usable("use-by", printed, printed)
    assert not usable("use-by", printed, date(2026, 1, 15), initials=True)


def test_best_before_has_thirty_days_with_initials():
    printed = date(2026, 1, 14)
    assert usable("best-before", printed, printed)
    assert not usable("best-before", printed, date(2026, 1, 15))
    assert usable("best-before", printed, date(2026, 2, 13), initials=True)
    assert not usable("best-before", printed, date(2026, 2, 14), initials=True)
    with pytest.raises(ValueError, match="no date of kind 'sell-by'"):
        usable("sell-by", printed, printed)


def test_first_out_first():
    shelf = {"b": date(2026, 1, 16), "a": date(2026, 1, 16), "old": date(2026, 1, 13), "today": date(2026, 1, 14)}
    assert turn(shelf, date(2026, 1, 14)) == ["today", "a", "b"]


def test_ingredients_by_weight_with_allergens_in_capitals():
    assert ingredients(cake(), GOODS) == "flour (GLUTEN), eggs (EGGS), butter (MILK), lemon"


def test_much_water_is_named():
    more = read("# Soup (FD-212)\nmakes 1 x 100 g\nkeeps: 3 days\nLemon | 950 g\nWater | 50 g\n")
    assert ingredients(more, GOODS) == "lemon, water"
    less = read("# Soup (FD-212)\nmakes 1 x 100 g\nkeeps: 3 days\nLemon | 951 g\nWater | 49 g\n")
    assert ingredients(less, GOODS) == "lemon"


def test_of_one_weight_by_the_alphabet():
    twins = read("# Soup (FD-212)\nmakes 1 x 100 g\nkeeps: 3 days\nSyrup | 50 g\nOats | 50 g\n")
    assert ingredients(twins, GOODS) == "oats, syrup"


def test_lines_are_broken_between_words():
    assert wrapped("aa bb cc dd", 5) == ["aa bb", "cc dd"]
    assert wrapped("aa bb cc dd", 4) == ["aa", "bb", "cc", "dd"]
    assert wrapped("a incomprehensible b", 6) == ["a", "incomprehensible", "b"]
    assert wrapped("", 6) == [""]


def test_a_label():
    assert label(cake(), GOODS, date(2026, 1, 17), 330) == [
        "LEMON DRIZZLE                  £3.30",
        "Ingredients: flour (GLUTEN), eggs",
        "(EGGS), butter (MILK), lemon.",
        "May contain nuts, soya, sulphites.",
        "Keep cold. Use by 17.01.2026",
        "150 g",
    ]


def test_a_label_without_a_warning():
    plain = read("# Syrup (OT-301)\nmakes 1 x 30 ml\nkeeps: 2 weeks\nSyrup | 100 g\n")
    assert label(plain, GOODS, date(2026, 1, 27), 105) == [
        "SYRUP                          £1.05",
        "Ingredients: syrup.",
        "Best before end of 27.01.2026",
        "30 ml",
    ]
