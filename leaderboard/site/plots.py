"""Pictures of a board, as SVG in its page. Numbers are ours; names of strangers are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from markupsafe import Markup, escape

from leaderboard.standings.rows import Row

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 640, 280, 60, 24, 36, 12
_UNITS = {0: "1", 3: "1 thousand", 6: "1 million", 9: "1 billion", 12: "1 trillion"}
_MOST_CURVES = 8  # the best rows; more lines look alike
_MOST_POINTS = 20


def size_against_success(rows: Sequence[Row]) -> Markup:
    """Return success over the number of weights, with 95% intervals; empty where fewer than two rows state a size."""
    sized = [(row, float(row.entry.submission.parameters or 0)) for row in rows]
    sized = [(row, size) for row, size in sized if size >= 1][:_MOST_POINTS]
    if len(sized) < 2:
        return Markup()
    low = floor(min(log10(size) for _, size in sized))
    high = max(ceil(max(log10(size) for _, size in sized)), low + 1)

    def x(size: float) -> float:
        return _across((log10(size) - low) / (high - low))

    parts = [*_shares(), _unit("weights")]
    parts += [_label(x(10.0**power), _UNITS.get(power, f"10^{power}")) for power in range(low, high + 1)]
    for number, (row, size) in enumerate(sized, 1):
        score, at = row.entry.score, x(size)
        name = escape(row.entry.submission.name)
        parts.append(f"<g><title>{name}: {100 * score.success_rate:.1f}%, {size:,.0f} weights</title>")
        ends = f'y1="{_up(score.interval.low):.1f}" y2="{_up(score.interval.high):.1f}"'
        parts.append(f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" {ends}/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{_up(score.success_rate):.1f}" r="4"/>')
        # Rows of one size have one line: their numbers alternate between its left and right.
        aside = f'x="{at - 9:.1f}" text-anchor="end"' if number % 2 else f'x="{at + 9:.1f}"'
        parts.append(f'<text {aside} y="{_up(score.success_rate) + 4:.1f}">{number}</text></g>')
    names = [Markup("<li>{}</li>").format(row.entry.submission.name) for row, _ in sized]
    return _picture("Success over the number of weights of each row that states it", parts, names, ordered=True)


def learning_curves(rows: Sequence[Row]) -> Markup:
    """Return success in training over the episodes played, a line a row; empty where no row states its curve."""
    stated = [(row, track.curve) for row in rows if (track := row.entry.submission.track) and track.curve]
    stated = stated[:_MOST_CURVES]
    if not stated:
        return Markup()
    most = max(curve[-1][0] for _, curve in stated) or 1
    parts = [*_shares(), _unit("episodes")]
    parts += [_label(_across(quarter / 4), f"{most * quarter // 4:,}") for quarter in range(5)]
    for number, (row, curve) in enumerate(stated):
        name = escape(row.entry.submission.name)
        line = " ".join(f"{_across(episodes / most):.1f},{_up(share):.1f}" for episodes, share in curve)
        parts.append(f'<g class="curve curve-{number}"><title>{name}</title><polyline points="{line}"/></g>')
    item = Markup('<li class="curve-{}">{}</li>')
    names = [item.format(number, row.entry.submission.name) for number, (row, _) in enumerate(stated)]
    return _picture("Success in training over the episodes played", parts, names if len(names) > 1 else ())


def _across(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share


def _up(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)


def _shares() -> list[str]:
    parts: list[str] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{_up(share):.1f}" y2="{_up(share):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{_up(share) + 4:.1f}" text-anchor="end">{100 * share:.0f}%</text>')
    return parts


def _label(at: float, text: str) -> str:
    return f'<text x="{at:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{text}</text>'


def _unit(text: str) -> str:
    return f'<text x="{_LEFT - 6}" y="{_HEIGHT - 12}" text-anchor="end">{text}</text>'


def _picture(label: str, parts: list[str], names: Sequence[Markup] = (), *, ordered: bool = False) -> Markup:
    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    picture = f'<svg class="plot" role="img" aria-label="{label}" {view}>{"".join(parts)}</svg>'
    tag = "ol" if ordered else "ul"
    legend = f'<{tag} class="legend">{"".join(names)}</{tag}>' if names else ""
    return Markup(f'<div class="figure">{picture}{legend}</div>')
