"""Which protocols cannot be played here, because their repositories were not fetched."""

from __future__ import annotations

import pytest

from natlang_envs.autoexplore.dataset.catalogue import pinned_repository
from natlang_envs.evaluation import load_protocol


def repositories_missing(protocol: str) -> list[str]:
    """Return the repositories of a protocol that have not been fetched."""
    chosen = load_protocol(protocol)
    if "dataset" not in chosen.kwargs:
        return []
    names = sorted({episode.task_id.partition("/")[0] for episode in chosen.episodes})
    return [each for each in names if not pinned_repository(each).is_cached]


def needs_repositories(*protocols: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test, saying what to run, where a protocol cannot be played."""
    missing = sorted({name for protocol in protocols for name in repositories_missing(protocol)})
    return pytest.mark.skipif(bool(missing), reason=f"run natlang data fetch {' '.join(missing)}")
