"""Which protocols cannot be played here, because their repositories were not fetched."""

from __future__ import annotations

import pytest

from natlang_envs.autoexplore.dataset.catalogue import pinned_repository
from natlang_envs.change.repositories import change_repositories
from natlang_envs.evaluation import load_protocol


def repositories_missing(protocol: str) -> list[str]:
    """Return the repositories of a protocol that have not been fetched."""
    chosen = load_protocol(protocol)
    names = sorted({episode.task_id.partition("/")[0] for episode in chosen.episodes})
    if "Change" in chosen.env_id:
        known = change_repositories()  # a data task's repository is built, not fetched
        pins = [known[name].pin for name in names if name in known]
    else:
        pins = [pinned_repository(name) for name in names if "dataset" in chosen.kwargs]
    return [pin.name for pin in pins if pin is not None and not pin.is_cached]


def needs_repositories(*protocols: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test, saying what to run, where a protocol cannot be played."""
    missing = sorted({name for protocol in protocols for name in repositories_missing(protocol)})
    return pytest.mark.skipif(bool(missing), reason=f"run natlang data fetch {' '.join(missing)}")
