"""Learning curves: success of the sampled batches over the episodes, as in the paper's figures 2 to 4."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.evaluation.statistics import over_seeds
from natlang_envs.files import write_whole

_SMOOTHING = 5  # iterations, the last ones, in the running mean
_LONG = 20  # letters of a name from which on the legend has two columns


def read_curve(run: Path) -> list[dict[str, float]]:
    """Return the learning curve of a finished run.

    Raises:
        UsageError: There is none.
    """
    try:
        return json.loads((run / "curve.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(f"{run} has no learning curve: finish it with `reflect-rl train --out {run}`") from None


def draw_curves(runs: Mapping[str, Path | Sequence[Path]], picture: Path) -> Path:
    """Draw the training success of each run over the episodes played, as a running mean.

    Where a name has several runs, one a seed, the line is their mean, in a band of Student's 95% interval over them.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    long = any(len(name) > _LONG for name in runs)  # their legend stands beside the curves
    figure, axes = pyplot.subplots(figsize=(10, 4) if long else (7, 4), layout="constrained")
    for name, run in runs.items():
        folders = [run] if isinstance(run, Path) else run
        curves = [read_curve(each) for each in folders]
        curve = min(curves, key=len)
        if not len(curve):
            continue
        batch = json.loads((folders[0] / "settings.json").read_text(encoding="utf-8"))["rl"]["batch"]
        success = np.array([[row["success"] for row in each[: len(curve)]] for each in curves])
        parts = [success[:, max(0, end - _SMOOTHING) : end] for end in range(1, len(curve) + 1)]
        means = np.array([part.mean(axis=1) for part in parts]).T
        played = batch * np.arange(1, len(curve) + 1)
        (line,) = axes.plot(played, 100 * means.mean(axis=0), label=name)
        if len(folders) > 1:
            low, high = 100 * np.array([over_seeds(each) for each in means.T.tolist()]).T
            axes.fill_between(played, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
        changes = [i for i in range(1, len(curve)) if curve[i]["stage"] != curve[i - 1]["stage"]]
        for change in changes:
            axes.axvline(batch * (change + 0.5), color="0.7", linestyle=":")
    axes.set(xlabel="episodes", ylabel="success of sampled episodes, %", ylim=(0, 100))
    axes.grid(alpha=0.2)
    if axes.lines:
        place: Any = {"loc": "outside right upper"} if long else {"loc": "outside upper center", "ncols": 3}
        figure.legend(**place, frameon=False)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    pyplot.close(figure)
    write_whole(picture, content.getvalue())
    return picture
