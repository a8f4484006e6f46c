"""Tests of the battery, the pad and the delivery note."""

from datetime import date, timedelta

import pytest

from vans.charge import Leg, NotCharged, first_below, minutes_at_pier, over, pier_pence, used
from vans.loading import Drop
from vans.note import Change, credit_pence, lines, note_number, unsigned
from vans.pad import Move, at_doors, deposit_pence, open_since, overdue, written_off

DAY = date(2026, 1, 14)


def test_a_mile_in_summer_and_in_frost():
    leg = Leg(100, 400_000)
    assert used(leg, 150) == 950
    assert used(leg, 30) == 950
    assert used(leg, 29) == 1121
    assert used(Leg(100, 400_001), 30) == 1007
    assert used(Leg(100, 400_001), -50) == 1178
    assert used(Leg(1, 0), 100) == 10


def test_charge_over_a_round():
    legs = [Leg(100, 500_000), Leg(50, 300_000), Leg(0, 0)]
    assert over(legs, 8000, 100) == [6993, 6518, 6518]
    assert over([], 7000, 100) == []


def test_who_has_less_than_seventy_percent_stays():
    with pytest.raises(NotCharged, match="69% of charge, 70 are needed"):
        over([], 6999, 100)


def test_below_fifteen_percent_nobody_drives_on():
    assert first_below([5000, 1500, 1499, 100]) == 2
    assert first_below([5000, 1500]) is None
    assert first_below([]) is None


def test_minutes_at_the_pier():
    assert minutes_at_pier([5000, 1500], 0) == 0
    assert minutes_at_pier([5000, 1499], 0) == 1
    assert minutes_at_pier([5000, 1440], 0) == 1
    assert minutes_at_pier([5000, 1439], 0) == 2
    assert minutes_at_pier([5000, 3000, 0], 1) == 25


def test_no_more_is_charged_than_there_is_room_for():
    assert minutes_at_pier([9880, -2000], 0) == 2
    assert minutes_at_pier([9880, 1450], 0) == 1


def test_the_price_at_the_pier():
    # 25 minutes are 15%, so 7.5 units.
    assert pier_pence(25) == 465
    assert pier_pence(1) == 19
    assert pier_pence(0) == 0


def moved(days: int, count: int, door: str = "W01", thing: str = "tub") -> Move:
    return Move(DAY + timedelta(days=days), door, thing, count)


def test_the_pad_has_three_columns():
    with pytest.raises(ValueError, match="no column for pallet"):
        moved(0, 1, thing="pallet")
    with pytest.raises(ValueError, match="W01: nothing moved"):
        moved(0, 0)


def test_what_stands_at_doors():
    moves = [moved(0, 5), moved(7, -3), moved(0, 2, "W03"), moved(1, 1, thing="keg"), moved(8, -2, "W03")]
    assert at_doors(moves) == {("W01", "tub"): 2, ("W01", "keg"): 1}


def test_moves_are_sorted_by_day_and_what_goes_out_counts_first():
    assert at_doors([moved(7, -3), moved(0, 3), moved(9, -1), moved(9, 1)]) == {}
    with pytest.raises(ValueError, match="W01 gave back a tub too many on 2026-01-21"):
        at_doors([moved(7, -4), moved(0, 3), moved(8, 1)])


def test_deposits():
    moves = [moved(0, 5), moved(1, 2, thing="keg"), moved(1, 9, thing="crate"), moved(0, 1, "W03")]
    assert deposit_pence(moves, "W01") == 5 * 600 + 2 * 3500
    assert deposit_pence(moves, "W03") == 600
    assert deposit_pence(moves, "W07") == 0


def test_what_went_out_first_comes_back_first():
    moves = [moved(0, 3), moved(5, 4), moved(7, -5), moved(9, 1), moved(2, 8, "W03"), moved(6, 2, thing="keg")]
    assert open_since(moves, "W01", "tub") == [(DAY + timedelta(days=5), 2), (DAY + timedelta(days=9), 1)]
    assert open_since([moved(0, 3), moved(7, -3)], "W01", "tub") == []
    assert open_since([moved(0, 3), moved(7, -1)], "W01", "tub") == [(DAY, 2)]


