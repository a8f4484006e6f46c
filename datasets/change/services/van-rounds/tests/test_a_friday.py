"""A Friday of Kittiwake from the orders to the pad: what the parts do together."""

from datetime import date, datetime, timedelta

import pytest

from vans.charge import Leg, first_below, minutes_at_pier, over, pier_pence, used
from vans.cutoffs import cafe_cutoff, charge_for_change, next_van, wholesale_cutoff
from vans.loading import Drop, allowed, load_order, shared, too_much
from vans.note import Change, credit_pence, lines, note_number, unsigned
from vans.pad import Move, at_doors, deposit_pence, open_since, overdue, written_off
from vans.rounds import Fault, at_the_door, back, board, faults, latest_start, timed, way
from vans.windows import Window, clock, minute, parse_window

FRIDAY = date(2026, 1, 16)
DROPS = [
    Drop("C04", bags=30, other_grams=2500),
    Drop("C09", bags=10, kegs=2),
    Drop("W07", tubs=4, stairs=True),
    Drop("C08", bags=6, kegs=1, other_grams=900),
]
WAYS = {("C02", "C04"): 10, ("C04", "C09"): 12, ("C09", "W07"): 70, ("W07", "C08"): 25, ("C08", "C02"): 15}


def open_doors() -> dict[str, Window]:
    """Return the hours of that day."""
    texts = {"C04": "05:35-05:50", "C09": "05:55-06:15", "W07": "08:00-09:30", "C08": "from 08:00"}
    return {door: parse_window(text) for door, text in texts.items()}


def test_what_is_loaded():
    assert [drop.crates for drop in DROPS] == [3, 1, 0, 1]
    assert [drop.grams for drop in DROPS] == [37_900, 55_800, 21_600, 30_700]
    assert [drop.carries for drop in DROPS] == [1, 1, 1, 1]
    assert [drop.is_cold for drop in DROPS] == [False, True, False, True]
    assert load_order(DROPS) == [
        "C08 kegs",
        "C08 bags",
        "C08 rest",
        "W07 tubs",
        "C09 kegs",
        "C09 bags",
        "C04 bags",
        "C04 rest",
    ]
    assert allowed(DROPS, {"W07", "W09"}) == [DROPS[0], DROPS[1], DROPS[3]]
    assert shared(DROPS, 93_700) == (DROPS[:2], DROPS[2:])
    assert shared(DROPS, 93_699) == (DROPS[:1], DROPS[1:])
    assert too_much(DROPS) == []
    assert too_much([*DROPS, Drop("C04", bags=600)]) == ["186 kg too heavy", "11 crates too many", "C04 twice"]


def test_the_round():
    stops = timed(DROPS, minute("05:20"), open_doors(), WAYS)
    assert [(stop.door, clock(stop.arrives), clock(stop.begins), clock(stop.leaves)) for stop in stops] == [
        ("C04", "05:30", "05:35", "05:43"),
        ("C09", "05:55", "05:55", "06:03"),
        ("W07", "07:13", "08:00", "08:08"),
        ("C08", "08:33", "08:33", "08:41"),
    ]
    assert clock(back(stops, WAYS)) == "08:56"
    assert faults(DROPS, stops, open_doors(), minute("05:20")) == [Fault("W07", "waits", 47), Fault("C08", "warm", 103)]
    assert board(stops)[1:3] == [" 2 05:55 C09 -> 06:03", " 3 07:13 W07 (waits 47) -> 08:08"]
    assert [at_the_door(drop) for drop in DROPS] == [8, 8, 8, 8]
    assert way(WAYS, "C02", "C08") == 15


def test_a_round_that_leaves_too_late():
    assert latest_start(DROPS, open_doors(), WAYS) == minute("05:40")
    stops = timed(DROPS, minute("05:46"), open_doors(), WAYS)
    assert faults(DROPS, stops, open_doors(), minute("05:46"))[:2] == [Fault("C04", "late", 6), Fault("C09", "late", 1)]


def test_a_long_round_has_its_break_once():
    far = {pair: minutes * 4 for pair, minutes in WAYS.items()}
    stops = timed(DROPS, 320, {}, far)
    assert [stop.begins - stop.arrives for stop in stops] == [0, 0, 20, 0]
    assert stops[-1].leaves == 320 + 4 * 117 + 4 * 8 + 20


