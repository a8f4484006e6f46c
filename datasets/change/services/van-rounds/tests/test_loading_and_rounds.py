"""Tests of what goes into a van and of its round."""

import pytest

from vans.loading import Drop, allowed, load_order, shared, too_much
from vans.rounds import Fault, Stop, at_the_door, back, board, faults, latest_start, timed, way
from vans.windows import Window, minute

WAYS = {("C02", "C04"): 9, ("C04", "C09"): 11, ("C09", "C01"): 14, ("C01", "C09"): 16, ("C01", "C02"): 6}
ROUND = [Drop("C04", bags=12), Drop("C09", bags=24, kegs=1), Drop("C01", tubs=5)]
OPEN = {"C04": Window(335, 350), "C09": Window(355, 375), "C01": Window(395, 415)}


@pytest.mark.parametrize(("bags", "crates"), [(0, 0), (1, 1), (12, 1), (13, 2), (24, 2)])
def test_a_crate_holds_twelve_bags(bags: int, crates: int):
    assert Drop("C01", bags=bags).crates == crates


def test_weights():
    assert Drop("C01", bags=13).grams == 13_000 + 2 * 1800
    assert Drop("C01", tubs=2, kegs=1, other_grams=50).grams == 10_800 + 22_000 + 50
    assert Drop("C01").grams == 0


def test_only_kegs_are_cold():
    assert Drop("C01", kegs=1).is_cold
    assert not Drop("C01", bags=30, tubs=3, other_grams=1).is_cold


@pytest.mark.parametrize(
    ("drop", "carries"),
    [
        (Drop("C01"), 1),
        (Drop("C01", bags=48), 1),
        (Drop("C01", bags=49), 2),
        (Drop("C01", bags=12, tubs=2, kegs=2), 2),
        (Drop("W07", other_grams=30_000, stairs=True), 1),
        (Drop("W07", other_grams=30_001, stairs=True), 2),
        (Drop("W07", bags=24, stairs=True), 1),
        (Drop("W07", bags=27, stairs=True), 2),
    ],
)
def test_ways_to_the_door(drop: Drop, carries: int):
    assert drop.carries == carries
    assert at_the_door(drop) == 5 + 3 * carries


def test_stopped_customers_are_not_loaded():
    drops = [Drop("W09", bags=6), Drop("W02", bags=6)]
    assert allowed(drops, {"W09"}) == [drops[1]]
    assert allowed(drops, ()) == drops


def test_650_kilos_are_enough():
    assert too_much([Drop("a", other_grams=325_000), Drop("b", other_grams=325_000)]) == []
    assert too_much([Drop("a", other_grams=650_001)]) == ["1 kg too heavy"]
    assert too_much([Drop("a", other_grams=651_001)]) == ["2 kg too heavy"]


def test_48_crates_and_tubs():
    assert too_much([Drop("a", bags=24 * 12), Drop("b", tubs=24)]) == []
    assert too_much([Drop("a", bags=24 * 12 + 1), Drop("b", tubs=25)]) == ["2 crates too many"]


def test_no_door_twice():
    drops = [Drop("b"), Drop("a"), Drop("b"), Drop("a"), Drop("c"), Drop("a")]
    assert too_much(drops) == ["a twice", "b twice"]


def test_the_last_door_is_loaded_first():
    drops = [Drop("C04", bags=1, tubs=1), Drop("C09", kegs=2, other_grams=5), Drop("C01", bags=3)]
    assert load_order(drops) == ["C01 bags", "C09 kegs", "C09 rest", "C04 tubs", "C04 bags"]


def test_a_heavy_day_is_split():
    drops = [Drop(name, other_grams=300_000) for name in "abc"]
    assert shared(drops) == (drops[:2], drops[2:])
    assert shared(drops, 900_000) == (drops, [])
    assert shared(drops, 899_999) == (drops[:2], drops[2:])
    assert shared(drops, 299_999) == ([], drops)


