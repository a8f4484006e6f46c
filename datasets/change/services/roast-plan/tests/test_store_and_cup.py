"""Tests of the green store and of cupping."""

from datetime import date

import pytest

from roasting.coffees import BRAZIL, DECAF, GUJI
from roasting.cupping import Verdict, counts, form_score, label_needs_look, show, table_score, verdict
from roasting.green import Bag, NotEnough, months_between, queue, take, to_call_off, too_old, weeks_left

JUNE = date(2025, 6, 10)


def bag(number: int, arrived: date = JUNE, coffee: str = BRAZIL, **more: int) -> Bag:
    return Bag(number, coffee, arrived, **more)


@pytest.mark.parametrize(
    ("first", "last", "months"),
    [
        (date(2025, 6, 10), date(2025, 7, 9), 0),
        (date(2025, 6, 10), date(2025, 7, 10), 1),
        (date(2025, 6, 10), date(2026, 5, 9), 10),
        (date(2025, 6, 10), date(2026, 5, 10), 11),
        (date(2025, 12, 31), date(2026, 1, 1), 0),
    ],
)
def test_months(first: date, last: date, months: int):
    assert months_between(first, last) == months


def test_nothing_stays_longer_than_eleven_months_and_decaf_seven():
    assert not too_old(bag(1), date(2026, 5, 9))
    assert too_old(bag(1), date(2026, 5, 10))
    assert not too_old(bag(1, coffee=DECAF), date(2026, 1, 9))
    assert too_old(bag(1, coffee=DECAF), date(2026, 1, 10))


def test_oldest_by_arrival_first_and_then_by_number():
    bags = [bag(3), bag(2), bag(9, date(2025, 4, 1)), bag(1, coffee=GUJI)]
    assert [each.number for each in queue(bags, BRAZIL)] == [9, 2, 3]


def test_a_dry_bag_jumps_the_queue():
    bags = [
        bag(1, date(2025, 4, 1)),
        bag(2, moisture_then=110, moisture_now=101),
        bag(3, date(2025, 3, 1), moisture_now=102),
    ]
    assert [each.jumps for each in bags] == [False, True, False]
    assert [each.number for each in queue(bags, BRAZIL)] == [2, 3, 1]


def test_held_and_empty_bags_are_not_there():
    assert queue([bag(1, held=True), bag(2, grams=0)], BRAZIL) == []
    assert len(queue([bag(1, grams=1)], BRAZIL)) == 1


def test_taking_goes_from_bag_to_bag():
    bags = [bag(1, grams=5000), bag(2, date(2025, 4, 1), grams=3000), bag(3, coffee=GUJI)]
    after, taken = take(bags, BRAZIL, 4000)
    assert taken == [(2, 3000), (1, 1000)]
    assert [(each.number, each.grams) for each in after] == [(1, 4000), (2, 0), (3, 60_000)]
    assert bags[0].grams == 5000


def test_taking_just_what_a_bag_holds_opens_no_other():
    after, taken = take([bag(1, grams=3000), bag(2)], BRAZIL, 3000)
    assert taken == [(1, 3000)]
    assert after[1].grams == 60_000
    assert take([bag(1)], BRAZIL, 0)[1] == []


def test_more_than_there_is_cannot_be_taken():
    bags = [bag(1, grams=3000), bag(2, held=True)]
    with pytest.raises(NotEnough, match="Boa Maré: 1 g missing of 3001"):
        take(bags, BRAZIL, 3001)


def test_weeks_that_a_coffee_lasts():
    bags = [bag(1), bag(2, held=True), bag(3, coffee=GUJI)]
    assert weeks_left(bags, BRAZIL, 40_000) == 3
    assert weeks_left(bags, BRAZIL, 40_001) == 2
    with pytest.raises(ValueError, match="0 g a week"):
        weeks_left(bags, BRAZIL, 0)
    assert weeks_left(bags, BRAZIL, 1) == 120_000


def test_what_is_called_off():
    bags = [bag(n) for n in range(16)] + [bag(20, coffee=GUJI)]
    # 960 kg at 60 a week last 16 weeks; the way takes 10, and six more are wanted.
    assert to_call_off(bags, {BRAZIL: 60_000, GUJI: 10_000}, {BRAZIL: 10, GUJI: 0}) == []
    assert to_call_off(bags, {BRAZIL: 60_000, GUJI: 10_000}, {BRAZIL: 11, GUJI: 1}) == [BRAZIL, GUJI]


def points(value: float) -> int:
    return int(value * 4)


def test_a_form_adds_up():
    assert form_score([32] * 9 + [40]) == points(82)
    assert form_score([32] * 10, taints=1) == points(78)
    assert form_score([32] * 10, taints=1, defects=2) == points(70)
    assert form_score([0] * 9 + [5], defects=1) == 0
    assert form_score([0] * 10) == 0


def test_a_form_has_ten_fields_of_ten_points():
    for fields in ([32] * 9, [32] * 11):
        with pytest.raises(ValueError, match=f"{len(fields)} fields"):
            form_score(fields)
    for wrong in (-1, 41):
        with pytest.raises(ValueError, match="0 to 10 points"):
            form_score([32] * 9 + [wrong])


def test_the_table_has_the_median():
    assert table_score([points(80), points(86), points(84.25)]) == points(84.25)
    assert table_score([points(60), points(86), points(84), points(85)]) == points(84.5)
    assert table_score([points(83.75), points(84), points(90), points(60)]) == points(83.75)
    assert table_score([1, 9, 5, 7, 3]) == 5


def test_three_tasters_are_the_fewest():
    with pytest.raises(ValueError, match="2 tasters"):
        table_score([330, 340])


@pytest.mark.parametrize(
    ("score", "result"),
    [(81.75, Verdict.REJECTED), (82, Verdict.HELD), (83.75, Verdict.HELD), (84, Verdict.PASSED), (91, Verdict.PASSED)],
)
def test_marks(score: float, result: Verdict):
    assert verdict(points(score)) is result


@pytest.mark.parametrize(
    ("off", "result"), [(15, Verdict.HELD), (16, Verdict.REJECTED), (-15, Verdict.HELD), (-16, Verdict.REJECTED)]
)
def test_a_loss_off_the_profile_rejects_what_would_be_held(off: int, result: Verdict):
    assert verdict(points(83), loss_off=off) is result
    assert verdict(points(84), loss_off=off) is Verdict.PASSED


@pytest.mark.parametrize(("off", "result"), [(30, Verdict.PASSED), (31, Verdict.REJECTED), (-31, Verdict.REJECTED)])
def test_baked_and_off_the_drop(off: int, result: Verdict):
    assert verdict(points(86), drop_off=off, baked=True) is result
    assert verdict(points(86), drop_off=off) is Verdict.PASSED


def test_a_session_counts_within_two_points():
    assert counts(points(84), points(86))
    assert counts(points(86), points(84))
    assert not counts(points(84), points(86.25))
    assert not counts(points(86.25), points(84))


@pytest.mark.parametrize(("score", "look"), [(83.75, False), (84, True), (85.25, True), (85.5, False)])
def test_the_label_of_a_single_origin(score: float, look: bool):
    assert label_needs_look(points(score), single_origin=True) is look
    assert not label_needs_look(points(score), single_origin=False)


def test_scores_are_shown():
    assert [show(score) for score in (336, 337, 338, 339, 340)] == ["84", "84.25", "84.5", "84.75", "85"]
