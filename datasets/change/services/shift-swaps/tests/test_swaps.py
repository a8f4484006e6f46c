"""Tests of a swap from the asking to the day."""

from datetime import date, timedelta

import pytest

from swaps.clock import Moment
from swaps.rules import Breach
from swaps.shifts import Shift
from swaps.swaps import NotAllowed, State, Swap, agree, answer, ask, carry_out, needs_talk, same_grade, settle, withdraw

MONDAY = date(2026, 3, 30)
GRADES = {"E061": "barista", "E064": "barista", "E070": "senior barista", "E099": "boss"}


def shift(employee: str, day: int, start: int, end: int, site: str = "C03", keeper: bool = False) -> Shift:
    return Shift(employee, site, MONDAY + timedelta(days=day), start * 60, end * 60, keeper)


MINE = shift("E061", 3, 7, 15)
YOURS = shift("E064", 5, 12, 20)
EARLY = Moment(MONDAY, 600)


def agreed(mine: Shift = MINE, yours: Shift = YOURS, now: Moment = EARLY) -> Swap:
    """Return a swap on which both have agreed."""
    swap = ask(mine, yours, now, GRADES)
    agree(swap, now)
    return swap


def approved(mine: Shift = MINE, yours: Shift = YOURS) -> Swap:
    swap = agreed(mine, yours)
    settle(swap, Moment(MONDAY + timedelta(days=1), 0))
    return swap


def test_grades():
    assert same_grade("barista", "barista")
    assert not same_grade("barista", "shift lead")
    for pair in (("boss", "barista"), ("barista", "boss")):
        with pytest.raises(NotAllowed, match="no grade 'boss'"):
            same_grade(*pair)


def test_a_swap_needs_two_people_of_one_grade():
    with pytest.raises(NotAllowed, match="two people"):
        ask(MINE, shift("E061", 5, 12, 20), EARLY, GRADES)
    with pytest.raises(NotAllowed, match="barista and senior barista"):
        ask(MINE, shift("E070", 5, 12, 20), EARLY, GRADES)
    with pytest.raises(NotAllowed, match="no grade 'boss'"):
        ask(MINE, shift("E099", 5, 12, 20), EARLY, GRADES)


@pytest.mark.parametrize(("mine", "yours", "without"), [(True, False, "E064"), (False, True, "E061")])
def test_keys_go_only_to_keepers(mine: bool, yours: bool, without: str):
    shifts = shift("E061", 3, 7, 15, keeper=mine), shift("E064", 5, 12, 20, keeper=yours)
    other = "E061" if without == "E064" else "E064"
    with pytest.raises(NotAllowed, match=f"{without} holds no keys"):
        ask(*shifts, EARLY, GRADES, frozenset({other}))
    assert ask(*shifts, EARLY, GRADES, frozenset({without})).state is State.ASKED


def test_48_hours_before_the_earlier_shift_to_the_minute():
    # Thursday 07:00 is the earlier one.
    assert ask(MINE, YOURS, Moment(MONDAY + timedelta(days=1), 420), GRADES).state is State.ASKED
    for one, other in ((MINE, YOURS), (YOURS, MINE)):
        with pytest.raises(NotAllowed, match="47 hours before; 48 are needed"):
            ask(one, other, Moment(MONDAY + timedelta(days=1), 421), GRADES)


def test_agreeing_has_the_same_48_hours():
    swap = ask(MINE, YOURS, EARLY, GRADES)
    with pytest.raises(NotAllowed, match="agreed too late"):
        agree(swap, Moment(MONDAY + timedelta(days=1), 421))
    assert swap.state is State.WITHDRAWN
    swap = ask(MINE, YOURS, EARLY, GRADES)
    agree(swap, Moment(MONDAY + timedelta(days=1), 420))
    assert (swap.state, swap.agreed) == (State.AGREED, Moment(MONDAY + timedelta(days=1), 420))


def test_who_asked_may_withdraw_until_the_other_agrees():
    swap = ask(MINE, YOURS, EARLY, GRADES)
    withdraw(swap)
    assert swap.state is State.WITHDRAWN
    with pytest.raises(NotAllowed, match="the swap is withdrawn"):
        agree(swap, EARLY)
    with pytest.raises(NotAllowed, match="the swap is agreed"):
        withdraw(agreed())


@pytest.mark.parametrize(("minute", "day"), [(600, 0), (1200, 0), (1201, 1)])
def test_the_manager_has_until_eight_in_the_evening(minute: int, day: int):
    swap = agreed(now=Moment(MONDAY, minute))
    assert swap.deadline == Moment(MONDAY + timedelta(days=day), 1200)


def test_before_both_agree_there_is_no_deadline():
    assert ask(MINE, YOURS, EARLY, GRADES).deadline is None


