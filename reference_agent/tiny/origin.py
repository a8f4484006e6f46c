"""What a small model has learned to read: it says so where it meets something else."""

from __future__ import annotations

import logging
from collections.abc import Iterable

_log = logging.getLogger(__name__)


class Origin:
    """What a small model has learned to read: the commands of one environment, called `name`."""

    def __init__(self, name: str, commands: Iterable[str]) -> None:
        self._name, self._commands = name, frozenset(commands)
        self._told = False

    def check(self, commands: Iterable[str]) -> None:
        """Warn once if commands are not the environment's."""
        other = next((each for each in commands if each not in self._commands), None)
        if other is not None and not self._told:
            self._told = True
            _log.warning(
                "this model has learned to read %s alone, not commands like %r: load_model('smollm2'), another "
                "pretrained model or `reflect-rl train` (which makes a tiny model for an environment) may do better",
                *(self._name, other),
            )
