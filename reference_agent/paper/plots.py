"""Pictures of training: the success of the sampled batches over the iterations, as in the paper's figures 2 to 4."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from natlang_envs.errors import UsageError
from natlang_envs.trajectory import write_whole

_SMOOTHING = 5  # iterations in the running mean
_LONG = 20  # letters of a name of which no three stand side by side


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
    """Draw the training success of each run; faint: every batch, strong: a running mean.

    Where a name has several runs, one a seed, the strong line is of their mean and the faint ones are theirs.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, run in runs.items():
        curves = [read_curve(each) for each in ([run] if isinstance(run, Path) else run)]
        curve = min(curves, key=len)
        each_success = np.array([[100 * row["success"] for row in each[: len(curve)]] for each in curves])
        if not len(curve):
            continue
        color = None
        for success in each_success:
            (line,) = axes.plot(np.arange(1, len(success) + 1), success, alpha=0.25, color=color)
            color = line.get_color()
        width = min(_SMOOTHING, len(curve))
        mean = np.convolve(each_success.mean(axis=0), np.ones(width) / width, mode="valid")
        axes.plot(np.arange(width, len(curve) + 1), mean, color=color, label=name)
        changes = [i for i in range(1, len(curve)) if curve[i]["stage"] != curve[i - 1]["stage"]]
        for change in changes:
            axes.axvline(change + 0.5, color="0.7", linestyle=":")
    axes.set(xlabel="iteration", ylabel="success of sampled episodes, %", ylim=(0, 100))
    axes.grid(alpha=0.2)
    columns = 2 if any(len(name) > _LONG for name in runs) else 3
    if axes.lines:
        figure.legend(loc="outside upper center", ncols=columns, frameon=False)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    pyplot.close(figure)
    write_whole(picture, content.getvalue())
    return picture
