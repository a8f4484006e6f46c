"""Tests of scaling, weighing lists and costs."""

from datetime import date

import pytest

from recipes.book import Recipe, read
from recipes.costing import batch_cost, cost_percent, least_price, net_price, portion_pence, price_on, too_dear
from recipes.quantities import Amount
from recipes.scaling import Plan, Weighed, enough, loads, plan, shopping, vessels_for, weigh

LOAF = """# Loaf (FD-204)
makes 48 x 95 g in 4 tins
keeps: 4 days
Flour | 1,120 g
Bananas | 1,480 g
Eggs | 600 g | eggs
Salt | 14 g | to taste
Yeast | 7.5 g
Leaves | 4
"""
ONE_DAY = date(2026, 1, 14)


def loaf() -> Recipe:
    """Return a recipe of four tins with twelve slices each."""
    return read(LOAF)


@pytest.mark.parametrize(("portions", "vessels"), [(0, 0), (1, 1), (11, 1), (12, 2), (46, 4), (47, 5), (100, 9)])
def test_enough_vessels_with_four_percent_to_spare(portions: int, vessels: int):
    # A tin has twelve slices: eleven and their spare are twelve, twelve and theirs are thirteen.
    assert vessels_for(loaf(), portions) == vessels


def test_without_spare():
    assert [vessels_for(loaf(), n, 0) for n in (12, 13, 48)] == [1, 2, 4]
    with pytest.raises(ValueError, match="-1 portions"):
        vessels_for(loaf(), -1)


@pytest.mark.parametrize(
    ("vessels", "oven", "shared"),
    [(0, 4, ()), (4, 4, (4,)), (5, 4, (3, 2)), (9, 4, (3, 3, 3)), (10, 4, (4, 3, 3)), (3, 1, (1, 1, 1)), (2, 6, (2,))],
)
def test_loads_are_even_and_the_fuller_come_first(vessels: int, oven: int, shared: tuple[int, ...]):
    assert loads(vessels, oven) == shared


def test_an_oven_has_room():
    with pytest.raises(ValueError, match="an oven without room"):
        loads(3, 0)


def test_a_plan():
    assert plan(loaf(), 100, 4) == Plan(9, (3, 3, 3), 108)
    assert plan(loaf(), 0, 4) == Plan(0, (), 0)


def test_the_weighing_list_of_the_recipe_as_written():
    assert weigh(loaf(), 4) == [
        Weighed("Bananas", Amount(14_800, "g")),
        Weighed("Flour", Amount(11_200, "g")),
        Weighed("Eggs", Amount(6000, "g"), 12),
        Weighed("Salt", Amount(140, "g")),
        Weighed("Yeast", Amount(75, "g")),
        Weighed("Leaves", Amount(40, "piece")),
    ]


def test_one_tin():
    amounts = {each.name: each.amount.tenths for each in weigh(loaf(), 1)}
    # 3.5 g of salt; 1.875 g of yeast are 1.9, and 2 on the scale.
    assert amounts == {"Bananas": 3700, "Flour": 2800, "Eggs": 1500, "Salt": 35, "Yeast": 20, "Leaves": 10}


def test_salt_does_not_grow_beyond_two_batches():
    salt = [each.amount.tenths for vessels in (7, 8, 9, 40) for each in weigh(loaf(), vessels) if each.name == "Salt"]
    assert salt == [250, 280, 280, 280]


def test_eggs_are_whole():
    eggs = read("# Cake (FD-207)\nmakes 20 x 150 g in 2 trays\nkeeps: 4 days\nEggs | 250 g | eggs\n")
    assert [weigh(eggs, vessels)[0].eggs for vessels in (1, 2, 3, 4)] == [3, 5, 8, 10]
    assert weigh(eggs, 1)[0].amount == Amount(1500, "g")


def test_there_is_never_no_egg():
    little = read("# Cake (FD-207)\nmakes 20 x 150 g in 4 trays\nkeeps: 4 days\nEggs | 90 g | eggs\n")
    assert [weigh(little, vessels)[0].eggs for vessels in (1, 2, 3, 4)] == [1, 1, 1, 2]


