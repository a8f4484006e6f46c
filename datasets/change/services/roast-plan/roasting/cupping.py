"""The table's scores, in quarters of a point, and what they mean for a lot."""

from collections.abc import Sequence
from enum import Enum

QUARTERS = 4
FIELDS = 10
PASS, HOLD = 84 * QUARTERS, 82 * QUARTERS
WANTED_SINGLE = 85 * QUARTERS + 2
FEWEST_TASTERS = 3
TAINT, DEFECT = 2 * QUARTERS, 4 * QUARTERS
MOST_BETWEEN_REPEATS = 2 * QUARTERS
LOSS_ALARM = 15  # thousandths off the profile
DROP_OFF = 30  # tenths of a degree


class Verdict(Enum):
    """What becomes of a lot."""

    PASSED = "passed"
    HELD = "held"
    REJECTED = "rejected"


def form_score(fields: Sequence[int], taints: int = 0, defects: int = 0) -> int:
    """Add a taster's form up: ten fields of at most ten points, less two for each taint and four for each defect."""
    if len(fields) != FIELDS:
        raise ValueError(f"{len(fields)} fields")
    if not all(0 <= field <= 10 * QUARTERS for field in fields):
        raise ValueError("a field has 0 to 10 points")
    return max(0, sum(fields) - taints * TAINT - defects * DEFECT)


def table_score(scores: Sequence[int]) -> int:
    """Return the median; between two it is rounded down to the quarter, since doubt is for the guest."""
    if len(scores) < FEWEST_TASTERS:
        raise ValueError(f"{len(scores)} tasters")
    ordered = sorted(scores)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) // 2


def verdict(score: int, loss_off: int = 0, drop_off: int = 0, baked: bool = False) -> Verdict:
    """Return what becomes of a lot.

    Args:
        score: The table's score.
        loss_off: The loss of weight off its profile, in thousandths; it rejects only below 84 points.
        drop_off: The drop temperature off its profile, in tenths of a degree.
        baked: Whether it was tasted baked or scorched; rejects if the drop was more than 3 °C off.
    """
    if score < HOLD or (baked and abs(drop_off) > DROP_OFF):
        return Verdict.REJECTED
    if score >= PASS:
        return Verdict.PASSED
    return Verdict.REJECTED if abs(loss_off) > LOSS_ALARM else Verdict.HELD


def counts(first: int, repeat: int) -> bool:
    """Tell whether a session counts: the blind repeat is at most two points off."""
    return abs(first - repeat) <= MOST_BETWEEN_REPEATS


def label_needs_look(score: int, single_origin: bool) -> bool:
    """Tell whether the words on a retail bag promise more than the cup keeps."""
    return single_origin and PASS <= score < WANTED_SINGLE


def show(score: int) -> str:
    """Return a score as it is written: 84.25, 86."""
    whole, quarter = divmod(score, QUARTERS)
    return f"{whole}.{quarter * 25:02}".removesuffix("0") if quarter else str(whole)
