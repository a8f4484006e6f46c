"""Tests of a week at two cafés: the table that was typed, the rules, the swaps, the breaks, the hours in the bank."""

from datetime import date, timedelta

import pytest

from swaps.bank import Bank
from swaps.breaks import Missed, age_on, due_minutes, missed, raised
from swaps.clock import Moment, parse_time, show_length, show_time, week_of
from swaps.rota import BadRota, read_week, show_gaps, up_by, without_keys
from swaps.rules import Breach, breaches, contract_difference, enough_weekends, free_weekends
from swaps.shifts import Shift, close_then_open, longest_run, rest_between
from swaps.swaps import NotAllowed, State, Swap, agree, answer, ask, carry_out, needs_talk, same_grade, settle, withdraw

STATION = """
C04 2026-04-13
E201* | 05:45-13:45 | 05:45-13:45 | -           | 12:00-20:00 | 06:30-14:30 | off         | -
E202* | 13:00-21:00 | -           | 13:00-21:00 | -           | 13.00-21.00 | 13-21       | 08:00-12:00
E203  | -           | 08:00-18:00 | 07:59-18:00 | off         |             | 18:00-01:30 | 13:00-17:00
"""
MARKET = """
C01 2026-04-13
E301  | 07:00-15:00 | 07:00-15:00 | 07:00-15:00 | 07:00-15:00 | 07:00-15:00 | 0700-1100 | -
E302* | 10:00-18:00 | 10:00-18:00 | -           | -           | 10:00-18:00 | 10-18     | 10-18
"""
MONDAY = date(2026, 4, 13)
GRADES = {"E201": "shift lead", "E202": "shift lead", "E203": "barista", "E301": "barista", "E302": "shift lead"}
KEEPERS = frozenset({"E201", "E202", "E302"})


def of(employee: str) -> list[Shift]:
    """Return one person's shifts of the week."""
    return [shift for shift in read_week(STATION) + read_week(MARKET) if shift.employee == employee]


def on(day: int, time: str) -> Moment:
    """Return a moment of the week; a negative day is of the week before."""
    return Moment(MONDAY + timedelta(days=day), parse_time(time))


def the_swap(now: Moment | None = None) -> Swap:
    """Return the swap of Thursday's close at the station with Friday's at the market."""
    mine, yours = of("E201")[2], of("E302")[2]
    swap = ask(mine, yours, now or on(0, "09:00"), GRADES, KEEPERS)
    agree(swap, now or on(0, "09:00"))
    return swap


def test_the_stations_table_as_the_app_shows_it():
    assert [str(shift) for shift in read_week(STATION)] == [
        "Mon 13 Apr 05:45-13:45 C04 (keys)",
        "Tue 14 Apr 05:45-13:45 C04 (keys)",
        "Thu 16 Apr 12:00-20:00 C04 (keys)",
        "Fri 17 Apr 06:30-14:30 C04 (keys)",
        "Mon 13 Apr 13:00-21:00 C04 (keys)",
        "Wed 15 Apr 13:00-21:00 C04 (keys)",
        "Fri 17 Apr 13:00-21:00 C04 (keys)",
        "Sat 18 Apr 13:00-21:00 C04 (keys)",
        "Sun 19 Apr 08:00-12:00 C04 (keys)",
        "Tue 14 Apr 08:00-18:00 C04",
        "Wed 15 Apr 07:59-18:00 C04",
        "Sat 18 Apr 18:00-01:30 C04",
        "Sun 19 Apr 13:00-17:00 C04",
    ]


def test_the_hours_of_everybody_in_the_week():
    hours = {employee: sum(shift.minutes for shift in of(employee)) for employee in GRADES}
    assert {employee: show_length(minutes) for employee, minutes in hours.items()} == {
        "E201": "32 h",
        "E202": "36 h",
        "E203": "31 h 31",
        "E301": "44 h",
        "E302": "40 h",
    }
    assert contract_difference(of("E203"), 30, 1) == 91
    assert contract_difference(of("E301"), 37.5, 2) == -1860
    assert contract_difference(of("E302"), 20.0, 2) == 0


def test_what_the_stations_week_breaks():
    assert breaches(of("E201")) == [
        Breach("rest", "10 h 30 before Fri 17 Apr 06:30-14:30 C04 (keys)"),
        Breach("close then open", "Fri 17 Apr 06:30-14:30 C04 (keys)"),
    ]
    assert breaches(of("E202")) == []
    assert breaches(of("E203")) == [Breach("hours a day", "10 h 01 on 2026-04-15")]


