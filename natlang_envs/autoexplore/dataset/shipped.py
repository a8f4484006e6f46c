"""The dataset's own labels: one file a part, in `datasets/autoexplore`.

Evidence that may not be quoted stands there by position and hash, and is read from the files of its repository.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

from natlang_envs.autoexplore.dataset.catalogue import data_folder
from natlang_envs.autoexplore.dataset.labels import PARTS, Evidence, Label, Part, parse, read_labels
from natlang_envs.autoexplore.dataset.quotations import licence_of_quotes, quotation_from, quotation_of, restored
from natlang_envs.errors import one_of


def part_file(part: Part) -> Path:
    """Return the file of a part."""
    return data_folder() / f"{part}.jsonl"


@cache
def load_labels(part: Part) -> tuple[Label, ...]:
    """Return the labels of a part of the dataset.

    Evidence that may not be quoted has no text unless the files of its repository are here.
    """
    return tuple(read_labels(part_file(part), lambda value: parse(restored_line(value))))


def part_named(name: str) -> Part:
    """Return a part by name."""
    return cast("Part", one_of("split", name, PARTS))


def digest() -> str:
    """Return the SHA-256 of the dataset: of the list of repositories and of the labels' files, in order."""
    total = hashlib.sha256()
    for path in (data_folder() / "repositories.toml", *map(part_file, PARTS)):
        total.update(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n".encode())
    return total.hexdigest()


def restored_line(value: object) -> object:
    """Return the object of a line with the text of its evidence, as far as the repository is here."""
    content = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    spans = content.get("evidence")
    if not isinstance(spans, list):
        return cast("object", value)
    name = str(content.get("repository"))
    return content | {"evidence": [_with_text(name, each) for each in cast("list[object]", spans)]}


def _with_text(repository: str, value: object) -> object:
    if not isinstance(value, dict) or "sha256" not in value:
        return cast("object", value)
    return restored(repository, quotation_from(cast("object", value)))._asdict()


def withheld_line(label: Label, text_of: Callable[[str], str]) -> str:
    """Return the line of a label, without text that may not be quoted; `text_of` reads a file of its repository."""
    content = json.loads(label.to_json())
    content["evidence"] = [_withheld(label.repository, each, text_of) for each in label.evidence]
    return json.dumps(content, ensure_ascii=False)


def _withheld(repository: str, evidence: Evidence, text_of: Callable[[str], str]) -> dict[str, Any]:
    if licence_of_quotes(repository, evidence.path) is None:
        return evidence._asdict()
    return quotation_of(text_of(evidence.path), evidence)._asdict()