def test_silence_is_a_yes():
    swap = agreed()
    assert settle(swap, Moment(MONDAY, 1200)) is State.AGREED
    assert settle(swap, Moment(MONDAY, 1201)) is State.APPROVED


def test_silence_before_an_agreement_is_nothing():
    swap = ask(MINE, YOURS, EARLY, GRADES)
    assert settle(swap, Moment(MONDAY + timedelta(days=30), 0)) is State.ASKED


def test_a_manager_says_yes_or_says_why_not():
    swap = agreed()
    with pytest.raises(NotAllowed, match="a refusal says why"):
        answer(swap, "C03", EARLY, why_not="  ")
    assert answer(swap, "C03", EARLY) is State.APPROVED
    swap = agreed()
    assert answer(swap, "C03", EARLY, why_not="no keeper left") is State.REFUSED
    assert swap.answers == {"C03": "no keeper left"}


def test_an_answer_after_the_deadline_changes_nothing():
    swap = agreed()
    assert answer(swap, "C03", Moment(MONDAY, 1200), why_not=None) is State.APPROVED
    swap = agreed()
    assert answer(swap, "C03", Moment(MONDAY, 1201), why_not="too late") is State.APPROVED
    assert swap.answers == {}


def test_between_cafes_both_managers_have_a_say():
    swap = agreed(yours=shift("E064", 5, 12, 20, "C01"))
    assert swap.sites == ["C01", "C03"]
    assert answer(swap, "C03", EARLY) is State.AGREED
    with pytest.raises(NotAllowed, match="C05 has no say"):
        answer(swap, "C05", EARLY)
    assert answer(swap, "C01", EARLY) is State.APPROVED


def test_one_of_two_managers_may_refuse():
    swap = agreed(yours=shift("E064", 5, 12, 20, "C01"))
    answer(swap, "C03", EARLY)
    assert answer(swap, "C01", EARLY, "a class of 30") is State.REFUSED
    assert answer(swap, "C03", EARLY) is State.REFUSED


def test_the_rota_after_a_swap():
    other = shift("E061", 0, 7, 15)
    after, found = carry_out(swap := approved(), [other, MINE, YOURS])
    assert found == []
    assert after == [other, shift("E064", 3, 7, 15), shift("E061", 5, 12, 20)]
    assert swap.state is State.DONE


def test_keys_stay_with_the_shift():
    mine = shift("E061", 3, 7, 15, keeper=True)
    swap = ask(mine, YOURS, EARLY, GRADES, frozenset({"E064"}))
    agree(swap, EARLY)
    answer(swap, "C03", EARLY)
    after, _ = carry_out(swap, [mine, YOURS])
    assert [(each.employee, each.keeper) for each in after] == [("E064", True), ("E061", False)]


@pytest.mark.parametrize("employee", ["E061", "E064"])
def test_a_swap_that_breaks_a_rule_is_not_done(employee: str):
    near = shift("E061", 5, 21, 25) if employee == "E061" else shift("E064", 3, 16, 20)
    rota = [MINE, YOURS, near]
    after, found = carry_out(swap := approved(), rota)
    assert after == rota
    assert swap.state is State.APPROVED
    assert [breach.rule for breach in found] == ["hours a day", "rest"]


def test_what_was_broken_before_does_not_count():
    bad = [shift("E061", 8, 7, 18), shift("E064", 9, 7, 10)]
    _, found = carry_out(approved(), [MINE, YOURS, *bad])
    assert found == []
    _, found = carry_out(approved(), [MINE, YOURS, *bad, shift("E061", 6, 6, 12)])
    assert found == [Breach("rest", "10 h before Sun 05 Apr 06:00-12:00 C03")]


def test_only_an_approved_swap_of_the_present_rota_is_carried_out():
    with pytest.raises(NotAllowed, match="the swap is agreed"):
        carry_out(agreed(), [MINE, YOURS])
    for rota in ([MINE], [YOURS], []):
        with pytest.raises(NotAllowed, match="the rota has changed since"):
            carry_out(approved(), rota)
    carry_out(swap := approved(), [MINE, YOURS])
    with pytest.raises(NotAllowed, match="the swap is done"):
        carry_out(swap, [MINE, YOURS])


def test_more_than_four_swaps_need_a_talk():
    done = [Swap(MINE, YOURS, EARLY, State.DONE) for _ in range(3)] + [
        Swap(YOURS, MINE, EARLY, State.DONE) for _ in range(2)
    ]
    assert not needs_talk(done[:4], "E061")
    assert needs_talk(done, "E061")
    assert needs_talk(done, "E064")
    assert not needs_talk(done, "E070")
    assert not needs_talk([*done[:4], Swap(MINE, YOURS, EARLY, State.REFUSED)], "E061")