def test_the_market_keeps_the_rules_until_sunday_is_worked_too():
    assert breaches(of("E301")) == []
    assert breaches(of("E302")) == []
    sunday = Shift("E301", "C01", MONDAY + timedelta(days=6), 480, 720)
    assert breaches([*of("E301"), sunday]) == [
        Breach("days in a row", "7 days"),
        Breach("hours a week", "48 h from 2026-04-13"),
    ]
    assert longest_run(of("E301")) == 6
    assert [longest_run(of(each)) for each in ("E201", "E202", "E203", "E302")] == [2, 3, 2, 3]


def test_a_short_shift_and_a_double_one_are_found_in_the_order_of_the_handbook():
    more = [
        Shift("E302", "C01", MONDAY + timedelta(days=1), 18 * 60, 20 * 60 + 1),
        Shift("E302", "C01", MONDAY + timedelta(days=4), 8 * 60, 12 * 60),
    ]
    assert breaches([*of("E302"), *more]) == [
        Breach("shortest shift", "Tue 14 Apr 18:00-20:01 C01"),
        Breach("hours a day", "10 h 01 on 2026-04-14"),
        Breach("hours a day", "12 h on 2026-04-17"),
        Breach("hours a week", "46 h 01 from 2026-04-13"),
        Breach("rest", "0 min before Tue 14 Apr 18:00-20:01 C01"),
        Breach("rest", "overlap before Fri 17 Apr 10:00-18:00 C01 (keys)"),
    ]


def test_hours_of_two_people_are_never_mixed():
    with pytest.raises(ValueError, match="shifts of E301, E302"):
        breaches(of("E302") + of("E301"))


def test_rest_between_the_shifts_of_one_person():
    late = of("E203")
    assert [rest_between(one, other) for one, other in zip(late, late[1:], strict=False)] == [839, 4320, 690]
    assert rest_between(late[3], late[2]) == 690
    assert rest_between(late[0], of("E201")[1]) == -345


def test_who_closes_the_station_does_not_open_it():
    thursday, friday = of("E201")[2:]
    assert (thursday.is_close, thursday.is_open, friday.is_close, friday.is_open) == (True, False, False, True)
    assert close_then_open(thursday, friday)
    assert not close_then_open(friday, thursday)
    assert not close_then_open(of("E201")[0], of("E201")[1])
    market = [Shift("E1", "C01", MONDAY, 720, 1200), Shift("E1", "C01", MONDAY + timedelta(days=1), 400, 720)]
    assert not close_then_open(*market)


def test_the_keys_of_the_station_by_day():
    shifts = read_week(STATION)
    gaps = [without_keys(shifts, MONDAY + timedelta(days=n), 6 * 60, 21 * 60) for n in range(7)]
    assert [show_gaps(each) for each in gaps] == [
        "keys all day",
        "no keys 13:45-21:00",
        "no keys 06:00-13:00",
        "no keys 06:00-12:00, 20:00-21:00",
        "no keys 06:00-06:30",
        "no keys 06:00-13:00",
        "no keys 06:00-08:00, 12:00-21:00",
    ]


def test_keys_outside_the_opening_hours_are_of_no_use():
    shifts = [*of("E201")[:1], *of("E202")[:1]]
    assert without_keys(shifts, MONDAY, 300, 340) == [(300, 340)]
    assert without_keys(shifts, MONDAY, 300, 350) == [(300, 345)]
    assert without_keys(shifts, MONDAY, 1200, 1300) == [(1260, 1300)]
    assert without_keys(shifts, MONDAY, 900, 1260) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("C04 2026-04-13", "C04 2026-04-12", "line 1: 2026-04-12 is a Sunday"),
        ("C04 2026-04-13", "2026-04-13", "line 1: '2026-04-13' has no café and day"),
        ("E203 ", "E202 ", "line 4: E202 stands twice"),
        ("| 13:00-17:00", "", "line 4: 6 days"),
        ("18:00-01:30", "18:00", "line 4, day 6: '18:00' has no end"),
        ("08:00-18:00", "08:00-31:00", "line 4, day 2: '31:00' is no time"),
        ("| 13-21", "| 13-2l", "line 3, day 6: '2l:00' is no time"),
    ],
)
def test_a_table_with_a_slip_is_sent_back(old: str, new: str, why: str):
    with pytest.raises(BadRota, match=why):
        read_week(STATION.replace(old, new, 1))


