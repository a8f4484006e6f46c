"""Licences of quoted files: which spans may be quoted, and which are given by position and hash.

A project's documentation may have another licence than its code. Spans of such files are not quoted in what is
published: who has the archive restores them.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import NamedTuple


class Restriction(NamedTuple):
    """Files of a repository whose text is not quoted.

    Attributes:
        repository: Its name.
        files: Patterns of paths; `*` matches folders too.
        licence: The SPDX identifier.
        holder: Whose they are.
    """

    repository: str
    files: tuple[str, ...]
    licence: str
    holder: str

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
