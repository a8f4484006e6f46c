"""Evidence without its text: where a span stands that may not be quoted here, and its hash."""

from __future__ import annotations

import hashlib
from typing import NamedTuple, cast

from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.labels import Evidence, evidence_of, read_object


class Quotation(NamedTuple):
    """A span of a file that may not be quoted here: where it stands, in characters, and its SHA-256."""

    path: str
    start: int
    length: int
    sha256: str


def span_of(value: object) -> Evidence | Quotation:
    """Return a span from its object, with or without its text."""
    if isinstance(value, dict) and "text" in value:
        return evidence_of(cast("object", value))
    content = read_object(cast("object", value), Quotation._fields, "evidence without text")
    if [type(content[name]) for name in Quotation._fields] != [str, int, int, str]:
        raise ValueError("evidence without text has a path, start and length as whole numbers, and a sha256")
    return Quotation(**content)


def with_text(repository: str, span: Evidence | Quotation) -> Evidence:
    """Return a span with its text; it is empty where it may not be quoted and the repository is not fetched."""
    return span if isinstance(span, Evidence) else restored(repository, span)


def restored(repository: str, quotation: Quotation) -> Evidence:
    """Return the evidence that a quotation stands for; its text is empty where the repository is not fetched."""
    entry = catalogue().get(repository)
    file = None if entry is None else entry.folder / quotation.path
    if file is None or not file.is_file():
        return Evidence(quotation.path, "")
    text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    span = text[quotation.start : quotation.start + quotation.length]
    right = hashlib.sha256(span.encode()).hexdigest() == quotation.sha256
    return Evidence(quotation.path, span if right else "")


def quotation_of(text: str, evidence: Evidence) -> Quotation:
    """Return where a span of evidence stands in the text of its file."""
    start = text.index(evidence.text)
    digest = hashlib.sha256(evidence.text.encode()).hexdigest()
    return Quotation(evidence.path, start, len(evidence.text), digest)