@pytest.mark.parametrize(
    ("first", "friday"),
    [
        (date(2026, 4, 13), date(2026, 3, 13)),
        (date(2026, 4, 17), date(2026, 3, 20)),
        (date(2026, 4, 16), date(2026, 3, 13)),
        (date(2026, 3, 2), date(2026, 1, 30)),
        (date(2026, 3, 1), date(2026, 2, 6)),
        (date(2026, 1, 9), date(2025, 12, 19)),
    ],
)
def test_the_friday_on_which_the_table_hangs_in_the_kitchen(first: date, friday: date):
    assert up_by(first) == Moment(friday, parse_time("17:00"))


def test_weekends_that_the_week_leaves_free():
    assert [free_weekends(of(each), MONDAY) for each in GRADES] == [6, 5, 5, 5, 5]
    assert [free_weekends(of(each), MONDAY + timedelta(days=7)) for each in GRADES] == [6, 6, 6, 6, 6]
    late = [Shift("E9", "C04", MONDAY + timedelta(days=4 + 7 * n), 1080, 1441) for n in range(4)]
    assert enough_weekends(late, MONDAY)
    assert not enough_weekends([*late, Shift("E9", "C04", MONDAY + timedelta(days=34), 480, 720)], MONDAY)


def test_a_lead_swaps_thursday_with_friday():
    swap = the_swap()
    assert (swap.sites, swap.deadline) == (["C01", "C04"], on(0, "20:00"))
    assert answer(swap, "C04", on(0, "10:00")) is State.AGREED
    assert answer(swap, "C01", on(0, "19:00")) is State.APPROVED
    rota = of("E201")[:3] + of("E302")
    after, found = carry_out(swap, rota)
    assert (found, swap.state) == ([], State.DONE)
    assert [(shift.employee, str(shift)) for shift in after[2:6]] == [
        ("E302", "Thu 16 Apr 12:00-20:00 C04 (keys)"),
        ("E302", "Mon 13 Apr 10:00-18:00 C01 (keys)"),
        ("E302", "Tue 14 Apr 10:00-18:00 C01 (keys)"),
        ("E201", "Fri 17 Apr 10:00-18:00 C01 (keys)"),
    ]
    assert after[:2] == rota[:2]
    assert after[6:] == rota[6:]


def test_the_swap_is_not_done_where_friday_is_already_full():
    swap = the_swap()
    settle(swap, on(0, "20:01"))
    rota = of("E201") + of("E302")
    after, found = carry_out(swap, rota)
    assert (after, swap.state) == (rota, State.APPROVED)
    assert found == [
        Breach("hours a day", "16 h on 2026-04-17"),
        Breach("rest", "overlap before Fri 17 Apr 10:00-18:00 C01 (keys)"),
    ]


def test_a_manager_who_says_no_is_heard_and_one_who_is_late_is_not():
    swap = the_swap()
    assert answer(swap, "C01", on(0, "20:00"), "market day") is State.REFUSED
    assert swap.answers == {"C01": "market day"}
    swap = the_swap()
    assert answer(swap, "C01", on(0, "20:01"), "market day") is State.APPROVED
    assert swap.answers == {}
    swap = the_swap(on(0, "20:01"))
    assert swap.deadline == on(1, "20:00")
    assert answer(swap, "C04", on(1, "20:00"), "no lead left") is State.REFUSED


def test_managers_of_other_cafes_and_empty_reasons_do_not_count():
    swap = the_swap()
    for site, why in (("C09", None), ("C03", "why not"), ("C04", " ")):
        with pytest.raises(NotAllowed, match=r"has no say|a refusal says why"):
            answer(swap, site, on(0, "10:00"), why)
    assert (swap.state, swap.answers) == (State.AGREED, {})


def test_asking_too_late_or_the_wrong_person():
    mine = of("E201")[2]
    for other, now, why in (
        (of("E202")[2], on(1, "12:01"), "47 hours before; 48 are needed"),
        (of("E202")[1], on(0, "13:01"), "47 hours before"),
        (of("E202")[1], on(0, "20:00"), "41 hours before"),
        (of("E203")[0], on(-7, "09:00"), "shift lead and barista"),
        (of("E201")[0], on(-7, "09:00"), "a swap needs two people"),
    ):
        with pytest.raises(NotAllowed, match=why):
            ask(mine, other, now, GRADES, KEEPERS)
    with pytest.raises(NotAllowed, match="E202 holds no keys"):
        ask(mine, of("E202")[2], on(0, "09:00"), GRADES, KEEPERS - {"E202"})
    assert ask(mine, of("E202")[2], on(1, "12:00"), GRADES, KEEPERS).asked == on(1, "12:00")


