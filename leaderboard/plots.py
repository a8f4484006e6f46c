"""Pictures of a board, as SVG that stands in its page. Numbers are ours; names of strangers are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from markupsafe import Markup, escape

from leaderboard.rows import Row

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 640, 280, 44, 20, 36, 12
_UNITS = {0: "1", 3: "1 thousand", 6: "1 million", 9: "1 billion", 12: "1 trillion"}
_MOST_CURVES = 8  # the best rows; more lines cannot be told apart


def size_against_success(rows: Sequence[Row]) -> Markup:
    """Return success over the number of weights, with 95% intervals; empty where fewer than two rows state a size."""
    sized = [(row, float(row.entry.submission.parameters or 0)) for row in rows]
    sized = [(row, size) for row, size in sized if size >= 1]
    if len(sized) < 2:
        return Markup()
    low = floor(min(log10(size) for _, size in sized))
    high = max(ceil(max(log10(size) for _, size in sized)), low + 1)

    def x(size: float) -> float:
        return _across((log10(size) - low) / (high - low))

    parts = _shares()
    for power in range(low, high + 1):
        parts.append(_label(x(10.0**power), _UNITS.get(power, f"10^{power}")))
    for row, size in sized:
        score, at = row.entry.score, x(size)
        name = escape(row.entry.submission.name)
        parts.append(f"<g><title>{name}: {100 * score.success_rate:.1f}%, {size:,.0f} weights</title>")
        ends = f'y1="{_up(score.interval.low):.1f}" y2="{_up(score.interval.high):.1f}"'
        parts.append(f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" {ends}/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{_up(score.success_rate):.1f}" r="4"/></g>')
    return _picture("Success over the number of weights of each row that states it", parts)


def learning_curves(rows: Sequence[Row]) -> Markup:
    """Return success in training over the episodes played, a line a row; empty where no row states its curve."""
    stated = [(row, track.curve) for row in rows if (track := row.entry.submission.track) and track.curve]
    stated = stated[:_MOST_CURVES]
    if not stated:
        return Markup()
    most = max(curve[-1][0] for _, curve in stated) or 1
    parts = _shares()
    for quarter in range(5):
        parts.append(_label(_across(quarter / 4), f"{most * quarter // 4:,}"))
    for number, (row, curve) in enumerate(stated):
        name = escape(row.entry.submission.name)
        line = " ".join(f"{_across(episodes / most):.1f},{_up(share):.1f}" for episodes, share in curve)
        parts.append(f'<g class="curve curve-{number}"><title>{name}</title><polyline points="{line}"/>')
        if len(stated) > 1:
            at = _TOP + 16 * number + 10
            parts.append(f'<line x1="{_LEFT + 8}" x2="{_LEFT + 26}" y1="{at - 4}" y2="{at - 4}"/>')
            parts.append(f'<text x="{_LEFT + 32}" y="{at}">{name}</text>')
        parts.append("</g>")
    return _picture("Success in training over the episodes played", parts)


def _across(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share


def _up(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)


def _shares() -> list[str]:
    """Return the horizontal lines of a success rate, with their labels."""
    parts: list[str] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{_up(share):.1f}" y2="{_up(share):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{_up(share) + 4:.1f}" text-anchor="end">{100 * share:.0f}%</text>')
    return parts


def _label(at: float, text: str) -> str:
    return f'<text x="{at:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{text}</text>'


def _picture(label: str, parts: list[str]) -> Markup:
    return Markup(
        f'<svg class="plot" role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(parts)}</svg>'
    )
