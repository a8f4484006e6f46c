"""How much isolation costs: `python -c pass` under it, beside the same interpreter started bare.

Run it by hand; both sides are started in turns in one process, and the ratio is the median over the turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from natlang_envs.autoexplore.sandbox.isolation.isolation import Limits, find_isolation, remove_folder

TURNS = 41
CEILING = 3.0


def compare(turns: int = TURNS) -> float:
    """Print both medians and their ratio, and return the ratio."""
    isolation = find_isolation()
    folder = Path(tempfile.mkdtemp(prefix="natlang-bench-"))
    ours: list[float] = []
    bare: list[float] = []
    try:
        for _ in range(turns + 1):
            begun = time.perf_counter()
            assert isolation.run(("python", "-c", "pass"), folder, "", Limits()).exit_code == 0
            middle = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], stdin=subprocess.DEVNULL, capture_output=True, check=True)
            bare.append(time.perf_counter() - middle)
            ours.append(middle - begun)
    finally:
        remove_folder(folder)
    ratios = [our / their for our, their in zip(ours[1:], bare[1:], strict=True)]  # the first turn warms the caches
    ratio = median(ratios)
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    print(
        f"python -c pass as {user}: {isolation.name} {median(ours[1:]) * 1e3:.1f} ms, "
        f"bare {median(bare[1:]) * 1e3:.1f} ms, "
        f"ratio {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f} over {turns} turns; at most {CEILING:g} wanted)"
    )
    return ratio


if __name__ == "__main__":
    sys.exit(compare() > CEILING)
