"""Recordings of one agent trained with several seeds, shown as one row: their names differ in `-seed0`, `-seed1`, …."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from statistics import fmean

from leaderboard.result import ReplayResult
from leaderboard.standings.rows import Row
from leaderboard.verify import Verified
from natlang_envs.evaluation.statistics import two_level_interval

_SEED = re.compile(r"-seed-?\d+$")
_MEANS = ("success_rate", "mean_return", "mean_steps", "invalid_rate")


def folded(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with each series in one, in the place of its best recording.

    Names tell the series, and only its owner adds a seed (`leaderboard.changes`). Authors, contact, link,
    model and size must be the same, and so must the group (ranked, unranked or reference).
    """
    names = {row.entry.submission.name for row in rows}
    by_series = {key: [*members] for key, members in groupby(sorted(rows, key=_key), key=_key)}
    found: list[Row] = []
    for row in rows:
        members, name = by_series[_key(row)], _name(row)
        if len(members) < 2 or name in names:
            found.append(row)
        elif row is min(members, key=rows.index):
            found.append(_series(name, members))
    return found


def series_name(name: str) -> str:
    """Return an entry's name without the seed at its end."""
    return _SEED.sub("", name)


def _name(row: Row) -> str:
    return series_name(row.entry.submission.name)


def _key(row: Row) -> tuple[str, ...]:
    stated = row.entry.submission
    name = _name(row)
    same = () if name == stated.name else (stated.authors, stated.contact, stated.link, stated.model, stated.parameters)
    return (name if same else f"/{name}", row.group, *map(str, same))


def _series(name: str, members: list[Row]) -> Row:
    first = members[0]
    stated, protocol = first.entry.submission, first.entry.protocol
    runs = [each.entry.submission.run for each in members]
    summed = {each: sum(getattr(run, each) for run in runs) for each in ("runs", "tokens", "seconds")}
    together = stated.model_copy(update={"name": name, "run": stated.run.model_copy(update=summed)})
    entry = Verified(together, protocol, _together([each.entry for each in members]))
    return replace(
        first,
        rerun=all(each.rerun for each in members),
        audited=all(each.audited or each.rerun for each in members),
        notes=tuple(dict.fromkeys(note for each in members for note in each.notes)),
        path=f"{protocol.name}/{name}",
        entry=entry,
        members=tuple(replace(each, series=name) for each in members),
    )


def _together(entries: list[Verified]) -> ReplayResult:
    """Return the results of all seeds as one; the interval is over seeds and tasks."""
    results = [each.result for each in entries]
    # Seeds are played one after the other, as runs are.
    together = results[0].model_copy(update={"outcomes": "".join(each.outcomes for each in results)})
    by_seed = [each.by_task.values() for each in entries]
    low, high = two_level_interval([[fmean(episodes) for episodes in tasks] for tasks in by_seed])
    regrets = [(each.mean_regret, each.success_rate * len(each.outcomes)) for each in results]
    known = [(regret, successes) for regret, successes in regrets if regret is not None]
    successes = sum(count for _, count in known)
    return together.model_copy(
        update={
            **{name: fmean(getattr(each, name) for each in results) for name in _MEANS},
            "low": low,
            "high": high,
            "mean_regret": sum(regret * count for regret, count in known) / successes if successes else None,
            "date": min(each.date for each in results),
        }
    )
