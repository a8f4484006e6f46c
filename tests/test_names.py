"""One class name means one thing in all packages."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
ROOT = Path(__file__).parents[1]
PACKAGES = ("natlang_envs", "reference_agent", "leaderboard", "tools", "benchmarks", "docs", "examples/judges")
# Public names of two packages, or of a wrapper's single and vector form, which Gymnasium names alike, too.
PUBLIC_TWICE = {"Episode", "ChoiceIndexActions", "EncodedObservations", "ScaleReward"}


def test_no_two_classes_have_one_name() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "repositories" not in path.parts:  # those are data
                for name in CLASS.findall(path.read_text(encoding="utf-8")):
                    files[name].append(str(path.relative_to(ROOT)))
    assert len(files) > 500
    assert {name for name, found in files.items() if len(found) > 1} == PUBLIC_TWICE