def test_after_three_weeks_somebody_is_reminded():
    moves = [moved(0, 3), moved(1, 2), moved(0, 1, "C05", "keg"), moved(30, 1, "W09")]
    assert overdue(moves, DAY + timedelta(days=21)) == []
    assert overdue(moves, DAY + timedelta(days=22)) == [("C05", "keg", 1), ("W01", "tub", 3)]
    assert overdue(moves, DAY + timedelta(days=23)) == [("C05", "keg", 1), ("W01", "tub", 5)]


def test_after_ninety_days_it_is_lost():
    moves = [moved(0, 3), moved(1, 2, thing="keg"), moved(2, 1, thing="crate")]
    assert written_off(moves, DAY + timedelta(days=89)) == 0
    assert written_off(moves, DAY + timedelta(days=90)) == 3 * 300
    assert written_off(moves, DAY + timedelta(days=91)) == 900 + 2 * 4500
    assert written_off(moves, DAY + timedelta(days=92)) == 9900 + 650


def test_note_numbers_have_a_check_letter():
    # 2·0 + 3·1 + 4·4 + 5·0 + 6·3 = 37, and 37 mod 23 = 14.
    assert note_number(14, "Kittiwake", 3) == "K01403Q"
    assert note_number(14, "Razorbill", 3) == "R01403Q"
    assert note_number(365, "Kittiwake", 12)[:-1] == "K36512"
    with pytest.raises(ValueError, match="no van 'Cormorant'"):
        note_number(14, "Cormorant", 3)


def test_exchanged_digits_change_the_letter():
    assert note_number(41, "Kittiwake", 3)[-1] != note_number(14, "Kittiwake", 3)[-1]
    assert note_number(1, "Kittiwake", 11)[-1] == "ABCDEFGHJKLMNPQRSTUVWXYZ"[4 + 5 + 6]


def test_a_note():
    assert lines(Drop("W03", bags=13, tubs=2, kegs=1), "K01403Q", "PO 77") == [
        "W03 PO 77                  K01403Q",
        "bags 1 kg                       13",
        "tubs 5 kg                        2",
        "kegs                             1",
    ]
    assert lines(Drop("C01", tubs=1), "K01401N") == [
        "C01                        K01401N",
        "tubs 5 kg                        1",
    ]


def test_the_council_wants_a_purchase_number():
    with pytest.raises(ValueError, match="W03 wants a purchase number"):
        lines(Drop("W03", bags=1), "K01403Q")


def test_torn_bags_are_left_out_and_both_sign():
    change = Change(2, "torn", ("Price", "Reyes"))
    assert lines(Drop("W05", bags=6), "K01403Q", changes=[change]) == [
        "W05                        K01403Q",
        "bags 1 kg                        4",
        "left out 2: torn",
    ]
    assert len(lines(Drop("W05", bags=2), "K01403Q", changes=[change])) == 2
    with pytest.raises(ValueError, match="torn: both sign"):
        lines(Drop("W05", bags=6), "K01403Q", changes=[Change(2, "torn", ("Price", "Price"))])
    with pytest.raises(ValueError, match="4 of 3 bags left out"):
        lines(Drop("W05", bags=3), "K01403Q", changes=[change, change])


def test_credits():
    changes = [Change(2, "torn", ("a", "b")), Change(1, "wrong", ("a", "b"))]
    assert credit_pence(changes, 1950) == 5850
    assert credit_pence(changes, 1950, 5) == 5558
    assert credit_pence(changes, 1949, 1) == 5789
    assert credit_pence([], 1950) == 0


def test_notes_without_a_signature():
    notes = {"K3": None, "K1": "Reyes", "K2": "  ", "K4": ""}
    assert unsigned(notes) == ["K2", "K3", "K4"]
    assert unsigned(notes, frozenset({"K3", "K1"})) == ["K2", "K4"]
