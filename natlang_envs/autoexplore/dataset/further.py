"""The labels that the third edition adds: `further_<part>.jsonl`, one object a line as in the first edition's files.

Each has its natural wording. Evidence that may not be quoted stands there by position and hash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

from natlang_envs.autoexplore.dataset.labels import Evidence, Label, Part, parse, read_lines
from natlang_envs.autoexplore.dataset.licences import licence_of_quotes
from natlang_envs.autoexplore.dataset.locations import data_folder
from natlang_envs.autoexplore.dataset.quotations import quotation_of, span_of, with_text
from natlang_envs.files import write_whole


def further_file(part: Part) -> Path:
    """Return the file of the further labels of a part."""
    return data_folder() / f"further_{part}.jsonl"


def read_further(part: Part) -> list[Label]:
    """Return the further labels of a part, in order; none where there is no file.

    Raises:
        UsageError: A line is no label; the message names its number.
    """
    path = further_file(part)
    return [label for _, label in read_lines(path, _parse)] if path.exists() else []


def _parse(value: object) -> Label:
    label = parse(restored_line(value))
    if not label.natural:
        raise ValueError("a further label needs a natural wording")
    return label


def restored_line(value: object) -> object:
    """Return the object of a line with the text of its evidence, as far as the repository is here.

    Raises:
        ValueError: A span has a hash and no position.
    """
    content = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    spans = content.get("evidence")
    if not isinstance(spans, list):
        return cast("object", value)
    name = str(content.get("repository"))
    return content | {"evidence": [_with_text(name, each) for each in cast("list[object]", spans)]}


def _with_text(repository: str, value: object) -> object:
    if not isinstance(value, dict) or "sha256" not in value:
        return cast("object", value)
    return with_text(repository, span_of(cast("object", value)))._asdict()


def withheld_line(label: Label, text_of: Callable[[str], str]) -> str:
    """Return the line of a label, without text that may not be quoted.

    Args:
        label: The label.
        text_of: Returns the text of a file of its repository.
    """
    content = json.loads(label.to_json())
    content["evidence"] = [_withheld(label.repository, each, text_of) for each in label.evidence]
    return json.dumps(content, ensure_ascii=False)


def _withheld(repository: str, evidence: Evidence, text_of: Callable[[str], str]) -> dict[str, Any]:
    if licence_of_quotes(repository, evidence.path) is None:
        return evidence._asdict()
    return quotation_of(text_of(evidence.path), evidence)._asdict()


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of labels."""
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())
