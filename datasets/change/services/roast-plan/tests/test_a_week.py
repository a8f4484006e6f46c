"""A week of the roastery from the orders to the cup: what the parts do together."""

from datetime import date, timedelta

import pytest

from roasting.batches import batches, green_for, left_out, loads, mixed, roasted_from
from roasting.coffees import (
    BERTHA,
    BRAZIL,
    CUMBRE,
    DECAF,
    FOGHORN,
    GUJI,
    HUILA,
    MARJORIE,
    ROPEWALK,
    SINGLE_GUJI,
    SLACK_TIDE,
)
from roasting.cupping import Verdict, counts, form_score, label_needs_look, show, table_score, verdict
from roasting.day import arranged, lot_code, spread, timed
from roasting.green import Bag, NotEnough, months_between, queue, take, to_call_off, too_old, weeks_left
from roasting.orders import parse_order, to_roast, totals
from roasting.sheet import footer, from_store, lines

MONDAY = date(2026, 1, 12)
ORDERS = """
W01 Tue Foghorn 30 kg
W07 Thu Foghorn 10 kg + 4 x 250 g
C03 Wed Slack Tide 6.5 kg
ON  Thu Ethiopia Guji Halo 24 x 250 g
C05 Wed Ropewalk Filter 12 kg
"""


def store() -> list[Bag]:
    """Return what stands in the store on Monday."""
    return [
        Bag(11, BRAZIL, date(2025, 12, 9), grams=9000),
        Bag(12, BRAZIL, date(2025, 6, 24)),
        Bag(21, HUILA, date(2025, 11, 4), moisture_then=112, moisture_now=103),
        Bag(22, HUILA, date(2025, 7, 1), grams=4000),
        Bag(31, CUMBRE, date(2025, 6, 10), held=True),
        Bag(32, CUMBRE, date(2025, 10, 7), grams=10_000),
        Bag(41, DECAF, date(2025, 6, 12)),
    ]


def test_from_orders_to_batches():
    orders = [parse_order(line) for line in ORDERS.strip().splitlines()]
    wanted = totals(orders)
    assert wanted == {"Foghorn": 41_000, "Slack Tide": 6500, "Ethiopia Guji Halo": 6300, "Ropewalk Filter": 12_000}
    assert totals(orders, "Wed") == {"Foghorn": 30_000, "Slack Tide": 6500, "Ropewalk Filter": 12_000}
    assert to_roast(wanted, {"Foghorn": 5000, "Ropewalk Filter": 13_000})["Foghorn"] == 36_000
    foghorn = batches(FOGHORN, 36_000, MARJORIE)
    assert [batch.grams for batch in foghorn] == [21_227, 21_226]
    assert foghorn[0].green == ((BRAZIL, 10_614), (HUILA, 6368), (CUMBRE, 4245))
    assert left_out(FOGHORN, 36_000, foghorn) == 1
    assert [batch.grams for batch in batches(SLACK_TIDE, 6500, BERTHA)] == [7550]
    assert [batch.grams for batch in batches(SINGLE_GUJI, 6300, BERTHA)] == [7259]
    assert [(batch.green[0][0], batch.grams) for batch in batches(ROPEWALK, 12_000, BERTHA)] == [(HUILA, 8353)]
    assert [batch.grams for batch in batches(ROPEWALK, 12_000, BERTHA, promised=True)] == [8353, 6000]


def test_mondays_sheet():
    made = [*batches(SLACK_TIDE, 6500, BERTHA), *batches(FOGHORN, 15_000, BERTHA), *batches(SINGLE_GUJI, 6300, BERTHA)]
    slots = timed(MONDAY, BERTHA, arranged(made))
    assert lines(slots) == [
        "07:30   260112B01  Foghorn               8.8",
        "07:50   260112B02  Foghorn               8.8",
        "08:16 * 260112B03  Ethiopia Guji Halo    7.3",
        "08:42 * 260112B04  Slack Tide            7.6",
    ]
    assert footer(slots) == "4 batches, 27 kg roasted, until 09:02"
    assert from_store(slots) == {BRAZIL: 8846, DECAF: 7550, GUJI: 7259, HUILA: 5306, CUMBRE: 3537}
    assert spread(made, BERTHA, 2) == [sorted(made, key=lambda batch: "FES".index(batch.coffee[0])), []]
    assert lot_code(MONDAY + timedelta(days=3), MARJORIE, 18) == "260115M18"


