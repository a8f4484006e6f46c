"""Whose hours count, and how a week's pool is shared by them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tips.clocking import BAR, Span
from tips.money import parts, per_hour

MANAGER_MINUTES = 12 * 60
FEWEST_MINUTES = 60  # of a week's work: below, there is no share


@dataclass(frozen=True)
class Share:
    """What somebody has of a pool."""

    person: str
    minutes: int
    pence: int


@dataclass(frozen=True)
class Team:
    """Who is what at a café: managers, office people, and the tip master."""

    managers: frozenset[str] = frozenset()
    office: frozenset[str] = frozenset()
    tip_master: str = ""

    def may_be_tip_master(self, person: str) -> bool:
        """Tell whether the team may choose somebody: no manager, nobody of the office."""
        return person not in self.managers and person not in self.office


def counted(span: Span, team: Team) -> int:
    """Return the minutes of a span that have a share."""
    if span.person in team.office or not span.is_work:
        return 0
    if span.person in team.managers and span.kind != BAR:
        return 0
    return span.minutes


def minutes_of(spans: Iterable[Span], team: Team) -> dict[str, int]:
    """Return everyone's minutes that have a share: managers' up to 12 hours, and nobody's below one hour."""
    minutes: dict[str, int] = {}
    for span in spans:
        minutes[span.person] = minutes.get(span.person, 0) + counted(span, team)
    for person in team.managers & minutes.keys():
        minutes[person] = min(minutes[person], MANAGER_MINUTES)
    return {person: worked for person, worked in sorted(minutes.items()) if worked >= FEWEST_MINUTES}


def shares(total: int, spans: Iterable[Span], team: Team) -> list[Share]:
    """Share a pool; those who worked longest stand first."""
    minutes = minutes_of(spans, team)
    pence = parts(total, minutes)
    found = [Share(person, minutes[person], pence[person]) for person in minutes]
    return sorted(found, key=lambda share: (-share.minutes, share.person))


def rate(found: Collection[Share]) -> int:
    """Return what an hour brought, in pence."""
    return per_hour(sum(share.pence for share in found), sum(share.minutes for share in found))


def lent(spans: Iterable[Span], homes: Mapping[str, str]) -> dict[str, int]:
    """Return the minutes of work of those who are at home in another café."""
    found: dict[str, int] = {}
    for span in spans:
        if span.is_work and homes.get(span.person, span.cafe) != span.cafe:
            found[span.person] = found.get(span.person, 0) + span.minutes
    return found


def merged(weeks: Iterable[Collection[Share]]) -> dict[str, int]:
    """Return what everyone had over several weeks or cafés."""
    total: dict[str, int] = {}
    for week in weeks:
        for share in week:
            total[share.person] = total.get(share.person, 0) + share.pence
    return total


def complaint(share: Share, found: Collection[Share], claimed_minutes: int) -> int:
    """Return what somebody would have had with other minutes, less what it was; the pool stays the same."""
    pool = sum(each.pence for each in found)
    weights = {each.person: each.minutes for each in found}
    weights[share.person] = claimed_minutes
    return parts(pool, weights)[share.person] - share.pence
