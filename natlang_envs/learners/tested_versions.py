"""The versions of other libraries that the adapters and examples are tested with, and a warning about others."""

from __future__ import annotations

import logging
from importlib.metadata import PackageNotFoundError, version

TESTED_VERSIONS = {
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
"""The versions that `make libraries` installs."""

_log = logging.getLogger(__name__)


def warn_if_untested(package: str) -> None:
    """Log a warning, which goes to standard error, if another version than the tested one is installed."""
    try:
        found = version(package)
    except PackageNotFoundError:
        return
    if found != TESTED_VERSIONS[package]:
        _log.warning("%s %s is installed; natlang_envs was tested with %s", package, found, TESTED_VERSIONS[package])