def test_ways_are_the_same_back_unless_both_are_known():
    assert way(WAYS, "C04", "C02") == 9
    assert (way(WAYS, "C09", "C01"), way(WAYS, "C01", "C09")) == (14, 16)
    assert way(WAYS, "C05", "C05") == 0
    with pytest.raises(KeyError, match="C01 to C04"):
        way(WAYS, "C01", "C04")


def test_a_round_in_time():
    stops = timed(ROUND, minute("05:20"), OPEN, WAYS)
    # 05:29 waits until 05:35, leaves 05:43; 05:54 waits until 05:55.
    assert stops == [Stop("C04", 329, 335, 343), Stop("C09", 354, 355, 363), Stop("C01", 377, 395, 406)]
    assert back(stops, WAYS) == 412
    assert faults(ROUND, stops, OPEN, 320) == []


def test_doors_without_a_window_are_always_open():
    assert timed(ROUND[:1], 320, {}, WAYS) == [Stop("C04", 329, 329, 337)]
    assert timed([Drop("C02", bags=1)], 320, {}, WAYS) == [Stop("C02", 320, 320, 328)]


def test_another_home():
    assert timed([Drop("C09")], 320, {}, WAYS, home="C04")[0].arrives == 331
    assert back([Stop("C09", 0, 0, 300)], WAYS, home="C01") == 314


def test_who_leaves_late_is_late_everywhere():
    stops = timed(ROUND, minute("05:50"), OPEN, WAYS)
    assert faults(ROUND, stops, OPEN, 350) == [Fault("C04", "late", 9), Fault("C09", "late", 3)]


def test_thirty_minutes_may_be_waited():
    window = {"C04": Window(400, 500)}
    drops = [Drop("C04")]
    assert faults(drops, timed(drops, 361, window, WAYS), window, 361) == []
    assert faults(drops, timed(drops, 360, window, WAYS), window, 360) == [Fault("C04", "waits", 31)]


def test_kegs_stand_ninety_minutes():
    cold, warm = [Drop("C04", kegs=1)], [Drop("C04", bags=1)]
    far = {("C02", "C04"): 90}
    assert faults(cold, timed(cold, 300, {}, far), {}, 300) == []
    far = {("C02", "C04"): 93}
    assert faults(cold, timed(cold, 300, {}, far), {}, 300) == [Fault("C04", "warm", 3)]
    assert faults(warm, timed(warm, 300, {}, far), {}, 300) == []


def test_a_break_after_four_and_a_half_hours_once():
    far = {("C02", "C04"): 270, ("C04", "C09"): 30}
    drops = [Drop("C04"), Drop("C09")]
    assert timed(drops, 300, {}, far) == [Stop("C04", 570, 590, 598), Stop("C09", 628, 628, 636)]
    far["C02", "C04"] = 269
    assert timed(drops, 300, {}, far) == [Stop("C04", 569, 569, 577), Stop("C09", 607, 627, 635)]


def test_the_break_is_taken_while_waiting():
    far = {("C02", "C04"): 270}
    drops = [Drop("C04")]
    assert timed(drops, 300, {"C04": Window(600, 700)}, far)[0].begins == 600
    assert timed(drops, 300, {"C04": Window(580, 700)}, far)[0].begins == 590


def test_the_latest_start():
    # At the station by 05:50; from there it is 06:09 at the hospital.
    assert latest_start(ROUND, OPEN, WAYS) == minute("05:41")
    assert latest_start(ROUND, {**OPEN, "C09": Window(0, 360)}, WAYS) == 332
    assert latest_start(ROUND, {**OPEN, "C01": Window(0, 20)}, WAYS) is None


def test_the_board_in_the_cab():
    assert board(timed(ROUND, 320, OPEN, WAYS)) == [
        " 1 05:29 C04 (waits 6) -> 05:43",
        " 2 05:54 C09 (waits 1) -> 06:03",
        " 3 06:17 C01 (waits 18) -> 06:46",
    ]
    assert board([Stop("C04", 1439, 1439, 1447)]) == [" 1 23:59 C04 -> 00:07"]
