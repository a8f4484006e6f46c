"""What is in a pool, and whose hours share it."""

from datetime import date

import pytest

from tips.clocking import HOLIDAY, OFFICE, SICK, Span
from tips.pool import (
    CardTip,
    Count,
    CountAgain,
    best_day,
    booked,
    card_total,
    looks_like_a_slip,
    offered,
    to_tell,
    week_total,
    worth,
)
from tips.sharing import Share, Team, complaint, counted, lent, merged, minutes_of, rate, shares

MONDAY = date(2026, 3, 2)
TEAM = Team(managers=frozenset({"Mo"}), office=frozenset({"Wen"}), tip_master="Al")


def count(person: str, **pieces: int) -> Count:
    """Return a count; names are written as `p20`, `l2`."""
    names = {name: f"£{name[1:]}" if name[0] == "l" else f"{name[1:]}p" for name in pieces}
    return Count(person, tuple((names[name], number) for name, number in pieces.items()))


def span(person: str, hours: float, kind: str = "bar", cafe: str = "C01") -> Span:
    """Return a span that begins at seven."""
    return Span(person, cafe, MONDAY, 420, 420 + int(hours * 60), kind)


def test_what_pieces_are_worth():
    assert [worth(name) for name in ("1p", "50p", "£2", "£5", "£50", "1 kr", "button")] == [1, 50, 200, 500, 5000, 0, 0]


def test_a_count_leaves_out_what_is_strange():
    one = Count("Al", (("20p", 3), ("button", 2), ("£5", 1), ("1 kr", 1)))
    assert one.pence == 560
    assert one.strange == 3


def test_the_lower_of_two_counts_is_booked():
    assert booked(count("Al", l1=10, p50=3), count("Bo", l1=12, p50=3)) == 1150
    assert booked(count("Al", l1=13), count("Bo", l1=10)) == 1000
    assert booked(count("Al", l2=4), count("Bo", p50=16)) == 800


def test_a_jar_is_counted_again():
    with pytest.raises(CountAgain, match="Al and Bo are £3.01 apart"):
        booked(count("Al", l1=10), count("Bo", l1=13, p1=1))
    with pytest.raises(CountAgain, match="Al counted twice"):
        booked(count("Al", l1=10), count("Al", l1=10))


def test_the_team_is_told():
    assert not to_tell(1000, 1300)
    assert to_tell(1000, 1301)
    assert to_tell(1301, 1000)


def test_the_terminal_offers_nothing_five_or_ten_percent():
    assert offered(480) == [0, 30, 50]
    assert offered(1000) == [0, 50, 100]
    assert offered(1001) == [0, 60, 110]


def test_a_large_tip_waits_until_somebody_asked():
    assert not CardTip(MONDAY, 4000, 5000).must_ask
    assert CardTip(MONDAY, 4000, 5001).must_ask
    assert not CardTip(MONDAY, 4000, 5001, asked=True).must_ask


def test_a_slip_of_the_comma():
    assert looks_like_a_slip(CardTip(MONDAY, 400, 40_000))
    assert looks_like_a_slip(CardTip(MONDAY, 400, 4000))
    assert looks_like_a_slip(CardTip(MONDAY, 400, 801))
    assert not looks_like_a_slip(CardTip(MONDAY, 400, 800))
    assert looks_like_a_slip(CardTip(MONDAY, 0, 1))
    assert looks_like_a_slip(CardTip(MONDAY, 0, 0))


def test_card_tips_that_wait_are_apart():
    tips = [
        CardTip(MONDAY, 1000, 100),
        CardTip(MONDAY, 400, 4000),
        CardTip(MONDAY, 9000, 6000),
        CardTip(MONDAY, 9000, 7000, asked=True),
        CardTip(MONDAY, 300, 900, asked=True),
    ]
    assert card_total(tips) == (8000, 10_000)
    assert card_total([]) == (0, 0)
    assert week_total({MONDAY: 1250, date(2026, 3, 3): 800}, tips) == 10_050


def test_the_best_day():
    jars = {date(2026, 3, 4): 900, date(2026, 3, 3): 900, MONDAY: 450}
    assert best_day(jars) == date(2026, 3, 3)
    assert best_day({}) is None


def test_which_hours_count():
    assert counted(span("Al", 7.5), TEAM) == 450
    assert counted(span("Al", 7.5, OFFICE), TEAM) == 450
    assert counted(span("Al", 7.5, HOLIDAY), TEAM) == 0
    assert counted(span("Al", 7.5, SICK), TEAM) == 0
    assert counted(span("Mo", 3), TEAM) == 180
    assert counted(span("Mo", 3, OFFICE), TEAM) == 0
    assert counted(span("Wen", 3), TEAM) == 0


def test_managers_have_twelve_hours_at_most():
    spans = [span("Mo", 8), span("Mo", 5), span("Al", 13), span("Al", 8)]
    assert minutes_of(spans, TEAM) == {"Al": 1260, "Mo": 720}
    assert minutes_of([span("Mo", 8), span("Mo", 3)], TEAM) == {"Mo": 660}


def test_less_than_an_hour_has_no_share():
    assert minutes_of([span("Bo", 0.75), span("Al", 1)], TEAM) == {"Al": 60}
    assert minutes_of([span("Bo", 0.75), span("Bo", 0.5)], TEAM) == {"Bo": 75}


def test_the_example_of_the_handbook():
    spans = [span("Full", 12.5), span("Full", 12.5), span("Full", 12.5), span("Student", 11)]
    spans += [span("Lead", 12), span("Lead", 12), span("Lead", 12)]
    spans += [span(f"Other {number}", 12.5) for number in range(18)] + [span("Last", 2.5)]
    found = shares(18_720, spans, TEAM)
    assert sum(share.minutes for share in found) == 312 * 60
    assert found[0] == Share("Full", 2250, 2250)
    assert found[1] == Share("Lead", 2160, 2160)
    assert Share("Student", 660, 660) in found
    assert found[-1] == Share("Last", 150, 150)
    assert [share.person for share in found[2:5]] == ["Other 0", "Other 1", "Other 10"]
    assert rate(found) == 60


def test_every_penny_is_shared():
    found = shares(1000, [span("Al", 7), span("Bo", 7), span("Cy", 5)], TEAM)
    assert [(share.person, share.pence) for share in found] == [("Al", 369), ("Bo", 368), ("Cy", 263)]
    assert rate(found) == 53
    with pytest.raises(ValueError, match="nobody"):
        shares(1000, [span("Wen", 7)], TEAM)
    assert shares(0, [], TEAM) == []
    assert rate([]) == 0


def test_who_may_be_tip_master():
    assert TEAM.may_be_tip_master("Al")
    assert not TEAM.may_be_tip_master("Mo")
    assert not TEAM.may_be_tip_master("Wen")


def test_who_is_lent():
    homes = {"Al": "C01", "Bo": "C02", "Cy": "C02"}
    spans = [span("Al", 2), span("Bo", 3), span("Bo", 2), span("Cy", 4, SICK), span("Di", 5), span("Al", 1, cafe="C02")]
    assert lent(spans, homes) == {"Bo": 300, "Al": 60}


def test_shares_of_several_weeks():
    one = [Share("Al", 60, 10), Share("Bo", 60, 10)]
    assert merged([one, [Share("Bo", 30, 7)], []]) == {"Al": 10, "Bo": 17}


def test_a_complaint_changes_the_rest_of_the_pool():
    found = [Share("Al", 600, 600), Share("Bo", 600, 600)]
    assert complaint(found[0], found, 900) == 120
    assert complaint(found[0], found, 600) == 0
    assert complaint(found[1], found, 300) == -200