def test_orders_for_the_round():
    thursday = FRIDAY - timedelta(days=1)
    assert cafe_cutoff(FRIDAY) == datetime(2026, 1, 15, 13, 0)
    assert wholesale_cutoff(FRIDAY) == datetime(2026, 1, 8, 12, 0)
    assert [next_van(datetime(2026, 1, 15, 13, n), {0, 2, 4}) for n in (0, 1)] == [FRIDAY, date(2026, 1, 19)]
    assert next_van(datetime(2026, 1, 9, 8, 0), {3}, wholesale=True, shut={date(2026, 1, 22)}) == date(2026, 1, 29)
    leaves = datetime(2026, 1, 16, 5, 20)
    moments = (datetime(2026, 1, 15, 12, 59), datetime(2026, 1, 15, 20, 0), datetime(2026, 1, 16, 5, 0))
    assert [charge_for_change(each, cafe_cutoff(FRIDAY), leaves) for each in moments] == [
        "yes",
        "ask Ellie Marsh",
        "no",
    ]
    assert wholesale_cutoff(thursday) == wholesale_cutoff(FRIDAY)


def test_a_frosty_round_of_razorbill():
    legs = [Leg(210, 500_000), Leg(260, 300_000), Leg(240, 0)]
    left = over(legs, 9500, -20)
    assert [used(leg, -20) for leg in legs] == [2474, 2915, 2691]
    assert left == [7026, 4111, 1420]
    assert first_below(left) == 2
    assert minutes_at_pier(left, 1) == 2
    assert pier_pence(minutes_at_pier(left, 1)) == 38
    assert over(legs, 9500, 80) == [7385, 4915, 2635]
    assert first_below(over(legs, 9500, 80)) is None


def test_the_pad_over_a_winter():
    moves = [
        Move(FRIDAY, "C09", "keg", 2),
        Move(FRIDAY, "W07", "tub", 4),
        Move(FRIDAY + timedelta(days=7), "C09", "keg", 1),
        Move(FRIDAY + timedelta(days=7), "C09", "keg", -2),
        Move(FRIDAY + timedelta(days=14), "W07", "tub", -3),
        Move(FRIDAY + timedelta(days=14), "W07", "tub", 2),
        Move(FRIDAY + timedelta(days=14), "C04", "crate", 3),
    ]
    assert at_doors(moves) == {("C09", "keg"): 1, ("W07", "tub"): 3, ("C04", "crate"): 3}
    assert [deposit_pence(moves, door) for door in ("C09", "W07", "C04")] == [3500, 1800, 0]
    assert open_since(moves, "W07", "tub") == [(FRIDAY, 1), (FRIDAY + timedelta(days=14), 2)]
    assert open_since(moves, "C09", "keg") == [(FRIDAY + timedelta(days=7), 1)]
    assert overdue(moves, FRIDAY + timedelta(days=29)) == [("C09", "keg", 1), ("W07", "tub", 1)]
    assert [written_off(moves, FRIDAY + timedelta(days=days)) for days in (89, 90, 97, 104)] == [0, 300, 4800, 7350]


def test_the_notes():
    numbers = [note_number(16, "Kittiwake", stop) for stop in range(1, 5)]
    assert [number[:-1] for number in numbers] == ["K01601", "K01602", "K01603", "K01604"]
    assert len({number[-1] for number in numbers}) == 4
    torn = Change(1, "torn", ("Price", "Sato"))
    assert lines(DROPS[1], numbers[1], changes=[torn]) == [
        f"C09                        {numbers[1]}",
        "bags 1 kg                        9",
        "kegs                             2",
        "left out 1: torn",
    ]
    assert lines(Drop("W03", tubs=12), numbers[0], purchase="77")[0] == f"W03 77                     {numbers[0]}"
    with pytest.raises(ValueError, match="31 of 30 bags left out"):
        lines(DROPS[0], numbers[0], changes=[Change(31, "wet", ("a", "b"))])
    assert credit_pence([torn, torn, torn], 1850, 3) == 5384
    assert unsigned(dict.fromkeys(numbers, "x") | {numbers[2]: " "}) == [numbers[2]]
