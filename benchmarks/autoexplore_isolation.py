"""How much isolation costs: `python -c pass` under it, beside the same interpreter started bare.

Run it by hand; both sides are started in turns in one process, and the ratio is the median over the turns. With numbers
of files (`1000 10000`) it prints instead how long the same program takes in a sandbox over so many.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from natlang_envs.autoexplore.sandbox import AutoExploreSandbox
from natlang_envs.autoexplore.sandbox.isolation.isolation import Limits, find_isolation

TURNS = 41
CEILING = 3.0


class NoFiles:
    """An empty folder for the program, of which nothing is kept."""

    size = 0
    packages = ".packages"

    def layer(self, owner: int | None) -> None:
        """Return nothing."""

    def is_folder(self, path: str) -> bool:
        """Return whether it is the folder itself."""
        return not path

    def fill(self, root: int, owner: int | None) -> None:
        """Leave it empty."""

    def collect(self, root: int) -> None:
        """Keep nothing."""


def compare(turns: int = TURNS) -> float:
    """Print both medians and their ratio, and return the ratio."""
    isolation = find_isolation()
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(turns + 1):
        begun = time.perf_counter()
        assert isolation.run(("python", "-c", "pass"), NoFiles(), "", Limits()).exit_code == 0
        middle = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        bare.append(time.perf_counter() - middle)
        ours.append(middle - begun)
    ratios = [our / their for our, their in zip(ours[1:], bare[1:], strict=True)]  # the first turn warms the caches
    ratio = median(ratios)
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    print(
        f"python -c pass as {user}: {isolation.name} {median(ours[1:]) * 1e3:.1f} ms, "
        f"bare {median(bare[1:]) * 1e3:.1f} ms, "
        f"ratio {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f} over {turns} turns; at most {CEILING:g} wanted)"
    )
    return ratio


def beside(files: int, turns: int = 3) -> None:
    """Print how long `python -c pass` takes in a sandbox over a repository of so many files of 200 bytes."""
    with tempfile.TemporaryDirectory(prefix="natlang-benchmark-") as temporary:
        for number in range(files):
            folder = Path(temporary, f"folder{number // 10_000}", f"folder{number // 100}")
            if number % 100 == 0:
                folder.mkdir(parents=True)
            (folder / f"file{number}.txt").write_text("twenty bytes a line\n" * 10, encoding="utf-8")
        with AutoExploreSandbox(temporary, limits=Limits(seconds=600)) as sandbox:
            took: list[float] = []
            for _ in range(turns + 1):
                begun = time.perf_counter()
                done = sandbox.execute("python -c pass")
                assert done.exit_code == 0, done
                took.append(time.perf_counter() - begun)
    print(f"{files:,} files: first {took[0]:.2f} s, then {median(took[1:]):.2f} s (median of {turns})", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        for each in sys.argv[1:]:
            beside(int(each))
    else:
        sys.exit(compare() > CEILING)
