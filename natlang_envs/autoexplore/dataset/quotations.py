"""Evidence without its text: which files may not be quoted here, where a span of them stands, and its hash.

A project's documentation may have another licence than its code. Who has the archive restores such spans.
"""

from __future__ import annotations

import hashlib
from fnmatch import fnmatch
from typing import NamedTuple

from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.labels import Evidence, read_object


class Restriction(NamedTuple):
    """Files of a repository whose text is not quoted."""

    repository: str  # its name
    files: tuple[str, ...]  # patterns of paths; `*` matches folders too
    licence: str  # the SPDX identifier
    holder: str  # whose they are

    def covers(self, repository: str, path: str) -> bool:
        """Return whether a file is one of these."""
        return repository == self.repository and any(fnmatch(path, pattern) for pattern in self.files)


RESTRICTIONS = (
    Restriction("nltk", ("web/*", "nltk/test/*.doctest"), "CC-BY-NC-ND-3.0-US", "NLTK Project"),
    Restriction("celery", ("docs/*",), "CC-BY-SA-4.0", "Ask Solem and the contributors of Celery"),
)


def licence_of_quotes(repository: str, path: str) -> str | None:
    """Return the licence that keeps a file from being quoted; None where it may be."""
    return next((each.licence for each in RESTRICTIONS if each.covers(repository, path)), None)


class Quotation(NamedTuple):
    """A span of a file that may not be quoted here: where it stands, in characters, and its SHA-256."""

    path: str
    start: int
    length: int
    sha256: str


def quotation_from(value: object) -> Quotation:
    """Return a quotation from its object."""
    content = read_object(value, Quotation._fields, "evidence without text")
    if [type(content[name]) for name in Quotation._fields] != [str, int, int, str]:
        raise ValueError("evidence without text has a path, start and length as whole numbers, and a sha256")
    return Quotation(**content)


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