def test_an_agreement_that_comes_too_late_ends_the_swap():
    swap = ask(of("E201")[2], of("E302")[2], on(0, "09:00"), GRADES, KEEPERS)
    with pytest.raises(NotAllowed, match="agreed too late"):
        agree(swap, on(2, "12:01"))
    assert (swap.state, swap.agreed, swap.deadline) == (State.WITHDRAWN, None, None)
    for act in (lambda: agree(swap, on(0, "09:00")), lambda: withdraw(swap)):
        with pytest.raises(NotAllowed, match="the swap is withdrawn"):
            act()


def test_a_change_of_mind_before_and_after_the_agreement():
    swap = ask(of("E201")[2], of("E302")[2], on(0, "09:00"), GRADES, KEEPERS)
    assert settle(swap, on(7, "00:00")) is State.ASKED
    withdraw(swap)
    assert settle(swap, on(7, "00:00")) is State.WITHDRAWN
    with pytest.raises(NotAllowed, match="the swap is agreed"):
        withdraw(the_swap())
    with pytest.raises(NotAllowed, match="the swap is agreed"):
        carry_out(the_swap(), of("E201") + of("E302"))


def test_a_rota_without_the_shifts_is_not_swapped_in():
    for rota in (of("E201"), of("E302")):
        swap = the_swap()
        settle(swap, on(1, "00:00"))
        with pytest.raises(NotAllowed, match="the rota has changed since"):
            carry_out(swap, rota)


def test_five_swaps_of_a_rota_need_a_talk_with_both():
    done = [Swap(of("E201")[n % 4], of("E202")[n % 4], on(0, "09:00"), State.DONE) for n in range(4)]
    one_more = Swap(of("E302")[0], of("E201")[0], on(0, "09:00"), State.DONE)
    assert [needs_talk([*done, one_more], each) for each in ("E201", "E202", "E302")] == [True, False, False]
    one_more.state = State.APPROVED
    assert not needs_talk([*done, one_more], "E201")


def test_only_grades_of_the_handbook_count():
    assert [same_grade("senior barista", each) for each in ("barista", "senior barista", "shift lead")] == [
        False,
        True,
        False,
    ]
    with pytest.raises(NotAllowed, match="no grade 'trainee'"):
        same_grade("barista", "trainee")
    with pytest.raises(NotAllowed, match="no grade 'trainee'"):
        same_grade("trainee", "trainee")


def test_the_breaks_of_the_week():
    ages = {"E203": age_on(date(2008, 4, 15), MONDAY), "E301": age_on(date(2000, 1, 1), MONDAY)}
    assert ages == {"E203": 17, "E301": 26}
    assert [due_minutes(shift.minutes, ages["E203"]) for shift in of("E203")] == [30, 30, 30, 0]
    assert [due_minutes(shift.minutes, ages["E301"]) for shift in of("E301")] == [20] * 5 + [0]
    assert age_on(date(2008, 4, 15), MONDAY + timedelta(days=2)) == 18
    assert [due_minutes(each, 18) for each in (359, 360, 719, 720)] == [0, 20, 20, 40]
    assert [due_minutes(each, 17) for each in (270, 271)] == [0, 30]


def test_what_was_missed_at_the_station_is_paid_and_raised():
    found = [
        missed("E203", "C04", shift.day, shift.minutes, 17, taken)
        for shift, taken in zip(of("E203"), ([(600, 630)], [(600, 615), (700, 704)], [], []), strict=True)
    ]
    assert found == [
        None,
        Missed("E203", "C04", MONDAY + timedelta(days=2), 15),
        Missed("E203", "C04", MONDAY + timedelta(days=5), 30),
        None,
    ]
    owed = [each for each in found if each] + [Missed("E201", "C04", MONDAY, 20)]
    market = [Missed("E301", "C01", MONDAY, 20)] * 4 + [Missed("E9", "C09", MONDAY, 1)] * 3
    assert raised([*owed, *market], 2026, 4) == ["C01", "C04", "C09"]
    assert raised([*owed[1:], *market], 2026, 4) == ["C01", "C09"]
    assert raised([*owed, *market], 2026, 5) == raised([*owed, *market], 2027, 4) == []


