"""The versions of other libraries that adapters and examples were tried with, and the line that tells of another."""

from __future__ import annotations

import logging
from importlib.metadata import PackageNotFoundError, version

TRIED = {
    "datasets": "5.2.0",
    "gem-llm": "0.1.0",
    "inspect-ai": "0.3.285",
    "minari": "0.5.4",
    "openenv": "0.10.0",
    "ray": "2.60.0",
    "sb3-contrib": "2.9.2",
    "skyrl-gym": "0.4.0",
    "textarena": "0.7.4",
    "tianshou": "2.0.1",
    "trl": "1.16.0",
    "verifiers": "0.4.0",
}
"""What `make libraries` installs."""

_log = logging.getLogger(__name__)


def tell_if_untried(package: str) -> None:
    """Log one line, which stands on standard error, where another version is installed than the one that was tried."""
    try:
        found = version(package)
    except PackageNotFoundError:
        return
    if found != TRIED[package]:
        _log.warning("%s %s is installed; natlang_envs was tried with %s", package, found, TRIED[package])
