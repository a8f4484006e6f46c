"""A Thursday in the bakery: what the parts do together."""

from datetime import date, datetime, timedelta

import pytest

from recipes.allergens import ALLERGENS, Answer, Goods, changed, declared, is_vegan, register, safe_for
from recipes.book import read
from recipes.costing import batch_cost, cost_percent, least_price, portion_pence, price_on, too_dear
from recipes.label import ingredients, label, wrapped
from recipes.quantities import Amount, on_scale, parse_amount
from recipes.scaling import Plan, enough, loads, plan, shopping, vessels_for, weigh
from recipes.shelf import MAY_BE_FROZEN, dot, freeze, last_day, may_be_sold, thawed_until, turn, usable

BREAD = """# Banana bread (FD-204)
makes 24 x 95 g in 2 tins
beside: sesame
keeps: 4 days wrapped
Bananas | 740 g
Flour | 560 g
Eggs | 300 g | eggs
Walnuts | 180 g
Cinnamon | 5 g | to taste
"""
SOUP = """# Celeriac soup (FD-212)
makes 33 x 300 ml in 1 pot
keeps: 3 days cold
Celeriac | 3.4 kg
Stock | 5 l
Oat drink | 50 cl
Salt | 60 g | to taste
Bay leaves | 4
"""
GOODS = {
    "Bananas": Goods(),
    "Flour": Goods(frozenset({"gluten"})),
    "Eggs": Goods(frozenset({"eggs"}), animal=frozenset({"eggs"})),
    "Walnuts": Goods(frozenset({"nuts"}), frozenset({"peanuts"})),
    "Cinnamon": Goods(),
    "Celeriac": Goods(frozenset({"celery"})),
    "Stock": Goods(frozenset({"celery"})),
    "Oat drink": Goods(may_contain=frozenset({"gluten"})),
    "Salt": Goods(),
    "Bay leaves": Goods(),
}
THURSDAY = date(2026, 1, 15)


def test_plans_for_the_day():
    bread, soup = read(BREAD), read(SOUP)
    assert plan(bread, 150, 5) == Plan(13, (5, 4, 4), 156)
    assert plan(bread, 23, 5) == Plan(2, (2,), 24)
    assert plan(soup, 60, 1) == Plan(2, (1, 1), 66)
    assert [vessels_for(soup, n) for n in (0, 31, 32, 63, 64)] == [0, 1, 2, 2, 3]
    assert vessels_for(bread, 100, 20) == 10
    assert [sum(loads(n, 4)) for n in range(20)] == list(range(20))


def test_weighing_and_shopping():
    bread, soup = weigh(read(BREAD), 5), weigh(read(SOUP), 3)
    assert [(each.name, str(each.amount), each.eggs) for each in bread] == [
        ("Bananas", "1,850 g", 0),
        ("Flour", "1,400 g", 0),
        ("Eggs", "750 g", 15),
        ("Walnuts", "450 g", 0),
        ("Cinnamon", "10 g", 0),
    ]
    assert [(each.name, str(each.amount)) for each in soup] == [
        ("Stock", "15,000 ml"),
        ("Celeriac", "10,200 g"),
        ("Oat drink", "1,500 ml"),
        ("Salt", "120 g"),
        ("Bay leaves", "12"),
    ]
    bought = shopping({"bread": bread, "soup": soup, "more bread": bread})
    assert list(bought)[:3] == ["Bananas", "Bay leaves", "Celeriac"]
    assert bought["Flour"] == Amount(28_000, "g")
    missing = enough(
        bought, {name: amount for name, amount in bought.items() if name != "Salt"} | {"Flour": Amount(27_991, "g")}
    )
    assert missing == {"Flour": Amount(10, "g"), "Salt": Amount(1200, "g")}


def test_a_half_tin_has_what_the_scale_shows():
    half = {each.name: (each.amount.tenths, each.eggs) for each in weigh(read(BREAD), 1)}
    assert half == {
        "Bananas": (3700, 0),
        "Flour": (2800, 0),
        "Eggs": (1500, 3),
        "Walnuts": (900, 0),
        "Cinnamon": (25, 0),
    }
    assert [on_scale(parse_amount(text)).tenths for text in ("9.8 g", "12.4 g", "102 g", "1,004 g")] == [
        100,
        120,
        1000,
        10_000,
    ]


def test_the_register_of_the_day():
    bread, soup = register(read(BREAD), GOODS), register(read(SOUP), GOODS)
    assert declared(bread) == (["eggs", "gluten", "nuts"], ["peanuts", "sesame"])
    assert declared(soup) == (["celery"], ["gluten"])
    assert [name for name in ALLERGENS if safe_for(bread, [name])] == [
        name for name in ALLERGENS if name not in ("eggs", "gluten", "nuts", "peanuts", "sesame")
    ]
    assert safe_for(bread, ["peanuts", "sesame"], careful=False)
    assert not safe_for(soup, ["milk", "celery"], careful=False)
    assert (is_vegan(read(BREAD), GOODS), is_vegan(read(SOUP), GOODS)) == (False, True)


