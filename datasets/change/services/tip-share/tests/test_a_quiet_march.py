"""Two weeks of a small café from the clock to the envelopes: what the parts do together."""

from datetime import date, timedelta

import pytest

from tips.bluebook import Page, jar_lines, missing_weeks, remarks, share_lines, to_throw_away, whole, year_total
from tips.clocking import BadSpan, in_week, overlaps, parse_span
from tips.envelopes import Envelope, box, brought, sign, to_change, unclaimed, weight
from tips.money import parts, pence, written
from tips.month import Leaver, card_month, last_pay, paid_cash, payslip, tax, weeks_of
from tips.pool import CardTip, Count, CountAgain, best_day, booked, card_total, offered, week_total
from tips.sharing import Share, Team, complaint, lent, merged, minutes_of, rate, shares

MONDAY = date(2026, 3, 2)
NEXT = date(2026, 3, 9)
CLOCK = """
2026-03-02 Ines Roth 06:38-14:38
2026-03-02 Tom Ekwall 07:30-15:07
2026-03-02 Mo Haddad 09:00-17:00 office
2026-03-03 Ines Roth 06:45-14:30
2026-03-03 Wen Zhao 10:00-12:00
2026-03-04 Tom Ekwall 12:53-20:15
2026-03-05 Mo Haddad 08:00-15:00
2026-03-06 Mo Haddad 07:00-14:00
2026-03-06 Tom Ekwall 08:00-16:00 sick
2026-03-07 Ada Quist 17:30-01:10
2026-03-08 Ada Quist 10:00-10:45
2026-03-10 Ines Roth 06:45-14:30
2026-03-12 Tom Ekwall 07:00-19:50
2026-03-15 Ada Quist 09:00-09:35
"""
HOMES = {"Ines Roth": "C07", "Tom Ekwall": "C07", "Mo Haddad": "C07", "Ada Quist": "C05"}


def team() -> Team:
    """Return who is what."""
    return Team(frozenset({"Mo Haddad"}), frozenset({"Wen Zhao"}), "Tom Ekwall")


def spans():
    """Return all spans of both weeks."""
    return [parse_span(line, "C07") for line in CLOCK.strip().splitlines()]


def jars() -> dict[date, int]:
    """Return what was booked each evening of the first week."""
    sums = ("£8.40", "£3.15", "£12", "£0.80", "£20.05", "£31.10", "£3")
    return {MONDAY + timedelta(days=number): pence(each) for number, each in enumerate(sums)}


def cards() -> list[CardTip]:
    """Return the card tips of the first week."""
    return [
        CardTip(MONDAY, 840, 80),
        CardTip(MONDAY, 1260, 130),
        CardTip(date(2026, 3, 5), 400, 40_000),
        CardTip(date(2026, 3, 6), 6000, 5500, asked=True),
        CardTip(date(2026, 3, 7), 6000, 5500),
    ]


def first_week() -> list[Share]:
    """Return the shares of the jars of the first week."""
    return shares(sum(jars().values()), in_week(spans(), "C07", MONDAY), team())


def test_from_the_clock_to_minutes():
    everything = spans()
    assert overlaps(everything) == []
    week = in_week(everything, "C07", date(2026, 3, 8))
    assert len(week) == 11
    assert [span.minutes for span in week] == [480, 450, 480, 465, 120, 435, 420, 420, 480, 465, 45]
    assert minutes_of(week, team()) == {"Ada Quist": 510, "Ines Roth": 945, "Mo Haddad": 720, "Tom Ekwall": 885}
    assert minutes_of(in_week(everything, "C07", NEXT), team()) == {"Ines Roth": 465, "Tom Ekwall": 765}
    assert lent(week, HOMES) == {"Ada Quist": 510}
    doubled = [*everything, parse_span("2026-03-08 Ada Quist 00:30-09:00", "C05")]
    assert [(one.end, other.start) for one, other in overlaps(doubled)] == [(1510, 30)]


def test_a_clock_that_went_wrong():
    for line in ("2026-03-02 Ines Roth 06:38-19:39", "2026-03-02 Ines Roth 06:38-06:50", "2026-03-02 Ines Roth 6.38"):
        with pytest.raises(BadSpan):
            parse_span(line, "C07")
    assert parse_span("2026-03-02 Ines Roth 23:50-00:20 holiday", "C07").end == 1460


def test_the_jar_of_saturday():
    ada = Count("Ada Quist", (("£10", 1), ("£5", 1), ("£2", 4), ("50p", 15), ("10p", 6), ("button", 1)))
    tom = Count("Tom Ekwall", (("£10", 1), ("£5", 1), ("£2", 5), ("50p", 15), ("5p", 12), ("1 kr", 2)))
    assert (ada.pence, tom.pence) == (3110, 3310)
    assert (ada.strange, tom.strange) == (1, 2)
    assert written(booked(ada, tom)) == "£31.10"
    assert booked(tom, ada) == jars()[date(2026, 3, 7)]
    with pytest.raises(CountAgain, match="£4.00 apart"):
        booked(ada, Count("Tom Ekwall", (*tom.pieces, ("£2", 1))))
    assert best_day(jars()) == date(2026, 3, 7)


def test_the_pool_of_a_week():
    assert offered(840) == [0, 50, 90]
    assert card_total(cards()) == (5710, 45_500)
    assert week_total(jars(), cards()) == 7850 + 5710
    assert week_total({}, cards()[:2]) == 210


def test_the_shares_of_a_week():
    found = first_week()
    assert found == [
        Share("Ines Roth", 945, 2424),
        Share("Tom Ekwall", 885, 2271),
        Share("Mo Haddad", 720, 1847),
        Share("Ada Quist", 510, 1308),
    ]
    assert rate(found) == 154
    assert complaint(found[3], found, 540) == 64
    assert complaint(found[0], found, 900) == -81
    assert merged([found, [Share("Ada Quist", 60, 92)]])["Ada Quist"] == 1400