def test_equals_stay_as_written():
    twins = read("# Cake (FD-207)\nmakes 20 x 150 g\nkeeps: 4 days\nSugar | 620 g\nButter | 620 g\nFlour | 660 g\n")
    assert [each.name for each in weigh(twins, 1)] == ["Flour", "Sugar", "Butter"]


def test_no_tin_is_no_list():
    with pytest.raises(ValueError, match="0 tins of Loaf"):
        weigh(loaf(), 0)


def test_a_days_shopping():
    lists = {
        "a": [Weighed("Flour", Amount(100, "g")), Weighed("Eggs", Amount(500, "g"), 1)],
        "b": [Weighed("Flour", Amount(50, "g"))],
    }
    assert shopping(lists) == {"Eggs": Amount(500, "g"), "Flour": Amount(150, "g")}
    assert list(shopping(lists)) == ["Eggs", "Flour"]


def test_what_is_missing_is_rounded_up_to_grams():
    sums = {"Flour": Amount(105, "g"), "Salt": Amount(30, "g"), "Oil": Amount(50, "ml"), "Eggs": Amount(500, "g")}
    stock = {"Flour": Amount(90, "g"), "Salt": Amount(30, "g"), "Eggs": Amount(499, "g")}
    assert enough(sums, stock) == {"Flour": Amount(20, "g"), "Oil": Amount(50, "ml"), "Eggs": Amount(10, "g")}


PRICES = {
    "Flour": [(date(2025, 1, 1), 80), (date(2026, 1, 14), 90)],
    "Bananas": [(date(2025, 1, 1), 125)],
    "Eggs": [(date(2025, 1, 1), 410)],
    "Salt": [(date(2025, 1, 1), 60)],
    "Yeast": [(date(2025, 1, 1), 733)],
    "Leaves": [(date(2025, 1, 1), 3)],
}


def test_prices_are_valid_from_their_day():
    assert price_on(PRICES["Flour"], date(2026, 1, 13)) == 80
    assert price_on(PRICES["Flour"], date(2026, 1, 14)) == 90
    assert price_on(PRICES["Flour"], date(2025, 1, 1)) == 80
    with pytest.raises(LookupError, match="no price on 2024-12-31"):
        price_on(PRICES["Flour"], date(2024, 12, 31))


def test_the_cost_of_a_batch():
    # 100.8 + 185 + 246 + 0.84 + 5.4975 (5.50) + 12 pence
    assert batch_cost(loaf(), PRICES, ONE_DAY) == 10_080 + 18_500 + 24_600 + 84 + 550 + 1200
    assert batch_cost(loaf(), PRICES, date(2026, 1, 13)) == 55_014 - 1120


def test_a_portion_is_never_told_too_low():
    assert portion_pence(loaf(), 4800) == 1
    assert portion_pence(loaf(), 4801) == 2
    assert portion_pence(loaf(), batch_cost(loaf(), PRICES, ONE_DAY)) == 12


@pytest.mark.parametrize(("price", "net"), [(320, 267), (300, 250), (350, 292), (1, 1), (3, 3), (33, 28)])
def test_net_prices(price: int, net: int):
    assert net_price(price, taxed=True) == net
    assert net_price(price, taxed=False) == price


def test_the_share_of_the_price():
    assert cost_percent(80, 300, taxed=True) == 32
    assert cost_percent(80, 320, taxed=False) == 25
    assert cost_percent(1, 200, taxed=False) == 1
    assert cost_percent(1, 201, taxed=False) == 0


def test_a_third_is_too_dear():
    assert not too_dear(81, 300, taxed=True)
    assert too_dear(82, 300, taxed=True)


def test_the_least_price():
    assert least_price(80, taxed=True) == 300
    assert least_price(80, taxed=False) == 250
    assert least_price(80, taxed=False, ending=100) == 300
    assert least_price(1, taxed=False) == 10