def test_a_break_of_five_minutes_counts_and_one_of_four_does_not():
    assert missed("E301", "C01", MONDAY, 480, 26, [(600, 605), (660, 664), (700, 715)]) is None
    assert missed("E301", "C01", MONDAY, 480, 26, [(600, 605), (660, 664), (700, 714)]) == Missed(
        "E301", "C01", MONDAY, 1
    )
    assert missed("E301", "C01", MONDAY, 359, 26, []) is None


def test_the_hours_over_contract_go_into_the_bank():
    bank = Bank()
    assert bank.put(MONDAY, contract_difference(of("E301"), 37.5, 1)) == 0
    assert bank.put(MONDAY + timedelta(days=7), 900) == 0
    assert bank.put(MONDAY + timedelta(days=14), 60) == 30
    assert bank.deposits == [
        (MONDAY, 390),
        (MONDAY + timedelta(days=7), 900),
        (MONDAY + timedelta(days=14), 30),
    ]
    bank.take(MONDAY + timedelta(days=15), 400)
    assert bank.deposits == [(MONDAY + timedelta(days=7), 890), (MONDAY + timedelta(days=14), 30)]
    with pytest.raises(ValueError, match="15 h 21 of 15 h 20"):
        bank.take(MONDAY + timedelta(days=15), 921)
    assert bank.balance(MONDAY + timedelta(days=91)) == 920
    assert bank.balance(MONDAY + timedelta(days=92)) == 30
    assert bank.expire(MONDAY + timedelta(days=91)) == 0
    assert bank.expire(MONDAY + timedelta(days=92)) == 890
    assert bank.put(MONDAY + timedelta(days=92), 1300) == 10


def test_old_hours_make_no_room_and_are_not_taken():
    bank = Bank()
    bank.put(MONDAY, 1000)
    bank.put(MONDAY + timedelta(days=60), 200)
    bank.take(MONDAY + timedelta(days=85), 150)
    assert bank.deposits == [(MONDAY, 1000), (MONDAY + timedelta(days=60), 50)]
    with pytest.raises(ValueError, match="51 min of 50 min"):
        bank.take(MONDAY + timedelta(days=85), 51)
    with pytest.raises(ValueError, match="-5 minutes"):
        bank.put(MONDAY, -5)
    assert bank.put(MONDAY + timedelta(days=85), 1271) == 1


def test_times_as_managers_type_them():
    typed = ["05:45", "5.45", "0545", "24:00", "30:00", "7:05"]
    assert [show_time(parse_time(each)) for each in typed] == ["05:45", "05:45", "05:45", "24:00", "30:00", "07:05"]
    for wrong in ("24:60", "30:01", "5", "5:4", "noon"):
        with pytest.raises(ValueError, match="is no time"):
            parse_time(wrong)
    assert [show_length(each) for each in (5, 60, 61, 600, 1320)] == ["5 min", "1 h", "1 h 01", "10 h", "22 h"]


def test_moments_of_the_week():
    assert on(0, "23:59").plus(1) == on(1, "00:00")
    assert on(1, "00:00").plus(-1440) == on(0, "00:00")
    assert on(2, "08:00").minus(on(0, "09:00")) == 2820
    assert on(0, "09:00").minus(on(2, "08:00")) == -2820
    assert sorted([on(1, "00:00"), on(0, "23:59"), on(0, "24:00")])[0] == on(0, "23:59")
    assert [week_of(MONDAY + timedelta(days=n)) - MONDAY for n in (-1, 0, 6, 7)] == [
        timedelta(days=-7),
        timedelta(0),
        timedelta(0),
        timedelta(days=7),
    ]


def test_a_shift_that_is_given_away_keeps_all_but_its_person():
    late = of("E203")[2]
    given = late.given_to("E301")
    assert (given.employee, given.site, given.day, given.start, given.end, given.keeper) == (
        "E301", "C04", MONDAY + timedelta(days=5), 1080, 1530, False,
    )  # fmt: skip
    assert (given.begins, given.ends, given.minutes) == (on(5, "18:00"), on(6, "01:30"), 450)
    assert of("E202")[0].given_to("E201").keeper
    for start, end in ((480, 480), (481, 480), (-1, 480)):
        with pytest.raises(ValueError, match="E203: "):
            Shift("E203", "C04", MONDAY, start, end)
