"""The blue book: a page a week, which anyone in the café may look into."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tips.clocking import monday, sunday
from tips.money import running, short, written
from tips.pool import to_tell
from tips.sharing import Share, rate

KEPT_YEARS = 3
NAME = 18  # letters of a name that have room
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Page:
    """A week: the jars by day, what the bag holds on Sunday, and the shares."""

    cafe: str
    week: date
    jars: tuple[int, ...]
    bag: int
    shares: tuple[Share, ...]

    @property
    def sum(self) -> int:
        """What the book says."""
        return sum(self.jars)

    @property
    def is_off(self) -> bool:
        """Whether bag and book differ so much that the team is told."""
        return to_tell(self.bag, self.sum)


def title(page: Page) -> str:
    """Return a page's first line."""
    first, last = monday(page.week), sunday(page.week)
    if first.month == last.month:
        return f"{page.cafe}, {first.day} to {last.day} {last:%B %Y}"
    return f"{page.cafe}, {first.day} {first:%B} to {last.day} {last:%B %Y}"


def jar_lines(page: Page) -> list[str]:
    """Return a line for each day, with the sum so far."""
    lines = []
    for name, jar, so_far in zip(DAYS, page.jars, running(page.jars), strict=False):
        lines.append(f"{name} {short(jar):>8} {written(so_far):>9}")
    return lines


def hours(minutes: int) -> str:
    """Return minutes as hours: 7.5, 11, 0.25."""
    return f"{minutes / 60:.2f}".rstrip("0").rstrip(".")


def share_lines(found: Sequence[Share]) -> list[str]:
    """Return a line for each share, and one for all."""
    lines = [f"{share.person[:NAME]:<{NAME}} {hours(share.minutes):>6} {written(share.pence):>8}" for share in found]
    minutes = sum(share.minutes for share in found)
    lines.append(f"{'together':<{NAME}} {hours(minutes):>6} {written(sum(share.pence for share in found)):>8}")
    return lines


def remarks(page: Page, strange: int = 0) -> list[str]:
    """Return what stands at the foot of a page."""
    found = []
    if page.is_off:
        more = "more" if page.bag > page.sum else "less"
        found.append(f"{written(abs(page.bag - page.sum))} {more} in the bag than in the book: tell the team")
    if strange:
        found.append(f"{strange} for the lifeboat box")
    found.append(f"an hour: {written(rate(page.shares))}")
    return found


def whole(page: Page, strange: int = 0) -> str:
    """Return a page as it is printed."""
    return "\n".join([title(page), *jar_lines(page), "", *share_lines(page.shares), "", *remarks(page, strange)])


def to_throw_away(pages: Collection[Page], today: date) -> list[Page]:
    """Return the pages that are older than three years, the oldest first."""
    try:
        limit = today.replace(year=today.year - KEPT_YEARS)
    except ValueError:  # 29 February
        limit = today.replace(year=today.year - KEPT_YEARS, day=28)
    return sorted((page for page in pages if sunday(page.week) < limit), key=lambda page: page.week)


def missing_weeks(pages: Collection[Page]) -> list[date]:
    """Return the weeks between the first page and the last that have none."""
    there = {monday(page.week) for page in pages}
    if not there:
        return []
    count = (max(there) - min(there)).days // 7
    every = (min(there) + timedelta(days=7 * number) for number in range(count))
    return [week for week in every if week not in there]


def year_total(pages: Collection[Page], year: int) -> Mapping[str, int]:
    """Return what everyone had in a year, by the Sundays of its weeks."""
    total: dict[str, int] = {}
    for page in pages:
        if sunday(page.week).year == year:
            for share in page.shares:
                total[share.person] = total.get(share.person, 0) + share.pence
    return total
