"""Pictures of a board, as SVG that stands in its page."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from markupsafe import Markup, escape

from leaderboard.standings import Row

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 280, 44, 36, 12
_UNITS = {0: "1", 3: "1 thousand", 6: "1 million", 9: "1 billion", 12: "1 trillion"}


def size_against_success(rows: Sequence[Row]) -> Markup:
    """Return success over the number of weights, with 95% intervals; empty where fewer than two rows state a size."""
    sized = [(row, float(row.entry.submission.parameters or 0)) for row in rows]
    sized = [(row, size) for row, size in sized if size >= 1]
    if len(sized) < 2:
        return Markup()
    low = floor(min(log10(size) for _, size in sized))
    high = max(ceil(max(log10(size) for _, size in sized)), low + 1)

    def x(size: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 20) * (log10(size) - low) / (high - low)

    def y(share: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)

    parts: list[str] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y(share):.1f}" y2="{y(share):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{100 * share:.0f}%</text>')
    for power in range(low, high + 1):
        name = _UNITS.get(power, f"10^{power}")
        parts.append(f'<text x="{x(10.0**power):.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{name}</text>')
    for row, size in sized:
        score, at = row.entry.score, x(size)
        name = escape(row.entry.submission.name)
        parts.append(f"<g><title>{name}: {100 * score.success_rate:.1f}%, {size:,.0f} weights</title>")
        ends = f'y1="{y(score.interval.low):.1f}" y2="{y(score.interval.high):.1f}"'
        parts.append(f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" {ends}/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{y(score.success_rate):.1f}" r="4"/></g>')
    label = "Success over the number of weights of each row that states it"
    # Names are escaped above, everything else is a number of ours.
    return Markup(
        f'<svg class="plot" role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(parts)}</svg>'
    )
