"""Questions that a language model wrote for training, about the pinned repositories of `sources.toml`.

The model read the first 2,000 characters of about 45 files of each repository, as `cat` shows them, and asked one thing
of each file, in the dataset's hard and natural wordings. Nobody has checked that no other file answers. Files whose
shown text is the same are all right. No repository of the labelled dataset is among them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Written(NamedTuple):
    """A question in two wordings, and the files that answer it."""

    repository: str
    paths: tuple[str, ...]
    hard: str
    natural: str


def read_written() -> list[Written]:
    """Return all questions of `written.jsonl`."""
    rows = map(json.loads, Path(__file__).with_name("written.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        Written(each["repository"], (each["path"], *each.get("also", ())), each["hard"], each["natural"])
        for each in rows
    ]
