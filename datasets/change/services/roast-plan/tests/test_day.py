"""Tests of a roaster's day and its sheet."""

from datetime import date

import pytest

from roasting.batches import Batch
from roasting.coffees import BERTHA, BRAZIL, CUMBRE, DECAF, GUJI, HUILA, MARJORIE, NYERI
from roasting.day import DayFull, Slot, arranged, lot_code, may_roast, pause_before, spread, timed
from roasting.sheet import clock, footer, from_store, kilos, lines

DAY = date(2025, 12, 3)


def batch(coffee: str, grams: int = 20_000, green: str = BRAZIL) -> Batch:
    return Batch(coffee, ((green, grams),))


FOG, FILTER, TIDE = batch("Foghorn"), batch("Ropewalk Filter"), batch("Slack Tide", green=DECAF)
HALO, KENYA = batch("Ethiopia Guji Halo", green=GUJI), batch("Kenya Nyeri Gatumbi", green=NYERI)


def test_lot_codes():
    assert lot_code(DAY, MARJORIE, 7) == "251203M07"
    assert lot_code(date(2026, 1, 9), BERTHA, 14) == "260109B14"


def test_blends_then_single_origins_then_decaf():
    assert arranged([TIDE, KENYA, FILTER, HALO, FOG, FILTER]) == [FOG, FILTER, FILTER, HALO, KENYA, TIDE]


def test_the_largest_batch_of_a_coffee_is_first():
    small, large = batch("Foghorn", 15_000), batch("Foghorn", 16_000)
    assert arranged([small, large, FILTER]) == [large, small, FILTER]


def test_a_single_origin_is_never_the_first():
    with pytest.raises(ValueError, match="Ethiopia Guji Halo cannot be the first"):
        arranged([KENYA, TIDE, HALO])
    assert arranged([TIDE]) == [TIDE]
    assert arranged([]) == []


def test_pauses():
    assert pause_before(None, FOG) == 0
    assert pause_before(FOG, FOG) == 0
    assert pause_before(FOG, TIDE) == 6
    assert pause_before(TIDE, TIDE) == 0
    assert pause_before(TIDE, FOG) == 50


def test_a_day_in_slots():
    slots = timed(DAY, MARJORIE, [FOG, FOG, FILTER])
    assert slots == [
        Slot("251203M01", FOG, 420, 442),
        Slot("251203M02", FOG, 442, 464),
        Slot("251203M03", FILTER, 470, 492),
    ]


def test_bertha_begins_half_an_hour_later():
    small = batch("Foghorn", 8000)
    assert [(slot.start, slot.end) for slot in timed(DAY, BERTHA, [small, small])] == [(450, 470), (470, 490)]


def test_a_later_beginning_and_never_an_earlier_one():
    assert timed(DAY, MARJORIE, [FOG], first=500)[0].start == 500
    assert timed(DAY, MARJORIE, [FOG], first=300)[0].start == 420


def test_eighteen_batches_are_the_most():
    assert timed(DAY, MARJORIE, [FOG] * 18)[-1].end == 816
    with pytest.raises(DayFull, match="19 batches, Marjorie does 18"):
        timed(DAY, MARJORIE, [FOG] * 19)


def test_the_last_batch_ends_in_time():
    assert timed(DAY, MARJORIE, [FOG], first=848)[0].end == 870
    with pytest.raises(DayFull, match="Marjorie would end 1 minutes late"):
        timed(DAY, MARJORIE, [FOG], first=849)


@pytest.mark.parametrize("grams", [13_199, 22_001])
def test_a_drum_is_neither_too_empty_nor_too_full(grams: int):
    with pytest.raises(ValueError, match=f"{grams} g in Marjorie"):
        timed(DAY, MARJORIE, [FOG, batch("Foghorn", grams)])
    assert len(timed(DAY, MARJORIE, [batch("Foghorn", 13_200), batch("Foghorn", 22_000)])) == 2


def test_batches_are_spread_over_days_alike_together():
    small = [batch("Foghorn", 8000)] * 9 + [batch("Slack Tide", 8000)] * 8
    days = spread(small[::-1], BERTHA, 2)
    assert [len(day) for day in days] == [14, 3]
    assert [each.coffee for each in days[0]] == ["Foghorn"] * 9 + ["Slack Tide"] * 5


def test_days_may_stay_empty_and_may_not_suffice():
    assert spread([FOG], BERTHA, 3) == [[FOG], [], []]
    assert [len(day) for day in spread([FOG] * 28, BERTHA, 2)] == [14, 14]
    with pytest.raises(DayFull, match="29 batches in 2 days"):
        spread([FOG] * 29, BERTHA, 2)


def test_who_may_roast():
    may = {"Claire Dubois": frozenset({"Bertha", "Marjorie"}), "Samuel Osei": frozenset({"Marjorie"})}
    assert may_roast("Claire Dubois", MARJORIE, [FOG] * 5, may)
    assert not may_roast("Claire Dubois", MARJORIE, [FOG] * 6, may)
    assert may_roast("Claire Dubois", BERTHA, [FOG] * 6, may)
    assert may_roast("Samuel Osei", MARJORIE, [FOG] * 18, may)
    assert not may_roast("Samuel Osei", BERTHA, [], may)
    assert not may_roast("Vikram Nair", MARJORIE, [FOG], may)


def test_times_and_kilos():
    assert [clock(minute) for minute in (0, 429, 870)] == ["00:00", "07:09", "14:30"]
    assert [kilos(grams) for grams in (0, 49, 50, 949, 950, 1000, 20_149, 20_150)] == [
        "0.0",
        "0.0",
        "0.1",
        "0.9",
        "1.0",
        "1.0",
        "20.1",
        "20.2",
    ]


def test_the_sheet():
    slots = timed(DAY, MARJORIE, [FOG, batch("Foghorn", 13_250), FILTER])
    assert lines(slots) == [
        "07:00   251203M01  Foghorn              20.0",
        "07:22   251203M02  Foghorn              13.3",
        "07:50 * 251203M03  Ropewalk Filter      20.0",
    ]


def test_what_a_day_needs_from_the_store():
    mixed = Batch("Foghorn", ((BRAZIL, 5000), (HUILA, 3000), (CUMBRE, 3000)))
    slots = timed(DAY, BERTHA, [batch("Foghorn", 7000, HUILA)])
    slots += [Slot("x", mixed, 0, 0)]
    assert from_store(slots) == {HUILA: 10_000, BRAZIL: 5000, CUMBRE: 3000}
    assert list(from_store(slots)) == [HUILA, BRAZIL, CUMBRE]
    assert list(from_store([Slot("x", Batch("Foghorn", ((HUILA, 5), (CUMBRE, 5))), 0, 0)])) == [CUMBRE, HUILA]


def test_the_last_line():
    assert footer([]) == "no batches"
    # 20 kg of Foghorn leave 16.96, of Slack Tide 17.22.
    assert footer(timed(DAY, MARJORIE, [FOG, TIDE])) == "2 batches, 34 kg roasted, until 07:50"
