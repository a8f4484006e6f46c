"""Tests of coffees, orders and batches."""

import pytest

from roasting.batches import Batch, batches, green_for, left_out, loads, mixed, roasted_from
from roasting.coffees import (
    BERTHA,
    CUMBRE,
    FOGHORN,
    GUJI,
    HUILA,
    MARJORIE,
    ROPEWALK,
    SINGLE_GUJI,
    SLACK_TIDE,
    Coffee,
    Roaster,
)
from roasting.orders import BadOrder, Order, parse_order, parse_weight, to_roast, totals


def test_a_recipe_is_whole():
    Coffee("x", (("a", 999), ("b", 1)), 150)
    for share in (998, 1000):
        with pytest.raises(ValueError, match=f"x: {share + 1} thousandths"):
            Coffee("x", (("a", share), ("b", 1)), 150)


@pytest.mark.parametrize("loss", [0, 300])
def test_a_loss_is_possible(loss: int):
    with pytest.raises(ValueError, match=f"x: loses {loss} thousandths"):
        Coffee("x", (("a", 1000),), loss)
    assert Coffee("x", (("a", 1000),), 1).loss == 1
    assert Coffee("x", (("a", 1000),), 299).loss == 299


def test_single_origins():
    assert [each.is_single_origin for each in (FOGHORN, ROPEWALK, SLACK_TIDE, SINGLE_GUJI)] == [
        False,
        False,
        False,
        True,
    ]


def test_sixty_percent_of_a_drum():
    assert (MARJORIE.least_grams, BERTHA.least_grams) == (13_200, 6000)
    assert Roaster("x", "X", 1001, 0, 1, 1, 1).least_grams == 601


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("24 kg", 24_000),
        ("3.5 kg", 3500),
        ("250 g", 250),
        ("2 x 250 g", 500),
        ("3 x 1 kg", 3000),
        ("24 kg + 2 x 250 g", 24_500),
        ("1 kg+120 g + 1 x 1000 g", 2120),
    ],
)
def test_weights_are_read(text: str, grams: int):
    assert parse_weight(text) == grams


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("24", "'24' is no weight"),
        ("1 kg + ", "'' is no weight"),
        ("2 x 300 g", "no bags of 300 g"),
        ("2 x 2 kg", "no bags of 2000 g"),
        ("1.25 kg", "no weight"),
    ],
)
def test_other_weights_are_refused(text: str, why: str):
    with pytest.raises(BadOrder, match=why):
        parse_weight(text)


def test_orders_are_read():
    assert parse_order(" W01  Tue  Foghorn 24 kg + 2 x 250 g ") == Order("W01", "Tue", "Foghorn", 24_500)
    assert parse_order("C03 Wed Ropewalk Filter 3.5 kg") == Order("C03", "Wed", "Ropewalk Filter", 3500)
    assert parse_order("ON Fri Ethiopia Guji Halo 4 x 250 g") == Order("ON", "Fri", "Ethiopia Guji Halo", 1000)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("W1 Tue Foghorn 24 kg", "CUSTOMER DAY COFFEE WEIGHT"),
        ("W01 Tue Foghorn", "CUSTOMER DAY COFFEE WEIGHT"),
        ("W01 Sat Foghorn 24 kg", "Sat: nothing leaves"),
        ("W01 Tue Fogbell 24 kg", "no coffee 'Fogbell'"),
        ("W01 Tue Foghorn 5 x 1 kg + 999 g", "W01: 5999 g, at least 6000"),
    ],
)
def test_orders_that_go_back(line: str, why: str):
    with pytest.raises(BadOrder, match=why):
        parse_order(line)


def test_only_wholesale_has_a_least_order():
    assert parse_order("W01 Tue Foghorn 6 kg").is_wholesale
    assert not parse_order("C01 Tue Foghorn 1 kg").is_wholesale


def test_carriage_is_paid_from_24_kilos_of_wholesale():
    assert Order("W01", "Tue", "Foghorn", 24_000).carriage_paid
    assert not Order("W01", "Tue", "Foghorn", 23_999).carriage_paid
    assert not Order("C01", "Tue", "Foghorn", 24_000).carriage_paid