def test_envelopes_on_wednesday():
    envelopes = [Envelope(share.person, MONDAY, share.pence) for share in first_week()]
    needed = box(envelopes)
    assert needed == {
        "£20": 2, "£10": 2, "£5": 1, "£2": 5, "£1": 2, "50p": 1, "20p": 4, "5p": 2, "2p": 4, "1p": 2,
    }  # fmt: skip
    assert brought(needed) == 7850
    orders = to_change(needed, {"£10": 3, "£2": 4, "20p": 40, "1p": 2})
    assert orders == {"£20": 2, "£5": 1, "£2": 20, "£1": 20, "50p": 20, "5p": 20, "2p": 20}
    assert brought(orders) == 4000 + 500 + 4000 + 2000 + 1000 + 100 + 40
    assert weight(orders) == 200 + 200 + 120 + 120 + 80
    wednesday = date(2026, 3, 11)
    signed = [sign(each, each.person, wednesday) for each in envelopes[:2]]
    later = [*signed, *envelopes[2:]]
    assert unclaimed(later, wednesday + timedelta(weeks=5, days=6)) == []
    assert unclaimed(later, wednesday + timedelta(weeks=6)) == ["Ada Quist", "Mo Haddad"]
    with pytest.raises(ValueError, match="has had"):
        sign(signed[0], "Ines Roth", wednesday)
    with pytest.raises(ValueError, match="signs for"):
        sign(envelopes[3], "Tom Ekwall", wednesday)
    with pytest.raises(ValueError, match="not before 11"):
        sign(envelopes[3], "Ada Quist", wednesday - timedelta(days=1))


def test_card_tips_come_with_the_wages():
    minutes = {week: minutes_of(in_week(spans(), "C07", week), team()) for week in (MONDAY, NEXT)}
    month = card_month({MONDAY: 5710, NEXT: 600}, minutes)
    assert month == {"Ada Quist": 952, "Ines Roth": 1990, "Mo Haddad": 1344, "Tom Ekwall": 2024}
    assert sum(month.values()) == 6310
    assert MONDAY in weeks_of(2026, 3)
    assert len(weeks_of(2026, 5)) == 5
    assert len(weeks_of(2026, 2)) == 4
    assert payslip("Ines Roth", month["Ines Roth"], 120_000) == ["Ines Roth: card tips 19.90", "tax 3.98", "net 15.92"]
    assert tax(month["Mo Haddad"], 418_000) == 180 + 177
    assert tax(month["Ada Quist"], 104_000) == 30


def test_somebody_leaves():
    leaver = Leaver("Ada Quist", date(2026, 3, 7))
    assert paid_cash(leaver, [MONDAY, NEXT]) == [MONDAY]
    assert last_pay(leaver) == date(2026, 3, 27)
    assert last_pay(Leaver("Ada Quist", date(2026, 8, 20))) == date(2026, 9, 25)
    assert last_pay(Leaver("Ada Quist", date(2026, 12, 16))) == date(2027, 1, 27)


def test_the_page_of_the_week():
    page = Page("C07", MONDAY, tuple(jars().values()), 8151, tuple(first_week()))
    assert whole(page, 3) == "\n".join(
        [
            "C07, 2 to 8 March 2026",
            "Mon    £8.40     £8.40",
            "Tue    £3.15    £11.55",
            "Wed      £12    £23.55",
            "Thu    £0.80    £24.35",
            "Fri   £20.05    £44.40",
            "Sat   £31.10    £75.50",
            "Sun       £3    £78.50",
            "",
            "Ines Roth           15.75   £24.24",
            "Tom Ekwall          14.75   £22.71",
            "Mo Haddad              12   £18.47",
            "Ada Quist             8.5   £13.08",
            "together               51   £78.50",
            "",
            "£3.01 more in the bag than in the book: tell the team",
            "3 for the lifeboat box",
            "an hour: £1.54",
        ]
    )
    assert jar_lines(page)[-1].endswith("£78.50")
    assert share_lines(page.shares[:1])[-1] == "together            15.75   £24.24"
    assert remarks(Page("C07", MONDAY, page.jars, 7849, page.shares)) == ["an hour: £1.54"]


def test_the_shelf_of_blue_books():
    pages = [
        Page("C07", date(2022, 12, 26) + timedelta(weeks=number), (), 0, (Share("Ines Roth", 60, number),))
        for number in (0, 1, 3, 9, 10)
    ]
    assert [page.week for page in missing_weeks(pages) and to_throw_away(pages, date(2026, 1, 16))] == [
        date(2022, 12, 26),
        date(2023, 1, 2),
    ]
    assert len(missing_weeks(pages)) == 6
    assert missing_weeks(pages[:2]) == []
    assert year_total(pages, 2023) == {"Ines Roth": 23}
    assert year_total(pages[:1], 2022) == {}


def test_parts_of_an_odd_sum():
    weights = {"Ines Roth": 945, "Tom Ekwall": 885, "Mo Haddad": 720, "Ada Quist": 510}
    for total in (1, 2, 3, 7851, 99_999):
        assert sum(parts(total, weights).values()) == total
    assert parts(1, weights) == {"Ines Roth": 1, "Tom Ekwall": 0, "Mo Haddad": 0, "Ada Quist": 0}
    assert parts(2, weights) == {"Ines Roth": 1, "Tom Ekwall": 1, "Mo Haddad": 0, "Ada Quist": 0}
    assert parts(3, weights) == {"Ines Roth": 1, "Tom Ekwall": 1, "Mo Haddad": 1, "Ada Quist": 0}