def test_bags_for_the_week():
    bags = store()
    assert [bag.number for bag in queue(bags, HUILA)] == [21, 22]
    assert [bag.number for bag in queue(bags, BRAZIL)] == [12, 11]
    assert [bag.number for bag in queue(bags, CUMBRE)] == [32]
    after, taken = take(bags, BRAZIL, 61_000)
    assert taken == [(12, 60_000), (11, 1000)]
    assert [bag.grams for bag in after if bag.coffee == BRAZIL] == [8000, 0]
    after, taken = take(after, HUILA, 60_001)
    assert taken == [(21, 60_000), (22, 1)]
    with pytest.raises(NotEnough, match="Cumbre Alta: 1 g missing of 10001"):
        take(after, CUMBRE, 10_001)
    assert sum(bag.grams for bag in after) == sum(bag.grams for bag in bags) - 121_001


def test_what_is_old_and_what_is_called_off():
    bags = store()
    assert [bag.number for bag in bags if too_old(bag, date(2026, 1, 12))] == [41]
    assert [bag.number for bag in bags if too_old(bag, date(2026, 5, 24))] == [12, 31, 41]
    assert months_between(date(2024, 12, 31), date(2026, 1, 30)) == 12
    assert [weeks_left(bags, coffee, 10_000) for coffee in (BRAZIL, HUILA, CUMBRE, GUJI)] == [6, 6, 7, 0]
    use = dict.fromkeys((BRAZIL, HUILA, CUMBRE), 10_000)
    assert to_call_off(bags, use, {BRAZIL: 0, HUILA: 1, CUMBRE: 1}) == [HUILA]
    assert to_call_off(bags, use, {BRAZIL: 1, HUILA: 0, CUMBRE: 2}) == [BRAZIL, CUMBRE]


def test_weights_hold_together():
    for coffee in (FOGHORN, SLACK_TIDE, SINGLE_GUJI):
        green = green_for(20_000, coffee.loss)
        assert roasted_from(green, coffee.loss) >= 20_000 > roasted_from(green - 2, coffee.loss)
        assert sum(grams for _, grams in mixed(coffee.parts, green)) == green
    for green in range(6000, 60_000, 1777):
        for roaster in (MARJORIE, BERTHA):
            assert all(roaster.least_grams <= load <= roaster.full_grams for load in loads(green, roaster))
            assert sum(loads(green, roaster)) <= green <= max(sum(loads(green, roaster, promised=True)), green)


def test_fridays_cupping():
    fields = [34, 34, 33, 34, 33, 33, 40, 34, 32, 31]
    scores = [form_score(fields), form_score(fields, taints=1), form_score(fields, defects=1), form_score([40] * 10)]
    assert [show(score) for score in scores] == ["84.5", "82.5", "80.5", "100"]
    assert show(table_score(scores)) == "83.5"
    assert show(table_score(scores[:3])) == "82.5"
    assert verdict(table_score(scores)) is Verdict.HELD
    assert form_score([0] * 10, taints=5) == 0
    assert counts(scores[0], scores[1])
    assert not counts(scores[0], scores[1] - 1)


def test_marks_at_their_edges():
    edges = (327, 328, 335, 336, 341, 342)
    assert [verdict(score).value for score in edges] == ["rejected", "held", "held", "passed", "passed", "passed"]
    assert [verdict(score, loss_off=16).value for score in edges[1:4]] == ["rejected", "rejected", "passed"]
    assert [verdict(score, loss_off=-15).value for score in edges[1:4]] == ["held", "held", "passed"]
    assert [verdict(342, drop_off=off, baked=True).value for off in (-31, -30, 30, 31)] == [
        "rejected",
        "passed",
        "passed",
        "rejected",
    ]
    assert verdict(342, loss_off=99, drop_off=99).value == "passed"
    assert [label_needs_look(score, True) for score in edges] == [False, False, False, True, True, False]
    assert not any(label_needs_look(score, False) for score in edges)


def test_forms_that_are_refused():
    for fields, why in (([30] * 9, "9 fields"), ([30] * 9 + [41], "0 to 10"), ([30] * 9 + [-1], "0 to 10")):
        with pytest.raises(ValueError, match=why):
            form_score(fields)
    for scores in ([], [330], [330, 331]):
        with pytest.raises(ValueError, match=f"{len(scores)} tasters"):
            table_score(scores)