def test_totals_until_a_day_with_the_shops_reserve():
    orders = [
        Order("W01", "Tue", "Foghorn", 24_000),
        Order("ON", "Thu", "Foghorn", 1019),
        Order("C03", "Wed", "Ropewalk Filter", 3500),
        Order("C01", "Fri", "Ropewalk Filter", 500),
    ]
    assert totals(orders) == {"Foghorn": 25_069, "Ropewalk Filter": 4000}
    assert totals(orders, "Thu") == {"Foghorn": 25_069, "Ropewalk Filter": 3500}
    assert totals(orders, "Tue") == {"Foghorn": 24_000}


def test_what_stands_in_the_tubs_is_not_roasted():
    wanted = {"Foghorn": 24_000, "Slack Tide": 3000, "Ropewalk Filter": 500}
    assert to_roast(wanted, {"Foghorn": 4000, "Slack Tide": 3000}) == {"Foghorn": 20_000, "Ropewalk Filter": 500}


def test_green_weight_is_rounded_up_and_roasted_weight_down():
    assert green_for(18_000, 152) == 21_227
    assert roasted_from(21_227, 152) == 18_000
    assert roasted_from(21_226, 152) == 17_999
    assert (green_for(850, 150), roasted_from(1000, 150)) == (1000, 850)


def test_green_for_what_is_roasted_always_suffices():
    for loss in (132, 138, 152):
        assert all(roasted_from(green_for(grams, loss), loss) >= grams for grams in range(1, 3000, 7))


@pytest.mark.parametrize(
    ("green", "found"),
    [
        (0, []),
        (13_199, []),
        (13_200, [13_200]),
        (22_000, [22_000]),
        (22_001, [22_000]),
        (26_399, [22_000]),
        (26_400, [13_200, 13_200]),
        (44_001, [14_667, 14_667, 14_667]),
        (66_001, [16_501, 16_500, 16_500, 16_500]),
    ],
)
def test_loads_are_even_and_full_enough(green: int, found: list[int]):
    assert loads(green, MARJORIE) == found


@pytest.mark.parametrize(
    ("green", "found"),
    [(0, []), (1, [13_200]), (13_200, [13_200]), (22_001, [13_200, 13_200]), (39_599, [19_800, 19_799])],
)
def test_what_is_promised_is_roasted(green: int, found: list[int]):
    assert loads(green, MARJORIE, promised=True) == found


def test_the_first_part_takes_what_rounding_leaves():
    assert mixed(FOGHORN.parts, 10_000) == ((FOGHORN.parts[0][0], 5000), (HUILA, 3000), (CUMBRE, 2000))
    assert [grams for _, grams in mixed(FOGHORN.parts, 13_207)] == [6604, 3962, 2641]
    assert mixed(SINGLE_GUJI.parts, 777) == ((GUJI, 777),)


def test_espresso_is_blended_before_roasting():
    made = batches(FOGHORN, 30_000, MARJORIE)
    assert [batch.grams for batch in made] == [17_689, 17_689]
    assert [len(batch.green) for batch in made] == [3, 3]
    assert {batch.coffee for batch in made} == {"Foghorn"}


def test_filter_is_blended_after_roasting():
    made = batches(ROPEWALK, 30_000, MARJORIE)
    # 18 kg and 12 kg roasted are 20,882 and 13,922 g green.
    assert made == [Batch("Ropewalk Filter", ((HUILA, 20_882),)), Batch("Ropewalk Filter", ((GUJI, 13_922),))]


def test_a_part_of_a_filter_that_fills_no_drum_is_left_out_unless_promised():
    assert [batch.green[0][0] for batch in batches(ROPEWALK, 25_000, MARJORIE)] == [HUILA]
    assert [batch.grams for batch in batches(ROPEWALK, 25_000, MARJORIE, promised=True)] == [17_402, 13_200]


def test_what_the_batches_do_not_give():
    made = batches(FOGHORN, 20_000, MARJORIE)
    assert [batch.grams for batch in made] == [22_000]
    assert left_out(FOGHORN, 20_000, made) == 20_000 - 18_656
    assert left_out(FOGHORN, 1000, made) == -17_656
    assert left_out(FOGHORN, 1000, []) == 1000