def test_a_new_oat_drink_freezes_the_soup():
    before = register(read(SOUP), GOODS)
    goods = {**GOODS, "Oat drink": Goods(frozenset({"gluten", "soya"}), animal=frozenset({"honey"}))}
    after = register(read(SOUP), goods)
    assert changed(before, after) == ["now contains gluten", "now contains soya"]
    assert changed(after, before) == ["no longer contains gluten", "no longer contains soya"]
    assert not is_vegan(read(SOUP), goods)
    assert after["celery"] is before["celery"] is Answer.CONTAINS


def test_dots_of_the_day():
    bread, soup = read(BREAD), read(SOUP)
    assert str(dot(bread, THURSDAY, "lv")) == "FD-204 Sun 18.01. LV"
    assert str(dot(soup, THURSDAY, "mbo", date(2026, 1, 16))) == "FD-212 Fri 16.01. MBO"
    assert [last_day(THURSDAY, days).day for days in (1, 2, 14)] == [15, 16, 28]
    with pytest.raises(ValueError, match="initials 'x'"):
        dot(bread, THURSDAY, "x")


def test_what_is_left_on_sunday_evening():
    last = dot(read(BREAD), THURSDAY, "lv").last
    hours = [may_be_sold(last, datetime(2026, 1, 18, hour)) for hour in (0, 17, 18, 23)]
    assert hours == [True, True, False, False]
    assert may_be_sold(last, datetime(2026, 1, 17, 23))
    assert not may_be_sold(last, datetime(2026, 1, 19, 0))
    assert turn({"bread": last, "soup": date(2026, 1, 17), "cake": last}, date(2026, 1, 18)) == ["bread", "cake"]


def test_the_freezer():
    assert {"FD-204", "FD-208", "FD-212"} == MAY_BE_FROZEN
    for sku in sorted(MAY_BE_FROZEN):
        last = freeze(sku, THURSDAY, THURSDAY)
        assert last - THURSDAY == timedelta(days=56)
        assert thawed_until(datetime(2026, 3, 12, 23), last) == datetime(2026, 3, 13, 23)
        with pytest.raises(ValueError, match="once"):
            freeze(sku, THURSDAY, THURSDAY, frozen_before=True)
        with pytest.raises(ValueError, match="once"):
            freeze(sku, THURSDAY, THURSDAY + timedelta(days=1))
    with pytest.raises(ValueError, match="never frozen"):
        freeze("FD-201", THURSDAY, THURSDAY)
    with pytest.raises(ValueError, match="frozen until"):
        thawed_until(datetime(2026, 3, 13, 1), date(2026, 3, 12))


def test_dates_that_makers_print():
    days = [THURSDAY + timedelta(days=days) for days in (-1, 0, 1, 30, 31)]
    assert [usable("use-by", THURSDAY, day) for day in days] == [True, True, False, False, False]
    assert [usable("best-before", THURSDAY, day) for day in days] == [True, True, False, False, False]
    assert [usable("best-before", THURSDAY, day, initials=True) for day in days] == [True, True, True, True, False]
    with pytest.raises(ValueError, match="'packed'"):
        usable("packed", THURSDAY, THURSDAY)


def test_the_price_of_a_slice():
    prices = {
        name: [(date(2025, 1, 1), 200), (date(2026, 2, 1), 300)] for name in ("Bananas", "Flour", "Eggs", "Walnuts")
    }
    prices["Cinnamon"] = [(date(2025, 6, 1), 1999)]
    bread = read(BREAD)
    assert batch_cost(bread, prices, THURSDAY) == 14_800 + 11_200 + 6000 + 3600 + 1000
    assert portion_pence(bread, 36_600) == 16
    assert batch_cost(bread, prices, date(2026, 2, 1)) == 54_400
    assert [price_on(prices["Flour"], date(2026, month, 1)) for month in (1, 2, 3)] == [200, 300, 300]
    assert least_price(16, taxed=True) == 60
    assert least_price(16, taxed=False) == 50
    assert [cost_percent(16, price, taxed=True) for price in (50, 60, 320)] == [38, 32, 6]
    assert too_dear(16, 50, taxed=True)
    assert not too_dear(16, 60, taxed=True)


def test_labels_of_the_day():
    assert ingredients(read(BREAD), GOODS) == "bananas, flour (GLUTEN), eggs (EGGS), walnuts (NUTS), cinnamon"
    assert label(read(BREAD), GOODS, date(2026, 1, 18), 1250) == [
        "BANANA BREAD                  £12.50",
        "Ingredients: bananas, flour",
        "(GLUTEN), eggs (EGGS), walnuts",
        "(NUTS), cinnamon.",
        "May contain peanuts, sesame.",
        "Best before end of 18.01.2026",
        "95 g",
    ]
    assert label(read(SOUP), GOODS, date(2026, 1, 17), 600)[-3:] == [
        "May contain gluten.",
        "Keep cold. Use by 17.01.2026",
        "300 ml",
    ]
    assert [len(line) for line in wrapped("x" * 9 + " " + "y" * 26 + " z")] == [36, 1]
